"""Compiled counting: values into bins, and the digits of numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

__all__ = ["bin_counter", "digit_counter"]


@lru_cache(maxsize=1)
def bin_counter() -> Callable[..., None]:
    """Counts values between edges; see :class:`sweeps.streaming.spread.Bins`.

    ``first`` holds, for each of many equal slots of the whole range, the bin in which it begins.
    ``rest`` counts what is below, above, and no number.
    """
    import numba

    def kernel(
        values: Any, allowed: Any, edges: Any, first: Any, scale: Any, counts: Any, rest: Any
    ) -> None:
        last, slots = counts.size - 1, first.size - 1
        low, high = edges[0], edges[last + 1]
        for j in range(values.size):
            if not allowed[j]:
                continue
            value = values[j]
            if value >= low and value <= high:
                slot = int((value - low) * scale)
                place = first[min(max(slot, 0), slots)]
                while place > 0 and value < edges[place]:
                    place -= 1
                while place < last and value >= edges[place + 1]:
                    place += 1
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

    ``counts`` has a row for each of ``begins``; ``rest`` counts numbers, and what is none.
    """
    import numba
    import numpy as np

    unsigned, whole, truth = numba.uint64, numba.int64, numba.boolean[::1]

    def kernel(
        values: Any, allowed: Any, begins: Any, shift: Any, width: Any, counts: Any, rest: Any
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
            begin = key >> unsigned(shift)
            digit = np.int64(begin & mask)
            begin = begin >> unsigned(width)
            for k in range(begins.size):
                if begins[k] == begin:
                    counts[k, digit] += 1
                    break

    signature = numba.void(
        numba.float64[::1], truth, unsigned[::1], whole, whole, whole[:, ::1], whole[::1]
    )
    function: Callable[..., None] = numba.njit(signature, nogil=True, error_model="numpy")(kernel)
    return function
