import ast
import math
import operator
import time
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from symbolic import ops
from symbolic.errors import DseError, ExpressionError, UnitError, UnknownNameError
from symbolic.expression import parse, parse_condition, parse_value
from symbolic.quantities import TABLE, quantity
from tests.long import draws

QUANTITIES = {
    "a": quantity("a"),
    "b": quantity("b"),
    "c": quantity("c"),
    "time": quantity("time", unit="s"),
    "power": quantity("power", unit="W"),
    "energy": quantity("energy", unit="J"),
    "core_clock": quantity("core_clock", unit="Hz"),
    "mem_bandwidth": quantity("mem_bandwidth", unit="B/s"),
    "latency": quantity("latency", unit="cycle"),
    "threads": quantity("threads"),
    "odd": quantity("odd", unit="furlong"),
    "printed": quantity("printed", labels=("false", "true"), default="false"),
    "paths": quantity("paths", labels=()),
}
VALUES = {"a": 3.0, "b": 5.0, "c": -2.0, "threads": 64.0, "latency": 420.0}
VALUES |= {"time": 0.02, "power": 120.0, "energy": 4.0, "core_clock": 1.3e9, "mem_bandwidth": 80e9}

NUMBERS = [
    ("2*16", 32),
    ("1_000 + .5 + 1. + 1e2", 1101.5),
    ("2 + 3 * 4 - 6 / 3", 12.0),
    ("(2 + 3) * 4", 20),
    ("10 - 4 - 3", 3),
    ("100 / 10 / 5", 2.0),
    ("2 ** 3 ** 2", 512),
    ("2 ^ 3 ^ 2", 512),
    ("-2 ** 2", -4),
    ("2 ** -1", 0.5),
    ("(-2) ** 2", 4),
    ("--+-3", -3),
    ("2 * -a", -6.0),
    ("-a ** 2", -9.0),
    ("a ** 2 ** 2", 81.0),
    ("a ** 0.5", 3.0**0.5),
    ("a ** -1", 1 / 3.0),
    ("2 ** a", 8.0),
    ("a ** b", 243.0),
    ("a ** 0", 1.0),
    ("a / b", 0.6),
    ("0.1 + 0.2", 0.3),
    ("minimum(a, b, 1)", 1),
    ("min(a, b)", 3.0),
    ("maximum(a, b, c)", 5.0),
    ("max(a)", 3.0),
    ("where(a < b, a, b)", 3.0),
    ("where(both(a < b, b < a), 1, 2)", 2),
    ("where(either(a < b, b < a), 1, 2)", 1),
    ("where(negate(a < b), 1, 2)", 2),
    ("where(equal(a, 3), 1, 2)", 1),
    ("divide(a, 0 * b, 7)", 7),
    ("divide(1, 4, 0)", 0.25),
    ("divide(1, 0, 9)", 9),
    ("floor(a / 2) + ceil(a / 2)", 3.0),
    ("floor(2.5)", 2),
    ("absolute(c) + absolute(-1)", 3.0),
    ("exp(0) + exp(0 * a)", 2.0),
    ("log(1) + log2(8) + log10(100)", 5.0),
    ("log2(b - a)", 1.0),
    ("sqrt(9) + sqrt(a + 1)", 5.0),
    ("power(a, 2)", 9.0),
    ("power(2, 10)", 1024),
    ("power * 2", 240.0),
    ("1.3 GHz", 1.3e9),
    ("141.7 GB/s", 141.7e9),
    ("48 KiB", 49152.0),
    ("10ms", 0.01),
    ("2 J s", 2.0),
    ("2 J*ms", 0.002),
    ("2 mJ ms^2", 2e-9),
    ("2 ms**-1", 2000.0),
    ("5/ms", 5000.0),
    ("7 / us", 7e6),
    ("6 / 2 / ms", 3000.0),
    ("6 / 2 ms", 3000.0),
    ("1/ms^2", 1e6),
    ("1/ms/us", 1e9),
    ("5 1/ms", 5000.0),
    ("50 %", 0.5),
    ("50% * a", 1.5),
    ("5 min", 300.0),
    ("5 min + 0 h", 300.0),
    ("420 cycles + a", 423.0),
    ("10 GB/2", 5e9),
    ("10 GB/time", 5e11),
    ("10 GB/(time)", 5e11),
    ("10 GB / time / 1 s", 5e11),
    ("10 ms * core_clock", 13e6),
    ("core_clock * time", 26e6),
    ("core_clock * time + 420 cycles - a", 26000417.0),
    ("2 * threads", 128.0),
    ("1 / (threads)", 1 / 64),
    ("64 thread / (threads)", 1.0),
    ("energy / time - power", 80.0),
    ("sqrt(time * time) + time", 0.04),
    ("time ** 2 / 1 s^2", 0.02 * 0.02),
    ("(time / 1 ms) ** a", (0.02 / 0.001) ** 3.0),
    ("exp(time / 20 ms)", math.exp(1.0)),
    ("4e9 * a + mem_bandwidth", 92e9),
    ("divide(power, energy, 5 Hz)", 30.0),
    ("where(a < b, time, 5 s)", 0.02),
    ("where(a < b, 1, 2) * time", 0.02),
    ("\ta\n+\r b ", 8.0),
]


