"""What is known before a loop nest runs is worked out before it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symbolic.ops import Node, constant, interpret, walk


def folded(
    roots: Sequence[Node], known: Mapping[str, float], names: Mapping[int, str]
) -> tuple[list[Node], dict[int, str]]:
    """The same values at the known ones of some quantities, in fewer steps, and the nodes' names.

    Only what is exact in floating-point arithmetic is left out: ``x * 1``, but neither ``x * 0``
    nor ``x + 0``.
    """
    done: dict[int, Node] = {}
    kept: dict[int, str] = {}
    for node in walk(roots):
        if node.op == "reference":
            name = node.args[0]
            new = constant(known[name]) if name in known else node
        elif node.op == "constant":
            new = node
        else:
            new = _fewer(node.op, tuple(done[id(arg)] for arg in node.args))
        done[id(node)] = new
        if id(node) in names and new.op != "constant":
            kept.setdefault(id(new), names[id(node)])
    return [done[id(root)] for root in roots], kept


def _fewer(op: str, args: tuple[Node, ...]) -> Node:
    if all(arg.op == "constant" for arg in args):
        with np.errstate(all="ignore"):
            return constant(interpret(Node(op, args), {}, number=_number)[0])
    simpler = _RULES[op](*args) if op in _RULES else None
    return Node(op, args) if simpler is None else simpler


def _number(value: bool | float) -> NDArray[Any]:
    """An array, so that what is folded is what arrays compute: a float has other exp and log."""
    return np.array([value], dtype=bool if isinstance(value, bool) else float)


def _is(node: Node, value: float) -> bool:
    return node.op == "constant" and bool(node.args[0] == value)


def _product(a: Node, b: Node) -> Node | None:
    return b if _is(a, 1) else a if _is(b, 1) else None


def _where(condition: Node, yes: Node, no: Node) -> Node | None:
    if condition.op == "constant":
        return yes if condition.args[0] else no
    return yes if yes is no else None


def _both(a: Node, b: Node) -> Node | None:
    if a.op == "constant":
        return b if a.args[0] else a
    return _both(b, a) if b.op == "constant" else None


def _either(a: Node, b: Node) -> Node | None:
    if a.op == "constant":
        return a if a.args[0] else b
    return _either(b, a) if b.op == "constant" else None


def _divide(a: Node, b: Node, at_zero: Node) -> Node | None:
    if b.op != "constant":
        return None
    return at_zero if _is(b, 0) else _fewer("div", (a, b))


_RULES: dict[str, Callable[..., Node | None]] = {
    "mul": _product,
    "div": lambda a, b: a if _is(b, 1) else None,
    "where": _where,
    "both": _both,
    "either": _either,
    "divide": _divide,
}
