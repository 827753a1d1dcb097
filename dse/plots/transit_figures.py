"""Draw the transit figure: supply of memory and demand of the lanes (Li 2015)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluation import evaluate
from dse.fitting.rows import read_columns, read_table
from dse.plots.axes import add_legend, axes_of, axis_label, format_axis, set_title, split_axes
from dse.plots.data import MAX_SERIES, flags_of
from dse.plots.style import STYLES, font_scale, style_of
from dse.verbs.study import advise
from symbolic.answer import value_text
from symbolic.errors import DseError, InfeasibleError
from symbolic.library import load_model

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from dse.advice import Move

Curve = NDArray[np.float64]

_MODEL = "transit + transit_profiler"
_INPUTS = ("threads", "intensity", "lanes_width", "ms_peak", "mem_latency", "arithmetic_latency")
_OUTPUTS = (
    *("ms_throughput", "cs_throughput", "bound", "cs_transition", "ms_transition"),
    *("threads_in_ms", "threads_in_ms_low", "threads_in_ms_high", "threads_in_cs"),
)
_MEASURED_OUTPUTS = (
    *("measured_ms_throughput", "predicted_flops", "measured_flops", "prediction_accuracy"),
)
#: Value of ``lanes_width`` or ``ms_peak`` that is so large that it never limits the throughput.
_UNLIMITED = 1e15
_CURVE_POINTS = 2001
#: Default factor by which a move changes an input, if advice gives no end value. If no larger
#: value is feasible, the input is divided by this factor.
_DEFAULT_FACTOR = 2.0
#: Fraction of the plot that a letter of a regime's name needs; with less, the name is upright.
_LETTER_WIDTH = 0.016
#: Regimes narrower than this fraction of the plot have no name.
_MIN_LABEL_WIDTH = 0.05
#: Relative difference up to which two throughputs count as equal.
_SAME_TOLERANCE = 1e-9
_CURVES = (("memory", "supply of memory, f(k)"), ("computation", "demand of the lanes, g(n - k)"))
_AFTER_LINES: Mapping[str, Any] = {"memory": (0, (1, 1.2)), "computation": (0, (5, 1.5, 1, 1.5))}
_PANEL_WIDTH, _PANEL_HEIGHT = 5.2, 3.9


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    ds: xr.Dataset
    curves: Mapping[str, Curve]

    def __getitem__(self, name: str) -> float:
        return float(self.ds[name])


def _trace_state(model: str, point: Mapping[str, Any], entries: Mapping[str, Any]) -> _State:
    """Compute a configuration, its supply for unlimited lanes and demand for unlimited memory."""
    measured = _MEASURED_OUTPUTS if "kernel_time" in point else ()
    ds = evaluate(model, outputs=[*_INPUTS, *_OUTPUTS, *measured], **entries, **point)
    if ds.sizes:
        several = ", ".join(name for name, value in point.items() if np.ndim(value))
        raise DseError(
            f"transit draws one configuration, but {several} has several values: give one number"
        )
    values = {name: float(ds[name]) for name in _INPUTS}
    switches = {name: point[name] for name in ("supply",) if name in point}
    n, latency = values["threads"], values["mem_latency"]

    def trace(position: str, slowest: float, **unlimited: float) -> tuple[Any, Any]:
        most = n + slowest
        threads: Any = np.linspace(most / _CURVE_POINTS, most, _CURVE_POINTS)
        inputs = {**values, **unlimited, "threads": threads, **switches}
        traced = evaluate("transit", outputs=[position, "ms_throughput"], **inputs)
        at, rate = (np.concatenate([[0.0], traced[name]]) for name in (position, "ms_throughput"))
        inside = at <= n * (1 + 1e-6)
        return at[inside], rate[inside]

    work = values["arithmetic_latency"] * values["intensity"]
    demanded = min(values["lanes_width"] * values["arithmetic_latency"], n) / work
    served = min(values["ms_peak"] * latency, n) * work / max(latency, n / _UNLIMITED)
    supply = trace("threads_in_ms", served, lanes_width=_UNLIMITED)
    computing, rate = trace("threads_in_cs", demanded * latency, ms_peak=_UNLIMITED)
    curves = {"memory": np.stack(supply), "computation": np.stack([n - computing, rate])}
    return _State(ds=ds, curves=curves)


def transit(
    *,
    model: str = "transit",
    machine: str | None = None,
    workload: str | None = None,
    move: str | None = None,
    ax: Axes | None = None,
    **point: Any,
) -> Axes:
    """Draw supply f(k) and demand g(n - k) over the number of threads k that wait for memory.

    The curves cross at the throughput. Shaded regions show which bound would apply if the curves
    crossed in the region.
    """
    entries = {"machine": machine, "workload": workload}
    here = _trace_state(model, point, entries)
    states, text = [here], _summary(here)
    if move is not None:
        advised, values = _apply_move(model, entries, point, move, here)
        states.append(_trace_state(model, {**point, **values}, entries))
        text += _effect_text(here, states[1], advised, values)
    ax = axes_of(ax, 6.4, 4.2 + 3 * (font_scale() > 1) * (len(states) - 1))
    for state in states:
        _draw_state(ax, state, is_after=state is not here)
    at, rate = here["threads_in_ms"], here["ms_throughput"]
    if "measured_ms_throughput" in here.ds:
        measured = here["measured_ms_throughput"]
        ax.plot([at, at], [measured, rate], color="black", lw=1.0)
        ax.plot([at], [measured], **STYLES["optimum"].mark_options(14), label="measured")
    for state in states[1:]:
        arrow = {"arrowstyle": "-|>", "color": "black", "lw": 1.4, "shrinkA": 6, "shrinkB": 6}
        end = state["threads_in_ms"], state["ms_throughput"]
        ax.annotate("", end, (at, rate), arrowprops=arrow, zorder=6)
    ax.set_xlim(0, max(state["threads"] for state in states))
    ax.set_ylim(0, 1.3 * max(c[1].max() for state in states for c in state.curves.values()))
    _shade_regimes(ax, here)
    format_axis(ax.xaxis, here.ds["threads"], axis_label(here.ds["threads_in_ms"]) + " (k)")
    throughput = here.ds["ms_throughput"]
    format_axis(ax.yaxis, throughput, axis_label(throughput) + " [1/cycle]")
    symbols = load_model("transit").symbols_by_name
    inputs = ", ".join(f"{symbols[name]}\xa0=\xa0{here[name]:.4g}" for name in _INPUTS)
    set_title(ax, text if move is not None and font_scale() > 1 else f"{text}\n{inputs}")
    add_legend(ax, at_bottom=True, ncols=2)
    return ax


def _apply_move(
    model: str, entries: Mapping[str, Any], point: Mapping[str, Any], move: str, before: _State
) -> tuple[Move | None, dict[str, float]]:
    """Return the advice that suggests a move (or None), and the quantities after the move.

    ``move`` names inputs to change, joined by +. They are multiplied by the factor of the advice or
    by a default factor. If the machine has no room for this, they are divided by the default.
    """
    if not isinstance(move, str):
        raise DseError(f"move = {move!r}: expected the name of a quantity, such as 'threads'")
    names = tuple(name.strip() for name in move.split("+"))
    moves = advise(model, **entries, **point).moves
    advised = next((m for m in moves if {m.quantity, *m.together} == set(names)), None)
    if advised is None and not set(names) <= set(_INPUTS):
        known = ", ".join(" + ".join([m.quantity, *m.together]) for m in moves) or "none"
        raise DseError(
            f"move = {move!r} is no move: expected inputs of transit, {', '.join(_INPUTS)}, joined "
            f"by +; advised here: {known}"
        )
    factor = _DEFAULT_FACTOR
    if advised and np.isfinite(advised.until):
        factor = advised.until / advised.value
    after = {name: before[name] * factor for name in names}
    try:
        evaluate(model, outputs=["bound"], **entries, **{**point, **after})
    except InfeasibleError:  # the machine has no room for larger values
        return advised, {name: before[name] / _DEFAULT_FACTOR for name in names}
    return advised, after


def _draw_state(ax: Axes, state: _State, *, is_after: bool) -> None:
    tail, wide = (" after the move", 1.5) if is_after else ("", 2.2)
    for meaning, name in _CURVES:
        look = STYLES[meaning]
        style = look.line_options(ls=_AFTER_LINES[meaning] if is_after else look.line, lw=wide)
        ax.plot(*state.curves[meaning], **style, label=name + tail)
    level, black = state["ms_throughput"], STYLES["result"].color
    ends = [state["threads_in_ms_low"], state["threads_in_ms_high"]]
    ax.plot(ends, [level, level], color=black, lw=4, solid_capstyle="butt")
    mark: dict[str, Any] = {"marker": "o", "ms": 8, "mfc": "white" if is_after else black}
    mark |= {"mec": "black", "ls": "", "zorder": 5}
    waiting, threads = (value_text(state[name]) for name in ("threads_in_ms", "threads"))
    text = f"k = {waiting} of {threads} threads wait{tail}"
    ax.plot([state["threads_in_ms"]], [level], **mark, label=text)


def _shade_regimes(ax: Axes, state: _State) -> None:
    threads = state["threads"]
    filled, busy = state["ms_transition"], threads - state["cs_transition"]
    edges = sorted({0.0, threads, *(x for x in (filled, busy) if 0 < x < threads)})
    for low, high in pairwise(edges):
        middle, width = (low + high) / 2, (high - low) / ax.get_xlim()[1]
        name = (("thread", "computation"), ("memory", "capacity"))[middle > filled][middle < busy]
        ax.axvspan(low, high, color=style_of(name).color, alpha=0.1, lw=0)
        upright = width < _LETTER_WIDTH * len(name) * font_scale() ** 0.5
        if width > _MIN_LABEL_WIDTH:
            style: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": "small"}
            style |= {"transform": ax.get_xaxis_transform(), "rotation": 90 if upright else 0}
            ax.text(middle, 0.98, f"{name} bound" if upright else f"{name}\nbound", **style)
    for edge in edges[1:-1]:
        ax.axvline(edge, color="0.5", lw=0.8, ls=":")


def _summary(state: _State) -> str:
    text = f"{flags_of(state.ds['bound'])[int(state['bound'])]} bound"
    if "measured_flops" in state.ds:
        rates = [f"{state[name] / 1e9:.3g}" for name in ("predicted_flops", "measured_flops")]
        share = state["measured_ms_throughput"] / state["ms_throughput"]
        text += f"; PCT {rates[0]}, RCT {rates[1]} Gop/s an SM, accuracy "
        text += f"{state['prediction_accuracy']:.1%}; requests {share:.1%} of prediction"
    return text


def _effect_text(before: _State, after: _State, advised: Move | None, values: Any) -> str:
    first = next(iter(values))
    ends = " to ".join(value_text(state[first]) for state in (before, after))
    verb = "raised" if after[first] >= before[first] else "lowered"
    text = f"; {' + '.join(values)} {verb} from {ends}"
    gains = [after[rate] / before[rate] for rate in ("ms_throughput", "cs_throughput")]
    if font_scale() > 1:  # large letters leave no room for the principles
        return f"{text}: memory x {gains[0]:.3g}, computation x {gains[1]:.3g}"
    if advised is not None and advised.next_bound:
        text += f", the border to {advised.next_bound} bound"
    texts = [f"{'rises' if gain > 1 else 'falls'} x {gain:.3g}" for gain in gains]
    is_same = [abs(gain - 1) < _SAME_TOLERANCE for gain in gains]
    memory, computation = np.where(is_same, "stays", texts).tolist()
    text += f": memory throughput {memory} (principle 1), computation throughput {computation} "
    text += f"(principle {3 if 'intensity' in values else 2})"
    return text if gains[1] > 1 + _SAME_TOLERANCE else f"{text}: does not help"


def kernels(
    counters: str | Path | Mapping[str, Any] | Any,
    *,
    machine: str | None = None,
    ax: Axes | None = None,
    **point: Any,
) -> Axes:
    """Draw a transit figure for each kernel in one figure; return the first of the Axes."""
    table = read_table(counters)
    if not 1 <= table.rows <= MAX_SERIES:
        raise DseError(f"{table.rows} kernels: expected 1 to {MAX_SERIES} rows")
    names = [name for name in table.columns if name != "kernel"]
    columns = read_columns(table, load_model(_MODEL), names)
    numbers = [str(row + 1) for row in range(table.rows)]
    labels = [str(name) for name in np.asarray(table.columns.get("kernel", numbers))]
    across = math.ceil(math.sqrt(table.rows))
    down = math.ceil(table.rows / across)
    first = axes_of(ax, _PANEL_WIDTH * across, _PANEL_HEIGHT * down)
    figure = first.figure
    panels = split_axes(first, down, across)
    for panel in panels[table.rows :]:
        panel.remove()
    panels = panels[: table.rows]
    for row, (label, panel) in enumerate(zip(labels, panels, strict=True)):
        values: dict[str, Any] = {name: float(column[row]) for name, column in columns.items()}
        transit(model=_MODEL, machine=machine, ax=panel, **point, **values)
        title = panel.get_title().partition("\nn\xa0=")[0]  # without the inputs: panels are small
        set_title(panel, f"{label}: {' '.join(title.split())}", 44)
        if (below := panel.get_legend()) is not None:
            below.remove()
    handles = panels[0].get_legend_handles_labels()[0]
    texts = [*(text for _, text in _CURVES), "predicted", "measured"][: len(handles)]
    style: dict[str, Any] = {"ncols": 2, "fontsize": "small", "edgecolor": "0.8"}
    figure.legend(handles, texts, loc="outside lower center", **style)
    if "kernel_time" in columns:
        rows: dict[str, Any] = {**point, **columns}
        ds = evaluate(_MODEL, machine=machine, outputs=["prediction_accuracy"], **rows)
        mean = float(ds["prediction_accuracy"].mean())
        figure.suptitle(f"accuracy of the computation throughput: mean {mean:.1%}")
    return panels[0]
