"""Depth first into some boxes: bound, cut, look at a point, halve, until a budget is spent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sweeps.certify.machine.enclose import EVERY
from sweeps.certify.machine.jit import kept
from sweeps.certify.machine.look import look

__all__ = ["dig"]

INF = math.inf
#: Comparisons that are tried as something to halve along, those on which most is lost.
_TRIED = 3
#: What the half with the higher bound counts for, beside the other.
_BETTER = 0.17


@kept
def dig(
    tape: Any,
    count: Any,
    firsts: Any,
    lasts: Any,
    facts: Any,
    bounds: Any,
    limit: Any,
    gap: Any,
    budget: Any,
    best: Any,
    counters: Any,
    place: Any,
    near: Any,
) -> Any:
    """Take boxes from the end of a stack of ``count``; how many of it are left.

    A box is a range along each axis and what is supposed of some steps (``facts``); ``limit`` is
    the least value known, ``gap`` the share of it by which an answer may miss. ``best`` holds the
    least value found and the least bound set aside, ``place`` where the first is; ``near`` points
    that may be as good within what the library's functions may be off; ``counters`` the boxes
    bounded, the points looked at, those that are boxes, and how many are told in ``near``.
    """
    dims, steps, leaves = firsts.shape[1], tape.ops.size, tape.leaves.shape[0]
    atoms = tape.atoms.size
    lo, hi, und = tape.known[0].copy(), tape.known[1].copy(), tape.known[2] > 0
    up, dn = np.full(steps, EVERY), np.full(steps, EVERY)
    loose = np.zeros(steps, dtype=np.bool_)
    alias = np.arange(steps)
    ranks = np.zeros((atoms + 1, 3), dtype=np.int64)
    state = (lo, hi, und, up, dn, loose, alias, ranks)
    wide, deep, ends = np.zeros(steps), np.zeros(steps), np.zeros((leaves, 2))
    weights, low = np.zeros((3, 2, leaves)), np.zeros(dims)
    at = np.zeros((2, dims), dtype=np.int64)
    loss, other = np.zeros(steps), np.zeros(steps)
    spot = (
        *(lo.copy(), hi.copy(), und.copy(), up.copy(), dn.copy(), loose.copy(), alias.copy()),
        *(ranks.copy(), np.zeros(steps, dtype=np.int8)),
    )
    plane = (wide, deep, ends, weights, low, at, loss, other, spot)
    first, last = np.zeros(dims, dtype=np.int64), np.zeros(dims, dtype=np.int64)
    one, two = np.zeros(dims, dtype=np.int64), np.zeros(dims, dtype=np.int64)
    forced = np.zeros(steps, dtype=np.int8)
    supposed = np.zeros(atoms, dtype=np.int8)
    worth = np.zeros(atoms)
    open_to = np.zeros(atoms, dtype=np.bool_)
    root = tape.value[1]
    spent = 0
    allowed = limit - gap * abs(limit) if limit < INF else INF
    while count > 0 and spent < budget and counters[3] < near.shape[0]:
        count -= 1
        known = bounds[count]
        first[:] = firsts[count]
        last[:] = lasts[count]
        supposed[:] = facts[count]
        alive = known < allowed
        points = 2.0
        left, score, left_score, right_score = 0.0, -INF, 0.0, 0.0
        chosen: Any = -1
        stage = -2  # the box, a point of it, then both parts along each axis and comparison
        while alive and stage < 2 * (dims + atoms):
            number, side = stage // 2, stage % 2
            if stage < 0:
                number = -1
            one[:], two[:] = first, last
            for k in range(atoms):
                forced[tape.atoms[k]] = 0 if stage == -1 else supposed[k]
            if stage == -1:
                for axis in range(dims):
                    one[axis] = min(max(at[0, axis], first[axis]), last[axis])
                    two[axis] = one[axis]
            elif stage >= 0 and number < dims:
                if first[number] >= last[number]:
                    stage += 2
                    continue
                middle = (first[number] + last[number]) // 2
                if side == 0:
                    two[number] = middle
                else:
                    one[number] = middle + 1
            elif stage >= 0:
                if supposed[number - dims] != 0 or not open_to[number - dims]:
                    stage += 2
                    continue
                forced[tape.atoms[number - dims]] = side + 1
            found = look(tape, one, two, forced, allowed, state, plane, 4 if stage == -2 else 0)
            spent += 1
            if stage == -2:
                first[:], last[:] = one, two
                known = max(known, found)
                alive = known < allowed
                points = 1.0
                for axis in range(dims):
                    points *= last[axis] - first[axis] + 1
                # the comparisons on which most is lost
                worth[:] = 0.0
                for k in range(atoms):
                    open_to[k] = False
                    worth[k] = loss[tape.atoms[k]]
                for k in range(tape.choices.shape[0]):
                    n = tape.choices[k, 0]
                    if loss[n] > 0:
                        for j in range(1, tape.choices.shape[1]):
                            m = tape.choices[k, j]
                            if m >= 0 and lo[tape.atoms[m]] != hi[tape.atoms[m]]:
                                worth[m] += loss[n]
                for _ in range(_TRIED):
                    k = int(np.argmax(worth)) if atoms > 0 else 0
                    if atoms > 0 and worth[k] > 1e-9:
                        open_to[k], worth[k] = True, 0.0
            elif stage == -1:
                counters[1] += 1
                spent -= 1
                if hi[root] < limit:
                    limit = hi[root]
                    best[0] = limit
                    for axis in range(dims):
                        place[axis] = one[axis]
                    allowed = limit - gap * abs(limit)
                    alive = known < allowed
                if points == 1.0:
                    counters[2] += 1
                    if lo[root] < limit <= hi[root]:
                        near[counters[3]] = one
                        counters[3] += 1
                    alive, known = False, INF
            elif side == 0:
                left = max(found, known)
            else:
                right = max(found, known)
                gone_left, gone_right = left >= allowed, right >= allowed
                if gone_left or gone_right:
                    known = max(known, min(left, right))
                    if gone_left and left < limit:
                        best[1] = min(best[1], left)
                    if gone_right and right < limit:
                        best[1] = min(best[1], right)
                    if gone_left and gone_right:
                        alive, known = False, INF
                    elif number < dims:
                        middle = (first[number] + last[number]) // 2
                        if gone_left:
                            first[number] = middle + 1
                        else:
                            last[number] = middle
                        if chosen == number:
                            score, chosen = -INF, -1
                    else:
                        supposed[number - dims] = 2 if gone_left else 1
                else:
                    less, more = min(left, right) - known, max(left, right) - known
                    if less == INF:
                        less, more = 1.0, 1.0
                    gain = less + _BETTER * min(more, 1e300)
                    if gain > score or chosen == -1:
                        score, chosen = gain, number
                        left_score, right_score = left, right
            stage += 1
        if not alive:
            if known < limit:
                best[1] = min(best[1], known)
            continue
        if chosen == -1:  # cut along every axis that could be halved: look again
            firsts[count], lasts[count], facts[count], bounds[count] = first, last, supposed, known
            count += 1
            continue
        for turn in range(2):
            second = (turn == 0) == (left_score <= right_score)
            firsts[count], lasts[count], facts[count] = first, last, supposed
            bounds[count] = max(right_score if second else left_score, known)
            if chosen >= dims:
                facts[count, chosen - dims] = 2 if second else 1
            else:
                middle = (first[chosen] + last[chosen]) // 2
                if second:
                    firsts[count, chosen] = middle + 1
                else:
                    lasts[count, chosen] = middle
            count += 1
    counters[0] += spent
    return count
