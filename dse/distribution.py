"""How many configurations of a Dataset are feasible, and how a quantity spreads over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

    from dse.study import Study

__all__ = ["count", "histogram", "identified", "quantiles"]

#: What tells of which study an answer is.
_IDENTITY = ("model", "study", "simt_dse_version")


def identified(answer: xr.Dataset, source: xr.Dataset | Study) -> xr.Dataset:
    """An answer that says of which study it is, as a Dataset of that study says of itself."""
    from dse.study import Study

    if isinstance(source, Study):
        from dse.provenance import version

        told = (source.model, source.text(), version())
        return answer.assign_attrs(dict(zip(_IDENTITY, told, strict=True)))
    return answer.assign_attrs({key: source.attrs[key] for key in _IDENTITY if key in source.attrs})


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

    return identified(dataset_count(ds, texts_of(where, "where")), ds)


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

    values = TableValues(ds, quantity, texts_of(where, "where"))
    return identified(histogram_of(values, bins), ds)


def quantiles(
    ds: xr.Dataset, quantity: str, q: float | Sequence[float], *, where: str | Sequence[str] = ()
) -> xr.Dataset:
    """The least values that given shares do not exceed, exactly; see :meth:`Study.quantiles`."""
    from sweeps.answers import texts_of
    from sweeps.streaming.spread import quantiles as quantiles_of
    from sweeps.streaming.values import TableValues

    return identified(quantiles_of(TableValues(ds, quantity, texts_of(where, "where")), q), ds)
