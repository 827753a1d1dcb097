"""Time-lines: warps of a multiprocessor, lanes in lockstep, blocks of a launch."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dse.evaluation import evaluate
from dse.plots.frame import axes_of, legend, rows_of, title
from dse.plots.laws import times_side
from dse.plots.looks import LOOKS
from symbolic.errors import DseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The number of a warp is written in boxes wider than this share of the plot.
_WRITTEN = 0.02
#: The most slots that are drawn.
_SLOTS = 48
_BUSY, _IDLE = LOOKS["performance"], LOOKS["held at 1"]


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
    """Return periods of warps that compute one at a time, in row 0, and wait for memory.

    Each warp has periods of ``comp`` cycles, each of which ends in a request of ``memory`` cycles.
    Memory serves ``mwp`` requests at once, any number if 0; they depart at least ``departure``
    cycles apart. An ``independent`` warp goes on before its request is served.

    >>> max(box.stop for box in schedule(8, 1, 1, 3, mwp=2))  # Fig. 6a: two C and four M
    14
    """
    ready: list[tuple[float, int, int]] = [(0, warp, 0) for warp in range(warps)]
    free: list[float] = []  # when each row of memory is
    boxes: list[Box] = []
    computed, left = 0.0, -departure
    while ready:
        since, warp, period = heappop(ready)
        start = max(since, computed)
        computed = start + comp
        boxes.append(Box(0, warp, start, computed))
        begin = max(computed, left + departure)
        row = next((k for k, stop in enumerate(free) if stop <= begin), len(free))
        if mwp and row >= mwp:
            row = min(range(mwp), key=free.__getitem__)
            begin = free[row]
        left = begin
        free[row : row + 1] = [begin + memory]
        boxes.append(Box(row + 1, warp, begin, begin + memory))
        if period + 1 < periods:
            heappush(ready, (computed if independent else begin + memory, warp, period + 1))
    return boxes


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
    """Draw the warps of one multiprocessor on a time-line; see :func:`schedule`."""
    if min(warps, periods) < 1 or not min(comp, memory) > 0:
        raise DseError(
            f"warps = {warps}, periods = {periods}, comp = {comp}, memory = {memory}: expected at "
            "least one warp and one period, and times above 0"
        )
    boxes = schedule(
        warps, periods, comp, memory, mwp=mwp, departure=departure, independent=independent
    )
    end, rows = max(box.stop for box in boxes), max(box.row for box in boxes)
    ax = axes_of(ax, 6.4, 3.0)
    words = {"computation": "computes", "memory": "waits for memory"}
    for box in boxes:
        meaning, long = "memory" if box.row else "computation", box.stop - box.start
        style = LOOKS[meaning].of_area(alpha=0.5, label=words.pop(meaning, None))
        ax.barh(box.row, long, 0.9, left=box.start, **style)
        if long > _WRITTEN * end:
            patch = {"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.8}
            at: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "bbox": patch}
            ax.text(box.start + long / 2, box.row, str(box.warp + 1), **at)
    rows_of(ax, ["computation", *(f"request {k}" for k in range(1, rows + 1))])
    ax.set_xlim(0, end)
    ax.set_xlabel("time [cycles]")
    ax.set_ylabel("what overlaps")
    text = f"{end:g} cycles"
    if by_equations:
        inputs: dict[str, Any] = {"comp_cycles": periods * comp, "mem_cycles": periods * memory}
        inputs |= {"mem_insts": periods, "mwp": min(mwp or warps, warps), "mem_latency": memory}
        inputs |= {"resident_warps": warps, "repetitions": 1}
        ds = evaluate("mwp_cwp", outputs=["exec_cycles"], **inputs)
        text += f"; {float(ds.exec_cycles):g} by Eqs. 21 to 23"
    ax.set_title(text, fontsize=10)
    legend(ax, below=True, ncols=2)
    return ax


def lockstep(*, work: Sequence[int], ax: Axes | None = None) -> Axes:
    """Draw the items of one group in lockstep, one a lane, and the loss."""
    if not sum(work) > 0 or min(work) < 0:
        raise DseError(f"work = {work!r}: expected the iterations of each item, such as [4, 2, 7]")
    ax, longest = axes_of(ax), max(work)
    lanes = rows_of(ax, [str(lane) for lane in range(len(work))])
    ax.barh(lanes, work, 0.7, **_BUSY.of_area(), label="at work")
    rest, idle = longest - np.asarray(work), _IDLE.of_area(alpha=0.4)
    ax.barh(lanes, rest, 0.7, left=work, **idle, label="waiting for the longest")
    ax.set_xlabel("iterations")
    ax.set_ylabel("lane")
    cost, used = longest * len(work), sum(work)
    ax.set_title(f"loss {cost} / {used} = {cost / used:.4g}", fontsize=10)
    legend(ax, below=True, ncols=2)
    return ax


def slots(
    *,
    model: str = "launch",
    machine: str | None = None,
    workload: str | None = None,
    seed: int = 0,
    ax: Axes | None = None,
    **point: Any,
) -> Axes:
    """Draw one simulated launch: the blocks of each slot in time, and the wait for the end."""
    from stochastic.scheduling.settings import longest_of
    from sweeps.grid.laws import read_law

    if "distribution" not in point:
        raise DseError("slots needs the law of an item: distribution = 'geometric:0.05'")
    law = read_law(point["distribution"])
    names = ["launch_blocks", "slots", "lockstep_items", "warps_per_block", "step_time"]
    names += ["piece_length", "piece_overhead", "alike_pieces"]
    ds = evaluate(model, machine=machine, workload=workload, outputs=names, **point)
    blocks, many, lanes, warps, step, length, overhead, alike = (float(ds[n]) for n in names)
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
    ax = axes_of(ax)
    for row, slot in enumerate(chosen):
        busy, idle = ("_", "_") if row else ("runs a block", "waits for the end")
        high = (row - 0.4, 0.8)
        ax.broken_barh(bars[slot], high, label=busy, **_BUSY.of_area(hatch="", lw=0.3))
        ended = sum(bars[slot][-1]) if bars[slot] else 0.0
        wait = [(ended, last - ended)]
        ax.broken_barh(wait, high, label=idle, **_IDLE.of_area(alpha=0.4, lw=0))
    waited = 1 - float(drawn.sum()) * step / (many * last) if last else 0.0
    title(ax, f"{int(blocks):,} blocks on {int(many):,} slots: {waited:.1%} of their time is lost")
    ax.set_xlim(0, last or 1)
    times_side(ax)
    ax.set_yticks([])
    ax.set_ylabel(f"{len(chosen)} of {int(many):,} slots, the first to end below")
    legend(ax, below=True, ncols=2)
    return ax
