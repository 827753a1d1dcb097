"""Quantities that a Dataset does not hold, computed by the graph of its study when read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dse.identity import read_study_text, rebuilt
from dse.study.data import StudyData
from sweeps.grid.grid import FEASIBLE
from sweeps.store.records import info_of
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr


def derive(ds: xr.Dataset, outputs: str | Sequence[str]) -> xr.Dataset:
    """A Dataset of a run with further quantities of its model; nothing is run again.

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
    from dse.given import a_dataset, some_outputs
    from sweeps.files.lazy_outputs import with_derived

    study = study_of(a_dataset(ds))
    names = tuple(n for n in some_outputs(outputs) if n not in ds.variables)
    if not names:
        return ds
    grid = replace(study, outputs=names, best=None).grid()
    # of what is random its mean and the error of that
    return with_derived(ds, grid, tuple(n for n in grid.outputs if n not in ds.variables))


def study_of(ds: xr.Dataset) -> StudyData:
    """Return the study of a Dataset, as it tells it; its model and values must be what they were.

    Raises
    ------
    DseError
        It tells none, or another one than there is now.
    """
    info = info_of(ds)
    if info is not None:
        return rebuilt(info.place)[0]
    if "study" not in ds.attrs or "identity" not in ds.attrs:
        raise DseError("the Dataset tells no study: expected that of a run of one model")
    try:
        values = lambda name, _: np.ascontiguousarray(ds[name].values)  # noqa: E731
        study = read_study_text(ds.attrs, values, "is held only in part")
    except (DseError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DseError(f"the study of the Dataset cannot be told: {error}") from error
    if study.attributes()["identity"] != str(ds.attrs["identity"]).removesuffix("-expanded"):
        raise DseError(
            "the Dataset was computed by other equations, values or another version than there are "
            "now: run the study again"
        )
    return study


def stored_study(source: xr.Dataset | str | Path) -> StudyData | None:
    """Return the study of a store; None of anything else, or where its model or values changed.

    Of a Dataset as it was opened from a store, it is that of the outputs that it has.

    Raises
    ------
    OtherProcessError
        Another store came to be there since the Dataset was opened.
    """
    info = info_of(source)
    if info is None:
        return None
    try:
        study = rebuilt(info.place)[0]
        if not isinstance(source, (str, Path)):
            names = tuple(str(name) for name in source.data_vars if name != FEASIBLE)
            study = replace(study, outputs=names, best=None)
        # what a table equation of a user's file imports or reads may have changed; other equations
        # are recorded as trees, which the identity of a store covers whole
        definitions = [d for g in study.grid().graphs.values() for d in g.definitions.values()]
        tables = [d.equation for d in definitions if d.equation is not None and d.equation.table]
        if any(eq.function.__module__.split(".")[0] != "symbolic" for eq in tables):
            return None
    except DseError:  # the values in the store answer
        return None
    info.check_same()
    return study
