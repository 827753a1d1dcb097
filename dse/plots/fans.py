"""Quantiles of a random output along an axis, as a fan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, in_unit, legend
from dse.plots.looks import LOOKS
from symbolic.errors import DseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dse.study.data import StudyData

__all__ = ["fan"]

#: The bands, the widest first.
_BANDS = ((0.05, 0.95), (0.25, 0.75))


def fan(
    source: StudyData,
    quantity: str,
    *,
    over: str,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The median of an output and its middle 50 and 90 %, along an axis.

    Parameters
    ----------
    source : Study
        With random inputs.
    quantity : str
        What is drawn upwards.
    over : str
        The axis across.
    at : mapping, optional
        A value for each other axis along which it differs.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    from dse.study.data import StudyData
    from dse.verbs.laws import law as ask

    if not isinstance(source, StudyData):
        raise DseError("a fan is drawn of a study with random inputs: give its file, or the Study")
    known = source.grid().axes
    if over not in known:
        raise DseError(f"over = {over!r} is no axis of the study; its axes are: {', '.join(known)}")
    across = known[over].coordinate
    given = dict(at or {})
    laws = [ask(source, quantity, {**given, over: value}) for value in across.tolist()]
    ax = axes_of(ax, 6.4, 4.2)
    numbers = across if across.dtype.kind in "if" else np.arange(across.size)
    color = LOOKS["performance"].color
    for strength, (low, high) in zip((0.2, 0.4), _BANDS, strict=True):
        below, above = ([one.quantile(q) for one in laws] for q in (low, high))
        label = f"{high - low:.0%}"
        ax.fill_between(numbers, below, above, color=color, alpha=strength, lw=0, label=label)
    ax.plot(numbers, [one.quantile(0.5) for one in laws], color=color, label="median")
    if numbers is not across:
        ax.set_xticks(numbers, [str(value) for value in across])
    ax.set_xlabel(over)
    ax.set_ylabel(in_unit(quantity, laws[0].unit))
    legend(ax, below=True, ncols=3)
    return ax
