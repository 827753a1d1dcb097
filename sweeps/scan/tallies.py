"""Compiled counting: values into bins, and the digits of numbers."""

from __future__ import annotations

import numpy as np

from stochastic.kept import compiled


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
