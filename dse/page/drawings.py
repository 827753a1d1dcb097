"""What the figures of a page need beside the equations of the study: looks, curves, laws."""

from __future__ import annotations

from typing import Any

from dse.plots.looks import look_of, meaning_of
from sweeps.grid.grid import Grid
from symbolic.advice import guides
from symbolic.graph import Graph
from symbolic.javascript import program
from symbolic.library import load_model
from symbolic.model import Model

__all__ = ["extra_names", "figures_told"]

#: What the transit figure reads of a study, and of the model alone along its curves.
_TRANSIT = (
    *("threads", "intensity", "lanes_width", "ms_peak", "mem_latency", "arithmetic_latency"),
    *("ms_throughput", "cs_throughput", "bound", "cs_transition", "ms_transition"),
    *("threads_in_ms", "threads_in_ms_low", "threads_in_ms_high"),
)
_TRACED = ("ms_throughput", "threads_in_ms", "threads_in_cs")


def extra_names(model: Model) -> list[str]:
    """Quantities of a model that its figures and its advice show beside the outputs of a study."""
    yields = set(model.yields)
    found = [name for guide in guides(model) for name in (guide.state, guide.goal, guide.limits)]
    if "ms_throughput" in yields:
        found += [name for name in _TRANSIT if name in yields]
    return list(dict.fromkeys(found))


def figures_told(grid: Grid) -> tuple[dict[str, Any], dict[str, str]]:
    """The figures of the model's own and how its terms look; the functions these call."""
    names = {name for graph in grid.graphs.values() for name in graph.definitions}
    told: dict[str, Any] = {"looks": {name: _look(name) for name in names if meaning_of(name)}}
    functions: dict[str, str] = {}
    if set(_TRANSIT) <= names:
        told["transit"], functions["traced"] = _transit(grid)
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
        "choices": {name: list(which) for name, which in made.choices.items()},
        "labels": list(labels),
        "supply": [labels.index(graph.switches["supply"]) for graph in grid.graphs.values()],
    }
    return told, made.source
