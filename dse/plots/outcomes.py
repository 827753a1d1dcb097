"""The distribution function of a random output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, in_unit, legend
from dse.plots.looks import LOOKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dse.study.data import StudyData
    from dse.uncertain.output import OutputLaw

__all__ = ["outcome", "output_law"]


def outcome(
    source: StudyData, quantity: str, *, at: Mapping[str, Any] | None = None, ax: Axes | None = None
) -> Axes:
    """The distribution function of an output at one configuration; see :func:`dse.law`.

    Parameters
    ----------
    source : Study
        With random inputs.
    quantity : str
        What is drawn across.
    at : mapping, optional
        A value for each axis along which it differs.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    from dse.verbs.laws import law as ask

    return output_law(ask(source, quantity, at), ax=ax)


def output_law(law: OutputLaw, *, ax: Axes | None = None) -> Axes:
    """The distribution function of an output, its mean and its middle 90 %.

    Parameters
    ----------
    law : OutputLaw
        From :func:`dse.law`.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    ax = axes_of(ax, 6.4, 4.2)
    color = LOOKS["performance"].color
    levels = np.linspace(0, 1, 513)
    if law.way == "enumerated":
        ax.step(
            np.repeat(law.values, 2)[1:],
            np.repeat(np.cumsum(law.weights), 2)[:-1],
            color=color,
            label=law.text,
        )
    else:
        values = [law.quantile(float(q)) for q in levels[1:-1]]
        ax.plot(values, levels[1:-1], color=color, label=law.text)
    ends = law.quantile(0.05), law.quantile(0.95)
    ax.axvspan(*ends, color=color, alpha=0.15, lw=0, label="middle 90 %")
    ax.axvline(law.mean, label="mean", **LOOKS["level"].of_line())
    ax.set_xlabel(in_unit(law.text, law.unit))
    ax.set_ylabel("chance to be at most this")
    ax.set_ylim(0, 1)
    legend(ax, below=True, ncols=3)
    return ax
