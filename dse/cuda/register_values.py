"""What registers hold at places of a kernel, followed backwards to where they are written.

What a loop changes is an ``entry`` atom at its head, which is solved: a register that each pass
changes by the same amount is that amount times the pass, counted from 0; behind the loop the pass
is the last one. What cannot be followed is an ``unknown_value`` atom, and what memory gives a ``loaded``
one. Values are taken as whole and not negative where the hardware's unsigned and signed forms
differ, and low halves of pairs stand for the pair.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

from dse.cuda.control_flow import ControlFlowGraph, Loop
from dse.cuda.instructions import ConstantBank, Instruction, access_width
from dse.cuda.integer_expressions import (
    FALSE,
    MAX_ATOMS,
    ONE,
    TRUE,
    ZERO,
    Atom,
    Condition,
    IntExpr,
    Substitution,
    atom_expr,
    bitwise_and,
    combine,
    comparison,
    constant,
    floordiv,
    indicator,
    multiply_high,
    negate,
    opaque_value,
    predicate_bits,
    reciprocal_quotient,
    shift_right,
    sole_atom,
    substitute,
)
from stochastic import sizes

_STACK_POINTER = "R1"
_STACK_ADDRESS = re.compile(r"\[R1(?:\+(-?0x[0-9a-f]+))?\]$")
#: What may write to local memory by an address that is not told apart from others.
_MAY_ALIAS = ("ST", "CALL")


def _stack_slots(body: Sequence[Instruction]) -> dict[int, tuple[str, ...]]:
    """The words of the stack that each local load and store is of, by the instruction's place.

    Nothing where a store may be to any of them: by a computed address (an array), a generic one,
    of a function that is called, or of fewer bytes than a word.
    """
    local = [one for one in body if one.kind in ("local_load", "local_store")]
    if not local or any(one.name in _MAY_ALIAS for one in body):
        return {}
    moved = [one.index for one in body if _STACK_POINTER in one.results]
    leaves = next(
        (one.index for one in body if one.name in ("BRA", "BSYNC", "BRX", "JMP")), len(body)
    )
    if any(at > min(leaves, local[0].index) for at in moved):
        return {}
    result = {}
    for one in local:
        place = next((m for each in one.operands if (m := _STACK_ADDRESS.match(each))), None)
        many = access_width(one)
        begin = int(place[1] or "0", 16) if place is not None else 0
        if place is not None and many >= 4 and begin % 4 == 0:
            result[one.index] = tuple(f"M{begin + at}" for at in range(0, many, 4))
        elif one.kind == "local_store":
            return {}
    return result


#: What an operation yields: of the registers before it, the number of its result, block and place.
Evaluator = Callable[["RegisterValues", Instruction, int, int, int], Any]
#: From here on a shift to the right leaves the sign, which sizes do not have.
_SIGNED_SHIFT = 31


def unknown_value(what: str, block: int, place: int) -> IntExpr:
    """Return a value that is not followed."""
    return atom_expr("unknown", (what, block, place))


def _add(v: RegisterValues, instruction: Instruction, _: int, block: int, place: int) -> IntExpr:
    if "X" in instruction.modifiers:
        return ZERO  # a high half, of what is no larger than 2^32
    return sum(v.input_values(instruction, block, place)[:3], ZERO)


def _mad(v: RegisterValues, instruction: Instruction, _: int, block: int, place: int) -> IntExpr:
    parts = v.input_values(instruction, block, place)
    if "X" in instruction.modifiers:
        return ZERO  # a high half, of what is no larger than 2^32
    if "HI" in instruction.modifiers:
        if (result := reciprocal_quotient(parts)) is not None:
            return result
        result = multiply_high(parts[0], parts[1], signed="U32" not in instruction.modifiers)
        return result + _upper_half(v, instruction.operands[-1], block, place)
    return parts[0] * parts[1] + (parts[2] if len(parts) > 2 else ZERO)


def _upper_half(v: RegisterValues, text: str, block: int, place: int) -> IntExpr:
    """The high half of a pair that an operand names by its low one."""
    told = re.fullmatch(r"(U?R)(\d+)", text)
    if told is None:
        return ZERO if text.endswith("RZ") else unknown_value("upper", block, place)
    return v.operand_value(f"{told[1]}{int(told[2]) + 1}", block, place)


def _shift(v: RegisterValues, instruction: Instruction, _: int, block: int, place: int) -> IntExpr:
    """Return a shifted value; PTX's shift to the right (SHFR) may be of 64 bits."""
    parts = v.input_values(instruction, block, place)
    value, by = parts[0], parts[1].constant_value
    if "L" in instruction.modifiers:
        if by is None or not 0 <= by < 64:
            return value * atom_expr("power of two", parts[1])
        return value.scale(2**by)
    if "HI" in instruction.modifiers and len(parts) > 2:
        value = parts[2]
    if by is None:
        return floordiv(value, atom_expr("power of two", parts[1]))
    is_wide = instruction.name == "SHFR" and any(
        len(each) == 1 and each[0].kind == "scaled" for each in value.terms
    )
    return shift_right(value, by) if by < _SIGNED_SHIFT or is_wide else ZERO


