"""When blocks begin on a slot that never runs out of them: renewal sequences, by transforms.

H(u) = Σ_n z**n P(S_n = u), S_n a sum of n durations. From it follow the starts that the last block
can have, by Chernoff's bounds, and, of launches with too many blocks to be counted one by one (see
stochastic.scheduling.block_counts), what the nodes of stochastic.scheduling.inversion need.

With N(s) the blocks that a slot with endless work has begun by s, the last of B blocks has begun by
s if all slots together have begun B by then. For every l > 0, P(ΣN >= B) <= exp(-l·B) Π E[exp(l·N)]
and so for l < 0 the other way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.errors import LawError

if TYPE_CHECKING:
    import numpy.typing as npt

    from stochastic.scheduling.settings import Kind, Setting

#: log E[exp(tilt·N(s))] of a kind of slots, a row for each tilt, s = low - 1..high.
Moments = Callable[[Any], Any]

#: The logarithm of a probability that is left out.
NOTHING = -37.0
#: Of the nodes that are left out, beyond NOTHING: there are many nodes and starts.
MARGIN = -8.0
_TILTS = np.array([4.0, 7.0, 9.0, 14.0])
_TURN = 0.33137  # the largest x / (2 cosh x): |x| <= 0.33137 (e**x + e**-x)
_ROUNDS = 30
_LOST = 1e-13  # of the largest chance of a start, by transforms: some 50 roundings were seen
_MEMORY = sizes.SEQUENCES_BYTES  # bytes of sequences
_WHOLE = sizes.RENEWALS_WHOLE  # lengths of the law computed from the beginning


@dataclass(frozen=True, kw_only=True, eq=False)
class Window:
    """The starts that the last block can have, and what is needed to tell them apart.

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

    @cached_property
    def _circle(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """exp(iπk/period) and 1 less it, for k = 0..2·period - 1, (2, 2·period) each."""
        period = self.period
        k = np.arange(2 * period)
        angle = np.where(k > period, k - 2 * period, k) * (math.pi / period)
        sine = np.sin(angle)
        return np.array([np.cos(angle), sine]), np.array([2.0 * np.sin(angle / 2) ** 2, -sine])

    def powers(self, nodes: npt.NDArray[np.int64], exponents: Any) -> npt.NDArray[np.float64]:
        """Return z**n of the z of each node and each exponent n, (2, ..., nodes, exponents)."""
        return np.asarray(self._circle[0][:, self._places(nodes, exponents)])

    def lacks(self, nodes: npt.NDArray[np.int64], exponents: Any) -> npt.NDArray[np.float64]:
        """Return 1 - z**n, as precise relative to itself."""
        return np.asarray(self._circle[1][:, self._places(nodes, exponents)])

    def ratios(
        self, kinds: Sequence[Kind], nodes: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Return x/(x - 1) of durations 0..K, x = z·F, (2, kinds, nodes, K + 1)."""
        (a, b), (p, q) = self.powers(nodes, [1]), self.lacks(nodes, [1])
        tails = np.array([kind.tails for kind in kinds])[:, None]
        below = np.array([kind.chances for kind in kinds])[:, None]
        p, q = p + a * tails, q + b * tails
        size = below / (p * p + q * q)
        return np.array([-(a * p + b * q) * size, (a * q - b * p) * size])

    def _places(self, nodes: npt.NDArray[np.int64], exponents: Any) -> npt.NDArray[np.int64]:
        """Return which point of the circle each power of each node is."""
        turns = (2 * nodes[:, None] + 1) * np.asarray(exponents)[..., None, :]
        return np.asarray(turns % (2 * self.period))


@dataclass(frozen=True, kw_only=True, eq=False)
class Renewals:
    """What nodes need of a launch, by transforms: quick for any number of blocks.

    Rounding is estimated, not bounded. It takes the place of counts (BlockCounts) where these take
    too long: 50,000 blocks on 864 slots, of up to 1,000 steps, would take 20 times as long.

    Nodes are exp(2πi(j + 1/2)/period), so that 1 is none. With phi(s) = E[z**N(s)] no |A_s| is
    above (1 + |phi(s)|)/2, so that nodes are left out where that to the power of M is nothing;
    between nodes |phi| moves by no more than E|N - c| times the angle, so that most are not even
    looked at.
    """

    setting: Setting

    @cached_property
    def window(self) -> Window:
        """When the last block begins."""
        setting = self.setting
        rate = sum(kind.slots / kind.mean for kind in setting.kinds)
        self._check_memory(24.0 * setting.spread / rate + setting.longest, 16)
        return window_of(setting)

    @property
    def centres(self) -> list[int]:
        """Counts around which those of each kind are centred: none."""
        return [0] * len(self.setting.kinds)

    @property
    def error(self) -> float:
        """Estimate of rounding: other nodes give a law that differs by up to 1.3 roundings for each
        block, in hundreds of random laws of up to 60 blocks a slot.
        """
        most = max(kind.slots for kind in self.setting.kinds)
        rounding = float(np.finfo(float).eps) * (4.0 * (self.setting.blocks + most) + 64.0)
        return 6 * math.exp(NOTHING) + rounding

    def _sequences(self, nodes: npt.NDArray[np.int64]) -> tuple[Any, Any]:
        """z·H from first - K on, and 1 - A_s without an end from first - 1 on, by kind and node."""
        first, last, longest = self.window.first, self.window.last, self.setting.longest
        real, imag = self.window.powers(nodes, [1])[..., 0]
        z = real + 1j * imag
        laws = [kind.law[None] for kind in self.setting.kinds]
        starts = z[:, None] * np.array([renewals(z, law, first - longest, last) for law in laws])
        lacks = np.zeros((len(laws), len(nodes), last - first + 2), dtype=np.complex128)
        if first > 0:
            for g, kind in enumerate(self.setting.kinds):
                lacks[g, :, 0] = 1.0 - starts[g, :, :longest] @ kind.tails[-2::-1]
        lacks[..., 1:] = np.cumsum(starts[..., longest:], axis=2) * ((1.0 - z) / z)[:, None]
        lacks[..., 1:] += lacks[..., :1]
        return starts, lacks

    @cached_property
    def _found(self) -> tuple[npt.NDArray[np.int64], Any, Any]:
        """The nodes that count, with their sequences."""
        window, setting = self.window, self.setting
        half, period = window.period // 2, window.period
        slots = np.array([kind.slots for kind in setting.kinds])
        step = 2.0 * math.pi / period * window.scatter
        near = min(half, math.ceil(1.2 * 9.0 * period / (2.0 * math.pi * setting.spread)))
        coarse = max(int(0.8 / step.max()), 1)
        ask = np.union1d(np.arange(near), np.append(np.arange(near, half, coarse), half - 1))

        def counts(modulus: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
            """True for nodes where Π |A_s|**M can be more than nothing."""
            return np.asarray(slots @ np.log((1.0 + modulus) / 2.0) > NOTHING + MARGIN)

        seen = np.full((len(slots), half), np.nan)
        parts: list[tuple[Any, Any, Any]] = []
        while len(ask):
            width = window.last - window.first + setting.longest + 1
            self._check_memory(width, len(ask) + sum(len(one[0]) for one in parts))
            starts, lacks = self._sequences(ask)
            seen[:, ask] = np.abs(1.0 - lacks).max(axis=2)
            some = counts(seen[:, ask])
            parts.append((ask[some], starts[:, some], lacks[:, some]))
            known = np.flatnonzero(~np.isnan(seen[0]))
            gaps = np.flatnonzero(np.diff(known) > 1)
            left, right = known[gaps], known[gaps + 1]
            most = (seen[:, left] + seen[:, right] + step[:, None] * (right - left)) / 2
            unsettled = counts(np.minimum(most, 1.0))
            ask = (left[unsettled] + right[unsettled]) // 2
        nodes = np.concatenate([one[0] for one in parts])
        order = np.argsort(nodes)
        starts, lacks = (
            np.concatenate([one[i] for one in parts], axis=1)[:, order] for i in (1, 2)
        )
        return nodes[order], starts, lacks

    def _check_memory(self, width: float, nodes: int) -> None:
        if 64.0 * nodes * width * len(self.setting.kinds) > _MEMORY:
            raise LawError(
                f"the last block begins within {width:,.0f} steps, told apart at {nodes:,} nodes, "
                "too large to be exact. Count the work in units "
                f"{max(2, width // 5000):,.0f} times as large, "
                "rounded up and rounded down: the law lies between the two. Or draw it "
                "with sample, from a law of any size"
            )

    @property
    def nodes(self) -> npt.NDArray[np.int64]:
        """The nodes that count."""
        return self._found[0]

    @cached_property
    def before(self) -> npt.NDArray[np.float64]:
        """Rows of places first - K..first - 1: real and imaginary parts of each node's z·H."""
        early = self._found[1][..., : self.setting.longest]
        return np.stack([early.real, early.imag], axis=2).reshape(len(early), -1, early.shape[2])

    @cached_property
    def turns(self) -> npt.NDArray[np.float64]:
        """Return what makes a node's value of these rows, (2, kinds, nodes, rows)."""
        own = np.eye(2 * len(self.nodes)).reshape(-1, 2, 2 * len(self.nodes)).swapaxes(0, 1)
        return np.repeat(own[:, None], len(self.setting.kinds), axis=1)

    @cached_property
    def starts(self) -> npt.NDArray[np.float64]:
        """z·H of s = first..last, (2, kinds, nodes, starts)."""
        late = self._found[1][..., self.setting.longest :]
        return np.array([late.real, late.imag])

    @cached_property
    def endless(self) -> npt.NDArray[np.float64]:
        """1 - A_s without an end, s = first - 1..last, (2, kinds, nodes, starts + 1)."""
        return np.array([self._found[2].real, self._found[2].imag])


def window_of(setting: Setting) -> Window:
    """Return when the last block can begin. Only where the bounds are looked for is guessed."""
    rate = sum(kind.slots / kind.mean for kind in setting.kinds)
    spread = setting.spread
    middle = setting.busy / rate
    slack = 12.0 * spread / rate + 2.0
    ahead = max(kind.mean + kind.var / kind.mean for kind in setting.kinds)
    for _ in range(_ROUNDS):
        low, high = max(int(middle - slack - ahead), 0), math.ceil(middle + slack)
        found = window_within(
            setting, low, high, [partial(_moments, kind, low, high) for kind in setting.kinds]
        )
        if found is not None:
            return found
        slack, ahead = 2.0 * slack, 2.0 * ahead
    raise LawError(
        f"the start of the last of {setting.blocks:,} blocks cannot be enclosed in doubles: "
        "count the work in larger units, or draw it with sample"
    )


def window_within(
    setting: Setting, low: int, high: int, moments: Sequence[Moments]
) -> Window | None:
    """Return when the last block can begin if that lies within low..high, else None."""
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
    return Window(
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
    # Σ_j starts(s - j)·weights(j), j = 0..K-1
    found = _convolved(starts, weights, starts.shape[1])[:, weights.shape[1] - 1 :].real
    found = np.maximum(found, 0.0)
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


def renewals(
    z: npt.NDArray[Any], law: npt.NDArray[np.float64], low: int, high: int
) -> npt.NDArray[np.complex128]:
    """H(low), ..., H(high) of each row, H(u) = Σ_n z**n P(S_n = u), S_n a sum of n durations.

    ``z`` is of (rows), ``law`` of (rows or 1, K + 1), P(D = 0) = 0 first. H(u) is 0 before 0. Far
    out a place is reached from half of it, over the duration that crosses that half.
    """
    longest = law.shape[1] - 1
    if low <= _WHOLE * longest + (high - low):
        found = np.zeros((len(z), high - low + 1), dtype=np.complex128)
        if high >= 0:
            found[:, max(-low, 0) :] = _from_zero(z, law, high)[:, max(low, 0) :]
        return found
    half = (low - 1) // 2
    near = renewals(z, law, half - longest + 1, high - half - 1)
    # crossing(b): a duration begins at half - a, a = 0..K-1, and ends at half + b, b = 1..K
    crossing = z[:, None] * _convolved(near[:, :longest], law, 2 * longest)[:, longest:]
    # H(half + v) = Σ_b crossing(b) H(v - b)
    return _convolved(crossing, near, near.shape[1])[:, low - 2 * half + longest - 2 :]


def _from_zero(
    z: npt.NDArray[Any], law: npt.NDArray[np.float64], high: int
) -> npt.NDArray[np.complex128]:
    """1 / (1 - z·law) as a power series, by Newton's iteration: each step doubles its length.

    Only what is small goes through transforms, so that what they lose is smaller still.
    """
    from scipy.fft import fft, ifft, next_fast_len

    found = np.zeros((len(z), high + 1), dtype=np.complex128)
    sizes = [high + 1]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    for size, half in zip(sizes[-2::-1], sizes[:0:-1], strict=True):
        length = next_fast_len(size + half)  # what wraps around stays below half
        part = np.zeros((len(law), size))
        part[:, : law.shape[1]] = law[:, :size]
        ahead = fft(found[:, :half], length)  # without H(0) = 1
        left = ifft(fft(part, length) * ahead, overwrite_x=True)[:, half:size]
        left = z[:, None] * (part[:, half:] + left)
        both = ifft(fft(left, length) * ahead, overwrite_x=True)[:, : size - half]
        found[:, half:size] = left + both
    found[:, 0] = 1.0
    return found


def _convolved(a: npt.NDArray[Any], b: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The first entries of the product of rows of two power series."""
    from scipy.fft import fft, ifft, next_fast_len

    a, b = a[:, :size], b[:, :size]
    length = next_fast_len(a.shape[1] + b.shape[1] - 1)
    return np.asarray(ifft(fft(a, length) * fft(b, length), overwrite_x=True)[:, :size])
