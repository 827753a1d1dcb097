"""What is kept of values: their range, counts in bins, counts of a digit; parts are added.

A part also takes whole blocks of which only bounds are known, where these tell it enough.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from stochastic.kept import compiled
from sweeps.scan.values import Floats, Truths

# --- Compiled counting: values into bins, and the digits of numbers


@compiled(_nrt=False)
def count_bins(values, allowed, edges, first, scale, counts, rest) -> None:
    """Count values between edges; see :class:`sweeps.scan.bins.Bins`.

    ``first`` holds, for each of many equal slots of the whole range, the bin in which it begins,
    and at its end the last bin. ``rest`` counts what is below, above, and no number.
    """
    slots = first.size - 2
    low, high = edges[0], edges[edges.size - 1]
    for j in range(values.size):
        if not allowed[j]:
            continue
        value = values[j]
        if value >= low and value <= high:
            slot = min(max(int((value - low) * scale), 0), slots)
            place = first[max(slot - 1, 0)]  # by rounding it may be one too high, or too low
            left = first[min(slot + 2, slots + 1)] - place
            while left > 0:
                half = (left + 1) >> 1
                place += half if value >= edges[place + half] else 0
                left -= half
            counts[place] += 1
        elif value < low:
            rest[0] += 1
        elif value > high:
            rest[1] += 1
        else:
            rest[2] += 1


@compiled(_nrt=False)
def count_digits(values, allowed, begins, first, shift, width, counts, rest) -> None:
    """Count a digit of numbers that begin alike; see :class:`sweeps.scan.bins.Digits`.

    ``counts`` has a row for each of ``begins``, which ascend; ``first`` holds, for each first digit
    that a number may have, which of these is the first to have it, or -1; nothing where the first
    digit is counted. ``rest`` counts numbers, and what is none.
    """
    bits = values.view(np.uint64)
    sign, one = np.uint64(1) << np.uint64(63), np.uint64(1)
    mask = (one << np.uint64(width)) - one
    for j in range(values.size):
        if not allowed[j]:
            continue
        if values[j] != values[j]:
            rest[1] += 1
            continue
        rest[0] += 1
        key = bits[j] if values[j] != 0.0 else np.uint64(0)
        key = ~key if key & sign else key | sign
        start = first[np.int64(key >> np.uint64(64 - width))] if first.size else 0
        if start < 0:
            continue
        begin = key >> np.uint64(shift)
        digit = np.int64(begin & mask)
        begin = begin >> np.uint64(width)
        for k in range(start, begins.size):
            if begins[k] >= begin:
                if begins[k] == begin:
                    counts[k, digit] += 1
                break


#: From so many values on they are counted by compiled code.
_MANY = sizes.BINS_COMPILED
#: Fewest slots of the whole range of a histogram.
_SLOTS = sizes.BINS_SLOTS
#: Bits of a digit; a number has 64.
WIDTH = sizes.BINS_DIGIT


class Range:
    """The least and the largest finite value."""

    def __init__(self) -> None:
        self.low, self.high = math.inf, -math.inf

    def feed(self, values: Floats, allowed: Truths) -> None:
        """Some values, and which of them count."""
        counts = np.isfinite(values) & allowed
        self.low = min(self.low, float(np.min(values, where=counts, initial=math.inf)))
        self.high = max(self.high, float(np.max(values, where=counts, initial=-math.inf)))

    def add(self, other: Range) -> None:
        """What another part keeps."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    def take(self, low: Floats, high: Floats, points: NDArray[np.int64]) -> Truths:
        """Blocks that lie within what is known."""
        found: Truths = (low >= self.low) & (high <= self.high)
        return found


