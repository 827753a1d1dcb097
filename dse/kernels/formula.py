"""Expressions of machine code as formulas in quantities."""

from __future__ import annotations

from collections.abc import Mapping

from dse.kernels.conditions import Condition
from dse.kernels.linear import Atom, Whole

__all__ = ["UnwrittenError", "condition_text", "text"]


class UnwrittenError(Exception):
    """An expression that is no formula: it differs between threads, or follows a loop."""


def text(value: Whole, names: Mapping[Atom, str]) -> str:
    """An expression as a formula.

    Raises
    ------
    UnwrittenError
        An atom that ``names`` does not hold and that is no operation on such.
    """
    parts = []
    for product, times in value.terms.items():
        factors = sorted(_atom(one, names) for one in product)
        number = abs(times)
        if number != 1 or not factors:
            factors.insert(0, str(number))
        parts.append(("-" if times < 0 else "+", " * ".join(factors), not product))
    if not parts:
        return "0"
    parts.sort(key=lambda part: (part[2], part[0], part[1]))
    joined = " ".join(f"{sign} {told}" for sign, told, _ in parts)
    return joined[2:] if joined.startswith("+ ") else f"-{joined[2:]}"


def _atom(one: Atom, names: Mapping[Atom, str]) -> str:
    if one in names:
        return names[one]
    match one:
        case Atom("asked", (name,)):
            return str(name)
        case Atom("over", (above, below)):
            return f"floor(({text(above, names)}) / ({text(below, names)}))"
        case Atom("least", (first, second)):
            return f"minimum({text(first, names)}, {text(second, names)})"
        case Atom("most", (first, second)):
            return f"maximum({text(first, names)}, {text(second, names)})"
        case Atom("if", (when,)):
            return f"where({condition_text(when, names)}, 1, 0)"
    raise UnwrittenError


def condition_text(when: Condition, names: Mapping[Atom, str]) -> str:
    """A condition as a formula."""
    match when:
        case ("true",):
            return "1 >= 0"
        case ("false",):
            return "1 < 0"
        case (">=", value):
            return f"{text(value, names)} >= 0"
        case ("==", value):
            return f"{text(value, names)} == 0"
        case ("not", (">=", value)):
            return f"{text(value, names)} < 0"
        case ("not", ("==", value)):
            return f"{text(value, names)} != 0"
        case ("not", inside):
            return f"not ({condition_text(inside, names)})"
        case ("and" | "or" as word, one, two):
            return f"({condition_text(one, names)}) {word} ({condition_text(two, names)})"
    raise UnwrittenError
