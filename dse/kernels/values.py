"""What registers hold, with what loops change written by their passes.

A register that a loop changes by the same amount each time is that amount times the pass, counted
from 0; behind the loop the pass is the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dse.kernels.affine import ONE, ZERO, Atom, Whole, atom, constant, floordiv, rebuilt
from dse.kernels.conditions import Condition, Replacing, indicator
from dse.kernels.flow import Flow, Loop
from dse.kernels.instructions import Constants
from dse.kernels.registers import Followed


class Values(Followed):
    """The values of registers, and the guards of instructions, by arguments, places and passes."""

    def __init__(self, flow: Flow, constants: Constants) -> None:
        super().__init__(flow, constants)
        self._solved: dict[Atom, Whole | None] = {}
        #: Passes of a loop by its head, for what it leaves behind; set by who counts them.
        self.passes: Callable[[int], Whole | None] = lambda head: None
        #: Set when all passes are known, so that what becomes of an atom stays so.
        self.settled = False
        self._kept: dict[frozenset[int] | None, Replacing] = {}
        self._held: dict[tuple[int, int], Condition] = {}

    def holds(self, block: int, place: int) -> Condition:
        """When the guard of an instruction holds; solved."""
        if (block, place) in self._held:
            return self._held[block, place]
        inside, behind = self._replacing(block)
        found = behind.condition(inside.condition(self.guarded(block, place)))
        if self.settled:
            self._held[block, place] = found
        return found

    def solved(self, value: Whole, block: int) -> Whole:
        """An expression at a block, with what loops change written by their passes."""
        inside, behind = self._replacing(block)
        return behind.value(inside.value(value))

    def _replacing(self, block: int) -> tuple[Replacing, Replacing]:
        """What loops change, by their passes; and behind them by the last one."""
        around = frozenset(head for head, loop in self.flow.loops.items() if block in loop.blocks)
        if not self.settled:
            return Replacing(self._solution), Replacing(lambda one: self._left(one, block))
        if around not in self._kept:
            self._kept[around] = Replacing(lambda one: self._left(one, block))
        return self._kept.setdefault(None, Replacing(self._solution)), self._kept[around]

    def _left(self, one: Atom, block: int, inside: Loop | None = None) -> Whole | None:
        """The last pass of a loop, for what is behind it; ``inside``: of loops within one."""
        if inside is not None and one.kind == "entry":
            if one.of[0] == inside.head or one.of[0] not in inside.blocks:
                return None
            found = self._solution(one)
            return None if found is None else rebuilt(found, lambda o: self._left(o, block, inside))
        if one.kind not in ("pass", "power"):
            return None
        head = one.of[-1]
        if block in self.flow.loops[head].blocks or (
            inside is not None and head not in inside.blocks
        ):
            return None
        passes = self.passes(head)
        if passes is None:
            return atom("unknown", ("passes", head, 0))
        if one.kind == "power":
            return atom("power of", one.of[0], passes - ONE)
        return passes - ONE

    def _solution(self, one: Atom) -> Whole | None:
        if one.kind != "entry":
            return None
        if one not in self._solved:
            self._solved[one] = None  # while it is sought
            self._solved[one] = self._solve(one)
        found = self._solved[one]
        return None if found is None else Replacing(self._solution).value(found)

    def _solve(self, entry: Atom) -> Whole | None:
        """What a register holds at the head of a loop that changes it, by the pass."""
        head, register = entry.of
        loop = self.flow.loops[head]
        here = Whole({(entry,): 1})

        def inner(one: Atom) -> Whole | None:
            return self._left(one, head, inside=loop)

        after = [_number(self._leaving(register, each)) for each in loop.back]
        after = [Replacing(inner).value(each) for each in after]
        if any(each != after[0] for each in after[1:]):
            return None
        return self._carried(_number(self._before(register, head, loop)), after[0], here, loop)

    def _carried(self, before: Whole, after: Whole, here: Whole, loop: Loop) -> Whole | None:
        """What a register holds at the head of a loop, by the pass."""
        if self._still(after - here, loop):
            return before + (after - here) * atom("pass", loop.head)
        if self._still(after, loop):
            return after + (before - after) * atom("if", ("==", atom("pass", loop.head)))
        found = _power(before, after, here, loop.head)
        return self._of_pass(before, after, loop) if found is None else found

    def _of_pass(self, before: Whole, after: Whole, loop: Loop) -> Whole | None:
        """What rests on the pass before, by what else the loop changes."""
        after = Replacing(self._solution).value(after)
        if not self._still(after, loop, but=loop.head):
            return None
        now = atom("pass", loop.head)

        def at(number: Whole) -> Whole:
            return rebuilt(after, lambda one: number if now.terms == {(one,): 1} else None)

        first = before - at(-ONE)
        return at(now - ONE) + (first * atom("if", ("==", now)) if first.terms else ZERO)

    def _still(self, step: Whole, loop: Loop, but: int | None = None) -> bool:
        """Whether an expression is the same in every pass of a loop, ``but`` for that of one."""
        for one in step.atoms():
            if one.kind in ("power", "first", "total") and but is not None:
                return False
            if one.kind == "entry" and one.of[0] in loop.blocks:
                return False
            if one.kind == "unknown" and one.of[0][0] == "large":
                return False
            if one.kind in ("unknown", "loaded") and _place(one.of) in loop.blocks:
                return False
            if one.kind == "pass" and one.of[0] in loop.blocks and one.of[0] != but:
                return False
        return True


def _place(told: Any) -> int | None:
    """The block that an unknown is of."""
    for each in told:
        if isinstance(each, tuple) and len(each) == 3:
            return int(each[2] if each[0] == "merge" else each[1])
    return None


def _number(value: Any) -> Whole:
    """A value; of a condition 1 where it holds."""
    return value if isinstance(value, Whole) else indicator(value)


def _power(before: Whole, after: Whole, here: Whole, head: int) -> Whole | None:
    """What is doubled or halved in each pass: 2^(k pass) times, or so divided."""
    for factor in (2, 4, 8, 16):
        if after == here.times(factor):
            return before * atom("power", factor, head)
        if after == floordiv(here, constant(factor)):
            return atom("over", before, atom("power", factor, head))
    return None
