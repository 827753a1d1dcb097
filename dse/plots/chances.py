"""Figures of a choice where inputs are random: who can be best, what knowing is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, in_unit, legend, rows_of
from dse.plots.looks import LOOKS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from dse.study.data import StudyData

__all__ = ["chances", "worth"]

#: Bars of a figure at most.
_BARS = 12


def chances(
    source: StudyData,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    ax: Axes | None = None,
) -> Axes:
    """The chance of each configuration to be the best, and its regret; see :func:`dse.chances`.

    Parameters
    ----------
    source : Study, or Dataset along ``draw`` or ``run``
    minimize, maximize : str
        What decides.
    where : str or list of str
        Constraints besides those of the study.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    from dse.verbs.uncertain import chances as ask

    found = ask(source, minimize=minimize, maximize=maximize, where=where)
    shown = found.isel(rank=slice(_BARS))
    names = [_named(shown, k) for k in range(shown.sizes["rank"])]
    ax = _bars(names, shown.chance.values, shown.chance_error.values, "chance to be the best", ax)
    unit = str(found.regret.attrs.get("units", "1"))
    for place, regret in enumerate(shown.regret.values.tolist()):
        text = f"{regret:.3g}" + (f" {unit}" if unit != "1" else "")
        end = float(shown.chance[place] + np.nan_to_num(shown.chance_error[place]))
        ax.annotate(f" {text}", (end, place), va="center", fontsize=8)
    ax.set_xlim(0, 1.25 * float(np.nanmax(shown.chance + shown.chance_error)))
    left = float(found.left + found.chance.isel(rank=slice(_BARS, None)).sum())
    ax.set_xlabel(f"chance to be the best; regret beside it; left to others {left:.2g}")
    ax.set_title(str(found.attrs["question"]), fontsize=9)
    return ax


def worth(
    source: StudyData,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    ax: Axes | None = None,
) -> Axes:
    """A tornado of what knowing each input is worth (EVPPI), and all of them (EVPI).

    Parameters
    ----------
    source : Study
        With random inputs; see :func:`dse.information`.
    minimize, maximize : str
        What decides, on average.
    where : str or list of str
        Constraints besides those of the study.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    from dse.verbs.information import information

    found = information(source, minimize=minimize, maximize=maximize, where=where)
    order = np.argsort(-found.evppi.values, kind="stable")
    names = [str(name) for name in found["set"].values[order]]
    label = "worth of knowing an input (EVPPI)"
    ax = _bars(names, found.evppi.values[order], found.evppi_error.values[order], label, ax)
    ax.axvline(float(found.evpi), label="of knowing all (EVPI)", **LOOKS["level"].of_line())
    unit = str(found.evppi.attrs["units"])
    ax.set_xlabel(in_unit(label, unit))
    ax.set_xlim(0, 1.1 * max(float(found.evpi + found.evpi_error), 1e-300))
    ax.set_title(f"{found.attrs['question']}: measure {found.attrs['next']}", fontsize=9)
    legend(ax, below=True, ncols=2)
    return ax


def _bars(names: Sequence[str], values: Any, errors: Any, label: str, ax: Axes | None) -> Axes:
    """Horizontal bars with their errors, the first on top."""
    ax = axes_of(ax, 6.4, max(2.4, 1.4 + 0.4 * len(names)))
    look = LOOKS["performance"].of_area(xerr=np.nan_to_num(errors), capsize=2, label=label)
    ax.barh(rows_of(ax, names), values, 0.62, **look)
    return ax


def _named(found: xr.Dataset, rank: int) -> str:
    """A configuration in words."""
    one = found.isel(rank=rank)
    names = [str(n) for n in found.coords if n != "rank" and found[n].dims == ("rank",)]
    values = [(name, one[name].item()) for name in names]
    texts = (f"{n} = {v:g}" if isinstance(v, float) else f"{n} = {v}" for n, v in values)
    return ", ".join(texts) or "the only one"
