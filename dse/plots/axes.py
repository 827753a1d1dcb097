"""Format the Axes of plots: names, units, scales, ticks, titles and legends."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.plots.style import font_scale
from symbolic.answer import PREFIXED_UNITS, common_prefix
from symbolic.errors import DseError
from symbolic.quantities import TABLE, text_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PREFIXED_UNITS = (*PREFIXED_UNITS, "K")
_UNIT_SYMBOLS = {"degC": "°C", "1": ""}
_LABEL_WIDTH = 42  # Maximum number of characters per line of an axis label.
#: Maximum number of ticks of a logarithmic axis; each tick is at a value of the axis.
_MAX_TICKS = 8
#: Digits of a tick label that is not a whole number.
_TICK_DIGITS = 4
#: Whole numbers below this limit are written in full in a tick label.
_MAX_WHOLE = 1e9
#: Colours of a map are logarithmic if the largest value exceeds the smallest by this factor.
_LOG_COLOR_RATIO = 10.0
#: Matplotlib draws no ticks on a logarithmic scale above this value or below its inverse.
_MAX_LOG_COLOR = 1e250
#: Ratios of neighbours on a geometric axis differ at most by this factor.
_MAX_FACTOR_RATIO = 1.6
#: A geometric axis has at least this ratio of its largest to its smallest value.
_MIN_LOG_RATIO = 4.0
#: A logarithmic axis of fewer decades has ticks at equal steps.
_LEAST_DECADES = 0.5
#: Ticks of a logarithmic axis that begins below this value have prefixes, such as 5 ms.
_LEAST_PLAIN = 0.01
#: Label of an Axes whose scales ``--log`` leaves as they are.
LINEAR = "<linear>"


def new_figure(width: float = 6.4, height: float = 4.2) -> Figure:
    """Return an empty figure, larger if the font is; DseError names the package that is missing."""
    grown = max(1.0, font_scale()) ** 0.5  # text still grows more than the figure
    from dse.plots.notebook_figure import NotebookFigure

    return NotebookFigure(figsize=(grown * width, grown * height), layout="constrained")


def axes_of(ax: Axes | None, width: float = 6.4, height: float = 4.2) -> Axes:
    """Return ``ax`` with grid lines; if ``ax`` is None, return the Axes of a new figure."""
    if ax is None:
        ax = new_figure(width, height).subplots()
    elif not hasattr(ax, "get_legend_handles_labels"):
        raise DseError(f"ax = {ax!r}: expected an Axes of matplotlib, or None")
    ax.grid(visible=True, color="0.88", lw=0.7)
    ax.set_axisbelow(True)
    return ax


def split_axes(first: Axes, down: int, across: int, count: int | None = None) -> list[Axes]:
    """Replace an Axes by ``count`` panels in ``down`` rows of ``across``, and return the panels."""
    if down * across == 1:
        return [first]
    figure, place = first.figure, first.get_subplotspec()
    if place is None:
        raise DseError("ax belongs to no grid of subplots: leave it out")
    grid = place.subgridspec(down, across)
    first.remove()
    return [figure.add_subplot(grid[divmod(k, across)]) for k in range(count or down * across)]


def unit_of(variable: Any) -> str:
    """Return the unit of a variable as shown to the user: ``degC`` as °C, ``1`` as nothing."""
    unit = text_unit(str(variable.name), str(variable.attrs.get("units", "")))
    return _UNIT_SYMBOLS.get(unit, unit)


def axis_label(variable: Any, width: int = _LABEL_WIDTH) -> str:
    """Return the name of a variable with its unit, wrapped to lines of ``width`` characters."""
    text = str(variable.attrs.get("long_name") or getattr(variable, "name", None) or "")
    return fold(label_with_unit(text, unit_of(variable)), width)


def fold(text: str, width: int) -> str:
    """Wrap a text to lines of ``width`` characters, or fewer if the style has a larger font."""
    joined = text.replace(" = ", "\N{NBSP}=\N{NBSP}")  # an equation stays on one line
    return textwrap.fill(joined, max(8, int(width / font_scale()))).replace("\N{NBSP}", " ")


def label_with_unit(text: str, unit: str) -> str:
    """Return a text followed by its unit in brackets, if there is a unit."""
    unit = _UNIT_SYMBOLS.get(unit, unit)
    return f"{text} [{unit}]" if unit else text


def quantity_array(values: Any, text: str, unit: str, dim: str = "drawn") -> Any:
    """Return values as an array with the meaning and unit of a quantity, or with a formula."""
    import xarray as xr

    words = TABLE[text].meaning if text in TABLE else text
    attrs = {"units": unit, "long_name": words}
    return xr.DataArray(np.asarray(values), dims=dim, name=dim, attrs=attrs)


def _number_formatter(form: str) -> Any:
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: format(value, form))


def short_number(value: float) -> str:
    """Return a number as the label of a tick; numbers that are not whole are rounded.

    >>> [short_number(value) for value in (65536, 0.348636521, 2.1544347e-7)]
    ['65,536', '0.3486', '2.154e-07']
    """
    is_whole = float(value).is_integer() and abs(value) < _MAX_WHOLE
    return f"{value:,.0f}" if is_whole else f"{value:.{_TICK_DIGITS}g}"


def format_axis(axis: Any, variable: Any, text: str | None = None, *, span: float = 0) -> None:
    """Label the x or y axis of an Axes with a variable, and format the numbers at its ticks.

    The scale is logarithmic if the variable is an axis of a study with geometric values, or if
    ``span``, the ratio of the largest to the smallest value, is given.
    """
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullLocator

    from dse.plots.ticks import fit_ticks

    unit, words = unit_of(variable), text if text is not None else axis_label(variable)
    values = np.asarray(variable.values)
    if variable.dims == (variable.name,) and is_geometric(values):
        _set_log_scale(axis, values)
    finite = np.abs(values[np.isfinite(values)]) if values.dtype.kind in "iuf" else np.array([])
    most = finite.max(initial=0)
    if span:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if span < 1e3 else (1,)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(_number_formatter(",.6g"))
    if unit in _PREFIXED_UNITS and finite.size and (span or not 0.1 <= most < 1e4):
        several, (factor, letters) = EngFormatter(unit=unit, sep=" "), common_prefix([most], unit)

        def label(value: float, _: int) -> str:
            one_prefix = f"{value / factor:.6g} {letters}{unit}"  # unless the scale has decades
            has_decades = axis.get_scale() == "log" and not math.isnan(value)
            return several(value) if has_decades or not value else one_prefix

        axis.set_major_formatter(FuncFormatter(label))
        words = words.removesuffix(f"[{unit}]").rstrip()  # the number at each tick has the unit
    elif most >= 1e5 and not span:
        axis.set_major_formatter(EngFormatter(sep=" "))
    elif most >= 1e4 and not span:
        axis.set_major_formatter(_number_formatter(",.10g"))
    axis.set_label_text(words)
    fit_ticks(axis)


def name_flags(axis: Any, flags: Mapping[int, str], values: Any, width: int) -> None:
    """Set a tick with the name of the case at each case number that occurs in ``values``."""
    shown = [flag for flag in flags if (np.asarray(values) == flag).any()]
    axis.set_ticks(shown, [fold(f"{flag}: {flags[flag]}", width) for flag in shown])


def label_rows(ax: Axes, names: Sequence[str]) -> Any:
    """Label rows of horizontal bars, the first on top; return their vertical positions."""
    ax.set_yticks(range(len(names)), list(names))
    ax.set_ylim(len(names) - 0.5, -0.5)
    return np.arange(len(names))


def set_title(ax: Axes, text: str, width: int = 64) -> None:
    """Set a title, each line wrapped to lines of at most ``width`` characters."""
    ax.set_title("\n".join(fold(line, width) for line in text.split("\n")), fontsize="medium")


def add_legend(
    ax: Axes, *, heading: str = "", at_right: bool = False, at_bottom: bool = False, **more: Any
) -> None:
    """Add a legend if it has several entries: inside the Axes, at its right, or below it."""
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) < 2 if "handles" not in more else not more["handles"]:
        return
    style: dict[str, Any] = {"loc": "best", "title": fold(heading, 30) or None}
    style |= {"fontsize": "small", "title_fontsize": "small", "handlelength": 3.2}
    style |= {"framealpha": 0.9, "edgecolor": "0.8"}
    if at_right:
        style |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    if at_bottom:
        # borderaxespad is in font sizes of the legend
        box = ax.xaxis.get_tightbbox() or ax.bbox
        depth = 72 / ax.figure.dpi * (ax.bbox.y0 - box.y0)
        pad = depth / (8.33 * font_scale()) + 0.4
        style |= {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": pad}
    if "handles" not in more:
        style |= {"handles": handles, "labels": labels}
    legend = ax.legend(**(style | more))
    is_wide = legend.get_window_extent().width > 1.15 * ax.bbox.width
    if at_bottom and is_wide and font_scale() > 1:
        ax.legend(**(style | more | {"ncols": 1}))  # else the layout has no room for the Axes


def is_geometric(values: Any) -> bool:
    """True if neighbouring values differ by a similar factor rather than by a similar step.

    >>> is_geometric([1, 10, 100]), is_geometric([1, 2, 5, 10, 20]), is_geometric(range(1, 31))
    (True, True, False)
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or array.ndim != 1 or array.size < 3:
        return False
    if not (np.isfinite(array).all() and array.min() > 0):
        return False
    ordered = np.sort(array.astype(float))
    steps, factors = np.diff(ordered), np.diff(np.log(ordered))
    if factors.min() <= 0 or ordered[-1] < _MIN_LOG_RATIO * ordered[0]:
        return False
    ratio = float(factors.max() / factors.min())
    return ratio <= _MAX_FACTOR_RATIO and ratio < float(steps.max() / steps.min())


