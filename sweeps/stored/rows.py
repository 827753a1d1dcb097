"""Which points of the rows of a block count: those that no column excludes.

A column is a goal, or a quantity that must lie between two values. Of each block it has an address,
0 where it is certain to hold there; of each row an offset, in values; and a step along the row, 0
where the row has one value. Columns of goals come first. Few rows of a block may pass and these lie
apart: what they hold is brought near before it is looked at, which is most of the time otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stochastic import sizes
from stochastic.kept import Later, compiled

__all__ = ["Columns", "alike", "marked", "near", "passed", "values"]

#: Most values of a short row; values of a line of the cache.
_SHORT, _LINE = sizes.STORED_SHORT, 8

values: Any = Later("sweeps.stored.addresses", "values")
_fetch: Any = Later("sweeps.stored.addresses", "fetch")


class Columns(NamedTuple):
    """The columns of some blocks: how many are goals, and the length of a row."""

    goals: int
    #: Columns in rows: of each block an address, of each row an offset; then a value each.
    addresses: Any
    offsets: Any
    steps: Any
    low: Any
    high: Any
    run: int


@compiled
def alike(columns) -> bool:
    """Whether the same points of each row of a block count."""
    offsets, steps = columns.offsets, columns.steps
    for k in range(columns.goals, steps.size):
        for row in range(offsets.shape[1]):
            if steps[k] and offsets[k, row] != offsets[k, 0]:
                return False
    return True


@compiled
def _passing(columns, block, rows):
    """How many rows may hold points that count, by the columns that are one value there; which."""
    addresses, steps, low, high = columns.addresses, columns.steps, columns.low, columns.high
    count = rows.size
    for row in range(count):
        rows[row] = row
    for k in range(columns.goals, addresses.shape[0]):
        address = addresses[k, block]
        if address == 0 or steps[k]:
            continue
        held, count = count, 0
        for place in range(held):
            row = rows[place]
            value = values(address, columns.offsets[k, row], 1)[0]
            rows[count] = row
            count += 1 if (value >= low[k]) & (value <= high[k]) else 0
    return count


@compiled
def marked(columns, block, row, ok, seen):
    """How many points of a row count; infinite, else minus infinity, in ``ok``."""
    addresses, offsets, steps = columns.addresses, columns.offsets, columns.steps
    fresh, begun = False, False
    for k in range(columns.goals, addresses.shape[0]):
        place = 0
        if steps[k] and addresses[k, block]:
            place = addresses[k, block] + 8 * offsets[k, row]
        fresh |= place != seen[k]
        seen[k] = place
    if not fresh:  # as in the row before
        return seen[0]
    count = 0
    for k in range(columns.goals, addresses.shape[0]):
        address, least, most = addresses[k, block], columns.low[k], columns.high[k]
        if address == 0 or steps[k] == 0:
            continue
        part = values(address, offsets[k, row], ok.size)
        if begun:
            for j in range(ok.size):
                ok[j] = ok[j] if (part[j] >= least) & (part[j] <= most) else -np.inf
        else:
            for j in range(ok.size):
                ok[j] = np.inf if (part[j] >= least) & (part[j] <= most) else -np.inf
        begun, count = True, 0
        for j in range(ok.size):
            count += 1 if ok[j] > 0 else 0
        if count == 0:
            break
    seen[0] = count
    return count


@compiled
def near(columns, block, rows) -> None:
    """Have what short rows hold brought near: they lie apart, so that nothing foresees them."""
    addresses, offsets, steps = columns.addresses, columns.offsets, columns.steps
    if columns.run > _SHORT:
        return
    for k in range(addresses.shape[0]):
        if addresses[k, block] == 0 or steps[k] == 0:
            continue
        last = -1
        for place in range(rows.size):
            offset = offsets[k, rows[place]]
            if offset != last:
                for line in range(0, columns.run, _LINE):
                    _fetch(addresses[k, block] + 8 * (offset + line))
            last = offset


@compiled
def passed(columns, block, same, rows, ok, seen):
    """How many rows may hold points that count; whether all points of these do; how many of each.

    The last is known where the ``same`` points of each row count.
    """
    passing, every = _passing(columns, block, rows), True
    for k in range(columns.goals, columns.steps.size):
        every &= columns.addresses[k, block] == 0 or columns.steps[k] == 0
    marks = ok.size
    if not every and same and passing:
        marks = marked(columns, block, rows[0], ok, seen)
    return passing if marks else 0, every, marks
