"""Bound products ``a * floor(b / a)``: a rule shares b slots among a groups.

Such a product is at most b and more than b - a, but the enclosures of its factors do not know that.
The share is often limited, as in ``a * maximum(1, floor(b / a))``. Then the product and its
quotients are first written as maxima and minima of products. All this is exact for floats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sweeps.bounds.problem import BoxProblem, Leaves
from sweeps.grid.replaced_axes import is_whole
from symbolic.intervals import Interval, trend_algebra
from symbolic.node import Node, walk

_LIMITS = ("minimum", "maximum")
#: Products and sums of whole numbers below this limit are exact.
_MAX_EXACT = 2.0**52


def share_factors(node: Node) -> tuple[Node, Node, Node] | None:
    """Return a, ``floor(b / a)`` and b if a node is the product of the first two."""
    if node.op == "mul":
        for a, share in (node.args, node.args[::-1]):
            if share.op == "floor" and share.args[0].op == "div" and share.args[0].args[1] is a:
                return a, share, share.args[0].args[0]
    return None


def is_exact_share(problem: BoxProblem, factors: tuple[Node, Node, Node]) -> bool:
    """True if a and b are positive whole numbers, so that b - a < ``a * floor(b / a)`` <= b."""
    a, _, b = factors

    def has_whole_values(name: str) -> bool:
        array = np.asarray(problem.used_leaves[name].array)
        return bool(np.all(array == np.floor(array)))

    if not (is_whole(a, has_whole_values) and is_whole(b, has_whole_values)):
        return False
    with np.errstate(all="ignore"):
        trends = problem.step_trends(problem.whole_box)
    return all(_lies_within(trends[id(n)].enclosure, 1, _MAX_EXACT / 2) for n in (a, b))


def _lies_within(ends: object, low: float, high: float) -> bool:
    if not isinstance(ends, Interval) or np.any(ends.may_be_nan):
        return False
    return bool(np.all(ends.lo >= low) and np.all(ends.hi <= high))


def spread_limits(roots: Sequence[Node], leaves: Leaves, sizes: Mapping[str, int]) -> list[Node]:
    """Return formulas with limits moved out of products: ``a * max(1, s)`` is ``max(a, a * s)``."""
    known = {*trend_algebra(), "constant", "reference"}
    limited = {id(node): k for node in walk(roots) if (k := _limited_argument(node)) >= 0}
    if not limited or any(node.op not in known for node in walk(roots)):
        return list(roots)
    problem = BoxProblem(roots[0], leaves, sizes, roots[1:])
    with np.errstate(all="ignore"):
        trends = problem.step_trends(problem.whole_box)

    def lies(node: Node, low: float) -> bool:
        return _lies_within(trends[id(node)].enclosure, low, _MAX_EXACT)

    done: dict[int, Node] = {}
    spread: set[int] = set()
    for node in walk(roots):
        if node.op in ("constant", "reference"):
            done[id(node)] = node
            continue
        args = [done[id(arg)] for arg in node.args]
        place = next((k for k, arg in enumerate(args) if id(arg) in spread), -1)
        place = limited.get(id(node), place)
        fits = place >= 0 and node.op in ("mul", "div", "floor", "ceil")
        if fits and node.op in ("mul", "div"):
            fits = (place == 0 or node.op == "mul") and lies(node.args[1 - place], 1e-300)
        if fits and id(node) in limited:
            fits = all(lies(part, 0.0) for part in _limit_parts(node.args[place]))
        if not fits:
            done[id(node)] = Node(node.op, tuple(args))
            continue
        done[id(node)] = _map_limits(args[place], node.op, args[:place], args[place + 1 :])
        if node.op in ("mul", "div"):
            spread.add(id(done[id(node)]))
    return [done[id(root)] for root in roots]


def _limited_argument(node: Node) -> int:
    """Return the number of the argument of a product that is a limited share; -1 without one."""
    for place in range(2 if node.op == "mul" else 0):
        limits, a = node.args[place], node.args[1 - place]
        products = (Node("mul", (a, part)) for part in _limit_parts(limits))
        if limits.op in _LIMITS and any(share_factors(product) for product in products):
            return place
    return -1


def _limit_parts(node: Node) -> list[Node]:
    if node.op not in _LIMITS:
        return [node]
    return [part for arg in node.args for part in _limit_parts(arg)]


def _map_limits(node: Node, op: str, before: list[Node], after: list[Node]) -> Node:
    if node.op in _LIMITS:
        return Node(node.op, tuple(_map_limits(arg, op, before, after) for arg in node.args))
    return Node(op, (*before, node, *after))
