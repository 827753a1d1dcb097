"""Comparisons written as few plain ones, so that what hangs together is decided together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbolic.intervals import Decision
from symbolic.ops import Node, both, constant, either, negate, walk

__all__ = ["decided"]


def decided(root: Node, known: Mapping[int, Any]) -> Node:
    """The same by comparisons of which none is between minima and maxima, equal ones but once.

    ``min(x, y) == y`` becomes ``y <= x``; ``case == 2`` what makes the case; ``x <= min(y, z)`` two
    comparisons; a choice that is certain what it comes to. Of what may be NaN these are not the
    same, and stay. ``known`` has the enclosure of every step over the whole space, by ``id``.
    """
    return _Deciding(known).run(root)


class _Deciding:
    def __init__(self, known: Mapping[int, Any]) -> None:
        self.known = known
        self.done: dict[int, Node] = {}
        self.once: dict[Any, Node] = {}
        self.unsure: set[int] = set()  # of the new nodes, those that may be NaN

    def run(self, root: Node) -> Node:
        for node in walk((root,)):
            new = self._made(node)
            self.done[id(node)] = new
            found = self.known[id(node)]
            if not isinstance(found, Decision) and np.any(found.undefined):
                self.unsure.add(id(new))
        return self.done[id(root)]

    def _made(self, node: Node) -> Node:
        if node.op in ("constant", "reference"):
            return self._one(node.op, *node.args)
        args = [self.done[id(arg)] for arg in node.args]
        if node.op in ("less", "less_equal"):
            return self._compared(node.op, *args)
        if node.op == "where":
            test = self.known[id(node.args[0])]
            if np.all(test.certain) or not np.any(test.possible):
                return args[1] if np.all(test.certain) else args[2]
        if node.op == "equal":
            for one, other in (args, args[::-1]):
                rest = _others(one, other)
                if rest and not any(id(x) in self.unsure for x in rest):
                    pairs = (self._compared("less_equal", other, x) for x in rest)
                    return constant(both(*pairs))
                if other.op == "constant" and one.op == "where" and _told(one):
                    return _case(one, other.args[0])
        return self._one(node.op, *args)

    def _one(self, op: str, *args: Any) -> Node:
        """The one node of an operation on the same."""
        key = (op, *(id(arg) if isinstance(arg, Node) else repr(arg) for arg in args))
        return self.once.setdefault(key, Node(op, args))

    def _compared(self, op: str, a: Node, b: Node) -> Node:
        for parts, left in ((b, False), (a, True)):
            sure = not any(id(arg) in self.unsure for arg in parts.args)
            if parts.op in ("minimum", "maximum") and sure:
                pairs = [
                    self._compared(op, part, b) if left else self._compared(op, a, part)
                    for part in parts.args
                ]
                join = either if left == (parts.op == "minimum") else both
                return constant(join(*pairs))
        return self._one(op, a, b)


def _others(least: Node, y: Node) -> list[Node]:
    """What else a minimum is of, if it is one and y is among its arguments."""
    if least.op != "minimum":
        return []
    found, stack, among = [], [least], False
    while stack:
        node = stack.pop()
        if node is y:
            among = True
        elif node.op == "minimum":
            stack.extend(node.args)
        else:
            found.append(node)
    return found if among else []


def _told(node: Node) -> bool:
    """Whether a choice is of numbers alone, as a case is."""
    if node.op == "where":
        return _told(node.args[1]) and _told(node.args[2])
    return node.op == "constant"


def _case(node: Node, number: float) -> Node:
    """When a choice of numbers comes to one of them."""
    if node.op == "constant":
        return constant(bool(node.args[0] == number))
    test = node.args[0]
    yes, no = (_case(arg, number) for arg in node.args[1:])
    if no.op == "constant":
        if yes.op == "constant" and yes.args[0] == no.args[0]:
            return yes
        if no.args[0]:
            return constant(negate(test) if yes.op == "constant" else either(negate(test), yes))
        return test if yes.op == "constant" else constant(both(test, yes))
    if yes.op == "constant":
        return constant(either(test, no) if yes.args[0] else both(negate(test), no))
    return constant(either(both(test, yes), both(negate(test), no)))