@pytest.mark.parametrize(("text", "value"), NUMBERS)
def test_numbers(text, value):
    result = ops.interpret(parse(text, QUANTITIES), VALUES)
    assert result == value
    assert not parse(text, QUANTITIES).is_boolean


CONDITIONS = [
    ("power <= 150 W", True),
    ("power <= 100 W", False),
    ("time <= 10 ms", False),
    ("time <= 0.02", True),
    ("time < 20 ms", False),
    ("10 ms < time", True),
    ("1 <= a <= 3", True),
    ("1 < a < 3", False),
    ("1 < b > a", True),
    ("a < b < c", False),
    ("3 == a != b", True),
    ("a == 3", True),
    ("a != 3", False),
    ("a >= 3 and b > 4", True),
    ("a > 3 or b > 4 and c > 0", False),
    ("(a > 3 or b > 4) and c < 0", True),
    ("not a > 3", True),
    ("not a > 3 and b > 100", False),
    ("not not a == 3", True),
    ("not (a == 3 or b == 3)", False),
    ("2 * power <= 300 W", True),
    ("a + 1 < b - 0.5", True),
    ("both(a < b, a == 3)", True),
    ("negate(a < b)", False),
    ("1 < 2", True),
    ("50 % < a", True),
    ("time / 1 ms <= 20.5", True),
    ("latency / 1.3e9 <= time", True),
    ("core_clock * time >= latency", True),
]


@pytest.mark.parametrize(("text", "value"), CONDITIONS)
def test_conditions(text, value):
    node = parse_condition(text, QUANTITIES)
    assert node.is_boolean
    assert bool(ops.interpret(node, VALUES)) is value


TREES = [
    ("a + b", "add(a, b)"),
    ("a / b", "div(a, b)"),
    ("a > b", "less(b, a)"),
    ("a >= b", "less_equal(b, a)"),
    ("a != b", "negate(equal(a, b))"),
    ("a ** 2", "mul(a, a)"),
    ("a ** 2.0", "mul(a, a)"),
    ("a ** 0.5", "pow(a, 0.5)"),
    ("a * (2 * 3) * 4", "mul(mul(a, 6), 4)"),
    ("2 * 3 * a", "mul(6, a)"),
    ("7 / 2 * a", "mul(3.5, a)"),
    ("0.1 * 3 * a", "mul(0.3, a)"),
    ("-a", "mul(-1, a)"),
    ("a and b", None),
    ("9007199254740993 * a", "mul(9007199254740992.0, a)"),
    ("divide(a, b, 1)", "divide(a, b, 1)"),
    ("min(a, b, 2)", "minimum(minimum(a, b), 2)"),
    ("10 ms * a", "mul(0.01, a)"),
    ("2 * a * 3", "mul(mul(2, a), 3)"),
]


