"""Axes of plots: their names, units, scales, ticks, titles and legends."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symbolic.errors import DseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Units that take a prefix.
_SCALED = ("Hz", "s", "J", "W", "B/s", "B", "J s", "K")
_UNITS = {"degC": "°C", "1": ""}
#: Characters of a line of an axis name.
_WIDE = 42
#: Up to this many values of an axis have a tick each.
_TICKS = 8
#: Positive values of a map that span more than this factor get a logarithmic norm.
_SPAN = 30.0
#: Matplotlib has no ticks on a logarithmic scale beyond this, or below its inverse.
_LARGEST = 1e250
#: Most ratio between the factors from value to value, and least factor in all, of a geometric axis.
_EVEN, _FAR = 1.6, 4.0


def new_figure(width: float = 6.4, height: float = 4.2) -> Figure:
    """Return an empty figure, or raise an error that says what to install."""
    try:
        from dse.plots.picture import Picture
    except ImportError as error:
        raise DseError(
            "a figure needs matplotlib, which is not installed: pip install matplotlib"
        ) from error
    return Picture(figsize=(width, height), layout="constrained")


def axes_of(ax: Axes | None, width: float = 6.4, height: float = 4.2) -> Axes:
    """Return ``ax``, or the Axes of a new figure, with a grid."""
    if ax is None:
        ax = new_figure(width, height).subplots()
    elif not hasattr(ax, "get_legend_handles_labels"):
        raise DseError(f"ax = {ax!r} is no Axes: expected one of matplotlib, or None")
    ax.grid(visible=True, color="0.88", lw=0.7)
    ax.set_axisbelow(True)
    return ax


def unit_of(variable: Any) -> str:
    """Return the unit of a variable as people write it."""
    unit = str(variable.attrs.get("units", ""))
    return _UNITS.get(unit, unit)


def named(variable: Any, wide: int = _WIDE) -> str:
    """Return the name of a variable with its unit, wrapped for a side of an Axes.

    >>> import xarray as xr
    >>> named(xr.Variable((), 1, {"long_name": "run time", "units": "s"}))
    'run time [s]'
    """
    text = str(variable.attrs.get("long_name") or getattr(variable, "name", None) or "")
    return textwrap.fill(in_unit(text, unit_of(variable)), wide)


def in_unit(text: str, unit: str) -> str:
    """Return a text with its unit, where there is one.

    >>> in_unit("time", "s"), in_unit("share", "1")
    ('time [s]', 'share')
    """
    unit = _UNITS.get(unit, unit)
    return f"{text} [{unit}]" if unit else text


def _format(form: str) -> Any:
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: format(value, form))


def side(axis: Any, variable: Any, text: str | None = None, *, span: float = 0) -> None:
    """Name one side of an Axes after a variable, and format its numbers.

    An axis of a study whose values are geometric is scaled logarithmically; so is one for which a
    ``span``, the largest value over the least, is given.
    """
    from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

    unit, words = unit_of(variable), text if text is not None else named(variable)
    values = np.asarray(variable.values)
    if variable.dims == (variable.name,) and is_geometric(values):
        _scale(axis, values)
    finite = np.abs(values[np.isfinite(values)]) if values.dtype.kind in "iuf" else np.array([])
    most = finite.max(initial=0)
    if span:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if span < 1e3 else (1,)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(_format(",.6g"))
    if unit in _SCALED and finite.size and (span or not 0.1 <= most < 1e4):
        axis.set_major_formatter(EngFormatter(unit=unit, sep=" "))
        words = words.removesuffix(f"[{unit}]").rstrip()  # each number has its unit
    elif most >= 1e5 and not span:
        axis.set_major_formatter(EngFormatter(sep=" "))
    elif most >= 1e4 and not span:
        axis.set_major_formatter(_format(",.10g"))
    axis.set_label_text(words)


def name_flags(axis: Any, flags: Mapping[int, str], values: Any, wide: int) -> None:
    """Put the names of the cases that occur at their numbers."""
    shown = [flag for flag in flags if (np.asarray(values) == flag).any()]
    axis.set_ticks(shown, [textwrap.fill(f"{flag}: {flags[flag]}", wide) for flag in shown])


def rows_of(ax: Axes, names: Sequence[str]) -> Any:
    """Return the places of horizontal bars, the first on top, and name them at the left."""
    ax.set_yticks(range(len(names)), list(names))
    ax.set_ylim(len(names) - 0.5, -0.5)
    return np.arange(len(names))


def title(ax: Axes, text: str, wide: int = 72) -> None:
    """Set a title of as many lines as it needs."""
    ax.set_title("\n".join(textwrap.wrap(text, wide)), fontsize=10)


def legend(
    ax: Axes, *, heading: str = "", beside: bool = False, below: bool = False, **more: Any
) -> None:
    """Add a legend where there is more than one entry: within the Axes, beside or below it."""
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) < 2 if "handles" not in more else not more["handles"]:
        return
    style: dict[str, Any] = {"loc": "best", "title": textwrap.fill(heading, 30) or None}
    style |= {"fontsize": 8, "title_fontsize": 8, "handlelength": 3.2}
    style |= {"framealpha": 0.9, "edgecolor": "0.8"}
    if beside:
        style |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    if below:  # below the numbers and the name of the side
        pad = 4.6 + 1.6 * ax.get_xlabel().count("\n")
        style |= {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": pad}
    if "handles" not in more:
        style |= {"handles": handles, "labels": labels}
    ax.legend(**(style | more))


# --- scales
def is_geometric(values: Any) -> bool:
    """True if values differ by a factor rather than by a step.

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
    if factors.min() <= 0 or ordered[-1] < _FAR * ordered[0]:
        return False
    ratio = float(factors.max() / factors.min())
    return ratio <= _EVEN and ratio < float(steps.max() / steps.min())


def _scale(axis: Any, values: NDArray[Any]) -> None:
    """Scale one side of an Axes logarithmically, with ticks at values."""
    from matplotlib.ticker import FixedLocator, NullLocator

    ordered = np.sort(np.asarray(values, dtype=float))
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    axis.set_major_locator(FixedLocator(ordered[:: -(-len(ordered) // _TICKS)].tolist()))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(_format(",.10g"))


def norm_of(values: NDArray[Any]) -> Any:
    """Return a logarithmic norm for positive values that span decades, else None."""
    from matplotlib.colors import LogNorm

    finite = values[np.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    fits = low > 1 / _LARGEST and _SPAN * low < high < _LARGEST
    return LogNorm(low, high) if fits else None
