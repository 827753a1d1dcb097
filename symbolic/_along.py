"""A case along one quantity: its values at places, and where it is open between two of them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from symbolic.intervals import Decision, Interval, algebra, interval_of
from symbolic.ops import Node, constant, reference, references, where
from symbolic.parted import ARRAYS, Parted, Step, run
from symbolic.primitives.words import every, some

__all__ = ["Lines"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Boxes or points looked at together.
BATCH = sizes.LINES_BATCH


class Lines:
    """A case along a quantity, at the values of the others on each line.

    What does not depend on the quantity is computed once.
    """

    def __init__(self, root: Node, name: str, others: Mapping[str, Any]) -> None:
        root = constant(where(root, 1.0, 0.0)) if root.is_boolean else root
        values = {
            key: np.atleast_1d(np.asarray(others[key], dtype=float))
            for key in references(root)
            if key != name
        }
        parted = Parted((root,), (name,), values)
        self.root, self.along, self.steps = root, reference(name), parted.steps
        self.fixed = {node: np.asarray(value) for node, value in parted.fixed.items()}
        self.known = {node: _known(array) for node, array in self.fixed.items()}

    def at(self, line: Indices, x: Floats) -> Floats:
        """The case at points; one that is no number is -1."""
        found = np.empty(line.size)
        for first in range(0, line.size, BATCH):
            part = slice(first, first + BATCH)
            done = {node: _of(array, line[part]) for node, array in self.fixed.items()}
            done[self.along] = x[part]
            run(self.steps, done, ARRAYS)
            found[part] = done[self.root]
        found[np.isnan(found)] = -1.0
        return found

    def open(self, line: Indices, low: Floats, high: Floats) -> NDArray[np.bool_]:
        """Where more than one case is possible between two places."""
        found = np.empty(line.size, dtype=bool)
        for first in range(0, line.size, BATCH):
            part = slice(first, first + BATCH)
            held = self._enclosed(line[part], low[part], high[part])[self.root]
            found[part] = (held.lo < held.hi) | (held.undefined & (held.lo == held.hi))
        return found

    def _enclosed(self, line: Indices, low: Floats, high: Floats) -> dict[Node, Any]:
        done: dict[Node, Any] = {
            node: type(box)(*(_of(part, line) for part in box)) for node, box in self.known.items()
        }
        done[self.along] = Interval(low, high)
        run(self.steps, done, algebra(outward=False))
        return done

    def within(self, low: Floats, high: Floats) -> Lines:
        """The same between two places on each line, without what is decided on all of them."""
        if low.size > BATCH:
            return self
        boxes = self._enclosed(np.arange(low.size), low, high)
        told = {node: flag for node, box in boxes.items() if (flag := _decided(box)) is not None}
        same: dict[Node, Node] = {}
        steps: list[Step] = []
        for node, op, parts in self.steps:
            args = tuple(same.get(arg, arg) for arg in parts)
            open_ = [arg for arg in args if arg not in told]
            if node in told:
                continue
            if op == "where" and args[0] in told:
                same[node] = args[1 if told[args[0]] else 2]
            elif op in ("both", "either") and len(open_) == 1:
                same[node] = open_[0]
            else:
                steps.append((node, op, args))
        lines = copy(self)
        lines.root = same.get(self.root, self.root)
        used, lines.steps = {lines.root}, []
        for node, op, args in reversed(steps):
            if node in used:
                used.update(args)
                lines.steps.append((node, op, args))
        lines.steps.reverse()
        fixed = self.fixed | {node: np.asarray(flag) for node, flag in told.items()}
        lines.fixed = {node: array for node, array in fixed.items() if node in used}
        lines.known = {node: _known(array) for node, array in lines.fixed.items()}
        return lines


def _of(array: Any, line: Indices) -> Any:
    """What is known of each of some lines."""
    return array[line] if getattr(array, "size", 1) > 1 else array


def _decided(box: Interval | Decision) -> bool | None:
    """Whether a condition holds in every box, or in none; None where that is open."""
    if isinstance(box, Decision):
        if every(box.certain):
            return True
        if not some(box.possible):
            return False
    return None


def _known(array: Any) -> Interval | Decision:
    """The enclosure of what is known."""
    return Decision(array, array) if array.dtype == bool else interval_of(array)