@pytest.mark.parametrize(("text", "tree"), TREES)
def test_trees_fold_literals_only(text, tree):
    if tree is None:
        with pytest.raises(ExpressionError):
            parse(text, QUANTITIES)
        return
    read = parse_condition if any(sign in text for sign in "<>!") else parse
    assert repr(read(text, QUANTITIES)) == tree


NAME, UNIT, PLAIN = UnknownNameError, UnitError, ExpressionError
REFUSED = [
    # names
    ("tiem + 1", 0, NAME, "'tiem' is no quantity; did you mean 'time'"),
    ("a + minimun(a, b)", 4, NAME, "'minimun' is no function; did you mean 'minimum'"),
    ("abs(a)", 0, NAME, r"write absolute\(a\)"),
    ("a(2)", 0, PLAIN, "a is a quantity, not a function"),
    ("floor + 1", 0, PLAIN, r"floor is a function: write floor\(...\)"),
    ("1 if a < b else 2", 2, UNIT, "'if' is neither a unit nor a quantity"),
    ("x" * 5000, 0, NAME, "is no quantity"),
    # what a formula does not hold
    ("__import__('os')", 0, NAME, "'__import__' is no function"),
    ("a.real", 1, PLAIN, "reads no attributes"),
    ("().__class__", 1, PLAIN, r"'\)' closes nothing"),
    ("a['b']", 1, PLAIN, "only round parentheses"),
    ("'a", 0, PLAIN, "never closed: put the same quote behind it"),
    ('a + "b', 4, PLAIN, "never closed"),
    ("`a`", 0, PLAIN, "no quote: write a label in"),
    ("a 'b'", 2, PLAIN, "an operator is missing before \"'b'\""),
    ("{a}", 0, PLAIN, "only round parentheses"),
    ("lambda: 1", 0, NAME, "defines no functions"),
    ("a = 1", 2, PLAIN, "assigns nothing in a formula: == compares"),
    ("(a := 1)", 3, PLAIN, "assigns nothing"),
    ("divide(a, b, at_zero=0)", 13, NAME, "'at_zero' is no quantity"),
    ("a // b", 2, PLAIN, r"write floor\(a / b\)"),
    ("a & b", 2, PLAIN, "write and"),
    ("a || b", 2, PLAIN, "'|' is no operator here: write or"),
    ("!a", 0, PLAIN, "write not"),
    ("~a", 0, PLAIN, "write not"),
    ("a @ b", 2, PLAIN, "'@' has no place"),
    ("a; b", 1, PLAIN, "';' has no place"),
    ("a <> b", 3, PLAIN, "'>' cannot be here: a number"),
    ("a + é", 4, PLAIN, "no ASCII character"),
    ("a \u2264 b", 2, PLAIN, r"'\\u2264' is no ASCII character"),
    ("a \x00 b", 2, PLAIN, "has no place"),
    # shape
    ("", 0, PLAIN, "the formula is empty"),
    (" \t ", 0, PLAIN, "the formula is empty"),
    ("(", 1, PLAIN, "the formula ends where a number"),
    ("(a", 0, PLAIN, r"'\(' is never closed"),
    ("min(a, b", 3, PLAIN, r"'\(' is never closed"),
    ("a)", 1, PLAIN, "closes nothing"),
    ("()", 1, PLAIN, "closes nothing"),
    ("(a b)", 3, PLAIN, "an operator is missing before 'b'"),
    ("a, b", 1, PLAIN, "outside the parentheses of a function"),
    ("(a, b)", 2, PLAIN, "outside the parentheses of a function"),
    ("a +", 3, PLAIN, "the formula ends where"),
    ("* a", 0, PLAIN, r"'\*' cannot be here"),
    ("a + and b", 4, PLAIN, "'and' cannot be here"),
    ("a 2", 2, PLAIN, "an operator is missing before '2'"),
    ("2 a", 2, PLAIN, "an operator is missing before 'a': for a product write *"),
    ("2 (a)", 2, PLAIN, r"an operator is missing before '\('"),
    ("(a)(b)", 3, PLAIN, "an operator is missing"),
    ("5 min(a, b)", 2, PLAIN, "an operator is missing before 'min'"),
    ("1.2.3", 3, PLAIN, "an operator is missing before '.3'"),
    ("a % b", 2, PLAIN, "'%' is a unit.*for a remainder write"),
    ("a not b", 2, PLAIN, "'not' cannot be here"),
    ("(" * 200 + "a" + ")" * 200, 100, PLAIN, "deeper than 100 levels"),
    ("-" * 500 + "a", 100, PLAIN, "deeper than 100 levels"),
    ("not " * 500 + "a", 400, PLAIN, "deeper than 100 levels"),
    ("1**" * 500 + "1", 300, PLAIN, "deeper than 100 levels"),
    ("min(" * 2000, 400, PLAIN, "deeper than 100 levels"),
    ("a" + " + a" * 5000, 0, PLAIN, "has 20001 characters, and at most 10000"),
    # arguments
    ("min()", 0, PLAIN, "min takes at least 1 argument, and 0 are given"),
    ("1 + where(a < b, 1)", 4, PLAIN, "where takes 3 arguments, and 2 are given"),
    ("divide(a, b)", 0, PLAIN, "divide takes 3 arguments .*divisor is 0"),
    ("sqrt(a, b)", 0, PLAIN, "sqrt takes 1 argument, and 2 are given"),
    ("min(a,)", 6, PLAIN, "closes nothing"),
    ("min(,a)", 4, PLAIN, "',' cannot be here"),
    # numbers
    ("2**10**10", 3, PLAIN, "the exponent 10000000000 is beyond 64"),
    ("9**9**9", 3, PLAIN, "beyond 64"),
    ("a ** 65", 5, PLAIN, "the exponent 65 is beyond 64"),
    ("power(a, -100)", 9, PLAIN, "the exponent -100 is beyond 64"),
    ("1e999", 0, PLAIN, "'1e999' is beyond the range of floats"),
    ("a + 1e-999", 4, PLAIN, "too small for a float"),
    ("1" * 2000, 0, PLAIN, "a number of more than 1000 characters"),
    ("1e300 * 1e300", 6, PLAIN, "no finite number"),
    ("1e300 ** 2", 6, PLAIN, "no finite number"),
    ("1e308 GB", 0, PLAIN, "beyond the range of floats"),
    ("a / 0", 4, PLAIN, "division by zero"),
    ("1 / (2 - 2)", 4, PLAIN, "division by zero"),
    ("0 ** -1", 2, PLAIN, "no finite number"),
    ("sqrt(-1)", 0, PLAIN, "no finite number"),
    ("log(0)", 0, PLAIN, "no finite number"),
    ("exp(1e9)", 0, PLAIN, "no finite number"),
    ("(-8) ** 0.5", 5, PLAIN, "no finite number"),
    # conditions and numbers
    ("(a < b) + 1", 0, PLAIN, r"'\(a < b\)' is a condition where a number is expected"),
    ("a < (b < c)", 4, PLAIN, "is a condition where a number"),
    ("(a < b) == (b < c)", 0, PLAIN, "is a condition where a number"),
    ("a and a < b", 0, PLAIN, "'a' is a number where a condition is expected"),
    ("a < b or c", 9, PLAIN, "'c' is a number where a condition"),
    ("not a", 4, PLAIN, "'a' is a number where a condition"),
    ("where(a, 1, 2)", 6, PLAIN, "'a' is a number where a condition"),
    ("where(a < b, a < b, 2)", 13, PLAIN, "'a < b' is a condition where a number"),
    ("-(a < b)", 1, PLAIN, "is a condition where a number"),
    ("min(a < b, 1)", 4, PLAIN, "is a condition where a number"),
    # labels
    ("printed + 1", 0, PLAIN, r"printed takes labels \(false, true\)"),
    ("a + paths", 4, PLAIN, r"paths takes labels"),
    # units
    ("10 gb/s", 3, UNIT, "'gb' is neither a unit nor a quantity; did you mean 'GB'"),
    ("10 GB/sec", 6, UNIT, "'sec' is neither a unit nor a quantity; did you mean 'second'"),
    ("10 tme", 3, UNIT, "did you mean 'time'"),
    ("0x10", 1, UNIT, "'x10' is neither a unit nor a quantity"),
    ("10 threads", 3, UNIT, r"both a unit and a quantity: use parentheses.*'thread' for the unit"),
    ("1 / threads", 4, UNIT, r"both a unit and a quantity: use parentheses.*2 / \(threads\)"),
    ("10 GB/threads", 6, UNIT, "both a unit and a quantity"),
    ("10 GB*threads", 6, UNIT, "both a unit and a quantity"),
    ("10 J threads", 5, UNIT, "both a unit and a quantity"),
    ("2 * ms", 4, UNIT, "'ms' is a unit, which follows a number, as in 1 ms"),
    ("a / ms", 4, UNIT, "'ms' is a unit, which follows a number"),
    ("2 ms ^ a", 7, PLAIN, "the exponent of a unit is a whole number"),
    ("2 ms ^ 0.5", 7, PLAIN, "the exponent of a unit is a whole number"),
    ("2 ms ^ 2 ^ 2", 9, PLAIN, "a unit has one exponent"),
    ("2 ms ^ 99", 2, UNIT, "the exponent 99 is beyond 12"),
    ("2" + " ms" * 100, 2, UNIT, "longer than 200 characters"),
    ("odd + 1", 0, UNIT, "the declared unit of odd cannot be read.*'furlong' is unknown"),
    ("power <= 150 ms", 9, UNIT, r"'150 ms' is a time \[s\], expected a power \[W\].* such as"),
    ("150 ms >= power", 10, UNIT, r"'150 ms' is a time \[s\], expected a power \[W\]"),
    ("2 * power <= 150 ms", 13, UNIT, r"'150 ms' is a time \[s\], expected a power \[W\]"),
    ("power + time", 8, UNIT, r"'power' is a power \[W\], and 'time' is a time \[s\]"),
    ("power - energy / core_clock", 8, UNIT, "'energy / core_clock' is an energy-delay product"),
    ("1 + time + a", 11, UNIT, "'a' is a plain number or count"),
    ("time == 420 cycles", 8, UNIT, r"expected a time \[s\]; give a unit such as"),
    ("min(time, 1, power)", 13, UNIT, r"'power' is a power"),
    ("where(a < b, time, power)", 19, UNIT, "'power' is a power"),
    ("divide(energy, time, 1 J)", 21, UNIT, r"'1 J' is an energy \[J\], expected a power"),
    ("equal(time, power)", 12, UNIT, "'power' is a power"),
    ("a < time < 1", 4, UNIT, r"'time' is a time \[s\]"),
    ("80 GB/s <= core_clock", 11, UNIT, r"'80 GB/s' is a bandwidth \[B/s\], expected a frequency"),
    ("exp(time)", 4, UNIT, r"argument of exp must be a plain number, and 'time' is a time"),
    ("2 ** time", 5, UNIT, "an exponent must be a plain number"),
    ("time ** a", 8, UNIT, "whose exponent must be a literal number"),
    ("sqrt(time) + time", 13, UNIT, "'time' is a time"),
]


