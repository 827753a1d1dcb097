"""Derive the values of registers at an instruction from the instructions that wrote them.

A register that a loop changes is an ``entry`` atom at the loop's head. If the register grows by the
same amount in each iteration, the atom is solved: amount × iteration, counted from 0. After the
loop, the last iteration is inserted. Values that cannot be derived are ``unknown`` atoms, and
values from memory are ``loaded`` atoms. Where signed and unsigned operations differ, values are
assumed not to be negative. The low half of a register pair stands for the pair.
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

_NUMBER = re.compile(r"\d+")
_STACK_ADDRESS = re.compile(r"\[R1(?:\+(-?0x[0-9a-f]+))?\]$")
#: Instructions that may write to any address of local memory.
_MAY_ALIAS = ("ST", "CALL")


def _stack_slots(body: Sequence[Instruction]) -> dict[int, tuple[str, ...]]:
    """Return the stack words that each local load and store accesses, by instruction index.

    The result is empty if a store could write to any word: its address is computed or generic, it
    is in a called function, or it writes less than a word.
    """
    local = [one for one in body if one.kind in ("local_load", "local_store")]
    if not local or any(one.name in _MAY_ALIAS for one in body):
        return {}
    moves = [one.index for one in body if "R1" in one.results]  # the stack pointer
    branches = [one.index for one in body if one.name in ("BRA", "BSYNC", "BRX", "JMP")]
    if any(at > min([local[0].index, *branches]) for at in moves):
        return {}
    result = {}
    for one in local:
        address = next((m for each in one.operands if (m := _STACK_ADDRESS.match(each))), None)
        width = access_width(one)
        begin = int(address[1] or "0", 16) if address is not None else 0
        if address is not None and width >= 4 and begin % 4 == 0:
            result[one.index] = tuple(f"M{begin + at}" for at in range(0, width, 4))
        elif one.kind == "local_store":
            return {}
    return result


#: A right shift by at least this number of bits leaves only the sign, which is 0 for sizes.
_SIGNED_SHIFT = 31


class Operation:
    """One result of an instruction; methods return the values that the instruction reads."""

    def __init__(
        self, values: RegisterValues, one: Instruction, result: int, block: int, place: int
    ) -> None:
        self.values, self.result, self.block, self.place = values, result, block, place
        self.name, self.modifiers, self.operands = one.name, one.modifiers, one.operands
        self.opcode, self.result_count = one.opcode, one.result_count

    def inputs(self) -> list[IntExpr]:
        """Return the values of the operands other than results and carries."""
        return [self.value(each) for each in self.operands[self.result_count :]]

    def value(self, text: str) -> IntExpr:
        """Return the value of an operand."""
        return self.values.operand_value(text, self.block, self.place)

    def condition(self, text: str) -> Condition:
        """Return the condition of a predicate."""
        return self.values.predicate_condition(text, self.block, self.place)

    def register_distance(self, register: str) -> int:
        """Return the distance of a register from the first register of the result."""
        first = _NUMBER.search(self.operands[0])
        number = _NUMBER.search(register)
        return int(number[0]) - int(first[0]) if first and number else 1

    def unknown(self, what: str) -> IntExpr:
        """Return an atom for an unknown result of this instruction."""
        return _unknown_value(what, self.block, self.place)


#: Returns the value that an operation yields: an expression, or the condition of a predicate.
Evaluator = Callable[[Operation], Any]


def _unknown_value(what: str, block: int, place: int) -> IntExpr:
    return atom_expr("unknown", (what, block, place))


def _add(op: Operation) -> IntExpr:
    if "X" in op.modifiers:
        return ZERO  # the high half of a value below 2^32
    return sum(op.inputs()[:3], ZERO)


def _mad(op: Operation) -> IntExpr:
    parts = op.inputs()
    if "X" in op.modifiers:
        return ZERO  # the high half of a value below 2^32
    if "HI" in op.modifiers:
        if (quotient := reciprocal_quotient(parts)) is not None:
            return quotient
        high = multiply_high(parts[0], parts[1], signed="U32" not in op.modifiers)
        return high + _upper_half(op, op.operands[-1])
    return parts[0] * parts[1] + (parts[2] if len(parts) > 2 else ZERO)


def _upper_half(op: Operation, text: str) -> IntExpr:
    """Return the high half of a register pair, given the operand that names the low half."""
    register = re.fullmatch(r"(U?R)(\d+)", text)
    if register is None:
        return ZERO if text.endswith("RZ") else op.unknown("upper")
    return op.value(f"{register[1]}{int(register[2]) + 1}")


def _shift(op: Operation) -> IntExpr:
    parts = op.inputs()
    value, by = parts[0], parts[1].constant_value
    if "L" in op.modifiers:
        if by is None or not 0 <= by < 64:
            return value * atom_expr("power of two", parts[1])
        return value.scale(2**by)
    if "HI" in op.modifiers and len(parts) > 2:
        value = parts[2]
    if by is None:
        return floordiv(value, atom_expr("power of two", parts[1]))
    is_scaled = any(len(p) == 1 and p[0].kind == "scaled" for p in value.terms)
    is_wide = op.name == "SHFR" and is_scaled
    return shift_right(value, by) if by < _SIGNED_SHIFT or is_wide else ZERO


def _multiply_wide(op: Operation) -> IntExpr:
    """Return PTX's 64-bit product, as a quotient if one factor is a large constant."""
    value, by = op.inputs()[:2]
    value, by = (by, value) if by.constant_value is None else (value, by)
    factor = by.constant_value
    if factor is None or value.constant_value is not None or abs(factor) < 2**16:
        return value * by
    return atom_expr("scaled", value, factor % 2**32 if "U32" in op.modifiers else factor, -32)


