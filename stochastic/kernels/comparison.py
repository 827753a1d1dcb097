"""Which sums are large enough for a loss, decided exactly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stochastic.kernels.jit import jitted

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["least_sums"]


@jitted
def _at_least(total: float, t: float, needed: float) -> bool:
    """Whether total·t >= needed, exactly: the product with its rounding (Dekker 1971)."""
    product = total * t
    if product != needed:
        return product > needed
    x = 134217729.0 * total
    a = x - (x - total)
    b = total - a
    x = 134217729.0 * t
    c = x - (x - t)
    d = t - c
    return ((a * c - product) + a * d + b * c) + b * d >= 0.0


@jitted
def least_sums(
    t: npt.NDArray[np.float64],
    values: npt.NDArray[np.int64],
    lanes: int,
    least: int,
    step: int,
) -> npt.NDArray[np.int64]:
    """Least sum with lanes·value/sum <= t, exactly, as a number of steps from ``least``."""
    found = np.empty((len(t), len(values)), dtype=np.int64)
    for i in range(len(t)):
        for a in range(len(values)):
            needed = float(lanes * values[a])
            total = math.ceil(needed / t[i])
            if not _at_least(total, t[i], needed):
                total += 1.0
            elif _at_least(total - 1.0, t[i], needed):
                total -= 1.0
            found[i, a] = max(-((least - int(total)) // step), 0)
    return found