@pytest.mark.parametrize(("text", "position", "kind", "message"), REFUSED)
def test_refusals(text, position, kind, message):
    errors = []
    for read in (parse, parse_condition):
        with pytest.raises(ExpressionError, match=message) as caught:
            read(text, QUANTITIES)
        errors.append(caught.value)
    for error in errors:
        assert isinstance(error, kind)
        assert error.position == position
        assert f"at position {position}" in str(error)
        if len(text) <= 10_000 and not set(text) & set("\t"):
            assert error.text == text
            last = str(error).splitlines()[-1]
            assert last == "    " + " " * position + "^"


def test_a_number_is_no_condition_and_a_condition_is_no_number():
    with pytest.raises(ExpressionError, match="is a number where a condition is expected"):
        parse_condition("a + b", QUANTITIES)
    with pytest.raises(ExpressionError, match="is a condition where a number is expected"):
        parse("a < b", QUANTITIES)
    with pytest.raises(ExpressionError, match="is a condition where a number is expected"):
        parse_value("a < b", QUANTITIES["a"], QUANTITIES)


@pytest.mark.parametrize("text", [None, 3, 2.5, b"a", ["a"], object(), True, {}])
def test_what_is_no_text(text):
    for read in (parse, parse_condition):
        with pytest.raises(DseError, match="a formula is text"):
            read(text, QUANTITIES)
    with pytest.raises(DseError, match="a formula is text"):
        parse_value(text, QUANTITIES["a"], QUANTITIES)


