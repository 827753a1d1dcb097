"""Whole-number expressions of which some atoms become others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dse.kernels.linear import ZERO, Atom, Whole, atom, constant
from dse.kernels.quotients import floordiv

__all__ = ["rebuilt"]


def rebuilt(
    one: Whole,
    change: Callable[[Atom], Whole | None],
    known: dict[Atom, Whole | None] | None = None,
) -> Whole:
    """The expression with some atoms replaced; None keeps one, whose parts are changed first.

    ``known`` keeps what becomes of each atom, for who asks again with the same ``change``.
    """
    known = {} if known is None else known
    total, same = ZERO, {}
    for product, times in one.terms.items():
        parts = [known[a] if a in known else _changed(a, change, known) for a in product]
        if parts.count(None) == len(parts):
            same[product] = times
            continue
        whole = constant(times)
        for each, part in zip(product, parts, strict=True):
            whole = whole * (Whole({(each,): 1}) if part is None else part)
        total = total + whole
    return one if len(same) == len(one.terms) else total + Whole(same)


def _changed(
    one: Atom, change: Callable[[Atom], Whole | None], known: dict[Atom, Whole | None]
) -> Whole | None:
    """What becomes of an atom; None where it stays."""
    found = change(one)
    if found is None:
        parts = _part(one.of, change, known)
        if parts is not one.of:
            found = floordiv(*parts) if one.kind == "over" else atom(one.kind, *parts)
    known[one] = None if found is not None and found.terms == {(one,): 1} else found
    return known[one]


def _part(
    part: Any, change: Callable[[Atom], Whole | None], known: dict[Atom, Whole | None]
) -> Any:
    if isinstance(part, Whole):
        return rebuilt(part, change, known)
    if isinstance(part, tuple):
        parts = tuple(_part(each, change, known) for each in part)
        return part if all(a is b for a, b in zip(parts, part, strict=True)) else parts
    return part
