"""Write a formula with some axes replaced by rules, which are formulas of the other quantities.

``at(time, splits, rule)`` is ``time`` with the value of the rule in place of ``splits``. The result
is one formula, which every backend reads. It is NaN where the rule is none of the axis's values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from stochastic import sizes
from sweeps.grid.axes import Axis
from sweeps.grid.grid import Leaf
from symbolic.errors import DseError
from symbolic.node import Node, constant, references, substitute
from symbolic.ops import equal, floor, where
from symbolic.quantity import Quantity

#: Operations whose result is whole if all their arguments (for a choice, its arms) are whole.
_WHOLE_OPS = ("add", "sub", "mul", "minimum", "maximum", "absolute", "where")


def replace_axes(
    node: Node,
    rules: Mapping[str, Node],
    axes: Mapping[str, Axis],
    leaves: Mapping[str, Leaf],
    part_of: Callable[[str, Mapping[str, int]], Node],
) -> Node:
    """Return the formula ``node`` of leaves with the quantities of some axes replaced by rules.

    ``part_of`` returns the node of a leaf at fixed indices of the replaced axes. Such nodes stand
    for the leaves that depend on these axes, except the quantities of the axes themselves.
    """
    moved = dict(rules)
    for name in references(node):
        along = [axis for axis in leaves[name].axes if axis in rules]
        if along and name not in rules:
            moved[name] = _table(along, rules, axes, partial(part_of, name), {})
    return substitute(node, moved)


def _table(
    along: list[str],
    rules: Mapping[str, Node],
    axes: Mapping[str, Axis],
    part_of: Callable[[Mapping[str, int]], Node],
    fixed: Mapping[str, int],
) -> Node:
    """Return a tree of choices that finds the entry of a table at the values of the rules."""
    if not along:
        return part_of(fixed)
    axis, *rest = along
    places = ({**fixed, axis: index} for index in range(axes[axis].size))
    entries = [_table(rest, rules, axes, part_of, place) for place in places]
    return _choose_by_value(rules[axis], axes[axis], entries)


def _choose_by_value(rule: Node, axis: Axis, entries: list[Node]) -> Node:
    """Return the entry of the axis's first value that is not below the rule."""
    if axis.size > sizes.REPLACED_VALUES:
        raise DseError(
            f"at: a rule chooses among {axis.size:,} values of {axis.name}, expected at most "
            f"{sizes.REPLACED_VALUES:,} where the values have unequal steps or a table depends on "
            "them: shorten the axis, or give it whole values with equal steps"
        )
    order: list[int] = np.argsort(axis.values, kind="stable").tolist()

    def tree(low: int, high: int) -> Node:
        if high - low == 1:
            return entries[order[low]]
        middle = (low + high) // 2
        test = constant(rule <= float(axis.values[order[middle - 1]]))
        return constant(where(test, tree(low, middle), tree(middle, high)))

    return tree(0, axis.size)


def value_tests(rule: Node, axis: Axis, quantities: Mapping[str, Quantity]) -> list[Node]:
    """Return conditions that together hold where a rule is one of the values of its axis."""
    values = np.sort(axis.values)
    first, last = float(values[0]), float(values[-1])
    tests = [constant(first <= rule), constant(rule <= last)]
    steps = np.diff(values)
    step = float(steps[0]) if steps.size else 1.0
    whole = bool(np.all(values == np.floor(values))) and max(-first, last) < 2**53
    if whole and np.all(steps == step) and step > 0:
        if not is_whole(rule, lambda name: name in quantities and quantities[name].domain.whole):
            tests.append(constant(equal(floor(rule), rule)))
        if step > 1:
            tests.append(constant(equal(floor((rule - first) / step) * step, rule - first)))
        return tests
    entries = [constant(float(value)) for value in axis.values]
    return [*tests, constant(equal(_choose_by_value(rule, axis, entries), rule))]


def is_whole(node: Node, is_whole_quantity: Callable[[str], bool]) -> bool:
    """True if a formula of finite numbers is certainly a whole number."""
    if node.op == "constant":
        return float(node.args[0]).is_integer()
    if node.op == "reference":
        return is_whole_quantity(node.args[0])
    parts = node.args[1:] if node.op == "where" else node.args
    return node.op in ("floor", "ceil") or (
        node.op in _WHOLE_OPS and all(is_whole(part, is_whole_quantity) for part in parts)
    )
