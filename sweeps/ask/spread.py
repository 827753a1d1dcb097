"""How many configurations are feasible, and how a quantity spreads over them, of any source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.source import Parted, for_each
from sweeps.grid.at import At
from sweeps.scan.quantiles import edges_of
from sweeps.scan.quantiles import histogram as histogram_of
from sweeps.scan.quantiles import quantiles as quantiles_of
from sweeps.scan.values import Values
from symbolic.errors import DseError

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


# --- A question of one's own: a fold over the values of formulas, of any source


Floats = NDArray[np.float64]


class Fold(Protocol):
    """What is kept of the configurations that are feasible, while all of them pass by.

    Threads and processes feed folds of their own, which are merged in the order of the axes.
    """

    def feed(self, values: Floats, weight: int) -> None:
        """Some configurations: a row for each formula; each stands for ``weight`` of them.

        The weight is more than 1 where the formulas and conditions are the same along an axis.
        """

    def merge(self, other: Self) -> None:
        """What a fold of other configurations keeps."""

    def answer(self) -> Any:
        """What is asked: a number, an array or a Dataset."""


AnyFold = TypeVar("AnyFold", bound=Fold)


class _Part:
    """A fold as the loop feeds it: what is not feasible is left out."""

    def __init__(self, fold: Any, weight: int) -> None:
        self.fold, self.weight = fold, weight

    def feed(self, values: Floats, allowed: NDArray[np.bool_]) -> None:
        """Some values, a row for each of several formulas, and which of them count."""
        rows = np.atleast_2d(values)
        rows = rows if np.all(allowed) else rows[:, allowed]
        if rows.shape[1]:
            self.fold.feed(rows, self.weight)

    def add(self, other: _Part) -> None:
        """What another part keeps."""
        self.fold.merge(other.fold)


def folded(
    source: Spread, make: Callable[[], AnyFold], formulas: Sequence[str], at: At | None = None
) -> AnyFold:
    """A fold that has seen every feasible configuration of a source, or of a part of it.

    Parameters
    ----------
    source : Spread
        A grid or a Dataset.
    make : callable
        Makes a fold that has seen nothing; it is called for each thread's share of the points.
    formulas : sequence of str
        The quantities or formulas of which it is fed the values, in their order.
    at : mapping, optional
        An index or a slice of some axes: those of the part.

    Raises
    ------
    DseError
        There is no formula, or what is made is no fold.
    """
    checked(make, formulas)
    values = source.values(*formulas, at=at)
    found = values.gather(lambda: _Part(make(), values.weight))
    fold: AnyFold = found.fold
    return fold


def checked(make: Callable[[], AnyFold], formulas: Sequence[str]) -> AnyFold:
    """A fold that has seen nothing; see :func:`folded`."""
    if not formulas:
        raise DseError("formulas is empty: name the quantities of which the fold is fed values")
    fold = make()
    for name in ("feed", "merge", "answer"):
        if not callable(getattr(fold, name, None)):
            raise DseError(
                f"what {getattr(make, '__name__', make)!r} makes has no method {name}(): a fold "
                "has feed(values, weight), merge(other) and answer()"
            )
    return fold
