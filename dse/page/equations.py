"""The equations of a study, compiled for its page, and what is told of each quantity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dse.page.axes import plain
from dse.page.formula import formula_text
from sweeps.grid.goals import Goal
from sweeps.grid.grid import Grid
from symbolic.graph import Definition, Graph
from symbolic.javascript import Program, program
from symbolic.ops import Node, reference, references
from symbolic.quantities import label_of

Graphs = Mapping[tuple[str, ...], Graph]


def with_goals(graphs: Graphs, goals: Iterable[Goal], quantities: Mapping[str, Any]) -> Graphs:
    """The graphs with each goal that is a formula as a quantity of its own, named by its text."""
    added = {g.text: g.formula(quantities) for g in goals if g.text not in quantities}
    held = {str(name) for graph in graphs.values() for name in graph.definitions}  # statistics
    added = {text: node for text, node in added.items() if text not in held}
    return {
        key: replace(
            graph,
            definitions={**graph.definitions, **{t: _defined(t, n) for t, n in added.items()}},
            _flat={},
        )
        for key, graph in graphs.items()
    }


def _defined(name: str, node: Node) -> Definition:
    return Definition(name=name, kind="formula", node=node, needs=references(node))


def compiled(graphs: Graphs, grid: Grid, goals: Iterable[str] = ()) -> Program:
    """All that the graphs hold as one function, and their conditions.

    Each graph stands twice: as it is, and with every formula that is no equation left open, so that
    a value may be given in its place.
    """
    doubled = {}
    for key, graph in graphs.items():
        doubled[*key, "computed"] = graph
        doubled[*key, "given"] = _opened(graph, set(goals))
    names = dict.fromkeys(
        name
        for key, graph in graphs.items()
        for name in graph.definitions
        if all(_is_held(grid, key, leaf) for leaf in references(graph.flat(name)))
    )
    conditions = {c.text: None for graph in graphs.values() for c in graph.conditions}
    return program(doubled, list(names), list(conditions))


def _opened(graph: Graph, kept: set[str]) -> Graph:
    """The graph with an input in place of each formula that is no equation."""
    definitions = {
        name: Definition(name=name, kind="given", node=reference(name), needs=())
        if definition.kind == "formula" and name not in kept
        else definition
        for name, definition in graph.definitions.items()
    }
    return replace(graph, definitions=definitions, _flat={})


def _is_held(grid: Grid, key: tuple[str, ...], name: str) -> bool:
    """Whether a page holds the numbers of a leaf: it has no labels, and no draws."""
    leaf = grid.leaves[key][name]
    return leaf.array.dtype.kind != "O" and set(leaf.axes) <= set(grid.axes)


def definitions_told(graphs: Graphs, sources: Mapping[str, str]) -> dict[str, Any]:
    """How each quantity gets its value: kind, formula, what it needs, source; by key of switches.

    ``sources`` tells where values are from that no equation yields.
    """
    found: dict[str, dict[str, Any]] = {}
    for place, graph in enumerate(graphs.values()):
        for name, definition in graph.definitions.items():
            eq = definition.equation
            one = {"kind": definition.kind, "needs": list(definition.needs)}
            one["source"] = eq.source if eq is not None else sources.get(name, "")
            if not definition.is_leaf:
                one["text"] = formula_text(definition.node)
            if eq is not None and eq.when:
                one["when"] = eq.switches
            known = found.setdefault(name, {"which": [0] * len(graphs), "variants": []})
            if one not in known["variants"]:
                known["variants"].append(one)
            known["which"][place] = known["variants"].index(one)
    return found


def quantities_told(grid: Grid, graphs: Graphs) -> dict[str, Any]:
    """Unit, meaning, domain, usual range, flags and symbol of each quantity of the graphs."""
    symbols = {eq.name: eq.symbol for eq in grid.model.equations if eq.symbol}
    found = {}
    for name in dict.fromkeys(name for graph in graphs.values() for name in graph.definitions):
        row = grid.model.quantities.get(name)
        if row is None and label_of(name) == name and not hasattr(name, "row"):
            found[name] = {"meaning": "the goal of the study"}
            continue
        row = grid.model.quantity(name)
        domain = row.domain
        told: dict[str, Any] = {"unit": row.unit, "meaning": row.meaning}
        told["domain"] = [plain(domain.low), plain(domain.high), domain.low_open, domain.high_open]
        told["whole"] = domain.whole
        told["says"] = str(domain)
        if row.typical is not None:
            told["typical"] = [plain(float(end)) for end in row.typical]
        if flags := grid.flags(name):
            told["flags"] = {str(value): word for value, word in flags.items()}
        if row.is_label:
            told["labels"] = True
        if name in symbols:
            told["symbol"] = symbols[name]
        told["lever"] = row.lever
        found[name] = told
    return found
