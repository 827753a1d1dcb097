"""A tornado: how far each axis moves the mean of an output, the strongest on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, in_unit, legend, rows_of, side
from dse.plots.looks import LOOKS
from dse.plots.sources import Source, dataset, needed
from dse.study.data import StudyData
from sweeps.grid.goals import texts_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["draw", "tornado"]


def tornado(
    source: Source,
    quantity: str,
    *,
    where: str | Sequence[str] = (),
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """How far each axis of a study moves the mean of a quantity, and its share of the variance.

    A bar goes from the least to the largest mean along its axis; beside it stands the share of the
    variance that the axis explains alone, and in all, with what it does together with others. See
    :func:`dse.sensitivity`.

    Parameters
    ----------
    source : Study, or Dataset of one
    quantity : str
        What is drawn across.
    where : str or list of str
        Constraints besides those of the study; points that break one do not count.
    at : mapping, optional
        Values of some axes, which then stand still.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    from dse.verbs.sensitivity import sensitivity

    texts = texts_of(where, "where")
    if at or not isinstance(source, StudyData):
        source = dataset(source, needed(source, quantity, texts), at)
    return draw(sensitivity(source, output=quantity, where=texts), quantity, ax)


def draw(found: xr.Dataset, text: str, ax: Axes | None) -> Axes:
    """Draw one output of a sensitivity analysis."""
    import xarray as xr

    one = found.sel(output=text)
    order = np.argsort(one.low.values - one.high.values, kind="stable")
    moving = [k for k in order if found.sizes[str(one.axis.values[k])] > 1]
    names = [str(one.axis.values[k]) for k in moving]
    low, high = one.low.values[moving], one.high.values[moving]
    ax = axes_of(ax, 6.4, max(2.4, 1.4 + 0.5 * len(names)))
    wide = float(np.ptp([*low, *high, float(one["mean"])])) or 1.0
    least = 0.004 * wide  # seen, however short
    look = LOOKS["performance"].of_area(left=low, label="means along the axis")
    bars = ax.barh(rows_of(ax, names), np.maximum(high - low, least), 0.62, **look)
    shares = zip(one["first"].values[moving], one["total"].values[moving], strict=True)
    ax.bar_label(bars, [f" {a:.0%}, {b:.0%}" for a, b in shares], fontsize=8, padding=2)
    ax.axvline(float(one["mean"]), label="mean", **LOOKS["level"].of_line())
    ax.set_ylabel("axis")
    ax.set_xlim(float(min(low)) - 0.06 * wide, float(max(high)) + 0.2 * wide)
    ends = xr.DataArray([*low, *high], dims="bar", attrs={"units": str(one.unit.values)})
    told = in_unit(f"mean of {text}", str(one.unit.values))
    side(ax.xaxis, ends, f"{told}; share of its variance alone, in all")
    legend(ax, below=True, ncols=2)
    return ax
