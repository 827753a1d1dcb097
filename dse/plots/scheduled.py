"""Launches that are simulated: the blocks of each slot in time, and a histogram beside the law."""

from __future__ import annotations

from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.evaluation import evaluate
from dse.plots.frame import axes_of, legend, new_figure, title
from dse.plots.launches import RARE, common, times_side
from dse.plots.looks import LOOKS
from symbolic.errors import DseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stochastic import Launch

__all__ = ["launch_figure", "slots"]

#: Slots that are drawn, and launches that are simulated.
_SLOTS, _DRAWN = 48, 20_000


def slots(
    *,
    model: str = "launch",
    machine: str | None = None,
    workload: str | None = None,
    seed: int = 0,
    ax: Axes | None = None,
    **point: Any,
) -> Axes:
    """One simulated launch: the blocks of each slot in time, and where slots wait for the end.

    Of many slots some are drawn, those that end first and last among them.

    Parameters
    ----------
    model, machine, workload : str
        As for :func:`dse.evaluate`.
    seed : int
        Of the simulation.
    ax : Axes, optional
        Where to draw; a new figure where None.
    **point
        Quantities, ``distribution`` among them.
    """
    from stochastic.scheduling.blocks import longest_of
    from sweeps.grid.laws import read_law

    if "distribution" not in point:
        raise DseError("slots needs the law of an item: distribution = 'geometric:0.05'")
    law = read_law(point["distribution"])
    names = ["launch_blocks", "slots", "lockstep_items", "warps_per_block", "step_time"]
    names += ["piece_length", "piece_overhead", "alike_pieces"]
    ds = evaluate(model, machine=machine, workload=workload, outputs=names, **point)
    told = [float(ds[name]) for name in names]
    blocks, many, lanes, warps, step, length, overhead, alike = told
    piece, _ = law.pieces(length, overhead)
    block, _ = longest_of(piece.pmf, int(lanes * warps), 1e-15, alike)
    values = np.arange(block.low, int(block.high) + 1)
    drawn = np.random.default_rng(seed).choice(values, int(blocks), p=block.weights)
    ends = [(0, slot) for slot in range(int(many))]
    heapify(ends)
    bars: dict[int, list[tuple[float, float]]] = {slot: [] for slot in range(int(many))}
    for duration in drawn.tolist():
        start, slot = ends[0]
        heapreplace(ends, (start + duration, slot))
        bars[slot].append((start * step, duration * step))
    last = max(ends)[0] * step
    chosen = [slot for _, slot in sorted(ends)]
    if len(chosen) > _SLOTS:
        chosen = [chosen[k] for k in np.linspace(0, len(chosen) - 1, _SLOTS).astype(int)]
    ax = axes_of(ax, 6.4, 4.2)
    busy, idle = LOOKS["performance"], LOOKS["held at 1"]
    for row, slot in enumerate(chosen):
        words = [None, None] if row else ["runs a block", "waits for the end"]
        high = (row - 0.4, 0.8)
        ax.broken_barh(bars[slot], high, label=words[0], **busy.of_area(hatch="", lw=0.3))
        ended = sum(bars[slot][-1]) if bars[slot] else 0.0
        wait = [(ended, last - ended)]
        ax.broken_barh(wait, high, label=words[1], **idle.of_area(alpha=0.4, lw=0))
    waited = 1 - float(drawn.sum()) * step / (many * last) if last else 0.0
    title(ax, f"{int(blocks):,} blocks on {int(many):,} slots: {waited:.1%} of their time is lost")
    ax.set_xlim(0, last or 1)
    times_side(ax)
    ax.set_yticks([])
    ax.set_ylabel(f"{len(chosen)} of {int(many):,} slots, the first to end below")
    legend(ax, below=True, ncols=2)
    return ax


def launch_figure(law: Launch, *, step: float = 1.0, seed: int = 0) -> Figure:
    """The law of a launch: mass with simulated launches, and its tail to one in a million.

    Parameters
    ----------
    law : Launch
        From :func:`stochastic.launch`.
    step : float
        How long a unit of the work takes, in seconds; 1 draws steps.
    seed : int
        Of the simulation.
    """
    times = law.times()
    below = np.asarray(times.below, dtype=float)
    kept = common(below)
    values, below = times.values[kept] * step, below[kept]
    chances = np.diff(below, prepend=0.0)
    drawn = law.sample(max(100, _DRAWN // (1 + law.blocks // 4096)), seed=seed) * step
    figure = new_figure(9, 3.6)
    mass, rare = figure.subplots(1, 2)
    wide = -(-len(values) // 60)  # whole steps, so that each bin holds as many
    edges = values[0] + (np.arange(len(values) // wide + 2) * wide - 0.5) * step
    exact, _ = np.histogram(values, edges, weights=chances)
    mass.stairs(exact, edges, fill=True, color=LOOKS["exact"].color, alpha=0.35, label="exact")
    counted, _ = np.histogram(drawn, edges)
    centres = (edges[1:] + edges[:-1]) / 2
    text = f"{len(drawn):,} simulated launches"
    mass.plot(centres, counted / len(drawn), label=text, **LOOKS["simulated"].of_mark(4))
    mass.set_ylabel("probability of a bin")
    mass.legend(frameon=False, fontsize=8)
    rare.step(values, np.maximum(1 - below, 0), where="post", **LOOKS["exact"].of_line())
    rare.set_yscale("log")
    rare.set_ylim(RARE, 1.3)
    for q in (0.5, 0.99, 0.9999):
        at = float(law.quantile(q)) * step
        rare.plot([at], [1 - q], **LOOKS["optimum"].of_mark(6, marker="o"))
        rare.annotate(f"{q:.4g}", (at, 1 - q), (6, 3), textcoords="offset points", fontsize=8)
    rare.set_ylabel("chance that it lasts longer")
    for panel in (mass, rare):
        if step == 1.0:
            panel.set_xlabel("steps of a launch")
        else:
            times_side(panel)
        panel.grid(visible=True, color="0.9", lw=0.7)
        panel.set_axisbelow(True)
    shape = f"{law.blocks:,} blocks on {sum(law.slots):,} slots"
    figure.suptitle(f"{law.works[0]!r}: {shape}", fontsize=10)
    return figure