def _divide(op: Operation) -> IntExpr:
    above, below = op.inputs()[:2]
    result = floordiv(above, below)
    return result if op.name == "IDIV" else above - below * result


def _lea(op: Operation) -> IntExpr:
    parts = op.inputs()
    if "X" in op.modifiers and "HI" in op.modifiers:
        return ZERO  # the high half of a value below 2^32
    if "HI" in op.modifiers:
        by = parts[3 if len(parts) > 3 else 2].constant_value
        if by is None:
            return op.unknown("lea")
        inside = shift_right(parts[0], 32 - by) if by > 0 and 32 - by < _SIGNED_SHIFT else ZERO
        return inside + parts[1]
    by = parts[2].constant_value if len(parts) > 2 else 0
    if by is None:
        return op.unknown("lea")
    return parts[0].scale(2**by) + parts[1]


def _logic(op: Operation) -> IntExpr:
    """Return the value of LOP3, a bitwise function whose truth table is an operand."""
    parts = op.inputs()
    table = next((p.constant_value for p in parts[3:4]), None)
    first, second = (*parts, ZERO)[:2]
    if table == 0xC0:
        return bitwise_and(first, second, (op.block, op.place))
    if table in (0xFC, 0x3C) and ZERO in (first, second):
        return first + second
    if table == 0x3C:
        return atom_expr("exclusive or", first, second)
    if table in (0x0C, 0x30) and first == second:  # (not a) and a, which is 0
        return ZERO
    if table == 0xFC:
        return atom_expr("bitwise or", first, second)
    if table == 0x30:
        return first - bitwise_and(first, second, (op.block, op.place))
    if table == 0x33:
        return -second - ONE
    if table == 0x0F:
        return -first - ONE
    uncertain = ("unknown", "loaded", "reciprocal", "table")
    if table is not None and all(a.kind not in uncertain for p in parts[:3] for a in p.atoms()):
        return atom_expr("logic", table, *parts[:3])
    return op.unknown(f"bits {table}")


def _move(op: Operation) -> IntExpr:
    return op.inputs()[0]


def _load_constant(op: Operation) -> IntExpr:
    if (read := op.values.constants.jump_table_entry(op.operands[-1])) is None:
        return _move(op)
    register, offset = read
    return atom_expr("table", op.values.constants.jump_table, op.value(register) + constant(offset))


def _jump_condition(value: IntExpr, place: int | None) -> Condition | None:
    """Return the condition that a jump-table entry equals a target; None for other values."""
    if place is None or (one := sole_atom(value, "table")) is None:
        return None
    table, at = one.args
    result = FALSE
    for number, each in enumerate(table):
        if each == place:
            result = combine(result, comparison("==", at - constant(4 * number)), operator="or")
    return result