def _set_log_scale(axis: Any, values: NDArray[Any]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ordered = np.sort(np.asarray(values, dtype=float))
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    axis.set_major_locator(FixedLocator(ordered[:: -(-len(ordered) // _MAX_TICKS)].tolist()))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))


def use_log_scale(ax: Axes, sides: str) -> None:
    """Scale the sides ``x``, ``y`` or ``xy`` of an Axes logarithmically, or raise DseError."""
    from matplotlib import ticker

    from dse.plots.ticks import FittingLocator, fit_ticks, has_names

    for axis in (getattr(ax, f"{side}axis") for side in sides):
        name, form = axis.axis_name, axis.get_major_formatter()
        low, least = float(ax.dataLim.min["xy".index(name)]), axis.get_minpos()
        reason = ""
        if has_names(axis):
            reason = "has names, not numbers"
        elif low < 0 or (low == 0 and not ax.patches) or not math.isfinite(least):
            reason = f"begins at {low:.4g}, and only positive numbers have a logarithm"
        if reason:
            raise DseError(f"--log {name}: this side of the figure {reason}; leave out {name}")
        if axis.get_scale() != "log":
            getattr(ax, f"set_{name}scale")("log")
            if min(axis.get_view_interval()) <= 0:  # fixed limits of a linear scale
                getattr(ax, f"set_{name}lim")(least / 1.1)
            decades = np.ptp(np.log10(axis.get_view_interval()))
            steps = ((1, 2, 5), (1, 3), (1,)) if decades < 3.5 else ((1,),)
            logs = FittingLocator(*(ticker.LogLocator(subs=subs) for subs in steps))
            axis.set_major_locator(ticker.AutoLocator() if decades < _LEAST_DECADES else logs)
            axis.set_minor_formatter(ticker.NullFormatter())
            if type(form) is ticker.ScalarFormatter:
                form = ticker.FuncFormatter(lambda value, _: short_number(value))
                words, _, unit = axis.get_label_text().removesuffix("]").rpartition("[")
                if unit in _PREFIXED_UNITS and min(axis.get_view_interval()) < _LEAST_PLAIN:
                    form = ticker.EngFormatter(unit=unit, sep=" ")
                    axis.set_label_text(words.rstrip())
            axis.set_major_formatter(form)
            fit_ticks(axis)


def log_norm(values: NDArray[Any], ratio: float = _LOG_COLOR_RATIO) -> Any:
    """Return a logarithmic norm if values are positive and span over ``ratio``; otherwise None."""
    from matplotlib.colors import LogNorm

    finite = values[np.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    fits = low > 1 / _MAX_LOG_COLOR and ratio * low < high < _MAX_LOG_COLOR
    return LogNorm(low, high) if fits else None
