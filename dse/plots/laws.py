"""Draw probability distributions, and timelines of warps, lanes and blocks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dse.arguments import axis_indices
from dse.evaluation import evaluate
from dse.plots.axes import (
    add_legend,
    axes_of,
    format_axis,
    label_rows,
    new_figure,
    quantity_array,
    set_title,
)
from dse.plots.data import (
    MAX_SERIES,
    AxisValues,
    Line,
    PlotSource,
    mask_infeasible,
    only_axis,
    plot_data,
)
from dse.plots.line_charts import draw_lines
from dse.plots.style import STYLES, distinct_styles, font_scale
from dse.study.study import StudyData
from symbolic.errors import DseError, check_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dse.uncertain.output_law import OutputLaw
    from stochastic import Launch, Law

_BINS = 60
#: Maximum number of outcomes of the pair (max, sum) for which single probabilities are drawn.
_MAX_OUTCOMES = 20_000_000
_MAX_ATOMS, _SIMULATED_LAUNCHES = 4_000, 20_000
#: Tail probabilities below this limit are not drawn.
_MIN_TAIL = 1e-6
_EXACT, _SIMULATED, _LEVEL = STYLES["exact"], STYLES["simulated"], STYLES["level"]
#: Boxes narrower than this fraction of the plot show no number.
_MIN_LABEL_SHARE = 0.02
_MAX_SLOTS = 48
_BUSY, _IDLE = STYLES["performance"], STYLES["held at 1"]


def _draw_bands(ax: Axes, x: Any, bands: Mapping[str, Any], middle: Any, color: str) -> None:
    for strength, (label, (low, high)) in zip((0.2, 0.4), bands.items(), strict=True):
        ax.fill_between(x, low, high, color=color, alpha=strength, lw=0, label=label)
    ax.plot(x, middle, color=color, lw=1.8, label="median")


def fan(
    source: StudyData, quantity: str, *, over: str, at: AxisValues = None, ax: Axes | None = None
) -> Axes:
    """Draw the median and the middle 50 and 90 % of a random output along an axis."""
    from dse.verbs.random import law as ask

    if not isinstance(source, StudyData):
        raise DseError("fan needs a study with random inputs: give its file, or the Study")
    known = source.grid().axes
    check_name(over, known, f"over = {over!r} is no axis of the study", "its axes are")
    across = known[over].coordinate
    laws = [ask(source, quantity, {**(at or {}), over: value}) for value in across.tolist()]
    ax = axes_of(ax)
    numbers = across if across.dtype.kind in "if" else np.arange(across.size)
    quantiles = {q: [law.quantile(q) for law in laws] for q in (0.05, 0.25, 0.5, 0.75, 0.95)}
    bands = {"90%": (quantiles[0.05], quantiles[0.95]), "50%": (quantiles[0.25], quantiles[0.75])}
    _draw_bands(ax, numbers, bands, quantiles[0.5], STYLES["performance"].color)
    if numbers is not across:
        ax.set_xticks(numbers, [str(value) for value in across])
    row = source.grid().model.quantities.get(over)
    format_axis(ax.yaxis, quantity_array(quantiles[0.5], quantity, laws[0].unit))
    if numbers is across:
        format_axis(ax.xaxis, quantity_array(across, over, row.unit if row else "", over))
    ax.set_xlabel(ax.get_xlabel() or over)
    add_legend(ax, at_bottom=True, ncols=3)
    return ax


def bands(
    source: PlotSource, *, over: str | None = None, at: AxisValues = None, ax: Axes | None = None
) -> Axes:
    """Draw the launch time along an axis: quantiles, the estimate by waves, and the work bound."""
    names = [f"quantile(launch_time, {q:g})" for q in (0.01, 0.1, 0.5, 0.9, 0.99)]
    estimates = {"waves_time": "waves · mean block", "work_bound_time": "no slot waits"}
    ds = plot_data(source, [*names, *estimates], at)
    over = only_axis(ds, over, names[0])
    x, ax = ds[over].values, axes_of(ax)
    low, less, middle, more, high = (mask_infeasible(ds, ds[name]).values for name in names)
    labels = {"98 of 100 launches": (low, high), "80 of 100": (less, more)}
    _draw_bands(ax, x, labels, middle, _EXACT.color)
    for (name, text), look in zip(estimates.items(), (_LEVEL, STYLES["result"]), strict=True):
        values = np.broadcast_to(mask_infeasible(ds, ds[name]).values, x.shape)
        ax.plot(x, values, label=text, **look.line_options(lw=1.2))
    format_axis(ax.xaxis, ds[over])
    format_axis(ax.yaxis, ds[names[2]], "time of a launch")
    ax.set_ylim(bottom=0)
    add_legend(ax)
    return ax


def outcome(
    source: StudyData, quantity: str, *, at: AxisValues = None, ax: Axes | None = None
) -> Axes:
    """Draw the distribution function of an output at one configuration."""
    from dse.verbs.random import law as ask

    return draw_output_law(ask(source, quantity, at), ax=ax)


def draw_output_law(law: OutputLaw, *, ax: Axes | None = None) -> Axes:
    """Draw the distribution function of an output, its mean, and its 5 and 95 % quantiles."""
    ax, color = axes_of(ax), STYLES["performance"].color
    if law.way == "enumerated":
        x, y = np.repeat(law.values, 2)[1:], np.repeat(np.cumsum(law.weights), 2)[:-1]
        ax.step(x, y, color=color, label=law.text)
    else:
        levels = np.linspace(0, 1, 513)[1:-1]
        ax.plot([law.quantile(float(q)) for q in levels], levels, color=color, label=law.text)
    ends = law.quantile(0.05), law.quantile(0.95)
    ax.axvspan(*ends, color=color, alpha=0.15, lw=0, label="middle 90 %")
    ax.axvline(law.mean, label="mean", **_LEVEL.line_options())
    format_axis(ax.xaxis, quantity_array(ends, law.text, law.unit))
    ax.set(ylabel="chance to be at most this", ylim=(0, 1))
    add_legend(ax, at_bottom=True, ncols=3)
    return ax


def loss(
    *, distribution: str = "", lanes: int | str = 32, groups: int = 100_000, ax: Axes | None = None
) -> Axes:
    """Draw the probability of the loss in lockstep in each bin, exact and simulated."""
    from stochastic import Pmf, imbalance

    if not distribution or not str(lanes).isdecimal():
        raise DseError(
            f"distribution = {distribution!r}, lanes = {lanes!r}: expected a law of the work of an "
            "item and a whole number, such as --set distribution=geometric:0.05 --set lanes=32"
        )
    law = imbalance(Pmf.parse(distribution), lanes=int(lanes))
    ax = axes_of(ax)
    _draw_loss_masses(ax, law, _bin_edges(law), law.sample(groups, seed=0))
    return ax


def law_figure(law: Law, *, groups: int = 100_000, seed: int = 0) -> Figure:
    """Draw the law of a loss: probabilities of bins and of single values, and the CDF.

    Parameters:
        law (Law): From :func:`stochastic.imbalance`.
        groups (int): Number of simulated groups.
        seed (int): Seed of the simulation.
    """
    drawn, edges = law.sample(groups, seed=seed), _bin_edges(law)
    span = max(edges[-1] - edges[0], 1e-6)
    figure = new_figure(11, 5 if font_scale() > 1 else 3.8)
    panels = [axes_of(ax) for ax in figure.subplots(1, 3)]
    _draw_loss_masses(panels[0], law, edges, drawn)
    _draw_atoms(panels[1], law, edges)
    _cdf(panels[2], law, edges, drawn)
    for panel in panels:
        panel.set(xlim=(edges[0] - 0.03 * span, edges[-1] + 0.03 * span), xlabel="loss of a group")
    figure.suptitle(f"{law.source!r} in {law.lanes} lanes")
    return figure


def _bin_edges(law: Law) -> Any:
    low, high = (float(law.quantile(q)) for q in (1e-4, 1 - 1e-4))
    edges = np.linspace(low, max(high, low + 1e-9), _BINS + 1)
    edges[0] = np.nextafter(edges[0], 0)  # a bin contains its upper edge
    return edges


def _draw_masses(ax: Axes, edges: Any, exact: Any, samples: Any, what: str) -> None:
    shares = np.histogram(samples, edges)[0] / len(samples)
    ax.stairs(exact, edges, fill=True, color=_EXACT.color, alpha=0.35, label="exact")
    error = np.sqrt(np.maximum(shares * (1 - shares), 0) / len(samples))
    style: dict[str, Any] = {"fmt": ".", "ms": 4, "lw": 0.8, "color": "black"}  # visible in grey
    centres = (edges[1:] + edges[:-1]) / 2
    text = f"{len(samples):,} simulated {what},\n± 2 standard errors"
    ax.errorbar(centres, shares, 2 * error, label=text, **style)
    ax.set(ylim=(0, 1.45 * max(*exact, *shares)), ylabel="probability of a bin")
    set_title(ax, "probability of each bin")
    if font_scale() > 1:  # a large legend would cover the bars
        add_legend(ax, at_bottom=True, ncols=1)
    else:
        ax.legend(fontsize="small", loc="upper right", framealpha=0.9)


def _draw_loss_masses(ax: Axes, law: Law, edges: Any, samples: Any) -> None:
    exact = np.diff(np.asarray(law.cdf(edges), dtype=float))
    marks = {"mean loss": float(law.mean()), "slowdown": float(law.slowdown())}
    labels = [f"{name} {value:.4g}" for name, value in marks.items()]
    if np.ptp([*marks.values()]) < 0.01 * (edges[-1] - edges[0]):
        labels = [" and ".join(labels)]  # one line for both
    for label, value, line in zip(labels, marks.values(), ("--", ":"), strict=False):
        ax.axvline(value, color="black", ls=line, label=label)
    ax.set_xlabel("loss of a group")
    _draw_masses(ax, edges, exact, samples, "groups")
    set_title(ax, f"Loss of {str(law.source).removeprefix('Pmf.')}, {law.lanes} lanes")


def _draw_atoms(ax: Axes, law: Law, edges: Any) -> None:
    values = len(law.work.weights)
    outcomes = (law.lanes - 1) * values * (values + 1) / 2
    ax.set_ylabel("probability of an atom")
    if outcomes > _MAX_OUTCOMES:
        text = f"about {outcomes:.1g} outcomes:\ntoo many to draw"
        ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
        set_title(ax, "atoms")
        return
    atoms = law.pmf()
    x, chance = atoms["loss"].values, atoms.values.astype(float)
    inside = (x > edges[0]) & (x <= edges[-1])
    x, chance = x[inside], chance[inside]
    largest = np.sort(np.argsort(chance)[-_MAX_ATOMS:])
    ax.vlines(x[largest], 0, chance[largest], color=_EXACT.color, lw=0.7)
    ax.set_ylim(bottom=0)
    which = f"the {_MAX_ATOMS:,} likeliest of " if len(x) > _MAX_ATOMS else ""
    set_title(ax, f"{which}{atoms.size:,} atoms")


def _cdf(ax: Axes, law: Law, edges: Any, samples: Any) -> None:
    fine = np.linspace(edges[0], edges[-1], 400)
    exact = np.asarray(law.cdf(fine), float)
    ax.step(fine, exact, where="post", color=_EXACT.color, label="exact")
    shares = np.searchsorted(np.sort(samples), fine, side="right") / len(samples)
    ax.plot(fine, shares, color=_SIMULATED.color, lw=1, ls="--", label="simulated")
    for q in (0.5, 0.99):
        value = float(law.quantile(q))
        _mark_quantile(ax, value, q, f"{q:.0%}: {value:.4g}", (7, -11))
    ax.set_ylabel("P(X <= loss)")
    set_title(ax, "distribution function")
    ax.legend(frameon=False, fontsize="small", loc="lower right")


def _mark_quantile(ax: Axes, x: float, y: float, text: str, offset: tuple[float, float]) -> None:
    ax.plot([x], [y], "o", ms=4, color="black")
    ax.annotate(text, (x, y), offset, textcoords="offset points", fontsize="small")


def _visible_slice(cdf: Any) -> slice:
    """Return the slice of a CDF in which both tails have at least the probability _MIN_TAIL."""
    first, last = np.searchsorted(cdf, [_MIN_TAIL, 1 - _MIN_TAIL])
    return slice(int(first), int(last) + 1)


def format_time_axis(ax: Axes) -> None:
    """Label the x axis with the time of a launch, and format its numbers with SI prefixes."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(EngFormatter(unit="s", sep=" "))
    ax.set_xlabel("time of a launch")


