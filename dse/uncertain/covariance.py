"""A root of a covariance matrix, by which normal numbers are correlated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from symbolic.errors import DseError

__all__ = ["root_of"]

Floats = NDArray[np.float64]

#: The least eigenvalue of a matrix that rounding may have made.
_NEGATIVE = -1e-9


def root_of(matrix: Floats, names: Sequence[str], where: str) -> Floats:
    """A matrix whose product with its transpose is a covariance or correlation matrix.

    Raises
    ------
    DseError
        It is none: not symmetric, or some combination of quantities would have a negative variance.
    """
    if matrix.shape != (len(names), len(names)) or not np.all(np.isfinite(matrix)):
        raise DseError(
            f"{where}: a matrix of shape {matrix.shape}, expected one finite row and column for "
            f"each of {', '.join(names)}"
        )
    scale = np.sqrt(np.abs(np.diag(matrix)))
    scale[scale == 0] = 1
    even = matrix / np.outer(scale, scale)
    if not np.allclose(even, even.T, atol=1e-8, rtol=0):
        raise DseError(f"{where}: the matrix is not symmetric: expected that [a, b] is [b, a]")
    values, vectors = np.linalg.eigh((even + even.T) / 2)
    if values[0] < _NEGATIVE:
        raise DseError(
            f"{where}: no such laws exist, for a combination of {', '.join(names)} would have a "
            f"negative variance (the least eigenvalue is {values[0]:.3g}): bring the correlations "
            "nearer to 0"
        )
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0)))
