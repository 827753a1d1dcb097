"""Compiled functions that convolve laws of durations, and sum generating functions over nodes.

See stochastic.launch_time.inversion and block_counts for the mathematics and the symbols. A complex
number is stored as two rows, its real and its imaginary part. Convolutions add products of positive
numbers, so nothing cancels. At each node, z**-c A_s of a slot is 1 - Δ, and Δ is small where it
matters. The first sum in Δ is an argument; the second sum, over blocks that end after t, is updated
from start to start. (1 - Δ)**M is computed as 1 - E: each squaring replaces Δ by Δ(2 - Δ), so that
errors are relative to Δ and not to 1. No sum adds more than TILE terms one after the other.
"""

from __future__ import annotations

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.compile_cache import compiled

TILE = sizes.CENTRED_TILE  #: Number of times or starts that are computed together.
AT_ONCE = 8  #: Number of weights that are processed together.


@compiled(fastmath={"contract"}, _nrt=False)
def convolve(
    weights: Floats, row: Floats, begin: int, first: int, last: int, scratch: Floats, out: Floats
) -> None:
    """Write Σ_k weights[k]·row(u - k) for the times u = first..last to ``out[u - first]``.

    The value at time u is stored in ``row[u + len(weights)]``; it is 0 before time ``begin``.
    ``row`` and ``out`` are longer than needed by TILE, and the number of weights is a multiple of
    ``AT_ONCE``. If nothing is negative, the relative error of a sum is at most seven roundings:
    five in the sum of eight products, two in Kahan's summation of these sums.
    """
    pad = len(weights)
    main, lost = scratch[0], scratch[1]
    for start in range(first, last + 1, TILE):
        for k in range(TILE):
            main[k] = lost[k] = 0.0
        for c in range(0, pad, AT_ONCE):
            if start + TILE - 1 - c < begin:
                break
            a, b, d, e = weights[c], weights[c + 1], weights[c + 2], weights[c + 3]
            f, g, h, i = weights[c + 4], weights[c + 5], weights[c + 6], weights[c + 7]
            if a + b + d + e + f + g + h + i == 0.0:
                continue
            near = row[pad + start - c - 7 : pad + start - c + TILE]
            for k in range(TILE):
                x = a * near[k + 7] + b * near[k + 6] + d * near[k + 5] + e * near[k + 4]
                y = f * near[k + 3] + g * near[k + 2] + h * near[k + 1] + i * near[k]
                more = (x + y) - lost[k]
                both = main[k] + more
                lost[k] = (both - main[k]) - more
                main[k] = both
        for k in range(TILE):
            out[start - first + k] = main[k]


@compiled(fastmath={"contract"}, _nrt=False, inline="always")
def _power(a: Floats, b: Floats, real: Floats, imag: Floats, exponent: int) -> None:
    """Write 1 - (1 - Δ)**exponent for a tile of complex numbers Δ = a + ib, overwriting a and b."""
    for k in range(TILE):
        real[k] = imag[k] = 0.0
    while exponent:
        if exponent & 1:
            for k in range(TILE):
                x, y = real[k], imag[k]
                real[k] = x + (a[k] * (1.0 - x) + b[k] * y)
                imag[k] = y + (b[k] * (1.0 - x) - a[k] * y)
        exponent >>= 1
        if exponent:
            for k in range(TILE):
                x, y = a[k], b[k]
                a[k], b[k] = x * (2.0 - x) + y * y, 2.0 * (y * (1.0 - x))


@compiled(fastmath={"contract"}, _nrt=False, inline="always")
def _total(lanes: Floats) -> float:
    size = TILE // 2
    while size:
        for k in range(size):
            lanes[k] += lanes[k + size]
        size //= 2
    return float(lanes[0])


