"""The law of a loss: mass over bins, atoms, distribution function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, legend, new_figure, rows_of
from dse.plots.looks import LOOKS
from symbolic.errors import DseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stochastic import Law

__all__ = ["law", "law_figure", "lockstep"]

_BINS = 60
#: Above this many outcomes of (max, sum) atoms are neither computed for a picture nor told apart.
_OUTCOMES = 20_000_000
_DRAWN = 4_000
_EXACT, _SIMULATED, _MARK = (LOOKS[name].color for name in ("exact", "simulated", "result"))


def law_figure(law: Law, *, groups: int = 100_000, seed: int = 0) -> Figure:
    """The law of a loss: mass over bins with the simulated histogram, its atoms, and the CDF.

    Parameters
    ----------
    law : Law
        From :func:`stochastic.imbalance`.
    groups : int
        Groups that are simulated for comparison.
    seed : int
        Of the simulation.

    Raises
    ------
    DseError
        Where matplotlib is not installed.
    """
    drawn = law.sample(groups, seed=seed)
    edges = _edges(law)
    span = max(edges[-1] - edges[0], 1e-6)
    figure = new_figure(11, 3.8)
    mass, atoms, total = figure.subplots(1, 3)
    _masses(mass, law, edges, drawn)
    _atoms(atoms, law, edges)
    _cdf(total, law, edges, drawn)
    for panel in (mass, atoms, total):
        panel.set_xlim(edges[0] - 0.03 * span, edges[-1] + 0.03 * span)
        panel.set_xlabel("loss of a group")
        panel.grid(visible=True, color="0.9", lw=0.7)
        panel.set_axisbelow(True)
    figure.suptitle(f"{law.source!r} in {law.lanes} lanes")
    return figure


def _edges(law: Law) -> Any:
    """The bins over all but the rarest losses."""
    low, high = (float(law.quantile(q)) for q in (1e-4, 1 - 1e-4))
    edges = np.linspace(low, max(high, low + 1e-9), _BINS + 1)
    edges[0] = np.nextafter(edges[0], 0)  # a bin holds its upper edge
    return edges


def law(
    *, distribution: str = "", lanes: int | str = 32, groups: int = 100_000, ax: Axes | None = None
) -> Axes:
    """The law of what lockstep costs over bins, beside a simulation (Swatman 2022, Fig. 2).

    Parameters
    ----------
    distribution : str
        The law of the work of one item, such as ``"geometric:0.05"``.
    lanes : int
        Threads in lockstep.
    groups : int
        Groups that are simulated for comparison.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    from stochastic import Pmf, imbalance

    if not distribution or not str(lanes).isdecimal():
        raise DseError(
            f"distribution = {distribution!r}, lanes = {lanes!r}: expected a law of the work of an "
            "item and a whole number, such as --set distribution=geometric:0.05 --set lanes=32"
        )
    found = imbalance(Pmf.parse(distribution), lanes=int(lanes))
    ax = axes_of(ax)
    _masses(ax, found, _edges(found), found.sample(groups, seed=0))
    ax.set_xlabel("loss of a group")
    return ax


def lockstep(*, work: Sequence[int], ax: Axes | None = None) -> Axes:
    """The items of one group side by side in lockstep, and the loss (Swatman 2022, Fig. 1).

    Parameters
    ----------
    work : sequence of int
        Iterations of each item, one a lane.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    ax, longest = axes_of(ax), max(work)
    lanes = rows_of(ax, [str(lane) for lane in range(len(work))])
    busy, idle = LOOKS["performance"], LOOKS["held at 1"]
    ax.barh(lanes, work, 0.7, **busy.of_area(), label="at work")
    rest = longest - np.asarray(work)
    ax.barh(lanes, rest, 0.7, left=work, **idle.of_area(alpha=0.4), label="waiting for the longest")
    ax.set_xlabel("iterations")
    ax.set_ylabel("lane")
    cost, used = longest * len(work), sum(work)
    ax.set_title(f"loss {cost} / {used} = {cost / used:.4g}", fontsize=10)
    legend(ax, below=True, ncols=2)
    return ax


def _masses(panel: Any, law: Law, edges: Any, drawn: Any) -> None:
    exact = np.diff(np.asarray(law.cdf(edges), dtype=float))
    counted, _ = np.histogram(drawn, edges)
    counted = counted / len(drawn)
    centres = (edges[1:] + edges[:-1]) / 2
    panel.stairs(exact, edges, fill=True, color=_EXACT, alpha=0.35, label="exact")
    error = np.sqrt(np.maximum(counted * (1 - counted), 0) / len(drawn))
    look: dict[str, Any] = {"fmt": ".", "ms": 3, "lw": 0.8, "color": _SIMULATED}
    panel.errorbar(centres, counted, 2 * error, label="simulated, 2 se", **look)
    panel.axvline(float(law.mean()), color=_MARK, lw=1, ls="--", label="mean loss")
    panel.axvline(float(law.slowdown()), color=_MARK, lw=1, ls=":", label="slowdown")
    panel.set_ylim(bottom=0)
    panel.set_ylabel("probability of a bin")
    panel.set_title(f"mass, and {len(drawn):,} simulated groups", fontsize=10)
    panel.legend(frameon=False, fontsize=8)


def _atoms(panel: Any, law: Law, edges: Any) -> None:
    values = len(law.work.weights)
    outcomes = (law.lanes - 1) * values * (values + 1) / 2
    if outcomes > _OUTCOMES:
        text = f"about {outcomes:.1g} outcomes:\nnot told apart in a picture"
        panel.text(0.5, 0.5, text, ha="center", va="center", transform=panel.transAxes)
        panel.set_title("atoms", fontsize=10)
        return
    found = law.pmf()
    x, chance = found["loss"].values, found.values.astype(float)
    inside = (x > edges[0]) & (x <= edges[-1])
    x, chance = x[inside], chance[inside]
    largest = np.sort(np.argsort(chance)[-_DRAWN:])
    panel.vlines(x[largest], 0, chance[largest], color=_EXACT, lw=0.7)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("probability of an atom")
    which = f"the {_DRAWN:,} likeliest of " if len(x) > _DRAWN else ""
    panel.set_title(f"{which}{found.size:,} atoms", fontsize=10)


def _cdf(panel: Any, law: Law, edges: Any, drawn: Any) -> None:
    fine = np.linspace(edges[0], edges[-1], 400)
    panel.step(fine, np.asarray(law.cdf(fine), float), where="post", color=_EXACT, label="exact")
    shares = np.searchsorted(np.sort(drawn), fine, side="right") / len(drawn)
    panel.plot(fine, shares, color=_SIMULATED, lw=1, ls="--", label="simulated")
    for q in (0.5, 0.99):
        at = float(law.quantile(q))
        panel.plot([at], [q], "o", ms=4, color=_MARK)
        panel.annotate(
            f"{q:.0%}: {at:.4g}", (at, q), (7, -11), textcoords="offset points", fontsize=8
        )
    panel.set_ylabel("P(X <= loss)")
    panel.set_title("distribution function", fontsize=10)
    panel.legend(frameon=False, fontsize=8, loc="lower right")