def _multiply_wide(
    v: RegisterValues, instruction: Instruction, _: int, block: int, place: int
) -> IntExpr:
    """Return PTX's product of 64 bits; one with a large constant is on the way to a quotient."""
    value, by = v.input_values(instruction, block, place)[:2]
    value, by = (by, value) if by.constant_value is None else (value, by)
    factor = by.constant_value
    if factor is None or value.constant_value is not None or abs(factor) < 2**16:
        return value * by
    return atom_expr(
        "scaled", value, factor % 2**32 if "U32" in instruction.modifiers else factor, -32
    )


def _divide(v: RegisterValues, instruction: Instruction, _: int, block: int, place: int) -> IntExpr:
    """Return what PTX divides, or what that leaves; machine code has many instructions for it."""
    above, below = v.input_values(instruction, block, place)[:2]
    result = floordiv(above, below)
    return result if instruction.name == "IDIV" else above - below * result


def _load_effective_address(
    v: RegisterValues, instruction: Instruction, _: int, block: int, place: int
) -> IntExpr:
    parts = v.input_values(instruction, block, place)
    if "X" in instruction.modifiers and "HI" in instruction.modifiers:
        return ZERO  # a high half, of what is no larger than 2^32
    if "HI" in instruction.modifiers:
        by = parts[3 if len(parts) > 3 else 2].constant_value
        if by is None:
            return unknown_value("lea", block, place)
        inside = shift_right(parts[0], 32 - by) if by > 0 and 32 - by < _SIGNED_SHIFT else ZERO
        return inside + parts[1]
    by = parts[2].constant_value if len(parts) > 2 else 0
    if by is None:
        return unknown_value("lea", block, place)
    return parts[0].scale(2**by) + parts[1]


def _logic(v: RegisterValues, instruction: Instruction, _: int, block: int, place: int) -> IntExpr:
    """LOP3: a table of three bits, of which some are divisions."""
    parts = v.input_values(instruction, block, place)
    table = next((p.constant_value for p in parts[3:4]), None)
    first, second = (*parts, ZERO)[:2]
    if table == 0xC0:
        return bitwise_and(first, second, (block, place))
    if table in (0xFC, 0x3C) and ZERO in (first, second):
        return first + second
    if table == 0x3C:
        return atom_expr("exclusive or", first, second)
    if table in (0x0C, 0x30) and first == second:  # not a and b, or a and not b, of the same
        return ZERO
    if table == 0xFC:
        return atom_expr("bitwise or", first, second)
    if table == 0x30:
        return first - bitwise_and(first, second, (block, place))
    if table == 0x33:
        return -second - ONE
    if table == 0x0F:
        return -first - ONE
    return unknown_value(f"bits {table}", block, place)


def _move(v: RegisterValues, instruction: Instruction, _: int, block: int, place: int) -> IntExpr:
    return v.input_values(instruction, block, place)[0]


def _load_constant(
    v: RegisterValues, instruction: Instruction, _: int, block: int, place: int
) -> IntExpr:
    """LDC: a constant of the launch, or a place of the table of jumps."""
    if (read := v.constants.jump_table_entry(instruction.operands[-1])) is None:
        return _move(v, instruction, _, block, place)
    register, offset = read
    return atom_expr(
        "table", v.constants.jump_table, v.operand_value(register, block, place) + constant(offset)
    )


