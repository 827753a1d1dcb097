"""What is known of the objective over a box: enclosures, directions, planes, what they cut."""

from __future__ import annotations

import math

import numpy as np

from sweeps.bounds.machine.enclose import MAXIMUM, ONE, SUB, enclose
from sweeps.bounds.machine.jit import jitted
from sweeps.bounds.machine.planes import along, cut, give, least, relax, signed

INF = math.inf
#: What rounding can make of a plane, as a share of the parts that are added: far above a thousand
#: steps of one ulp each.
_SLACK = 1e-10


@jitted
def _bounded(tape, first, last, forced, limit, enough, state, plane, shrink):
    """A bound below the objective over a box whose steps are worked out; it may cut the box.

    First the plane below the objective, then, for each comparison that must hold, the plane below
    what is too much, and both together, so many times the second, where the best place of the
    first breaks it.
    """
    lo, hi, und = state[0], state[1], state[2]
    wide, deep, ends, weights, low, at, loss, other, spot = plane
    v, root = tape.value[0], tape.value[1]
    table = (tape.axis_leaves, tape.leaves, tape.numbers, tape.logs)
    steps_of, args, musts_of, atoms_of = tape.leaves, tape.args, tape.musts, tape.atoms
    ops = tape.ops
    dims, leaves = first.size, steps_of.shape[0]
    bound = lo[root]
    for k in range(leaves):
        n = steps_of[k, 6]
        ends[k, 0], ends[k, 1] = lo[n], hi[n]
    sign = signed(lo[v], hi[v], und[v])
    log = sign != 0 and not (limit < INF and (limit > 0) != (sign > 0))
    goal = limit
    if log and limit < INF:
        goal = sign * math.log(abs(limit))
    known, constant, scale = False, 0.0, 0.0
    musts, atoms = musts_of.size, atoms_of.size
    for c in range(-1, musts + atoms):
        for n in range(ops.size):
            wide[0, n], wide[1, n], deep[0, n], deep[1, n] = 0.0, 0.0, 0.0, 0.0
        top, row = v, 0
        if c < 0:
            give(deep if log else wide, v, float(sign) if log else 1.0)
        else:
            n = musts_of[c] if c < musts else atoms_of[c - musts]
            a, b = args[n, 0], args[n, 1]
            if c >= musts:
                if forced[n] == 0:
                    continue
                if (forced[n] == 2) != (ops[n] == MAXIMUM):
                    a, b = b, a
            if und[a] or und[b] or hi[a] <= lo[b]:
                continue
            if lo[b] == 0 == hi[b] and ops[a] == SUB:  # x - y against 0 is x against y
                a, b = args[a, 0], args[a, 1]
            elif lo[a] == 0 == hi[a] and ops[b] == SUB:
                a, b = args[b, 1], args[b, 0]
            if und[a] or und[b]:
                continue
            row, top = 1, max(a, b)
            if signed(lo[a], hi[a], False) > 0 and signed(lo[b], hi[b], False) > 0:
                give(deep, a, 1.0)
                give(deep, b, -1.0)
            else:
                give(wide, a, 1.0)
                give(wide, b, -1.0)
        if c < 0:
            for n in range(loss.size):
                loss[n] = 0.0
        lost = loss if c < 0 else other
        over, size = relax(tape, top, lo, hi, und, forced, wide, deep, lost, spot[0])
        if not over > -INF:
            continue
        for k in range(leaves):
            n = steps_of[k, 6]
            weights[row, 0, k], weights[row, 1, k] = wide[0, n], deep[0, n]
        most = 0.0 if row == 1 else goal
        factor, below, above = 0.0, 0.0, INF
        for turn in range(14):
            # turn 0: the plane itself; later the objective and so many times what is too much
            if turn == 1:
                if row == 0 or not known:
                    break
                row, most = 2, goal
            if turn > 0:
                value = over
                for axis in range(dims):
                    value += along(table, axis, at[0, axis], weights, 1)
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
                low[axis], at[place, axis] = least(
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
                if bound >= enough:
                    return bound
            if shrink and most < INF:
                for axis in range(dims):
                    if first[axis] < last[axis]:
                        one, two = cut(
                            table,
                            axis,
                            first[axis],
                            last[axis],
                            weights,
                            row,
                            low[axis] + most - total,
                        )
                        if one > two:
                            return INF
                        first[axis], last[axis] = one, two
                        at[0, axis] = min(max(at[0, axis], one), two)
    return bound


@jitted
def _middle(tape, first, last, at, spot):
    """The steps at the middle of a box, where curves are touched."""
    for axis in range(first.size):
        at[1, axis] = (first[axis] + last[axis]) // 2
    lo, hi, und, up, dn, loose, alias, ranks, nothing = spot
    enclose(tape, at[1], at[1], nothing, lo, hi, und, up, dn, loose, alias, ranks)


@jitted
def look(tape, first, last, forced, limit, enough, state, plane, turns):
    """A bound over a box, which is cut while that pays, for so many turns; 0: only looked at.

    It ends where the bound is ``enough`` for the box to be set aside. What is cut off is nowhere
    below ``limit``, so that nobody need hear of it; between the two lies what must be told of, so
    nothing is cut against ``enough``. Or it is no better than what is left along an axis: that may
    break what is supposed, which is then forgotten (``forced``).
    """
    lo, hi, und, up, dn, loose, alias, ranks = state
    root = tape.value[1]
    dims = first.size
    bound = -INF
    for turn in range(max(turns, 1)):
        before = 1.0
        for axis in range(dims):
            before *= last[axis] - first[axis] + 1
        if not enclose(tape, first, last, forced, lo, hi, und, up, dn, loose, alias, ranks):
            return INF
        bound = max(bound, lo[root])
        if bound >= enough or before == 1.0:
            return bound
        if turns > 0:
            for axis in range(dims):  # along which nothing gets better
                bit = ONE << np.uint64(axis)
                if up[root] & bit:
                    last[axis] = first[axis]
                elif dn[root] & bit:
                    first[axis] = last[axis]
            points = 1.0
            for axis in range(dims):
                points *= last[axis] - first[axis] + 1
            if points < before:
                for k in range(tape.atoms.size):
                    forced[tape.atoms[k]] = 0
                if turn < turns - 1:
                    continue
                return bound
        _middle(tape, first, last, plane[5], plane[8])
        bound = max(
            bound, _bounded(tape, first, last, forced, limit, enough, state, plane, turns > 0)
        )
        points = 1.0
        for axis in range(dims):
            points *= last[axis] - first[axis] + 1
        if bound >= enough or points > 0.7 * before:
            break
    return bound
