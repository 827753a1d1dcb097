"""Where each step of a loop nest stands, and how it is written there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from hashlib import sha256

from stochastic import sizes
from symbolic.ops import Node, walk
from symbolic.primitives import PRIMITIVES

#: A loop along the row of more steps than this is cut at its calls.
_LONG = sizes.NEST_STEPS


def plain(name: str) -> str:
    """A name that may stand in a program, whatever the quantity is called: a statistic is a text.

    >>> plain("time"), plain("mean(time)")
    ('time', 'of_a3f09511')
    """
    return name if name.isidentifier() else f"of_{sha256(name.encode()).hexdigest()[:8]}"


class Placed:
    """Every step of some formulas, with the depth of its loop and its place along the row.

    Where a step varies along the row and is used in an inner loop, or in a later piece of its own,
    its values are kept in a buffer of ``size`` for each.
    """

    def __init__(
        self,
        outer: Sequence[str],
        row: Sequence[str],
        leaves: Mapping[str, Sequence[str]],
        roots: Sequence[Node],
        names: Mapping[int, str],
        size: int,
    ) -> None:
        self.outer, self.row, self.leaves = tuple(outer), tuple(row), leaves
        self.final, self.size = len(self.outer), size
        self.nodes = walk(roots)
        self.roots = roots
        self.names = dict(names)
        self.depth: dict[int, int] = {}
        self.stage: dict[int, int] = {}
        self.vector: dict[int, bool] = {}
        self.text: dict[int, str] = {}
        self.buffer: dict[int, int] = {}
        self._classify()

    def _classify(self) -> None:
        """Find the depth of the loop that binds each node, and whether it varies along the row."""
        level = {axis: depth + 1 for depth, axis in enumerate(self.outer)}
        for node in self.nodes:
            if node.op == "constant":
                depth, vector = 0, False
            elif node.op == "reference":
                axes = self.leaves[node.args[0]]
                depth = max((level[axis] for axis in axes if axis in level), default=0)
                vector = any(axis in self.row for axis in axes)
            else:
                depth = max(self.depth[id(arg)] for arg in node.args)
                vector = any(self.vector[id(arg)] for arg in node.args)
            self.depth[id(node)], self.vector[id(node)] = depth, vector
        self._cut()
        outside = (-1, 0)
        users = {id(root): max(self.at(root), (self.final, 0)) for root in self.roots}
        for node in reversed(self.nodes):
            if node.op in ("constant", "reference"):
                continue
            at = self.at(node) if self.vector[id(node)] else outside
            if self._inlined(node):
                at = users[id(node)]
            for arg in node.args:
                users[id(arg)] = max(users.get(id(arg), outside), at)
        for node in self.nodes:
            inner = self.vector[id(node)] and node.op not in ("constant", "reference")
            if inner and not node.is_boolean and users.get(id(node), outside) > self.at(node):
                self.buffer[id(node)] = len(self.buffer)

    def _cut(self) -> None:
        """Put the steps of a long loop along the row in stages: calls in the odd ones.

        A step of one operand in the loop goes where it is first used, if that is later: its operand
        is kept in its place, and may be kept for others already.
        """
        steps = [n for n in self.nodes if self.vector[id(n)] and n.op != "reference"]
        depths = [self.depth[id(node)] for node in steps]
        long = {depth for depth in depths if depths.count(depth) > _LONG}

        def beside(node: Node) -> list[Node]:
            own = self.depth[id(node)]
            return [a for a in node.args if id(a) in self.stage and self.depth[id(a)] == own]

        for node in steps:
            call = PRIMITIVES[node.op].call and self.depth[id(node)] in long
            found = [self.stage[id(a)] + (self.stage[id(a)] % 2 != call) for a in beside(node)]
            self.stage[id(node)] = max([int(call), *found])
        used: dict[int, int] = {id(root): 0 for root in self.roots}
        for node in reversed(steps):
            operands = beside(node)
            single = len({id(operand) for operand in operands}) == 1
            if single and not PRIMITIVES[node.op].call and not node.is_boolean:
                first = used.get(id(node), 0)
                self.stage[id(node)] = max(self.stage[id(node)], first - first % 2)
            for operand in operands:
                at = self.stage[id(node)]
                used[id(operand)] = min(used.get(id(operand), at), at)

    def at(self, node: Node) -> tuple[int, int]:
        """The depth and stage of a node."""
        return self.depth[id(node)], self.stage.get(id(node), 0)

    def _inlined(self, node: Node) -> bool:
        """Whether a node is written out where it is used: buffers hold numbers, not conditions."""
        return node.is_boolean and self.vector[id(node)]

    def name(self, node: Node) -> str:
        """The variable of a node."""
        if id(node) not in self.text:
            self.text[id(node)] = self.names.get(id(node)) or f"t{len(self.text)}"
        return self.text[id(node)]

    def operand(self, node: Node, at: tuple[int, int]) -> str:
        """How a node is read inside the loop of some depth and stage."""
        if node.op == "constant":
            value = node.args[0]
            if isinstance(value, bool):
                return repr(value)
            number = float(value)
            text = repr(number) if math.isfinite(number) else f"np.{abs(number)}"
            return text if math.copysign(1, number) > 0 else f"(-{text.lstrip('-')})"
        if node.op == "reference" and self.vector[id(node)]:
            return f"{self.name(node)}[j]"
        if self._inlined(node):
            operands = [self.operand(arg, at) for arg in node.args]
            return f"({PRIMITIVES[node.op].nest.format(*operands)})"
        if id(node) in self.buffer and at > self.at(node):
            return f"buffer[{self.buffer[id(node)] * self.size} + j]"
        return self.name(node)

    def _place(self, node: Node) -> str:
        """The place of a leaf's value, or of the first of its row, in its array."""
        axes = [axis for axis in self.outer if axis in self.leaves[node.args[0]]]
        place = ""
        for axis in axes:
            place = f"({place}) * n_{axis} + i_{axis}" if place else f"i_{axis}"
        if self.vector[id(node)]:
            return f"({place}) * n_row + start" if place else "start"
        return place

    def step(self, node: Node) -> list[str]:
        """The statements that compute a node."""
        name = self.name(node)
        if node.op == "reference":
            place = self._place(node)
            array = f"a_{plain(node.args[0])}"
            if self.vector[id(node)]:
                return [f"{name} = ahead({array}, {place})"]
            return [f"{name} = {array}[{place}]"]
        operands = [self.operand(arg, self.at(node)) for arg in node.args]
        return [f"{name} = " + PRIMITIVES[node.op].nest.format(*operands)]

    def scalars_at(self, depth: int) -> list[str]:
        """Statements of one value each, and the rows of the leaves, at a depth."""
        lines = []
        for node in self.nodes:
            if self.depth[id(node)] != depth or node.op == "constant":
                continue
            leaf = node.op == "reference"
            if (leaf and self.leaves[node.args[0]]) or (not leaf and not self.vector[id(node)]):
                lines += self.step(node)
        return lines

    def rows_at(self, depth: int) -> dict[int, list[str]]:
        """Statements of the loops along the row at a depth, by their stage, in order."""
        stages: dict[int, list[str]] = {}
        for node in self.nodes:
            if not self.vector[id(node)] or self.depth[id(node)] != depth:
                continue
            if node.op in ("constant", "reference") or self._inlined(node):
                continue
            lines = stages.setdefault(self.stage[id(node)], [])
            lines += self.step(node)
            if id(node) in self.buffer:
                lines.append(f"buffer[{self.buffer[id(node)] * self.size} + j] = {self.name(node)}")
        return dict(sorted(stages.items()))
