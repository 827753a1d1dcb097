"""Models side by side: where they differ, and what following the wrong one costs."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse.cli.disagreement import disagreement as command
from symbolic.errors import InfeasibleError, UnknownNameError
from tests.long import draws

HONG, LI = "occupancy + mwp_cwp", "occupancy + transit + transit_time"
MERGE = ["sepia", "linear", "svm", "mat_naive", "mat_tiled", "blackscholes"]
GPUS = ["8800gtx", "fx5600", "8800gt", "gtx280"]


@pytest.fixture(scope="module")
def merge() -> xr.Dataset:
    axes = {"workload": MERGE, "machine": GPUS, "threads_per_block": range(32, 513, 32)}
    axes |= {"active_sms": [8, 14, 16, 30]}
    ds: xr.Dataset = dse.Study(model=[HONG, LI], axes=axes, outputs=["time", "case"]).run()
    return ds


# --- the Merge benchmarks by MWP-CWP and by Transit


def test_the_merge_benchmarks_by_two_models(merge: xr.Dataset) -> None:
    result = dse.disagreement(merge, per=["workload", "machine"])
    assert result.regret.dims == ("model", "under", "workload", "machine")
    same = result.regret.sel(model=HONG, under=HONG)
    assert (same == 1).all()
    assert (result.regret >= 1).all()
    assert float(result.regret.sel(model=LI, under=HONG).max()) == pytest.approx(1.069, abs=5e-4)
    assert (result.regret.sel(model=HONG, under=LI) < 1.0001).all()  # any block fills the memory
    assert result.optimum_differs.sel(model=LI, under=HONG).sum() > 10
    cell = {"workload": "blackscholes", "machine": "gtx280"}
    chosen = result.best_threads_per_block.sel(cell)
    assert chosen.values.tolist() == [128, 32]
    here = merge.time.sel(**cell, model=HONG, active_sms=30)
    ratio = here.sel(threads_per_block=32) / here.sel(threads_per_block=128)
    assert float(result.regret.sel(**cell, model=LI, under=HONG)) == float(ratio)


def test_each_optimum_is_that_of_the_model_alone(merge: xr.Dataset) -> None:
    result = dse.disagreement(merge, per=["workload", "machine"])
    for model in (HONG, LI):
        alone = dse.optimum(
            merge.sel(model=model).drop_vars("model"), minimize="time", per=["workload", "machine"]
        )
        mine = result.sel(model=model)
        for name in ("threads_per_block", "active_sms", "time"):
            np.testing.assert_array_equal(mine[f"best_{name}"], alone[name])


def test_where_the_cases_differ(merge: xr.Dataset) -> None:
    result = dse.disagreement(merge, per="workload")
    names = dict(
        zip(*(merge.case.attrs[k] for k in ("flag_values", "flag_meanings")), strict=False)
    )
    assert len(names) == 4  # those of Transit, which knows both bounds at once
    hong, li = merge.case.sel(model=HONG), merge.case.sel(model=LI)
    np.testing.assert_array_equal(
        result.case_differs, (hong != li) & merge.feasible.sel(model=HONG)
    )
    allowed = merge.feasible.sel(model=HONG).transpose("workload", ...)
    share = result.case_differs.sum(["machine", "threads_per_block", "active_sms"]) / allowed.sum(
        [d for d in allowed.dims if d != "workload"]
    )
    pairs = result.case_disagreement.sel(model=HONG, under=LI)
    np.testing.assert_allclose(pairs, share)
    assert float(pairs.sel(workload="blackscholes")) > 0.2
    assert float(pairs.sel(workload="svm")) == 0


def test_overall_and_where(merge: xr.Dataset) -> None:
    one = merge.sel(workload="sepia", machine="gtx280")
    result = dse.disagreement(one, where="threads_per_block >= 64")
    assert result.regret.dims == ("model", "under")
    assert result.best_threads_per_block.values.tolist() == [128, 64]
    assert result.attrs["question"] == "minimize time"
    assert result.attrs["where"] == "threads_per_block >= 64"
    fixed = one.time.sel(active_sms=30, model=HONG)
    ratio = float(fixed.sel(threads_per_block=64) / fixed.sel(threads_per_block=128))
    assert float(result.regret.sel(model=LI, under=HONG)) == ratio


def test_variables_explain_themselves(merge: xr.Dataset) -> None:
    result = dse.disagreement(merge, per="machine")
    assert all(variable.attrs["long_name"] for variable in result.variables.values())
    assert result.best_time.attrs["units"] == "s"
    assert result.regret.attrs["units"] == "1"
    assert result.title == f"disagreement of {HONG}, {LI}"
    assert json.loads(result.study)[LI]


@pytest.mark.parametrize("ending", [".zarr", ".nc"])
def test_files_of_comparisons_and_of_answers(tmp_path: Any, ending: str, merge: xr.Dataset) -> None:
    part = merge.sel(machine=["8800gt"], workload=["svm", "sepia"])
    there = dse.open(dse.export(part, tmp_path / f"both{ending}"))
    expected = dse.disagreement(part, per="workload")
    result = dse.disagreement(there, per="workload")
    xr.testing.assert_equal(result, expected)
    stored = dse.open(dse.export(result, tmp_path / f"answer{ending}")).load()
    xr.testing.assert_equal(stored, expected)


# --- by meaning


def dataset(values: Any, flags: dict[str, dict[int, str]] | None = None, **more: Any) -> xr.Dataset:
    """A case of three configurations by several models."""
    array = xr.DataArray(np.array(values, dtype=np.int8), dims=("model", "threads"))
    ds = xr.Dataset({"bound": array, **more}).assign_coords(threads=[32, 64, 128])
    flags = flags or {}
    texts = {model: " ".join(known.values()) for model, known in flags.items()}
    ds.bound.attrs["flag_values_by_model"] = json.dumps({m: list(f) for m, f in flags.items()})
    ds.bound.attrs["flag_meanings_by_model"] = json.dumps(texts)
    return ds.assign_coords(model=list(flags))


def test_flags_are_compared_by_their_meaning() -> None:
    """Transit counts thread 0, memory 1, computation 2; TMM computation 0, span 1, memory 2."""
    flags = {"li": {0: "thread", 1: "memory", 2: "computation"}}
    flags["ma"] = {0: "computation", 1: "span", 2: "memory_bound"}
    result = dse.disagreement(dataset([[1, 2, 0], [2, 0, 0]], flags))
    assert result.bound_differs.values.tolist() == [False, False, True]
    assert result.bound_disagreement.values.tolist() == [[0, 1 / 3], [1 / 3, 0]]
    assert "regret" not in result
    assert result.attrs["question"] == ""


def test_infeasible_points_are_not_compared() -> None:
    flags = {"a": {0: "x", 1: "y"}, "b": {0: "y", 1: "x"}}
    allowed = xr.DataArray([[True, True, False], [True, False, False]], dims=("model", "threads"))
    result = dse.disagreement(dataset([[0, 0, -1], [0, -1, -1]], flags, feasible=allowed))
    assert result.bound_differs.values.tolist() == [True, False, False]
    assert result.bound_disagreement.values.tolist() == [[0, 1], [1, 0]]
    assert result.feasible_differs.values.tolist() == [False, True, False]


def test_shipped_bounds_of_other_numbers_are_told_by_model() -> None:
    """Both yield a bound: TMM by Eq. 1, Transit by §2.4."""
    given = {"work": 1e6, "transactions": 1e4, "mem_latency": 400, "n_sms": 15, "cores_per_sm": 32}
    given |= {"active_blocks_per_sm": 1, "blocks": 15, "max_threads_per_sm": 1536, "ms_peak": 1}
    given |= {"threads": 512, "intensity": 100, "lanes_width": 32, "threads_per_core": 4}
    ds = dse.Study(
        model=["tmm", "transit"], axes={"mem_latency": [10, 4000]}, outputs=["bound"],
        set={name: value for name, value in given.items() if name != "mem_latency"},
    ).run()  # fmt: skip
    assert "flag_meanings" not in ds.bound.attrs
    assert "flag_values" not in ds.bound.attrs
    data = json.loads(ds.bound.attrs["flag_meanings_by_model"])
    assert data == {
        "tmm": "computation span memory",
        "transit": "thread memory computation capacity",
    }
    result = dse.disagreement(ds)
    words = [
        [data[m].split()[int(v)] for v in ds.bound.sel(model=m).values] for m in ("tmm", "transit")
    ]
    expected = [a != b for a, b in zip(*words, strict=True)]
    assert result.bound_differs.values.tolist() == expected == [False, True]


# --- against plain loops

GRIDS = st.integers(2, 3).flatmap(
    lambda models: st.lists(
        st.sampled_from([1.0, 2.0, 3.0, math.nan]), min_size=models * 6, max_size=models * 6
    )
)


def loops(values: list[list[list[float]]], maximize: bool) -> list[list[list[float]]]:
    """Regret by model, judge and place along the axis that is kept."""
    models, places = range(len(values)), range(len(values[0]))
    better = max if maximize else min
    result = [[[math.nan for _ in places] for _ in models] for _ in models]
    for one, other, place in itertools.product(models, models, places):
        mine, theirs = values[one][place], values[other][place]
        if all(map(math.isnan, mine)) or all(map(math.isnan, theirs)):
            continue
        best = better(value for value in mine if not math.isnan(value))
        there = theirs[mine.index(best)]
        own = better(value for value in theirs if not math.isnan(value))
        ratio = own / there if maximize else there / own
        result[one][other][place] = math.inf if math.isnan(there) else ratio
    return result


@settings(deadline=None, max_examples=draws(80))
@given(flat=GRIDS, maximize=st.booleans())
def test_regret_is_that_of_plain_loops(flat: list[float], maximize: bool) -> None:
    values = np.array(flat).reshape(-1, 2, 3)
    ds = xr.Dataset({"gain": (("model", "machine", "threads"), values)})
    ds = ds.assign_coords(model=[f"m{k}" for k in range(len(values))])
    goal = {"maximize" if maximize else "minimize": "gain"}
    if np.isnan(values).all():
        with pytest.raises(InfeasibleError, match="finite gain"):
            dse.disagreement(ds, **goal, per="machine")
        return
    result = dse.disagreement(ds, **goal, per="machine")
    expected = np.array(loops(values.tolist(), maximize))
    np.testing.assert_array_equal(result.regret, expected)
    np.testing.assert_array_equal(result.optimum_differs, np.nan_to_num(expected, nan=1) > 1)
    edge = np.nanmax if maximize else np.nanmin
    alone = [[edge(row) if not np.isnan(row).all() else 0 for row in model] for model in values]
    ties = (values == np.array(alone)[..., None]).sum(axis=-1)
    np.testing.assert_array_equal(result.ties, ties)


def test_formulas_and_axes_without_labels() -> None:
    ds = xr.Dataset({"time": (("model", "x"), [[1.0, 2.0], [2.0, 1.0]])})
    result = dse.disagreement(ds.assign_coords(model=["a", "b"]), minimize="time * time")
    assert result.regret.values.tolist() == [[1, 4], [4, 1]]
    assert result.best_x.values.tolist() == [0, 1]
    assert result.best_objective.values.tolist() == [1, 1]


# --- misuse


def test_misuse(merge: xr.Dataset) -> None:
    alone = merge.sel(model=HONG)
    with pytest.raises(dse.DseError, match=r"no dimension 'model': expected one of several"):
        dse.disagreement(alone.drop_vars("model"))
    with pytest.raises(dse.DseError, match="holds one model"):
        dse.disagreement(merge.sel(model=[HONG]))
    with pytest.raises(UnknownNameError, match=r"no axis.*did you mean 'workload'"):
        dse.disagreement(merge, per="workloads")
    with pytest.raises(dse.DseError, match="expected one objective"):
        dse.disagreement(merge, minimize="time", maximize="case")
    with pytest.raises(dse.DseError, match=r"'tim'.*did you mean 'time'"):
        dse.disagreement(merge, minimize="tim")
    with pytest.raises(InfeasibleError, match="finite time"):
        dse.disagreement(merge, where="time < 0 s")
    with pytest.raises(dse.DseError, match="never below 0"):
        dse.disagreement(merge, minimize="0 - time")
    with pytest.raises(dse.DseError, match="the same for all models"):
        dse.disagreement(merge, minimize="threads_per_block")
    plain = xr.Dataset({"other": ("model", [1.0, 2.0])}).assign_coords(model=["a", "b"])
    with pytest.raises(dse.DseError, match="name an objective with minimize= or maximize="):
        dse.disagreement(plain)
    lost = merge[["case"]].copy()
    del lost.case.attrs["flag_values"]
    with pytest.raises(dse.DseError, match="what the values of case mean to occupancy"):
        dse.disagreement(lost)


# --- the command

STUDY = """
model = ["occupancy + mwp_cwp", "occupancy + transit + transit_time"]
machine = "gtx280"
outputs = ["time", "case"]
[axes]
workload = ["svm", "blackscholes"]
threads_per_block = [32, 128, 512]
[best]
minimize = "time"
per = "workload"
"""


def test_the_command(tmp_path: Any) -> None:
    path, store = tmp_path / "two.toml", tmp_path / "two.zarr"
    path.write_text(STUDY)
    done = CliRunner().invoke(command, [str(path), "--json", "--store", str(store)])
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["models"] == [HONG, LI]
    assert data["differs"]["case"] == {"configurations": 3, "of": 6}
    assert [row["best_threads_per_block"] for row in data["rows"]] == [128, 128, 128, 32]
    assert data["rows"][3]["regret"][HONG] == pytest.approx(1.069, abs=5e-4)
    again = CliRunner().invoke(command, [str(store), "--minimize", "time", "--per", "workload"])
    assert again.exit_code == 0, again.output
    assert f"A = {HONG}\nB = {LI}" in again.stdout
    assert "case differs at 3 of 6 configurations, 50.00%" in again.stdout
    lines = [line.split() for line in again.stdout.splitlines() if line.startswith("blackscholes")]
    assert [line[-1] for line in lines] == ["1.0000", "1.0000"]
    assert lines[1][-2] == "1.0690"


def test_a_study_of_several_models_on_the_command_line(tmp_path: Any) -> None:
    from dse.cli import main

    path = tmp_path / "two.toml"
    path.write_text(STUDY)
    runner = CliRunner()
    for name in ("run", "plan", "explain"):
        done = runner.invoke(main, [name, str(path)])
        assert done.exit_code == 2
        assert "compares several models: use dse disagreement" in done.output
    best = runner.invoke(main, ["optimum", str(path), "--minimize", "time", "--per", "model"])
    assert best.exit_code == 0, best.output
    assert [line.split()[0] for line in best.stdout.splitlines()[-2:]] == ["occupancy"] * 2
    mixed = runner.invoke(main, ["optimum", str(path), "--minimize", "time"])
    assert "the most optimistic of several models" in mixed.stdout
    one = path.with_name("one.toml")
    one.write_text(STUDY.replace("[", "", 1).replace(', "occupancy + transit + transit_time"]', ""))
    done = runner.invoke(main, ["disagreement", str(one)])
    assert done.exit_code == 2
    assert "names one model: expected a list" in done.output
