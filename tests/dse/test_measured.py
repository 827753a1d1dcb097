"""Measurements of tuners and tables: every row kept, a run's questions, what is refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse import DseError
from tests.long import draws, long

Run = Callable[..., Result]

SAMPLES = Path(__file__).parents[1] / "data"
T4, CACHE = SAMPLES / "t4.json", SAMPLES / "cache.json"
TUNED = (
    Path(__file__).parents[3] / "shared/data/tuner/cachefiles__convolution_milo__A4000_T4.json.gz"
)
needs_tuned = pytest.mark.skipif(
    not TUNED.is_file(), reason="needs ../shared/data/tuner beside the project"
)


def statuses(ds: Any) -> list[str]:
    words = str(ds.status.attrs["flag_meanings"]).split()
    return [words[k] for k in ds.status.values.ravel()]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# --- the convolution of ../shared/data/tuner, by an independent reading of the file
def read_results() -> list[dict[str, Any]]:
    tree: dict[str, Any] = json.loads(gzip.decompress(TUNED.read_bytes()))
    results: list[dict[str, Any]] = tree["results"]
    return results


@needs_tuned
def test_every_configuration_is_imported_and_failed_ones_say_why() -> None:
    ds = dse.open(TUNED)
    rows = read_results()
    assert ds.sizes == {"configuration": 4362} == {"configuration": len(rows)}
    assert statuses(ds) == [row["invalidity"] for row in rows]
    assert json.loads(ds.attrs["statuses"]) == {"correct": 4201, "runtime": 155, "compile": 6}
    wrong = np.array([row["invalidity"] != "correct" for row in rows])
    assert (np.isnan(ds.time.values) == wrong).all()
    assert (ds.feasible.values == ~wrong).all()
    for name in rows[0]["configuration"]:
        assert ds[name].values.tolist() == [row["configuration"][name] for row in rows]
    values = [row["measurements"][0]["value"] for row in rows]
    assert np.allclose(ds.time.values[~wrong], [v / 1e3 for v in values if isinstance(v, float)])
    assert ds.time.attrs["units"] == "s"


@needs_tuned
def test_best_top_and_constrained_by_one_command_each(run: Run) -> None:
    fine = [r for r in read_results() if r["invalidity"] == "correct"]
    fine.sort(key=lambda row: row["measurements"][0]["value"])

    def ask(*more: str) -> list[dict[str, Any]]:
        text = run("optimum", str(TUNED), "--minimize", "time", *more, "--json").stdout
        result: list[dict[str, Any]] = json.loads(text)["rows"]
        return result

    def same(rows: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
        assert len(rows) == len(wanted)
        for row, want in zip(rows, wanted, strict=True):
            assert row["time"] == pytest.approx(want["measurements"][0]["value"] / 1e3)
            assert {name: row[name] for name in want["configuration"]} == want["configuration"]

    same(ask(), fine[:1])
    same(ask("--top", "10"), fine[:10])
    chosen = [r for r in fine if r["configuration"]["use_shmem"] == 1]
    chosen = [
        r
        for r in chosen
        if r["configuration"]["block_size_x"] * r["configuration"]["block_size_y"] <= 128
    ]
    where = ["--where", "use_shmem == 1", "--where", "block_size_x * block_size_y <= 128"]
    same(ask(*where), chosen[:1])
    assert chosen[0] is not fine[0]


@long
@needs_tuned
def test_a_stored_import_answers_the_same_and_a_grid_by_axis(run: Run) -> None:
    text = run("import", str(TUNED), "tuned.zarr").stdout
    assert text.startswith("4,362 configurations; failed: 155 runtime, 6 compile\n")
    stored, ds = dse.open("tuned.zarr"), dse.open(TUNED)
    assert stored.load().drop_attrs().identical(ds.drop_attrs())
    best = dse.best_config(dse.optimum(stored, minimize="time", top=3))
    assert best["block_size_x"] == 256
    grid = dse.open(TUNED, shape="grid")
    assert int((grid.status == 3).sum()) == grid.status.size - 4362
    assert int(grid.feasible.sum()) == 4201
    each = dse.optimum(grid, minimize="time", per="block_size_y")
    frame = ds.to_dataframe().query("feasible").groupby("block_size_y").time.min()
    assert each.time.values.tolist() == frame.tolist()
    rows = dse.optimum(ds, minimize="time", per="block_size_y")
    assert rows.time.values.tolist() == frame.tolist()
    assert rows.block_size_y.values.tolist() == frame.index.tolist()


@needs_tuned
def test_predictions_stand_beside_what_was_measured() -> None:
    """Blocks and occupancy of each measured configuration, by a model on its rows."""
    ds = dse.open(TUNED)
    threads = ds.block_size_x * ds.block_size_y
    read_results = dse.evaluate(
        "occupancy", machine="gtx280", threads_per_block=threads.where(threads <= 512, 512),
        registers_per_thread=10, shared_mem_per_block=0,
    )  # fmt: skip
    assert read_results.occupancy.dims == ("configuration",)
    assert (read_results.block_size_x == ds.block_size_x).all()
    joined = ds.assign(occupancy=read_results.occupancy)
    best = dse.optimum(joined, minimize="time", where="occupancy >= 0.9")
    assert float(best.time) >= float(dse.optimum(ds, minimize="time").time)


def test_a_fit_of_measured_rows_leaves_failed_ones_out(tmp_path: Path) -> None:
    text = "core_clock [MHz],time [ms]\n607,18.096\n810,13.723\n900,crashed\n1012,11.049\n"
    path = write(tmp_path / "runs.csv", text + "1202,9.3311\n1328,8.6014\n")
    given: dict[str, Any] = {"free": ["stall_time", "core_cycles"], "residuals": "relative"}
    ds = dse.open(path, axes="core_clock")
    result = dse.fit("clock_scaling", ds, to="time", columns=["core_clock", "time"], **given)
    write(path, path.read_text().replace("900,crashed\n", ""))
    again = dse.fit("clock_scaling", path, to="time", **given)
    assert result["core_cycles"] == pytest.approx(again["core_cycles"])
    predicted = dse.evaluate(
        "clock_scaling",
        core_clock=ds.core_clock,
        outputs=["time"],
        **{name: result[name] for name in given["free"]},
    )
    error = abs(predicted.time / ds.time - 1)
    assert error.sizes == {"core_clock": 6}
    assert float(error.max()) < 0.02
    assert int(error.isnull().sum()) == 1


# --- T4 and caches of our own
def test_t4_as_it_is_told() -> None:
    ds = dse.open(T4)
    assert ds.sizes == {"block_size_x": 3, "tile": 2, "precision": 1}
    assert ds.time.values[..., 0].tolist() == pytest.approx(
        np.array([[0.004, 0.003], [np.nan, 0.002], [0.00225, np.nan]]), nan_ok=True
    )
    assert statuses(ds) == ["correct", "correct", "runtime", "correct", "correct", "compile"]
    assert ds.compile_time.values[..., 0].tolist() == [[0.1, 0.2]] * 3
    assert ds.GFLOP_per_s.attrs == {"long_name": "GFLOP/s", "units": "1"}
    assert ds.time_std.sel(block_size_x=64, tile=2).values.tolist() == pytest.approx([0.0005])
    assert ds.precision.values.tolist() == ["float"]
    best = dse.best_config(dse.optimum(ds, minimize="time"))
    assert (best["block_size_x"], best["tile"], best["time"]) == (64, 2, 0.002)
    front = dse.pareto(ds, minimize=["time", "compile_time"])
    assert front.block_size_x.values.tolist() == [64, 128]
    assert dse.optimum(ds, maximize="GFLOP_per_s").tile == 2


def test_a_cache_as_it_is_told() -> None:
    ds = dse.open(CACHE, shape="rows")
    assert ds.sizes == {"configuration": 6}
    assert statuses(ds)[2:] == ["runtime", "correct", "correct", "constraints"]
    assert ds.nvml_power.attrs["units"] == "W"
    assert float(ds.nvml_gr_clock[0]) == 1.2e9
    assert ds.attrs["device"] == "A Device"
    assert ds.attrs["problem_size"] == "[4096, 4096]"
    whole = dse.open(CACHE)  # 6 of 8 combinations: the file lists a block size without rows
    assert whole.sizes == {"block_size_x": 4, "tile": 2}
    assert statuses(whole)[-2:] == ["not_measured", "not_measured"]
    energy = dse.optimum(whole, minimize="time * nvml_power")
    assert (int(energy.block_size_x), int(energy.tile)) == (128, 1)


@pytest.mark.parametrize("cut", ["with its comma", "without", "in a row"])
def test_a_cache_without_its_end_is_read_as_far_as_it_goes(tmp_path: Path, cut: str) -> None:
    lines = CACHE.read_text().splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith('"32,1"'))
    text = "\n".join(lines[: first + 2])
    text += {"with its comma": "", "without": "", "in a row": '\n"64,1": {"bl'}[cut]
    text = text.rstrip(",") if cut == "without" else text
    ds = dse.open(write(tmp_path / "open.json", text), shape="rows")
    assert ds.time.values.tolist() == pytest.approx([0.004, 0.003])
    assert "interrupted" in ds.attrs["notes"]


def test_times_of_other_tuners_and_failures_as_huge_numbers(tmp_path: Path) -> None:
    tree = json.loads(T4.read_text())
    tree["metadata"]["timeunit"] = "microseconds"
    tree["results"][0]["measurements"][0]["value"] = 1e20
    tree["results"][1]["invalidity"] = "timeout"
    ds = dse.open(write(tmp_path / "us.json", json.dumps(tree)), shape="rows")
    assert float(ds.time[3]) == 2e-6
    assert np.isnan(ds.time[0])
    assert statuses(ds)[1] == "timeout"
    assert not ds.feasible[1]


# --- tables
CSV = """block size,core_clock [MHz],time [ms],case,status
64,607,3.5,a,ok
64,810,3.25,b,ok
128,607,OOM,b,
128,810,,a,timeout
"""


def test_a_table_with_axes_units_and_failures(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.csv", CSV)
    ds = dse.open(path, axes=["block size", "core_clock"])
    assert ds.sizes == {"block_size": 2, "core_clock": 2}
    assert ds.core_clock.values.tolist() == [607e6, 810e6]
    assert ds.time.values.tolist() == pytest.approx(
        np.array([[0.0035, 0.00325], [np.nan, np.nan]]), nan_ok=True
    )
    assert statuses(ds) == ["correct", "correct", "OOM", "timeout"]
    assert ds.case.values.tolist() == [["a", "b"], ["b", "a"]]
    assert float(dse.optimum(ds, minimize="time", where="core_clock < 700 MHz").time) == 0.0035
    rows = dse.open(path, units={"time": "us"})
    assert float(dse.optimum(rows, minimize="time").time) == 3.25e-6
    assert rows.sizes == {"configuration": 4}
    assert rows.block_size.values.tolist() == [64, 64, 128, 128]


@pytest.mark.parametrize("ending", [".parquet", ".csv.gz", ".csv"])
def test_formats_are_alike(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"tile": [1, 2, 3], "time [ms]": [3.0, np.nan, 2.0]})
    path = tmp_path / f"runs{ending}"
    if ending == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep=";")
    ds = dse.open(path, axes="tile")
    assert ds.time.values.tolist() == pytest.approx([0.003, np.nan, 0.002], nan_ok=True)
    assert statuses(ds) == ["correct", "failed", "correct"]
    assert ds.tile.dtype.kind == "i"


def test_what_this_library_wrote_is_opened_as_before(tmp_path: Path) -> None:
    ds = dse.open(T4)
    for ending in (".zarr", ".nc", ".csv", ".parquet"):
        with dse.open(dse.export(ds, tmp_path / f"out{ending}")) as again:
            assert again.load().drop_attrs().identical(ds.drop_attrs())
    with pytest.raises(DseError, match="is no file of measurements"):
        dse.open(tmp_path / "out.nc", shape="grid")


@settings(max_examples=draws(15), deadline=None)
@given(
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)),
    seed=st.integers(0, 2**32 - 1),
    share=st.floats(0.1, 1),
)
def test_rows_and_grid_hold_the_same(
    tmp_path_factory: pytest.TempPathFactory, sizes: tuple[int, int, int], seed: int, share: float
) -> None:
    """Each row stands at its place of the grid; auto chooses a grid where half of it is there."""
    rng = np.random.default_rng(seed)
    cells = int(np.prod(sizes))
    flat = rng.permutation(cells)[: max(1, round(share * cells))]
    values = [rng.permutation(100)[:size] for size in sizes]
    index = np.unravel_index(flat, sizes)
    columns = {name: values[k][index[k]] for k, name in enumerate("pqr")}
    frame = pd.DataFrame({**columns, "y": rng.normal(size=flat.size).round(6)})
    path = tmp_path_factory.mktemp("t") / "t.csv"
    frame.to_csv(path, index=False)
    grid = dse.open(path, axes=list("pqr"), shape="grid")
    rows = dse.open(path, axes=list("pqr"), shape="rows")
    assert rows.y.values.tolist() == frame.y.tolist()
    for p, q, r, y in frame.itertuples(index=False):
        assert float(grid.y.sel(p=p, q=q, r=r)) == y
    assert int(grid.feasible.sum()) == len(frame)
    combinations = int(np.prod([len(set(column)) for column in columns.values()]))
    assert ("p" in dse.open(path, axes=list("pqr")).sizes) == (combinations <= 2 * len(frame))
    (a, b) = (dse.best_config(dse.optimum(ds, minimize="y")) for ds in (grid, rows))
    assert a["y"] == b["y"]


def test_labels_of_an_axis_stand_as_they_occur(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "mode,time\nslow,3\nfast,1\nmedium,2\n")
    ds = dse.open(path, axes="mode", shape="grid")
    assert ds["mode"].values.tolist() == ["slow", "fast", "medium"]
    assert ds.time.values.tolist() == [3, 1, 2]


# --- refused, or told
def test_two_measurements_of_one_configuration_are_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "twice.csv", "tile,time\n1,2\n2,3\n1,4\n")
    assert dse.open(path, axes="tile").sizes == {"configuration": 3}
    with pytest.raises(DseError, match=r"rows 0 and 2 both measure tile = 1"):
        dse.open(path, axes="tile", shape="grid")


@pytest.mark.parametrize(
    ("name", "text", "given", "message"),
    [
        ("a.json", "{", {}, "is no JSON"),
        ("a.json", "[]", {}, "is no T4 file"),
        ("a.json", '{"General": {}}', {}, "it has General"),
        ("a.json", '{"results": []}', {}, "no configurations"),
        ("a.json", '{"results": [1]}', {}, "not the structure of a T4"),
        (
            "a.json",
            '{"cache": {"1": {}}, "tune_params_keys": ["x"]}',
            {},
            "not the structure of a Kernel Tuner cache",
        ),
        ("a.json.gz", "no gzip", {}, "is no JSON"),
        ("a.csv", "", {}, "is no table"),
        ("a.csv", "a,b\n", {}, "holds no rows"),
        ("a.csv", "a,a\n1,2\n", {}, "two columns 'a'"),
        ("a.csv", "a,a [ms]\n1,2\n", {}, "two columns 'a'"),
        ("a.csv", "a,\n1,2\n", {}, "a column without a name"),
        ("a.csv", "a b,a_b\n1,2\n", {}, "both a_b:"),
        ("a.csv", "a,b\n1,2,3\n", {}, "is no table with a header"),
        ("a.csv", "a,b\n1,2\n", {"axes": ["c"]}, "axes names 'c'"),
        ("a.csv", "a,b\n,2\n", {"axes": ["a"]}, "has no value at row 0"),
        ("a.csv", "a,b\n1,2\n", {"shape": "grid"}, "a grid needs its axes"),
        ("a.csv", "a,b\n1,2\n", {"shape": "cube"}, "expected one of 'auto', 'grid', 'rows'"),
        ("a.csv", "a,b\n1,2\n", {"units": {"c": "ms"}}, "units names 'c'"),
        ("a.csv", "a,b\n1,2\n", {"units": "ms"}, "expected a mapping"),
        ("a.csv", "a,time [W]\n1,2\n", {}, "expected a time"),
        ("a.csv", "a,time [jiffy]\n1,2\n", {}, "by units="),
        ("a.csv", "a,feasible\n1,perhaps\n", {}, "expected true or false"),
        ("a.parquet", "no parquet", {}, "cannot be read as a table"),
    ],
)
def test_what_cannot_be_read_is_said(
    tmp_path: Path, name: str, text: str, given: dict[str, Any], message: str
) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(DseError, match=message):
        dse.open(path, **given)


def test_a_tuner_tells_its_axes_and_nothing_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DseError, match="has its own axes"):
        dse.open(T4, axes=["tile"])
    with pytest.raises(DseError, match="does not exist"):
        dse.open(tmp_path / "none.json")


def test_a_sparse_grid_too_large_is_refused(tmp_path: Path) -> None:
    count = 600
    frame = pd.DataFrame({name: np.arange(count) for name in "abc"}).assign(y=1.5)
    frame.to_csv(tmp_path / "sparse.csv", index=False)
    assert dse.open(tmp_path / "sparse.csv", axes=list("abc")).sizes == {"configuration": count}
    with pytest.raises(DseError, match="216,000,000 combinations, of which 600 were measured"):
        dse.open(tmp_path / "sparse.csv", axes=list("abc"), shape="grid")


def test_large_numbers_stay_exact_and_infinities_are_failures(tmp_path: Path) -> None:
    path = write(tmp_path / "odd.csv", "a,time\n9007199254740993,1e400\n2,-inf\n3,0x10\n4,5\n")
    ds = dse.open(path, axes="a")
    assert ds.a.values.tolist() == [2, 3, 4, 9007199254740993]
    assert ds.time.values.tolist() == pytest.approx([np.nan, np.nan, 5, np.nan], nan_ok=True)
    assert statuses(ds) == ["-inf", "0x10", "correct", "inf"]


def test_many_reasons_are_told_as_one(tmp_path: Path) -> None:
    lines = ["a,time", *(f"{k},reason {k}" for k in range(300)), "300,1"]
    ds = dse.open(write(tmp_path / "many.csv", "\n".join(lines)), axes="a")
    assert int(ds.feasible.sum()) == 1
    read_results = statuses(ds)
    assert read_results[0] == "reason_0"
    assert set(read_results[120:300]) == {"failed"}


def test_import_by_command(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "runs.csv", CSV)
    answer = json.loads(
        run("import", "runs.csv", "runs.zarr", "--axes", "block size,core_clock", "--json").stdout
    )
    assert answer["statuses"] == {"correct": 2, "OOM": 1, "timeout": 1}
    assert answer["sizes"] == {"block_size": 2, "core_clock": 2}
    text = run("optimum", "runs.zarr", "--minimize", "time", "--per", "core_clock").stdout
    assert "3.25 ms" in text
    assert "correct" in text
    run("import", "runs.csv", "runs.zarr", status=2)
    run("import", "runs.csv", "other.zarr", "--unit", "time=W", status=2)
    assert not Path("other.zarr").exists()
    front = run("pareto", str(T4), "--minimize", "time,compile_time").stdout
    assert "2 configurations" in front