SET = [
    ("mem_bandwidth", "120 GB/s", 120e9),
    ("mem_bandwidth", "141.7 GB/s", 141.7e9),
    ("mem_bandwidth", "120e9", 120e9),
    ("mem_bandwidth", "2 * 60 GB/s", 120e9),
    ("core_clock", "1.3 GHz", 1.3e9),
    ("core_clock", "1/ns", 1e9),
    ("time", "10 ms", 0.01),
    ("time", "-10 ms", -0.01),
    ("power", "3 J / 2 s", 1.5),
    ("latency", "420 cycles", 420.0),
    ("latency", "420", 420.0),
    ("a", "2*16", 32.0),
    ("a", "50 %", 0.5),
    ("a", "32 lanes", 32.0),
    ("a", "1_024", 1024.0),
    ("a", "sqrt(16) + 1", 5.0),
    ("a", "where(1 < 2, 3, 4)", 3.0),
    ("a", "b + 1", "add(b, 1)"),
    ("a", "b", "b"),
    ("mem_bandwidth", "4e9 * b", "mul(4000000000.0, b)"),
    ("mem_bandwidth", "4 GB/s * b", "mul(4000000000.0, b)"),
    ("latency", "400 ns * core_clock", "mul(4e-07, core_clock)"),
    ("time", "latency / 1.3e9", "div(latency, 1300000000.0)"),
    ("time", "latency / core_clock", "div(latency, core_clock)"),
]


