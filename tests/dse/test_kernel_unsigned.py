"""Unsigned operations of machine code on values that may be negative, beside the hardware's."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from dse.cuda.instructions import Instruction
from dse.cuda.integer_expressions import (
    ONE,
    TRUE,
    ZERO,
    Condition,
    IntExpr,
    atom_expr,
    comparison,
    constant,
    floordiv,
)
from dse.cuda.launch_values import KernelLaunch
from dse.cuda.register_values import EVALUATORS, Operation, RegisterValues

SIZES = (0, 1, 3, 4, 100, 101)
N, M = atom_expr("argument", 0), atom_expr("argument", 4)
#: Values of both signs, and those whose sign rests on an argument.
VALUES = {
    "n": N, "-n": -N, "-n - 4": -N - constant(4), "n - 3": N - constant(3), "m": M,
    "-m": -M, "0": constant(0), "5": constant(5), "-1": -ONE, "-4": constant(-4),
    "-100": constant(-100),
}  # fmt: skip


class _Operands(RegisterValues):
    """Registers that hold the operands of one instruction."""

    def __init__(self, values: dict[str, IntExpr]) -> None:
        self.values = values

    def operand_value(self, text: str, block: int, place: int) -> IntExpr:
        return self.values.get(text, ZERO)

    def predicate_condition(self, text: str, block: int, place: int) -> Condition:
        return {"PT": TRUE, "!PT": ("false",)}[text]

    def is_low_half(self, op: Operation) -> bool:
        return False


def _read(opcode: str, operands: str, one: IntExpr, two: IntExpr) -> Any:
    result = Instruction(0, opcode, operands)
    values = _Operands({"R1": one, "R2": two})
    return EVALUATORS[result.name](Operation(values, result, 0, 0, 0))


PAIRS = list(itertools.permutations(VALUES, 2))
LAUNCHES = {
    (n, m): KernelLaunch((1, 1, 1), (1, 1, 1), {0: n, 4: m}, {}, {})
    for n, m in itertools.product(SIZES, repeat=2)
}


@pytest.mark.parametrize("last", ["PT", "!PT"])
def test_least_and_most_are_those_of_words_without_a_sign(last: str) -> None:
    for one, two in PAIRS:
        result = _read("VIMNMX.U32", f"R0,R1,R2,{last}", VALUES[one], VALUES[two])
        for (n, m), at in LAUNCHES.items():
            words = [int(at.value(VALUES[each])) % 2**32 for each in (one, two)]
            expected = min(words) if last == "PT" else max(words)
            assert int(at.value(result)) % 2**32 == expected, (one, two, n, m)


@pytest.mark.parametrize("word", ["LT", "LE", "GT", "GE", "EQ", "NE"])
def test_comparisons_are_those_of_words_without_a_sign(word: str) -> None:
    for one, two in PAIRS:
        result = _read(f"ISETP.{word}.U32.AND", "P0,PT,R1,R2,PT", VALUES[one], VALUES[two])
        for (n, m), at in LAUNCHES.items():
            first, second = (int(at.value(VALUES[each])) % 2**32 for each in (one, two))
            if two == "n - 3" and n < 3:
                continue  # a difference on the right is taken as a size
            expected = {
                "LT": first < second, "LE": first <= second, "GT": first > second,
                "GE": first >= second, "EQ": first == second, "NE": first != second,
            }[word]  # fmt: skip
            assert bool(at.condition_mask(result)) == expected, (one, two, n, m)


def test_the_sign_of_a_remainder_is_known_both_ways() -> None:
    rest = N - M * floordiv(N, M)
    assert comparison(">=", rest) == TRUE
    assert comparison(">=", -rest - ONE) == ("false",)


def test_the_sign_of_a_counter_behind_unrolled_loops_is_known() -> None:
    peeled = N - floordiv(N, constant(4)).scale(4)
    counter = M * N + peeled * atom_expr("if", ("==", peeled)) + atom_expr("pass", 3).scale(16)
    assert comparison(">=", counter) == TRUE
    assert comparison(">=", -counter - ONE) == ("false",)
    assert comparison(">=", peeled - ONE) not in (TRUE, ("false",))
    assert comparison(">=", N - floordiv(N, constant(4)).scale(8)) not in (TRUE, ("false",))
