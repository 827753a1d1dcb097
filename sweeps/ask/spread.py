"""How many configurations are feasible, and how a quantity spreads over them, of any source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sweeps.ask.labels import Parted, for_each
from sweeps.grid.at import At
from sweeps.scan.histogram import edges_of
from sweeps.scan.histogram import histogram as histogram_of
from sweeps.scan.quantiles import quantiles as quantiles_of
from sweeps.scan.values import Values

if TYPE_CHECKING:
    import xarray as xr


class Spread(Parted, Protocol):
    """A space of configurations of which formulas have values."""

    def count(self) -> xr.Dataset:
        """How many configurations are feasible, of how many."""

    def values(self, text: str, *more: str, at: At | None = None) -> Values:
        """One or several formulas over the source, or over a part of it."""


def count(source: Spread, per: Sequence[str] = ()) -> xr.Dataset:
    """How many configurations are feasible, of how many, for each value of some axes."""
    return for_each(source, per, lambda part: part.count())


def histogram(source: Spread, text: str, bins: Any, per: Sequence[str] = ()) -> xr.Dataset:
    """How many feasible configurations have a value in each bin; the bins are alike for all."""
    values = source.values(text)
    edges = edges_of(values, bins)
    if not per:
        return histogram_of(values, edges)
    return for_each(source, per, lambda part: histogram_of(part.values(text), edges))


def quantiles(source: Spread, text: str, q: Any, per: Sequence[str] = ()) -> xr.Dataset:
    """The values that given shares do not exceed, for each value of some axes."""
    return for_each(source, per, lambda part: quantiles_of(part.values(text), q))
