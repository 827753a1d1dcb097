"""What registers hold at places of a kernel, followed backwards to where they are written.

What a loop changes is an ``entry`` atom at its head, which is solved: a register that each pass
changes by the same amount is that amount times the pass, counted from 0; behind the loop the pass
is the last one. What cannot be followed is an ``unknown`` atom, and what memory gives a ``loaded``
one. Values are taken as whole and not negative where the hardware's unsigned and signed forms
differ, and low halves of pairs stand for the pair.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

from dse.kernels.affine import (
    FALSE,
    MOST,
    ONE,
    TRUE,
    ZERO,
    Atom,
    Condition,
    Replacing,
    Whole,
    atom,
    bits,
    both,
    constant,
    floordiv,
    high,
    indicator,
    lost,
    masked,
    negated,
    quotient,
    rebuilt,
    shifted_down,
    sole_atom,
    truth,
)
from dse.kernels.flow import Flow, Loop
from dse.kernels.instructions import Constants, Instruction, width_of
from stochastic import sizes

_STACK = "R1"
_PLACE = re.compile(r"\[R1(?:\+(-?0x[0-9a-f]+))?\]$")
#: What may write to local memory by an address that is not told apart from others.
_ANYWHERE = ("ST", "CALL")


def slots(body: Sequence[Instruction]) -> dict[int, tuple[str, ...]]:
    """The words of the stack that each local load and store is of, by the instruction's place.

    Nothing where a store may be to any of them: by a computed address (an array), a generic one,
    of a function that is called, or of fewer bytes than a word.
    """
    local = [one for one in body if one.kind in ("local_load", "local_store")]
    if not local or any(one.name in _ANYWHERE for one in body):
        return {}
    moved = [one.at for one in body if _STACK in one.results]
    leaves = next((one.at for one in body if one.name in ("BRA", "BSYNC", "BRX", "JMP")), len(body))
    if any(at > min(leaves, local[0].at) for at in moved):
        return {}
    found = {}
    for one in local:
        place = next((m for each in one.operands if (m := _PLACE.match(each))), None)
        many = width_of(one)
        begin = int(place[1] or "0", 16) if place is not None else 0
        if place is not None and many >= 4 and begin % 4 == 0:
            found[one.at] = tuple(f"M{begin + at}" for at in range(0, many, 4))
        elif one.kind == "local_store":
            return {}
    return found


#: What an operation yields: of the registers before it, the number of its result, block and place.
Reader = Callable[["Values", Instruction, int, int, int], Any]
#: From here on a shift to the right leaves the sign, which sizes do not have.
_SIGNED_SHIFT = 31


def unknown(what: str, block: int, place: int) -> Whole:
    """Return a value that is not followed."""
    return atom("unknown", (what, block, place))


def _add(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    if "X" in one.modifiers:
        return ZERO  # a high half, of what is no larger than 2^32
    return sum(v.inputs(one, block, place)[:3], ZERO)


def _mad(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    parts = v.inputs(one, block, place)
    if "X" in one.modifiers:
        return ZERO  # a high half, of what is no larger than 2^32
    if "HI" in one.modifiers:
        if (found := quotient(parts)) is not None:
            return found
        found = high(parts[0], parts[1], signed="U32" not in one.modifiers)
        return found + _upper(v, one.operands[-1], block, place)
    return parts[0] * parts[1] + (parts[2] if len(parts) > 2 else ZERO)


def _upper(v: Values, text: str, block: int, place: int) -> Whole:
    """The high half of a pair that an operand names by its low one."""
    told = re.fullmatch(r"(U?R)(\d+)", text)
    if told is None:
        return ZERO if text.endswith("RZ") else unknown("upper", block, place)
    return v.operand(f"{told[1]}{int(told[2]) + 1}", block, place)


def _shift(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    """Return a shifted value; PTX's shift to the right (SHFR) may be of 64 bits."""
    parts = v.inputs(one, block, place)
    value, by = parts[0], parts[1].number
    if "L" in one.modifiers:
        if by is None or not 0 <= by < 64:
            return value * atom("power of two", parts[1])
        return value.times(2**by)
    if "HI" in one.modifiers and len(parts) > 2:
        value = parts[2]
    if by is None:
        return floordiv(value, atom("power of two", parts[1]))
    is_wide = one.name == "SHFR" and any(
        len(each) == 1 and each[0].kind == "scaled" for each in value.terms
    )
    return shifted_down(value, by) if by < _SIGNED_SHIFT or is_wide else ZERO


