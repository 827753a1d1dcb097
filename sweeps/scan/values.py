"""The values of a formula, some at a time: over a grid that is not stored, or of a Dataset."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.check import check
from sweeps.grid.at import part_of
from sweeps.grid.dataset import describe
from sweeps.grid.grid import FEASIBLE, Grid
from sweeps.grid.portions import portions
from sweeps.grid.tiling import Tiling
from sweeps.nest.passes import Skipped, over_points
from symbolic.errors import InfeasibleError
from symbolic.expression import parse
from symbolic.ops import Node, both, constant, references, where
from symbolic.quantities import Quantity

if TYPE_CHECKING:
    import xarray as xr

#: Points of a Dataset that are read together.
BLOCK = sizes.TABLE_BLOCK

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
Bounds = Sequence[tuple[float, float]]


class Part(Protocol):
    """What is kept of some values; parts of different values are added."""

    def feed(self, values: Floats, allowed: Truths) -> None:
        """Some values, and which of them count; of several formulas a row each."""

    def add(self, other: Self) -> None:
        """What another part keeps."""

    def take(self, low: Floats, high: Floats, points: NDArray[np.int64]) -> Truths:
        """Of which blocks it needs no values, only between which numbers they lie; these it takes.

        ``points`` says how many points of a block count, 0 where that is not known.
        """


AnyPart = TypeVar("AnyPart", bound=Part)


class Values(Protocol):
    """A formula over a grid or Dataset; each value stands for ``weight`` configurations."""

    text: str
    weight: int
    points: int
    conditions: tuple[str, ...]
    row: Quantity | None
    attributes: dict[str, Any]
    skipped: Skipped

    @property
    def dims(self) -> Sequence[str]:
        """The axes along which the formula, or what counts, varies."""

    def gather(self, make: Callable[[], AnyPart], within: Bounds | None = None) -> AnyPart:
        """What a part keeps of all values; it may be spared those outside of some bounds."""


class GridValues:
    """Formulas over a grid, by one loop nest; what conditions make impossible is left out."""

    def __init__(self, grid: Grid, text: str, *more: str) -> None:
        check(grid, possible=False)
        self.grid, self.text = grid, text
        self.nodes = [parse(each, grid.model.quantities) for each in (text, *more)]
        names = references(*self.nodes)
        used = {dim for name in (*names, FEASIBLE) for dim in grid.dims(name)}
        self.dims = grid.ordered(used)
        self.points = grid.points
        self.weight = grid.points // math.prod(grid.shape(self.dims))
        self.conditions = tuple(condition.text for condition in grid.conditions)
        self.row = grid.model.quantities.get(text)
        self.attributes = describe(grid, text) if self.row is not None else {"long_name": text}
        self.skipped = Skipped()

    def gather(self, make: Callable[[], AnyPart], within: Bounds | None = None) -> AnyPart:
        """See :class:`Values`."""
        whole, self.skipped = make(), Skipped()
        roots = {key: [*self._over(key), *self._held(key)] for key in self.grid.graphs}
        for cut in portions(self.grid, roots):
            self._gather(part_of(self.grid, cut), whole, make, within)
        return whole

    def _held(self, key: tuple[str, ...]) -> list[Node]:
        return [self.grid.feasible_node(key)] if self.grid.conditions else []

    def _gather(
        self, grid: Grid, whole: AnyPart, make: Callable[[], AnyPart], within: Bounds | None
    ) -> None:
        """Add what a part keeps of the values of a part of the grid."""

        def feed(part: AnyPart, values: Floats, allowed: Truths, _: int) -> None:
            part.feed(values[0] if len(values) == 1 else values, allowed)

        def keep(known: list[Any], points: NDArray[np.int64]) -> Truths:
            worth = np.ones(points.size, dtype=bool)
            if grid.conditions:
                worth &= np.asarray(known[-1].possible, dtype=bool)
            if within is not None:
                ranges = [(known[0].lo <= high) & (known[0].hi >= low) for low, high in within]
                worth &= np.any(ranges, axis=0)
            return worth

        plain, judge = grid.plain(self.dims), keep if grid.conditions or within else None
        for _, key in grid.keys(self.dims):
            holds = next(iter(self._held(key)), None)
            asked = (grid, key, plain, self._over(key), holds, make, feed, judge, self.skipped)
            for part in over_points(*asked):
                whole.add(part)

    def _over(self, key: tuple[str, ...]) -> list[Node]:
        """The formulas over the leaves, no number where something has no value."""
        grid, found = self.grid, []
        for node in self.nodes:
            value = grid.graphs[key].flattened(node)
            if failed := grid.computed(value, key):
                value = constant(where(both(*failed), value, math.nan))
            found.append(value)
        return found


def nothing(source: Values) -> InfeasibleError:
    """What to raise where a formula is a number at no configuration; which conditions exclude all.

    Those of a grid are told apart by :func:`sweeps.bounds.check.check`, which raises where none is
    met.
    """
    if isinstance(source, GridValues):
        check(source.grid)
    said = " and ".join(map(repr, source.conditions)) or "all conditions"
    return InfeasibleError(
        f"{source.text} is a number at no configuration that satisfies {said}: relax them"
    )


def pieces(ds: xr.Dataset, dims: Sequence[str]) -> Iterator[xr.Dataset]:
    """A Dataset some points at a time, along some dimensions; each chunk is read once."""
    sizes = {dim: int(ds.sizes[dim]) for dim in dims}
    largest = max(ds.variables.values(), key=lambda variable: variable.size, default=None)
    chunks: Mapping[Any, tuple[int, ...]] = {}
    if largest is not None and largest.chunks is not None:
        chunks = dict(zip(largest.dims, largest.chunks, strict=True))
    cuts = [_ranges(chunks.get(dim, (size,))) for dim, size in sizes.items()]
    for box in itertools.product(*cuts):
        part = ds.isel(dict(zip(dims, box, strict=True)))
        part = part.load() if chunks else part
        shape = [cut.stop - cut.start for cut in box]
        tiling = Tiling(shape[:-1], shape[-1] if shape else 1, BLOCK)
        if tiling.count == 1:
            yield part
            continue
        for number in range(tiling.count):
            bounds = tiling.bounds(number)[0].reshape(-1, 2).tolist()
            yield part.isel({dim: slice(*ends) for dim, ends in zip(dims, bounds, strict=True)})


def _ranges(lengths: Sequence[int]) -> list[slice]:
    ends = list(itertools.accumulate(lengths, initial=0))
    return [slice(low, high) for low, high in itertools.pairwise(ends)]
