"""Simulate groups of items drawn from a law, or from a finite workload without replacement."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stochastic.arrays import Floats
from stochastic.compile_cache import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@compiled
def alias_table(weights: Floats, bits: int) -> npt.NDArray[np.uint64]:
    """Return Walker's alias table of 2**bits columns, each a 64-bit threshold and an alias."""
    size = 1 << bits
    share = np.zeros(size)
    scale = size / weights.sum()
    for i in range(len(weights)):
        share[i] = weights[i] * scale
    small, large = np.empty(size, np.int64), np.empty(size, np.int64)
    low = high = 0
    for i in range(size):
        if share[i] < 1.0:
            small[low] = i
            low += 1
        else:
            large[high] = i
            high += 1
    table = np.empty(2 * size, np.uint64)
    while low and high:
        i, j = small[low - 1], large[high - 1]
        low -= 1
        table[2 * i] = np.uint64(share[i] * 2.0**64)
        table[2 * i + 1] = np.uint64(j)
        share[j] = (share[j] + share[i]) - 1.0
        if share[j] < 1.0:
            small[low] = j
            low += 1
            high -= 1
    for left in range(2):  # columns that are left over because of rounding never use their alias
        rest, count = (small, low) if left else (large, high)
        for k in range(count):
            table[2 * rest[k]] = np.uint64(0xFFFFFFFFFFFFFFFF)
            table[2 * rest[k] + 1] = np.uint64(rest[k])
    return table


