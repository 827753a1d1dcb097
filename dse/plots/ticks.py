"""Choose ticks whose labels do not overlap, whatever the size of the figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator, FuncFormatter, Locator

#: Minimum distance of two labels on the x and on the y axis, in heights of their font.
_GAPS = {"x": 0.8, "y": 0.4}
#: Command in the labels that matplotlib writes for powers of ten.
_FORMULA = "\\mathdefault"


class FittingLocator(Locator):
    """Locator of every tick of the first locator whose labels fit, or else of each n-th tick."""

    def __init__(self, base: Locator, *coarser: Locator) -> None:
        self.base, self.coarser = base, coarser

    def set_axis(self, axis: Any) -> None:
        """Set the axis of all locators."""
        super().set_axis(axis)
        for locator in (self.base, *self.coarser):
            locator.set_axis(axis)

    def __call__(self) -> Any:
        """Return the positions of the ticks whose labels fit."""
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        for locator in (self.base, *self.coarser):
            places = np.asarray(locator(), dtype=float)
            shown = places[(places >= low) & (places <= high)]
            if has_room(axis, shown):
                return shown
        for step in range(2, len(shown)):
            if has_room(axis, shown[::step]):
                return shown[::step]
        return shown[:1]

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the positions of the other locator's ticks."""
        return self.base.tick_values(vmin, vmax)

    def nonsingular(self, v0: float, v1: float) -> tuple[float, float]:
        """Return the limits to use if both limits of an axis are equal."""
        return self.base.nonsingular(v0, v1)

    def view_limits(self, vmin: float, vmax: float) -> tuple[float, float]:
        """Return the limits of an axis."""
        return self.base.view_limits(vmin, vmax)


def has_room(axis: Any, places: Sequence[float]) -> bool:
    """True if the labels of ticks at these positions do not overlap."""
    name = axis.axis_name
    side = axis.axes.bbox.width if name == "x" else axis.axes.bbox.height
    scaled = axis.get_transform().transform(np.asarray(places, dtype=float))
    first, last = axis.get_transform().transform(np.asarray(axis.get_view_interval(), dtype=float))
    if not (np.isfinite(scaled).all() and first != last):
        return True
    points = 72 * side / axis.get_figure(root=True).dpi
    at = np.abs(scaled - first) / abs(last - first) * points
    size = axis.get_tick_params().get("labelsize", rcParams[f"{name}tick.labelsize"])
    font_size = float(FontProperties(size=size).get_size_in_points())
    texts = axis.get_major_formatter().format_ticks(places)
    lengths = np.array([_label_size(text, font_size)["xy".index(name)] for text in texts])
    needed = (lengths[1:] + lengths[:-1]) / 2 + _GAPS[name] * font_size
    return bool((np.abs(np.diff(at)) >= needed).all())


@lru_cache(maxsize=4096)
def _label_size(text: str, font_size: float) -> tuple[float, float]:
    font = FontProperties(size=font_size)
    lines = text.split("\n")
    sizes = [text_to_path.get_text_width_height_descent(o, font, _FORMULA in o) for o in lines]
    return max(size[0] for size in sizes), len(lines) * max(size[1] for size in sizes)


def has_names(axis: Any) -> bool:
    """True if the ticks of an axis have names, so that their positions must not change."""
    formatter = axis.get_major_formatter()
    is_fixed = isinstance(axis.get_major_locator(), FixedLocator)
    return is_fixed and isinstance(formatter, FuncFormatter) and not formatter(math.nan)


def fit_ticks(axis: Any) -> None:
    """Show only the numbers that fit on an axis; rotate names that do not fit."""
    locator = axis.get_major_locator()
    if not has_names(axis):
        if not isinstance(locator, FittingLocator):
            axis.set_major_locator(FittingLocator(locator))
    elif axis.axis_name == "x" and not has_room(axis, locator()):
        for label in axis.get_ticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")
