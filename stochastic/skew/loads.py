"""Compute laws of the loads of bins that share items: experts and tokens, ranks, rows, warps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import check_choice, check_integer
from stochastic.errors import LawError
from stochastic.labels import law_array
from stochastic.skew.counts import Counts
from stochastic.skew.weights import WeightLaw, read_weights
from stochastic.work.arguments import check_samples, law_from_samples, normalize_weights
from stochastic.work.distribution import first_true, tabulate
from stochastic.work.pmf import Pmf

if TYPE_CHECKING:
    import xarray as xr

_LAWS = ("largest", "busiest", "occupied", "tiles", "busiest_tiles")
_MOST_ITEMS = 2**40
_MOST_BINS = 2**24
_NEGLIGIBLE = 1e-19  # probability of loads that are left out
_TINY = 1e-200  # mean load that counts as 0
_SIGNIFICANCE = 1e-4  # 1 - confidence level of the error of an estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LoadLaw(Pmf):
    """The law of one number of a set of loads: a Pmf with an error.

    Attributes
    ----------
    error : float
        Bound on the error of any probability P(number <= x). If ``is_estimate``, the probabilities
        are shares of simulations, and the bound holds with a confidence of 0.9999
        (Dvoretzky–Kiefer–Wolfowitz).
    """

    name: str
    error: float
    is_estimate: bool = False

    @classmethod
    def from_chances(cls, low: int, chances: Any, **options: Any) -> LoadLaw:
        """Return the law with the chances of low, low + 1, ..., apart from rounding errors."""
        positive = np.maximum(chances, 0.0)
        table = tabulate(low, positive / positive.sum())
        return cls(distribution=table, **options)

    def pmf(self, k: Any = None) -> Any:
        """Return P(number = k), for a number or an array; by default, for all k, labelled."""
        if k is not None:
            return Pmf.pmf(self, k)
        axis = {self.name: np.arange(self.low, int(self.high) + 1)}
        return law_array(self.weights, {}, **axis)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Bins in groups: the bins in the order of groups, and the place of the first of each group."""

    order: Ints
    starts: Ints
    tile: int

    @classmethod
    def from_groups(cls, groups: Any, bins: int, tile: Any) -> Layout:
        """Check and return a layout; LawError if the groups do not contain each bin once."""
        tile = check_integer("tile", tile, least=1, example=128)
        if isinstance(groups, Sequence | np.ndarray) and not isinstance(groups, str):
            parts = list(groups)
            if all(np.ndim(part) == 0 for part in parts):
                widths = [check_integer("a size of groups", part, least=1) for part in parts]
                ends = np.cumsum(widths)
                parts = np.split(np.arange(ends[-1] if len(ends) else 0), ends[:-1])
        else:
            count = check_integer("groups", groups, least=1, most=bins, example=8)
            parts = np.array_split(np.arange(bins), count)
        order = np.concatenate([np.ravel(part) for part in parts]) if parts else np.empty(0)
        if not np.array_equal(np.sort(order), np.arange(bins)) or not all(map(len, parts)):
            raise LawError(
                f"groups = {groups!r:.60}: expected each of the bins 0 to {bins - 1} in one group: "
                f"a number of groups, their sizes with the sum {bins}, or lists of bins"
            )
        starts = np.cumsum([0, *map(len, parts[:-1])])
        return cls(order=order.astype(np.int64), starts=starts, tile=tile)

    def measure(self, loads: Ints) -> dict[str, Ints]:
        """Return the number of each law, for rows of loads of all bins."""
        tiles = -(-loads // self.tile)
        return {
            "largest": loads.max(axis=1),
            "busiest": self._totals(loads).max(axis=1),
            "occupied": np.count_nonzero(loads, axis=1),
            "tiles": tiles.sum(axis=1),
            "busiest_tiles": self._totals(tiles).max(axis=1),
        }

    def _totals(self, loads: Ints) -> Ints:
        return np.asarray(np.add.reduceat(loads[:, self.order], self.starts, axis=1))


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
        return Loads(
            items=self.items,
            bins=self.bins,
            method=f"estimate from {size} simulations",
            _layout=self._layout,
            _source=_simulate(self._source.draw, self._layout, size, seed),
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


def _simulate(draw: Any, layout: Layout, size: int, seed: int = 0) -> _Rows:
    rng, left, parts = np.random.default_rng(seed), size, []
    while left:
        rows = min(left, max(1, (1 << 21) // len(layout.order)))
        parts.append(layout.measure(draw(rows, rng)))
        left -= rows
    values = {name: np.concatenate([part[name] for part in parts]) for name in _LAWS}
    return _Rows(values=values, is_estimate=True, draw=draw)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fixed:
    """Laws of loads of bins with fixed probabilities."""

    items: int
    shares: Floats
    layout: Layout

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        return np.asarray(rng.multinomial(self.items, self.shares / self.shares.sum(), size))

    @cached_property
    def counts(self) -> Counts:
        """Return the Poisson counts whose sum is conditioned; equal bins and groups are joined."""
        rates = self.items * self.shares
        distinct, place = np.unique(rates, return_inverse=True)
        first = int(np.searchsorted(distinct, _TINY, side="right"))  # bins that stay empty
        place = place[self.layout.order] - first
        kinds: dict[tuple[tuple[int, int], ...], int] = {}
        for part in np.split(place, self.layout.starts[1:]):
            used, times = np.unique(part[part >= 0], return_counts=True)
            if len(used):
                key = tuple(zip(used.tolist(), times.tolist(), strict=True))
                kinds[key] = kinds.get(key, 0) + 1
        return Counts.from_rates(
            self.items, distinct[first:], [(count, key) for key, count in kinds.items()]
        )

    def law(self, name: str) -> LoadLaw:
        if self.items == 0:
            return LoadLaw.from_chances(0, [1.0], name=name, error=0.0)
        if name in ("occupied", "tiles"):
            tile = self.items if name == "occupied" else self.layout.tile
            low, chances, error = self.counts.total_tiles(tile)
            cdf = np.cumsum(chances)
        else:
            if name == "busiest_tiles" and self.layout.tile > 1:
                low, cdf, error = self.counts.most_tiles(self.layout.tile)
            else:
                low, high = self._range(name != "largest")
                cdf, error = self.counts.largest(name != "largest", low, high)
        cdf = np.maximum.accumulate(np.clip(cdf, 0.0, 1.0))
        cdf /= cdf[-1]
        return LoadLaw.from_chances(
            low, np.diff(cdf, prepend=0.0), name=name, error=2 * error + len(cdf) * 2.0**-53
        )

    def _range(self, of_groups: bool) -> tuple[int, int]:
        """Return the smallest and the largest load of the fullest unit that is not negligible.

        Loads are negatively associated: P(all <= m) is at most the product of the P(load <= m).
        """
        from scipy.special import betainc, betaincc

        shares = self.shares
        if of_groups:
            shares = np.add.reduceat(shares[self.layout.order], self.layout.starts)
        distinct, copies = np.unique(
            np.minimum(shares / self.shares.sum(), 1.0), return_counts=True
        )
        items = self.items

        def is_above(m: int) -> bool:
            return m >= items or copies @ betainc(m + 1.0, items - m, distinct) < _NEGLIGIBLE

        def is_possible(m: int) -> bool:
            with np.errstate(divide="ignore"):
                logs = np.log(betaincc(m + 1.0, items - m, distinct)) if m < items else np.zeros(1)
                return bool(copies @ logs > math.log(_NEGLIGIBLE)) if m < items else True

        least = -(-items // int(copies[distinct > 0].sum()))
        low, high = first_true(is_possible, least), first_true(is_above, least)
        assert low is not None
        assert high is not None
        return low, max(low, high)


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
        down or up, and on average exactly this number.

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
    fixed = _Fixed(items=items, shares=shares, layout=layout)
    make = partial(Loads, items=items, bins=len(shares), _layout=layout)
    if weights is None:
        return make(method="inversion", _source=fixed)
    law = read_weights(weights)
    random = _Random(items=items, layout=layout, weights=law, spread=spread)
    return make(method=f"estimate from {sizes.LOADS_TRIALS} simulations", _source=random)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Random:
    """Draws of loads of bins with independent random weights."""

    items: int
    layout: Layout
    weights: WeightLaw
    spread: str

    @cached_property
    def _rows(self) -> _Rows:
        return _simulate(self.draw, self.layout, sizes.LOADS_TRIALS)

    def law(self, name: str) -> LoadLaw:
        return self._rows.law(name)

    def joint(self, first: str, second: str) -> tuple[int, int, Floats]:
        return self._rows.joint(first, second)

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        bins = len(self.layout.order)
        drawn = self.weights.draw(rng, (size, bins))
        while not (some := drawn.max(axis=1) > 0).all():
            drawn[~some] = self.weights.draw(rng, (int((~some).sum()), bins))
        drawn /= drawn.max(axis=1, keepdims=True)  # no sum overflows
        drawn /= drawn.sum(axis=1, keepdims=True)
        if self.spread == "even":
            return spread_evenly(self.items, drawn, rng)
        return np.asarray(rng.multinomial(self.items, drawn))


def spread_evenly(items: int, shares: Floats, rng: np.random.Generator) -> Ints:
    """Return loads (rows of bins) of the shares, rounded down or up, with the sum ``items``."""
    ends = np.cumsum(shares, axis=1)
    ends *= items
    ends += rng.random((len(ends), 1))
    places = np.minimum(np.floor(ends, out=ends).astype(np.int64), items)
    places[:, -1] = items
    return np.diff(places, axis=1, prepend=0)


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
