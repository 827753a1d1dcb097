"""Inputs that no study means are refused in words; more by ``python -m tests.dse.mutating``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from symbolic.errors import DseError
from symbolic.ops import floor, interpret, reference
from tests.dse import mutating

SET: dict[str, Any] = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
STUDY: dict[str, Any] = {"model": "transit", "axes": {"threads": [1, 2, 3]}, "set": SET}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"top = {'9' * 5000}", "cannot be read"),
        (f"axes = {'[' * 500}{']' * 500}", "nested deeper"),
        (f"axes = {'[' * 60}{']' * 60}", "nested deeper than 20 levels"),
        ('machine = "a\\u0000b.toml"', "NUL"),
    ],
)
def test_toml_that_no_study_means(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f'model = "transit"\n{line}\n')
    with pytest.raises(DseError, match=message):
        dse.Study.from_toml(path)
    own = tmp_path / "own.toml"
    own.write_text(f'title = "x"\n{line}\n')
    with pytest.raises(DseError, match=r"this is not TOML|no key"):
        dse.machine(str(own))


def test_far_powers_of_two_are_finite() -> None:
    axes = {"threads": {"powers_of_two": [5e-324, 1e308]}}
    study = dse.Study(model="transit", axes=axes, set=SET)
    values = study.grid().axes["threads"].values
    assert (values[0], values[-1], len(values)) == (5e-324, 2.0**1023, 2098)


def test_a_formula_of_many_terms_is_refused_and_a_long_one_is_answered() -> None:
    with pytest.raises(DseError, match="more than 300 operators"):
        dse.Study(**{**STUDY, "set": {**SET, "intensity": "+".join(["threads"] * 1200)}})
    long = dse.Study(**{**STUDY, "set": {**SET, "intensity": "+".join(["threads"] * 300)}})
    assert "cs_throughput" in str(long.explain(threads=2))
    for method in ("scan", "certified"):
        best = long.optimum(maximize="cs_throughput", method=method)
        assert best.threads.item() == 3
    assert long.run().cs_throughput.shape == (3,)


def test_a_huge_number_of_winners_is_refused() -> None:
    for top in (10**20, 10**9):
        with pytest.raises(DseError, match="at most 1,000,000"):
            dse.Study(**STUDY, best={"minimize": "cs_throughput", "top": top})
        with pytest.raises(DseError, match="at most 1,000,000"):
            dse.Study(**STUDY).optimum(minimize="cs_throughput", top=top)


def test_single_numbers_divide_by_zero_as_arrays_do(tmp_path: Path) -> None:
    node = floor(reference("a")) / floor(reference("a"))
    with np.errstate(all="ignore"):
        assert np.isnan(interpret(node, {"a": np.float64(0)}))
    model = tmp_path / "own.py"
    model.write_text(
        "import dse\nfrom symbolic.ops import ceil\n"
        "b = dse.quantity('b')\nx = dse.quantity('x')\n"
        "@dse.equation(source='s')\ndef whole(b):\n    return ceil(b)\n"
        "@dse.equation(source='s')\ndef out(whole, x):\n    return x + whole\n"
    )
    study = dse.Study(model=str(model), axes={"x": [1, 2, 3]}, set={"b": 0}, outputs=["out"])
    best = study.optimum(maximize="out", where="whole / whole != 0")
    assert best.x.item() == 3
    assert study.explain(x=2)["out"].value == 2
    where = dse.Study(
        model=str(model), axes={"x": [1, 2]}, set={"b": 0}, where="whole / whole != 0"
    )
    assert where.explain(x=1).conditions == {"whole / whole != 0": True}


@pytest.mark.parametrize("name", ["t4", "cache"])
@pytest.mark.parametrize("key", ["metadata", "results", "tune_params", "kernel_name"])
def test_text_for_an_object_in_a_tuner_s_file(name: str, key: str, tmp_path: Path) -> None:
    tree = json.loads((mutating.DATA / f"{name}.json").read_text())
    if key not in tree:
        pytest.skip(f"{name} has no {key}")
    path = tmp_path / "tuner.json"
    path.write_text(json.dumps({**tree, key: "\ud800"}))
    if key == "kernel_name":
        recorded = dse.open(path)
        dse.export(recorded, tmp_path / "out.nc")
        assert "\ufffd" in recorded.attrs[key.replace("_name", "")]
        return
    with pytest.raises(DseError, match=r"not the structure of"):
        dse.open(path)


def test_some_spoilt_inputs(tmp_path: Path) -> None:
    messages = [mutating.fault(seed, tmp_path, 30.0) for seed in range(250)]
    assert [text for text in messages if text] == []


def test_what_is_no_study_is_told_in_a_sentence() -> None:
    study = dse.Study(**STUDY)
    message = r"^a Model is no study of one model: give the dse\.Study"
    with pytest.raises(DseError, match=message):
        dse.meets(dse.model("transit"), "threads > 1")  # type: ignore[arg-type]
    assert dse.meets(study.run(), "threads > 1").identical(study.meets("threads > 1"))


def test_an_infinite_objective_is_never_the_best(tmp_path: Path) -> None:
    model = tmp_path / "own.py"
    model.write_text(
        "import dse\nfrom symbolic.ops import divide\n"
        "x = dse.quantity('x')\nn = dse.quantity('n', domain='[0, 9]')\n"
        "@dse.equation(source='s')\ndef out(x, n):\n"
        "    return divide(x, n, at_zero=float('inf'))\n"
    )
    study = dse.Study(model=str(model), axes={"n": [0, 1, 2]}, set={"x": 5})
    assert study.optimum(maximize="out").n.item() == 1
    result = dse.ranges(study, within={"x": "10%"}, maximize="out")
    assert result.can_be_best.values.tolist() == [False, True, False]


def test_points_excluded_leave_out_the_winner() -> None:
    study = dse.Study(**{**STUDY, "axes": {"threads": range(1, 100_001)}})
    best = study.optimum(maximize="ms_throughput", method="certified")
    assert best.attrs["points_excluded"] <= 99_999
    assert best.attrs["points_visited"] + best.attrs["points_excluded"] == 100_000
