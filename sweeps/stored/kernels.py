"""Compiled passes over the blocks of a store, each a number of rows, wherever its values lie.

A column is a goal, or a quantity that must lie between two values. Of each block it has an address,
0 where it is certain to hold there; of each row an offset, in values; and a step along the row, 0
where the row has one value. Columns of goals come first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

__all__ = ["least", "outside"]

_NONE, _SOME, _ALL = 0, 1, 2
_OPTIONS = {"nogil": True, "error_model": "numpy"}
_REAL, _WHOLE = numba.float64, numba.int64
_COLUMNS = (_WHOLE[:, ::1], _WHOLE[:, ::1], _WHOLE[::1], _REAL[::1], _REAL[::1], _WHOLE)


def _kept(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile, or load what was compiled before, if it can be kept beside the source."""

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(signature, cache=True, **_OPTIONS)(function)
        except RuntimeError:  # no folder can be written
            return numba.njit(signature, **_OPTIONS)(function)

    return compiled


_inline: Callable[[Callable[..., Any]], Any] = numba.njit(forceinline=True, **_OPTIONS)


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(context: Any, address: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return numba.types.CPointer(_REAL)(_WHOLE), build


@_inline
def _values(address: Any, offset: Any, count: Any) -> Any:
    """The values at an address."""
    return numba.carray(_pointer(address + 8 * offset), count)


@_inline
def _ruled(
    first: Any,
    addresses: Any,
    offsets: Any,
    steps: Any,
    low: Any,
    high: Any,
    block: Any,
    row: Any,
) -> int:
    """Whether points of a row may count, by the columns that are one value there."""
    state = _ALL
    for k in range(first, addresses.shape[0]):
        address = addresses[k, block]
        if address == 0:
            continue
        if steps[k]:
            state = _SOME
            continue
        value = _values(address, offsets[k, row], 1)[0]
        if not ((value >= low[k]) and (value <= high[k])):
            return _NONE
    return state


@_inline
def _marked(
    first: Any,
    addresses: Any,
    offsets: Any,
    steps: Any,
    low: Any,
    high: Any,
    block: Any,
    row: Any,
    ok: Any,
    seen: Any,
) -> Any:
    """How many points of a row count; infinite, else minus infinity, in ``ok``."""
    fresh, begun = False, False
    for k in range(first, addresses.shape[0]):
        place = 0
        if steps[k] and addresses[k, block]:
            place = addresses[k, block] + 8 * offsets[k, row]
        fresh |= place != seen[k]
        seen[k] = place
    if not fresh:  # as in the row before
        return seen[0]
    for k in range(first, addresses.shape[0]):
        address, least, most = addresses[k, block], low[k], high[k]
        if address == 0 or steps[k] == 0:
            continue
        part = _values(address, offsets[k, row], ok.size)
        if begun:
            for j in range(ok.size):
                ok[j] = ok[j] if (part[j] >= least) & (part[j] <= most) else -np.inf
        else:
            for j in range(ok.size):
                ok[j] = np.inf if (part[j] >= least) & (part[j] <= most) else -np.inf
        begun = True
    count = 0
    for j in range(ok.size):
        count += 1 if ok[j] > 0 else 0
    seen[0] = count
    return count


_SLOTS = (_WHOLE[::1], _WHOLE[::1], _WHOLE)
_BEST = (_REAL[:, ::1], _WHOLE[:, ::1])
_FOUND = (_REAL[:, ::1], _WHOLE[::1])


@_kept(numba.void(*_COLUMNS, _REAL, _WHOLE[::1], *_SLOTS, *_BEST))
def least(
    addresses: Any,
    offsets: Any,
    steps: Any,
    low: Any,
    high: Any,
    run: Any,
    sign: Any,
    origins: Any,
    slot_blocks: Any,
    slot_rows: Any,
    slot_step: Any,
    best: Any,
    places: Any,
) -> None:
    """Keep the least values of one goal, in slots.

    After the columns come the length of a row, the sign of the goal, the place at which each block
    begins; the slot of each block, what each row and each point of a row adds to it; and of each
    slot the least values so far, ascending, and their places.
    """
    last, step = best.shape[1] - 1, steps[0]
    ok, seen = np.full(run, np.inf), np.zeros(steps.size, dtype=np.int64)
    for block in range(addresses.shape[1]):
        for row in range(offsets.shape[1]):
            state = _ruled(1, addresses, offsets, steps, low, high, block, row)
            if state == _NONE:
                continue
            marks = run
            if state == _SOME:
                marks = _marked(1, addresses, offsets, steps, low, high, block, row, ok, seen)
            if not marks:
                continue
            part = _values(addresses[0, block], offsets[0, row], run if step else 1)
            first = slot_blocks[block] + slot_rows[row]
            if slot_step == 0:
                limit, hits = best[first, last], 0
                if state == _SOME and step:
                    for j in range(run):  # without a branch: several at a time
                        value = sign * part[j]
                        hits += 1 if (value < limit) & (value < ok[j]) else 0
                else:
                    for j in range(part.size):
                        hits += 1 if sign * part[j] < limit else 0
                if hits == 0:
                    continue
            for j in range(run):
                value = sign * part[j * step]
                slot = first + j * slot_step
                allowed = state == _ALL or ok[j] > 0
                if value < best[slot, last] and value > -np.inf and allowed:
                    at = last
                    while at > 0 and value < best[slot, at - 1]:  # equal ones came before
                        best[slot, at] = best[slot, at - 1]
                        places[slot, at] = places[slot, at - 1]
                        at -= 1
                    best[slot, at] = value
                    places[slot, at] = origins[block] + row * run + j


@_kept(_WHOLE(*_COLUMNS, _REAL[::1], _WHOLE[::1], _REAL, _REAL, _REAL[::1], *_FOUND))
def outside(
    addresses: Any,
    offsets: Any,
    steps: Any,
    low: Any,
    high: Any,
    run: Any,
    signs: Any,
    origins: Any,
    begin: Any,
    scale: Any,
    stairs: Any,
    found: Any,
    places: Any,
) -> int:
    """Find the points of two goals that few known ones do not dominate.

    After the columns come the length of a row, the signs of the goals, the place at which each
    block begins; where the slots of the first goal begin, and how many there are to one; of each
    slot the least second goal of known points in slots before; values and places to be filled.
    It gives the number found, or -1 where there is no room for them.
    """
    count, slots = 0, stairs.size - 1
    one, two = steps[0], steps[1]
    ok, seen = np.full(run, np.inf), np.zeros(steps.size, dtype=np.int64)
    for block in range(addresses.shape[1]):
        for row in range(offsets.shape[1]):
            state = _ruled(2, addresses, offsets, steps, low, high, block, row)
            if state == _NONE:
                continue
            marks = run
            if state == _SOME:
                marks = _marked(2, addresses, offsets, steps, low, high, block, row, ok, seen)
            if not marks:
                continue
            a = _values(addresses[0, block], offsets[0, row], run if one else 1)
            b = _values(addresses[1, block], offsets[1, row], run if two else 1)
            for j in range(run):
                x, y = signs[0] * a[j * one], signs[1] * b[j * two]
                if not ((x > -np.inf) & (x < np.inf) & (y > -np.inf) & (y < np.inf)):
                    continue
                slot = int(min(max((x - begin) * scale, 0.0), slots))
                if stairs[slot] <= y or not (state == _ALL or ok[j] > 0):
                    continue
                if count == places.size:
                    return -1
                found[0, count], found[1, count] = x, y
                places[count] = origins[block] + row * run + j
                count += 1
    return count
