"""Points of one quantity against another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, legend
from dse.plots.looks import LOOKS, looks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["points"]


def points(
    *,
    points: Sequence[Sequence[Any]],
    across: str,
    up: str,
    fit: bool = False,
    diagonal: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Pairs of numbers, those of a label with a mark of their own; a line of least squares.

    Parameters
    ----------
    points : sequence
        Each across, upwards, and a label if it has one.
    across, up : str
        The names of both sides, with units.
    fit, diagonal : bool
        Whether to draw the line of least squares, and that on which both are the same.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    ax = axes_of(ax)
    x, y = (np.array([point[k] for point in points]) for k in (0, 1))
    labels = [str(point[2]) if len(point) > 2 else "each" for point in points]
    names = list(dict.fromkeys(labels))
    for name, look in zip(names, looks_of(names), strict=True):
        of = np.array(labels) == name
        ax.plot(x[of], y[of], label=name if len(names) > 1 else None, **look.of_mark(7))
    ends = np.array([x.min(), x.max()])
    if fit:
        slope, offset = np.polyfit(x, y, 1)
        share = np.corrcoef(x, y)[0, 1] ** 2
        text = f"least squares: {offset:.4g} + {slope:.4g} x, r² = {share:.4f}"
        ax.plot(ends, offset + slope * ends, label=text, **LOOKS["result"].of_line(lw=1.4))
    if diagonal:
        ax.plot(ends, ends, label="the same", **LOOKS["level"].of_line())
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    legend(ax)
    return ax