def _jump_condition(value: IntExpr, place: int | None) -> Condition | None:
    """Return when a place of the table of jumps is a given one; None for any other value."""
    if place is None or (one := sole_atom(value, "table")) is None:
        return None
    table, at = one.args
    result = FALSE
    for number, each in enumerate(table):
        if each == place:
            result = combine(result, comparison("==", at - constant(4 * number)), operator="or")
    return result


def _load_half_pair(
    v: RegisterValues, instruction: Instruction, _: int, block: int, place: int
) -> IntExpr:
    """HFMA2 of zeros: two numbers of 16 bits, as compilers load a constant."""
    operands = instruction.operands[1:]
    if len(operands) != 4 or any(each.lstrip("-") != "RZ" for each in operands[:2]):
        return unknown_value("halves", block, place)
    high, low = (struct.unpack("<H", struct.pack("<e", float(each)))[0] for each in operands[2:])
    number = high << 16 | low
    return constant(number - 2**32 if number >= 2**31 else number)


def _select(v: RegisterValues, instruction: Instruction, _: int, block: int, place: int) -> Any:
    parts = v.input_values(instruction, block, place)
    when = v.predicate_condition(instruction.operands[-1], block, place)
    return v.choose(when, parts[0], parts[1])


def _minimum_or_maximum(
    v: RegisterValues, instruction: Instruction, _: int, block: int, place: int
) -> IntExpr:
    parts, unsigned = v.input_values(instruction, block, place), "U32" in instruction.modifiers
    when = v.predicate_condition(instruction.operands[-1], block, place)
    if instruction.name == "VIADDMNMX":
        parts = [parts[0] + parts[1], parts[2]]
    if when not in (TRUE, FALSE):
        return unknown_value("least or most", block, place)
    first, second = parts[:2]
    signed = atom_expr("least" if when == TRUE else "most", first, second)
    if not unsigned:  # right, too, where both or none are negative
        return signed
    of_first_negative, of_second_negative = (second, first) if when == TRUE else (first, second)
    is_first, is_second = comparison(">=", first), comparison(">=", second)
    of_size = v.choose(is_first, signed, of_first_negative)
    result: IntExpr = v.choose(is_second, of_size, v.choose(is_first, of_second_negative, signed))
    return result


def _vote(v: RegisterValues, instruction: Instruction, _: int, block: int, place: int) -> IntExpr:
    """VOTE: of nothing but the lanes that are active, in whatever register."""
    if instruction.operands[-1].lstrip("U") == "PT" and "ANY" in instruction.modifiers:
        return unknown_value("lanes", 0, 0)
    return unknown_value(instruction.opcode, block, place)


def _convert(
    v: RegisterValues, instruction: Instruction, _: int, block: int, place: int
) -> IntExpr:
    """Of a conversion between whole numbers and floats: the value, on the way to a quotient."""
    value = v.input_values(instruction, block, place)[0]
    if instruction.name == "F2I":
        for each in value.terms:
            if len(each) == 1 and each[0].kind == "reciprocal":
                return IntExpr({each: 1})
    return value


def _reciprocal(
    v: RegisterValues, instruction: Instruction, _: int, block: int, place: int
) -> IntExpr:
    value = v.input_values(instruction, block, place)[0]
    if instruction.modifiers[0] != "RCP":
        return unknown_value(instruction.opcode, block, place)
    return atom_expr("reciprocal", value)


def _compare(
    v: RegisterValues, instruction: Instruction, result: int, block: int, place: int
) -> Condition:
    operands = instruction.operands
    first, second = (v.operand_value(each, block, place) for each in operands[2:4])
    word = instruction.modifiers[0]
    if "EX" in instruction.modifiers:  # the high halves: what the low ones say
        found = v.predicate_condition(operands[-1], block, place)
        return found if result == 0 else negate(found)
    difference = first - second
    signs = {"GE": difference, "GT": difference - ONE, "LE": -difference, "LT": -difference - ONE}
    if word in signs:
        found = comparison(">=", signs[word])
    elif word in ("EQ", "NE"):
        jump = _jump_condition(first, second.constant_value) if word == "EQ" else None
        found = comparison("==", difference) if jump is None else jump
        found = negate(found) if word == "NE" else found
    else:
        return ("unknown", (word, block, place))
    if "U32" in instruction.modifiers and not v.is_low_half(instruction, block, place):
        found = _compare_unsigned(word, first, second, found)
    found = found if result == 0 else negate(found)
    if len(operands) > 4:
        other = v.predicate_condition(operands[4], block, place)
        word = "or" if "OR" in instruction.modifiers else "and"
        found = combine(found, other, operator=word)
    return found


