"""Time-lines of the warps of one multiprocessor: what computes, what waits (Hong 2012)."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

from dse.evaluation import evaluate
from dse.plots.frame import axes_of, legend
from dse.plots.looks import LOOKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Box", "schedule", "timeline"]

#: The warp of a box wider than this share of the figure is told in it.
_TOLD = 0.02


class Box(NamedTuple):
    """A period of one warp: in which row, from when to when."""

    row: int
    warp: int
    start: float
    stop: float


def schedule(
    warps: int,
    periods: int,
    comp: float,
    memory: float,
    *,
    mwp: int = 0,
    departure: float = 0.0,
    independent: bool = False,
) -> list[Box]:
    """Periods of warps that compute one at a time, in row 0, and wait for memory side by side.

    Parameters
    ----------
    warps, periods : int
        Warps, each of so many periods of computation that end in a request.
    comp, memory : float
        Lengths of a computation and of a request. [cycles]
    mwp : int
        Requests that memory serves at once; as many as there are where 0.
    departure : float
        Least distance between the departures of two requests. [cycles]
    independent : bool
        Whether a warp goes on before its request is served.

    >>> max(box.stop for box in schedule(8, 1, 1, 3, mwp=2))  # Fig. 6a: two C and four M
    14
    """
    ready: list[tuple[float, int, int]] = [(0, warp, 0) for warp in range(warps)]
    free: list[float] = []  # when each row of memory is
    found: list[Box] = []
    computed, left = 0.0, -departure
    while ready:
        since, warp, period = heappop(ready)
        start = max(since, computed)
        computed = start + comp
        found.append(Box(0, warp, start, computed))
        begin = max(computed, left + departure)
        row = next((k for k, stop in enumerate(free) if stop <= begin), len(free))
        if mwp and row >= mwp:
            row = min(range(mwp), key=free.__getitem__)
            begin = free[row]
        left = begin
        free[row : row + 1] = [begin + memory]
        found.append(Box(row + 1, warp, begin, begin + memory))
        if period + 1 < periods:
            heappush(ready, (computed if independent else begin + memory, warp, period + 1))
    return found


def timeline(
    *,
    warps: int,
    comp: float,
    memory: float,
    periods: int = 1,
    mwp: int = 0,
    departure: float = 0.0,
    independent: bool = False,
    by_equations: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Warps of one multiprocessor on a time-line (Hong 2012, Figs. 6-9, 26, 96-103).

    The title tells the cycles of the time-line; ``by_equations`` those of Eqs. 21 to 23 too.

    Parameters
    ----------
    warps, comp, memory, periods, mwp, departure, independent
        As for :func:`schedule`.
    by_equations : bool
        Whether the cycles by the equations are told.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    found = schedule(
        warps, periods, comp, memory, mwp=mwp, departure=departure, independent=independent
    )
    end = max(box.stop for box in found)
    ax = axes_of(ax, 6.4, 3.0)
    words = {"computation": "computes", "memory": "waits for memory"}
    for box in found:
        meaning = "computation" if box.row == 0 else "memory"
        look = LOOKS[meaning].of_area(alpha=0.5)
        label = words.pop(meaning, None)
        ax.barh(box.row, box.stop - box.start, 0.9, left=box.start, **look, label=label)
        if box.stop - box.start > _TOLD * end:
            patch = {"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.8}
            middle = (box.start + box.stop) / 2
            ax.text(
                middle, box.row, str(box.warp + 1), ha="center", va="center", fontsize=8, bbox=patch
            )
    rows = max(box.row for box in found)
    ax.set_yticks(range(rows + 1), ["computation", *[f"request {k}" for k in range(1, rows + 1)]])
    ax.set_ylim(rows + 0.6, -0.6)
    ax.set_xlim(0, end)
    ax.set_xlabel("time [cycles]")
    ax.set_ylabel("what overlaps")
    text = f"{end:g} cycles"
    if by_equations:
        given: dict[str, Any] = {"comp_cycles": periods * comp, "mem_cycles": periods * memory}
        given |= {"mem_insts": periods, "mwp": min(mwp or warps, warps), "mem_latency": memory}
        ds = evaluate(
            "mwp_cwp", outputs=["exec_cycles"], **given, resident_warps=warps, repetitions=1
        )
        text += f"; {float(ds.exec_cycles):g} by Eqs. 21 to 23"
    ax.set_title(text, fontsize=10)
    legend(ax, below=True, ncols=2)
    return ax