@pytest.mark.parametrize(("name", "text", "value"), SET)
def test_what_a_quantity_is_set_to(name, text, value):
    result = parse_value(text, QUANTITIES[name], QUANTITIES)
    if isinstance(value, str):
        assert repr(result) == value
    else:
        assert type(result) is float
        assert result == value


SET_REFUSED = [
    ("mem_bandwidth", "120 GHz", r"mem_bandwidth \[B/s\]: '120 GHz' is a frequency \[1/s\], .*B/s"),
    ("mem_bandwidth", "120 GB", r"expected a bandwidth \[B/s\]; give a unit such as 'GB/s'"),
    ("mem_bandwidth", "time", r"'time' is a time \[s\], expected a bandwidth"),
    ("mem_bandwidth", "2 GB", "mem_bandwidth"),
    ("a", "10 ms", "a: '10 ms' is a time .*without a unit"),
    ("latency", "10 ms", r"latency \[cycle\]: '10 ms' is a time .*without a unit"),
    ("latency", "340 ns", r", in cycles, or as a time at the clock, '340 ns \* core_clock'"),
    ("latency", "400e-9 * core_clock", "is a frequency"),
    ("time", "a + 1", "a plain number or count, expected a time"),
    ("odd", "3", "the declared unit of odd cannot be read"),
]


@pytest.mark.parametrize(("name", "text", "message"), SET_REFUSED)
def test_units_that_do_not_fit_the_quantity(name, text, message):
    with pytest.raises(UnitError, match=message):
        parse_value(text, QUANTITIES[name], QUANTITIES)


def test_values_that_are_none():
    with pytest.raises(DseError, match=r"printed takes a label \(false, true\)"):
        parse_value("true", QUANTITIES["printed"], QUANTITIES)
    with pytest.raises(DseError, match=r"paths takes a label \(any\)"):
        parse_value("0.5: 3", QUANTITIES["paths"], QUANTITIES)
    for text in ("1 / where(1 < 2, 0, 1)", "where(1 < 2, 10, 1) ** 64 ** 1 * 1e300 * 1e300"):
        with pytest.raises(ExpressionError, match="no finite number"):
            parse_value(text, QUANTITIES["a"], QUANTITIES)
    nested = "where(1 < 2, 10, 1)" + " ** 64)" * 50
    with pytest.raises(ExpressionError, match="no finite number"):
        parse_value("(" * 50 + nested, QUANTITIES["a"], QUANTITIES)


