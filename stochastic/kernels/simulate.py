"""Monte Carlo: groups of items drawn from a law, tallied as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stochastic.kept import compiled

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["alias_table", "losses", "tally"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


@compiled
def alias_table(weights: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.uint64]:
    """Walker's table of 2**bits columns: threshold of 64 bits and alias, two numbers a column."""
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
    for left in range(2):  # what rounding left over is full
        kept, count = (small, low) if left else (large, high)
        for k in range(count):
            table[2 * kept[k]] = np.uint64(0xFFFFFFFFFFFFFFFF)
            table[2 * kept[k] + 1] = np.uint64(kept[k])
    return table


@compiled(inline="always")
def _group(  # type: ignore[no-untyped-def]
    group, lanes, low, table, keep, shift, key
):
    """Longest item and sum of one group: items number lanes·group, ... of the one stream.

    Number i of the stream is SplitMix64 (Steele, Lea and Flood 2014) at place i after ``key``: its
    leading bits choose a column of the alias table, the others are compared with the threshold.
    """
    state = key + _GOLDEN * np.uint64(group * lanes)
    longest = total = np.int64(0)
    for _ in range(lanes):
        state += _GOLDEN
        z = state
        z = (z ^ (z >> _S30)) * _FIRST
        z = (z ^ (z >> _S27)) * _SECOND
        z = z ^ (z >> _S31)
        column = z >> shift
        place = np.int64(column) << 1
        drawn = np.int64(column if (z << keep) < table[place] else table[place + 1])
        longest = max(longest, drawn)
        total += drawn
    return longest + low, total + low * lanes


@compiled
def losses(  # type: ignore[no-untyped-def]
    first, count, lanes, low, table, bits, key, idle
) -> npt.NDArray[np.float64]:
    """Losses of groups first, ..., first + count - 1; ``idle`` of one without work."""
    keep, shift, seed = np.uint64(bits), np.uint64(64 - bits), np.uint64(key)
    found = np.empty(count)
    for i in range(count):
        longest, total = _group(first + i, lanes, low, table, keep, shift, seed)
        found[i] = lanes * longest / total if total else idle
    return found


@compiled
def tally(  # type: ignore[no-untyped-def]
    first, last, block, groups, lanes, low, table, bits, key, idle, centres, scale, seen, sums
) -> None:
    """Blocks first, ..., last - 1 of ``block`` groups each, added to ``seen`` and ``sums``.

    ``seen`` has a row for each fine bin of the loss: count, smallest, largest. ``sums`` has a row
    for each block, so that nothing depends on who computed which: number of groups, powers 1 to 4
    of loss - centre, then max - centre, sum - centre and their second moments. A group without
    work has the loss ``idle``; where that is NaN, it counts for max and sum alone.
    """
    keep, shift, seed = np.uint64(bits), np.uint64(64 - bits), np.uint64(key)
    middle = len(seen) // 2
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
            seen[row, 0] += 1.0
            seen[row, 1] = min(seen[row, 1], loss)
            seen[row, 2] = max(seen[row, 2], loss)
        sums[which, 0] = c
        sums[which, 1] = x1
        sums[which, 2] = x2
        sums[which, 3] = x3
        sums[which, 4] = x4
        sums[which, 5] = m1
        sums[which, 6] = s1
        sums[which, 7] = mm
        sums[which, 8] = ms
        sums[which, 9] = ss