def tail(source: PlotSource, *, at: AxisValues = None, ax: Axes | None = None) -> Axes:
    """Draw the probability that a launch takes longer than a time; a line per configuration."""
    lines = _launch_tails(source, at or {})
    ax = axes_of(ax)
    parts = [line.label.partition(", ")[::2] for line in lines]
    heads, rests = (list(dict.fromkeys(texts)) for texts in zip(*parts, strict=True))
    colors = dict(zip(heads, distinct_styles(heads), strict=True))
    dashes = dict(zip(rests, distinct_styles(rests), strict=True))
    styles = [replace(colors[a], line=dashes[b].line) if b else colors[a] for a, b in parts]
    draw_lines(ax, lines, styles, drawstyle="steps-post", marker="")
    for k, line in enumerate(lines):
        late, label = int(np.argmax(line.y <= 0.01)), "1 % of the launches last longer"
        mark = STYLES["optimum"].mark_options(6, marker="o", label=label * (not k))
        ax.plot(line.x[late], 0.01, **mark)
    if len(lines) == 1:
        waves, mean = (lines[0].coordinates[name] for name in ("waves_time", "launch_time_mean"))
        ax.axvline(waves, label="waves · mean block", **_LEVEL.line_options(lw=1.2))
        ax.axvline(mean, label="mean", **STYLES["result"].line_options(lw=1.2))
    ax.set(yscale="log", ylim=(_MIN_TAIL, 1.3), ylabel="chance that a launch lasts longer")
    format_time_axis(ax)
    add_legend(ax, at_right=len(lines) > 4)
    return ax


