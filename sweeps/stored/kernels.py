"""Compiled passes over the blocks of a store, each a number of rows, wherever its values lie.

Columns are told of in :mod:`sweeps.stored.rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stochastic.kept import compiled
from sweeps.stored.rows import Columns, alike, marked, near, passed, values

__all__ = ["gather", "least", "outside", "ready", "tally"]

_inline: Callable[[Callable[..., Any]], Any] = compiled(forceinline=True)


@_inline
def _least(part, sign):
    """The least of some values, once they have a sign."""
    found = np.inf
    for j in range(part.size):
        value = sign * part[j]
        found = value if value < found else found
    return found


@_inline
def _slot(value, begin, end, scale, slots):
    """The slot of a value; the last one is beyond the end."""
    if not value <= end:
        return slots
    return int(min(max((value - begin) * scale, 0.0), slots - 1))


@compiled
def least(columns, sign, origins, slot_blocks, slot_rows, slot_step, best, places) -> None:
    """Keep the least values of one goal, in slots.

    After the columns come the sign of the goal, the place at which each block begins; the slot of
    each block, what each row and each point of a row adds to it; and of each slot the least values
    so far, ascending, and their places.
    """
    addresses, offsets, run = columns.addresses, columns.offsets, columns.run
    last, step = best.shape[1] - 1, columns.steps[0]
    ok, seen = np.full(run, np.inf), np.zeros(columns.steps.size, dtype=np.int64)
    rows, same = np.empty(offsets.shape[1], dtype=np.int64), alike(columns)
    for block in range(addresses.shape[1]):
        passing, every, marks = passed(columns, block, same, rows, ok, seen)
        near(columns, block, rows[:passing])
        for row in rows[:passing]:
            if not (every or same):
                marks = marked(columns, block, row, ok, seen)
                if not marks:
                    continue
            part = values(addresses[0, block], offsets[0, row], run if step else 1)
            first = slot_blocks[block] + slot_rows[row]
            if slot_step == 0:
                limit, hits = best[first, last], 0
                if step and not every:
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
                allowed = every or ok[j] > 0
                if value < best[slot, last] and value > -np.inf and allowed:
                    at = last
                    while at > 0 and value < best[slot, at - 1]:  # equal ones came before
                        best[slot, at] = best[slot, at - 1]
                        places[slot, at] = places[slot, at - 1]
                        at -= 1
                    best[slot, at] = value
                    places[slot, at] = origins[block] + row * run + j


@compiled
def outside(columns, signs, origins, begin, end, scale, stairs, found, places) -> int:
    """Find the points of two goals that few known ones do not dominate.

    After the columns come the signs of the goals, the place at which each block begins; where the
    slots of the first goal begin and end, and how many there are to one; of each slot, and of what
    lies beyond them, the least second goal of known points in slots before, to which those found
    are added; values and places to be filled. It gives the number found, or -1 where there is no
    room.
    """
    count, slots = 0, stairs.size - 1
    addresses, offsets, run = columns.addresses, columns.offsets, columns.run
    one, two = columns.steps[0], columns.steps[1]
    ok, seen = np.full(run, np.inf), np.zeros(columns.steps.size, dtype=np.int64)
    rows, same = np.empty(offsets.shape[1], dtype=np.int64), alike(columns)
    for block in range(addresses.shape[1]):
        passing, every, marks = passed(columns, block, same, rows, ok, seen)
        near(columns, block, rows[:passing])
        for row in rows[:passing]:
            a = values(addresses[0, block], offsets[0, row], run if one else 1)
            b = values(addresses[1, block], offsets[1, row], run if two else 1)
            slot = _slot(_least(a, signs[0]), begin, end, scale, slots)
            if stairs[slot] <= _least(b, signs[1]):
                continue
            if not (every or same):
                marks = marked(columns, block, row, ok, seen)
                if not marks:
                    continue
            for j in range(run):
                x, y = signs[0] * a[j * one], signs[1] * b[j * two]
                if not ((x > -np.inf) & (x < np.inf) & (y > -np.inf) & (y < np.inf)):
                    continue
                slot = _slot(x, begin, end, scale, slots)
                if stairs[slot] <= y or not (every or ok[j] > 0):
                    continue
                if count == places.size:
                    return -1
                found[0, count], found[1, count] = x, y
                places[count] = origins[block] + row * run + j
                count += 1
                slot += 1
                while slot <= slots and stairs[slot] > y:
                    stairs[slot] = y
                    slot += 1
    return count


@compiled
def gather(addresses, found) -> None:
    """Put the values at some addresses together, a row each."""
    for row in range(addresses.size):
        part = values(addresses[row], 0, found.shape[1])
        for j in range(found.shape[1]):
            found[row, j] = part[j]


@compiled
def tally(columns) -> int:
    """Count the points that no column excludes."""
    found = 0
    ok, seen = np.full(columns.run, np.inf), np.zeros(columns.steps.size, dtype=np.int64)
    rows, same = np.empty(columns.offsets.shape[1], dtype=np.int64), alike(columns)
    for block in range(columns.addresses.shape[1]):
        passing, every, marks = passed(columns, block, same, rows, ok, seen)
        if every or same:
            found += passing * marks
            continue
        for row in rows[:passing]:
            found += marked(columns, block, row, ok, seen)
    return found


def ready() -> None:
    """Compile what finds the best of many blocks, or find it compiled."""
    whole, real, table = np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, 0), dtype=np.int64)
    columns = Columns(1, table, table, whole, real, real, 0)
    least.prepare(columns, 1.0, whole, whole, whole, 0, np.empty((0, 0)), table)
