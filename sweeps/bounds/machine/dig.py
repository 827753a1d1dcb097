"""Depth first into some boxes: bound, cut, look at a point, halve, until a budget is spent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stochastic import sizes
from sweeps.bounds.machine.enclose import enclose
from sweeps.bounds.machine.jit import jitted, put
from sweeps.bounds.machine.look import look
from sweeps.bounds.machine.planes import relax
from sweeps.bounds.machine.tape import Tape, allowed
from symbolic.primitives.words import EVERY

INF = math.inf
_till = jitted(allowed)
#: Comparisons that are tried as something to halve along, those on which most is lost.
_TRIED = sizes.DIG_TRIED
#: What the half with the higher bound counts for, beside the other.
_BETTER = 0.17


def rooms(tape: Tape, dims: int) -> Any:
    """The arrays in which :func:`dig` works, made here since that compiles nothing."""
    steps, leaves, atoms = tape.ops.size, tape.leaves.shape[0], tape.atoms.size

    def state() -> tuple[Any, ...]:
        ends = (tape.known[0].copy(), tape.known[1].copy(), tape.known[2] > 0)
        ways = (np.full(steps, EVERY), np.full(steps, EVERY), np.zeros(steps, dtype=np.bool_))
        return (*ends, *ways, np.arange(steps), np.zeros((atoms + 1, 3), dtype=np.int64))

    forced = np.zeros((2, steps), dtype=np.int8)
    plane = (
        *(
            np.zeros((2, steps)),
            np.zeros((2, steps)),
            np.zeros((leaves, 2)),
            np.zeros((3, 2, leaves)),
        ),
        *(np.zeros(dims), np.zeros((2, dims), dtype=np.int64), np.zeros(steps), np.zeros(steps)),
        (*state(), forced[1]),
    )
    ends = tuple(np.zeros(dims, dtype=np.int64) for _ in range(4))
    told = np.zeros(atoms, dtype=np.int8), np.zeros(atoms), np.zeros(atoms, dtype=np.bool_)
    return (state(), plane, ends, forced[0], *told)


def parts(tape: Tape, room: Any) -> None:
    """Compile what :func:`dig` calls and is compiled apart from it."""
    state, plane, (first, last, *_), forced, *_ = room
    relax.apart(tape, 0, *state[:3], forced, *plane[:2], plane[6], plane[8][0])
    enclose.apart(tape, first, last, forced, *state)


@jitted
def dig(
    tape, count, firsts, lasts, facts, bounds, limit, gap, budget, best, counters, place, near, room
):
    """Take boxes from the end of a stack of ``count``; how many of it are left.

    A box is a range along each axis and what is supposed of some steps (``facts``); ``limit`` is
    the least value known, ``gap`` the share of it by which an answer may miss. ``best`` holds the
    least value found and the least bound set aside, ``place`` where the first is; ``near`` points
    that may be as good within what the library's functions may be off; ``counters`` the boxes
    bounded, the points looked at, those that are boxes, and how many are told in ``near``; ``room``
    is from :func:`rooms`.
    """
    dims, atoms = firsts.shape[1], tape.atoms.size
    state, plane, ends, forced, supposed, worth, open_to = room
    lo, hi, at, loss = state[0], state[1], plane[5], plane[6]
    first, last, one, two = ends
    root = tape.value[1]
    spent = 0
    till = _till(limit, gap)
    while count > 0 and spent < budget and counters[3] < near.shape[0]:
        count -= 1
        known = bounds[count]
        put(first, firsts[count])
        put(last, lasts[count])
        put(supposed, facts[count])
        alive = known < till
        points = 2.0
        left, score, left_score, right_score = 0.0, -INF, 0.0, 0.0
        chosen: Any = -1
        stage = -2  # the box, a point of it, then both parts along each axis and comparison
        while alive and stage < 2 * (dims + atoms):
            number, side = stage // 2, stage % 2
            if stage < 0:
                number = -1
            put(one, first)
            put(two, last)
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
            turns = 4 if stage == -2 else 0
            found = look(tape, one, two, forced, limit, till, state, plane, turns)
            spent += 1
            if stage == -2:
                put(first, one)
                put(last, two)
                for k in range(atoms):
                    supposed[k] = forced[tape.atoms[k]]
                known = max(known, found)
                alive = known < till
                points = 1.0
                for axis in range(dims):
                    points *= last[axis] - first[axis] + 1
                # the comparisons on which most is lost
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
                    most = -1
                    for k in range(atoms):
                        if worth[k] > 1e-9 and (most < 0 or worth[k] > worth[most]):
                            most = k
                    if most >= 0:
                        open_to[most], worth[most] = True, 0.0
            elif stage == -1:
                counters[1] += 1
                spent -= 1
                if hi[root] < limit:
                    limit = hi[root]
                    best[0] = limit
                    for axis in range(dims):
                        place[axis] = one[axis]
                    till = _till(limit, gap)
                    alive = known < till
                if points == 1.0:
                    counters[2] += 1
                    if lo[root] < limit <= hi[root]:
                        put(near[counters[3]], one)
                        counters[3] += 1
                    alive, known = False, INF
            elif side == 0:
                left = max(found, known)
            else:
                right = max(found, known)
                gone_left, gone_right = left >= till, right >= till
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
            put(firsts[count], first)
            put(lasts[count], last)
            put(facts[count], supposed)
            bounds[count] = known
            count += 1
            continue
        for turn in range(2):
            second = (turn == 0) == (left_score <= right_score)
            put(firsts[count], first)
            put(lasts[count], last)
            put(facts[count], supposed)
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