def _compare_unsigned(
    operator: str, left: IntExpr, right: IntExpr, signed_result: Condition
) -> Condition:
    """Return a comparison in which a negative value is larger than all others.

    Compilers write ``7 <= x and x < 14`` as one comparison of ``x - 7``.
    """
    if operator not in ("LT", "LE", "GT", "GE"):
        return signed_result
    negative, not_negative = comparison(">=", -left - ONE), comparison(">=", left)
    if operator in ("LT", "LE"):
        of_size = combine(not_negative, signed_result)
        of_negative = combine(not_negative, signed_result, operator="or")
    else:
        of_size = combine(negative, signed_result, operator="or")
        of_negative = combine(negative, signed_result)
    if comparison(">=", -right) != TRUE:  # a size, or a difference of sizes, which is taken as one
        return of_size
    is_negative = comparison(">=", -right - ONE)
    return combine(
        combine(is_negative, of_negative), combine(negate(is_negative), of_size), operator="or"
    )


def _predicate_logic(
    v: RegisterValues, instruction: Instruction, result: int, block: int, place: int
) -> Condition:
    """PLOP3: a table of three predicates, as LOP3's of three bits."""
    read = [v.predicate_condition(each, block, place) for each in instruction.operands[2:5]]
    tables = [int(each, 16) for each in instruction.operands[5:7]]
    table = tables[min(result, len(tables) - 1)]
    found = FALSE
    for number in range(8):
        if table >> number & 1:
            row = TRUE
            for each, bit in zip(read, (4, 2, 1), strict=True):
                row = combine(row, each if number & bit else negate(each))
            found = combine(found, row, operator="or")
    return found


def _pack_predicates(
    v: RegisterValues, instruction: Instruction, _: int, block: int, place: int
) -> IntExpr:
    """P2R: predicates as bits of a word."""
    kind = "UP" if instruction.opcode.startswith("U") else "P"
    mask = v.operand_value(instruction.operands[-1], block, place).constant_value or 0
    kept = v.operand_value(instruction.operands[-2], block, place)
    total = (
        kept
        if kept.constant_value == 0 or predicate_bits(kept) is not None
        else unknown_value("P2R", block, place)
    )
    for each in range(7):
        if mask >> each & 1:
            when = v.predicate_condition(f"{kind}{each}", block, place)
            total = total + (ZERO if when == FALSE else atom_expr("if", when).scale(2**each))
    return total


def _unpack_predicate(
    v: RegisterValues, instruction: Instruction, result: int, block: int, place: int
) -> Condition:
    """R2P: bits of a word as predicates."""
    mask = v.operand_value(instruction.operands[-1], block, place).constant_value or 0
    if not mask >> result & 1:
        return v.predicate_condition(f"{instruction.name[2:]}{result}", block, place)
    packed = predicate_bits(v.operand_value(instruction.operands[-2], block, place))
    return ("unknown", ("R2P", block, place)) if packed is None else packed.get(result, FALSE)


def _test_nonzero(
    v: RegisterValues, instruction: Instruction, result: int, block: int, place: int
) -> Any:
    """The predicate of LOP3: whether its result is not 0."""
    return negate(comparison("==", _logic(v, instruction, 0, block, place)))


PREDICATES = frozenset({"ISETP", "PLOP3", "LOP3", "R2P", "R2UP"})
EVALUATORS: dict[str, Evaluator] = {
    "IADD3": _add, "IADD": _add, "VIADD": _add, "IMAD": _mad, "IMUL": _mad, "XMAD": _mad,
    "SHF": _shift, "SHL": _shift, "SHR": _shift, "LEA": _load_effective_address, "LOP3": _test_nonzero, "MOV": _move,
    "S2R": _move, "S2UR": _move, "CS2R": _move, "R2UR": _move, "LDC": _load_constant, "LDCU": _load_constant,
    "SEL": _select, "IMNMX": _minimum_or_maximum, "VIMNMX": _minimum_or_maximum, "VIADDMNMX": _minimum_or_maximum,
    "IABS": _move, "SGXT": _move,
    "ISETP": _compare, "PLOP3": _predicate_logic, "I2F": _convert, "F2I": _convert,
    "MUFU": _reciprocal, "P2R": _pack_predicates, "P2UR": _pack_predicates, "R2P": _unpack_predicate, "R2UP": _unpack_predicate,
    "WIDE": _multiply_wide, "SHFR": _shift, "IDIV": _divide, "IREM": _divide,
    "HFMA2": _load_half_pair, "VOTE": _vote, "VOTEU": _vote,
}  # fmt: skip


