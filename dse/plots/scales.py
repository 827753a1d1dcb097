"""Scales of axes: by a factor where the values of an axis are, and maps that span decades."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["by_factor", "norm_of", "scale"]

#: Up to this many values of an axis are told each.
_TOLD = 8
#: Maps of positive values that differ by more than this are told by their factors.
_SPAN = 30.0
#: How much the factors from value to value may differ, and how far they must lead in all.
_EVEN, _FAR = 1.6, 4.0


def by_factor(values: Any) -> bool:
    """Whether values lie apart by a factor rather than by a step.

    >>> by_factor([1, 10, 100, 1000]), by_factor([1, 2, 5, 10, 20]), by_factor(range(1, 31))
    (True, True, False)
    """
    found = np.asarray(values)
    if found.dtype.kind not in "iuf" or found.ndim != 1 or found.size < 3:
        return False
    if not (np.isfinite(found).all() and found.min() > 0):
        return False
    ordered = np.sort(found.astype(float))
    steps, factors = np.diff(ordered), np.diff(np.log(ordered))
    if factors.min() <= 0 or ordered[-1] < _FAR * ordered[0]:
        return False
    even = float(factors.max() / factors.min())
    return even <= _EVEN and even < float(steps.max() / steps.min())


def scale(axis: Any, values: Any) -> None:
    """Scale one side of an Axes by factors where the values of its axis lie so."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    if not by_factor(values):
        return
    told = np.sort(np.asarray(values, dtype=float))
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    axis.set_major_locator(FixedLocator(told[:: -(-len(told) // _TOLD)].tolist()))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def norm_of(values: NDArray[Any]) -> Any:
    """By factors where positive values span decades; None, so that it is by steps, elsewhere."""
    from matplotlib.colors import LogNorm

    found = values[np.isfinite(values)]
    low, high = float(found.min()), float(found.max())
    return LogNorm(low, high) if low > 0 and high > _SPAN * low else None
