"""Find the optimal bins of a law, and compute statistics of items that are cut into pieces."""

from __future__ import annotations

import math

from stochastic.compile_cache import compiled


@compiled
def best_for_slowdown(  # type: ignore[no-untyped-def]
    values, weights, lanes, shares, bins, places, scratch, best, begin
) -> None:
    """Minimise Σ P(bin)·E[max of the bin] over the ends of bins, by dynamic programming.

    ``best[e, b]`` becomes the lowest cost of the first ``places[e]`` values in exactly b bins, and
    ``begin[e, b]`` becomes the index in ``places`` where the last of these bins begins. Before the
    call, ``best[0, 0]`` is 0 and all other entries are inf. ``values`` ascend, ``weights`` are
    positive. A group has lanes[j] independent draws with probability shares[j]. When a bin gets a
    new value, its E[max] grows by P(the new value is the longest)·(value - E[max]).
    """
    ends = len(places)
    for first in range(ends - 1):
        mass = 0.0
        for j in range(len(lanes)):
            scratch[j] = 0.0
        last = first + 1
        for r in range(places[first], places[ends - 1]):
            mass += weights[r]
            longest, log = 0.0, math.log1p(-weights[r] / mass)
            for j in range(len(lanes)):
                scratch[j] -= math.expm1(lanes[j] * log) * (values[r] - scratch[j])
                longest += shares[j] * scratch[j]
            if r + 1 == places[last]:
                for b in range(min(bins, first + 1)):
                    cost = best[first, b] + mass * longest
                    if cost < best[last, b + 1]:
                        best[last, b + 1] = cost
                        begin[last, b + 1] = first
                last += 1


@compiled
def best_for_loss(  # type: ignore[no-untyped-def]
    values, weights, lanes, bins, places, nodes, used, step, decay, scratch, best, begin
) -> None:
    """Minimise Σ P(bin)·E[lanes·max / sum of the bin] in the same way as :func:`best_for_slowdown`.

    E[max / sum] is the integral of E[max·exp(-t·sum)] over t, by the trapezoidal rule in log t with
    ``step`` at ascending ``nodes``. Bins that begin at places[e] need only the first used[e] nodes.
    Below the first node the integrand is E[max]. ``decay`` (values, nodes) is exp(-t·value).
    """
    ends = len(places)
    below = nodes[0] / math.expm1(step)  # the part of the integral below the first node
    transform, base, power = scratch[0], scratch[1], scratch[2]
    before, inside = scratch[3], scratch[4]
    for first in range(ends - 1):
        mass = longest = 0.0
        n = used[first]
        for k in range(n):
            transform[k] = before[k] = inside[k] = 0.0
        last = first + 1
        for r in range(places[first], places[ends - 1]):
            remaining = (mass / (mass + weights[r])) ** lanes
            mass += weights[r]
            longest -= math.expm1(lanes * math.log1p(-weights[r] / mass)) * (values[r] - longest)
            for k in range(n):
                transform[k] += weights[r] * decay[r, k]
                base[k] = transform[k] / mass
                power[k] = 1.0
            exponent = lanes
            while exponent:
                if exponent & 1:
                    for k in range(n):
                        power[k] *= base[k]
                exponent >>= 1
                if exponent:
                    for k in range(n):
                        base[k] *= base[k]
            for k in range(n):
                inside[k] = remaining * inside[k] + values[r] * (power[k] - remaining * before[k])
                before[k] = power[k]
            if r + 1 == places[last]:
                area = longest * below
                for k in range(n):
                    area += nodes[k] * inside[k]
                loss = lanes * step * area
                if values[places[first]] == 0.0:
                    loss += (weights[places[first]] / mass) ** lanes
                for b in range(min(bins, first + 1)):
                    cost = best[first, b] + mass * loss
                    if cost < best[last, b + 1]:
                        best[last, b + 1] = cost
                        begin[last, b + 1] = first
                last += 1


@compiled
def piece_statistics(weights, thresholds, overhead, lanes, law, out) -> None:  # type: ignore[no-untyped-def]
    """Write E[pieces of an item], E[max of ``lanes`` pieces] and E[piece] for each threshold.

    ``weights`` are the weights of the values 0, 1, 2, ... An item above the threshold T is cut into
    pieces of length T, the last one of which may be shorter. Each piece except the first takes
    ``overhead`` more iterations. ``law`` is scratch memory for the law of a piece.
    """
    high = len(weights) - 1
    for which in range(len(thresholds)):
        most = thresholds[which]
        top = min(most, high) + overhead
        for w in range(top + 1):
            law[w] = weights[w] if w <= min(most, high) else 0.0
        for w in range(most + 1, high + 1):
            full = (w - 1) // most
            law[most] += weights[w]
            law[most + overhead] += (full - 1) * weights[w]
            law[w - full * most + overhead] += weights[w]
        count = 0.0
        for w in range(top + 1):
            count += law[w]
        tail = longest = mean = 0.0
        for a in range(top, 0, -1):
            tail += law[a] / count
            mean += tail
            longest -= math.expm1(lanes * math.log1p(-min(tail, 1.0)))
        out[which, 0] = count
        out[which, 1] = longest
        out[which, 2] = mean