def _wide(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    """Return PTX's product of 64 bits; one with a large constant is on the way to a quotient."""
    value, by = v.inputs(one, block, place)[:2]
    value, by = (by, value) if by.number is None else (value, by)
    factor = by.number
    if factor is None or value.number is not None or abs(factor) < 2**16:
        return value * by
    return atom("scaled", value, factor % 2**32 if "U32" in one.modifiers else factor, -32)


def _quotient(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    """Return what PTX divides, or what that leaves; machine code has many instructions for it."""
    above, below = v.inputs(one, block, place)[:2]
    found = floordiv(above, below)
    return found if one.name == "IDIV" else above - below * found


def _lea(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    parts = v.inputs(one, block, place)
    if "X" in one.modifiers and "HI" in one.modifiers:
        return ZERO  # a high half, of what is no larger than 2^32
    if "HI" in one.modifiers:
        by = parts[3 if len(parts) > 3 else 2].number
        if by is None:
            return unknown("lea", block, place)
        inside = shifted_down(parts[0], 32 - by) if by > 0 and 32 - by < _SIGNED_SHIFT else ZERO
        return inside + parts[1]
    by = parts[2].number if len(parts) > 2 else 0
    if by is None:
        return unknown("lea", block, place)
    return parts[0].times(2**by) + parts[1]


def logic(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    """LOP3: a table of three bits, of which some are divisions."""
    parts = v.inputs(one, block, place)
    table = next((p.number for p in parts[3:4]), None)
    first, second = (*parts, ZERO)[:2]
    if table == 0xC0:
        return masked(first, second, (block, place))
    if table in (0xFC, 0x3C) and ZERO in (first, second):
        return first + second
    if table == 0x3C:
        return atom("exclusive or", first, second)
    if table in (0x0C, 0x30) and first == second:  # not a and b, or a and not b, of the same
        return ZERO
    if table == 0xFC:
        return atom("bitwise or", first, second)
    if table == 0x30:
        return first - masked(first, second, (block, place))
    if table == 0x33:
        return -second - ONE
    if table == 0x0F:
        return -first - ONE
    return unknown(f"bits {table}", block, place)


def _move(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    return v.inputs(one, block, place)[0]


def _constant(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    """LDC: a constant of the launch, or a place of the table of jumps."""
    if (read := v.constants.place(one.operands[-1])) is None:
        return _move(v, one, _, block, place)
    register, offset = read
    return atom("table", v.constants.table, v.operand(register, block, place) + constant(offset))


def _is_place(value: Whole, place: int | None) -> Condition | None:
    """Return when a place of the table of jumps is a given one; None for any other value."""
    if place is None or (one := sole_atom(value, "table")) is None:
        return None
    table, at = one.of
    found = FALSE
    for number, each in enumerate(table):
        if each == place:
            found = both(found, truth("==", at - constant(4 * number)), word="or")
    return found


def _halves(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    """HFMA2 of zeros: two numbers of 16 bits, as compilers load a constant."""
    operands = one.operands[1:]
    if len(operands) != 4 or any(each.lstrip("-") != "RZ" for each in operands[:2]):
        return unknown("halves", block, place)
    high, low = (struct.unpack("<H", struct.pack("<e", float(each)))[0] for each in operands[2:])
    number = high << 16 | low
    return constant(number - 2**32 if number >= 2**31 else number)


def _select(v: Values, one: Instruction, _: int, block: int, place: int) -> Any:
    parts = v.inputs(one, block, place)
    when = v.predicate(one.operands[-1], block, place)
    return v.chosen(when, parts[0], parts[1])


def _least(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    parts, unsigned = v.inputs(one, block, place), "U32" in one.modifiers
    when = v.predicate(one.operands[-1], block, place)
    if one.name == "VIADDMNMX":
        parts = [parts[0] + parts[1], parts[2]]
    if when not in (TRUE, FALSE):
        return unknown("least or most", block, place)
    first, second = parts[:2]
    signed = atom("least" if when == TRUE else "most", first, second)
    if not unsigned:  # right, too, where both or none are negative
        return signed
    of_first_negative, of_second_negative = (second, first) if when == TRUE else (first, second)
    is_first, is_second = truth(">=", first), truth(">=", second)
    of_size = v.chosen(is_first, signed, of_first_negative)
    found: Whole = v.chosen(is_second, of_size, v.chosen(is_first, of_second_negative, signed))
    return found


def _vote(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    """VOTE: of nothing but the lanes that are active, in whatever register."""
    if one.operands[-1].lstrip("U") == "PT" and "ANY" in one.modifiers:
        return unknown("lanes", 0, 0)
    return unknown(one.opcode, block, place)


def _converted(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    """Of a conversion between whole numbers and floats: the value, on the way to a quotient."""
    value = v.inputs(one, block, place)[0]
    if one.name == "F2I":
        for each in value.terms:
            if len(each) == 1 and each[0].kind == "reciprocal":
                return Whole({each: 1})
    return value


def _reciprocal(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    value = v.inputs(one, block, place)[0]
    if one.modifiers[0] != "RCP":
        return unknown(one.opcode, block, place)
    return atom("reciprocal", value)


def _compare(v: Values, one: Instruction, result: int, block: int, place: int) -> Condition:
    operands = one.operands
    first, second = (v.operand(each, block, place) for each in operands[2:4])
    word = one.modifiers[0]
    if "EX" in one.modifiers:  # the high halves: what the low ones say
        found = v.predicate(operands[-1], block, place)
        return found if result == 0 else negated(found)
    difference = first - second
    signs = {"GE": difference, "GT": difference - ONE, "LE": -difference, "LT": -difference - ONE}
    if word in signs:
        found = truth(">=", signs[word])
    elif word in ("EQ", "NE"):
        jump = _is_place(first, second.number) if word == "EQ" else None
        found = truth("==", difference) if jump is None else jump
        found = negated(found) if word == "NE" else found
    else:
        return ("unknown", (word, block, place))
    if "U32" in one.modifiers and not v.is_low_half(one, block, place):
        found = _unsigned(word, first, second, found)
    found = found if result == 0 else negated(found)
    if len(operands) > 4:
        other = v.predicate(operands[4], block, place)
        word = "or" if "OR" in one.modifiers else "and"
        found = both(found, other, word=word)
    return found


def _unsigned(word: str, one: Whole, two: Whole, found: Condition) -> Condition:
    """Return a comparison in which a negative value is larger than all others.

    Compilers write ``7 <= x and x < 14`` as one comparison of ``x - 7``.
    """
    if word not in ("LT", "LE", "GT", "GE"):
        return found
    negative, not_negative = truth(">=", -one - ONE), truth(">=", one)
    if word in ("LT", "LE"):
        of_size = both(not_negative, found)
        of_negative = both(not_negative, found, word="or")
    else:
        of_size = both(negative, found, word="or")
        of_negative = both(negative, found)
    if truth(">=", -two) != TRUE:  # a size, or a difference of sizes, which is taken as one
        return of_size
    is_negative = truth(">=", -two - ONE)
    return both(both(is_negative, of_negative), both(negated(is_negative), of_size), word="or")


def _predicates(v: Values, one: Instruction, result: int, block: int, place: int) -> Condition:
    """PLOP3: a table of three predicates, as LOP3's of three bits."""
    read = [v.predicate(each, block, place) for each in one.operands[2:5]]
    tables = [int(each, 16) for each in one.operands[5:7]]
    table = tables[min(result, len(tables) - 1)]
    found = FALSE
    for number in range(8):
        if table >> number & 1:
            row = TRUE
            for each, bit in zip(read, (4, 2, 1), strict=True):
                row = both(row, each if number & bit else negated(each))
            found = both(found, row, word="or")
    return found


def _packed(v: Values, one: Instruction, _: int, block: int, place: int) -> Whole:
    """P2R: predicates as bits of a word."""
    kind = "UP" if one.opcode.startswith("U") else "P"
    mask = v.operand(one.operands[-1], block, place).number or 0
    kept = v.operand(one.operands[-2], block, place)
    total = kept if kept.number == 0 or bits(kept) is not None else unknown("P2R", block, place)
    for each in range(7):
        if mask >> each & 1:
            when = v.predicate(f"{kind}{each}", block, place)
            total = total + (ZERO if when == FALSE else atom("if", when).times(2**each))
    return total


def _unpacked(v: Values, one: Instruction, result: int, block: int, place: int) -> Condition:
    """R2P: bits of a word as predicates."""
    mask = v.operand(one.operands[-1], block, place).number or 0
    if not mask >> result & 1:
        return v.predicate(f"{one.name[2:]}{result}", block, place)
    packed = bits(v.operand(one.operands[-2], block, place))
    return ("unknown", ("R2P", block, place)) if packed is None else packed.get(result, FALSE)


def _tested(v: Values, one: Instruction, result: int, block: int, place: int) -> Any:
    """The predicate of LOP3: whether its result is not 0."""
    return negated(truth("==", logic(v, one, 0, block, place)))


PREDICATES = frozenset({"ISETP", "PLOP3", "LOP3", "R2P", "R2UP"})
READ: dict[str, Reader] = {
    "IADD3": _add, "IADD": _add, "VIADD": _add, "IMAD": _mad, "IMUL": _mad, "XMAD": _mad,
    "SHF": _shift, "SHL": _shift, "SHR": _shift, "LEA": _lea, "LOP3": _tested, "MOV": _move,
    "S2R": _move, "S2UR": _move, "CS2R": _move, "R2UR": _move, "LDC": _constant, "LDCU": _constant,
    "SEL": _select, "IMNMX": _least, "VIMNMX": _least, "VIADDMNMX": _least,
    "IABS": _move, "SGXT": _move,
    "ISETP": _compare, "PLOP3": _predicates, "I2F": _converted, "F2I": _converted,
    "MUFU": _reciprocal, "P2R": _packed, "P2UR": _packed, "R2P": _unpacked, "R2UP": _unpacked,
    "WIDE": _wide, "SHFR": _shift, "IDIV": _quotient, "IREM": _quotient,
    "HFMA2": _halves, "VOTE": _vote, "VOTEU": _vote,
}  # fmt: skip


_LOADS = ("global_load", "shared_load", "local_load")
#: Ways that meet and are told apart, and what stands for one that ends.
_WAYS, _NEVER = sizes.REGISTER_WAYS, ("never",)
_ALWAYS = ("PT", "UPT", "PR")


class Values:
    """The values of registers, and the guards of instructions, by arguments, places and passes."""

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
        self._solved: dict[Atom, Whole | None] = {}
        #: Passes of a loop by its head, for what it leaves behind; set by who counts them.
        self.passes: Callable[[int], Whole | None] = lambda head: None
        #: Set when all passes are known, so that what becomes of an atom stays so.
        self.settled = False
        self._kept: dict[frozenset[int] | None, Replacing] = {}
        self._held: dict[tuple[int, int], Condition] = {}

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
            elif loop and any(register in self._writes[number] for number in loop.blocks):
                here = Whole({(Atom("entry", (block, register)),): 1})
                predicate = register.lstrip("U")[0] == "P"
                self._known[key] = negated(("==", here)) if predicate else here
            else:
                self._known[key] = self._before(register, block, loop)
        return self._known[key]

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
        flow, fork, on, stack = self.flow, self.flow.above[block], set[int](), list(of)
        while stack:  # the blocks between the fork and the meeting
            each = stack.pop()
            if each not in on:
                on.add(each)
                stack += flow.blocks[each].of if each != fork else ()
        known: dict[int, Any] = {}

        def way(number: int, to: int) -> Any:
            if to == block:
                return self._leaving(register, number)
            if to not in on:
                return _NEVER
            if to not in known:
                known[to] = ways_from(to)
            return known[to]

        def ways_from(number: int) -> Any:
            """What the register holds where ways from a block meet, by their guards."""
            if number in flow.loops and block not in (inside := flow.loops[number].blocks):
                ends = {(n, to) for n in inside for to in flow.blocks[n].to if to not in inside}
                ways = [way(*each) for each in sorted(ends)]
                return ways[0] if ways and all(each == ways[0] for each in ways) else None
            ways = [way(number, each) for each in dict.fromkeys(flow.blocks[number].to)]
            ways = [each for each in ways if each is not _NEVER]
            if len(ways) == 2 and ways[0] != ways[1]:
                when = self.guarded(number, len(flow.blocks[number].body) - 1)
                is_known = None not in ways and when[0] != "unknown"
                return self.chosen(when, *ways) if is_known else None
            return ways[0] if ways else _NEVER

        found = ways_from(fork)
        return self._lost(register, block) if found is None else found

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
        return unknown(text, block, place)

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
                behind = self.constants.behind(one.operands[-1])
                return unknown(one.text, block, place) if behind is None else behind
            if one.name == "CS2R":
                return ZERO
            if one.name == "IMAD" and "WIDE" in one.modifiers:
                first, second, third = self.inputs(one, block, place)[:3]
                if third == ZERO:
                    return high(first, second, signed="U32" not in one.modifiers)
            return unknown(register, block, place)
        if not predicate and one.name == "LOP3":
            read = logic
        return read(self, one, results.index(register) if predicate else 0, block, place)

    def _stored(self, one: Instruction, word: int, block: int, place: int) -> Whole:
        """A word that a store puts on the stack."""
        told = one.operands[-1]
        if word and told.startswith("R") and told[1:].isdigit():
            told = f"R{int(told[1:]) + word}"
        return self.operand(told, block, place)

    def inputs(self, one: Instruction, block: int, place: int) -> list[Whole]:
        """The operands that are read, after results and carries."""
        return [self.operand(each, block, place) for each in one.operands[one.result_count :]]

    # --- what loops change
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
        before, last = _number(self._before(register, head, loop)), after[0]
        if self._still(last - here, loop):
            return before + (last - here) * atom("pass", head)
        if self._still(last, loop):
            return last + (before - last) * atom("if", ("==", atom("pass", head)))
        found = _power(before, last, here, head)
        return self._of_pass(before, last, loop) if found is None else found

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
