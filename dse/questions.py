"""Questions of a Dataset: in memory, in a store, or of quantities that are not stored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.answers import Goal
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.stored.reader import Stored

__all__ = ["ask_optimum", "ask_pareto"]


def ask_optimum(
    ds: xr.Dataset | str | Path,
    goal: Goal,
    *,
    where: Sequence[str],
    per: Sequence[str],
    top: int,
    ties: bool,
) -> xr.Dataset:
    """See :func:`dse.optimum`."""
    from sweeps.questions import dataset_optimum
    from sweeps.stored.asked import stored_optimum

    asked: dict[str, Any] = {"where": where, "per": per, "top": top, "ties": ties}
    ds, store = _source(ds)
    if store is not None:
        return stored_optimum(store, goal, **asked, outputs=_outputs(ds))
    for name in per:
        if name in ds.coords and name not in ds.dims and ds[name].dims == ("configuration",):
            raise DseError(
                f"per = {name!r} lies along configuration and is no axis: make a grid of the "
                "measurements (dse.open(..., shape='grid'), dse import --shape grid)"
            )
    return dataset_optimum(ds, goal, **asked)


def ask_pareto(
    ds: xr.Dataset | str | Path, goals: Sequence[Goal], *, where: Sequence[str]
) -> xr.Dataset:
    """See :func:`dse.pareto`."""
    from sweeps.questions import dataset_pareto
    from sweeps.stored.asked import stored_pareto

    ds, store = _source(ds)
    if store is not None:
        return stored_pareto(store, goals, where=where, outputs=_outputs(ds))
    return dataset_pareto(ds, goals, where=where)


def _source(ds: xr.Dataset | str | Path) -> tuple[xr.Dataset, Stored | None]:
    """The Dataset, and the finished store in which it lies, as it was opened."""
    from sweeps.stored.reader import origin, stored

    if isinstance(ds, (str, Path)):
        from dse.api import open as opened

        store = stored(ds) if str(ds).rstrip("/").endswith(".zarr") else None
        return (opened(ds), None) if store is None else (store.ds, store)
    place = origin(ds)
    return ds, None if place is None else stored(place)


def _outputs(ds: xr.Dataset) -> list[str]:
    return [str(name) for name in ds.data_vars]
