"""Which case holds where: the map of a study's own case or bound, with its borders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dse.plots.maps import heatmap
from dse.study.data import StudyData
from symbolic.errors import DseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dse.plots.sources import Source

__all__ = ["regimes"]


def regimes(
    source: Source,
    *,
    over: str | None = None,
    by: str | None = None,
    where: str | Sequence[str] = (),
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Which case, bound, category or limiter holds over two axes, with the borders between them.

    Shown is the first of the study's outputs that names one, else the first behind them.

    Parameters
    ----------
    source : Study
    over, by, where, at, ax
        As for :func:`heatmap`.
    """
    if not isinstance(source, StudyData):
        raise DseError(
            "regimes are drawn of the study of one model, whose equations tell the borders: of "
            "results take a heatmap of a case"
        )
    grid = source.grid()
    known = (*grid.outputs, *next(iter(grid.graphs.values())).definitions)
    named = next((name for name in known if grid.flags(name)), None)
    if named is None:
        raise DseError(
            f"nothing that the study yields of {source.model} is a case, bound, category or "
            "limiter: name one among its outputs, or take a heatmap of a number"
        )
    source = replace(source, outputs=(named,), best=None)
    given: dict[str, Any] = {"over": over, "by": by, "where": where, "at": at, "ax": ax}
    return heatmap(source, named, borders=named, **given)
