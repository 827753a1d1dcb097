"""A case along one quantity: its values at places, and where it is open between two of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symbolic.intervals import Decision, Interval, enclose
from symbolic.ops import Node, constant, interpret_arrays, reference, walk, where

__all__ = ["Lines"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Boxes or points looked at together.
BATCH = 1 << 15


class Lines:
    """A case along a quantity, at the values of the others on each line.

    What does not depend on the quantity is computed once.
    """

    def __init__(self, root: Node, name: str, others: Mapping[str, Any]) -> None:
        root = constant(where(root, 1.0, 0.0)) if root.is_boolean else root
        self.name = name
        self.root, fixed = _told_apart(root, name)
        values = {
            key: np.atleast_1d(np.asarray(value, dtype=float)) for key, value in others.items()
        }
        found = interpret_arrays(list(fixed.values()), values)
        self.others = {key: np.asarray(array) for key, array in zip(fixed, found, strict=True)}

    def _values(self, line: Indices) -> dict[str, Any]:
        return {key: a[line] if a.size > 1 else a for key, a in self.others.items()}

    def at(self, line: Indices, x: Floats) -> Floats:
        """The case at points; one that is no number is -1."""
        found = np.empty(line.size)
        for first in range(0, line.size, BATCH):
            some = slice(first, first + BATCH)
            values = self._values(line[some]) | {self.name: x[some]}
            found[some] = interpret_arrays((self.root,), values)[0]
        found[np.isnan(found)] = -1.0
        return found

    def open(self, line: Indices, low: Floats, high: Floats) -> NDArray[np.bool_]:
        """Where more than one case is possible between two places."""
        found = np.empty(line.size, dtype=bool)
        for first in range(0, line.size, BATCH):
            some = slice(first, first + BATCH)
            values: dict[str, Any] = {
                key: _known(array) for key, array in self._values(line[some]).items()
            }
            values[self.name] = Interval(low[some], high[some])
            held: Any = enclose((self.root,), values, outward=False)[0]
            found[some] = (held.lo != held.hi) | held.undefined
        return found


def _told_apart(root: Node, name: str) -> tuple[Node, dict[str, Node]]:
    """The tree with names for the largest parts in which a quantity does not occur, and those."""
    fixed: dict[str, Node] = {}
    done: dict[int, Node | None] = {}  # None: the quantity does not occur

    def named(node: Node) -> Node:
        if node.op == "constant":
            return node
        if node.op == "reference":
            fixed[node.args[0]] = node
            return node
        key = f"part {id(node)}"
        fixed[key] = node
        return reference(key)

    for node in walk((root,)):
        if node.op in ("constant", "reference"):
            done[id(node)] = node if node.args[0] == name and node.op == "reference" else None
        elif all(done[id(arg)] is None for arg in node.args):
            done[id(node)] = None
        else:
            args = tuple(
                named(arg) if (rest := done[id(arg)]) is None else rest for arg in node.args
            )
            done[id(node)] = Node(node.op, args)
    found = done[id(root)]
    return (named(root) if found is None else found), fixed


def _known(array: Any) -> Interval | Decision:
    """The enclosure of what is known."""
    if array.dtype == bool:
        return Decision(array, array)
    missing = np.isnan(array)
    if not missing.any():
        return Interval(array, array)
    return Interval(np.where(missing, np.inf, array), np.where(missing, -np.inf, array), missing)
