"""The transit figure: where the supply of memory meets the demand of the lanes (Li 2015)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluation import evaluate
from dse.plots.frame import axes_of, legend, named, number_text, side, title
from dse.plots.looks import LOOKS, look_of
from dse.plots.sources import flags_of
from dse.verbs.described import advise
from symbolic.errors import DseError, InfeasibleError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from dse.advice import Move

__all__ = ["transit"]

Floats = NDArray[np.float64]

_INPUTS = ("threads", "intensity", "lanes_width", "ms_peak", "mem_latency", "arithmetic_latency")
_SHOWN = (*_INPUTS, "ms_throughput", "cs_throughput", "bound", "cs_transition", "ms_transition")
_MEASURED = ("measured_ms_throughput", "predicted_flops", "measured_flops", "prediction_accuracy")
_RANGES = ("threads_in_ms", "threads_in_ms_low", "threads_in_ms_high", "threads_in_cs")
#: A system that can never be full.
_ENDLESS = 1e15
_POINTS = 2001
#: Lines after a move.
_AFTER: Mapping[str, Any] = {"memory": (0, (1, 1.2)), "computation": (0, (5, 1.5, 1, 1.5))}
#: A way without end, or one that does not help, is drawn as far as this.
_FAR = 2.0
#: Regimes narrower than these shares of the figure are named upwards, or not at all.
_NARROW, _SLIM = 0.2, 0.05
#: Throughputs closer than this are the same.
_SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """One configuration: its quantities, and the two curves traced by the model."""

    ds: xr.Dataset
    supply: tuple[Floats, Floats]
    demand: tuple[Floats, Floats]

    def __getitem__(self, name: str) -> float:
        return float(self.ds[name])

    @property
    def measured(self) -> float:
        """The throughput that was measured, as a share of the one predicted."""
        return self["measured_ms_throughput"] / self["ms_throughput"]

    @property
    def bound(self) -> str:
        return flags_of(self.ds["bound"])[int(self.ds["bound"])]


def _state(model: str, given: Mapping[str, Any], **entries: Any) -> _State:
    """Supply is where the model settles if the lanes are never full, demand if memory never is.

    Either curve is traced by the threads from few to many: the equilibrium runs along it.
    """
    measured = _MEASURED if "kernel_time" in given else ()
    ds = evaluate(model, outputs=[*_SHOWN, *_RANGES, *measured], **entries, **given)
    if ds.sizes:
        several = ", ".join(name for name, value in given.items() if np.ndim(value))
        raise DseError(
            f"transit draws one configuration, was given several values of {several}: give one "
            "number each"
        )
    held = {name: float(ds[name]) for name in _INPUTS}
    switches = {name: given[name] for name in ("supply",) if name in given}

    def trace(where: str, slowest: float, **endless: float) -> tuple[Floats, Floats]:
        most = held["threads"] + slowest
        threads = np.linspace(most / _POINTS, most, _POINTS)
        values: dict[str, Any] = held | endless | {"threads": threads}
        wanted = [where, "ms_throughput"]
        found = evaluate("transit", outputs=wanted, **values, **switches)
        at, rate = (np.concatenate([[0.0], found[name].values]) for name in wanted)
        inside = at <= held["threads"] * (1 + 1e-6)
        return at[inside], rate[inside]

    n, latency = held["threads"], held["mem_latency"]
    thinking = held["arithmetic_latency"] * held["intensity"]
    asked = min(held["lanes_width"] * held["arithmetic_latency"], n) / thinking
    computing, demand = trace("threads_in_cs", asked * latency, ms_peak=_ENDLESS)
    served = min(held["ms_peak"] * latency, n) * thinking / max(latency, n / _ENDLESS)
    return _State(
        ds=ds,
        supply=trace("threads_in_ms", served, lanes_width=_ENDLESS),
        demand=(held["threads"] - computing, demand),
    )


def transit(
    *,
    model: str = "transit",
    machine: str | None = None,
    workload: str | None = None,
    move: str | None = None,
    ax: Axes | None = None,
    **point: Any,
) -> Axes:
    """The transit figure of a configuration, and where a move leads (Li 2015, Figs. 6-17).

    Supply f(k) and demand g(n - k) over the threads k that wait for memory; they cross at the
    throughput. The shades say what would bound the machine if they crossed there. A star is the
    throughput that a profiler measured, where ``model`` is joined with ``transit_profiler`` and
    ``kernel_time`` is given (Figs. 18 and 19).

    Parameters
    ----------
    model, machine, workload, **point
        As for :func:`dse.advise`, of ``"transit"`` or of a union with it.
    move : str, optional
        An input of Transit, or several that are raised by one factor, with ``+`` between: the
        figure after the move is drawn too, and what becomes of both throughputs is said, with the
        principle of §2.3 that tells it. A move that :func:`dse.advise` advises ends at the next
        bound; one without end, or that does not help, at a factor of 2, of a half where the machine
        holds no more.
    ax : Axes, optional
        Where to draw; a new figure where None.

    Raises
    ------
    DseError
        A configuration that does not fit, or a move of what is no input.
    """
    entries = {"machine": machine, "workload": workload}
    here = _state(model, point, **entries)
    moved = None if move is None else _moved(model, entries, point, move, here)
    there = None if moved is None else _state(model, {**point, **moved[1]}, **entries)
    ax = axes_of(ax)
    _draw(ax, here, after=False)
    if "measured_ms_throughput" in here.ds:
        _star(ax, here)
    if there is not None:
        _draw(ax, there, after=True)
        _arrow(ax, here, there)
    both = [state for state in (here, there) if state is not None]
    most = max(float(rate.max()) for s in both for _, rate in (s.supply, s.demand))
    ax.set_xlim(0, max(state["threads"] for state in both))
    ax.set_ylim(0, 1.3 * most)
    _regimes(ax, here)
    side(ax.xaxis, here.ds["threads"], named(here.ds["threads_in_ms"]) + " (k)")
    side(ax.yaxis, here.ds["ms_throughput"], named(here.ds["ms_throughput"]) + " [1/cycle]")
    title(ax, _words(here, there, moved), 64)
    legend(ax, below=True, ncols=2)
    return ax


def _moved(
    model: str, entries: Mapping[str, Any], point: Mapping[str, Any], move: str, here: _State
) -> tuple[Move | None, dict[str, float]]:
    """The piece of advice that a move is, if any, and the quantities moved where it is drawn."""
    if not isinstance(move, str):
        raise DseError(f"move = {move!r}: expected the name of a quantity, such as 'threads'")
    names = tuple(name.strip() for name in move.split("+"))
    advised = advise(model, **entries, **point).moves
    known = next((m for m in advised if {m.quantity, *m.together} == set(names)), None)
    if known is None and not set(names) <= set(_INPUTS):
        told = ", ".join(" + ".join([m.quantity, *m.together]) for m in advised) or "none"
        raise DseError(
            f"move = {move!r} is no move: expected inputs of transit, {', '.join(_INPUTS)}, with + "
            f"between; advised here: {told}"
        )
    factor = known.until / known.value if known and np.isfinite(known.until) else _FAR
    there, back = ({n: float(here.ds[n]) * by for n in names} for by in (factor, 1 / _FAR))
    try:
        evaluate(model, outputs=["bound"], **entries, **{**point, **there})
    except InfeasibleError:  # the machine holds no more
        return known, back
    return known, there


def _draw(ax: Axes, state: _State, *, after: bool) -> None:
    """Both curves, their corners and where they cross; thin where they are those after a move."""
    thin: dict[str, Any] = {"lw": 1.5} if after else {"lw": 2.2}
    tail = " after the move" if after else ""
    for meaning, name, (at, rate) in (
        ("memory", "supply of memory, f(k)", state.supply),
        ("computation", "demand of the lanes, g(n - k)", state.demand),
    ):
        look = LOOKS[meaning]
        line = _AFTER[meaning] if after else look.line
        ax.plot(at, rate, **look.of_line(ls=line, **thin), label=name + tail)
    level = state["ms_throughput"]
    low, high = state["threads_in_ms_low"], state["threads_in_ms_high"]
    fill = "white" if after else LOOKS["result"].color
    ax.plot([low, high], [level, level], color=LOOKS["result"].color, lw=4, solid_capstyle="butt")
    mark: dict[str, Any] = {"marker": "o", "ms": 8, "mfc": fill, "mec": "black"}
    mark |= {"ls": "", "zorder": 5}
    waiting, threads = (number_text(state[name]) for name in ("threads_in_ms", "threads"))
    text = f"k = {waiting} of {threads} threads wait"
    ax.plot([state["threads_in_ms"]], [level], **mark, label=text + tail)


def _star(ax: Axes, state: _State) -> None:
    """The throughput that was measured, above or below where the curves cross."""
    measured, at = state["measured_ms_throughput"], state["threads_in_ms"]
    ax.plot([at, at], [measured, state["ms_throughput"]], color="black", lw=1.0)
    ax.plot([at], [measured], **LOOKS["optimum"].of_mark(14), label="measured")


def _arrow(ax: Axes, here: _State, there: _State) -> None:
    """From the one equilibrium to the other."""
    ends = [(state["threads_in_ms"], state["ms_throughput"]) for state in (here, there)]
    arrow = {"arrowstyle": "-|>", "color": "black", "lw": 1.4, "shrinkA": 6, "shrinkB": 6}
    ax.annotate("", ends[1], ends[0], arrowprops=arrow, zorder=6)


def _regimes(ax: Axes, state: _State) -> None:
    """What binds where the curves cross: which of them has not risen to its level there."""
    threads = state["threads"]
    filled, busy = state["ms_transition"], threads - state["cs_transition"]
    edges = sorted({0.0, threads, *(x for x in (filled, busy) if 0 < x < threads)})
    for low, high in pairwise(edges):
        middle = (low + high) / 2
        full, lanes = middle > filled, middle < busy
        names = {(0, 0): "thread", (1, 0): "memory", (0, 1): "computation", (1, 1): "capacity"}
        name = names[int(full), int(lanes)]
        look = look_of(name)
        ax.axvspan(low, high, color=look.color, alpha=0.1, lw=0)
        width = (high - low) / ax.get_xlim()[1]
        if width > _SLIM:
            upright = width < _NARROW
            text = name if upright else f"{name}\nbound"
            look_at: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 8}
            look_at |= {"transform": ax.get_xaxis_transform(), "rotation": 90 if upright else 0}
            ax.text(middle, 0.98, text, **look_at)
    for edge in edges[1:-1]:
        ax.axvline(edge, color="0.5", lw=0.8, ls=":")


def _words(
    here: _State, there: _State | None, moved: tuple[Move | None, dict[str, float]] | None
) -> str:
    """The bound; what a move does to both throughputs, by the principles; what was measured."""
    text = f"{here.bound} bound"
    if "measured_flops" in here.ds:
        rates = [f"{here[name] / 1e9:.3g}" for name in ("predicted_flops", "measured_flops")]
        accuracy = f"{here['prediction_accuracy']:.1%}"
        text += f"; PCT {rates[0]}, RCT {rates[1]} Gop/s an SM, accuracy {accuracy}; "
        text += f"requests {here.measured:.1%} of what is predicted"
    if there is None or moved is None:
        return text
    move, names = moved
    name = next(iter(names))
    ends = [number_text(state[name]) for state in (here, there)]
    verb = "raised" if there[name] >= here[name] else "lowered"
    text += f"; {' + '.join(names)} {verb} from {ends[0]} to {ends[1]}"
    if move is not None and move.next_bound:
        text += f", then {move.next_bound} bound"
    gains = [there[rate] / here[rate] for rate in ("ms_throughput", "cs_throughput")]
    told = [
        "stays" if abs(gain - 1) < _SAME else f"{'rises' if gain > 1 else 'falls'} x {gain:.3g}"
        for gain in gains
    ]
    third = "intensity" in names
    text += f": memory throughput {told[0]} (principle 1), "
    text += f"computation throughput {told[1]} (principle {3 if third else 2})"
    return text if gains[1] > 1 + _SAME else f"{text}: does not help"