def _launch_tails(source: Any, at: Mapping[str, Any]) -> Sequence[Line]:
    """Return, for each configuration, a line with the tail of the launch time."""
    if not isinstance(source, StudyData):
        raise DseError("the law of a launch needs a study, not its results")
    names = ["launch_time_mean", "waves_time", "step_time"]
    grid = source.grid(names)
    fixed = axis_indices(grid, at)
    free = [name for name in grid.dims("launch_time_mean") if name not in fixed]
    sizes = [grid.axes[name].size for name in free]
    if math.prod(sizes) > MAX_SERIES:
        raise DseError(
            f"{math.prod(sizes):,} laws over {', '.join(free)} are too many (at most "
            f"{MAX_SERIES}): choose values with at="
        )
    lines = []
    for index in itertools.product(*map(range, sizes)):
        places = dict.fromkeys(grid.axes, 0) | fixed | dict(zip(free, index, strict=True))
        values = {name: float(value) for name, value in grid.evaluate_point(places, names).items()}
        key = tuple(grid.axes[name].labels[places[name]] for name in grid.switch_axes)
        leaf = grid.leaves[key]["launch_steps"]
        law = leaf.array[tuple(places[name] for name in leaf.axes)]
        law = law if leaf.axes else law.item()
        chosen = [(name, grid.axes[name].coordinate[places[name]].item()) for name in free]
        label = ", ".join(v if isinstance(v, str) else f"{n} = {v:g}" for n, v in chosen)
        part = _visible_slice(law.cdf_values)
        x, y = law.values[part] * values["step_time"], np.maximum(1 - law.cdf_values[part], 0)
        x, y = np.append(x[0], x), np.append(1.0, y)
        lines.append(Line(label=label or "time of a launch", coordinates=values, x=x, y=y))
    return lines


