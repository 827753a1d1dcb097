"""Convert between flat indices and indices along each axis.

NumPy's ``unravel_index`` (2.3 to 2.4) is wrong for arrays of shape (n, 1) with n > 8,192. A test
forbids the use of ``unravel_index`` and ``ravel_multi_index``.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def unravel(flat: ArrayLike, sizes: Sequence[int]) -> tuple[NDArray[np.int64], ...]:
    """Convert flat indices (any shape) to an index along each axis; the last axis varies fastest.

    >>> [index.tolist() for index in unravel([[0], [5]], (2, 3))]
    [[[0], [1]], [[0], [2]]]
    """
    rest = np.asarray(flat, dtype=np.int64)
    split: list[NDArray[np.int64]] = []
    for size in reversed(sizes):
        whole = rest // size
        split.append(rest - whole * size)
        rest = whole
    if rest.any():
        raise IndexError(f"a flat index is outside a grid of {' x '.join(map(str, sizes))}")
    return tuple(reversed(split))


def ravel(index: Sequence[Any], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Convert indices along each axis to flat indices; the inverse of :func:`unravel`.

    >>> ravel(([0, 1], [0, 2]), (2, 3)).tolist()
    [0, 5]
    """
    if math.prod(sizes) > 2**63:
        raise OverflowError(f"{math.prod(sizes):,} places have no flat index of 64 bits")
    flat = np.zeros((), dtype=np.int64)
    for along, size in zip(index, sizes, strict=True):
        along = np.asarray(along, dtype=np.int64)
        if along.size and (along.min() < 0 or along.max() >= size):
            raise IndexError(f"an index is outside an axis of {size} values")
        flat = flat * size + along
    return np.asarray(flat)
