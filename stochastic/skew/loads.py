"""Compute laws of the loads of bins that share items: experts and tokens, ranks, rows, warps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import check_choice, check_integer
from stochastic.errors import LawError
from stochastic.labels import law_array
from stochastic.skew.shares import FixedShares, Layout, LoadLaw, RandomShares
from stochastic.skew.weights import read_weights
from stochastic.work.arguments import check_samples, law_from_samples, normalize_weights

if TYPE_CHECKING:
    import xarray as xr

_LAWS = ("largest", "busiest", "occupied", "tiles", "busiest_tiles")
_MOST_ITEMS = 2**40
_MOST_BINS = 2**24
_SIGNIFICANCE = 1e-4  # 1 - confidence level of the error of an estimate


def _law_property(name: str, meaning: str) -> property:
    def law(self: Loads) -> LoadLaw:
        if name not in self._laws:
            self._laws[name] = self._source.law(name)
        return self._laws[name]

    return property(law, doc=f"Return the law of {meaning}.")


@dataclass(frozen=True, kw_only=True, eq=False)
class Loads:
    """Laws of the loads of bins that share items; see :func:`loads`.

    Attributes
    ----------
    items, bins : int
        Number of items and of bins. For a trace, the number of items of its first row.
    method : str
        How laws are computed.
    """

    items: int
    bins: int
    method: str
    _layout: Layout
    _source: Any
    _laws: dict[str, LoadLaw] = field(default_factory=dict)

    largest = _law_property("largest", "the number of items of the fullest bin")
    busiest = _law_property("busiest", "the number of items of the fullest group")
    occupied = _law_property("occupied", "the number of bins with an item")
    tiles = _law_property("tiles", "Σ ⌈items of a bin / tile⌉ over all bins")
    busiest_tiles = _law_property("busiest_tiles", "the most tiles of a group")

    def __repr__(self) -> str:
        return f"Loads({self.items} items, {self.bins} bins, {self.method})"

    def joint(self, first: str, second: str) -> xr.DataArray:
        """Return the joint law of two numbers, such as ``joint("busiest", "tiles")``."""
        for name in (first, second):
            check_choice("a number of loads", name, _LAWS)
        low, other, chances = self._source.joint(first, second)
        axes = {
            name: np.arange(start, start + size)
            for name, start, size in zip((first, second), (low, other), chances.shape, strict=True)
        }
        return law_array(chances, {}, **axes)

    def sample(self, size: int, seed: int = 0) -> Ints:
        """Return the loads of all bins in ``size`` independent draws, one row each."""
        size, seed = check_integer("size", size, least=0), check_integer("seed", seed, least=0)
        return np.asarray(self._source.draw(size, np.random.default_rng(seed)))

    def simulate(self, size: int = sizes.LOADS_TRIALS, seed: int = 0) -> Loads:
        """Return the laws as estimated from ``size`` draws, with confidence bands."""
        size = check_integer("size", size, least=1, example=20_000)
        source = _Simulated(draw=self._source.draw, layout=self._layout, size=size, seed=seed)
        return Loads(
            items=self.items,
            bins=self.bins,
            method=f"estimate from {size} simulations",
            _layout=self._layout,
            _source=source,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """Laws of a number that is drawn from rows: those of a trace, or of a simulation."""

    values: dict[str, Ints]
    is_estimate: bool
    draw: Any

    def law(self, name: str) -> LoadLaw:
        values = self.values[name]
        band = math.sqrt(math.log(2 / _SIGNIFICANCE) / (2 * len(values)))
        return LoadLaw(
            distribution=law_from_samples(values),
            name=name,
            error=band if self.is_estimate else 0.0,
            is_estimate=self.is_estimate,
        )

    def joint(self, first: str, second: str) -> tuple[int, int, Floats]:
        x, y = self.values[first], self.values[second]
        low, other = int(x.min()), int(y.min())
        chances = np.zeros((int(x.max()) - low + 1, int(y.max()) - other + 1))
        np.add.at(chances, (x - low, y - other), 1 / len(x))
        return low, other, chances


@dataclass(frozen=True, kw_only=True, eq=False)
class _Simulated:
    """Laws that are estimated from ``size`` draws, which are made on first use."""

    draw: Any
    layout: Layout
    size: int
    seed: int

    @cached_property
    def _rows(self) -> _Rows:
        rng, left, parts = np.random.default_rng(self.seed), self.size, []
        while left:
            rows = min(left, max(1, (1 << 21) // len(self.layout.order)))
            parts.append(self.layout.measure(self.draw(rows, rng)))
            left -= rows
        values = {name: np.concatenate([part[name] for part in parts]) for name in _LAWS}
        return _Rows(values=values, is_estimate=True, draw=self.draw)

    def law(self, name: str) -> LoadLaw:
        return self._rows.law(name)

    def joint(self, first: str, second: str) -> tuple[int, int, Floats]:
        return self._rows.joint(first, second)


def loads(
    items: int | None,
    bins: int | None = None,
    *,
    probabilities: Any = None,
    weights: Any = None,
    counts: Any = None,
    groups: Any = 1,
    tile: int = 1,
    spread: str = "independent",
) -> Loads:
    """Return the laws of the loads of bins, among which items are divided at random.

    Bins are experts and items are tokens (times the experts of each), or bins are rows, sequences
    or ranks. Items are independent. Experts of one token are distinct in reality, so that its
    loads spread a little less: their variances are smaller by the factor (1 - p·k)/(1 - p) for k
    experts a token, where p is the share of the expert.

    Parameters
    ----------
    items : int
        Number of items; with ``counts``, None, or the sum of each row of counts.
    bins : int, optional
        Number of bins; by default as many as ``probabilities`` or ``counts`` has.
    probabilities : sequence of numbers, optional
        Probability that an item falls into each bin; by default all are equal. The sum is 1.
    weights : text, Pmf, or law of SciPy, optional
        The law of independent weights of bins, which are divided by their sum to give
        probabilities: ``"power: 1.2, 0.01, 2"`` (exponent, smallest, largest), ``"dirichlet:
        0.3"`` (concentration), ``"lognormal: 1, 0.5"`` (mean, standard deviation), or a law of
        work such as ``"geometric: 0.05"``. If all weights are 0, they are drawn again.
    counts : array or "balanced", optional
        Loads that are known: one row of the loads of all bins, or several, each of which is
        equally probable. ``"balanced"``: loads that are as equal as possible.
    groups : int or sequence
        Number of groups of consecutive bins (if it does not divide the bins, the first groups have
        one bin more), the sizes of the groups, or a list of bins (from 0 on) for each group.
    tile : int
        Items of a tile: a bin with n items has ⌈n / tile⌉ tiles.
    spread : {"independent", "even"}
        With ``weights``: the items are independent, or they are spread as evenly as the shares of
        the bins allow (systematic sampling). Then a bin of share p gets items · p items, rounded
        down or up, and on average exactly this number. Even spreads are simulated.

    Returns
    -------
    Loads
        Laws ``largest``, ``busiest``, ``occupied``, ``tiles`` and ``busiest_tiles``, each with
        ``mean() std() cdf(x) quantile(q) pmf() error``; ``joint``, ``sample`` and ``simulate``.

    Raises
    ------
    LawError
        An argument is invalid, or the laws are too large.

    >>> law = loads(6, 3, tile=2)
    >>> round(law.largest.mean() * 81, 9), round(law.tiles.mean() * 243, 9)
    (262.0, 911.0)
    >>> loads(131_072, 256, groups=64).busiest.quantile([0.5, 0.99]).tolist()
    [2153, 2212]
    """
    given = {"probabilities": probabilities, "weights": weights, "counts": counts}
    named = [name for name, value in given.items() if value is not None]
    check_choice("spread", spread, ("independent", "even"))
    if spread == "even" and weights is None:
        raise LawError("spread = 'even' needs weights=: expected a law, such as 'power: 1.2, 1, 9'")
    if len(named) > 1:
        raise LawError(f"{' and '.join(named)}: expected one of them at most")
    if items is not None:
        items = check_integer("items", items, least=0, most=_MOST_ITEMS, example=131_072)
    if bins is not None:
        bins = check_integer("bins", bins, least=1, most=_MOST_BINS, example=256)
    if counts is not None and not isinstance(counts, str):
        return _make_trace(items, bins, counts, groups, tile)
    if items is None:
        raise LawError("items = None: expected a number of items, such as 131072")
    if probabilities is None and bins is None:
        raise LawError("bins = None: expected a number of bins, such as 256, or probabilities=")
    if probabilities is None:
        assert bins is not None
        shares = np.full(bins, 1.0 / bins)
    else:
        shares = _check_shares(probabilities, bins)
    layout = Layout.from_groups(groups, len(shares), tile)
    if counts is not None:
        check_choice("counts", counts, ("balanced",))
        even = np.diff(np.arange(len(shares) + 1) * items // len(shares))
        return _make_trace(items, None, even, groups, tile)
    make = partial(Loads, items=items, bins=len(shares), _layout=layout)
    if weights is None:
        source = FixedShares(items=items, layout=layout, shares=shares)
        return make(method="inversion", _source=source)
    law, is_even = read_weights(weights), spread == "even"
    random = RandomShares(items=items, layout=layout, weights=law, is_even=is_even)
    if random.is_small and not is_even:
        return make(method="inversion and quadrature", _source=random)
    return make(method="simulation", _source=random).simulate()


def _check_shares(probabilities: Any, bins: int | None) -> Floats:
    if isinstance(probabilities, str) or not np.iterable(probabilities):
        raise LawError(f"probabilities = {probabilities!r:.60}: expected a list, one for each bin")
    values = list(probabilities)
    if not values or (bins is not None and len(values) != bins):
        raise LawError(
            f"{len(values)} probabilities: expected one for each of the bins"
            + (f", {bins}" if bins is not None else "")
        )
    hint = "divide them by their sum"
    return normalize_weights(values, False, "probabilities", hint)


def _make_trace(items: int | None, bins: int | None, counts: Any, groups: Any, tile: Any) -> Loads:
    rows = np.atleast_2d(np.asarray(counts))
    if rows.ndim != 2 or not rows.size:
        raise LawError(f"counts = {counts!r:.60}: expected the loads of all bins, in rows")
    table = check_samples(rows).reshape(len(rows), -1)
    size, sums = len(table[0]), table.sum(axis=1)
    if bins is not None and bins != size:
        raise LawError(f"counts of {size} bins and bins = {bins}: expected as many")
    if items is not None and (sums != items).any():
        raise LawError(
            f"counts have the sum {sums[sums != items][0]} and items = {items}: give items=None, "
            "or probabilities= if only shares are known"
        )
    layout = Layout.from_groups(groups, size, tile)
    source = _Rows(
        values=layout.measure(table),
        is_estimate=False,
        draw=lambda draws, rng: table[rng.integers(0, len(table), draws)],
    )
    return Loads(
        items=int(sums[0]),
        bins=size,
        method=f"counts of {len(table)} rows",
        _layout=layout,
        _source=source,
    )
