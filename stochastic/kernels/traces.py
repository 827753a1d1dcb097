"""Groups drawn from a finite workload without replacement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stochastic.kept import compiled

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["subset_longest", "subset_ratio", "subset_sample"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@compiled
def subset_longest(values, counts, size):  # type: ignore[no-untyped-def]
    """E[max] of ``size`` items drawn without replacement; ``values`` ascend.

    P(max <= a) is a product over the items drawn, or over those longer than a, whichever are
    fewer; it ends where nothing is left of it.
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
def subset_ratio(  # type: ignore[no-untyped-def]
    values, counts, size, nodes
) -> npt.NDArray[np.float64]:
    """E[max·exp(-t·sum)] of ``size`` items drawn without replacement, at the given ``nodes`` t.

    Values join one after the other. Of j items drawn from all so far, i are of the new value with
    hypergeometric probability, so E[exp(-t·sum)] of all j up to ``size`` follows by positive terms.
    """
    n = len(nodes)
    table = np.zeros((size + 1, n))
    table[0] = 1.0
    found = np.zeros(n)
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
                        found[k] *= share
            else:
                table[j] = 0.0
            for i in range(max(first, 1), last + 1):
                share = chance[i] / total
                for k in range(n):
                    table[j, k] += share * powers[i, k] * table[j - i, k]
                if j == size:
                    for k in range(n):
                        found[k] += values[v] * share * powers[i, k] * table[j - i, k]
        before += c
    return found


@compiled
def subset_sample(  # type: ignore[no-untyped-def]
    items, size, lanes, groups, key
) -> tuple[float, float]:
    """Sums of X - 1 and its square, X = lanes·max / sum of independent draws of ``size`` items.

    Each shuffles the first ``size`` places of ``items`` anew, which from any order gives a draw
    without replacement. A group without work has X = 1.
    """
    state = np.uint64(key)
    once = twice = 0.0
    for _ in range(groups):
        longest = total = np.int64(0)
        for i in range(size):
            state += _GOLDEN
            z = state
            z = (z ^ (z >> _S30)) * _FIRST
            z = (z ^ (z >> _S27)) * _SECOND
            z = z ^ (z >> _S31)
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