@compiled(inline="always")
def _mix_bits(state):  # type: ignore[no-untyped-def]
    """Return 64 random bits from a state by SplitMix64 (Steele, Lea and Flood 2014)."""
    z = (state ^ (state >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


@compiled(inline="always")
def _group(  # type: ignore[no-untyped-def]
    group, lanes, low, table, threshold_shift, shift, key
):
    """Return the longest item and the sum of a group, which takes consecutive items of a stream.

    The group begins at item lanes·group of the stream. Output i of SplitMix64, which starts from
    ``key``, decides item i: the leading bits of the output choose a column of the alias table, and
    its other bits are compared with the threshold of the column.
    """
    state = key + _GOLDEN * np.uint64(group * lanes)
    longest = total = np.int64(0)
    for _ in range(lanes):
        state += _GOLDEN
        z = _mix_bits(state)
        column = z >> shift
        place = np.int64(column) << 1
        drawn = np.int64(column if (z << threshold_shift) < table[place] else table[place + 1])
        longest = max(longest, drawn)
        total += drawn
    return longest + low, total + low * lanes


@compiled
def sample_losses(  # type: ignore[no-untyped-def]
    first, count, lanes, low, table, bits, key, idle
) -> Floats:
    """Return losses of ``count`` groups from group ``first`` on; without work they are ``idle``."""
    keep, shift, seed = np.uint64(bits), np.uint64(64 - bits), np.uint64(key)
    result = np.empty(count)
    for i in range(count):
        longest, total = _group(first + i, lanes, low, table, keep, shift, seed)
        result[i] = lanes * longest / total if total else idle
    return result


@compiled
def tally_losses(  # type: ignore[no-untyped-def]
    first, last, block, groups, lanes, low, table, bits, key, idle, centres, scale, fine_bins, sums
) -> None:
    """Add blocks first, ..., last - 1 of ``block`` groups each to ``fine_bins`` and ``sums``.

    ``fine_bins`` has a row for each fine bin of the loss: count, smallest, largest. ``sums`` has a
    row for each block, so that results do not depend on threads: the number of groups, and the sums
    of (loss - centre)**k, k = 1..4, of max - centre and sum - centre, and of the squares and the
    product of the last two. A group without work has the loss ``idle``; if that is NaN, only its
    max and sum count.
    """
    keep, shift, seed = np.uint64(bits), np.uint64(64 - bits), np.uint64(key)
    middle = len(fine_bins) // 2
    bit_view = np.empty(1, np.float64)
    as_integer = bit_view.view(np.int64)
    one = np.int64(1023 << 13)
    for which in range(first, last):
        c = x1 = x2 = x3 = x4 = m1 = s1 = mm = ms = ss = 0.0
        for group in range(which * block, min((which + 1) * block, groups)):
            longest, total = _group(group, lanes, low, table, keep, shift, seed)
            m, s = longest - centres[1], total - centres[2]
            m1 += m
            s1 += s
            mm += m * m
            ms += m * s
            ss += s * s
            loss = lanes * longest / total if total else idle
            if loss != loss:
                continue
            x = loss - centres[0]
            square = x * x
            c += 1.0
            x1 += x
            x2 += square
            x3 += square * x
            x4 += square * square
            bit_view[0] = abs(x) * scale + 1.0
            distance = (as_integer[0] >> 39) - one
            row = middle + distance if x >= 0.0 else middle - 1 - distance
            fine_bins[row, 0] += 1.0
            fine_bins[row, 1] = min(fine_bins[row, 1], loss)
            fine_bins[row, 2] = max(fine_bins[row, 2], loss)
        for k, value in enumerate((c, x1, x2, x3, x4, m1, s1, mm, ms, ss)):
            sums[which, k] = value


@compiled
def mean_subset_maximum(values, counts, size):  # type: ignore[no-untyped-def]
    """Return E[max] of ``size`` items drawn without replacement; ``values`` ascend.

    P(max <= a) is a product over the drawn items, or over the items longer than a; we take the
    product with fewer factors.
    """
    total = counts.sum()
    longest = values[-1] * 1.0
    longer = 0
    for i in range(len(values) - 2, -1, -1):
        longer += counts[i + 1]
        fewer, other = min(size, longer), max(size, longer)
        log = 0.0
        if other + fewer > total:
            log = -np.inf
        else:
            for k in range(fewer):
                log += np.log1p(-other / (total - k))
                if log < -45.0:
                    break
        longest -= (values[i + 1] - values[i]) * np.exp(log)
    return longest


@compiled
def subset_transform(  # type: ignore[no-untyped-def]
    values, counts, size, nodes
) -> Floats:
    """Return E[max·exp(-t·sum)] of ``size`` items drawn without replacement, at the ``nodes`` t.

    Values are added one by one. If j items are drawn from all values so far, the number i of items
    with the new value is hypergeometric. So E[exp(-t·sum)] for each j is a sum of positive terms.
    """
    n = len(nodes)
    table = np.zeros((size + 1, n))
    table[0] = 1.0
    result = np.zeros(n)
    chance = np.empty(size + 1)
    powers = np.empty((size + 1, n))
    before = 0
    for v in range(len(values)):
        c = counts[v]
        most = min(c, size)
        powers[0] = 1.0
        for i in range(1, most + 1):
            for k in range(n):
                powers[i, k] = powers[i - 1, k] * np.exp(-nodes[k] * values[v])
        for j in range(min(size, before + c), 0, -1):
            first, last = max(0, j - before), min(j, most)
            mode = min(max((j + 1) * (c + 1) // (before + c + 2), first), last)
            chance[mode] = total = 1.0
            for i in range(mode, last):
                chance[i + 1] = (
                    chance[i] * ((c - i) / (i + 1.0)) * ((j - i) / (before - j + i + 1.0))
                )
                total += chance[i + 1]
            for i in range(mode, first, -1):
                chance[i - 1] = chance[i] * (i / (c - i + 1.0)) * ((before - j + i) / (j - i + 1.0))
                total += chance[i - 1]
            if first == 0:
                share = chance[0] / total
                for k in range(n):
                    table[j, k] *= share
                if j == size:
                    for k in range(n):
                        result[k] *= share
            else:
                table[j] = 0.0
            for i in range(max(first, 1), last + 1):
                share = chance[i] / total
                for k in range(n):
                    table[j, k] += share * powers[i, k] * table[j - i, k]
                if j == size:
                    for k in range(n):
                        result[k] += values[v] * share * powers[i, k] * table[j - i, k]
        before += c
    return result


@compiled
def sample_subset_losses(  # type: ignore[no-untyped-def]
    items, size, lanes, groups, key
) -> tuple[float, float]:
    """Return the sums over groups of X - 1 and (X - 1)**2, where X is the loss of a group.

    X = lanes·max / sum over ``size`` items, or 1 if they have no work. Each group draws without
    replacement by shuffling the first ``size`` places of ``items``, which may be in any order.
    """
    state = np.uint64(key)
    once = twice = 0.0
    for _ in range(groups):
        longest = total = np.int64(0)
        for i in range(size):
            state += _GOLDEN
            z = _mix_bits(state)
            j = i + np.int64(np.float64(z >> _S11) * 2.0**-53 * (len(items) - i))
            item = items[j]
            items[j] = items[i]
            items[i] = item
            longest = max(longest, item)
            total += item
        loss = lanes * longest / total if total else 1.0
        once += loss - 1.0
        twice += (loss - 1.0) * (loss - 1.0)
    return once, twice
