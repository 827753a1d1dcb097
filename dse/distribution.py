"""How many configurations of a Dataset are feasible, and how a quantity spreads over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["count", "histogram", "quantiles"]


def count(ds: xr.Dataset, *, where: str | Sequence[str] = ()) -> xr.Dataset:
    """How many configurations of a Dataset are feasible, of how many; see :meth:`Study.count`.

    A Dataset of a store is read chunk by chunk.

    >>> from dse import Study
    >>> ds = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...            set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}).run()
    >>> found = count(ds, where="cs_throughput > 5")
    >>> int(found.feasible_points), int(found.points)
    (2, 3)
    """
    from sweeps.answers import texts_of
    from sweeps.streaming.counting import dataset_count

    return dataset_count(ds, texts_of(where, "where"))


def histogram(
    ds: xr.Dataset,
    quantity: str,
    *,
    bins: int | Sequence[float | str] = 10,
    where: str | Sequence[str] = (),
) -> xr.Dataset:
    """How many feasible configurations have a value in each bin; see :meth:`Study.histogram`."""
    from sweeps.answers import texts_of
    from sweeps.streaming.spread import histogram as histogram_of
    from sweeps.streaming.values import TableValues

    return histogram_of(TableValues(ds, quantity, texts_of(where, "where")), bins)


def quantiles(
    ds: xr.Dataset, quantity: str, q: float | Sequence[float], *, where: str | Sequence[str] = ()
) -> xr.Dataset:
    """The least values that given shares do not exceed, exactly; see :meth:`Study.quantiles`."""
    from sweeps.answers import texts_of
    from sweeps.streaming.spread import quantiles as quantiles_of
    from sweeps.streaming.values import TableValues

    return quantiles_of(TableValues(ds, quantity, texts_of(where, "where")), q)