def test_quantities_with_the_name_of_every_unit_ask_for_parentheses():
    rows = {name: quantity(name) for name in ("s", "second", "seconds")}
    with pytest.raises(UnitError, match="both a unit and a quantity"):
        parse("10 s", rows)
    with pytest.raises(UnitError, match=r"2 / \(s\)$|2 / \(s\) \(at"):
        parse("10 GB/s", rows)
    assert repr(parse("10 * s", rows)) == "mul(10, s)"
    assert repr(parse("10 GB/(s)", rows)) == "div(10000000000.0, s)"


def test_the_rules_of_the_table_are_conditions():
    from symbolic.quantities import RULES

    for rule in RULES:
        assert parse_condition(rule, TABLE).is_boolean


HOSTILE = [
    "((1.1**64)**64)**64",
    "a" + "**64" * 90,
    "(" * 90 + "a" + "**64)" * 90,
    "*".join(["1.0000001"] * 900),
    "+".join(["1e-300"] * 1200),
    "*".join(["3e-1"] * 2000),
    "+".join(["a"] * 5000),
    " and ".join(["a<b"] * 1200),
    "a" + "<a" * 4999,
    "1 s+" * 2499 + "1 s",
    "min(" + ",".join(["a"] * 4990) + ")",
    "0e999999999999",
    "1e-999999999999",
    "0." + "0" * 900 + "1e901",
    "2 s" + "^9" * 4000,
    "1" + " 1/s" * 2000,
    "x" * 10_000,
    "1 " + "x" * 9_990,
    "2" + "*s" * 4999,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_formulas_are_quick(text):
    parse("1 s", QUANTITIES)
    start = time.perf_counter()
    for read in (parse, parse_condition, lambda t, q: parse_value(t, q["a"], q)):
        try:
            read(text, QUANTITIES)
        except DseError:
            continue
    assert time.perf_counter() - start < 5


# --- against Python's own grammar, exactly
def literals():
    dyadic = st.integers(0, 99).map(lambda number: number / 8)
    return (st.integers(0, 20) | dyadic).map(ast.Constant)


def names():
    return st.sampled_from("abc").map(lambda name: ast.Name(name, ast.Load()))


def call(name, *args):
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


OPERATORS = [ast.Add(), ast.Sub(), ast.Mult(), ast.Div()]
ORDER = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
ORDER |= {ast.Eq: operator.eq, ast.NotEq: operator.ne}


def comparison_trees(numbers):
    link = st.tuples(st.sampled_from([kind() for kind in ORDER]), numbers)
    return st.builds(
        lambda left, links: ast.Compare(left, [op for op, _ in links], [x for _, x in links]),
        numbers,
        st.lists(link, min_size=1, max_size=3),
    )


def logical_trees(conditions):
    pair = st.lists(conditions, min_size=2, max_size=3)
    return st.builds(ast.BoolOp, st.sampled_from([ast.And(), ast.Or()]), pair) | conditions.map(
        lambda inner: ast.UnaryOp(ast.Not(), inner)
    )


def larger(numbers):
    exponent = st.integers(-3, 3).map(
        lambda n: ast.Constant(n) if n >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-n))
    )
    conditions = comparison_trees(numbers)
    return st.one_of(
        st.builds(ast.BinOp, numbers, st.sampled_from(OPERATORS), numbers),
        st.builds(lambda a, n: ast.BinOp(a, ast.Pow(), n), numbers, exponent),
        st.builds(ast.UnaryOp, st.sampled_from([ast.USub(), ast.UAdd()]), numbers),
        st.builds(lambda a, b: call("min", a, b), numbers, numbers),
        st.builds(lambda a, b, c: call("maximum", a, b, c), numbers, numbers, numbers),
        st.builds(lambda c, a, b: call("where", c, a, b), conditions, numbers, numbers),
        st.builds(lambda a, b, z: call("divide", a, b, z), numbers, numbers, numbers),
        numbers.map(lambda a: call("floor", a)),
        numbers.map(lambda a: call("ceil", a)),
        numbers.map(lambda a: call("absolute", a)),
    )


