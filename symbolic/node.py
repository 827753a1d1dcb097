"""The nodes of the expression tree that a call of an equation with nodes records (tracing).

Python's ``if``, ``and``, ``==`` and ``int()`` cannot be recorded; applied to a :class:`Node`, they
raise an error that names the primitive to use.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import chain
from numbers import Number
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from symbolic.primitives import PRIMITIVES

#: Largest number of names, numbers and operations in a formula that is written as text.
_READABLE_SIZE = 1000
_CONDITION_OPS = frozenset(name for name, row in PRIMITIVES.items() if row.is_condition)


def _operator_method(op: str, *, swapped: bool = False) -> Callable[[Any, Any], Node]:
    def record(self: Any, other: Any) -> Node:
        other = constant(other)
        if op not in _CONDITION_OPS and (self.is_boolean or other.is_boolean):
            raise TypeError(
                "an equation cannot use + - * / over conditions: use where(condition, 1, 0), or "
                "both, either, negate"
            )
        return Node(op, (other, self) if swapped else (self, other))

    return record


class Node:
    """One step of a traced equation: an operation and its arguments.

    ``op`` is ``"constant"`` (``args = (value,)``), ``"reference"`` (``args = (quantity name,)``),
    or a primitive, whose ``args`` are nodes. Equal nodes are the same object.
    """

    __slots__ = ("__weakref__", "args", "op")
    _pool: ClassVar[WeakValueDictionary[Any, Node]] = WeakValueDictionary()

    op: str
    args: tuple[Any, ...]

    def __new__(cls, op: str, args: tuple[Any, ...]) -> Node:
        """Return the unique node of an operation and its arguments."""
        leaf = op in ("constant", "reference")
        key = (op, *((type(args[0]), repr(args[0])) if leaf else map(id, args)))
        node = cls._pool.get(key)
        if node is None:
            node = object.__new__(cls)
            object.__setattr__(node, "op", op)
            object.__setattr__(node, "args", args)
            cls._pool[key] = node
        return node

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a node is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return Node, (self.op, self.args)

    @property
    def is_boolean(self) -> bool:
        """True if the node is a condition."""
        return self.op in _CONDITION_OPS

    def __repr__(self) -> str:
        texts: dict[int, str] = {}
        for node in walk((self,)):
            if node.op == "reference":
                texts[id(node)] = str(node.args[0])
            elif node.op == "constant":
                texts[id(node)] = repr(node.args[0])
            else:
                texts[id(node)] = f"{node.op}({', '.join(texts[id(arg)] for arg in node.args)})"
        return texts[id(self)]

    __add__, __radd__ = _operator_method("add"), _operator_method("add", swapped=True)
    __sub__, __rsub__ = _operator_method("sub"), _operator_method("sub", swapped=True)
    __mul__, __rmul__ = _operator_method("mul"), _operator_method("mul", swapped=True)
    __truediv__, __rtruediv__ = _operator_method("div"), _operator_method("div", swapped=True)
    __lt__, __gt__ = _operator_method("less"), _operator_method("less", swapped=True)
    __le__, __ge__ = _operator_method("less_equal"), _operator_method("less_equal", swapped=True)

    def __neg__(self) -> Node:
        return -1 * self

    def __pos__(self) -> Node:
        return self

    # --- operators that cannot be recorded and raise an error
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        raise TypeError("an equation cannot use ==, != or 'in' over quantities: use equal(a, b)")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        raise TypeError(
            "an equation cannot use if, and, or, not, min or max over quantities: "
            "use where, both, either, negate, minimum, maximum"
        )

    def _refuse(self, *_: object) -> Any:
        raise TypeError(
            "an equation cannot use int(), round(), abs(), //, % or ** over quantities: "
            "use functions of symbolic.ops (from symbolic.ops import floor, ceil, absolute, power)"
        )

    __int__ = __float__ = __round__ = __abs__ = __index__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _refuse


def constant(value: Any) -> Node:
    """Return the node of a number or truth value; a node is returned unchanged."""
    if isinstance(value, Node):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, Number):
        raise TypeError(f"an equation may use numbers and quantities, not {value!r}")
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        raise OverflowError(
            "a whole number in it is beyond the largest float, 1.8e308: write inf, or another unit"
        )
    return Node("constant", (value,))


#: Nodes of infinity and NaN; equal nodes are the same object.
INFINITE, UNDEFINED = constant(math.inf), constant(math.nan)


def reference(name: str) -> Node:
    """Return the node that stands for a quantity."""
    return Node("reference", (name,))


def walk(roots: Iterable[Node]) -> list[Node]:
    """Return the roots and all nodes below, each once; arguments precede their users."""
    first, *others = [_subtree(root) for root in roots] or [()]
    if not others:
        return list(first)
    done = {id(node): node for node in first}
    for below in others:
        done |= {id(node): node for node in below}
    return list(done.values())


@lru_cache(maxsize=1 << 8)
def _subtree(root: Node) -> tuple[Node, ...]:
    done: dict[int, Node] = {}
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready or node.op in ("constant", "reference"):
            done[id(node)] = node
        else:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args))
    return tuple(done.values())


def is_readable(root: Node) -> bool:
    """True if the text of a tree is short; it repeats the steps that the tree shares."""
    sizes: dict[int, int] = {}
    for node in walk((root,)):
        sizes[id(node)] = 1 + sum(sizes[id(arg)] for arg in node.args if isinstance(arg, Node))
    return sizes[id(root)] <= _READABLE_SIZE


def conjuncts(conditions: Iterable[Node]) -> list[Node]:
    """Return the conditions in order, with each conjunction replaced by its parts."""
    result: list[Node] = []
    stack = list(reversed(list(conditions)))
    while stack:
        node = stack.pop()
        if node.op == "both":
            stack.extend(reversed(node.args))
        else:
            result.append(node)
    return result


def references(*roots: Node) -> tuple[str, ...]:
    """Return the quantities named below the roots, each once, in order of appearance."""
    first, *others = [_referenced_names(root) for root in roots] or [()]
    return tuple(dict.fromkeys(chain(first, *others))) if others else first


@lru_cache(maxsize=1 << 10)
def _referenced_names(root: Node) -> tuple[str, ...]:
    return tuple(node.args[0] for node in _subtree(root) if node.op == "reference")


def substitute(root: Node, replacements: Mapping[str, Node]) -> Node:
    """Return the tree with quantities replaced by the given nodes."""
    done: dict[int, Node] = {}
    for node in walk((root,)):
        if node.op == "reference":
            done[id(node)] = replacements.get(node.args[0], node)
        elif node.op == "constant":
            done[id(node)] = node
        else:
            done[id(node)] = Node(node.op, tuple(done[id(arg)] for arg in node.args))
    return done[id(root)]
