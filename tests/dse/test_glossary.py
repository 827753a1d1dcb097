"""Quantities are searched by a word, in Python and at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dse
from symbolic.errors import DseError, UnknownNameError
from symbolic.quantities import TABLE
from tests.dse.conftest import Run

OWN = """
import dse
grain = dse.quantity("grain", unit="m", default=2, meaning="size of a grain")
finish = dse.quantity("finish", labels=("matt", "glossy"), default="matt")

@dse.equation(symbol="G", unit="m", meaning="what grains add up to")
def grain_sum(grain, threads):
    return grain * threads
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return str(path)


def test_all_quantities_of_all_models_are_told() -> None:
    result = dse.quantities()
    assert TABLE.keys() <= result.keys()
    for name, model in dse.models().items():
        for quantity in model.yields:
            assert name in result[quantity].yielded_by
        for equation in model.equations:
            assert all(
                name in result[need].needed_by for need in (*equation.inputs, *equation.when)
            )
    assert result["time"].unit == "s"
    assert result["threads"].declared_by == ()


def test_a_word_finds_names_first_then_meanings_symbols_and_labels() -> None:
    result = list(dse.quantities("CLOCK"))
    names = [name for name in result if "clock" in name]
    assert result[: len(names)] == sorted(names)
    assert "relative_voltage" in result[len(names) :]  # by its meaning
    assert next(iter(dse.quantities("time"))) == "time"
    assert "waves" in dse.quantities("fractional")
    assert "blocks" in dse.quantities("#Blocks")
    assert set(dse.quantities("idle power")) <= set(dse.quantities("power"))


def test_a_model_of_ones_own(own: str) -> None:
    result = dse.quantities(model=own)
    assert set(result) == {"grain", "grain_sum", "threads"}
    assert result["grain"].declared_by == (own,)
    assert (result["grain"].default, result["grain"].needed_by) == (2, (own,))
    assert (result["grain_sum"].symbol, result["grain_sum"].yielded_by) == ("G", (own,))
    head, first = str(result).splitlines()[2:4]
    assert head.split()[:2] == ["quantity", "unit"]
    assert first.split()[:3] == ["grain", "m", "2"]
    assert "size of a grain" in first
    assert repr(result) == "<Quantities: 3: grain, grain_sum, threads>"


def test_what_is_not_found_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"has 'tiem' in its name.*did you mean 'time'"):
        dse.quantities("tiem")
    with pytest.raises(UnknownNameError, match="no quantity of transit has 'watt'"):
        dse.quantities("watt", model="transit")
    with pytest.raises(KeyError, match="'tim' is no quantity; did you mean 'time'"):
        dse.quantities("time")["tim"]
    with pytest.raises(DseError, match="expected text"):
        dse.quantities(3)  # type: ignore[arg-type]
    with pytest.raises(DseError, match="'nope' is no model"):
        dse.quantities(model="nope")


def test_the_command_line_tells_the_same(run: Run, own: str) -> None:
    result = run("quantities", "idle", "power")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    head = ["quantity", "unit", "symbol", "default", "meaning", "yielded by", "needed by"]
    assert lines[0].split() == " ".join(head).split()
    assert [line.split()[0] for line in lines[1:]] == list(dse.quantities("idle power"))
    data = json.loads(run("quantities", "grain", "--model", own, "--json").stdout)
    assert [row["name"] for row in data["quantities"]] == ["grain", "grain_sum"]
    assert data["quantities"][0]["needed_by"] == [own]
    assert data["quantities"][1]["symbol"] == "G"


def test_one_quantity_names_all_models_and_its_labels(run: Run) -> None:
    (name,) = dse.quantities("round the repetitions")
    output = run("quantities", "round the repetitions").stdout
    assert name == "waves"
    assert "(fractional, whole)" in output
    assert all(model in output for model in dse.quantities()["waves"].needed_by)


def test_nothing_found_is_misuse(run: Run) -> None:
    result = run("quantities", "tiem", status=2)
    assert "did you mean 'time'" in result.stderr
