"""Search over the axes of ``best(time, splits)`` instead of writing it as a formula.

The maximum of ``time_of_rule / best(time, splits)`` is the maximum of ``time_of_rule / time`` over
the other axes *and* the splits. So an objective that gets worse as a best value gets worse needs no
copy of the formula for each value of the axis: the axis becomes one more axis of the search.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sweeps.bounds.problem import BoxProblem, Leaves
from sweeps.grid.goals import split_missing
from sweeps.grid.grid import Leaf
from sweeps.grid.lazy_statistics import LazyStatistic
from symbolic.intervals import Decision, trend_algebra
from symbolic.node import INFINITE, conjuncts
from symbolic.ops import Node, both, constant, reference, references, substitute, walk, where
from symbolic.primitives import PRIMITIVES


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerAxes:
    """An objective to minimize, in which axes of the search replace best values.

    ``sizes`` are the sizes of these inner axes.
    """

    root: Node
    leaves: Leaves
    sizes: Mapping[str, int]


def best_as_axes(root: Node, leaves: Leaves, sizes: Mapping[str, int]) -> InnerAxes:
    """Return an objective with the same minimum, with inner axes in place of best values.

    A best value is replaced if it is proven that the objective never falls as the value gets worse.
    Equality holds for the computed floats, because rounding to nearest is monotone.
    """
    result = InnerAxes(root=root, leaves=dict(leaves), sizes={})
    for name in references(root):
        leaf = leaves[name]
        if isinstance(leaf, LazyStatistic):
            result = _replace_best(result, name, leaf, sizes) or result
    return result


def _replace_best(
    known: InnerAxes, name: str, leaf: LazyStatistic, sizes: Mapping[str, int]
) -> InnerAxes | None:
    kind = leaf.group.statistics[leaf.name].kind
    root = known.root
    if kind not in ("best_low", "best_high") or root.args[-1] is not INFINITE:
        return None
    tests, value = conjuncts(root.args[:1]), root.args[1]
    others = [test for test in tests if name in references(test)]
    on_path = {id(value)}
    for node in reversed(walk([value])):
        if id(node) not in on_path or node.op in ("constant", "reference"):
            continue
        below = [arg for arg in node.args if name in references(arg)]
        row = PRIMITIVES[node.op]
        if below and (not row.propagates_nan or row.is_condition or row.calls_library):
            return None
        on_path.update(map(id, below))
    if len(others) != 1 or others[0] is not constant(value > -math.inf):
        return None
    folded = leaf.group
    renamed = {axis: f"{axis} of {name}" for axis in folded.reduced_axes}
    inner, swap = dict(known.leaves), dict[str, Node]()
    for need in references(folded.root):
        part = folded.grid.leaves[()][need]
        if set(part.axes) & set(renamed):
            if isinstance(part, LazyStatistic):
                return None
            axes = tuple(renamed.get(axis, axis) for axis in part.axes)
            inner[f"{need} of {name}"] = Leaf(axes=axes, array=part.array)
            swap[need] = reference(f"{need} of {name}")
        else:
            inner[need] = part
    valid, node = split_missing(substitute(folded.root, swap))
    lengths = {renamed[axis]: folded.grid.axes[axis].size for axis in folded.reduced_axes}
    if not _gets_worse(value, name, node, inner, {**sizes, **known.sizes, **lengths}, kind):
        return None
    moved = substitute(value, {name: node})
    tests = [test for test in tests if test is not others[0]]
    holds = both(*tests, *valid, node > -math.inf, moved > -math.inf)
    return InnerAxes(
        root=constant(where(holds, moved, math.inf)), leaves=inner, sizes={**known.sizes, **lengths}
    )


def _gets_worse(
    value: Node, name: str, node: Node, leaves: Leaves, sizes: Mapping[str, int], kind: str
) -> bool:
    """True if enclosures prove that ``value`` never falls as the best value ``name`` gets worse."""
    known = {*trend_algebra(), "constant", "reference"}
    if any(step.op not in known for step in walk([value, node])):
        return False
    if any(isinstance(leaves[n], LazyStatistic) for n in references(value, node) if n != name):
        return False
    with np.errstate(all="ignore"):
        whole = BoxProblem(node, leaves, sizes)
        result = whole.step_trends(whole.whole_box)[id(node)].enclosure
        if isinstance(result, Decision):
            return False
        ends = np.array([float(np.min(result.lo)), float(np.max(result.hi))])
        if not ends[0] < ends[1]:
            return False
        best = Leaf(axes=(name,), array=ends)
        problem = BoxProblem(value, {**leaves, name: best}, {**sizes, name: 2})
        trend = problem.step_trends(problem.whole_box)[id(value)]
    bit = np.uint64(1) << np.uint64(problem.dims.index(name))
    return bool(np.all((trend.up if kind == "best_low" else trend.down) & bit))
