"""Symbols of the papers are accepted wherever the name of a quantity is."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import split
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from symbolic.errors import DseError

STUDY = """
model = "gemm"
machine = "h100_sxm"
outputs = ["time", "gemm_bound"]
where = "{m} >= 1024"
[axes]
{m} = [512, 1024, 2048]
{n} = [512, 4096]
[set]
{k} = 1024
weights_in_turn = "{k} / 1024"
[best]
minimize = "time / {m}"
per = "{n}"
"""
SYMBOLS = {"m": "m", "n": "n", "k": "k"}
NAMES = {"m": "product_rows", "n": "product_columns", "k": "product_depth"}
LATENCIES = "discrete: 300: 1, 600: 1, 1200: 2"

#: Arguments of commands on the study; {m} and {n} stand for a symbol or a name.
COMMANDS = (
    "run",
    "run --set {m}=1024",
    "run --axis {m}=256,1024 --minimize time/{m} --per {m}",
    "optimum --minimize time --at {m}=1024",
    "optimum --minimize time/{m} --per {m} --where '{m} >= 2000'",
    "pareto --minimize time,{m} --at {n}=512",
    "count --where '{m} >= 2000' --per {n}",
    "histogram --output time/{m}",
    "quantiles --output {m} --q 0.5",
    "sensitivity --output time/{m} --at {m}=1024,{n}=512",
    "borders --quantity gemm_bound --along {m} --at {n}=512",
    "meets --where 'time / {m} <= 10 ns'",
    "ranges --within {m}=5% --output time/{m} --minimize time/{m}",
    "rule --of {n} --minimize time",
    "explain {m}=1024 {n}=512",
    "advise {m}=1024 {n}=512",
)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for file, names in (("symbols.toml", SYMBOLS), ("names.toml", NAMES)):
        Path(file).write_text(STUDY.format(**names), encoding="utf-8")
    return tmp_path


def _json(command: list[str]) -> dict[str, Any]:
    result = CliRunner().invoke(main, [*command, "--json"])
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    measured = ("seconds", "compiling_seconds", "computing_seconds", "points_per_second")
    return {name: value for name, value in data.items() if name not in measured}


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_accept_symbols(folder: Path, line: str) -> None:
    """A command with symbols, on a study with symbols, gives the answer for the names."""
    verb, *rest = split(line)
    ours = _json([verb, "symbols.toml", *(each.format(**SYMBOLS) for each in rest)])
    theirs = _json([verb, "names.toml", *(each.format(**NAMES) for each in rest)])
    assert ours == theirs


def _source(folder: Path, kind: str) -> Any:
    study = dse.Study.from_toml(folder / "symbols.toml")
    if kind == "study":
        return study
    if kind == "path":
        return folder / "symbols.toml"
    if kind == "run":
        return study.run()
    study.run(store=folder / "out.zarr")
    return folder / "out.zarr" if kind == "store" else dse.open(folder / "out.zarr")


@pytest.mark.parametrize("kind", ["study", "path", "run", "store", "opened"])
def test_sources_accept_symbols(folder: Path, kind: str) -> None:
    """Each kind of source knows the symbols of its model."""
    source = _source(folder, kind)
    best = dse.optimum(source, minimize="time/m", per="m", where=("k > 1", "m > 1024"))
    name = dse.optimum(source, minimize="time/product_rows", where="product_rows > 1024")
    assert best.objective.sel(product_rows=2048) == name.objective
    # a quantity that the run lacks; its answer has the quantity's name
    assert dse.quantiles(source, "E", 0.5).energy == dse.quantiles(source, "energy", 0.5).energy
    lines = dse.borders(source, "gemm_bound", along=["m"], at={"n": 512})
    assert lines.along.values.tolist() == ["product_rows"]


def test_figures_accept_symbols(folder: Path) -> None:
    """Functions that draw, and the command, accept symbols as names of axes and quantities."""
    pytest.importorskip("matplotlib")
    from dse import plots

    study = dse.Study.from_toml("symbols.toml")
    for source in (study, study.run()):
        axes = plots.heatmap(source, quantity="time", over="m", by="n")
        assert axes.get_xlabel().startswith("rows of the product")
    command = ["plot", "lines", "symbols.toml", "--quantity", "time", "--over", "m"]
    assert CliRunner().invoke(main, [*command, "--at", "n=512", "--out", "a.png"]).exit_code == 0


def test_random_inputs_have_symbols() -> None:
    """Laws, statistics, sets of inputs and the values of a law are named by symbols."""
    study = dse.Study(
        model="transit",
        axes={"n": [256, 512, 1024]},
        set={"Z": 10, "M": 32, "R": 1},
        random={"L": LATENCIES},
        outputs=["mean(r)"],
    )
    assert study.law("r", at={"n": 256}).at == {"threads": 256}
    assert next(iter(study.run().data_vars)) == "mean(ms_throughput)"
    worth = study.information(maximize="r - n / 4096", sets=[["L"]])
    assert worth.set.values.tolist() == ["mem_latency"]


def test_comparisons_have_symbols() -> None:
    """A symbol with one meaning in all models of a comparison is accepted."""
    both = dse.Study(
        model=["transit", "transit + transit_warps"],
        axes={"n": [64, 2048]},
        set={"Z": "5 * 2", "M": 32, "R": 1, "L": 600},
        outputs=["r"],
    )
    for source in (both, both.run()):
        table = dse.disagreement(source, maximize="r", per="n", where="n > 1")
        assert table.best_ms_throughput.dims == ("model", "threads")
        best = dse.optimum(source, maximize="r / n", per="n")
        assert best.threads.values.tolist() == [64, 2048]


def test_evaluated_values_and_outputs_have_symbols() -> None:
    """evaluate accepts symbols as names of values, in formulas and among outputs."""
    point: dict[str, Any] = {"machine": "h100_sxm", "m": 1024, "n": "2 * m", "k": 64}
    assert next(iter(dse.evaluate("gemm", **point, outputs=["E"]).data_vars)) == "energy"


def test_names_of_the_data_have_priority() -> None:
    """A variable of a Dataset with the name of a symbol is this variable."""
    study = dse.Study(
        model="gemm", machine="h100_sxm", axes={"m": [512, 1024]}, set={"n": 512, "k": 512}
    )
    run = study.run().rename(product_rows="rows").assign_coords(m=("rows", [4.0, 1e9]))
    assert dse.optimum(run, minimize="time/m").rows == 1024


def test_symbols_are_not_texts_numbers_or_units(tmp_path: Path) -> None:
    """Texts in quotes, exponents and units stay; a quantity that is given twice is an error."""
    model = tmp_path / "bits.py"
    model.write_text(
        "import dse\nSYMBOLS = {'bits': 'E', 'delay': 's'}\n"
        "bits = dse.quantity('bits', domain='[0, inf)')\n"
        "delay = dse.quantity('delay', unit='s', domain='[0, inf)')\n"
        "@dse.equation(unit='s')\ndef sending(bits, delay):\n    return bits * delay\n"
    )
    study = dse.Study(model=str(model), axes={"E": [1, 2], "s": [1, 4]}, where="E > 1.E-3")
    assert study.where == ("bits > 1.E-3",)
    best = study.optimum(minimize="sending / (2 s) + 2.E+1 * E", per="s")
    assert best.objective.values.tolist() == [20.5, 22.0]
    assert study.count(where="sending < 3 s", per="E").feasible_points.values.tolist() == [1, 1]
    with pytest.raises(DseError, match=r"E \(bits\), bits: keep one"):
        study.borders("sending < 3 s", at={"E": 1, "bits": 2})


def _text(command: list[str]) -> str:
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_only_allowed_machines_have_assumed_inputs(tmp_path: Path) -> None:
    """A condition on the machine alone excludes the assumed inputs of other machines."""
    study = tmp_path / "two.toml"
    study.write_text(
        'model = "gemm"\noutputs = ["energy"]\n[axes]\nmachine = ["h200", "b300"]\n'
        "m = [1024, 2048]\n[set]\nn = 1024\nk = 1024\n"
    )
    command = ["optimum", str(study), "--minimize", "energy"]
    for few in (["--at", "machine=h200"], ["--where", "machine != 'b300' and m > 1"]):
        assert "board_power of b300" not in _text([*command, *few])
        assert "assumed" not in json.loads(_text([*command, *few, "--json"]))
    for all_machines in (
        [],
        ["--where", "machine == 'h200' or m > 1024"],
        ["--at", "machine=b300"],
    ):
        assert "board_power of b300" in _text([*command, *all_machines])
    read = dse.Study.from_toml(study)
    assert "b300" in read.optimum(minimize="energy").attrs["assumed"]
    assert "assumed" not in read.optimum(minimize="energy", where="machine == 'h200'").attrs


def test_counts_have_units_and_singulars(tmp_path: Path) -> None:
    """Values of axes have units, and a single border, row or point is no plural."""
    study = tmp_path / "limit.toml"
    study.write_text(
        'model = "gemm"\nmachine = "h100_sxm"\noutputs = ["time"]\n[axes]\n'
        'power_limit = ["350 W", "700 W"]\nm = [512, 1024, 4096]\n[set]\nn = 1024\nk = 1024\n'
    )
    rows = _text(["count", str(study), "--per", "power_limit,m"]).splitlines()
    assert [row.split() for row in rows[1:7]] == [
        [watts, "W", m, "1", "1"] for watts in ("350", "700") for m in ("512", "1,024", "4,096")
    ]
    quantiles = _text(["quantiles", str(study), "--output", "time", "--per", "m", "--q", "0,1"])
    assert quantiles.splitlines()[1].count("µs") == 2
    for condition, many in (("m < 1024", "1 border:"), ("512 < m < 2048", "2 borders:")):
        assert f"along product_rows, {many}" in _text(
            ["borders", str(study), "--quantity", condition, "--along", "m"]
        )