_LOADS = ("global_load", "shared_load", "local_load")
#: Ways that meet and are told apart, and what stands for one that ends.
_MAX_PATHS, _UNREACHABLE = sizes.REGISTER_WAYS, ("never",)
_TRUE_PREDICATES = ("PT", "UPT", "PR")


class RegisterValues:
    """The values of registers, and the guards of instructions, by arguments, places and passes."""

    def __init__(self, graph: ControlFlowGraph, constants: ConstantBank) -> None:
        self.graph = graph
        self.constants = constants
        self._slots = _stack_slots([one for block in graph.blocks for one in block.body])
        self._writes: list[dict[str, list[int]]] = []
        for block in graph.blocks:
            writes: dict[str, list[int]] = {}
            for place, one in enumerate(block.body):
                for register in one.results or self._slots.get(one.index, ()):
                    writes.setdefault(register, []).append(place)
            self._writes.append(writes)
        self._cache: dict[Any, Any] = {}
        self._solutions: dict[Atom, IntExpr | None] = {}
        #: Passes of a loop by its head, for what it leaves behind; set by who counts them.
        self.trip_count: Callable[[int], IntExpr | None] = lambda head: None
        #: Set when all passes are known, so that what becomes of an atom stays so.
        self.is_final = False
        self._substitution_cache: dict[frozenset[int] | None, Substitution] = {}
        self._guard_cache: dict[tuple[int, int], Condition] = {}

    # --- registers
    def guard_condition(self, block: int, place: int) -> Condition:
        """When an instruction does what it does."""
        result = TRUE
        for each in self.graph.blocks[block].body[place].guards:
            result = combine(result, self.predicate_condition(each, block, place))
        return result

    def value_before(self, register: str, block: int, place: int, assumed_guard: str = "") -> Any:
        """The value of a register (or the condition of a predicate) before an instruction.

        ``under`` is the guard that holds there: what is written where it does not is passed over.
        """
        body = self.graph.blocks[block].body
        for before in reversed(self._writes[block].get(register, ())):
            if before >= place:
                continue
            guard = body[before].guard
            if (
                guard
                and guard.lstrip("!") == assumed_guard.lstrip("!")
                and not self._is_rewritten(guard.lstrip("!"), block, before, place)
            ):
                if guard == assumed_guard:
                    return self._computed_value(register, block, before)
                continue
            return self._value_after(register, block, before)
        return self._value_at_entry(register, block)

    def _is_rewritten(self, predicate: str, block: int, begin: int, end: int) -> bool:
        """Whether a predicate is written from one place on, before another."""
        return any(begin <= each < end for each in self._writes[block].get(predicate, ()))

    def _value_after(self, register: str, block: int, place: int) -> Any:
        key = (register, block, place)
        if key not in self._cache:
            guard = self.graph.blocks[block].body[place].guard
            result = self._computed_value(register, block, place)
            if guard and guard not in _TRUE_PREDICATES:
                when = self.predicate_condition(guard, block, place)
                if when != TRUE:
                    result = self.choose(when, result, self.value_before(register, block, place))
            self._cache[key] = result
        return self._cache[key]

    def _computed_value(self, register: str, block: int, place: int) -> Any:
        """What an instruction writes where its guard holds."""
        key = ("computed", register, block, place)
        if key not in self._cache:
            one = self.graph.blocks[block].body[place]
            self._cache[key] = self._evaluate(one, register, block, place)
        return self._cache[key]

    def choose(self, condition: Condition, if_true: Any, if_false: Any) -> Any:
        """One value where a condition holds, else the other."""
        if condition == TRUE or if_true == if_false:
            return if_true
        if condition == FALSE:
            return if_false
        if isinstance(if_true, IntExpr) and isinstance(if_false, IntExpr):
            if (
                if_true.atom_count + if_false.atom_count > MAX_ATOMS
                or IntExpr({(Atom("if", (condition,)),): 1}).atom_count > MAX_ATOMS
            ):
                return opaque_value(condition, if_true, if_false)
            return if_false + (if_true - if_false) * atom_expr("if", condition)
        if isinstance(if_true, tuple) and isinstance(if_false, tuple):
            return combine(
                combine(condition, if_true), combine(negate(condition), if_false), operator="or"
            )
        return atom_expr("unknown", ("choice", 0, 0))

    def _value_at_entry(self, register: str, block: int) -> Any:
        key = (register, block)
        if key not in self._cache:
            loop = self.graph.loops.get(block)
            if loop is None and block == 0:
                self._cache[key] = self._unknown_merge(register, block)
            elif loop and any(register in self._writes[number] for number in loop.blocks):
                here = IntExpr({(Atom("entry", (block, register)),): 1})
                predicate = register.lstrip("U")[0] == "P"
                self._cache[key] = negate(("==", here)) if predicate else here
            else:
                self._cache[key] = self._value_from_predecessors(register, block, loop)
        return self._cache[key]

    def _value_from_predecessors(self, register: str, block: int, loop: Loop | None) -> Any:
        """What a register holds where a block is entered, but for what leads back to it."""
        of = [
            each
            for each in self.graph.blocks[block].predecessors
            if not loop or each not in loop.blocks
        ]
        return (
            self._merge_values(register, block, of) if of else self._unknown_merge(register, block)
        )

    def _unknown_merge(self, register: str, block: int) -> Any:
        told = ("merge", register, block)
        return ("unknown", told) if register.lstrip("U")[0] == "P" else atom_expr("unknown", told)

    def _value_at_exit(self, register: str, block: int) -> Any:
        return self.value_before(register, block, len(self.graph.blocks[block].body))

    def _merge_values(self, register: str, block: int, predecessors: Any) -> Any:
        values = [self._value_at_exit(register, each) for each in predecessors]
        if all(value == values[0] for value in values[1:]):
            return values[0]
        if len(values) > _MAX_PATHS:
            return self._unknown_merge(register, block)
        flow, fork, on, stack = (
            self.graph,
            self.graph.immediate_dominators[block],
            set[int](),
            list(predecessors),
        )
        while stack:  # the blocks between the fork and the meeting
            each = stack.pop()
            if each not in on:
                on.add(each)
                stack += flow.blocks[each].of if each != fork else ()
        known: dict[int, Any] = {}

        def path_value(number: int, successor: int) -> Any:
            if successor == block:
                return self._value_at_exit(register, number)
            if successor not in on:
                return _UNREACHABLE
            if successor not in known:
                known[successor] = merge_from(successor)
            return known[successor]

        def merge_from(number: int) -> Any:
            """What the register holds where ways from a block meet, by their guards."""
            if number in flow.loops and block not in (inside := flow.loops[number].blocks):
                ends = {
                    (n, to) for n in inside for to in flow.blocks[n].successors if to not in inside
                }
                ways = [path_value(*each) for each in sorted(ends)]
                return ways[0] if ways and all(each == ways[0] for each in ways) else None
            ways = [
                path_value(number, each) for each in dict.fromkeys(flow.blocks[number].successors)
            ]
            ways = [each for each in ways if each is not _UNREACHABLE]
            if len(ways) == 2 and ways[0] != ways[1]:
                when = self.guard_condition(number, len(flow.blocks[number].body) - 1)
                is_known = None not in ways and when[0] != "unknown"
                return self.choose(when, *ways) if is_known else None
            return ways[0] if ways else _UNREACHABLE

        result = merge_from(fork)
        return self._unknown_merge(register, block) if result is None else result

    def is_low_half(self, instruction: Instruction, block: int, place: int) -> bool:
        """True if a comparison is of the low halves of pairs: that of the high ones reads it."""
        result = instruction.operands[0]
        for each in self.graph.blocks[block].body[place + 1 :]:
            if each.name == "ISETP" and "EX" in each.modifiers and each.operands[-1] == result:
                return True
            if result in each.results:
                return False
        return False

    # --- operands
    def predicate_condition(self, text: str, block: int, place: int) -> Condition:
        """When a predicate holds before an instruction."""
        if text.startswith("!"):
            return negate(self.predicate_condition(text[1:], block, place))
        if text in ("", "PT", "UPT"):
            return TRUE
        result = self.value_before(text, block, place)
        return result if isinstance(result, tuple) else ("unknown", (text, block, place))

    def operand_value(self, text: str, block: int, place: int) -> IntExpr:
        """The value of an operand that is read."""
        result = self.constants.parse_operand(text)
        if isinstance(result, IntExpr):
            return result
        if result is not None:
            body = self.graph.blocks[block].body
            under = body[place].guard if place < len(body) else ""
            value = self.value_before(result[1], block, place, under)
            if isinstance(value, IntExpr):
                return -value if result[0] else value
        return unknown_value(text, block, place)

    # --- operations
    def _evaluate(self, instruction: Instruction, register: str, block: int, place: int) -> Any:
        results = instruction.results
        predicate = register.lstrip("U")[0] == "P"
        if not predicate and (kept := self._slots.get(instruction.index)):
            if instruction.kind == "local_load":
                return self.value_before(
                    kept[results.index(register)], block, place, instruction.guard
                )
            return self._stored_word(instruction, kept.index(register), block, place)
        if not predicate and instruction.kind in _LOADS:
            return atom_expr("loaded", (register, block, place))
        read = EVALUATORS.get(instruction.name)
        if read is None or (predicate and instruction.name not in PREDICATES):
            told = ((register, block, place),)
            return ("unknown", *told) if predicate else atom_expr("unknown", *told)
        if not predicate and register != next(
            (each for each in results if each.lstrip("U")[0] != "P"), register
        ):
            if instruction.name in ("LDC", "LDCU", "MOV") and "64" in instruction.modifiers:
                behind = self.constants.upper_half(instruction.operands[-1])
                return unknown_value(instruction.text, block, place) if behind is None else behind
            if instruction.name == "CS2R":
                return ZERO
            if instruction.name == "IMAD" and "WIDE" in instruction.modifiers:
                first, second, third = self.input_values(instruction, block, place)[:3]
                if third == ZERO:
                    return multiply_high(first, second, signed="U32" not in instruction.modifiers)
            return unknown_value(register, block, place)
        if not predicate and instruction.name == "LOP3":
            read = _logic
        return read(self, instruction, results.index(register) if predicate else 0, block, place)

    def _stored_word(self, instruction: Instruction, word: int, block: int, place: int) -> IntExpr:
        """A word that a store puts on the stack."""
        told = instruction.operands[-1]
        if word and told.startswith("R") and told[1:].isdigit():
            told = f"R{int(told[1:]) + word}"
        return self.operand_value(told, block, place)

    def input_values(self, instruction: Instruction, block: int, place: int) -> list[IntExpr]:
        """The operands that are read, after results and carries."""
        return [
            self.operand_value(each, block, place)
            for each in instruction.operands[instruction.result_count :]
        ]

    # --- what loops change
    def solved_guard(self, block: int, place: int) -> Condition:
        """When the guard of an instruction holds; solved."""
        if (block, place) in self._guard_cache:
            return self._guard_cache[block, place]
        inside, behind = self._substitutions(block)
        result = behind.condition(inside.condition(self.guard_condition(block, place)))
        if self.is_final:
            self._guard_cache[block, place] = result
        return result

    def solve_loops(self, value: IntExpr, block: int) -> IntExpr:
        """An expression at a block, with what loops change written by their passes."""
        inside, behind = self._substitutions(block)
        return behind.value(inside.value(value))

    def _substitutions(self, block: int) -> tuple[Substitution, Substitution]:
        """What loops change, by their passes; and behind them by the last one."""
        around = frozenset(head for head, loop in self.graph.loops.items() if block in loop.blocks)
        if not self.is_final:
            return Substitution(self._loop_solution), Substitution(
                lambda one: self._value_after_loop(one, block)
            )
        if around not in self._substitution_cache:
            self._substitution_cache[around] = Substitution(
                lambda one: self._value_after_loop(one, block)
            )
        return self._substitution_cache.setdefault(
            None, Substitution(self._loop_solution)
        ), self._substitution_cache[around]

    def _value_after_loop(
        self, atom: Atom, block: int, inside: Loop | None = None
    ) -> IntExpr | None:
        """The last pass of a loop, for what is behind it; ``inside``: of loops within one."""
        if inside is not None and atom.kind == "entry":
            if atom.args[0] == inside.head or atom.args[0] not in inside.blocks:
                return None
            result = self._loop_solution(atom)
            return (
                None
                if result is None
                else substitute(result, lambda o: self._value_after_loop(o, block, inside))
            )
        if atom.kind not in ("pass", "power"):
            return None
        head = atom.args[-1]
        if block in self.graph.loops[head].blocks or (
            inside is not None and head not in inside.blocks
        ):
            return None
        passes = self.trip_count(head)
        if passes is None:
            return atom_expr("unknown", ("passes", head, 0))
        if atom.kind == "power":
            return atom_expr("power of", atom.args[0], passes - ONE)
        return passes - ONE

    def _loop_solution(self, atom: Atom) -> IntExpr | None:
        if atom.kind != "entry":
            return None
        if atom not in self._solutions:
            self._solutions[atom] = None  # while it is sought
            self._solutions[atom] = self._solve_recurrence(atom)
        result = self._solutions[atom]
        return None if result is None else Substitution(self._loop_solution).value(result)

    def _solve_recurrence(self, entry: Atom) -> IntExpr | None:
        """What a register holds at the head of a loop that changes it, by the pass."""
        head, register = entry.args
        loop = self.graph.loops[head]
        here = IntExpr({(entry,): 1})

        def after_inner_loops(atom: Atom) -> IntExpr | None:
            return self._value_after_loop(atom, head, inside=loop)

        after = [_as_expr(self._value_at_exit(register, each)) for each in loop.latches]
        after = [Substitution(after_inner_loops).value(each) for each in after]
        if any(each != after[0] for each in after[1:]):
            return None
        before, last = _as_expr(self._value_from_predecessors(register, head, loop)), after[0]
        if self._is_loop_invariant(last - here, loop):
            return before + (last - here) * atom_expr("pass", head)
        if self._is_loop_invariant(last, loop):
            return last + (before - last) * atom_expr("if", ("==", atom_expr("pass", head)))
        result = _geometric_sequence(before, last, here, head)
        return self._previous_iteration(before, last, loop) if result is None else result

    def _previous_iteration(self, before: IntExpr, after: IntExpr, loop: Loop) -> IntExpr | None:
        """What rests on the pass before, by what else the loop changes."""
        after = Substitution(self._loop_solution).value(after)
        if not self._is_loop_invariant(after, loop, except_head=loop.head):
            return None
        now = atom_expr("pass", loop.head)

        def at_iteration(number: IntExpr) -> IntExpr:
            return substitute(after, lambda one: number if now.terms == {(one,): 1} else None)

        first = before - at_iteration(-ONE)
        return at_iteration(now - ONE) + (
            first * atom_expr("if", ("==", now)) if first.terms else ZERO
        )

    def _is_loop_invariant(self, step: IntExpr, loop: Loop, except_head: int | None = None) -> bool:
        """Whether an expression is the same in every pass of a loop, ``but`` for that of one."""
        for one in step.atoms():
            if one.kind in ("power", "first", "total") and except_head is not None:
                return False
            if one.kind == "entry" and one.args[0] in loop.blocks:
                return False
            if one.kind == "unknown" and one.args[0][0] == "large":
                return False
            if one.kind in ("unknown", "loaded") and _block_of_unknown(one.args) in loop.blocks:
                return False
            if one.kind == "pass" and one.args[0] in loop.blocks and one.args[0] != except_head:
                return False
        return True


def _block_of_unknown(args: Any) -> int | None:
    """The block that an unknown is of."""
    for each in args:
        if isinstance(each, tuple) and len(each) == 3:
            return int(each[2] if each[0] == "merge" else each[1])
    return None


def _as_expr(value: Any) -> IntExpr:
    """A value; of a condition 1 where it holds."""
    return value if isinstance(value, IntExpr) else indicator(value)


def _geometric_sequence(
    before: IntExpr, after: IntExpr, entry: IntExpr, head: int
) -> IntExpr | None:
    """What is doubled or halved in each pass: 2^(k pass) times, or so divided."""
    for factor in (2, 4, 8, 16):
        if after == entry.scale(factor):
            return before * atom_expr("power", factor, head)
        if after == floordiv(entry, constant(factor)):
            return atom_expr("over", before, atom_expr("power", factor, head))
    return None
