"""Define the laws of loads: of recorded loads, and what all laws of loads have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError, check_choice, check_integer
from stochastic.labels import law_array
from stochastic.work.arguments import law_from_samples
from stochastic.work.distribution import check_span
from stochastic.work.pmf import Pmf

if TYPE_CHECKING:
    import xarray as xr

_NAMES = ("largest", "busiest", "occupied", "tiles", "busiest_tiles")
_TRIALS = sizes.LOADS_TRIALS
_MOST = sizes.LOADS_SIMULATED
_SIGNIFICANCE = 1e-4  # 1 - confidence level of the error of an estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LoadLaw(Pmf):
    """The law of one number of the loads: a Pmf with an error.

    Attributes:
        error (float): Bound on the error of any probability P(number <= x). If ``is_estimate``,
            probabilities are shares of simulations, and the bound has a confidence of 0.9999
            (Dvoretzky–Kiefer–Wolfowitz).
    """

    name: str
    error: float
    is_estimate: bool = False

    def pmf(self, k: Any = None) -> Any:
        """Return P(number = k), for a number or an array; by default, for all k, labelled."""
        if k is not None:
            return Pmf.pmf(self, k)
        return law_array(self.weights, {}, **{self.name: np.arange(self.low, self.high + 1)})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Groups of bins: the bins in the order of groups, the place of the first bin of each group.

    ``sizes`` are the numbers of bins of groups. A bin with n items has ⌈n / tile⌉ tiles.
    """

    order: Ints
    starts: Ints
    sizes: Ints
    tile: int

    @classmethod
    def from_groups(cls, groups: Any, bins: int, tile: Any) -> Layout:
        """Return a layout, or raise LawError if the groups do not contain each bin once."""
        tile = check_integer("tile", tile, least=1, example=128)
        if isinstance(groups, Sequence | np.ndarray) and not isinstance(groups, str):
            parts = list(groups)
            if all(np.ndim(part) == 0 for part in parts):
                ends = np.cumsum([check_integer("a size of groups", one, least=1) for one in parts])
                parts = np.split(np.arange(ends[-1] if parts else 0), ends[:-1])
        else:
            count = check_integer("groups", groups, least=1, most=bins, example=8)
            parts = np.array_split(np.arange(bins), count)
        order = np.concatenate([np.empty(0, dtype=np.int64), *map(np.ravel, parts)])
        widths = np.array([np.size(part) for part in parts])
        if not np.array_equal(np.sort(order), np.arange(bins)) or not widths.all():
            raise LawError(
                f"groups = {groups!r:.60}: expected each of the bins 0 to {bins - 1} in one group: "
                f"a number of groups, their sizes with the sum {bins}, or lists of bins"
            )
        starts = np.cumsum(widths) - widths
        return cls(order=order.astype(np.int64), starts=starts, sizes=widths, tile=tile)

    def measure(self, loads: Ints) -> dict[str, Ints]:
        """Return each number, for rows of loads of all bins."""
        tiles = -(-loads // self.tile)
        busiest, busiest_tiles = (
            np.add.reduceat(each[:, self.order], self.starts, axis=1).max(axis=1)
            for each in (loads, tiles)
        )
        occupied, total = np.count_nonzero(loads, axis=1), tiles.sum(axis=1)
        numbers = loads.max(axis=1), busiest, occupied, total, busiest_tiles
        return dict(zip(_NAMES, numbers, strict=True))


def _law_property(name: str, meaning: str) -> property:
    def law(self: Loads) -> LoadLaw:
        if name not in self._laws:
            self._laws[name] = self.law(name)
        return self._laws[name]

    return property(law, doc=f"Return the law of {meaning}.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Loads:
    """Laws of the loads of bins that share items; see :func:`stochastic.loads`.

    Attributes:
        items (int): Number of items; for a trace, of its first row.
        layout (Layout): Groups of bins.
        method (str): How laws are computed: ``inversion``, ``quadrature``, ``counts``, or
            ``simulation`` (an estimate).
    """

    items: int
    layout: Layout
    method: str
    _laws: dict[str, LoadLaw] = field(default_factory=dict)

    largest = _law_property("largest", "the number of items of the fullest bin")
    busiest = _law_property("busiest", "the number of items of the fullest group")
    occupied = _law_property("occupied", "the number of bins with an item")
    tiles = _law_property("tiles", "Σ ⌈items of a bin / tile⌉ over all bins")
    busiest_tiles = _law_property("busiest_tiles", "the most tiles of a group")

    def __repr__(self) -> str:
        return f"Loads({self.items} items, {self.bins} bins, {self.method})"

    @property
    def bins(self) -> int:
        """Return the number of bins."""
        return len(self.layout.order)

    @cached_property
    def _estimate(self) -> Loads:
        return self.simulate()

    def law(self, name: str) -> LoadLaw:
        """Return the law of a number, such as ``largest``."""
        return self._estimate.law(name)

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return random loads of all bins, in rows."""
        raise NotImplementedError

    def joint(self, first: str, second: str) -> xr.DataArray:
        """Return the joint law of largest, busiest or busiest_tiles, and of occupied or tiles.

        >>> from stochastic import loads
        >>> round(float(loads(6, 3).joint("largest", "occupied").sel(largest=4, occupied=3)), 12)
        0.123456790123
        """
        check_choice("first", first, ("largest", "busiest", "busiest_tiles"))
        check_choice("second", second, ("occupied", "tiles"))
        low, other, chances, error = self._joint(first, second)
        axes = (np.arange(len(chances)) + low, np.arange(chances.shape[1]) + other)
        return law_array(chances, {"error": error}, **dict(zip((first, second), axes, strict=True)))

    def _joint(self, first: str, second: str) -> tuple[int, int, Floats, float]:
        return self._estimate._joint(first, second)

    def sample(self, size: int, seed: int = 0) -> Ints:
        """Return the loads of all bins in ``size`` independent draws, one row each."""
        size, seed = check_integer("size", size, least=0), check_integer("seed", seed, least=0)
        return self.draw(size, np.random.default_rng(seed))

    def simulate(self, size: int | None = None, seed: int = 0) -> Loads:
        """Return the laws as estimated from ``size`` draws (20,000), with confidence bands."""
        size = min(_TRIALS, max(1, _MOST // self.bins)) if size is None else size
        size = check_integer("size", size, least=1, most=_MOST // self.bins, example=1000)
        rows = self.sample(size, seed)
        return RecordedLoads(items=self.items, layout=self.layout, method="simulation", rows=rows)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RecordedLoads(Loads):
    """Laws of loads that are drawn from rows: those of a trace, or of a simulation."""

    rows: Ints

    @cached_property
    def _values(self) -> dict[str, Ints]:
        return self.layout.measure(self.rows)

    def law(self, name: str) -> LoadLaw:
        """Return the law of a number in a random row."""
        values, is_estimate = self._values[name], self.method == "simulation"
        return LoadLaw(
            distribution=law_from_samples(values),
            name=name,
            error=math.sqrt(math.log(2 / _SIGNIFICANCE) / (2 * len(values))) * is_estimate,
            is_estimate=is_estimate,
        )

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return random rows."""
        return self.rows[rng.integers(0, len(self.rows), size)]

    def _joint(self, first: str, second: str) -> tuple[int, int, Floats, float]:
        x, y = self._values[first], self._values[second]
        low, other = int(x.min()), int(y.min())
        shape = int(x.max()) - low + 1, int(y.max()) - other + 1
        check_span(1, math.prod(shape), "the joint law", "count items in larger units")
        chances = np.zeros(shape)
        np.add.at(chances, (x - low, y - other), 1 / len(x))
        return low, other, chances, self.law(first).error
