"""What operations yield: one reader an instruction, of what its operands hold."""

from __future__ import annotations

import re
import struct
from typing import Any

from dse.kernels.arithmetic import high, masked, power_of_two, quotient, shifted_down
from dse.kernels.assembly import Instruction
from dse.kernels.conditions import FALSE, TRUE, Condition, bits, both, negated, truth
from dse.kernels.linear import ONE, ZERO, Whole, atom, constant
from dse.kernels.quotients import floordiv
from dse.kernels.reading import Reader, Registers, unknown

__all__ = ["PREDICATES", "READ", "logic"]

#: From here on a shift to the right leaves the sign, which sizes do not have.
_SIGNED_SHIFT = 31


def _add(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    parts = v.inputs(one, block, place)
    if "X" in one.modifiers:
        return ZERO  # a high half, of what is no larger than 2^32
    total = ZERO
    for part in parts[:3]:
        total = total + part
    return total


def _mad(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    parts = v.inputs(one, block, place)
    if "X" in one.modifiers:
        return ZERO  # a high half, of what is no larger than 2^32
    if "HI" in one.modifiers:
        if (found := quotient(parts)) is not None:
            return found
        found = high(parts[0], parts[1], signed="U32" not in one.modifiers)
        return found + _upper(v, one.operands[-1], block, place)
    return parts[0] * parts[1] + (parts[2] if len(parts) > 2 else ZERO)


def _upper(v: Registers, text: str, block: int, place: int) -> Whole:
    """The high half of a pair that an operand names by its low one."""
    told = re.fullmatch(r"(U?R)(\d+)", text)
    if told is None:
        return ZERO if text.endswith("RZ") else unknown("upper", block, place)
    return v.operand(f"{told[1]}{int(told[2]) + 1}", block, place)


def _shift(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    parts = v.inputs(one, block, place)
    by = parts[1].number
    if "L" in one.modifiers:
        if by is None or not 0 <= by < 64:
            return parts[0] * power_of_two(parts[1])
        return parts[0].times(2**by)
    value = parts[2] if "HI" in one.modifiers and len(parts) > 2 else parts[0]
    if by is None:
        return floordiv(value, power_of_two(parts[1]))
    if by >= _SIGNED_SHIFT:
        return ZERO
    return shifted_down(value, by)


def _wide(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    """Return PTX's product of 64 bits; one with a large constant is on the way to a quotient."""
    value, by = v.inputs(one, block, place)[:2]
    value, by = (by, value) if by.number is None else (value, by)
    factor = by.number
    if factor is None or value.number is not None or abs(factor) < 2**16:
        return value * by
    return atom("scaled", value, factor % 2**32 if "U32" in one.modifiers else factor, -32)


def _shift_down(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    """Return PTX's shift to the right, which may be of 64 bits."""
    value, power = v.inputs(one, block, place)[:2]
    wide = [each[0] for each in value.terms if len(each) == 1 and each[0].kind == "scaled"]
    if power.number is not None and power.number >= _SIGNED_SHIFT and not wide:
        return ZERO
    by = power.number
    return floordiv(value, power_of_two(power)) if by is None else shifted_down(value, by)


def _quotient(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    """Return what PTX divides, or what that leaves; machine code has many instructions for it."""
    above, below = v.inputs(one, block, place)[:2]
    found = floordiv(above, below)
    return found if one.name == "IDIV" else above - below * found


def _lea(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
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


def logic(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
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
    return atom("unknown", (f"bits {table}", block, place))


def _move(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    return v.inputs(one, block, place)[0]


def _constant(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    """LDC: a constant of the launch, or a place of the table of jumps."""
    if (read := v.constants.place(one.operands[-1])) is None:
        return _move(v, one, _, block, place)
    register, offset = read
    return atom("table", v.constants.table, v.operand(register, block, place) + constant(offset))


def _is_place(value: Whole, place: int) -> Condition | None:
    """Return when a place of the table of jumps is a given one; None for any other value."""
    if len(value.terms) != 1:
        return None
    ((product, times),) = value.terms.items()
    if times != 1 or len(product) != 1 or product[0].kind != "table":
        return None
    table, at = product[0].of
    found = FALSE
    for number, each in enumerate(table):
        if each == place:
            found = both(found, truth("==", at - constant(4 * number)), word="or")
    return found


def _halves(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    """HFMA2 of zeros: two numbers of 16 bits, as compilers load a constant."""
    operands = one.operands[1:]
    if len(operands) != 4 or any(each.lstrip("-") != "RZ" for each in operands[:2]):
        return atom("unknown", ("halves", block, place))
    high, low = (struct.unpack("<H", struct.pack("<e", float(each)))[0] for each in operands[2:])
    number = high << 16 | low
    return constant(number - 2**32 if number >= 2**31 else number)


def _select(v: Registers, one: Instruction, _: int, block: int, place: int) -> Any:
    parts = v.inputs(one, block, place)
    when = v.predicate(one.operands[-1], block, place)
    return v.chosen(when, parts[0], parts[1])


def _least(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    parts, unsigned = v.inputs(one, block, place), "U32" in one.modifiers
    when = v.predicate(one.operands[-1], block, place)
    if one.name == "VIADDMNMX":
        parts = [parts[0] + parts[1], parts[2]]
    if when in (TRUE, FALSE):
        first, second = parts[:2]
        found = atom("least" if when == TRUE else "most", first, second)
        return _unsigned_least(v, when == TRUE, first, second, found) if unsigned else found
    return atom("unknown", ("least or most", block, place))


def _unsigned_least(v: Registers, is_least: bool, one: Whole, two: Whole, signed: Whole) -> Whole:
    """Return the least or the most of values of which a negative one is larger than all others.

    ``signed`` is that of values as they are: right where both or none are negative.
    """
    of_one_negative, of_two_negative = (two, one) if is_least else (one, two)
    is_one, is_two = truth(">=", one), truth(">=", two)
    of_two_size = v.chosen(is_one, signed, of_one_negative)
    found: Whole = v.chosen(is_two, of_two_size, v.chosen(is_one, of_two_negative, signed))
    return found


def _vote(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    """VOTE: of nothing but the lanes that are active, in whatever register."""
    if one.operands[-1].lstrip("U") == "PT" and "ANY" in one.modifiers:
        return unknown("lanes", 0, 0)
    return unknown(one.opcode, block, place)


def _sign(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    return v.inputs(one, block, place)[0]


def _converted(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    """Of a conversion between whole numbers and floats: the value, on the way to a quotient."""
    value = v.inputs(one, block, place)[0]
    if one.name == "F2I":
        for each in value.terms:
            if len(each) == 1 and each[0].kind == "reciprocal":
                return Whole({each: 1})
    return value


def _reciprocal(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
    value = v.inputs(one, block, place)[0]
    if one.modifiers[0] != "RCP":
        return atom("unknown", (one.opcode, block, place))
    return atom("reciprocal", value)


def _compare(v: Registers, one: Instruction, result: int, block: int, place: int) -> Condition:
    operands = one.operands
    first, second = (v.operand(each, block, place) for each in operands[2:4])
    word = one.modifiers[0]
    if "EX" in one.modifiers:  # the high halves: what the low ones say
        found = v.predicate(operands[-1], block, place)
        return found if result == 0 else negated(found)
    difference = first - second
    match word:
        case "GE":
            found = truth(">=", difference)
        case "GT":
            found = truth(">=", difference - ONE)
        case "LE":
            found = truth(">=", -difference)
        case "LT":
            found = truth(">=", -difference - ONE)
        case "EQ":
            jump = None if second.number is None else _is_place(first, second.number)
            found = truth("==", difference) if jump is None else jump
        case "NE":
            found = negated(truth("==", difference))
        case _:
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


def _predicates(v: Registers, one: Instruction, result: int, block: int, place: int) -> Condition:
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


def _packed(v: Registers, one: Instruction, _: int, block: int, place: int) -> Whole:
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


def _unpacked(v: Registers, one: Instruction, result: int, block: int, place: int) -> Condition:
    """R2P: bits of a word as predicates."""
    mask = v.operand(one.operands[-1], block, place).number or 0
    if not mask >> result & 1:
        return v.predicate(f"{one.name[2:]}{result}", block, place)
    packed = bits(v.operand(one.operands[-2], block, place))
    return ("unknown", ("R2P", block, place)) if packed is None else packed.get(result, FALSE)


def _tested(v: Registers, one: Instruction, result: int, block: int, place: int) -> Any:
    """The predicate of LOP3: whether its result is not 0."""
    return negated(truth("==", logic(v, one, 0, block, place)))


PREDICATES = frozenset({"ISETP", "PLOP3", "LOP3", "R2P", "R2UP"})
READ: dict[str, Reader] = {
    "IADD3": _add, "IADD": _add, "VIADD": _add, "IMAD": _mad, "IMUL": _mad, "XMAD": _mad,
    "SHF": _shift, "SHL": _shift, "SHR": _shift, "LEA": _lea, "LOP3": _tested, "MOV": _move,
    "S2R": _move, "S2UR": _move, "CS2R": _move, "R2UR": _move, "LDC": _constant, "LDCU": _constant,
    "SEL": _select, "IMNMX": _least, "VIMNMX": _least, "VIADDMNMX": _least,
    "IABS": _sign, "SGXT": _sign,
    "ISETP": _compare, "PLOP3": _predicates, "I2F": _converted, "F2I": _converted,
    "MUFU": _reciprocal, "P2R": _packed, "P2UR": _packed, "R2P": _unpacked, "R2UP": _unpacked,
    "WIDE": _wide, "SHFR": _shift_down, "IDIV": _quotient, "IREM": _quotient,
    "HFMA2": _halves, "VOTE": _vote, "VOTEU": _vote,
}  # fmt: skip
