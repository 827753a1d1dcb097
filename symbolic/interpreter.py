"""Traced equations evaluated in an algebra, and the algebra of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from symbolic.node import Node, constant, walk
from symbolic.primitives import PRIMITIVES


def _world(args: Iterable[Any]) -> str:
    """Which world the arguments live in: 'scalar', 'array', 'sympy' or 'node'."""
    world = "scalar"
    for arg in args:
        if type(arg) is float or type(arg) is int:
            continue
        if isinstance(arg, Node):
            return "node"
        if isinstance(arg, (np.ndarray, np.generic)):  # of which none may become a Python float
            world = "array" if world == "scalar" else world
        elif hasattr(arg, "free_symbols"):
            world = "sympy"
    return world


def _applied(op: str) -> Callable[..., Any]:
    row = PRIMITIVES[op]
    scalar, array = row.scalar, row.array
    if scalar is array:  # an operator, which finds the world by itself
        return scalar

    def apply(*args: Any) -> Any:
        world = _world(args)
        if world == "scalar":
            return scalar(*args)
        if world == "node":
            return Node(op, tuple(map(constant, args)))
        if world == "array":
            return array(*args)
        from symbolic.sympy_primitives import SYMPY

        return SYMPY[op](*args)

    return apply


#: The numeric algebra: floats, fractions and NumPy arrays.
NUMERIC: dict[str, Callable[..., Any]] = {op: _applied(op) for op in PRIMITIVES}


def interpret_all(
    roots: Iterable[Node],
    values: Mapping[str, Any],
    algebra: Mapping[str, Callable[..., Any]] | None = None,
    number: Callable[[Any], Any] = lambda value: value,
) -> list[Any]:
    """Evaluate several traced equations together, each shared step once; see :func:`interpret`."""
    algebra = NUMERIC if algebra is None else algebra
    roots = list(roots)
    done: dict[int, Any] = {}
    for node in walk(roots):
        if node.op == "constant":
            done[id(node)] = number(node.args[0])
        elif node.op == "reference":
            done[id(node)] = values[node.args[0]]
        else:
            done[id(node)] = algebra[node.op](*[done[id(arg)] for arg in node.args])
    return [done[id(root)] for root in roots]


def interpret_arrays(roots: Iterable[Node], values: Mapping[str, Any]) -> list[Any]:
    """Evaluate several traced equations over NumPy arrays, without a warning.

    A literal is a double as they are: Python's own numbers raise where they divide by zero, and
    whole ones multiply without end.

    >>> from symbolic.node import constant
    >>> interpret_arrays([constant(1) / 0, constant(3) * 2], {})
    [np.float64(inf), np.float64(6.0)]
    """
    with np.errstate(all="ignore"):
        return interpret_all(roots, values, number=_double)


def _double(value: Any) -> Any:
    return value if isinstance(value, bool) else np.float64(value)


def interpret(
    root: Node,
    values: Mapping[str, Any],
    algebra: Mapping[str, Callable[..., Any]] | None = None,
    number: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """Evaluate a traced equation in an algebra, at the values of the quantities it names.

    ``number`` turns a literal into the algebra's own kind of number.

    >>> from symbolic.ops import minimum, reference
    >>> interpret(minimum(reference("a"), 2) + 1, {"a": 5})
    3
    """
    return interpret_all((root,), values, algebra, number)[0]
