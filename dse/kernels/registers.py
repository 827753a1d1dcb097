"""What registers hold at places of a kernel, followed backwards to where they are written.

What a loop changes is an ``entry`` atom at its head (:mod:`dse.kernels.values` solves it); what
cannot be followed is an ``unknown`` one, and what memory gives a ``loaded`` one. Values are taken
as whole and not negative where the hardware's unsigned and signed forms differ, and low halves of
pairs stand for the pair.
"""

from __future__ import annotations

from typing import Any

from dse.kernels.arithmetic import high
from dse.kernels.assembly import Instruction
from dse.kernels.conditions import FALSE, TRUE, Condition, both, negated
from dse.kernels.flow import Flow, Loop
from dse.kernels.linear import MOST, ZERO, Atom, Whole, atom, lost
from dse.kernels.operands import Constants
from dse.kernels.operations import PREDICATES, READ, logic
from dse.kernels.spills import slots
from stochastic import sizes

__all__ = ["Followed"]

_LOADS = ("global_load", "shared_load", "local_load")
#: Ways that meet and are told apart, and what stands for one that ends.
_WAYS, _NEVER = sizes.REGISTER_WAYS, ("never",)
_ALWAYS = ("PT", "UPT", "PR")


class Followed:
    """The values of registers at places of a kernel."""

    def __init__(self, flow: Flow, constants: Constants) -> None:
        self.flow = flow
        self.constants = constants
        self._slots = slots([one for block in flow.blocks for one in block.body])
        self._writes: list[dict[str, list[int]]] = []
        for block in flow.blocks:
            writes: dict[str, list[int]] = {}
            for place, one in enumerate(block.body):
                for register in one.results or self._slots.get(one.at, ()):
                    writes.setdefault(register, []).append(place)
            self._writes.append(writes)
        self._known: dict[Any, Any] = {}

    # --- registers
    def guarded(self, block: int, place: int) -> Condition:
        """When an instruction does what it does."""
        found = TRUE
        for each in self.flow.blocks[block].body[place].guards:
            found = both(found, self.predicate(each, block, place))
        return found

    def at(self, register: str, block: int, place: int, under: str = "") -> Any:
        """The value of a register (or the condition of a predicate) before an instruction.

        ``under`` is the guard that holds there: what is written where it does not is passed over.
        """
        body = self.flow.blocks[block].body
        for before in reversed(self._writes[block].get(register, ())):
            if before >= place:
                continue
            guard = body[before].guard
            if (
                guard
                and guard.lstrip("!") == under.lstrip("!")
                and not self._anew(guard.lstrip("!"), block, before, place)
            ):
                if guard == under:
                    return self._computed(register, block, before)
                continue
            return self._written(register, block, before)
        return self._entering(register, block)

    def _anew(self, predicate: str, block: int, begin: int, end: int) -> bool:
        """Whether a predicate is written from one place on, before another."""
        return any(begin <= each < end for each in self._writes[block].get(predicate, ()))

    def _written(self, register: str, block: int, place: int) -> Any:
        key = (register, block, place)
        if key not in self._known:
            guard = self.flow.blocks[block].body[place].guard
            found = self._computed(register, block, place)
            if guard and guard not in _ALWAYS:
                when = self.predicate(guard, block, place)
                if when != TRUE:
                    found = self.chosen(when, found, self.at(register, block, place))
            self._known[key] = found
        return self._known[key]

    def _computed(self, register: str, block: int, place: int) -> Any:
        """What an instruction writes where its guard holds."""
        key = ("computed", register, block, place)
        if key not in self._known:
            one = self.flow.blocks[block].body[place]
            self._known[key] = self._result(one, register, block, place)
        return self._known[key]

    def chosen(self, when: Condition, one: Any, two: Any) -> Any:
        """One value where a condition holds, else the other."""
        if when == TRUE or one == two:
            return one
        if when == FALSE:
            return two
        if isinstance(one, Whole) and isinstance(two, Whole):
            if one.weight + two.weight > MOST or Whole({(Atom("if", (when,)),): 1}).weight > MOST:
                return lost(when, one, two)
            return two + (one - two) * atom("if", when)
        if isinstance(one, tuple) and isinstance(two, tuple):
            return both(both(when, one), both(negated(when), two), word="or")
        return atom("unknown", ("choice", 0, 0))

    def _entering(self, register: str, block: int) -> Any:
        key = (register, block)
        if key not in self._known:
            loop = self.flow.loops.get(block)
            if loop is None and block == 0:
                self._known[key] = self._lost(register, block)
            elif loop is not None and self._carries(register, loop):
                here = Whole({(Atom("entry", (block, register)),): 1})
                predicate = register.lstrip("U")[0] == "P"
                self._known[key] = negated(("==", here)) if predicate else here
            else:
                self._known[key] = self._before(register, block, loop)
        return self._known[key]

    def _carries(self, register: str, loop: Loop) -> bool:
        """Whether a loop changes a register."""
        return any(register in self._writes[number] for number in loop.blocks)

    def _before(self, register: str, block: int, loop: Loop | None) -> Any:
        """What a register holds where a block is entered, but for what leads back to it."""
        of = [each for each in self.flow.blocks[block].of if not loop or each not in loop.blocks]
        return self._merged(register, block, of) if of else self._lost(register, block)

    def _lost(self, register: str, block: int) -> Any:
        told = ("merge", register, block)
        return ("unknown", told) if register.lstrip("U")[0] == "P" else atom("unknown", told)

    def _leaving(self, register: str, block: int) -> Any:
        return self.at(register, block, len(self.flow.blocks[block].body))

    def _merged(self, register: str, block: int, of: Any) -> Any:
        values = [self._leaving(register, each) for each in of]
        if all(value == values[0] for value in values[1:]):
            return values[0]
        if len(values) > _WAYS:
            return self._lost(register, block)
        fork, on, stack = self.flow.above[block], set(), list(of)
        while stack:  # the blocks between the fork and the meeting
            each = stack.pop()
            if each not in on:
                on.add(each)
                stack += self.flow.blocks[each].of if each != fork else ()
        found = self._ways(register, fork, block, on, {})
        return self._lost(register, block) if found is None else found

    def _ways(
        self, register: str, number: int, block: int, on: set[int], known: dict[int, Any]
    ) -> Any:
        """What a register holds where ways from one block meet in another, by their guards."""
        if number in known:
            return known[number]
        if number in self.flow.loops and not self._inside(block, number):
            ends = {
                (each, to)
                for each in self.flow.loops[number].blocks
                for to in self.flow.blocks[each].to
                if to not in self.flow.loops[number].blocks
            }
            ways = [self._way(register, each, to, block, on, known) for each, to in sorted(ends)]
            found = ways[0] if ways and all(way == ways[0] for way in ways) else None
        else:
            to = list(dict.fromkeys(self.flow.blocks[number].to))
            ways = [self._way(register, number, each, block, on, known) for each in to]
            ways = [each for each in ways if each is not _NEVER]
            found = ways[0] if ways else _NEVER
            if len(ways) == 2 and ways[0] != ways[1]:
                when = self.guarded(number, len(self.flow.blocks[number].body) - 1)
                known_way = None not in ways and when[0] != "unknown"
                found = self.chosen(when, *ways) if known_way else None
        known[number] = found
        return found

    def _way(
        self, register: str, number: int, to: int, block: int, on: set[int], known: dict[int, Any]
    ) -> Any:
        if to == block:
            return self._leaving(register, number)
        if to not in on:
            return _NEVER
        return self._ways(register, to, block, on, known)

    def _inside(self, block: int, head: int) -> bool:
        return block in self.flow.loops[head].blocks

    def is_low_half(self, one: Instruction, block: int, place: int) -> bool:
        """True if a comparison is of the low halves of pairs: that of the high ones reads it."""
        result = one.operands[0]
        for each in self.flow.blocks[block].body[place + 1 :]:
            if each.name == "ISETP" and "EX" in each.modifiers and each.operands[-1] == result:
                return True
            if result in each.results:
                return False
        return False

    # --- operands
    def predicate(self, text: str, block: int, place: int) -> Condition:
        """When a predicate holds before an instruction."""
        if text.startswith("!"):
            return negated(self.predicate(text[1:], block, place))
        if text in ("", "PT", "UPT"):
            return TRUE
        found = self.at(text, block, place)
        return found if isinstance(found, tuple) else ("unknown", (text, block, place))

    def operand(self, text: str, block: int, place: int) -> Whole:
        """The value of an operand that is read."""
        found = self.constants.plain(text)
        if isinstance(found, Whole):
            return found
        if found is not None:
            body = self.flow.blocks[block].body
            under = body[place].guard if place < len(body) else ""
            value = self.at(found[1], block, place, under)
            if isinstance(value, Whole):
                return -value if found[0] else value
        return atom("unknown", (text, block, place))

    # --- operations
    def _result(self, one: Instruction, register: str, block: int, place: int) -> Any:
        results = one.results
        predicate = register.lstrip("U")[0] == "P"
        if not predicate and (kept := self._slots.get(one.at)):
            if one.kind == "local_load":
                return self.at(kept[results.index(register)], block, place, one.guard)
            return self._stored(one, kept.index(register), block, place)
        if not predicate and one.kind in _LOADS:
            return atom("loaded", (register, block, place))
        read = READ.get(one.name)
        if read is None or (predicate and one.name not in PREDICATES):
            told = ((register, block, place),)
            return ("unknown", *told) if predicate else atom("unknown", *told)
        if not predicate and register != next(
            (each for each in results if each.lstrip("U")[0] != "P"), register
        ):
            if one.name in ("LDC", "LDCU", "MOV") and "64" in one.modifiers:
                return self._half(one, block, place)
            if one.name == "CS2R":
                return ZERO
            if one.name == "IMAD" and "WIDE" in one.modifiers:
                first, second, third = self.inputs(one, block, place)[:3]
                if third == ZERO:
                    return high(first, second, signed="U32" not in one.modifiers)
            return atom("unknown", (register, block, place))
        if not predicate and one.name == "LOP3":
            read = logic
        return read(self, one, results.index(register) if predicate else 0, block, place)

    def _stored(self, one: Instruction, word: int, block: int, place: int) -> Whole:
        """A word that a store puts on the stack."""
        told = one.operands[-1]
        if word and told.startswith("R") and told[1:].isdigit():
            told = f"R{int(told[1:]) + word}"
        return self.operand(told, block, place)

    def _half(self, one: Instruction, block: int, place: int) -> Whole:
        """The high half of a pair of constants: the argument that lies behind the first."""
        found = self.constants.behind(one.operands[-1])
        return atom("unknown", (one.text, block, place)) if found is None else found

    def inputs(self, one: Instruction, block: int, place: int) -> list[Whole]:
        """The operands that are read, after results and carries."""
        skip = 0
        for each in one.operands:
            plain = each.lstrip("U")
            if skip == 0 or plain == "PT" or (plain[0] == "P" and plain[1:].isdigit()):
                skip += 1
                if skip == 1 and plain[0] == "P":
                    continue
            else:
                break
        if one.operands[0].lstrip("U")[0] == "P" and one.name == "LOP3":
            skip = 2
        return [self.operand(each, block, place) for each in one.operands[skip:]]
