"""Which sums are large enough for a loss: a double stands for all numbers that round to it.

Division of doubles is rounded correctly, so that a loss, the quotient of two whole numbers below
2**53, is compared as it would be printed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stochastic.kernels.jit import jitted

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["least_sums"]


@jitted
def least_sums(
    t: npt.NDArray[np.float64],
    values: npt.NDArray[np.int64],
    lanes: int,
    least: int,
    step: int,
) -> npt.NDArray[np.int64]:
    """Least sum with lanes·value/sum <= t, as a number of steps from ``least``."""
    found = np.empty((len(t), len(values)), dtype=np.int64)
    for i in range(len(t)):
        for a in range(len(values)):
            needed = float(lanes * values[a])
            total = math.ceil(needed / t[i])
            while needed > 0.0 and needed / total > t[i]:
                total += 1.0
            while total > 1.0 and needed / (total - 1.0) <= t[i]:
                total -= 1.0
            found[i, a] = max(-((least - int(total)) // step), 0)
    return found
