"""How often a loop runs each time it is entered, from the condition under which it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.kernels.conditions import (
    FALSE,
    TRUE,
    Condition,
    Replacing,
    alone,
    atoms_of,
    known,
    truth,
)
from dse.kernels.flow import Loop
from dse.kernels.linear import ONE, Atom, Whole, atom, constant
from dse.kernels.quotients import floordiv
from stochastic import sizes

__all__ = ["free_passes", "is_moving", "resting", "until", "varies"]

#: Passes that are tried one by one.
_TRIED = sizes.PASSES_TRIED


def until(stays: Condition, loop: Loop) -> Whole | None:
    """How many passes there are if a loop goes on while a condition holds, tested once a pass."""
    match stays:
        case ("false",):
            return ONE
        case ("and", one, two):
            for each, other in ((one, two), (two, one)):
                start = _lasting(each, loop)
                rest = None if start is None else until(other, loop)
                if start is not None and rest is not None:
                    return _if_lasting(start, rest)
            # that a counter meets a number is certain only where nothing else ends the loop
            certain = not any(each[0] == "not" for each in alone(stays))
            first, second = (until(one, loop), until(two, loop)) if certain else (None, None)
            if first is not None and second is not None:
                return atom("least", first, second)
        case ("or", (">=", one), (">=", two)) if loop.head not in free_passes(one + two, {}):
            return until((">=", two), loop)  # below 0, which an unsigned counter never is
        case (">=", value):
            parts = _linear(value, loop)
            if parts is not None and (each := parts[1].number) is not None and each < 0:
                return floordiv(parts[0], constant(-each)) + constant(2)
            if parts is not None and _falls(-parts[1]):
                return floordiv(parts[0], -parts[1]) + constant(2)
        case ("not", ("==", value)):
            parts = _linear(value, loop)
            if parts is not None and parts[1].terms:
                start, step = parts
                if ((number := step.number) is not None and number > 0) or _falls(step):
                    start, step = -start, -step
                return floordiv(start, -step) + ONE
    head = loop.head
    if known(stays) and is_moving(stays, head) and not varies(stays, loop):
        passes = _tried(stays, head)
        return atom("first", head, stays) if passes is None else constant(passes)
    return None


def resting(value: Whole, passes: Mapping[int, Whole]) -> dict[int, Whole]:
    """The loops on whose passes an expression rests, and those on which theirs do."""
    found, waiting = dict[int, Whole](), [value]
    while waiting:
        for one in waiting.pop().atoms():
            if one.kind == "pass" and one.of[0] not in found:
                found[one.of[0]] = passes[one.of[0]]
                waiting.append(found[one.of[0]])
    return found


def free_passes(part: Any, known: dict[Atom, frozenset[int]]) -> frozenset[int]:
    """Return the loops by whose pass an expression changes.

    What goes through all passes of a loop itself does not change with its pass. ``known`` keeps
    what was found of atoms.
    """
    if isinstance(part, Whole):
        return frozenset().union(*(free_passes(one, known) for p in part.terms for one in p))
    if isinstance(part, tuple):
        return frozenset().union(*(free_passes(each, known) for each in part))
    if not isinstance(part, Atom):
        return frozenset()
    if part not in known:
        match part:
            case Atom("pass", (head,)) | Atom("power", (_, head)):
                known[part] = frozenset({head})
            case Atom("first" | "total", (head, inside)):
                known[part] = free_passes(inside, known) - {head}
            case _:
                known[part] = free_passes(part.of, known)
    return known[part]


def varies(when: Condition, loop: Loop) -> bool:
    """Whether a condition rests on what each pass loads anew."""
    return any(one.kind == "loaded" and one.of[0][1] in loop.blocks for one in atoms_of(when))


def _lasting(when: Condition, loop: Loop) -> Whole | None:
    """Return what is not negative if a condition holds in all passes, where it holds in the first.

    None where a condition may end later, or cannot be followed.
    """
    if when[0] != ">=" or (parts := _linear(when[1], loop)) is None:
        return None
    start, step = parts
    number = step.number
    return start if (_falls(step) if number is None else number >= 0) else None


def _if_lasting(start: Whole, passes: Whole) -> Whole:
    """Return passes of a loop that goes on only if a start is not negative: else one."""
    lasts = truth(">=", start)
    if lasts in (TRUE, FALSE):
        return passes if lasts == TRUE else ONE
    return ONE + (passes - ONE) * atom("if", lasts)


def _tried(stays: Condition, head: int) -> int | None:
    """The passes where nothing but their number decides, by trying a few."""
    if any(one.kind in ("argument", "special", "asked", "loaded") for one in atoms_of(stays)):
        return None
    for number in range(_TRIED):
        now = constant(number)

        def at(one: Atom, now: Whole = now, number: int = number) -> Whole | None:
            if one == Atom("pass", (head,)):
                return now
            if one.kind == "power" and one.of[1] == head:
                return constant(one.of[0] ** number)
            return None

        told = Replacing(at).condition(stays)
        if told == FALSE:
            return number + 1
        if told != TRUE:
            return None
    return None


def _falls(step: Whole) -> bool:
    """Whether a step that is no number is a sum of sizes."""
    return bool(step.terms) and step.number is None and all(t > 0 for t in step.terms.values())


def is_moving(when: Condition, head: int) -> bool:
    """True if a condition rests on how many passes of a loop there were."""
    return any(one.kind in ("pass", "power") and head in one.of for one in atoms_of(when))


def _linear(value: Whole, loop: Loop) -> tuple[Whole, Whole] | None:
    """Start and step of an expression in the passes of a loop; None where it is not so."""
    head = loop.head
    passed = Atom("pass", (head,))
    start: dict[tuple[Atom, ...], int] = {}
    step: dict[tuple[Atom, ...], int] = {}
    for product, times in value.terms.items():
        many = product.count(passed)
        rest = tuple(one for one in product if one != passed)
        moving = any(
            one.kind in ("unknown", "entry", "reciprocal")
            or (one.kind == "loaded" and one.of[0][1] in loop.blocks)
            or (one.kind in ("pass", "power") and head in one.of)
            for one in Whole({rest: 1}).atoms()
        )
        if many > 1 or moving:
            return None
        into = step if many else start
        into[rest] = into.get(rest, 0) + times
    return Whole(start), Whole(step)
