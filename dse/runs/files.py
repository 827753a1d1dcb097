"""Open and export Datasets, and add further quantities of their model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr


def open(  # noqa: A001
    path: str | Path,
    *,
    axes: str | Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    shape: str = "auto",
    columns: str | Path | Mapping[str, str] | None = None,
    given: Mapping[str, float | str] | None = None,
    add: str | Sequence[str] = (),
    runs: bool = False,
) -> xr.Dataset:
    """Open a store or file that this library wrote, or a file of measurements.

    Files of measurements are T4 files, caches of Kernel Tuner and results of KTT (``.json``,
    ``.json.gz``), profiles of Nsight Compute, nvprof, rocprof and Caliper, and CSV or Parquet files
    with named columns. They become Datasets like those of a run: ``feasible`` is True where there
    is a measurement, ``status`` says why there is none, and missing numbers are NaN.

    Parameters:
        path (path): A zarr, netCDF, CSV or Parquet file that :func:`export` or a run wrote, or
            measurements.
        axes (sequence of str, optional): Columns of a measured table that identify a configuration;
            default: the columns that a tuner's file names, or else none (every column is a
            variable).
        units (mapping of str to str, optional): Units of measured columns, ``{"time": "ms"}``. A
            header may also end with a unit, ``time [ms]`` or ``Time (ms)``. If a quantity of this
            library has no unit in the file, the stored (SI) unit is assumed, and the attribute
            ``assumptions`` says so.
        shape ({"auto", "grid", "rows"}): ``"grid"``: measurements lie over their axes, with NaN
            where a combination was not measured. ``"rows"``: they lie along ``configuration``.
            ``"auto"``: a grid if the rows fill at least half of it and no configuration occurs
            twice, else rows.
        columns (path or mapping, optional): Quantities of columns: ``{"Latency": "time:ms"}``, a
            TOML file of formulas, or the name of a shipped file. Profiles and some tables need no
            map.
        given (mapping, optional): Quantities and labels that the file lacks, for all rows:
            ``{"blocks": 32768}``.
        add (str or list of str): Further quantities of a run's model, which are computed when read;
            see :func:`derive`.
        runs (bool): Keep each run of repeated measurements, along ``run``: the times in a tuner's
            file, or the rows of a table that measure the same configuration (``axes``).

    Raises:
        DseError: The file does not exist or has no known format, or a unit does not fit.
    """
    from sweeps.files.export import open_dataset

    if isinstance(path, (str, Path)):
        from dse.importers import open_measurements
        from dse.importers.formats import is_measurement_file
        from symbolic.file_access import check_file

        check_file(Path(path), "file", None)
        if Path(path).exists() and is_measurement_file(Path(path)):
            about: dict[str, Any] = {"axes": axes, "units": units, "shape": shape}
            about |= {"columns": columns, "given": given, "runs": runs}
            return open_measurements(Path(path), **about)
    has_options = any(value is not None for value in (axes, units, columns, given))
    if has_options or shape != "auto" or runs:
        raise DseError(
            f"{str(path)!r} is no file of measurements: axes, units, shape, columns, given and "
            "runs apply only to those"
        )
    ds = open_dataset(path)
    return derive(ds, add) if add else ds


def derive(ds: xr.Dataset, outputs: str | Sequence[str]) -> xr.Dataset:
    """Add further quantities of the model to the Dataset of a run.

    The new variables are lazy: the model computes them from the axes, tile by tile, when they are
    read. To write them into a store, use :func:`dse.add`.

    Parameters:
        ds (xarray.Dataset): Dataset of a run of one study, in memory or opened from a file; or a
            part of such a Dataset.
        outputs (str or sequence of str): Quantities of the study's model.

    Raises:
        DseError: The Dataset has no readable study, or its model or values have changed since.

    >>> from dse import Study
    >>> ds = Study(model="transit", axes={"threads": [256, 1024]}, outputs=["ms_throughput"],
    ...            set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}).run()
    >>> derive(ds, "cs_throughput").cs_throughput.values.round(3).tolist()
    [4.197, 10.0]
    """
    from dse.arguments import require_dataset, require_outputs
    from dse.runs.identity import study_of
    from sweeps.files.lazy_outputs import add_lazy_outputs

    study = study_of(require_dataset(ds))
    names = tuple(n for n in require_outputs(outputs) if n not in ds.variables)
    if not names:
        return ds
    grid = replace(study, outputs=names, best=None).grid()
    # for a random quantity, grid.outputs has its mean and the error of the mean instead
    return add_lazy_outputs(ds, grid, tuple(n for n in grid.outputs if n not in ds.variables))


def export(ds: xr.Dataset, path: str | Path) -> Path:
    """Write a Dataset as ``.zarr``, ``.nc``, ``.csv`` or ``.parquet``; see :func:`open`.

    CSV and Parquet have labels in place of the numbers of cases and bounds. Parquet files are
    smaller and faster to write; prefer them for more than a million rows.

    Raises:
        DseError: The file exists or has another ending; the format cannot hold a name, label or
            attribute; or the Dataset is of a store whose run has not finished (load its values
            first).
    """
    from dse.arguments import require_dataset, require_path
    from sweeps.files.export import export as write
    from sweeps.store.records import check_finished

    check_finished(require_dataset(ds))
    return write(ds, require_path(path, "path"))
