"""Importance: by how much each input moves a quantity at one configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, legend, rows_of, title
from dse.plots.looks import LOOKS
from dse.plots.sources import Source, counted
from symbolic.errors import InfeasibleError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["importance"]

#: Elasticities below this move nothing; of those above so many are drawn.
_LEAST, _MOST = 1e-4, 12


def importance(
    source: Source, quantity: str, *, at: Mapping[str, Any] | None = None, ax: Axes | None = None
) -> Axes:
    """By how many percent a quantity changes where an input does by one, the strongest on top.

    These are the elasticities of :func:`dse.sensitivity`, towards less and towards more of each
    input: at a border or kink the two differ, and where one is not defined it is left out.

    Parameters
    ----------
    source : Study, or Dataset of one
    quantity : str
        What changes; formulas too.
    at : mapping, optional
        The configuration; axes left out stand in the middle of their values.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    from dse.verbs.sensitivity import sensitivity

    found = sensitivity(source, output=quantity, at=at).sel(output=quantity)
    sides = {"towards less": "elasticity_down", "towards more": "elasticity_up"}
    slopes = np.nan_to_num(np.stack([found[name].values for name in sides.values()]))
    most = np.abs(slopes).max(axis=0)
    most[found.input.values == quantity] = 0.0
    order = [k for k in np.argsort(-most, kind="stable") if most[k] > _LEAST]
    where = counted(found, json.loads(found.attrs["configuration"]))
    if not order:
        raise InfeasibleError(
            f"no elasticity of {quantity} is told at {where}, as of statistics and laws none is: "
            "take tornado, or choose another place by at="
        )
    drawn = order[:_MOST]
    names = [str(found.input.values[k]) for k in drawn]
    ax = axes_of(ax, 6.4, max(2.6, 1.6 + 0.42 * len(names)))
    places = rows_of(ax, names)
    looks = (LOOKS["simulated"], LOOKS["performance"])
    for place, (text, row, look) in enumerate(zip(sides, slopes, looks, strict=True)):
        ax.barh(places + 0.38 * place - 0.19, row[drawn], 0.36, label=text, **look.of_area())
    ax.axvline(0, color="0.3", lw=1)
    ax.set_ylabel("input")
    ax.set_xlabel(f"change of {quantity} for 1 % of the input [%]")
    rest = f"; {len(order) - len(drawn)} weaker are not drawn" if len(order) > len(drawn) else ""
    title(ax, f"at {where}{rest}", 56)
    legend(ax, below=True, ncols=2)
    return ax
