"""Write statistics as formulas, so that a search can bound them over boxes.

A statistic over few points becomes one copy of its formula per point. The copies are combined in
the order and with the rounding of :mod:`sweeps.nest.statistics`, so that proofs agree with scans.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stochastic import sizes
from sweeps.bounds.problem import BoxProblem
from sweeps.grid.grid import Grid, Leaf, leaf_at
from sweeps.grid.lazy_statistics import LazyStatistic
from sweeps.runtime.interrupts import raise_if_interrupted
from symbolic.graph import Definition, Graph
from symbolic.intervals import trend_algebra
from symbolic.ops import Node, constant, reference, references, substitute, walk
from symbolic.statistics import STATISTICS, statistic_as_formula

CHEAP_VALUES = sizes.EXPAND_CHEAP
MAX_VALUES, MAX_RESULTS = sizes.EXPAND_MOST, sizes.EXPAND_NUMBERS
_LEAF_OPS = ("constant", "reference")


def expand_statistics(grid: Grid, *, inputs_move: bool = False) -> Grid:
    """Return a grid in which statistics over few points are formulas.

    Other statistics stay leaves, which are computed when they are first read. Statistics of very
    few values also stay leaves, unless ``inputs_move`` says that their inputs will vary.
    """
    cheap = -1 if inputs_move else CHEAP_VALUES
    if (known := grid.cache.get(("expanded", cheap))) is not None:
        return known
    result = {key: _expand_graph(grid, key, cheap) for key in grid.graphs}
    whole = grid
    if any(graph is not grid.graphs[key] for key, (graph, _) in result.items()):
        whole = replace(
            grid,
            graphs={key: graph for key, (graph, _) in result.items()},
            leaves={key: leaves for key, (_, leaves) in result.items()},
            _dims={},
            cache={name: grid.cache[name] for name in ("formulas",) if name in grid.cache},
        )
    grid.cache["expanded", cheap] = whole
    return whole


def unexpanded_statistic(grid: Grid, roots: Mapping[tuple[str, ...], Node]) -> str:
    """Return the name of a statistic in ``roots`` that is too large to compute, or ''."""
    for key, root in roots.items():
        for name in references(root):
            leaf = grid.leaves[key][name]
            if isinstance(leaf, LazyStatistic) and not leaf.group.is_computed:
                shape = leaf.group.grid.shape
                count = math.prod(shape(leaf.group.result_axes))
                each = math.prod(shape(leaf.reduced_axes))
                if count > MAX_RESULTS or count * each > MAX_VALUES:
                    return name
    return ""


def _expand_graph(grid: Grid, key: tuple[str, ...], cheap: int) -> tuple[Graph, Mapping[str, Leaf]]:
    graph, leaves = grid.graphs[key], dict(grid.leaves[key])
    expansion = _Expansion(grid, leaves, cheap)
    known = set(leaves)
    definitions: dict[str, Definition] = {}
    for name, definition in graph.definitions.items():
        definitions[name] = definition
        if definition.kind == "statistic" and not _stays_leaf(leaves[name], cheap):
            node = expansion.leaf_node(name, leaves[name], {})
            needs = tuple(dict.fromkeys((*definition.needs, *references(node))))
            definitions[name] = replace(definition, kind="expanded", node=node, needs=needs)
    if all(definition is graph.definitions[name] for name, definition in definitions.items()):
        return graph, leaves
    points = {
        name: Definition(name=name, kind="given", node=reference(name), needs=())
        for name in leaves
        if name not in known
    }
    # leaves come first: an expanded statistic may read a leaf that was defined after it
    leading = {n: each for n, each in definitions.items() if each.is_leaf}
    return replace(graph, definitions={**points, **leading, **definitions}, _flat_nodes={}), leaves


def _stays_leaf(leaf: Leaf, cheap: int) -> bool:
    """True if a leaf is no statistic, has too many points, or is cheap to compute."""
    if not isinstance(leaf, LazyStatistic):
        return True
    folding = leaf.group
    about = folding.statistics[leaf.name]
    count = math.prod(folding.grid.shape(folding.reduced_axes))
    return (
        STATISTICS[about.kind].formula is None
        or count > sizes.EXPAND_POINTS
        or (folding.is_computed and cheap >= 0)
        or count * math.prod(folding.grid.shape(folding.result_axes)) <= cheap
    )


class _Expansion:
    """A converter of statistics into formulas. It adds leaves for values at fixed indices."""

    def __init__(self, grid: Grid, leaves: dict[str, Leaf], cheap: int) -> None:
        self.leaves, self.cheap = leaves, cheap
        self.sizes = {n: grid.axes[n].size for n in grid.non_switch_axes(grid.axes)}

    def leaf_node(self, name: str, leaf: Leaf, fixed: Mapping[str, int]) -> Node:
        if _stays_leaf(leaf, self.cheap):
            cut = {axis: index for axis, index in fixed.items() if axis in leaf.axes}
            if not cut:
                return reference(name)
            part = leaf_at(leaf, cut)
            if not (part.axes or part.switch_axes):
                return constant(float(part.array))
            text = f"{name} at {', '.join(f'{axis} {index}' for axis, index in cut.items())}"
            self.leaves.setdefault(text, part)
            return reference(text)
        assert isinstance(leaf, LazyStatistic)
        folding, values = leaf.group, []
        inner: Mapping[str, Leaf] = folding.grid.leaves[()]
        for index in np.ndindex(*folding.grid.shape(folding.reduced_axes)):
            raise_if_interrupted()
            here = {**fixed, **dict(zip(folding.reduced_axes, index, strict=True))}
            used = {n: self.leaf_node(n, inner[n], here) for n in references(folding.root)}
            values.append(constant(substitute(folding.root, used)))
        about = folding.statistics[leaf.name]
        return statistic_as_formula(about, values, folding.weights, self._is_never_nan(values))

    def _is_never_nan(self, values: Sequence[Node]) -> bool:
        """True if enclosures over the whole grid prove that no value is NaN."""
        if any(node.op not in trend_algebra() for node in walk(values) if node.op not in _LEAF_OPS):
            return False
        problem = BoxProblem(values[0], self.leaves, self.sizes, values[1:])
        with np.errstate(all="ignore"):
            result = problem.step_trends(problem.whole_box)
        return not any(np.any(result[id(value)].enclosure.may_be_nan) for value in values)