def _load_half_pair(op: Operation) -> IntExpr:
    """Return the 32-bit constant that HFMA2 loads: it computes 0 * 0 + c for each 16-bit half c."""
    operands = op.operands[1:]
    if len(operands) != 4 or any(each.lstrip("-") != "RZ" for each in operands[:2]):
        return op.unknown("halves")
    high, low = (struct.unpack("<H", struct.pack("<e", float(each)))[0] for each in operands[2:])
    number = high << 16 | low
    return constant(number - 2**32 if number >= 2**31 else number)


def _select(op: Operation) -> Any:
    parts = op.inputs()
    when = op.condition(op.operands[-1])
    return op.values.choose(when, parts[0], parts[1])


def _least_or_most(op: Operation) -> IntExpr:
    parts, unsigned = op.inputs(), "U32" in op.modifiers
    when = op.condition(op.operands[-1])
    if op.name == "VIADDMNMX":
        parts = [parts[0] + parts[1], parts[2]]
    if when not in (TRUE, FALSE):
        return op.unknown("least or most")
    first, second = parts[:2]
    signed = atom_expr("least" if when == TRUE else "most", first, second)
    if not unsigned:
        return signed
    # as an unsigned number, a negative value is larger than all non-negative ones
    first_negative, second_negative = (second, first) if when == TRUE else (first, second)
    is_first_size, is_second_size = comparison(">=", first), comparison(">=", second)
    choose = op.values.choose
    with_size = choose(is_first_size, signed, first_negative)
    with_negative = choose(is_first_size, second_negative, signed)
    return choose(is_second_size, with_size, with_negative)


def _vote(op: Operation) -> IntExpr:
    """Return an unknown value for VOTE, the same for all votes for the mask of active lanes."""
    if op.operands[-1].lstrip("U") == "PT" and "ANY" in op.modifiers:
        return _unknown_value("lanes", 0, 0)
    return op.unknown(op.opcode)


def _convert(op: Operation) -> IntExpr:
    value = op.inputs()[0]
    if op.name == "F2I":
        for each in value.terms:
            if len(each) == 1 and each[0].kind == "reciprocal":
                return IntExpr({each: 1})
    return value


def _reciprocal(op: Operation) -> IntExpr:
    value = op.inputs()[0]
    if op.modifiers[0] != "RCP":
        return op.unknown(op.opcode)
    return atom_expr("reciprocal", value)


def _compare(op: Operation) -> Condition:
    operands = op.operands
    first, second = (op.value(each) for each in operands[2:4])
    word = op.modifiers[0]
    if "EX" in op.modifiers:  # uses the comparison of the low halves
        when = op.condition(operands[-1])
        return when if op.result == 0 else negate(when)
    difference = first - second
    signs = {"GE": difference, "GT": difference - ONE, "LE": -difference, "LT": -difference - ONE}
    if word in signs:
        when = comparison(">=", signs[word])
    elif word in ("EQ", "NE"):
        jump = _jump_condition(first, second.constant_value) if word == "EQ" else None
        when = comparison("==", difference) if jump is None else jump
        when = negate(when) if word == "NE" else when
    else:
        return ("unknown", (word, op.block, op.place))
    if "U32" in op.modifiers and not op.values.is_low_half(op):
        when = _compare_unsigned(word, first, second, when)
    when = when if op.result == 0 else negate(when)
    if len(operands) > 4:
        operator = "or" if "OR" in op.modifiers else "and"
        when = combine(when, op.condition(operands[4]), operator=operator)
    return when


def _compare_unsigned(word: str, left: IntExpr, right: IntExpr, signed: Condition) -> Condition:
    """Return an unsigned comparison, in which a negative value is larger than all sizes.

    Compilers write ``7 <= x and x < 14`` as one comparison of ``x - 7``.
    """
    if word not in ("LT", "LE", "GT", "GE"):
        return signed
    negative, not_negative = comparison(">=", -left - ONE), comparison(">=", left)
    if word in ("LT", "LE"):
        of_size = combine(not_negative, signed)
        of_negative = combine(not_negative, signed, operator="or")
    else:
        of_size = combine(negative, signed, operator="or")
        of_negative = combine(negative, signed)
    if comparison(">=", -right) != TRUE:  # a size, or a difference that is assumed to be a size
        return of_size
    return _choose_condition(comparison(">=", -right - ONE), of_negative, of_size)


