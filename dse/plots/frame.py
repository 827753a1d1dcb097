"""What all figures share: an Axes, names and units on its sides, a legend."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.scales import scale
from symbolic.errors import DseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "axes_of",
    "factors_side",
    "in_unit",
    "legend",
    "name_flags",
    "named",
    "new_figure",
    "number_text",
    "rows_of",
    "side",
    "title",
    "unit_of",
]

#: Units that take a prefix.
_SCALED = ("Hz", "s", "J", "W", "B/s", "B", "J s", "K")
_UNITS = {"degC": "°C", "1": ""}
_WIDE = 42


def new_figure(width: float = 6.4, height: float = 4.2) -> Figure:
    """An empty figure, or an error that tells what to install."""
    try:
        from dse.plots.picture import Picture
    except ImportError as error:
        raise DseError(
            "a figure needs matplotlib, which is not installed: pip install matplotlib"
        ) from error
    return Picture(figsize=(width, height), layout="constrained")


def axes_of(ax: Axes | None, width: float = 6.4, height: float = 4.2) -> Axes:
    """The Axes to draw in: the one given, or that of a new figure."""
    if ax is None:
        ax = new_figure(width, height).subplots()
    elif not hasattr(ax, "get_legend_handles_labels"):
        raise DseError(f"ax = {ax!r} is no Axes: expected one of matplotlib, or None")
    ax.grid(visible=True, color="0.88", lw=0.7)
    ax.set_axisbelow(True)
    return ax


def unit_of(variable: Any) -> str:
    """The unit of a variable for people."""
    unit = str(variable.attrs.get("units", ""))
    return _UNITS.get(unit, unit)


def named(variable: Any, wide: int = _WIDE) -> str:
    """The name of a variable with its unit, for a side of an Axes.

    >>> import xarray as xr
    >>> named(xr.Variable((), 1, {"long_name": "run time", "units": "s"}))
    'run time [s]'
    """
    name = getattr(variable, "name", None)
    text = str(variable.attrs.get("long_name") or name or "")
    return textwrap.fill(in_unit(text, unit_of(variable)), wide)


def in_unit(text: str, unit: str) -> str:
    """A text with its unit behind, where there is one.

    >>> in_unit("time", "s"), in_unit("share", "1")
    ('time [s]', 'share')
    """
    unit = _UNITS.get(unit, unit)
    return f"{text} [{unit}]" if unit else text


def number_text(value: float, unit: str = "") -> str:
    """A number with its unit, with a prefix where the unit takes one.

    >>> number_text(1.3e9, "Hz"), number_text(0.5), number_text(15)
    ('1.3 GHz', '0.5', '15')
    """
    if unit in _SCALED:
        from matplotlib.ticker import EngFormatter

        return str(EngFormatter(unit=unit, sep=" ")(value))
    text = f"{value:,.6g}"
    if unit == "cycle" and value != 1:
        unit = "cycles"
    return f"{text} {unit}" if unit else text


def side(axis: Any, variable: Any, text: str | None = None, wide: int = _WIDE) -> None:
    """Name one side of an Axes after a variable, its unit given; numbers in the unit's prefixes.

    Axes of a study whose values lie apart by a factor are scaled so.
    """
    unit, words = unit_of(variable), text if text is not None else named(variable, wide)
    axis.set_label_text(words)
    values = np.asarray(variable.values)
    if variable.dims == (variable.name,):
        scale(axis, values)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).any():
        return
    from matplotlib.ticker import EngFormatter, FuncFormatter

    most = np.nanmax(np.abs(values[np.isfinite(values)]))
    if unit in _SCALED and not 0.1 <= most < 1e4:
        axis.set_major_formatter(EngFormatter(unit=unit, sep=" "))
        axis.set_label_text(_bare(words, unit))  # each number bears its unit
    elif most >= 1e5:
        axis.set_major_formatter(EngFormatter(sep=" "))
    elif most >= 1e4:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _bare(words: str, unit: str) -> str:
    """The name of a side without its unit, which its numbers bear."""
    return words.removesuffix(f"[{unit}]").rstrip()


def factors_side(axis: Any, variable: Any, span: float) -> None:
    """Name a side of factors after a variable; ``span`` tells how much it spans."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullLocator

    unit = unit_of(variable)
    scaled = unit in _SCALED
    axis.set_label_text(_bare(named(variable), unit) if scaled else named(variable))
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if span < 1e3 else (1,)))
    axis.set_minor_locator(NullLocator())
    plain = FuncFormatter(lambda value, _: f"{value:,.6g}")
    axis.set_major_formatter(EngFormatter(unit=unit, sep=" ") if scaled else plain)


def name_flags(axis: Any, flags: Mapping[int, str], values: Any, wide: int) -> None:
    """Name the values of a bound, case or category that occur, instead of numbers between them."""
    held = [flag for flag in flags if (np.asarray(values) == flag).any()]
    axis.set_ticks(held, [textwrap.fill(f"{flag}: {flags[flag]}", wide) for flag in held])


def rows_of(ax: Axes, names: Sequence[str]) -> Any:
    """Places for bars that lie, the first on top, with their names at the left."""
    places = np.arange(len(names))
    ax.set_yticks(places, list(names))
    ax.set_ylim(len(names) - 0.5, -0.5)
    return places


def title(ax: Axes, text: str, wide: int = 72) -> None:
    """A title of as many lines as it needs."""
    ax.set_title("\n".join(textwrap.wrap(text, wide)), fontsize=10)


def legend(
    ax: Axes, *, heading: str = "", beside: bool = False, below: bool = False, **more: Any
) -> None:
    """A legend where there is more than one thing: within the Axes, beside or below it."""
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) < 2 if "handles" not in more else not more["handles"]:
        return
    given: dict[str, Any] = {"loc": "best", "title": textwrap.fill(heading, 30) or None}
    if beside:
        given |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    if below:  # past the numbers and the name of the side
        pad = 4.6 + 1.6 * ax.get_xlabel().count("\n")
        given |= {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": pad}
    if "handles" not in more:
        given |= {"handles": handles, "labels": labels}
    look: dict[str, Any] = {"fontsize": 8, "title_fontsize": 8, "handlelength": 3.2}
    ax.legend(**(look | {"framealpha": 0.9, "edgecolor": "0.8"} | given | more))