FORMULAS = st.recursive(literals() | names(), larger, max_leaves=12)
FORMULA_CONDITIONS = st.recursive(comparison_trees(FORMULAS), logical_trees, max_leaves=4)
ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
CALLS = {
    "min": min,
    "maximum": max,
    "divide": lambda a, b, z: a / b if b else z,
    "floor": math.floor,
    "ceil": math.ceil,
    "absolute": abs,
}


def literal(node):
    return not any(
        isinstance(part, ast.Compare) or (isinstance(part, ast.Name) and part.id not in CALLS)
        for part in ast.walk(node)
    )


def evaluate(node, values):
    """The value in fractions; whole literal parts are rounded to floats once."""
    value = exact(node, values)
    if not isinstance(value, bool) and literal(node):
        return Fraction(float(value))
    return value


def exact(node, values):
    inner = exact if literal(node) else evaluate
    match node:
        case ast.Constant():
            return Fraction(node.value)
        case ast.Name():
            return values[node.id]
        case ast.UnaryOp(ast.USub()):
            return -inner(node.operand, values)
        case ast.UnaryOp(ast.UAdd()):
            return inner(node.operand, values)
        case ast.UnaryOp(ast.Not()):
            return not inner(node.operand, values)
        case ast.BoolOp(op, parts):
            result = [inner(part, values) for part in parts]
            return all(result) if isinstance(op, ast.And) else any(result)
        case ast.BinOp(base, ast.Pow(), exponent):
            return inner(base, values) ** int(exact(exponent, values))
        case ast.BinOp(left, op, right):
            return ARITHMETIC[type(op)](inner(left, values), inner(right, values))
        case ast.Compare(left, kinds, rest):
            result = [inner(part, values) for part in (left, *rest)]
            pairs = zip(kinds, result, result[1:], strict=False)
            return all(ORDER[type(kind)](a, b) for kind, a, b in pairs)
        case ast.Call(ast.Name("where"), [test, a, b]):
            both = inner(a, values), inner(b, values)
            return both[0] if inner(test, values) else both[1]
        case ast.Call(ast.Name(name), args):
            return Fraction(CALLS[name](*(inner(arg, values) for arg in args)))
    raise AssertionError(ast.dump(node))


def number(value):
    return value if math.isinf(value) else Fraction(value)


SIXTEENTHS = st.fractions(-20, 20, max_denominator=16)


@settings(deadline=None, max_examples=draws(150))
@given(FORMULAS | FORMULA_CONDITIONS, SIXTEENTHS, SIXTEENTHS, SIXTEENTHS)
def test_python_and_fractions_agree(tree, a, b, c):
    text = ast.unparse(tree)
    values = {"a": a, "b": b, "c": c}
    again = ast.parse(text, mode="eval").body
    try:
        expected = evaluate(again, values)
    except (ZeroDivisionError, OverflowError):
        assume(False)
    rows = {name: QUANTITIES[name] for name in "abc"}
    condition = isinstance(again, (ast.Compare, ast.BoolOp)) or (
        isinstance(again, ast.UnaryOp) and isinstance(again.op, ast.Not)
    )
    node = (parse_condition if condition else parse)(text, rows)
    result = ops.interpret(node, values, number=number)
    assert result == expected


@settings(deadline=None)
@given(FORMULAS)
def test_blanks_and_parentheses_change_nothing(tree):
    text = ast.unparse(tree)
    rows = {name: QUANTITIES[name] for name in "abc"}
    try:
        node = parse(text, rows)
    except ExpressionError:
        assume(False)
    assert parse(f"({text})", rows) is node
    assert parse(text.replace("(", "( ").replace("+", "  +\t"), rows) is node
    assert parse(text.replace("**", "^"), rows) is node
