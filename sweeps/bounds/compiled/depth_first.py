"""Search boxes depth first: bound each box, shrink it, try one of its points, and halve it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stochastic import sizes
from sweeps.bounds.compiled.enclosure import MAXIMUM, ONE, SUB, compiled_no_nrt, copy_into, enclose
from sweeps.bounds.compiled.planes import (
    add_weight,
    axis_term,
    cut_range,
    minimize_axis,
    relax,
    sign_of,
)
from sweeps.bounds.compiled.tape import Tape, pruning_bound
from symbolic.primitives.rule_operations import ALL_AXES

INF = math.inf
#: Bound on the rounding error of a plane, divided by the sum of the plane's terms (over 1000 ulp).
_SLACK = 1e-10


@compiled_no_nrt
def _bound_by_planes(tape, first, last, assumptions, limit, prune_at, state, buffers, cut_box):
    """Return a lower bound of the objective over a box; with ``cut_box``, also shrink the box.

    The first plane bounds the objective. Then, for each comparison a <= b that must hold, a second
    plane bounds a - b. If the minimizer of the first plane breaks the comparison, the bound
    objective + factor * (a - b) is used too; bisection finds its factor.
    """
    lo, hi, und = state[0], state[1], state[2]
    value_weights, log_weights, ends, weights, low, at, loss, other, spot = buffers
    v, root = tape.objective_steps[0], tape.objective_steps[1]
    table = (tape.axis_leaves, tape.leaves, tape.numbers, tape.logs)
    leaf_rows, args = tape.leaves, tape.args
    required, branches = tape.required_tests, tape.branch_steps
    ops = tape.ops
    dims, leaves = first.size, leaf_rows.shape[0]
    bound = lo[root]
    for k in range(leaves):
        n = leaf_rows[k, 6]
        ends[k, 0], ends[k, 1] = lo[n], hi[n]
    sign = sign_of(lo[v], hi[v], und[v])
    log = sign != 0 and not (limit < INF and (limit > 0) != (sign > 0))
    goal = limit
    if log and limit < INF:
        goal = sign * math.log(abs(limit))
    known, constant, scale = False, 0.0, 0.0
    required_count, branch_count = required.size, branches.size
    for c in range(-1, required_count + branch_count):
        for n in range(ops.size):
            value_weights[0, n], value_weights[1, n] = 0.0, 0.0
            log_weights[0, n], log_weights[1, n] = 0.0, 0.0
        top, row = v, 0
        if c < 0:
            add_weight(log_weights if log else value_weights, v, float(sign) if log else 1.0)
        else:
            n = required[c] if c < required_count else branches[c - required_count]
            a, b = args[n, 0], args[n, 1]
            if c >= required_count:
                if assumptions[n] == 0:
                    continue
                if (assumptions[n] == 2) != (ops[n] == MAXIMUM):
                    a, b = b, a
            if und[a] or und[b] or hi[a] <= lo[b]:
                continue
            if lo[b] == 0 == hi[b] and ops[a] == SUB:  # compare x with y instead of x - y with 0
                a, b = args[a, 0], args[a, 1]
            elif lo[a] == 0 == hi[a] and ops[b] == SUB:
                a, b = args[b, 1], args[b, 0]
            if und[a] or und[b]:
                continue
            row, top = 1, max(a, b)
            if sign_of(lo[a], hi[a], False) > 0 and sign_of(lo[b], hi[b], False) > 0:
                add_weight(log_weights, a, 1.0)
                add_weight(log_weights, b, -1.0)
            else:
                add_weight(value_weights, a, 1.0)
                add_weight(value_weights, b, -1.0)
        if c < 0:
            for n in range(loss.size):
                loss[n] = 0.0
        lost = loss if c < 0 else other
        over, size = relax(
            tape, top, lo, hi, und, assumptions, value_weights, log_weights, lost, spot[0]
        )
        if not over > -INF:
            continue
        for k in range(leaves):
            n = leaf_rows[k, 6]
            weights[row, 0, k], weights[row, 1, k] = value_weights[0, n], log_weights[0, n]
        most = 0.0 if row == 1 else goal
        factor, below, above = 0.0, 0.0, INF
        for turn in range(14):
            # turn 0 uses the plane itself; later turns use objective + factor * (a - b)
            if turn == 1:
                if row == 0 or not known:
                    break
                row, most = 2, goal
            if turn > 0:
                value = over
                for axis in range(dims):
                    value += axis_term(table, axis, at[0, axis], weights, 1)
                if value > 0:
                    below = factor
                else:
                    above = factor
                if factor == 0.0 and value <= 0:
                    break
                if above < INF:
                    factor = 0.5 * (below + above)
                    if above - below < 0.05 * above:
                        break
                else:
                    factor = 1.0 if factor == 0.0 else 4.0 * factor
                for k in range(leaves):
                    weights[2, 0, k] = weights[0, 0, k] + factor * weights[1, 0, k]
                    weights[2, 1, k] = weights[0, 1, k] + factor * weights[1, 1, k]
            place = 1 if row == 1 else 0
            total, more = 0.0, 0.0
            for axis in range(dims):
                low[axis], at[place, axis] = minimize_axis(
                    table, axis, first[axis], last[axis], weights, row, ends
                )
                total += low[axis]
                more += abs(low[axis])
            if row == 0:
                constant, scale, known = over, size, True
                total += over - _SLACK * (1.0 + size + more)
            elif row == 1:
                total += over - _SLACK * (1.0 + size + more)
                if total > 0:
                    return INF
            else:
                total += constant + factor * over - _SLACK * (1.0 + scale + factor * size + more)
            if row != 1:
                value = total
                if log:
                    value = math.exp(total) if sign > 0 else -math.exp(-total)
                if value > bound:
                    bound = value
                if bound >= prune_at:
                    return bound
            if cut_box and most < INF:
                for axis in range(dims):
                    if first[axis] < last[axis]:
                        cap = low[axis] + most - total
                        one, two = cut_range(
                            table, axis, first[axis], last[axis], weights, row, cap
                        )
                        if one > two:
                            return INF
                        first[axis], last[axis] = one, two
                        at[0, axis] = min(max(at[0, axis], one), two)
    return bound


@compiled_no_nrt
def _enclose_middle(tape, first, last, points, buffers):
    for axis in range(first.size):
        points[1, axis] = (first[axis] + last[axis]) // 2
    lo, hi, und, up, dn, loose, alias, ranks, nothing = buffers
    enclose(tape, points[1], points[1], nothing, lo, hi, und, up, dn, loose, alias, ranks)


@compiled_no_nrt
def bound_box(tape, first, last, assumptions, limit, prune_at, state, plane_buffers, max_turns):
    """Return a lower bound over a box, and shrink the box, in at most ``max_turns`` turns.

    The turns end when the bound reaches ``prune_at``, or when a turn removes less than 30 % of the
    points. Points with values below ``limit`` stay in the box, because all bounds between
    ``prune_at`` and ``limit`` must be reported. If the objective is monotone along an axis, the box
    shrinks to its better end. All assumptions are then dropped, because they may not hold there.
    """
    lo, hi, und, up, dn, loose, alias, ranks = state
    root = tape.objective_steps[1]
    dims = first.size
    bound = -INF
    for turn in range(max(max_turns, 1)):
        before = 1.0
        for axis in range(dims):
            before *= last[axis] - first[axis] + 1
        if not enclose(tape, first, last, assumptions, lo, hi, und, up, dn, loose, alias, ranks):
            return INF
        bound = max(bound, lo[root])
        if bound >= prune_at or before == 1.0:
            return bound
        if max_turns > 0:
            for axis in range(dims):  # shrink monotone axes to their better end
                bit = ONE << np.uint64(axis)
                if up[root] & bit:
                    last[axis] = first[axis]
                elif dn[root] & bit:
                    first[axis] = last[axis]
            points = 1.0
            for axis in range(dims):
                points *= last[axis] - first[axis] + 1
            if points < before:
                for k in range(tape.branch_steps.size):
                    assumptions[tape.branch_steps[k]] = 0
                if turn < max_turns - 1:
                    continue
                return bound
        _enclose_middle(tape, first, last, plane_buffers[5], plane_buffers[8])
        by_planes = _bound_by_planes(
            tape, first, last, assumptions, limit, prune_at, state, plane_buffers, max_turns > 0
        )
        bound = max(bound, by_planes)
        points = 1.0
        for axis in range(dims):
            points *= last[axis] - first[axis] + 1
        if bound >= prune_at or points > 0.7 * before:
            break
    return bound


_pruning_bound = compiled_no_nrt(pruning_bound)
_MAX_BRANCH_TESTS = sizes.DIG_TRIED
#: Weight of the half with the higher bound in the score of a branch. The other half has weight 1.
_WORSE_HALF_WEIGHT = 0.17


def make_buffers(tape: Tape, dims: int) -> Any:
    """Return the work arrays of :func:`search_depth_first`, created outside of compiled code."""
    steps, leaves, branches = tape.ops.size, tape.leaves.shape[0], tape.branch_steps.size

    def enclosure_buffers() -> tuple[Any, ...]:
        ends = (tape.fixed_ranges[0].copy(), tape.fixed_ranges[1].copy(), tape.fixed_ranges[2] > 0)
        ways = (np.full(steps, ALL_AXES), np.full(steps, ALL_AXES), np.zeros(steps, dtype=np.bool_))
        return (*ends, *ways, np.arange(steps), np.zeros((branches + 1, 3), dtype=np.int64))

    forced = np.zeros((2, steps), dtype=np.int8)
    weights = np.zeros((2, steps)), np.zeros((2, steps))
    ranges = np.zeros((leaves, 2)), np.zeros((3, 2, leaves)), np.zeros(dims)
    places = np.zeros((2, dims), dtype=np.int64)
    losses = np.zeros(steps), np.zeros(steps)
    plane = (*weights, *ranges, places, *losses, (*enclosure_buffers(), forced[1]))
    ends = tuple(np.zeros(dims, dtype=np.int64) for _ in range(4))
    tests = np.zeros(branches, dtype=np.int8), np.zeros(branches), np.zeros(branches, np.bool_)
    return (enclosure_buffers(), plane, ends, forced[0], *tests)


def compile_parts(tape: Tape, buffers: Any) -> None:
    """Compile the functions that :func:`search_depth_first` calls but does not inline."""
    state, plane, (first, last, *_), forced, *_ = buffers
    relax.compile_separately(tape, 0, *state[:3], forced, *plane[:2], plane[6], plane[8][0])
    enclose.compile_separately(tape, first, last, forced, *state)


@compiled_no_nrt
def search_depth_first(
    tape,
    count,
    firsts,
    lasts,
    assumptions,
    bounds,
    limit,
    gap,
    budget,
    best,
    counters,
    place,
    near_points,
    buffers,
):
    """Process boxes from the top of a stack of ``count`` boxes; return the new stack size.

    A box is a range along each axis and the ``assumptions`` about steps. ``limit`` is the best
    value known. ``gap`` is the permitted relative gap. There are four outputs. ``best`` has the
    best value and the lowest bound of dropped boxes. ``place`` is the best point. ``near_points``
    are points that may be better, within the error of library functions. ``counters`` count the
    boxes bounded, the points tried, the boxes of a single point, and the near points.
    """
    dims, branches = firsts.shape[1], tape.branch_steps.size
    state, plane, ends, forced, supposed, worth, open_to = buffers
    lo, hi, at, loss = state[0], state[1], plane[5], plane[6]
    first, last, one, two = ends
    root = tape.objective_steps[1]
    spent = 0
    till = _pruning_bound(limit, gap)
    while count > 0 and spent < budget and counters[3] < near_points.shape[0]:
        count -= 1
        known = bounds[count]
        copy_into(first, firsts[count])
        copy_into(last, lasts[count])
        copy_into(supposed, assumptions[count])
        alive = known < till
        points = 2.0
        left, score, left_score, right_score = 0.0, -INF, 0.0, 0.0
        chosen: Any = -1
        # -2: bound the box; -1: try one of its points; 2k, 2k + 1: bound the halves of branch k
        stage = -2
        while alive and stage < 2 * (dims + branches):
            number, side = stage // 2, stage % 2
            if stage < 0:
                number = -1
            copy_into(one, first)
            copy_into(two, last)
            for k in range(branches):
                forced[tape.branch_steps[k]] = 0 if stage == -1 else supposed[k]
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
                forced[tape.branch_steps[number - dims]] = side + 1
            turns = 4 if stage == -2 else 0
            result = bound_box(tape, one, two, forced, limit, till, state, plane, turns)
            spent += 1
            if stage == -2:
                copy_into(first, one)
                copy_into(last, two)
                for k in range(branches):
                    supposed[k] = forced[tape.branch_steps[k]]
                known = max(known, result)
                alive = known < till
                points = 1.0
                for axis in range(dims):
                    points *= last[axis] - first[axis] + 1
                # select the branch steps where the bound loses the most
                for k in range(branches):
                    open_to[k] = False
                    worth[k] = loss[tape.branch_steps[k]]
                for k in range(tape.choices.shape[0]):
                    n = tape.choices[k, 0]
                    if loss[n] > 0:
                        for j in range(1, tape.choices.shape[1]):
                            m = tape.choices[k, j]
                            if m >= 0 and lo[tape.branch_steps[m]] != hi[tape.branch_steps[m]]:
                                worth[m] += loss[n]
                for _ in range(_MAX_BRANCH_TESTS):
                    most = -1
                    for k in range(branches):
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
                    till = _pruning_bound(limit, gap)
                    alive = known < till
                if points == 1.0:
                    counters[2] += 1
                    if lo[root] < limit <= hi[root]:
                        copy_into(near_points[counters[3]], one)
                        counters[3] += 1
                    alive, known = False, INF
            elif side == 0:
                left = max(result, known)
            else:
                right = max(result, known)
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
                    gain = less + _WORSE_HALF_WEIGHT * min(more, 1e300)
                    if gain > score or chosen == -1:
                        score, chosen = gain, number
                        left_score, right_score = left, right
            stage += 1
        if not alive:
            if known < limit:
                best[1] = min(best[1], known)
            continue
        if chosen == -1:  # every branch excluded one half, so the box must be bounded again
            copy_into(firsts[count], first)
            copy_into(lasts[count], last)
            copy_into(assumptions[count], supposed)
            bounds[count] = known
            count += 1
            continue
        for turn in range(2):
            second = (turn == 0) == (left_score <= right_score)
            copy_into(firsts[count], first)
            copy_into(lasts[count], last)
            copy_into(assumptions[count], supposed)
            bounds[count] = max(right_score if second else left_score, known)
            if chosen >= dims:
                assumptions[count, chosen - dims] = 2 if second else 1
            else:
                middle = (first[chosen] + last[chosen]) // 2
                if second:
                    firsts[count, chosen] = middle + 1
                else:
                    lasts[count, chosen] = middle
            count += 1
    counters[0] += spent
    return count