@compiled(fastmath={"contract"}, _nrt=False)
def launch_probabilities(
    times: Ints,
    first: int,
    last: int,
    slots: Ints,
    earlier_starts: Floats,
    tails: Floats,
    node_powers: Floats,
    starts: Floats,
    deficits: Floats,
    ratio: Floats,
    weights: Floats,
    scratch: Floats,
    ends: Floats,
    out: Floats,
) -> None:
    """Write P(all blocks end by t, and the last begins in first..last) for each t of ``times``.

    See stochastic.launch_time.inversion and block_counts for the symbols; E is 1 - (1 - Δ)**M, and
    K is the longest duration. A leading axis of 2 holds real and imaginary parts.

    - ``earlier_starts`` (kinds, rows, K): terms for the times u = first - K..first - 1.
    - ``node_powers`` (2, kinds, nodes, rows): factors with which these terms sum to z**-c · z·H(u).
    - ``starts`` (2, kinds, nodes, times): this sum for the times u = first..last.
    - ``tails`` (2, kinds, K + 1): P(D > k) for k = K..0.
    - ``deficits`` (2, kinds, nodes, times + 1): first sum in Δ, s = first - 1..last; E if s = -1.
    - ``ratio`` (2, kinds, nodes, K + 1): x / (x - 1) for durations 0..K.
    """
    kinds, nodes, most = node_powers.shape[1], node_powers.shape[2], tails.shape[2] - 1
    ended = True  # if x is equal for all kinds, the terms of ended blocks telescope
    for g in range(kinds):
        for n in range(nodes):
            if ratio[0, g, n, most] != ratio[0, 0, n, most]:
                ended = False
    for i in range(len(times)):
        t, chance, lost, across = times[i], 0.0, 0.0, 0.0
        if t < first:
            out[i, 0] = out[i, 1] = 0.0
            continue
        begin = max(first, min(t - most + 1, last + 1)) if ended else first
        for g in range(kinds):
            for m in range(earlier_starts.shape[1]):
                for k in range(TILE):
                    scratch[0, k] = scratch[1, k] = 0.0
                for k in range(max(t - first + 1, 0), most, TILE):
                    size = min(TILE, most - k)
                    one = earlier_starts[g, m, k : k + size]
                    two = tails[0, g, k - (t - first) : k - (t - first) + size]
                    three = tails[1, g, k - (t - first) : k - (t - first) + size]
                    for j in range(size):
                        scratch[0, j] += one[j] * two[j]
                        scratch[1, j] += one[j] * three[j]
                ends[0, g, m], ends[1, g, m] = _total(scratch[0]), _total(scratch[1])
        for n in range(nodes):
            for k in range(TILE):
                scratch[4, k] = scratch[5, k] = 0.0
            # scratch rows of kind g: 6 + 4g has the second sum of Δ, and E at the previous start;
            # 7 + 4g has E at first - 1; 8 + 4g and 9 + 4g have E in the tile
            real = imag = 0.0
            for g in range(kinds):
                a = b = 0.0
                if begin == first:
                    for m in range(earlier_starts.shape[1]):
                        a += node_powers[0, g, n, m] * ends[0, g, m]
                        a -= node_powers[1, g, n, m] * ends[1, g, m]
                        b += node_powers[1, g, n, m] * ends[0, g, m]
                        b += node_powers[0, g, n, m] * ends[1, g, m]
                for k in range(TILE):
                    scratch[0, k] = scratch[1, k] = 0.0
                scratch[0, 0], scratch[1, 0] = (deficits[0, g, n, 0] + a, deficits[1, g, n, 0] + b)
                scratch[0, 1] = deficits[0, g, n, begin - first]
                scratch[1, 1] = deficits[1, g, n, begin - first]
                _power(scratch[0], scratch[1], scratch[2], scratch[3], slots[g])
                if first == 0:
                    scratch[2, 0], scratch[3, 0] = (deficits[0, g, n, 0], deficits[1, g, n, 0])
                at = 0 if begin == first else 1
                early, late = scratch[6 + 4 * g], scratch[7 + 4 * g]
                early[0], early[1], early[2], early[3] = a, b, scratch[2, at], scratch[3, at]
                late[0], late[1] = scratch[2, 0], scratch[3, 0]
            if begin > first:
                x, y, p, q = 1.0, 0.0, 1.0, 0.0
                for g in range(kinds):
                    a, b = 1.0 - scratch[6 + 4 * g, 2], -scratch[6 + 4 * g, 3]
                    x, y = x * a - y * b, x * b + y * a
                    a, b = 1.0 - scratch[7 + 4 * g, 0], -scratch[7 + 4 * g, 1]
                    p, q = p * a - q * b, p * b + q * a
                x, y = x - p, y - q
                a, b = ratio[0, 0, n, most], ratio[1, 0, n, most]
                real, imag = a * x - b * y, a * y + b * x
            s, stop = begin, min(last, t - 1) + 1
            while s < stop:
                count = min(TILE, stop - s)
                for g in range(kinds):
                    edge = scratch[6 + 4 * g]
                    x = y = 0.0
                    for k in range(TILE):
                        if k < count:
                            j = max(most - (t - s - k), 0)
                            p, q = tails[0, g, j], tails[1, g, j]
                            a, b = starts[0, g, n, s + k - first], starts[1, g, n, s + k - first]
                            x += p * a
                            x -= q * b
                            y += p * b
                            y += q * a
                            scratch[0, k] = deficits[0, g, n, s + k - first + 1] + (edge[0] + x)
                            scratch[1, k] = deficits[1, g, n, s + k - first + 1] + (edge[1] + y)
                        else:
                            scratch[0, k] = scratch[1, k] = 0.0
                    edge[0] += x
                    edge[1] += y
                    _power(scratch[0], scratch[1], scratch[8 + 4 * g], scratch[9 + 4 * g], slots[g])
                for g in range(kinds):
                    edge, own, other = scratch[6 + 4 * g], scratch[8 + 4 * g], scratch[9 + 4 * g]
                    for k in range(count):
                        a = (own[k - 1] if k else edge[2]) - own[k]
                        b = (other[k - 1] if k else edge[3]) - other[k]
                        j = min(t - s - k, most)
                        p, q = ratio[0, g, n, j], ratio[1, g, n, j]
                        scratch[2, k], scratch[3, k] = a * p - b * q, a * q + b * p
                    for h in range(kinds):
                        if h == g:
                            continue
                        for k in range(count):
                            if h < g:  # kind h is served before g and already has its block
                                a, b = scratch[8 + 4 * h, k], scratch[9 + 4 * h, k]
                            elif k:
                                a, b = scratch[8 + 4 * h, k - 1], scratch[9 + 4 * h, k - 1]
                            else:
                                a, b = scratch[6 + 4 * h, 2], scratch[6 + 4 * h, 3]
                            x, y = scratch[2, k], scratch[3, k]
                            scratch[2, k] = x - (x * a - y * b)
                            scratch[3, k] = y - (x * b + y * a)
                    for k in range(count):
                        scratch[4, k] += scratch[2, k]
                        scratch[5, k] += scratch[3, k]
                for g in range(kinds):
                    edge = scratch[6 + 4 * g]
                    edge[2], edge[3] = scratch[8 + 4 * g, count - 1], scratch[9 + 4 * g, count - 1]
                s += count
            real += _total(scratch[4])
            imag += _total(scratch[5])
            term = real * weights[0, n] - imag * weights[1, n]
            both = chance + term
            part = both - chance
            lost += (chance - (both - part)) + (term - part)
            chance = both
            across += real * weights[1, n] + imag * weights[0, n]
        out[i, 0], out[i, 1] = chance + lost, across
