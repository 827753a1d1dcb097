"""Conditions on labels: what the grammar reads, what it refuses, and how it says so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic import ops
from symbolic.errors import DomainError, ExpressionError, UnknownNameError
from symbolic.expression import parse, parse_condition, parse_value
from symbolic.quantities import Quantity, indexed_quantity, label_index_name, quantity

MACHINES = ("gtx280", "c2050", "my gpu", "größe", "a 'b'", 'the "c"')
ROWS = {
    "machine": Quantity(name="machine", labels=(), axis_labels=MACHINES),
    "mode": Quantity(name="mode", labels=("one", "two"), default="one", axis_labels=("one", "two")),
    "unset": Quantity(name="unset", labels=()),
    "time": quantity("time", unit="s"),
    "a": quantity("a"),
    "case": Quantity(name="case", flags=((1, "few warps"), (2, "memory"), (4, "memory"))),
}


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("machine == 'c2050'", "equal(PLACE_OF_machine, 1)"),
        ('machine == "c2050"', "equal(PLACE_OF_machine, 1)"),
        ('"c2050" == machine', "equal(PLACE_OF_machine, 1)"),
        ("equal(machine, 'c2050')", "equal(PLACE_OF_machine, 1)"),
        ("machine=='my gpu'", "equal(PLACE_OF_machine, 2)"),
        ("machine == 'größe'", "equal(PLACE_OF_machine, 3)"),
        ("machine == \"a 'b'\"", "equal(PLACE_OF_machine, 4)"),
        ("machine == 'the \"c\"'", "equal(PLACE_OF_machine, 5)"),
        ("mode != 'one'", "negate(equal(PLACE_OF_mode, 0))"),
        ("not mode == ('two')", "negate(equal(PLACE_OF_mode, 1))"),
        ("(mode) == 'two' and a < 1", "both(equal(PLACE_OF_mode, 1), less(a, 1))"),
        ("where(mode == 'two', a, 1) < 2", "less(where(equal(PLACE_OF_mode, 1), a, 1), 2)"),
        (
            "'one' == mode != 'two'",
            "both(equal(PLACE_OF_mode, 0), negate(equal(PLACE_OF_mode, 1)))",
        ),
        ("case == 'few warps'", "equal(case, 1)"),
        ("'few_warps' != (case)", "negate(equal(case, 1))"),
        ("case == 'memory'", "either(equal(case, 2), equal(case, 4))"),
        ("chance(case == 'few warps') < 0.5", "less(chance(case == 'few warps'), 0.5)"),
    ],
)
def test_what_is_read(text: str, tree: str) -> None:
    assert repr(parse_condition(text, ROWS)) == tree


UNKNOWN = UnknownNameError
REFUSED = [
    ("machine == 'c2051'", 11, UNKNOWN, "machine has no label 'c2051'; did you mean 'c2050'"),
    ("'thre' == mode", 0, UNKNOWN, "mode has no label 'thre'; it takes one, two"),
    ("mode == ''", 8, UNKNOWN, "mode has no label ''"),
    ("unset == 'x'", 9, UNKNOWN, "unset has no label 'x'; it takes none here: give it one"),
    ("mahcine == 'c2050'", 0, UNKNOWN, "'mahcine' is no quantity; did you mean 'machine'"),
    ("mode == two", 8, UNKNOWN, "'two' is a label, which stands in quotes, as in mode == 'two'"),
    ("case == 'memry'", 8, UNKNOWN, "no label 'memry'; did you mean 'memory'.*few warps, memory"),
    ("case == memory", 8, UNKNOWN, "'memory' is a label, which stands .* case == 'memory'"),
    ("case < 'memory'", 0, None, "the labels of case have no order"),
    ("case + 1 == 'memory'", 0, None, "'memory' is a label, and 'case . 1' is a number"),
    ("mode < 'two'", 0, None, "the labels of mode have no order: compare them by == or !="),
    ("mode == 1", 8, None, r"mode takes labels \(one, two\), and '1' is a number: compare"),
    ("mode == (a < 1)", 8, None, r"and '\(a < 1\)' is a condition: compare"),
    ("a == 'two'", 0, None, "'two' is a label, and 'a' is a number: .* machine == 'gtx280'"),
    ("time < 'two'", 0, None, "'two' is a label, and 'time' is a number"),
    ("mode == machine", 8, None, r"mode takes labels .*, and machine takes labels"),
    ("'one' == 'one'", 9, None, "'one' is a label, and 'one' is a label"),
    ("mode == 'one' == 1", 17, None, "'one' is a label, and '1' is a number"),
    ("mode", 0, None, "mode takes labels .*, no number and no condition: .* mode == 'one'"),
    ("not mode", 4, None, "no number and no condition"),
    ("mode and a < 1", 0, None, "no number and no condition"),
    ("a < 1 or 'one'", 9, None, "'one' is a label, no number and no condition"),
    ("mode + 1 < 2", 0, None, "no number and no condition"),
    ("-mode < 2", 1, None, "no number and no condition"),
    ("max(a, 'one') < 2", 7, None, "no number and no condition"),
    ("where(mode, 1, 2) < 2", 6, None, "no number and no condition"),
    ("where(a < 1, mode, 2) < 2", 13, None, "no number and no condition"),
    ("'one'", 0, None, "no number and no condition"),
    ("mode 'one'", 5, None, "an operator is missing before \"'one'\""),
    ("mode('one')", 0, None, "mode is a quantity, not a function"),
    ("mode = 'one'", 5, None, "assigns nothing in a formula: == compares"),
    ("mode == 'one", 8, None, "never closed: put the same quote behind it"),
    ("größe == 'one'", 2, None, "no ASCII character"),
]


@pytest.mark.parametrize(("text", "position", "kind", "message"), REFUSED)
def test_what_is_refused(
    text: str, position: int, kind: type[Exception] | None, message: str
) -> None:
    with pytest.raises(ExpressionError, match=message) as caught:
        parse_condition(text, ROWS)
    assert caught.value.position == position
    assert isinstance(caught.value, UnknownNameError) is (kind is not None)


@pytest.mark.parametrize("text", ["where(mode == 'one', 1, 2)", "mode", "a * 'x'", "'x'"])
def test_a_number_is_not_made_of_labels(text: str) -> None:
    for read in (parse, lambda text, rows: parse_value(text, rows["a"], rows)):
        with pytest.raises(ExpressionError, match=r"cannot stand in a formula|no number"):
            read(text, ROWS)


def test_a_number_is_made_of_the_labels_of_a_case() -> None:
    assert repr(parse("where(case == 'few warps', a, 0)", ROWS)) == "where(equal(case, 1), a, 0)"


def test_no_quantity_is_called_like_a_place() -> None:
    assert label_index_name("machine").isidentifier()
    with pytest.raises(DomainError, match="lower-case"):
        quantity(label_index_name("machine"))
    assert indexed_quantity(label_index_name("machine")) == "machine"


COMPARISONS = st.builds(
    lambda row, operator, label, quote, turned: (
        row,
        operator,
        label % len(row.axis_labels),
        quote,
        turned,
    ),
    st.sampled_from([ROWS["machine"], ROWS["mode"]]),
    st.sampled_from(["==", "!="]),
    st.integers(0, 5),
    st.sampled_from("'\""),
    st.booleans(),
)


@settings(deadline=None)
@given(st.lists(COMPARISONS, min_size=1, max_size=5), st.lists(st.booleans()), st.data())
def test_comparisons_combine_as_in_python(compared, joins, data) -> None:
    at = {
        label_index_name(name): data.draw(st.integers(0, len(ROWS[name].axis_labels) - 1))
        for name in ("machine", "mode")
    }
    text, expected = "", False
    for number, (row, operator, place, quote, turned) in enumerate(compared):
        label = row.axis_labels[place]
        quote = {True: quote, False: "'\""["'" in label]}[not set("'\"") & set(label)]
        sides = [row.name, f"{quote}{label}{quote}"]
        one = f" {operator} ".join(sides[::-1] if turned else sides)
        truth = (at[label_index_name(row.name)] == place) is (operator == "==")
        if number and (joins + [True] * 5)[number]:
            text, expected = f"({text}) and {one}", expected and truth
        elif number:
            text, expected = f"{text} or not ({one})", expected or not truth
        else:
            text, expected = one, truth
    assert ops.interpret(parse_condition(text, ROWS), at) == expected
