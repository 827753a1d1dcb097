"""Test the option --out: every answer is written to a file that reads back with the same values."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse.answer_file import write_answer
from dse.cli import main
from symbolic.errors import DseError
from tests.dse.conftest import Run

BEST = ("optimum", "study.toml", "--minimize", "time")


def rows_of(run: Run, *command: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(run(*command, "--json").stdout)["rows"]
    return rows


@pytest.mark.parametrize("suffix", ["csv", "parquet", "nc", "zarr", "json"])
def test_an_answer_reads_back(run: Run, suffix: str) -> None:
    command = (*BEST, "--per", "active_sms")
    rows = rows_of(run, *command)
    run(*command, "--out", f"best.{suffix}")
    if suffix == "json":
        assert json.loads(Path("best.json").read_text())["rows"] == rows
        return
    ds = dse.open(f"best.{suffix}")
    assert ds.attrs["question"] == "minimize time"
    assert ds.time.attrs["units"] == "s"
    for name in ("active_sms", "time"):
        expected = [math.nan if row[name] is None else row[name] for row in rows]
        assert np.array_equal(ds[name].values, expected, equal_nan=True)
    flags = json.loads(run(*command, "--json").stdout)["variables"]["case"]["flags"]
    assert ds.case.values.tolist() == [flags.get(str(row["case"]), "") for row in rows]


def test_columns_of_a_front_are_its_objectives(run: Run) -> None:
    """The column of an objective is named by its formula, in the printed table, too."""
    command = ("pareto", "study.toml", "--minimize", "time * 2,active_sms / 2")
    text = run(*command, "--out", "front.csv").stdout
    header = Path("front.csv").read_text().splitlines()[1].replace('"', "").split(",")
    assert {"time * 2", "active_sms / 2"} < {*header}
    assert re.search(r"^.*  time \* 2  active_sms / 2$", text, re.M)
    assert dse.open("front.csv")["time * 2"].attrs["units"] == "s"


def test_a_statistic_that_is_the_objective_has_one_column(run: Run) -> None:
    goal = "best(time,active_sms)"
    table = run("optimum", "study.toml", "--minimize", goal).stdout.split("\n\n")[1]
    assert "objective" in table
    assert "best_low" not in table


def test_a_study_of_the_best_configuration_runs(run: Run) -> None:
    run("run", "study.toml", "--store", "out.zarr")
    for source in ("study.toml", "out.zarr"):
        out = f"{source}.toml"
        (best,) = rows_of(run, "optimum", source, "--minimize", "time")
        run("optimum", source, "--minimize", "time", "--out", out)
        again = dse.Study.from_toml(out).run()
        assert again.sizes == {}
        assert again.time.item() == best["time"]
        assert run("run", out).exit_code == 0


def test_names_of_files_are_relative_to_the_new_study(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shipped = Path(dse.__file__).parent / "data" / "workloads" / "svm.toml"
    (other / "own.toml").write_text(shipped.read_text())
    (other / "s.toml").write_text(
        'model = "occupancy + mwp_cwp"\nmachine = "gtx280"\nworkload = "own.toml"\n'
        'outputs = ["time"]\n[axes]\nactive_sms = [10, 20]\n[set]\nthreads_per_block = 256\n'
    )
    run("optimum", str(other / "s.toml"), "--minimize", "time", "--out", "best.toml")
    text = Path("best.toml").read_text()
    assert 'workload = "other/own.toml"' in text
    assert dse.Study.from_toml("best.toml").run().sizes == {}


REFUSED = (
    (("--out", "best.txt"), "best.txt: expected a name that ends in .json"),
    (("--out", "nowhere/best.csv"), "in a folder that exists"),
    (("--out", "study.toml"), "study.toml exists already"),
    (("--top", "3", "--out", "best.toml"), "holds one configuration, and the answer has 3"),
)


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_cannot_be_written(run: Run, options: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(main, [*BEST, *options])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_records_of_any_kind(tmp_path: Path) -> None:
    """Missing values, infinities, flags, nested values and answers without records are written."""
    rows: list[dict[str, Any]] = [
        {"a": 1, "b": None, "c": "x", "d": True, "e": [1, 2]},
        {"a": 2**53, "b": -math.inf, "c": None, "d": False, "e": [3, 4]},
    ]
    write_answer({"each": rows}, tmp_path / "t.csv", None, "certified: sure")
    ds = dse.open(tmp_path / "t.csv")
    assert ds.a.values.tolist() == [1, 2**53]
    assert np.isnan(ds.b.values[0])
    assert ds.b.values[1] == -math.inf
    assert ds.c.values.tolist() == ["x", ""]
    assert ds.d.values.tolist() == [True, False]
    assert json.loads(ds.e.values[1]) == [3, 4]
    assert ds.attrs["certificate"] == "certified: sure"
    write_answer({"points": 3, "names": ["x"]}, tmp_path / "n.csv", None)
    assert dse.open(tmp_path / "n.csv").points.values.tolist() == [3]
    for data in (
        {"one": rows, "two": rows},
        {"outputs": {"time": {}}},
        {"parts": [{"rows": rows}]},
    ):
        with pytest.raises(DseError, match=r"no single table: choose a name that ends in .json"):
            write_answer(data, tmp_path / "x.csv", None)
    write_answer(rows, tmp_path / "l.csv", None)  # a list, as in dse analyze
    assert dse.open(tmp_path / "l.csv").a.values.tolist() == [1, 2**53]
    single = {"variables": {"a": {}}, "rows": [{"a": 1}]}
    with pytest.raises(DseError, match="the source has no study"):
        write_answer(single, tmp_path / "x.toml", None)
    assert not (tmp_path / "x.csv").exists()