def launch_figure(law: Launch, *, step: float = 1.0, seed: int = 0) -> Figure:
    """Draw the law of a launch: exact and simulated probabilities of bins, and the tail.

    Parameters:
        law (Launch): From :func:`stochastic.launch`.
        step (float): Duration of a unit of work in seconds; with 1 the time is drawn in steps.
        seed (int): Seed of the simulation.
    """
    times = law.times()
    below = np.asarray(times.cdf_values, dtype=float)
    part = _visible_slice(below)
    values, below = times.values[part] * step, below[part]
    drawn = law.sample(max(100, _SIMULATED_LAUNCHES // (1 + law.blocks // 4096)), seed=seed) * step
    figure = new_figure(9, 4.8 if font_scale() > 1 else 3.6)
    mass, rare = (axes_of(ax) for ax in figure.subplots(1, 2))
    wide = -(-len(values) // _BINS)  # number of steps in each bin
    edges = values[0] + (np.arange(len(values) // wide + 2) * wide - 0.5) * step
    exact, _ = np.histogram(values, edges, weights=np.diff(below, prepend=0.0))
    for panel in (mass, rare):
        format_time_axis(panel) if step != 1.0 else panel.set_xlabel("steps of a launch")
    _draw_masses(mass, edges, exact, drawn, "launches")
    rare.step(values, np.maximum(1 - below, 0), where="post", **_EXACT.line_options())
    rare.set(yscale="log", ylim=(_MIN_TAIL, 1.3))
    for q in (0.5, 0.99, 0.9999):
        _mark_quantile(rare, float(law.quantile(q)) * step, 1 - q, f"{q:.4g}", (6, 3))
    rare.set_ylabel("chance that it lasts longer")
    shape = f"{law.blocks:,} blocks on {sum(law.slots):,} slots"
    figure.suptitle(f"{law.works[0]!r}: {shape}")
    return figure


class WarpPeriod(NamedTuple):
    """A box of the timeline: a warp computes (row 0) or waits for memory (other rows)."""

    row: int
    warp: int
    start: float
    stop: float


def warp_schedule(
    warps: int,
    periods: int,
    comp: float,
    memory: float,
    *,
    mwp: int = 0,
    departure: float = 0.0,
    independent: bool = False,
) -> list[WarpPeriod]:
    """Return the timeline of warps that alternately compute and wait for memory.

    Each of the ``periods`` of a warp has ``comp`` cycles of computation, one warp at a time, and
    then a memory request of ``memory`` cycles. Memory serves at most ``mwp`` requests at the same
    time (any number if 0); requests depart at least ``departure`` cycles apart. With
    ``independent``, a warp computes its next period before its request is served.

    >>> max(box.stop for box in warp_schedule(8, 1, 1, 3, mwp=2))  # Fig. 6a: two C and four M
    14
    """
    ready: list[tuple[float, int, int]] = [(0, warp, 0) for warp in range(warps)]
    free: list[float] = []  # time at which each row of memory becomes free
    boxes: list[WarpPeriod] = []
    computed, left = 0.0, -departure
    while ready:
        since, warp, period = heappop(ready)
        start = max(since, computed)
        computed = start + comp
        boxes.append(WarpPeriod(0, warp, start, computed))
        begin = max(computed, left + departure)
        row = next((k for k, stop in enumerate(free) if stop <= begin), len(free))
        if mwp and row >= mwp:
            row = min(range(mwp), key=free.__getitem__)
            begin = free[row]
        left = begin
        free[row : row + 1] = [begin + memory]
        boxes.append(WarpPeriod(row + 1, warp, begin, begin + memory))
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
    """Draw the timeline of the warps of one multiprocessor; see :func:`warp_schedule`."""
    if min(warps, periods) < 1 or not min(comp, memory) > 0:
        raise DseError(
            f"warps = {warps}, periods = {periods}, comp = {comp}, memory = {memory}: expected at "
            "least one warp and one period, and times above 0"
        )
    options: dict[str, Any] = {"mwp": mwp, "departure": departure, "independent": independent}
    boxes = warp_schedule(warps, periods, comp, memory, **options)
    end, rows = max(box.stop for box in boxes), max(box.row for box in boxes)
    ax = axes_of(ax, 6.4, 3.0)
    words = {"computation": "computes", "memory": "waits for memory"}
    for box in boxes:
        meaning, long = "memory" if box.row else "computation", box.stop - box.start
        style = STYLES[meaning].area_options(alpha=0.5, label=words.pop(meaning, None))
        ax.barh(box.row, long, 0.9, left=box.start, **style)
        if long > _MIN_LABEL_SHARE * end:
            patch = {"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.8}
            at: dict[str, Any] = {"ha": "center", "va": "center", "bbox": patch}
            ax.text(box.start + long / 2, box.row, str(box.warp + 1), fontsize="small", **at)
    label_rows(ax, ["computation", *(f"request {k}" for k in range(1, rows + 1))])
    ax.set(xlim=(0, end), xlabel="time [cycles]", ylabel="what overlaps")
    text = f"{end:g} cycles"
    if by_equations:
        inputs: dict[str, Any] = {"comp_cycles": periods * comp, "mem_cycles": periods * memory}
        inputs |= {"mem_insts": periods, "mwp": min(mwp or warps, warps), "mem_latency": memory}
        inputs |= {"resident_warps": warps, "repetitions": 1}
        ds = evaluate("mwp_cwp", outputs=["exec_cycles"], **inputs)
        text += f"; {float(ds.exec_cycles):g} by Eqs. 21 to 23"
    set_title(ax, text)
    add_legend(ax, at_bottom=True, ncols=2)
    return ax


def lockstep(*, work: Sequence[int], ax: Axes | None = None) -> Axes:
    """Draw one group in lockstep, with one item per lane, and the loss."""
    if not sum(work) > 0 or min(work) < 0:
        raise DseError(f"work = {work!r}: expected the iterations of each item, such as [4, 2, 7]")
    ax, longest = axes_of(ax), max(work)
    lanes = label_rows(ax, [str(lane) for lane in range(len(work))])
    ax.barh(lanes, work, 0.7, **_BUSY.area_options(), label="at work")
    rest, idle = longest - np.asarray(work), _IDLE.area_options(alpha=0.4)
    ax.barh(lanes, rest, 0.7, left=work, **idle, label="waiting for the longest")
    ax.set(xlabel="iterations", ylabel="lane")
    cost, used = longest * len(work), sum(work)
    set_title(ax, f"loss {cost} / {used} = {cost / used:.4g}")
    add_legend(ax, at_bottom=True, ncols=2)
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
    """Draw one simulated launch: the blocks of each slot over time, and idle time at the end."""
    from stochastic.launch_time.settings import longest_item_law
    from sweeps.grid.work_laws import read_law

    if "distribution" not in point:
        raise DseError("slots needs the law of an item: distribution = 'geometric:0.05'")
    law = read_law(point["distribution"])
    names = ["launch_blocks", "slots", "lockstep_items", "warps_per_block", "step_time"]
    names += ["piece_length", "piece_overhead", "alike_pieces"]
    ds = evaluate(model, machine=machine, workload=workload, outputs=names, **point)
    blocks, many, lanes, warps, step, length, overhead, correlation = (float(ds[n]) for n in names)
    piece, _ = law.pieces(length, overhead)
    block, _ = longest_item_law(piece.pmf, int(lanes * warps), 1e-15, correlation)
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
    if len(chosen) > _MAX_SLOTS:
        chosen = [chosen[k] for k in np.linspace(0, len(chosen) - 1, _MAX_SLOTS).astype(int)]
    ax = axes_of(ax)
    for row, slot in enumerate(chosen):
        busy, idle = ("_", "_") if row else ("runs a block", "waits for the end")
        high = (row - 0.4, 0.8)
        ax.broken_barh(bars[slot], high, label=busy, **_BUSY.area_options(hatch="", lw=0.3))
        ended = sum(bars[slot][-1]) if bars[slot] else 0.0
        wait = [(ended, last - ended)]
        ax.broken_barh(wait, high, label=idle, **_IDLE.area_options(alpha=0.4, lw=0))
    waited = 1 - float(drawn.sum()) * step / (many * last) if last else 0.0
    set_title(ax, f"{int(blocks):,} blocks on {int(many):,} slots: idle {waited:.1%} of the time")
    ax.set_xlim(0, last or 1)
    format_time_axis(ax)
    ax.set(yticks=[], ylabel=f"{len(chosen)} of {int(many):,} slots, the first to end below")
    add_legend(ax, at_bottom=True, ncols=2)
    return ax