def _choose_condition(when: Condition, if_true: Condition, if_false: Condition) -> Condition:
    return combine(combine(when, if_true), combine(negate(when), if_false), operator="or")


def _predicate_logic(op: Operation) -> Condition:
    """Return the condition of PLOP3, a function of three predicates given by its truth table."""
    read = [op.condition(each) for each in op.operands[2:5]]
    tables = [int(each, 16) for each in op.operands[5:7]]
    table = tables[min(op.result, len(tables) - 1)]
    result = FALSE
    for number in range(8):
        if table >> number & 1:
            row = TRUE
            for each, bit in zip(read, (4, 2, 1), strict=True):
                row = combine(row, each if number & bit else negate(each))
            result = combine(result, row, operator="or")
    return result


def _pack_predicates(op: Operation) -> IntExpr:
    kind = "UP" if op.opcode.startswith("U") else "P"
    mask = op.value(op.operands[-1]).constant_value or 0
    total = op.value(op.operands[-2])
    if total.constant_value != 0 and predicate_bits(total) is None:
        total = op.unknown("P2R")
    for each in range(7):
        if mask >> each & 1:
            when = op.condition(f"{kind}{each}")
            total = total + (ZERO if when == FALSE else atom_expr("if", when).scale(2**each))
    return total


def _unpack_predicate(op: Operation) -> Condition:
    mask = op.value(op.operands[-1]).constant_value or 0
    if not mask >> op.result & 1:
        return op.condition(f"{op.name[2:]}{op.result}")
    packed = predicate_bits(op.value(op.operands[-2]))
    if packed is None:
        return "unknown", ("R2P", op.block, op.place)
    return packed.get(op.result, FALSE)


PREDICATES = frozenset({"ISETP", "PLOP3", "LOP3", "R2P", "R2UP"})
EVALUATORS: dict[str, Evaluator] = {
    "IADD3": _add, "IADD": _add, "VIADD": _add, "IMAD": _mad, "IMUL": _mad, "XMAD": _mad,
    "SHF": _shift, "SHL": _shift, "SHR": _shift, "LEA": _lea, "MOV": _move,
    "LOP3": lambda op: negate(comparison("==", _logic(op))),
    "S2R": _move, "S2UR": _move, "CS2R": _move, "R2UR": _move, "IABS": _move, "SGXT": _move,
    "LDC": _load_constant, "LDCU": _load_constant, "SEL": _select,
    "IMNMX": _least_or_most, "VIMNMX": _least_or_most, "VIADDMNMX": _least_or_most,
    "ISETP": _compare, "PLOP3": _predicate_logic, "I2F": _convert, "F2I": _convert,
    "MUFU": _reciprocal, "P2R": _pack_predicates, "P2UR": _pack_predicates,
    "R2P": _unpack_predicate, "R2UP": _unpack_predicate,
    "WIDE": _multiply_wide, "SHFR": _shift, "IDIV": _divide, "IREM": _divide,
    "HFMA2": _load_half_pair, "VOTE": _vote, "VOTEU": _vote,
}  # fmt: skip


_LOADS = ("global_load", "shared_load", "local_load")
#: _MAX_PATHS: upper limit on the number of merging paths that are distinguished. _UNREACHABLE:
#: value of a path that ends.
_MAX_PATHS, _UNREACHABLE = sizes.REGISTER_WAYS, ("never",)


