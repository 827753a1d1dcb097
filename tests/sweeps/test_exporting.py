"""Exported Datasets are read back: hostile names and values, in every format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import dse
from dse import DseError, Study
from sweeps.files.export import FORMATS, export, open_dataset
from tests.long import draws
from tests.sweeps.exporting import difference, fault


@pytest.mark.parametrize("ending", FORMATS)
def test_a_drawn_dataset_is_read_back_or_refused(ending: str) -> None:
    result = [fault(seed, ending) for seed in range(draws(75 if ending == ".zarr" else 200))]
    assert [problem for problem, _ in result if problem] == []
    assert sum(not refused for _, refused in result) > 0.3 * len(result)


@pytest.mark.parametrize("ending", FORMATS)
def test_an_output_whose_formula_divides_is_read_back(ending: str, tmp_path: Path) -> None:
    """zarr took the slash for a folder and lost the output; netCDF ended in a traceback."""
    ds = Study(
        model="transit",
        axes={"threads": [256, 512], "mem_latency": [400, 500]},
        set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
        outputs=["ms_throughput", "mean(ms_throughput/threads, threads)"],
    ).run()
    with dse.open(dse.export(ds, tmp_path / f"file{ending}")) as result:
        assert difference(result.load(), ds) == ""
        assert "mean(ms_throughput/threads, threads)" in result


@pytest.mark.parametrize(
    ("ds", "ending", "words"),
    [
        (xr.Dataset({"a\nb": 1}), ".csv", r"the name 'a\\nb' holds control characters"),
        (xr.Dataset(coords={"a/b": [1]}), ".nc", "the name 'a/b' holds a slash"),
        (xr.Dataset({"c" * 300: 1}), ".zarr", "is longer than 200 bytes"),
        (
            xr.Dataset({"x": ("i", ["a\0b"])}),
            ".parquet",
            r"label 'a\\x00b' of 'x' holds .* NUL",
        ),
        (xr.Dataset({"x": ((), 1, {"a": None})}), ".csv", "attribute 'a' of 'x' is a NoneType"),
        (xr.Dataset({"x": ((), 1, {"scale_factor": 2})}), ".nc", "change how values are read"),
        (xr.Dataset({"x": np.array(1j)}), ".csv", "the variable 'x' is of the type complex128"),
        (xr.Dataset({"a/b": 1, "a\u2215b": 2}), ".zarr", "differ only by slashes and spaces"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_before_anything_is_written(
    ds: xr.Dataset, ending: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(DseError, match=words):
        export(ds, tmp_path / f"file{ending}")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_marked_by_somebody_else_stays(tmp_path: Path) -> None:
    """A foreign file cannot give a variable the name of another."""
    marked = xr.Dataset({"a": ((), 1, {"simt_dse_name": "time"})})
    marked.to_netcdf(tmp_path / "a.nc")
    with open_dataset(tmp_path / "a.nc") as result:
        assert list(result.variables) == ["a"]
