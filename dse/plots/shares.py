"""Shares of the power (Hong 2012, ch. 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.bars import places_of
from dse.plots.frame import axes_of, legend, side
from dse.plots.looks import PARTS
from dse.plots.sources import Source, allowed, alone, dataset, finite

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["power_shares"]


def power_shares(
    source: Source,
    *,
    over: str | None = None,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Power by the parts of the machine that draw it, one upon the other (Figs. 36 and 72).

    Parts that draw nothing anywhere are left out.

    Parameters
    ----------
    source : Study, or Dataset of one
        Of ``ipp`` or ``power``, over one axis: bars for labels, areas for numbers.
    over : str, optional
        The axis along which the figure runs.
    at : mapping, optional
        Values of other axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    ds = dataset(source, [*PARTS, "power"], at)
    over = alone(ds, over, "power")
    finite("power", allowed(ds, ds["power"]))
    shares = {name: _spread(ds, name) for name in PARTS}
    drawn = {name: values for name, values in shares.items() if np.nanmax(values) > 0}
    ax = axes_of(ax)
    labels = ds[over].dtype.kind not in "iuf"
    across = places_of(ax, ds, over) if labels else ds[over].values
    base = np.zeros(ds.sizes[over])
    for name, values in drawn.items():
        look = PARTS[name].of_area(label=_part(ds[name]))
        if labels:
            ax.barh(across, values, 0.65, left=base, **look)
        else:
            ax.fill_between(across, base, base + values, **look)
        base = base + values
    side(ax.xaxis if labels else ax.yaxis, ds["power"])
    if not labels:
        side(ax.xaxis, ds[over])
        ax.margins(x=0)
        ax.set_ylim(bottom=0)
    handles, texts = ax.get_legend_handles_labels()
    legend(ax, beside=True, handles=handles[::-1], labels=texts[::-1], heading="share of the power")
    return ax


def _spread(ds: xr.Dataset, name: str) -> Any:
    """A share at each place, also where it does not vary; nothing where it is not allowed."""
    array = allowed(ds, ds[name].broadcast_like(ds["power"]))
    return np.nan_to_num(array.values)


def _part(variable: Any) -> str:
    """The name of a share without what is the same for all."""
    return str(variable.attrs.get("long_name", variable.name)).removeprefix("share of the power: ")
