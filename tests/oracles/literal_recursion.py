"""The published recursion (Swatman 2022, Eqs. 7-11) as printed, with its subtraction.

Once in plain Python, once compiled: the peer of the benchmarks. Values are 0, 1, 2, ... The sums of
Eq. 10 start at x = 0, and Eq. 11 has the factor n in its support that the paper leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numba
import numpy as np
from numpy.typing import NDArray


def _g(f: Sequence[float], n: int, m: int) -> list[float]:
    """g(x; n, m) for x = 0 ... n·m, Eq. 9."""
    values = [1.0]
    for i in range(1, n + 1):
        before, values = values, [0.0] * (i * m + 1)
        for x in range(i * m + 1):
            for j in range(m + 1):
                if 0 <= x - j < len(before):
                    values[x] += before[x - j] * f[j]
    return values


def literal_joint(f: Sequence[float], n: int) -> dict[tuple[int, int], float]:
    """P(max = a, sum = b): Eq. 7 times Eq. 10."""
    result = {}
    below = 0.0
    for a in range(len(f)):
        most = (below + f[a]) ** n - below**n  # Eq. 7
        below += f[a]
        now = _g(f, n, a)
        past = _g(f, n, a - 1) if a else []
        past += [0.0] * (len(now) - len(past))
        differences = [x - y for x, y in zip(now, past, strict=True)]
        whole = sum(differences[a:])
        for b in range(a, n * a + 1):
            result[a, b] = most * differences[b] / whole if whole else 0.0
    return result


def literal_losses(f: Sequence[float], n: int) -> dict[Fraction, float]:
    """P(X = n·a/b), equal fractions added up: Eq. 11."""
    result: dict[Fraction, float] = {}
    for (a, b), chance in literal_joint(f, n).items():
        if b > 0:
            x = Fraction(n * a, b)
            result[x] = result.get(x, 0.0) + chance
    return result


def compiled_recursion(f: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """P(max = a, sum = b) as an array of shape (len(f), n·(len(f) - 1) + 1)."""
    return _compiled_recursion(np.ascontiguousarray(f, dtype=np.float64), n)


@numba.njit(error_model="numpy", nogil=True, cache=True)
def _compiled_recursion(f: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    size = n * (len(f) - 1) + 1
    result = np.zeros((len(f), size))
    past, now, before = np.zeros(size), np.zeros(size), np.zeros(size)
    below = 0.0
    for a in range(len(f)):
        most = (below + f[a]) ** n - below**n
        below += f[a]
        now[:] = 0.0
        now[0] = 1.0
        for i in range(1, n + 1):
            before, now = now, before
            now[: i * a + 1] = 0.0
            for x in range((i - 1) * a + 1):
                chance = before[x]
                for j in range(a + 1):
                    now[x + j] += chance * f[j]
        whole = 0.0
        for b in range(a, n * a + 1):
            result[a, b] = now[b] - past[b]
            whole += result[a, b]
        for b in range(a, n * a + 1):
            result[a, b] *= most / whole
        past[:] = now
    return result
