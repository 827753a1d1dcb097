"""Compiled counting: values into bins, and the digits of numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

__all__ = ["bin_counter", "digit_counter"]


@lru_cache(maxsize=1)
def bin_counter() -> Callable[..., None]:
    """Counts values between edges; see :class:`sweeps.streaming.spread.Bins`.

    ``first`` holds, for each of many equal slots of the whole range, the bin in which it begins,
    and at its end the last bin. ``rest`` counts what is below, above, and no number.
    """
    import numba

    def kernel(
        values: Any, allowed: Any, edges: Any, first: Any, scale: Any, counts: Any, rest: Any
    ) -> None:
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

    real, whole, truth = numba.float64, numba.int64[::1], numba.boolean[::1]
    signature = numba.void(real[::1], truth, real[::1], whole, real, whole, whole)
    function: Callable[..., None] = numba.njit(signature, nogil=True, error_model="numpy")(kernel)
    return function


@lru_cache(maxsize=1)
def digit_counter() -> Callable[..., None]:
    """Counts a digit of numbers that begin alike; see :class:`sweeps.streaming.spread.Digits`.

    ``counts`` has a row for each of ``begins``, which ascend; ``first`` holds, for each first digit
    that a number may have, which of these is the first to have it, or -1; nothing where the first
    digit is counted. ``rest`` counts numbers, and what is none.
    """
    import numba
    import numpy as np

    unsigned, whole, truth = numba.uint64, numba.int64, numba.boolean[::1]

    def kernel(
        values: Any,
        allowed: Any,
        begins: Any,
        first: Any,
        shift: Any,
        width: Any,
        counts: Any,
        rest: Any,
    ) -> None:
        bits = values.view(np.uint64)
        sign, one = unsigned(1) << unsigned(63), unsigned(1)
        mask = (one << unsigned(width)) - one
        for j in range(values.size):
            if not allowed[j]:
                continue
            if values[j] != values[j]:
                rest[1] += 1
                continue
            rest[0] += 1
            key = bits[j] if values[j] != 0.0 else unsigned(0)
            key = ~key if key & sign else key | sign
            start = first[np.int64(key >> unsigned(64 - width))] if first.size else 0
            if start < 0:
                continue
            begin = key >> unsigned(shift)
            digit = np.int64(begin & mask)
            begin = begin >> unsigned(width)
            for k in range(start, begins.size):
                if begins[k] >= begin:
                    if begins[k] == begin:
                        counts[k, digit] += 1
                    break

    data = (numba.float64[::1], truth, unsigned[::1], whole[::1], whole, whole)
    signature = numba.void(*data, whole[:, ::1], whole[::1])
    function: Callable[..., None] = numba.njit(signature, nogil=True, error_model="numpy")(kernel)
    return function