class Bins:
    """Counts of values between edges, and of those ``below``, ``above`` and ``undefined``."""

    def __init__(self, edges: Floats) -> None:
        self.edges, bins = edges, len(edges) - 1
        self.counts, self.rest = np.zeros(bins, dtype=np.int64), np.zeros(3, dtype=np.int64)
        slots, span = max(2 * bins, _SLOTS), float(edges[-1]) - float(edges[0])
        self.scale = slots / span if 0 < span < math.inf and slots / span < math.inf else 0.0
        starts = edges[0] + np.arange(slots) / self.scale if self.scale else edges[:1]
        self.first = np.clip(np.searchsorted(edges, starts, side="right") - 1, 0, bins - 1)
        self.first = np.append(self.first, bins - 1)

    def feed(self, values: Floats, allowed: Truths) -> None:
        """Some values, and which of them count."""
        edges, rest = self.edges, self.rest
        if values.size >= _MANY:
            given = (edges, self.first, self.scale, self.counts, rest)
            count_bins(values, allowed, *given)
            return
        known = values[allowed]
        inside = known[(known >= edges[0]) & (known <= edges[-1])]
        place = np.minimum(np.searchsorted(edges, inside, side="right") - 1, len(self.counts) - 1)
        self.counts += np.bincount(place, minlength=len(self.counts))
        outside = (known < edges[0], known > edges[-1], np.isnan(known))
        rest += [np.count_nonzero(chosen) for chosen in outside]

    def add(self, other: Bins) -> None:
        """What another part keeps."""
        self.counts += other.counts
        self.rest += other.rest

    def take(self, low: Floats, high: Floats, points: NDArray[np.int64]) -> Truths:
        """Blocks all of whose points count and lie in one bin, or beyond all."""
        edges, last = self.edges, len(self.counts) - 1
        first, final = (
            np.clip(np.searchsorted(edges, ends, side="right") - 1, 0, last) for ends in (low, high)
        )
        below, above = high < edges[0], low > edges[-1]
        inside = (low >= edges[0]) & (high <= edges[-1]) & (first == final)
        for place, chosen in enumerate((below, above)):
            self.rest[place] += points[chosen].sum()
        np.add.at(self.counts, first[inside], points[inside])
        found: Truths = (inside | below | above) & (points > 0)
        return found


class Digits:
    """Counts of the next digit of those values whose order begins with one of some numbers.

    Floats are ordered as whole numbers are, once their bits are turned: see :func:`key_of`.
    """

    def __init__(self, begins: NDArray[np.uint64], shift: int) -> None:
        self.begins, self.shift = begins, shift
        self.first = np.full(1 << WIDTH if shift + WIDTH < 64 else 0, -1)
        for k in range(len(begins) - 1 if self.first.size else -1, -1, -1):
            self.first[(int(begins[k]) << (shift + WIDTH)) >> (64 - WIDTH)] = k
        self.counts = np.zeros((len(begins), 1 << WIDTH), dtype=np.int64)
        self.rest = np.zeros(2, dtype=np.int64)  # numbers, and what is none

    def feed(self, values: Floats, allowed: Truths) -> None:
        """Some values, and which of them count."""
        if values.size >= _MANY:
            given = (self.begins, self.first, self.shift, WIDTH)
            count_digits(values, allowed, *given, self.counts, self.rest)
            return
        known = values[allowed & ~np.isnan(values)]
        self.rest += np.array([known.size, np.count_nonzero(allowed) - known.size])
        begin = key_of(known) >> np.uint64(self.shift)
        digit = (begin & np.uint64((1 << WIDTH) - 1)).astype(np.int64)
        begin >>= np.uint64(WIDTH)
        for row, wanted in zip(self.counts, self.begins, strict=True):
            row += np.bincount(digit[begin == wanted], minlength=row.size)

    def add(self, other: Digits) -> None:
        """What another part keeps."""
        self.counts += other.counts
        self.rest += other.rest

    def take(self, low: Floats, high: Floats, points: NDArray[np.int64]) -> Truths:
        """Blocks all of whose points count and begin with one digit, or with none of the wanted."""
        ends = [key_of(each) >> np.uint64(self.shift) for each in (low, high)]
        whole = np.uint64(self.shift + WIDTH < 64)  # a number has no digit before the first
        begins = [(each >> np.uint64(WIDTH)) * whole for each in ends]
        first = np.searchsorted(self.begins, begins[0], "left")
        last = np.searchsorted(self.begins, begins[1], "right")
        none, one = first == last, ends[0] == ends[1]
        found: Truths = (none | one) & (points > 0)
        self.rest[0] += points[found].sum()
        chosen = found & ~none
        digit = (ends[0][chosen] & np.uint64((1 << WIDTH) - 1)).astype(np.int64)
        np.add.at(self.counts, (first[chosen], digit), points[chosen])
        return found


def key_of(values: Floats) -> NDArray[np.uint64]:
    """Whole numbers in the order of some floats; both zeros are the same one."""
    bits = (values + 0.0).view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def value_of(key: int) -> float:
    """The float of a key."""
    bits = key ^ (1 << 63) if key >> 63 else key ^ ((1 << 64) - 1)
    return float(np.uint64(bits).view(np.float64))
