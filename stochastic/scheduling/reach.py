"""When the last block can begin, and how many numbers of blocks to tell apart: Chernoff's bounds.

With N(s) the blocks that a slot with endless work has begun by s, the last of B blocks has begun by
s if all slots together have begun B by then. For every l > 0, P(ΣN >= B) <= exp(-l·B) Π E[exp(l·N)]
and so for l < 0 the other way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.errors import LawError
from stochastic.scheduling.renewals import renewals, summed

if TYPE_CHECKING:
    import numpy.typing as npt

    from stochastic.scheduling.setting import Kind, Setting

__all__ = ["NOTHING", "Reach", "reach", "within"]

#: log E[exp(tilt·N(s))] of a kind of slots, a row for each tilt, s = low - 1..high.
Moments = Callable[[Any], Any]

#: The logarithm of a probability that is left out.
NOTHING = -37.0
_TILTS = np.array([4.0, 7.0, 9.0, 14.0])
_TURN = 0.33137  # the largest x / (2 cosh x): |x| <= 0.33137 (e**x + e**-x)
_ROUNDS = 30
_LOST = 1e-13  # of the largest chance of a start, by transforms: some 50 roundings were seen


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reach:
    """Starts that the last block can have, and what is needed to tell them.

    Attributes
    ----------
    first, last : int
        It begins before the one, or after the other, with a probability below exp(NOTHING) each.
    period : int
        How many numbers of blocks are told apart: those as far away are as improbable. Even.
    scatter : array, shape (kinds,)
        Bound on E|N(s) - c| of one slot for some c, of all s from first - 1 to last.
    """

    first: int
    last: int
    period: int
    scatter: npt.NDArray[np.float64]


def reach(setting: Setting) -> Reach:
    """What to look at. The bounds hold; only where they are looked for is guessed."""
    rate = sum(kind.slots / kind.mean for kind in setting.kinds)
    spread = setting.spread
    middle = setting.busy / rate
    slack = 12.0 * spread / rate + 2.0
    ahead = max(kind.mean + kind.var / kind.mean for kind in setting.kinds)
    for _ in range(_ROUNDS):
        low, high = max(int(middle - slack - ahead), 0), math.ceil(middle + slack)
        found = within(
            setting, low, high, [partial(_moments, kind, low, high) for kind in setting.kinds]
        )
        if found is not None:
            return found
        slack, ahead = 2.0 * slack, 2.0 * ahead
    raise LawError(
        f"the start of the last of {setting.blocks:,} blocks cannot be enclosed in doubles: "
        "count the work in larger units, or draw it with sample"
    )


def within(setting: Setting, low: int, high: int, moments: Sequence[Moments]) -> Reach | None:
    """The same, if the last block begins within low..high."""
    far = _TILTS / setting.spread
    bound = np.zeros((2 * len(far), high - low + 2))
    scatter = []
    for kind, of in zip(setting.kinds, moments, strict=True):
        near = 1.0 / math.sqrt(kind.var / kind.mean**2 * (high / kind.mean) + 0.1)
        logs = of(np.concatenate([far, -far, [near, -near]]))
        bound += kind.slots * logs[:-2]
        scatter.append((2.0 * _TURN / near, logs[-2:].sum(axis=0) / 2.0))
    bound[np.isnan(bound)] = math.inf  # no bound
    up, down = bound[: len(far)], bound[len(far) :]
    up += setting.log_weight(far)[:, None]
    down += (setting.log_weight(-far) - far)[:, None]  # at most one less has begun
    early, late = up.min(axis=0), down.min(axis=0)  # of s = low - 1, ..., high
    if (low > 0 and early[0] > NOTHING) or late[-1] > NOTHING:
        return None
    first = low + int(np.argmax(early[1:] > NOTHING)) if np.any(early[1:] > NOTHING) else high
    last = max(low - 1 + int(np.argmax(late <= NOTHING)), first)
    above = float(((up[:, last - low + 1] - NOTHING) / far).min())
    below = float(((down[:, first - low] - NOTHING) / far).min())
    shortest = min(int(np.flatnonzero(kind.law)[0]) for kind in setting.kinds)
    above = min(above, setting.slots * (last // shortest + 1) + 1)  # more never begin by then
    if first == 0:
        below = min(below, setting.blocks)
    seen = slice(first - low, last - low + 2)
    return Reach(
        first=first,
        last=last,
        period=2 * math.ceil(max(above, below, 2.0) / 2),
        scatter=np.array([scale * math.exp(logs[seen].max()) for scale, logs in scatter]),
    )


def _moments(
    kind: Kind, low: int, high: int, tilts: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """log E[exp(tilt·N(s))] of one slot, a row for each tilt, s = low - 1, ..., high.

    E[exp(tilt·N); S_N = u] is exp(slope·u) times the renewal sequence of the durations weighed by
    exp(tilt - slope·k), which for the right slope is again one of probabilities.
    """
    places = np.arange(len(kind.law), dtype=np.float64)
    slopes = np.array([_slope(kind.law, places, tilt) for tilt in tilts])
    weighed = _product(tilts[:, None] - slopes[:, None] * places, kind.law)
    starts = renewals(np.ones(len(tilts)), weighed, low - len(kind.law) + 1, high).real
    tails = 1.0 - kind.chances[:-1]
    weights = _product(-slopes[:, None] * places[:-1], tails)
    found = np.maximum(summed(starts, weights), 0.0)
    found += _LOST * weights.sum(axis=1, keepdims=True)  # rounding makes a bound no smaller
    s = np.arange(low - 1, high + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = tilts[:, None] + slopes[:, None] * s + np.log(found)
    if low == 0:
        logs[:, 0] = 0.0
    return np.asarray(logs)


def _product(logs: npt.NDArray[np.float64], law: npt.NDArray[np.float64]) -> Any:
    """Return exp(logs)·law, 0 where the law is 0 although the other may overflow there."""
    return np.exp(np.where(law > 0, logs, 0.0)) * law


def _slope(law: npt.NDArray[np.float64], places: npt.NDArray[np.float64], tilt: float) -> float:
    """The slope at which E[exp(-slope·D)] = exp(-tilt), nearly: Newton from the left."""
    held = places[law > 0]
    logs = np.log(law[law > 0])
    slope = tilt / (held[-1] if tilt > 0 else held[0])
    for _ in range(200):
        terms = logs - slope * held
        most = float(terms.max())
        shares = np.exp(terms - most)
        above = tilt + most + math.log(float(shares.sum()))
        if above < 1e-6:
            break
        slope += above * float(shares.sum()) / float(shares @ held)
    return float(slope)
