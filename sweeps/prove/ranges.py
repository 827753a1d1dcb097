"""Between which values a quantity lies where some inputs are known within ±, point by point.

An uncertain input lies between two ends at each configuration. Where a quantity goes one way along
it, its extreme is at one of them; otherwise the ends are drawn together, piece by piece, until the
extreme is bracketed closely or there are enough pieces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from symbolic.intervals import EVERY, Trend, interval_of, trend_number, trends
from symbolic.ops import Node, interpret_all, interpret_arrays, references

__all__ = ["TOGETHER", "Spread", "least"]

Floats = NDArray[np.float64]

#: Rounds of halving; pieces of a configuration, on average; how close is close.
ROUNDS, PIECES, CLOSE = 20, sizes.RANGES_PIECES, 1e-4
#: Configurations looked at together.
TOGETHER = sizes.RANGES_TOGETHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A quantity over configurations, some of its inputs between ends of their own.

    ``known`` and the ends hold a number, or one for each configuration.
    """

    root: Node
    known: Mapping[str, Any]
    low: Mapping[str, Floats]
    high: Mapping[str, Floats]
    whole: frozenset[str]
    count: int

    @property
    def moving(self) -> tuple[str, ...]:
        """The uncertain inputs on which it depends."""
        return tuple(name for name in references(self.root) if name in self.low)

    def values(self, chosen: Any, at: Mapping[str, Floats]) -> Floats:
        """At places within the ends, of some configurations."""
        values = {**self._known(chosen), **at}
        found = interpret_arrays((self.root,), values)[0]
        return np.broadcast_to(np.asarray(found, dtype=float), np.shape(chosen))

    def trend(self, chosen: Any, low: Mapping[str, Floats], high: Mapping[str, Floats]) -> Trend:
        """Enclosed between ends, and how it goes along each of the inputs."""
        values: dict[str, Trend] = {}
        for name, value in self._known(chosen).items():
            values[name] = Trend(interval_of(value), EVERY, EVERY)
        for place, name in enumerate(self.moving):
            bit = np.uint64(1) << np.uint64(place)
            down = np.where(low[name] == high[name], EVERY, EVERY & ~bit)
            values[name] = Trend(interval_of(low[name], high[name]), EVERY, down)
        with np.errstate(all="ignore"):
            found: Trend = interpret_all((self.root,), values, trends(), trend_number)[0]
        return found

    def _known(self, chosen: Any) -> dict[str, Any]:
        names = [name for name in references(self.root) if name not in self.low]
        arrays = {name: np.asarray(self.known[name], dtype=float) for name in names}
        return {n: np.atleast_1d(a[chosen] if a.ndim else a) for n, a in arrays.items()}

    def ends(self, chosen: Any) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """The ends of the inputs at some configurations."""
        sides = []
        for side in (self.low, self.high):
            ends = {name: np.asarray(side[name], dtype=float) for name in self.moving}
            shape = np.shape(chosen)
            sides.append(
                {n: np.broadcast_to(e[chosen] if e.ndim else e, shape) for n, e in ends.items()}
            )
        return sides[0], sides[1]


def least(spread: Spread, *, pieces: int = PIECES) -> Floats:
    """For each configuration a number below which the quantity is certain not to fall.

    It is attained, or all but, where so many pieces suffice; NaN where the quantity may be NaN.
    """
    owner = np.arange(spread.count)
    low, high = spread.ends(owner)
    bound = np.full(spread.count, math.inf)
    attained = np.full(spread.count, math.inf)
    undefined = np.zeros(spread.count, dtype=bool)
    for turn in range(ROUNDS + 1):
        trend = spread.trend(owner, low, high)
        below = np.broadcast_to(trend.range.lo, owner.shape)
        if trend.range.undefined is not False:
            np.logical_or.at(undefined, owner, np.broadcast_to(trend.range.undefined, owner.shape))
        low, high = _settled(spread, trend, low, high)
        point = np.logical_and.reduce([low[name] == high[name] for name in low], axis=0)
        point = np.broadcast_to(point, owner.shape)
        middle = {name: _middle(spread, name, low[name], high[name]) for name in low}
        here = spread.values(owner, middle)
        np.fmin.at(attained, owner, here)
        below = np.where(point, here, below)  # it goes one way along all: the end is the extreme
        goal = attained[owner]
        last = turn == ROUNDS or 2 * owner.size > pieces * spread.count
        near = np.where(np.isfinite(goal), CLOSE * np.abs(goal), 0.0)
        done = point | last | (below >= goal - near) | undefined[owner]
        np.fmin.at(bound, owner[done], below[done])
        if done.all():
            break
        owner, low, high = _split(spread, owner, low, high, ~done)
    return np.where(undefined, math.nan, np.minimum(bound, attained))


def _settled(
    spread: Spread, trend: Trend, low: dict[str, Floats], high: dict[str, Floats]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """The ends drawn to the one where the quantity is least, along the inputs it goes one way."""
    found_low, found_high = {}, {}
    for place, name in enumerate(spread.moving):
        bit = np.uint64(1) << np.uint64(place)
        rises, falls = (trend.up & bit) != 0, (trend.down & bit) != 0
        found_high[name] = np.where(rises, low[name], high[name])
        found_low[name] = np.where(falls & ~rises, high[name], low[name])
    return found_low, found_high


def _middle(spread: Spread, name: str, low: Floats, high: Floats) -> Floats:
    middle = low / 2 + high / 2
    middle = np.floor(middle) if name in spread.whole else middle
    return np.asarray(np.clip(middle, low, high))


def _split(
    spread: Spread,
    owner: Any,
    low: dict[str, Floats],
    high: dict[str, Floats],
    chosen: NDArray[np.bool_],
) -> tuple[Any, dict[str, Floats], dict[str, Floats]]:
    """Some pieces halved along the input whose ends lie furthest apart."""
    low = {name: ends[chosen] for name, ends in low.items()}
    high = {name: ends[chosen] for name, ends in high.items()}
    names = list(low)
    with np.errstate(all="ignore"):
        width = np.stack(
            [np.nan_to_num((high[n] - low[n]) / np.maximum(np.abs(high[n]), 1e-300)) for n in names]
        )
    widest = np.argmax(width, axis=0)
    lows, highs = [], []
    for half in (0, 1):
        a, b = dict(low), dict(high)
        for place, name in enumerate(names):
            middle = _middle(spread, name, low[name], high[name])
            mine = widest == place
            step = middle + 1 if name in spread.whole else middle
            if half:
                a[name] = np.where(mine, np.minimum(step, high[name]), low[name])
            else:
                b[name] = np.where(mine, middle, high[name])
        lows.append(a)
        highs.append(b)
    join = [
        {name: np.concatenate([one[name] for one in sides]) for name in names}
        for sides in (lows, highs)
    ]
    return np.tile(owner[chosen], 2), join[0], join[1]
