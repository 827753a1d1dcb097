"""An order of rows in which neighbours are alike, so that boxes of neighbours are bounded well."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.boxes import Indices

__all__ = ["alike"]

#: Rows up to which halves of halves are ordered, to which size of pieces.
_ORDERED, _PIECE = sizes.ALIKE_ORDERED, sizes.ALIKE_PIECE


def alike(rows: NDArray[np.float64], late: Callable[[], bool] = bool) -> Indices:
    """An order in which each half of each half ... holds rows that are alike.

    Once it is ``late``, the pieces left stay as they are.
    """
    count = rows.shape[1]
    # what is above zero by its share, anything else by its share of the range
    positive = (rows > 0).all(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        scaled = np.where(positive, np.log(rows), rows)
    scaled = np.nan_to_num(scaled, nan=0.0, posinf=1e300, neginf=-1e300)
    reach = np.ptp(scaled, axis=1, keepdims=True)
    scaled = scaled / np.where(positive | (reach == 0), 1.0, reach)
    order = np.lexsort(scaled[::-1])
    if count > _ORDERED:
        return order
    stack = [(0, count)]
    while stack and not late():
        low, high = stack.pop()
        if high - low <= _PIECE:
            continue
        part = order[low:high]
        values = scaled[:, part]
        column = values[int(np.argmax(np.ptp(values, axis=1)))]
        order[low:high] = part[np.argsort(column, kind="stable")]
        mid = (low + high - 1) // 2 + 1
        stack += [(low, mid), (mid, high)]
    return order
