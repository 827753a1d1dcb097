"""Files: what goes in comes out, whole or not at all, and opens without this library."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
import xarray as xr

import dse
from dse import DseError, Study
from sweeps.files import export as module
from sweeps.files.atomic_write import atomic_path
from sweeps.files.export import export, open_dataset
from tests.long import long, mostly_long
from tests.oracles.compare import identical, same_attributes, same_bits

ENDINGS = ["zarr", "nc", "csv", "parquet"]
TABLES = ["csv", "parquet"]


def mixed_dataset() -> xr.Dataset:
    """Labels, flags, conditions, whole numbers, awkward floats, a zip, an output over no axis."""
    return Study(
        model="occupancy + mwp_cwp",
        workload="svm",
        axes={
            "machine": ["8800gt", "gtx280"],
            "rounding": ["whole", "continuous"],
            "pair": {"zip": {"threads_per_block": [64, 128, 768], "active_sms": [1, 14, 20]}},
            "core_clock": ["1 GHz", 1e9 / 3],
        },
        set={"comp_factor": 0.1},
        where="time < 1 s",
        outputs=["time", "case", "mem_insts", "occupancy", "limiter", "mwp"],
    ).run()


DATASETS: dict[str, Any] = {
    "a run": mixed_dataset,
    "an expanded run": lambda: Study(
        model="transit",
        axes={"supply": ["sharp", "smooth"], "threads": [1, 2.5]},
        set={"intensity": 3, "ms_peak": 1, "lanes_width": 8, "mem_latency": 7},
    ).run(expand=True),
    "one point": lambda: Study(
        model="transit",
        set={"threads": 3, "intensity": 3, "ms_peak": 1, "lanes_width": 8, "mem_latency": 7},
    ).run(),
    "an evaluation": lambda: dse.evaluate(
        "transit",
        threads=[[1, 2, 3], [4, 5, 6]],
        intensity=3,
        ms_peak=1,
        lanes_width=8,
        mem_latency=xr.DataArray([1.0, 2.0], dims="run", coords={"run": ["a", "b"]}),
    ),
    "an optimum": lambda: dse.optimum(mixed_dataset(), minimize="time"),
    "winners with gaps": lambda: dse.optimum(
        mixed_dataset(), maximize="mwp * 2", per="pair", top=30
    ),
    "a front": lambda: dse.pareto(mixed_dataset(), minimize=["time", "active_sms"]),
}


@pytest.fixture(scope="module")
def datasets() -> dict[str, xr.Dataset]:
    return {name: make() for name, make in DATASETS.items()}


def same(actual: xr.Dataset, expected: xr.Dataset) -> None:
    """The same but for the ways of saying text and lists."""
    assert set(actual.variables) == set(expected.variables)
    assert set(actual.coords) == set(expected.coords)
    assert dict(actual.sizes) == dict(expected.sizes)
    same_attributes(actual.attrs, expected.attrs)
    for name in expected.variables:
        one, other = actual[name], expected[name]
        assert one.dims == other.dims, name
        if other.dtype.kind in "UO":
            assert one.values.tolist() == other.values.tolist(), name
        else:
            assert one.dtype == other.dtype, (name, one.dtype, other.dtype)
            assert (
                same_bits(one.values, other.values)
                if other.dtype.kind == "f"
                else np.array_equal(one.values, other.values)
            ), name
        same_attributes(one.attrs, other.attrs)


@pytest.mark.parametrize(
    ("name", "ending"), mostly_long(product(DATASETS, ENDINGS), lambda k, _: k % 5 == 0)
)
def test_round_trip(
    name: str, ending: str, datasets: dict[str, xr.Dataset], tmp_path: Path
) -> None:
    ds = datasets[name]
    assert export(ds, tmp_path / f"file.{ending}") == tmp_path / f"file.{ending}"
    with open_dataset(tmp_path / f"file.{ending}") as result:
        same(result, ds)
        if name == "a run" and ending != "nc":
            assert np.asarray(result.machine).tolist() == ["8800gt", "gtx280"]
        for other in ENDINGS:  # and from each into each
            export(result, tmp_path / f"again.{other}")
            with open_dataset(tmp_path / f"again.{other}") as again:
                same(again, ds)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [f"file.{ending}", *(f"again.{other}" for other in ENDINGS)]
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_awkward_values(ending: str, tmp_path: Path) -> None:
    values = [0.1, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308, 1 / 3]
    labels = ["nan", "NA", "", "None", "a,b", 'q"uo"te', " s p ", "ünï\ncode"]
    ds = xr.Dataset(
        {
            "value": ("label", values, {"units": "s"}),
            "count": ("label", np.arange(8) + 2**53),
            "flag": ("label", np.arange(-1, 7, dtype=np.int8)),
            "holds": ("label", np.arange(8) % 3 == 0),
            "never": ("label", np.zeros(8, dtype=bool)),
        },
        coords={"label": labels, "single": 3.5, "word": "alone"},
        attrs={"note": 'commas, "quotes"\nlines', "number": 3, "share": 0.1},
    )
    if ending != "parquet":  # may be written as text of any kind; the values stay
        labels[2] = ""
    export(ds, tmp_path / f"file.{ending}")
    with open_dataset(tmp_path / f"file.{ending}") as result:
        same(result, ds)


def test_more_rows_than_are_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, datasets: dict[str, xr.Dataset]
) -> None:
    monkeypatch.setattr("sweeps.files.tabular._ROWS", 7)
    for ending in TABLES:
        export(datasets["a run"], tmp_path / f"file.{ending}")
        same(open_dataset(tmp_path / f"file.{ending}"), datasets["a run"])


@pytest.mark.parametrize("ending", TABLES)
@pytest.mark.parametrize("library", ["pyarrow", "pandas"])
def test_a_table_has_labels_of_cases_and_reads_them_as_numbers(
    tmp_path: Path, ending: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas as pd

    about = {"flag_values": np.array([0, 3], "i1"), "flag_meanings": 'memory_bound =bound,"x"'}
    unclear = {"flag_values": np.array([1, 2], "i1"), "flag_meanings": "2 two"}
    twice = {"flag_values": np.array([1, 2], "i1"), "flag_meanings": "two two"}
    ds = xr.Dataset(
        {
            "case": (("a", "b"), np.array([[0, 3, -1], [7, 3, 0]], "i1"), about),
            "unclear": ("a", np.array([1, 2], "i1"), unclear),
            "twice": ("a", np.array([1, 2], "i1"), twice),
            "text": ("b", ["memory bound", "-1", "\r"], about),
            "flag": ("a", [True, False]),
            "value": ("b", [np.nan, np.inf, 0.1]),
        },
        coords={"a": [1, 2], "b": [0.5, 1e300, -0.0]},
    )
    with monkeypatch.context() as lacking:
        if library == "pandas" and ending == "csv":
            lacking.setitem(sys.modules, "pyarrow", None)
        export(ds, tmp_path / f"t.{ending}")
    xr.testing.assert_identical(open_dataset(tmp_path / f"t.{ending}"), ds)
    path = tmp_path / f"t.{ending}"
    frame = pd.read_csv(path, skiprows=1) if ending == "csv" else pd.read_parquet(path)
    mark = "'" * (ending == "csv")  # no spreadsheet takes a label for a formula
    labels = ["memory bound", f'{mark}=bound,"x"', "-1", "7", f'{mark}=bound,"x"', "memory bound"]
    assert frame["case"].tolist() == labels
    assert frame["unclear"].tolist() == [1, 1, 1, 2, 2, 2]


def test_a_table_has_a_row_for_each_configuration(
    tmp_path: Path, datasets: dict[str, xr.Dataset]
) -> None:
    import pandas as pd

    ds = datasets["a run"]
    export(ds, tmp_path / "run.csv")
    frame = pd.read_csv(tmp_path / "run.csv", comment="#")
    assert len(frame) == math.prod(ds.sizes.values())
    assert {"core_clock [Hz]", "time [s]", "active_sms"} < {*frame.columns}
    frame = frame.rename(columns=lambda name: name.partition(" [")[0])
    assert set(frame.columns) == set(map(str, ds.variables))
    row = frame[frame.feasible].iloc[3]
    at = {"machine": row.machine, "rounding": row.rounding, "pair": row.pair}
    cell = ds.sel(at).sel(core_clock=row.core_clock, method="nearest")
    assert float(cell.time) == row.time
    assert cell.dse.labels("case") == row.case
    parquet = pd.read_parquet(export(ds, tmp_path / "run.parquet"))
    assert parquet.columns.tolist() == frame.columns.tolist()
    assert parquet.time[row.name] == row.time


PLAIN = """
import json, sys, warnings
warnings.simplefilter("error")
import numpy as np
import xarray as xr
path = sys.argv[1]
ds = xr.open_zarr(path) if path.endswith("zarr") else xr.open_dataset(path)
ds = ds.load()
for package in ("dse", "sweeps", "symbolic", "stochastic"):
    assert not any(m == package or m.startswith(package + ".") for m in sys.modules), package
