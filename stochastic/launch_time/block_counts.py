"""Compute the law of the number of blocks that a slot has begun, and its generating function.

Consider a slot that never runs out of blocks. D is the duration of a block, S_n the sum of the
first n durations, q_n(u) = P(S_n = u), and N(s) the number of blocks that the slot has begun by s.
Then P(N(s) = n + 1) = Σ_{u<=s} q_n(u) P(D > s - u). Let c be about the mean count. The function A_s
of stochastic.launch_time.inversion is written as z**-c A_s = 1 - Δ, with the deficit

    Δ = Σ_n P(N(s) = n) (1 - z**(n - c)) + Σ_n z**(n - c) P(N(s) = n, its block ends after t).

The probabilities are positive, so rounding errors are small relative to Δ. At the nodes that
matter, Δ is at most about 8/√M for M slots. So the rounding error of the law grows only as √M.
``_rounding_bound`` bounds it as follows.

Let u be half the distance from 1 to the next double. The relative error of a sum of positive terms
is u times a number of roundings: 10 for each duration in q_n (7 of the sum, 3 of the law). So the
error of the first sum in Δ is u Σ_n P(N = n) |1 - z**(n - c)| (10n + ...); that of the second sum
is similar. The error of the power (1 - Δ)**M is at most M|A|**(M-1) times the error of Δ, plus the
errors of squarings, which later squarings double. Here |A| <= 1 - Λ and |A| <= (1 + |phi|)/2, with
Λ = P(the block of a slot ends after t) and phi = E[z**N]. The law is Σ_s (r_s - r_{s+1}) P_s, with
the product P_s of all powers, and r = x/(x - 1) with the x of the inversion. In this sum, an error
of P_s is multiplied by the variation of r. Errors of r, and rounding errors of the sum, are
multiplied by Σ_s |r_s (P_s - P_{s-1})| <= M Σ_s |H(s)| |A|**(M-1).

Chernoff's bounds limit the times at which the last of B blocks can begin. It has begun by s if the
slots, with endless work, have begun at least B blocks in total by s. For every l > 0,
P(ΣN >= B) <= exp(-l·B) Π E[exp(l·N)]; with l < 0, the same expression bounds P(ΣN <= B).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError
from stochastic.kernels.launch_counts import TILE

if TYPE_CHECKING:
    from stochastic.launch_time.settings import LaunchSetting, SlotKind

#: A function that returns log E[exp(tilt·N(s))] for s = low - 1..high, with a row for each tilt.
_LogMoments = Callable[[Any], Any]

#: Logarithm of the probability that may be left out at either end of a range.
LOG_LEFT_OUT = -37.0
_TILTS = np.array(
    [4.0, 7.0, 9.0, 14.0]
)  # Tilts of Chernoff's bounds, multiplied by the start spread.


@dataclass(frozen=True, kw_only=True, eq=False)
class Window:
    """Range of times at which the last block can begin, and the number of nodes, ``period``.

    The last block begins before ``first``, or after ``last``, with a probability below
    exp(LOG_LEFT_OUT) each. From ``first`` to ``last``, the number of blocks that have begun differs
    from the launch's number of blocks by less than ``period``, except with a probability below this
    limit. ``period`` is even.
    """

    first: int
    last: int
    period: int

    @cached_property
    def _circle_points(self) -> tuple[Floats, Floats]:
        """Return exp(iπk/period) and 1 - exp(iπk/period) for k < 2·period, as (2, 2·period) arrays.

        In this module, an axis of length 2 holds real and imaginary parts.
        """
        period = self.period
        k = np.arange(2 * period)
        angle = np.where(k > period, k - 2 * period, k) * (math.pi / period)
        sine = np.sin(angle)
        return np.array([np.cos(angle), sine]), np.array([2.0 * np.sin(angle / 2) ** 2, -sine])

    def powers(self, nodes: Ints, exponents: Any) -> Floats:
        """Return z**n for each node z and each exponent n: shape (2, ..., nodes, exponents)."""
        return np.asarray(self._circle_points[0][:, self._circle_places(nodes, exponents)])

    def one_minus_powers(self, nodes: Ints, exponents: Any) -> Floats:
        """Return 1 - z**n with a small relative error, in the shape of :meth:`powers`."""
        return np.asarray(self._circle_points[1][:, self._circle_places(nodes, exponents)])

    def ratios(self, kinds: Sequence[SlotKind], nodes: Ints) -> Floats:
        """Return x/(x - 1), x = z·F(k), for durations k = 0..K: shape (2, kinds, nodes, K + 1)."""
        (a, b), (p, q) = self.powers(nodes, [1]), self.one_minus_powers(nodes, [1])
        tails = np.array([kind.sf for kind in kinds])[:, None]
        below = np.array([kind.cdf for kind in kinds])[:, None]
        p, q = p + a * tails, q + b * tails
        size = below / (p * p + q * q)
        return np.array([-(a * p + b * q) * size, (a * q - b * p) * size])

    def _circle_places(self, nodes: Ints, exponents: Any) -> Ints:
        turns = (2 * nodes[:, None] + 1) * np.asarray(exponents)[..., None, :]
        return np.asarray(turns % (2 * self.period))


def _window_within(
    setting: LaunchSetting, low: int, high: int, moments: Sequence[_LogMoments]
) -> Window | None:
    """Return the range of times of the last start; None if it extends beyond low..high."""
    far = _TILTS / setting.start_spread
    bound = np.zeros((2 * len(far), high - low + 2))
    for kind, log_moments in zip(setting.kinds, moments, strict=True):
        bound += kind.slots * log_moments(np.concatenate([far, -far]))
    bound[np.isnan(bound)] = math.inf  # NaN gives no bound
    up, down = bound[: len(far)], bound[len(far) :]
    up += setting.log_weight(far)[:, None]
    down += (setting.log_weight(-far) - far)[:, None]  # at most B - 1 blocks have begun
    early, late = up.min(axis=0), down.min(axis=0)  # for s = low - 1, ..., high
    if (low > 0 and early[0] > LOG_LEFT_OUT) or late[-1] > LOG_LEFT_OUT:
        return None
    is_early = early[1:] > LOG_LEFT_OUT
    first = low + int(np.argmax(is_early)) if is_early.any() else high
    last = max(low - 1 + int(np.argmax(late <= LOG_LEFT_OUT)), first)
    above = float(((up[:, last - low + 1] - LOG_LEFT_OUT) / far).min())
    below = float(((down[:, first - low] - LOG_LEFT_OUT) / far).min())
    shortest = min(int(np.flatnonzero(kind.law)[0]) for kind in setting.kinds)
    # by ``last``, the slots can begin at most this number of blocks
    above = min(above, setting.slots * (last // shortest + 1) + 1)
    if first == 0:
        below = min(below, setting.blocks)
    return Window(first=first, last=last, period=2 * math.ceil(max(above, below, 2.0) / 2))


_MARGIN = -8.0  # Added to LOG_LEFT_OUT for skipped nodes, because many nodes and starts add up.
_NOISE = 2.0**-52  # Error of a transform per duration, relative to the largest probability.
_FAINT = 1e-20  # Frequencies with a smaller modulus than this are left out of a spectrum.
_FEW = 10  # Number of products that take as long as one point of a transform.
_ROUNDS = 30  # Upper limit on doublings of the range in which the last start is sought.
_TAILS = 8  # A product with tails takes 1/_TAILS of the time of a product with the law.
_SHARE = 0.3  # Share of ``left_out`` that is spent on improbable times.
_COUNT_LEFT_OUT = 1e-16  # Maximum of P(some slot has begun more blocks than are counted).
_RARE = 1e-12  # Counts with a smaller probability than this at all times are summed separately.
_UNIT = 2.0**-53  # Largest relative error of one rounding to a double.
_LONG = float(np.finfo(np.longdouble).eps)
_LAW = 3  # Roundings of a probability of the law, or of a sum of such probabilities.
_SUM = 7  # Roundings of stochastic.kernels.launch_counts.convolve.
_CIRCLE = 10  # Roundings of z**n, and of 1 - z**n.
_PLAIN = math.sqrt(2.0)  # Roundings of a complex number whose two parts are each rounded.
_SQUARE = 3.0 * _PLAIN  # Roundings of Δ(2 - Δ), relative to |Δ|(2 + |Δ|).
_JOIN = 1.0 + 3.0 * _SQUARE  # Roundings of E + Δ(1 - E), relative to the larger of E and Δ.


def is_affordable(setting: LaunchSetting) -> bool:
    """True if counting by products is faster than counting by transforms."""
    low, high = _estimated_window(setting, 11.0)
    return sum(_product_count(kind, low, high) for kind in setting.kinds) < sizes.CENTRED_DEAR and (
        setting.start_spread * 9.0 * _window_margin(setting, 11.0) * 2.0 < sizes.CENTRED_LOOKED
    )


def _window_margin(setting: LaunchSetting, sigmas: float) -> float:
    rate = sum(kind.slots / kind.mean for kind in setting.kinds)
    return sigmas * setting.start_spread / rate + 2.0


def _estimated_window(setting: LaunchSetting, sigmas: float) -> tuple[int, int]:
    rate = sum(kind.slots / kind.mean for kind in setting.kinds)
    ahead = sum(kind.slots * (1 + kind.var / kind.mean**2) / 2 for kind in setting.kinds)
    middle, slack = (setting.busy_blocks - ahead) / rate, _window_margin(setting, sigmas)
    return max(math.floor(middle - slack), 0), max(math.ceil(middle + slack), 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class StartCounts:
    """The law of the number N(s) of blocks that a slot has begun by s, with a row for each count n.

    The first row is n = ``first_count``. ``probabilities`` holds P(N(s) = n) for s = low - 1..high.
    ``starts`` holds P(S_{n-1} = u), the law of the start of block n, for u = low - K..high, where K
    is the longest duration. Larger counts have no row: their probability at ``high`` is at most
    ``left_out``. Probabilities up to ``noise`` may be only rounding errors.
    """

    first_count: int
    low: int
    high: int
    starts: Floats
    probabilities: Floats
    left_out: float
    noise: float = 0.0

    @cached_property
    def counts(self) -> Ints:
        """Return the count n of each row."""
        return np.arange(self.first_count, self.first_count + len(self.probabilities))

    @cached_property
    def centre(self) -> int:
        """Return the mean count at the middle of the times, rounded to an integer."""
        middle = self.probabilities[:, self.probabilities.shape[1] // 2]
        return round(float(self.counts @ middle / middle.sum()))

    def restrict(self, low: int, high: int, rows: int) -> StartCounts:
        """Return the law for times low..high, padded with rows of zeros to ``rows`` rows."""
        longest = self.starts.shape[1] - (self.high - self.low + 1)
        begin, stop = low - self.low, high - self.low + 1
        starts = np.zeros((rows, stop - begin + longest))
        probabilities = np.zeros((rows, stop - begin + 1))
        starts[: len(self.starts)] = self.starts[:, begin : stop + longest]
        probabilities[: len(self.probabilities)] = self.probabilities[:, begin : stop + 1]
        return replace(self, low=low, high=high, starts=starts, probabilities=probabilities)

    def moments(self, tilts: Floats) -> Floats:
        """Return log E[exp(tilt·N(s))] for s = low - 1..high, with a row for each tilt."""
        probabilities = np.where(self.probabilities > self.noise, self.probabilities, 0.0)
        result = np.exp(np.outer(tilts, self.counts - self.centre)) @ probabilities
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(result) + (tilts * self.centre)[:, None])


def _product_count(kind: SlotKind, low: int, high: int) -> float:
    most = high / kind.mean + 9.0 * np.sqrt(high * kind.var / kind.mean**3 + 1.0) + 9.0
    tails = float(high - low + 1) * kind.longest / _TAILS
    return float(most * (high * np.count_nonzero(kind.law) + tails))


def count_by_products(kind: SlotKind, low: int, high: int, left_out: float) -> StartCounts:
    """Return the law of counts at low..high by convolutions; at most ``left_out`` is omitted."""
    from stochastic.kernels.launch_counts import AT_ONCE, TILE, convolve

    longest = len(kind.law) - 1
    pad = (longest // AT_ONCE + 1) * AT_ONCE
    law, tails = np.zeros(pad), np.zeros(pad)
    law[: longest + 1] = kind.law
    tails[:longest] = kind.sf[:longest]
    room = np.empty((2, TILE))
    row = np.zeros(pad + high + 1 + TILE)
    row[pad] = 1.0
    into = np.empty(high - max(low - 1, 0) + 1 + TILE)
    first = n = 0
    little, left = _SHARE * left_out / (high + 1), 0.0
    shortest = int(np.flatnonzero(kind.law)[0])
    least = 0
    starts: list[Floats] = []
    probabilities: list[Floats] = []
    if low == 0:  # a row for n = 0: no block has begun at time -1
        starts.append(np.zeros(high + longest + 1))
        probabilities.append(np.append(1.0, np.zeros(high + 1)))
    while True:
        begin = max(low - longest, 0)
        seen = row[pad + begin : pad + high + 1]
        if starts or seen.max() > little:
            least = least if starts else n + 1
            starts.append(np.concatenate([np.zeros(begin - low + longest), seen]))
            convolve(tails, row, first, max(low - 1, 0), high, room, into)
            probabilities.append(np.concatenate([np.zeros(int(low == 0)), into[:-TILE]]))
        after = np.zeros_like(row)
        first += shortest
        if first > high:
            break
        if n:
            convolve(law, row, first - shortest, first, high, room, after[pad + first :])
        else:
            after[pad : pad + min(longest, high) + 1] = law[: min(longest, high) + 1]
        after[pad + high + 1 :] = 0.0
        row, n = after, n + 1
        few = row[pad + first : pad + high + 1]
        less = int(np.argmax(few > little))
        left += float(few[:less].sum())
        few[:less] = 0.0
        first += less
        mass = float(few.sum())  # P(S_n <= high), the probability that the count is above n
        if mass < left_out:
            left += mass
            break
    return StartCounts(
        first_count=least,
        low=low,
        high=high,
        starts=np.array(starts),
        probabilities=np.array(probabilities),
        left_out=left,
    )


def count_by_transforms(kind: SlotKind, low: int, high: int, left_out: float) -> StartCounts:
    """Return the law of the counts at times low..high, by Fourier transforms.

    This is fast for any number of blocks, but rounding errors have no bound. With 50,000 blocks of
    up to 1,000 steps on 864 slots, it takes less than half the time of ``count_by_products``; with
    a million blocks of up to 100 steps, it takes a tenth of that time. Chernoff's bounds on S_n
    give the range of counts and a length at which transforms do not wrap around.
    """
    from scipy.fft import irfft, next_fast_len, rfft

    longest, values = len(kind.law) - 1, np.flatnonzero(kind.law)
    scale = math.sqrt(kind.var * (high / kind.mean + 1.0) + kind.mean**2)
    tilts = np.geomspace(0.1 / scale, 40.0 / values[0], 80)
    up, down = (_cumulants(kind, values, one) for one in (tilts, -tilts))
    left = math.log(left_out)
    most = math.ceil(((tilts * high - left) / -down).min())
    least = max(math.floor(((tilts * low + left) / up).max()), 0) + 1
    above = min(float((((most - 1) * up - left) / tilts).min()), (most - 1.0) * longest)
    below = max(float((((least - 1) * down - left) / -tilts).max()), -1.0)
    width = high - low + longest + 1
    length = max(width, math.ceil(above) + 1 - (low - longest), high - math.floor(below))
    length = next_fast_len(length, real=True)
    rows, none = most - least + 1, int(low == 0)  # ``none`` is 1 if there is a row for n = 0
    _check_memory(width, rows, 24.0)
    spectrum = rfft(np.bincount(values % length, kind.law[values], length))
    starts = np.zeros((none + rows, width))
    places = np.arange(max(low - longest, 0), high + 1)
    late = starts[none:, width - len(places) :]
    some = np.flatnonzero(np.abs(spectrum) ** (least - 1) > _FAINT)
    if len(some) * len(places) < _FEW * length:
        sides = np.where((some == 0) | (2 * some == length), 1.0, 2.0) / length
        waves = np.exp(2j * math.pi / length * (some[:, None] * places % length))
        powers = spectrum[some] ** np.arange(least - 1, most)[:, None] * sides
        late[:] = powers.real @ waves.real - powers.imag @ waves.imag
    else:
        step = max(1, sizes.CENTRED_BLOCK // length)
        powers = spectrum ** np.arange(step)[:, None]
        for row in range(0, rows, step):
            few = powers[: rows - row] * spectrum ** (least - 1 + row)
            late[row : row + step] = irfft(few, length)[:, places % length]
    size = next_fast_len(width, real=True)  # wrap-around reaches only values that are not used
    both = rfft(starts, size) * rfft(kind.sf[:longest], size)
    probabilities = irfft(both, size)[:, longest - 1 : width]
    probabilities[:none] = np.arange(probabilities.shape[1]) == 0
    return StartCounts(
        first_count=least - none,
        low=low,
        high=high,
        starts=starts,
        probabilities=probabilities,
        left_out=left_out,
        noise=_NOISE * most * float(probabilities.max()),
    )


def _cumulants(kind: SlotKind, values: Ints, tilts: Floats) -> Floats:
    logs = np.outer(tilts, values) + np.log(kind.law[values])
    most = logs.max(axis=1, keepdims=True)
    return np.asarray(most[:, 0] + np.log(np.exp(logs - most).sum(axis=1)))


def _check_memory(width: float, rows: int, each: float) -> None:
    if each * rows * width > sizes.SEQUENCES_BYTES:
        raise LawError(
            f"the last block may begin at {width:,.0f} times, and each needs {rows:,} terms: too "
            f"many for an exact law. Count the work in units {max(2, width // 5000):,.0f} times as "
            "large, rounded up and rounded down: the law lies between both results. Or simulate "
            "launches with sample, which works for any size"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockCounts:
    """Laws of the numbers of blocks begun on each kind of slots, with generating functions.

    The generating functions are evaluated at nodes z on the unit circle. If ``products`` is true,
    blocks are counted by products, with a bound on rounding errors. Otherwise they are counted by
    transforms, with an estimate of rounding errors.
    """

    setting: LaunchSetting
    products: bool

    @cached_property
    def _window_and_counts(self) -> tuple[Window, list[StartCounts]]:
        setting, wide = self.setting, 11.0
        if not self.products:
            _check_memory(2.0 * _window_margin(setting, 12.0) + setting.longest, 16, 64.0)
        count = count_by_products if self.products else count_by_transforms
        for _ in range(_ROUNDS):
            low, high = _estimated_window(setting, wide)
            left_out = _COUNT_LEFT_OUT / setting.slots
            seen = [count(kind, low, high, left_out) for kind in setting.kinds]
            window = _window_within(setting, low, high, [one.moments for one in seen])
            if window is not None:
                rows = max(len(one.probabilities) for one in seen)
                return window, [one.restrict(window.first, window.last, rows) for one in seen]
            wide *= 2.0
        raise LawError(
            f"no bounds on the start of the last of {setting.blocks:,} blocks were found in double "
            "precision: count the work in larger units, or simulate launches with sample"
        )

    @property
    def window(self) -> Window:
        """Return the range of times at which the last block can begin."""
        return self._window_and_counts[0]

    @property
    def counts(self) -> list[StartCounts]:
        """Return the law of the counts for each kind of slots."""
        return self._window_and_counts[1]

    @property
    def slots(self) -> Ints:
        """Return the number of slots of each kind."""
        return np.array([kind.slots for kind in self.setting.kinds])

    @cached_property
    def error(self) -> float:
        """Return a bound on the error of a probability; with transforms, rounding is estimated.

        We tested the estimate by repeating the computation with other nodes. For hundreds of random
        laws with up to 60 blocks per slot, results differed by at most 1.3 roundings per block.
        """
        if self.products:
            return _rounding_bound(self)
        blocks = self.setting.blocks + int(self.slots.max())
        return 6.0 * math.exp(LOG_LEFT_OUT) + 2.0 * _UNIT * (4.0 * blocks + 64.0)

    @property
    def centres(self) -> list[int]:
        """Return, for each kind of slots, the count c that we subtract from exponents of z."""
        return [one.centre for one in self.counts]

    @cached_property
    def powers(self) -> Ints:
        """Return the exponents n - c of z for each kind and count: shape (kinds, counts)."""
        return np.array([one.counts - one.centre for one in self.counts])

    def modulus(self, places: slice) -> Floats:
        """Return max |E[z**N(s)]| over a slice of s = first - 1..last: shape (kinds, nodes)."""
        from scipy.fft import ifft

        period, result = self.window.period, []
        step = max(1, sizes.CENTRED_BLOCK // period)
        for one, powers in zip(self.counts, self.powers, strict=True):
            turned = one.probabilities[:, places] * np.exp(1j * math.pi / period * powers)[:, None]
            most = np.zeros(period // 2)
            for begin in range(0, turned.shape[1], step):
                folded = np.zeros((period, turned[:, begin : begin + step].shape[1]), complex)
                np.add.at(folded, powers % period, turned[:, begin : begin + step])
                seen = np.abs(ifft(folded, axis=0, norm="forward")[: period // 2])
                most = np.maximum(most, seen.max(axis=1))
            result.append(np.minimum(most * (1.0 + 1e-12) + 1e-14, 1.0))
        return np.array(result)

    @cached_property
    def nodes(self) -> Ints:
        """Return the nodes that matter at three sampled times; ``error`` covers the other nodes."""
        width = self.window.last - self.window.first + 1
        few = self.modulus(slice(0, None, max(1, width // 2)))
        result = np.flatnonzero(self.slots @ np.log((1.0 + few) / 2.0) > LOG_LEFT_OUT + _MARGIN)
        if not self.products:
            _check_memory(width + self.setting.longest, len(result) * len(self.slots), 64.0)
        return result

    @cached_property
    def node_powers(self) -> Floats:
        """Return z**(n - c) for each node and count: shape (2, kinds, nodes, counts)."""
        return self.window.powers(self.nodes, self.powers)

    @cached_property
    def rows(self) -> tuple[Floats, Floats]:
        """Return the table of P(S_{n-1} = u) before ``first``, and factors to sum it at each node.

        The times u are first - K..first - 1. The table has a row for each count n, with the factors
        ``node_powers``; or, if this takes fewer rows, the real and the imaginary sum of each node.
        """
        before = np.array([one.starts[:, : self.setting.longest] for one in self.counts])
        kinds, nodes = len(before), len(self.nodes)
        if self.products or before.shape[1] <= 2 * nodes:
            return before, self.node_powers
        factors = np.eye(2 * nodes).reshape(2, 1, nodes, 2 * nodes)
        return np.concatenate(self.node_powers @ before, axis=1), np.repeat(factors, kinds, axis=1)

    @cached_property
    def one_minus_powers(self) -> Floats:
        """Return 1 - z**(n - c) for each node and count: shape (2, kinds, nodes, counts)."""
        return self.window.one_minus_powers(self.nodes, self.powers)

    @cached_property
    def frequent_counts(self) -> npt.NDArray[np.bool_]:
        """Return the mask of counts that are not rare; rare counts are summed separately."""
        most = np.array([one.probabilities.max(axis=1) for one in self.counts]).max(axis=0)
        return np.asarray(most > _RARE)

    @cached_property
    def deficits(self) -> Floats:
        """Return the first sum in Δ, s = first - 1..last: shape (2, kinds, nodes, starts + 1)."""
        probabilities = np.array([one.probabilities for one in self.counts])
        often = self.frequent_counts
        result = np.asarray(self.one_minus_powers[..., often] @ probabilities[:, often])
        result += self.one_minus_powers[..., ~often] @ probabilities[:, ~often]
        if self.window.first == 0:  # at s = -1, (1 - Δ)**slots is a power p of z: store 1 - p
            centres = -self.slots * np.array(self.centres)
            result[..., 0] = self.window.one_minus_powers(self.nodes, centres[:, None])[..., 0]
        return result

    @cached_property
    def starts(self) -> Floats:
        """Return Σ_n z**(n - c) P(S_{n-1} = s) for each start s = first, ..., last.

        The shape is (2, kinds, nodes, starts).
        """
        longest = self.setting.longest
        starts = np.array([one.starts[:, longest:] for one in self.counts])
        return np.asarray(self.node_powers @ starts)


def _rounding_bound(law: BlockCounts) -> float:
    """Bound the error of a probability by rounding, and by omitted counts and nodes."""
    share = 2.0 / law.window.period
    varies = _variation(law.window.ratios(law.setting.kinds, law.nodes))
    off = np.zeros(len(law.nodes))
    for g in range(len(law.counts)):
        lack = np.hypot(*law.deficits[:, g])
        most = (1.0 + np.minimum(np.hypot(1.0 - law.deficits[0, g], law.deficits[1, g]), 1.0)) / 2.0
        if law.window.first == 0:  # at s = -1, the deficit is 1 - p for a power p of z
            off += varies * _PLAIN * _CIRCLE
            lack[:, 0] = 0.0
        off += varies * _power_rounding(law, g, lack, most)
        off += _sum_rounding(law, g, most)
    off += varies * 6.0 * (len(law.counts) - 1)
    result = share * _UNIT * float(off.sum())
    beyond = sum(int(m) * one.left_out for m, one in zip(law.slots, law.counts, strict=True))
    result += share * float(varies.sum()) * beyond
    return result + _skipped_nodes_bound(law) + 6.0 * math.exp(LOG_LEFT_OUT)


def _variation(ratio: Floats) -> Floats:
    """Return, for each node, Σ |r_s - r_{s+1}| over all durations plus the largest |r|."""
    path = ratio[..., ::-1].transpose(0, 2, 3, 1)  # the longest duration first, kinds in order
    steps = np.diff(path.reshape(*path.shape[:2], -1), axis=2)
    return np.asarray(np.hypot(*steps).sum(axis=1) + np.hypot(*ratio).max(axis=(0, 2)))


def _power_rounding(law: BlockCounts, g: int, lack: Floats, most: Floats) -> Floats:
    """Return, for each node, the largest absolute error over times of (1 - Δ)**M for kind ``g``.

    The unit is _UNIT. ``lack`` is the modulus of the first sum in Δ, and ``most`` is a bound on
    |A|; both have the shape (nodes, starts + 1).
    """
    one, slots = law.counts[g], int(law.slots[g])
    rows, places = one.probabilities.shape
    longest = law.setting.longest
    each = (_SUM + _LAW) * np.maximum(one.counts - 1.0, 0.0)
    tail = 1.0 + _LAW + longest * _LONG / _UNIT
    sizes = np.hypot(law.one_minus_powers[0, g], law.one_minus_powers[1, g])
    added = np.where(law.frequent_counts, np.count_nonzero(law.frequent_counts), rows) + 1.0
    shares = each + tail + _SUM + added + _CIRCLE + 2.0
    endless = _PLAIN * (sizes @ (one.probabilities * shares[:, None]))
    endless[lack == 0.0] = 0.0
    ahead = one.counts[:, None] - one.counts
    above = (np.maximum(ahead.T, 0.0) @ one.probabilities).max(axis=1)  # E[max(N - n, 0)] per n
    reached = int(np.argmax(above <= 1e-3 / slots))
    ended = each[reached] + tail + longest / TILE + 8.0 + rows + _CIRCLE
    ended = _PLAIN * (ended + TILE + places / TILE + 4.0)
    result = slots * endless * most ** (slots - 1)
    result += _squaring_rounding(lack, most, slots)
    return np.asarray(result.max(axis=1) + ended + (_SUM + _LAW) * _PLAIN * 1e-3)


def _squaring_rounding(lack: Floats, most: Floats, slots: int) -> Floats:
    """Return the rounding errors of the squarings and products that compute (1 - Δ)**slots."""
    top = slots.bit_length() - 1
    result = np.zeros(lack.shape)
    for k in range(top + 1):
        power = 2.0**k
        after = slots & ((1 << (k + 1)) - 1)  # the exponent of the product so far
        if slots >> k & 1:
            size = np.minimum(after * lack, 2.0) if k < top else 2.0
            result += _JOIN * size * most ** (slots - after) + (_JOIN if k < top else 0.0)
        if k < top:
            size = np.minimum(power * lack, 1.0 + most**power)
            if k + 1 == top:
                size = 1.0 + most**power
            else:
                result += 4.0 * _SQUARE  # for the second sum in Δ: MΛ(1 - Λ)**(M/2) is below 1
            left = most ** (slots - 2.0 * power)
            result += slots / (2.0 * power) * _SQUARE * size * (2.0 + size) * left
    return result


def _sum_rounding(law: BlockCounts, g: int, most: Floats) -> Floats:
    """Return, for each node, the rounding errors of ratios, products and sums over times."""
    slots = int(law.slots[g])
    near = np.maximum(most[:, 1:], most[:, :-1]) ** (slots - 1)
    each = slots * (np.hypot(*law.starts[:, g]) * near).sum(axis=1)
    lack = 2.0 * np.sin((law.nodes + 0.5) * (math.pi / law.window.period))
    idle = law.setting.blocks * law.setting.idle_chance * lack * (4.0 + 8.0 * _LONG / _UNIT)
    width = law.window.last - law.window.first
    return np.asarray(each * (3 * _CIRCLE + 3 * _LAW + 24.0 + width / TILE + idle))


def _skipped_nodes_bound(law: BlockCounts) -> float:
    logs = law.slots @ np.log((1.0 + law.modulus(slice(None))) / 2.0)
    logs[law.nodes] = -math.inf
    angles = (2.0 * np.arange(len(logs)) + 1.0) * (math.pi / law.window.period)
    starts = len(law.slots) * (law.window.last - law.window.first + 3)
    return float((np.exp(logs) / np.sin(angles / 2)).sum()) * 2.0 * starts / law.window.period
