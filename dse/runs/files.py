"""Datasets in files: what this library wrote, measurements of somebody else's, what is computed."""

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
    """Open a store or file that this library wrote, or measurements of somebody else's.

    Measured are T4 files, caches of Kernel Tuner and results of KTT (``.json``, ``.json.gz``),
    profiles of Nsight Compute, nvprof, rocprof and Caliper, and CSV or Parquet files with named
    columns. They become Datasets like those of a run: ``feasible`` marks what was
    measured, ``status`` says why the rest was not; where a number is missing stands NaN.

    Parameters
    ----------
    path : path
        zarr, netCDF, CSV or Parquet as :func:`export` or a run writes them; or measurements.
    axes : sequence of str, optional
        Of a measured table, the columns that make a configuration; tuners' files tell theirs.
        Without it every column is a variable.
    units : mapping of str to str, optional
        Of measured columns, ``{"time": "ms"}``. A header may end in one, ``time [ms]`` or
        ``Time (ms)``; a quantity of this library without a unit is taken in the stored one, which
        the attribute ``assumptions`` says. Values are stored in SI.
    shape : {"auto", "grid", "rows"}
        Of measurements: over their axes, with NaN where a combination was not measured, or row by
        row along ``configuration``. By itself a grid is made of what fills at least half of one
        and holds no configuration twice.
    columns : path or mapping, optional
        What columns mean: ``{"Latency": "time:ms"}``, a TOML file of formulas, or the name of one
        that comes along. Profiles and some tables are known without.
    given : mapping, optional
        Quantities and labels of all rows that the file does not tell, ``{"blocks": 32768}``.
    add : str or list of str
        Further quantities of the model of a run, computed when they are read; see :func:`derive`.
    runs : bool
        Of measurements that were repeated, keep what each run gave, along ``run``: the times in a
        tuner's file, or rows of a table that measure the same configuration (``axes``).

    Raises
    ------
    DseError
        Nothing is there, or it is not of a kind that can be read; a unit that does not fit.
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
    told = (value is not None for value in (axes, units, columns, given))
    if any(told) or shape != "auto" or runs:
        raise DseError(
            f"{str(path)!r} is no file of measurements: axes, units, shape, columns, given and "
            "runs serve only it"
        )
    ds = open_dataset(path)
    return derive(ds, add) if add else ds


def derive(ds: xr.Dataset, outputs: str | Sequence[str]) -> xr.Dataset:
    """Return a Dataset of a run with further quantities of its model; nothing is run again.

    The graph computes them from the axes, tile by tile, when they are read; they are lazy, as what
    is read from a store. :func:`dse.add` puts them into a store.

    Parameters
    ----------
    ds : xarray.Dataset
        Of a run of one study, in memory or opened; or a part of it.
    outputs : str or sequence of str
        Quantities of its model.

    Raises
    ------
    DseError
        The study of the Dataset cannot be told, or its model or values have changed since.

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
    # of what is random its mean and the error of that
    return add_lazy_outputs(ds, grid, tuple(n for n in grid.outputs if n not in ds.variables))


def export(ds: xr.Dataset, path: str | Path) -> Path:
    """Write a Dataset as ``.zarr``, ``.nc``, ``.csv`` or ``.parquet``; see :func:`open`.

    Raises
    ------
    DseError
        A name that exists, or that is not of these; a name, label or attribute that the format
        cannot hold; the store of a run that has not finished, unless its values are loaded first.
    """
    from dse.arguments import require_dataset, require_path
    from sweeps.files.export import export as write
    from sweeps.store.records import check_finished

    check_finished(require_dataset(ds))
    return write(ds, require_path(path, "path"))
