"""Trees of which some quantities vary: what does not depend on them is computed once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np

from symbolic.ops import Node, interpret_arrays, reference, walk
from symbolic.primitives import PRIMITIVES

__all__ = ["ARRAYS", "Parted", "Step", "run"]

#: What is computed (a node of the tree), the primitive, and of what.
Step = tuple[Node, str, tuple[Node, ...]]
#: The primitives over arrays.
ARRAYS: dict[str, Callable[..., Any]] = {op: row.array for op, row in PRIMITIVES.items()}


def run(
    steps: Iterable[Step], done: dict[Node, Any], algebra: Mapping[str, Callable[..., Any]]
) -> None:
    """Add to what is done what some steps make of it, without a warning."""
    with np.errstate(all="ignore"):
        for node, op, args in steps:
            done[node] = algebra[op](*[done[arg] for arg in args])


class Parted:
    """Trees over arrays in two parts: ``fixed`` are values, ``steps`` wait for those that vary.

    >>> x, y = reference("x"), reference("y")
    >>> parted = Parted([x * (y + 1)], ["x"], {"y": np.array([2.0])})
    >>> [op for _, op, _ in parted.steps], parted.at({"x": np.array([1.0, 2.0])})
    (['mul'], [array([3., 6.])])
    """

    def __init__(
        self, roots: Iterable[Node], names: Collection[str], values: Mapping[str, Any]
    ) -> None:
        self.roots = tuple(roots)
        self.steps: list[Step] = []
        varies: set[Node] = set()
        used = dict.fromkeys(self.roots)
        for node in walk(self.roots):
            if node.op == "reference":
                varies.update([node] if node.args[0] in names else [])
            elif node.op != "constant" and not varies.isdisjoint(node.args):
                varies.add(node)
                used |= dict.fromkeys(node.args)
                self.steps.append((node, node.op, node.args))
        held = [node for node in used if node not in varies]
        self.fixed = dict(zip(held, interpret_arrays(held, values), strict=True))

    def at(self, moved: Mapping[str, Any]) -> list[Any]:
        """The values of the trees at arrays of those quantities."""
        done = {**self.fixed, **{reference(name): array for name, array in moved.items()}}
        run(self.steps, done, ARRAYS)
        return [done[root] for root in self.roots]