class RegisterValues:
    """The values of registers and the guards of instructions, as expressions."""

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
        #: Returns the trip count of a loop, given its head; set by the analysis that derives it.
        self.trip_count: Callable[[int], IntExpr | None] = lambda head: None
        #: Set when all trip counts are known, so that substitutions can be cached.
        self.is_final = False
        self._substitution_cache: dict[frozenset[int] | None, Substitution] = {}
        self._guard_cache: dict[tuple[int, int], Condition] = {}

    def guard_condition(self, block: int, place: int) -> Condition:
        """Return the condition under which an instruction takes effect."""
        result = TRUE
        for each in self.graph.blocks[block].body[place].guards:
            result = combine(result, self.predicate_condition(each, block, place))
        return result

    def value_before(self, register: str, block: int, place: int, assumed_guard: str = "") -> Any:
        """Return the value of a register (or the condition of a predicate) before an instruction.

        ``assumed_guard`` is a guard that holds there. Writes under the opposite guard are skipped.
        """
        body = self.graph.blocks[block].body
        for before in reversed(self._writes[block].get(register, ())):
            if before >= place:
                continue
            guard = body[before].guard
            predicate = guard.lstrip("!")
            writes = self._writes[block].get(predicate, ())
            is_rewritten = any(before <= each < place for each in writes)
            if not guard or predicate != assumed_guard.lstrip("!") or is_rewritten:
                return self._value_after(register, block, before)
            if guard == assumed_guard:
                return self._computed_value(register, block, before)
        return self._value_at_entry(register, block)

    def _value_after(self, register: str, block: int, place: int) -> Any:
        key = (register, block, place)
        if key not in self._cache:
            guard = self.graph.blocks[block].body[place].guard
            result = self._computed_value(register, block, place)
            if guard and guard not in ("PT", "UPT", "PR"):
                when = self.predicate_condition(guard, block, place)
                if when != TRUE:
                    result = self.choose(when, result, self.value_before(register, block, place))
            self._cache[key] = result
        return self._cache[key]

    def _computed_value(self, register: str, block: int, place: int) -> Any:
        key = ("computed", register, block, place)
        if key not in self._cache:
            one = self.graph.blocks[block].body[place]
            self._cache[key] = self._evaluate(one, register, block, place)
        return self._cache[key]

    def choose(self, condition: Condition, if_true: Any, if_false: Any) -> Any:
        """Return an expression that is ``if_true`` if a condition holds, else ``if_false``."""
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
            return _choose_condition(condition, if_true, if_false)
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
        """Return the value of a register on entry to a block (for a loop head: before the loop)."""
        before = self.graph.blocks[block].predecessors
        before = [each for each in before if not loop or each not in loop.blocks]
        if not before:
            return self._unknown_merge(register, block)
        return self._merge_values(register, block, before)

    def _unknown_merge(self, register: str, block: int) -> Any:
        return _unknown(register, ("merge", register, block))

    def _value_at_exit(self, register: str, block: int) -> Any:
        return self.value_before(register, block, len(self.graph.blocks[block].body))

    def _merge_values(self, register: str, block: int, predecessors: Any) -> Any:
        values = [self._value_at_exit(register, each) for each in predecessors]
        if all(value == values[0] for value in values[1:]):
            return values[0]
        if len(values) > _MAX_PATHS:
            return self._unknown_merge(register, block)
        graph, fork = self.graph, self.graph.immediate_dominators[block]
        between, stack = set[int](), list(predecessors)  # blocks from the fork to the merge
        while stack:
            each = stack.pop()
            if each not in between:
                between.add(each)
                stack += graph.blocks[each].predecessors if each != fork else ()
        known: dict[int, Any] = {}

        def path_value(number: int, successor: int) -> Any:
            if successor == block:
                return self._value_at_exit(register, number)
            if successor not in between:
                return _UNREACHABLE
            if successor not in known:
                known[successor] = merge_from(successor)
            return known[successor]

        def merge_from(number: int) -> Any:
            """Return the value of a register merged over all paths that begin at a block."""
            successors = graph.blocks[number].successors
            if number in graph.loops and block not in (inside := graph.loops[number].blocks):
                edges = {(n, to) for n in inside for to in graph.blocks[n].successors}
                paths = [path_value(n, to) for n, to in sorted(edges) if to not in inside]
                return paths[0] if paths and all(each == paths[0] for each in paths) else None
            paths = [path_value(number, each) for each in dict.fromkeys(successors)]
            paths = [each for each in paths if each is not _UNREACHABLE]
            if len(paths) == 2 and paths[0] != paths[1]:
                when = self.guard_condition(number, len(graph.blocks[number].body) - 1)
                is_known = None not in paths and when[0] != "unknown"
                return self.choose(when, *paths) if is_known else None
            return paths[0] if paths else _UNREACHABLE

        result = merge_from(fork)
        return self._unknown_merge(register, block) if result is None else result

    def is_low_half(self, op: Operation) -> bool:
        """True if ``op`` compares low halves, and a comparison of high halves reads its result."""
        result = op.operands[0]
        for each in self.graph.blocks[op.block].body[op.place + 1 :]:
            if each.name == "ISETP" and "EX" in each.modifiers and each.operands[-1] == result:
                return True
            if result in each.results:
                return False
        return False

    def predicate_condition(self, text: str, block: int, place: int) -> Condition:
        """Return the condition of a predicate before an instruction."""
        if text.startswith("!"):
            return negate(self.predicate_condition(text[1:], block, place))
        if text in ("", "PT", "UPT"):
            return TRUE
        result = self.value_before(text, block, place)
        return result if isinstance(result, tuple) else ("unknown", (text, block, place))

    def operand_value(self, text: str, block: int, place: int) -> IntExpr:
        """Return the value of an operand."""
        result = self.constants.parse_operand(text)
        if isinstance(result, IntExpr):
            return result
        if result is not None:
            body = self.graph.blocks[block].body
            guard = body[place].guard if place < len(body) else ""
            value = self.value_before(result[1], block, place, guard)
            if isinstance(value, IntExpr):
                return -value if result[0] else value
        return _unknown_value(text, block, place)

    def _evaluate(self, instruction: Instruction, register: str, block: int, place: int) -> Any:
        results = instruction.results
        predicate = register.lstrip("U")[0] == "P"
        if not predicate and (slots := self._slots.get(instruction.index)):
            if instruction.kind == "local_load":
                slot = slots[results.index(register)]
                return self.value_before(slot, block, place, instruction.guard)
            word, operand = slots.index(register), instruction.operands[-1]
            if word and operand.startswith("R") and operand[1:].isdigit():
                operand = f"R{int(operand[1:]) + word}"
            return self.operand_value(operand, block, place)
        if not predicate and instruction.kind in _LOADS:
            return atom_expr("loaded", (register, block, place))
        evaluate = EVALUATORS.get(instruction.name)
        if evaluate is None or (predicate and instruction.name not in PREDICATES):
            return _unknown(register, (register, block, place))
        op = Operation(self, instruction, results.index(register) if predicate else 0, block, place)
        first = next((each for each in results if each.lstrip("U")[0] != "P"), register)
        if not predicate and register != first:
            return self._upper_result(op, instruction.text, register)
        if not predicate and instruction.name == "LOP3":
            evaluate = _logic
        return evaluate(op)

    def _upper_result(self, op: Operation, text: str, register: str) -> IntExpr:
        if op.name in ("LDC", "LDCU", "MOV") and not {"64", "128"}.isdisjoint(op.modifiers):
            word = self.constants.next_word(op.operands[-1], op.register_distance(register))
            return op.unknown(text) if word is None else word
        if op.name == "CS2R":
            return ZERO
        if op.name == "IMAD" and "WIDE" in op.modifiers:
            first, second, third = op.inputs()[:3]
            if third == ZERO:
                return multiply_high(first, second, signed="U32" not in op.modifiers)
        return op.unknown(register)

    def solved_guard(self, block: int, place: int) -> Condition:
        """Return the condition of a guard, with loop-carried values as functions of iterations."""
        if (block, place) in self._guard_cache:
            return self._guard_cache[block, place]
        inside, after = self._substitutions(block)
        result = after.condition(inside.condition(self.guard_condition(block, place)))
        if self.is_final:
            self._guard_cache[block, place] = result
        return result

    def solve_loops(self, value: IntExpr, block: int) -> IntExpr:
        """Return an expression at a block, with loop-carried values as functions of iterations."""
        inside, after = self._substitutions(block)
        return after.value(inside.value(value))

    def _substitutions(self, block: int) -> tuple[Substitution, Substitution]:
        inside = Substitution(self._loop_solution)
        after = Substitution(lambda one: self._after_loop(one, block))
        if not self.is_final:
            return inside, after
        around = frozenset(head for head, loop in self.graph.loops.items() if block in loop.blocks)
        cache = self._substitution_cache
        return cache.setdefault(None, inside), cache.setdefault(around, after)

    def _after_loop(self, atom: Atom, block: int, inside: Loop | None = None) -> IntExpr | None:
        """Return the last iteration of a loop if a block is after the loop; otherwise None.

        If ``inside`` is given, only loops inside that loop count, and the registers at their heads
        are solved as well.
        """
        if inside is not None and atom.kind == "entry":
            if atom.args[0] == inside.head or atom.args[0] not in inside.blocks:
                return None
            if (value := self._loop_solution(atom)) is None:
                return None
            return substitute(value, lambda one: self._after_loop(one, block, inside))
        if atom.kind not in ("pass", "power"):
            return None
        head = atom.args[-1]
        is_outside = inside is not None and head not in inside.blocks
        if is_outside or block in self.graph.loops[head].blocks:
            return None
        many = self.trip_count(head)
        if many is None:
            return atom_expr("unknown", ("passes", head, 0))
        if atom.kind == "power":
            return atom_expr("power of", atom.args[0], many - ONE)
        return many - ONE

    def _loop_solution(self, atom: Atom) -> IntExpr | None:
        if atom.kind != "entry":
            return None
        if atom not in self._solutions:
            self._solutions[atom] = None  # recursive calls end here
            self._solutions[atom] = self._solve_recurrence(atom)
        result = self._solutions[atom]
        return None if result is None else Substitution(self._loop_solution).value(result)

    def _solve_recurrence(self, entry: Atom) -> IntExpr | None:
        """Return the value of a register at the head of a loop, as a function of the iteration."""
        head, register = entry.args
        loop = self.graph.loops[head]
        here = IntExpr({(entry,): 1})

        def after_inner_loops(atom: Atom) -> IntExpr | None:
            return self._after_loop(atom, head, inside=loop)

        after = [_as_expr(self._value_at_exit(register, each)) for each in loop.latches]
        after = [Substitution(after_inner_loops).value(each) for each in after]
        if any(each != after[0] for each in after[1:]):
            return None
        before, last = _as_expr(self._value_from_predecessors(register, head, loop)), after[0]
        # some paths do not change the register
        if substitute(last, lambda one: before if one == entry else None) == before:
            return before
        if self.is_loop_invariant(last - here, loop):
            return before + (last - here) * atom_expr("pass", head)
        if self.is_loop_invariant(last, loop):
            return last + (before - last) * atom_expr("if", ("==", atom_expr("pass", head)))
        result = _geometric(before, last, here, head)
        return self._previous_iteration(before, last, loop) if result is None else result

    def _previous_iteration(self, before: IntExpr, after: IntExpr, loop: Loop) -> IntExpr | None:
        """Solve a register whose new value depends only on the number of the previous iteration."""
        after = Substitution(self._loop_solution).value(after)
        if not self.is_loop_invariant(after, loop, except_head=loop.head):
            return None
        now = atom_expr("pass", loop.head)

        def at_iteration(number: IntExpr) -> IntExpr:
            return substitute(after, lambda one: number if now.terms == {(one,): 1} else None)

        first, rest = before - at_iteration(-ONE), at_iteration(now - ONE)
        return rest + first * atom_expr("if", ("==", now)) if first.terms else rest

    def is_loop_invariant(self, step: IntExpr, loop: Loop, except_head: int | None = None) -> bool:
        """True if an expression has the same value in all iterations of a loop.

        The expression may depend on the iteration of the loop with the head ``except_head``.
        """
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
    for each in args:
        if isinstance(each, tuple) and len(each) == 3:
            return int(each[2] if each[0] == "merge" else each[1])
    return None


def _unknown(register: str, origin: tuple[Any, ...]) -> Any:
    is_predicate = register.lstrip("U")[0] == "P"
    return ("unknown", origin) if is_predicate else atom_expr("unknown", origin)


def _as_expr(value: Any) -> IntExpr:
    """Return a value unchanged, or a condition as an expression that is 1 or 0."""
    return value if isinstance(value, IntExpr) else indicator(value)


def _geometric(before: IntExpr, after: IntExpr, entry: IntExpr, head: int) -> IntExpr | None:
    """Return the value, as a power, of a register that each iteration scales by 2, 4, 8 or 16."""
    for factor in (2, 4, 8, 16):
        if after == entry.scale(factor):
            return before * atom_expr("power", factor, head)
        if after == floordiv(entry, constant(factor)):
            return atom_expr("over", before, atom_expr("power", factor, head))
    return None
