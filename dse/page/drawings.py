"""What the figures of a page need beside the equations of the study: looks, curves, laws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.page.axes import Kept
from dse.plots.looks import look_of, meaning_of
from stochastic.errors import LawError
from sweeps.grid.grid import Grid
from symbolic.advice import guides
from symbolic.graph import Graph
from symbolic.javascript import program
from symbolic.library import load_model
from symbolic.model import Model

if TYPE_CHECKING:
    from stochastic import Pmf

#: What the transit figure reads of a study, and of the model alone along its curves.
_TRANSIT = (
    *("threads", "intensity", "lanes_width", "ms_peak", "mem_latency", "arithmetic_latency"),
    *("ms_throughput", "cs_throughput", "bound", "cs_transition", "ms_transition"),
    *("threads_in_ms", "threads_in_ms_low", "threads_in_ms_high"),
)
#: What the figure of a launch reads besides its law.
_LAUNCH = ("launch_time_mean", "waves_time", "step_time")
#: Laws of which a page holds the tails, places along each, and how far down they go.
_LAWS, _PLACES, _RARE = 24, 120, 1e-9
#: Laws of launches of which a page holds the tails, places along each, the rarest that is shown.
_LAUNCHES, _STEPS, _RAREST = 96, 64, 1e-6
_TRACED = ("ms_throughput", "threads_in_ms", "threads_in_cs")


def extra_names(model: Model) -> list[str]:
    """Quantities of a model that its figures and its advice show beside the outputs of a study."""
    yields = set(model.yields)
    found = [name for guide in guides(model) for name in (guide.state, guide.goal, guide.limits)]
    if "ms_throughput" in yields:
        found += [name for name in _TRANSIT if name in yields]
    if "launch_steps" in yields:
        found += [name for name in _LAUNCH if name in yields]
    return list(dict.fromkeys(found))


def figures_told(grid: Grid, kept: Mapping[str, Kept]) -> tuple[dict[str, Any], dict[str, str]]:
    """The figures of the model's own and how its terms look; the functions these call."""
    names = dict.fromkeys(name for graph in grid.graphs.values() for name in graph.definitions)
    told: dict[str, Any] = {"looks": {name: _look(name) for name in names if meaning_of(name)}}
    functions: dict[str, str] = {}
    if names.keys() >= set(_TRANSIT):
        told["transit"], functions["traced"] = _transit(grid)
    if names.keys() >= {"launch_steps", "step_time"}:
        told |= _launches(grid, kept)
    elif names.keys() >= {"distribution", "lanes"}:
        told |= _tails(grid, kept)
    return told, functions


def _look(name: str) -> dict[str, Any]:
    look = look_of(name)
    dash = "" if look.line == "-" else " ".join(f"{length:g}" for length in look.line[1])
    return {"color": look.color, "dash": dash}


def _transit(grid: Grid) -> tuple[dict[str, Any], str]:
    """The model alone, under each of its supply curves, and which of them a study takes."""
    labels = grid.model.quantity("supply").labels or ()
    graphs: dict[tuple[str, ...], Graph]
    graphs = {(label,): load_model("transit").graph(supply=label) for label in labels}
    made = program(graphs, _TRACED)
    told = {
        "inputs": list(made.inputs),
        "choices": made.choices,
        "labels": list(labels),
        "supply": [labels.index(graph.switches["supply"]) for graph in grid.graphs.values()],
    }
    return told, made.source


def _tails(grid: Grid, kept: Mapping[str, Kept]) -> dict[str, Any]:
    """The tail of the work of one item under each law: more than so much, and how likely."""
    leaf = next(iter(grid.leaves.values()))["distribution"]
    index = np.ix_(*(kept[name].places for name in leaf.axes)) if leaf.axes else ()
    laws = np.asarray(leaf.array[index], dtype=object).reshape(-1).tolist()
    if len(laws) > _LAWS or leaf.switched or leaf.failed:
        return {}
    try:
        return {"tails": {"axes": list(leaf.axes), "laws": [_tail(law.pmf) for law in laws]}}
    except LawError:  # one without a mean
        return {}


def _launches(grid: Grid, kept: Mapping[str, Kept]) -> dict[str, Any]:
    """How rarely a launch takes more than so many steps, for each key of the switches."""
    leaves = [known["launch_steps"] for known in grid.leaves.values()]
    axes = leaves[0].axes
    index = np.ix_(*(kept[name].places for name in axes)) if axes else ()
    if any(leaf.axes != axes or leaf.failed for leaf in leaves):
        return {}
    laws = [np.asarray(leaf.array[index], dtype=object).reshape(-1) for leaf in leaves]
    if sum(one.size for one in laws) > _LAUNCHES:
        return {}
    keys = [[_rarely(law) for law in one.tolist()] for one in laws]
    return {"launches": {"axes": list(axes), "keys": keys}}


def _rarely(law: Any) -> dict[str, Any]:
    """Places of a law of steps, even in steps and in the chance of more."""
    below = np.asarray(law.below, dtype=float)
    first, last = np.searchsorted(below, [_RAREST, 1 - _RAREST])
    last = min(int(last), below.size - 1)
    levels = np.append(1 - np.geomspace(_RAREST, 1, _STEPS // 2), [0.5, 0.99, 0.9999])
    places = np.concatenate(
        [np.linspace(first, last, _STEPS // 2).round(), np.searchsorted(below, levels)]
    )
    places = np.unique(np.clip(places, first, last).astype(np.int64))
    steps, more = np.asarray(law.values)[places], np.maximum(1 - below[places], 0)
    steps, more = np.append(steps[0], steps), np.append(1.0, more)
    return {"steps": steps, "tail": [float(f"{share:.6g}") for share in more]}


def _tail(pmf: Pmf) -> dict[str, Any]:
    end = int(pmf.cut(_RARE).high)
    places = np.unique(np.linspace(pmf.low - 1, end, _PLACES).round().astype(np.int64))
    rarely = np.asarray([float(pmf.sf(int(k))) for k in places])
    return {"work": places, "tail": [float(f"{share:.9g}") for share in rarely]}