case = ds.case
meanings = dict(zip(np.atleast_1d(case.attrs["flag_values"]).tolist(),
                    case.attrs["flag_meanings"].split()))
json.dump({
    "dims": {name: list(v.dims) for name, v in ds.variables.items()},
    "kinds": {name: v.dtype.kind for name, v in ds.variables.items()},
    "machine": [str(x) for x in ds.machine.values],
    "total": float(ds.time.sum()),
    "units": ds.time.attrs["units"],
    "meanings": meanings,
    "study": json.loads(ds.attrs["study"])["model"],
    "feasible": int(ds.feasible.sum()),
}, sys.stdout)
"""


@long
@pytest.mark.parametrize("ending", ["zarr", "nc"])
def test_opens_in_plain_xarray(
    ending: str, tmp_path: Path, datasets: dict[str, xr.Dataset]
) -> None:
    ds = datasets["a run"]
    path = export(ds, tmp_path / f"run.{ending}")
    command = [sys.executable, "-W", "error", "-c", PLAIN, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    answer = json.loads(result.stdout)
    assert answer["dims"] == {str(n): list(v.dims) for n, v in ds.variables.items()}
    assert answer["machine"] == ["8800gt", "gtx280"]
    assert answer["total"] == float(ds.time.sum())
    assert answer["units"] == "s"
    assert answer["meanings"]["2"] == "memory_bound"
    assert answer["study"] == "occupancy + mwp_cwp"
    assert answer["feasible"] == int(ds.feasible.sum())
    assert (answer["kinds"]["case"], answer["kinds"]["feasible"]) == ("i", "b")


def test_stores_are_opened_lazily(tmp_path: Path, datasets: dict[str, xr.Dataset]) -> None:
    ds = open_dataset(export(datasets["a run"], tmp_path / "run.zarr"))
    assert ds.time.chunks is not None


# --- whole, or not there


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("error", [RuntimeError("disk"), KeyboardInterrupt()])
def test_a_writer_that_fails_midway_leaves_nothing(
    ending: str,
    error: BaseException,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    datasets: dict[str, xr.Dataset],
) -> None:
    format_ = module.FORMATS[f".{ending}"]
    real = format_.write

    def half(ds: xr.Dataset, path: Path) -> None:
        real(ds, path)
        assert path.exists()
        raise error

    monkeypatch.setitem(module.FORMATS, f".{ending}", format_._replace(write=half))
    with pytest.raises(type(error)):
        export(datasets["a run"], tmp_path / f"run.{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_seen_under_the_name_before_it_is_whole(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, datasets: dict[str, xr.Dataset]
) -> None:
    format_ = module.FORMATS[f".{ending}"]
    real = format_.write
    seen = []

    def write_watched(ds: xr.Dataset, path: Path) -> None:
        real(ds, path)
        seen.append((tmp_path / f"run.{ending}").exists())

    monkeypatch.setitem(module.FORMATS, f".{ending}", format_._replace(write=write_watched))
    export(datasets["a run"], tmp_path / f"run.{ending}")
    assert seen == [False]
    assert (tmp_path / f"run.{ending}").exists()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_name_that_exists_is_refused(
    ending: str, tmp_path: Path, datasets: dict[str, xr.Dataset]
) -> None:
    path = tmp_path / f"run.{ending}"
    path.write_text("mine")
    with pytest.raises(DseError, match=rf"run\.{ending} exists: remove it, or choose another name"):
        export(datasets["one point"], path)
    assert path.read_text() == "mine"
    path.unlink()
    path.mkdir()
    with pytest.raises(DseError, match="exists: remove it"):
        export(datasets["one point"], path)
    path.rmdir()
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(DseError, match="exists: remove it"):
        export(datasets["one point"], path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_folder_that_cannot_be_written(
    ending: str, tmp_path: Path, datasets: dict[str, xr.Dataset]
) -> None:
    with pytest.raises(DseError, match=r"cannot write in .*missing: No such file or directory; "):
        export(datasets["one point"], tmp_path / "missing" / f"run.{ending}")
    (tmp_path / "file").write_text("")
    with pytest.raises(
        DseError, match=r"cannot write in .*file: Not a directory; create the folder"
    ):
        export(datasets["one point"], tmp_path / "file" / f"run.{ending}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path, datasets: dict[str, xr.Dataset]) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(DseError, match=r"cannot write in .*: Permission denied"):
        export(datasets["one point"], tmp_path / "run.nc")


def test_whole_removes_what_an_error_leaves(tmp_path: Path) -> None:
    def half() -> None:
        with atomic_path(tmp_path / "folder") as temporary:
            (temporary / "inner").mkdir(parents=True)
            (temporary / "inner" / "file").write_text("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert list(tmp_path.iterdir()) == []
    with atomic_path(tmp_path / "file") as temporary:
        temporary.write_text("done")
    assert (tmp_path / "file").read_text() == "done"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_endings(tmp_path: Path, datasets: dict[str, xr.Dataset]) -> None:
    for name in ("run.xlsx", "run", "run.ZARR", ".zarr"):
        with pytest.raises(
            DseError, match=r"ends in .*: expected one of .zarr, .nc, .csv, .parquet"
        ):
            export(datasets["one point"], tmp_path / name)
    assert list(tmp_path.iterdir()) == []


# --- opening what is not ours


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DseError, match="does not exist: expected a store or file of a run"):
        open_dataset(tmp_path / "run.zarr")
    (tmp_path / "run.txt").write_text("")
    with pytest.raises(DseError, match=r"ends in '\.txt': expected one of"):
        open_dataset(tmp_path / "run.txt")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("content", [b"", b"x,y\n1,2\n", b"\xff\xfe\x00", b"# simt-dse {broken"])
def test_files_of_others(ending: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"run.{ending}"
    path.write_bytes(content)
    with pytest.raises(DseError, match=r"run\."):
        open_dataset(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_folder_of_others(ending: str, tmp_path: Path) -> None:
    (tmp_path / f"run.{ending}").mkdir()
    with pytest.raises(DseError, match=r"run\."):
        open_dataset(tmp_path / f"run.{ending}")


def test_a_parquet_file_of_others(tmp_path: Path) -> None:
    import pandas as pd

    pd.DataFrame({"x": [1, 2]}).to_parquet(tmp_path / "run.parquet")
    with pytest.raises(DseError, match="was not written by this library"):
        open_dataset(tmp_path / "run.parquet")


def test_a_dataset_is_not_changed_by_writing(
    tmp_path: Path, datasets: dict[str, xr.Dataset]
) -> None:
    ds = datasets["a run"]
    before = ds.copy(deep=True)
    for ending in ENDINGS:
        export(ds, tmp_path / f"run.{ending}")
    identical(ds, before)


@pytest.mark.parametrize(
    ("ending", "extra", "modules"),
    [
        ("parquet", "parquet", ["pyarrow", "pyarrow.parquet"]),
        ("nc", "netcdf", ["h5netcdf"]),
        ("nc", "netcdf", ["h5py"]),
    ],
)
def test_a_format_without_its_library_names_the_extra(
    ending: str, extra: str, modules: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ds = xr.Dataset({"a": ("x", [1.0, 2.0])}, coords={"x": [1, 2]})
    dse.export(ds, tmp_path / f"there.{ending}")
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DseError, match=rf"simt-dse\[{extra}\].*take \.zarr or \.csv"):
        dse.export(ds, tmp_path / f"a.{ending}")
    assert [path.name for path in tmp_path.iterdir()] == [f"there.{ending}"]
    with pytest.raises(DseError, match=rf"simt-dse\[{extra}\]"):
        dse.open(tmp_path / f"there.{ending}")


def test_no_copy_is_made_of_the_store_that_stops(tmp_path: Path) -> None:
    """A copy would write on after an interrupt, as dask's workers did."""
    with (
        module._stoppable_store(tmp_path / "a.zarr") as store,
        pytest.raises(TypeError, match="pickle"),
    ):
        cloudpickle.dumps(store)
