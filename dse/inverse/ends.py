"""Between which ends an uncertain input lies, wherever it is read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.inverse.opening import number
from sweeps.grid.grid import Grid
from sweeps.grid.leaf import Leaf
from sweeps.prove.tolerances import Uncertain
from symbolic.errors import DseError

if TYPE_CHECKING:
    from symbolic.quantities import Quantity


def uncertain_input(grid: Grid, row: Quantity, spec: Any) -> Uncertain:
    """Between which ends an input lies, wherever it is read."""
    lows, highs = {}, {}
    for key, leaves in grid.leaves.items():
        leaf = leaves.get(row.name)
        if leaf is None:
            continue
        value = np.asarray(leaf.array, dtype=float)
        low, high = _ends(row, spec, value)
        low, high = (np.clip(end, *_limits(row)) for end in (low, high))
        low, high = (np.where(np.isnan(value), math.nan, end) for end in (low, high))
        if row.domain.whole:
            low, high = np.ceil(low), np.floor(high)
        if np.any((low > value) | (high < value)):
            raise DseError(
                f"within: {row.name} = {spec!r} leaves out the value that the study gives it"
            )
        lows[key] = Leaf(axes=leaf.axes, array=low, switched=leaf.switched)
        highs[key] = Leaf(axes=leaf.axes, array=high, switched=leaf.switched)
    return Uncertain(name=row.name, low=lows, high=highs, whole=row.domain.whole)


def _limits(row: Quantity) -> tuple[float, float]:
    domain = row.domain
    low = np.nextafter(domain.low, math.inf) if domain.low_open else domain.low
    high = np.nextafter(domain.high, -math.inf) if domain.high_open else domain.high
    return float(low), float(high)


def _ends(row: Quantity, spec: Any, value: Any) -> tuple[Any, Any]:
    """``"5 %"``, ``"3 GB/s"`` on either side, or a lower and an upper end."""
    if isinstance(spec, (list, tuple)):
        if len(spec) != 2:
            raise DseError(f"within: {row.name} = {spec!r}: expected a lower and an upper end")
        low, high = (number(end, row) for end in spec)
        if math.isnan(low) or math.isnan(high):
            raise DseError(f"within: {row.name} = {spec!r}: expected a lower and an upper end")
        return np.full_like(value, min(low, high)), np.full_like(value, max(low, high))
    text = spec.replace("±", "").strip() if isinstance(spec, str) else spec
    if isinstance(text, str) and text.endswith("%"):
        try:
            share = float(text[:-1]) / 100
        except ValueError:
            several = "; give each input by itself (--within a=1% --within b=2%)"
            raise DseError(
                f"within: {row.name} = {spec!r}: expected such as '5 %'{several * ('=' in text)}"
            ) from None
        away = np.abs(value) * share
    else:
        away = np.full_like(value, number(text, row))
    if not np.all((away >= 0) & np.isfinite(away) | np.isnan(value)):
        raise DseError(f"within: {row.name} = {spec!r}: expected how far it may be off, 0 or more")
    return value - away, value + away
