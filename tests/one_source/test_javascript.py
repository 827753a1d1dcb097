"""The equations in a browser: every primitive, and every output of every shipped model.

A thousand points a model here; ``python -m tests.one_source.javascript 100000`` draws more.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from symbolic.errors import GraphError
from symbolic.javascript import literal, program
from symbolic.library import iterate_models, load_model
from symbolic.primitives import PRIMITIVES
from tests.browser import Browser, needs_chromium
from tests.long import mostly_long
from tests.one_source.javascript import Subject, check, subjects
from tests.oracles.compare import same_bits, ulps

HOSTILE = [
    *(0.0, 1.0, 2.0, 3.0, 0.5, 2.5, 1e-3, 0.9999999999999999, 1.0000000000000002),
    *(2.0**53 + 2, 1e15 + 0.5, 1e300, 1.7976931348623157e308, 2.2250738585072014e-308),
    *(5e-324, 1e-310, 745.2, 709.8, 64.0, math.pi, math.inf),
]
HOSTILE = [*HOSTILE, *(-value for value in HOSTILE), math.nan]
TRUTHS = [0.0, 1.0]
#: Which operands are conditions.
CONDITIONS = {"both": (0, 1), "either": (0, 1), "negate": (0,), "where": (0,)}
MODELS = [model.name for model in iterate_models()]


def operands(name: str) -> list[np.ndarray[Any, Any]]:
    """Every combination of hostile operands."""
    arity, conditions = PRIMITIVES[name].arity, CONDITIONS.get(name, ())
    hostile = HOSTILE if arity < 3 else HOSTILE[::2]
    values = [TRUTHS if place in conditions else hostile for place in range(arity)]
    columns = np.array(list(itertools.product(*values))).T
    return [np.ascontiguousarray(column) for column in columns]


@needs_chromium
@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_primitive_of_hostile_values(name: str, page: Browser) -> None:
    row, columns = PRIMITIVES[name], operands(name)
    conditions = CONDITIONS.get(name, ())
    read = [f"x[{k}] === 1" if k in conditions else f"x[{k}]" for k in range(row.arity)]
    given = "".join(f"const a{k} = {text}; " for k, text in enumerate(read))
    text = row.js.format(*(f"a{k}" for k in range(row.arity)))
    got = page.compute(f"(x, c, y) => {{ {given}y[0] = {text}; }}", columns, 1)[:, 0]
    args = [c.astype(bool) if k in conditions else c for k, c in enumerate(columns)]
    with np.errstate(all="ignore"):
        wanted = np.asarray(row.array(*args), dtype=float)
    if row.calls_library:
        assert ulps(got, wanted).max() <= 2
    else:
        assert same_bits(got, wanted)
    for place in range(0, len(got), 7):  # Python's own numbers, where they do not raise
        try:
            alone = float(row.scalar(*(arg[place].item() for arg in args)))
        except (ZeroDivisionError, OverflowError):
            continue
        apart = ulps(got[place : place + 1], [alone])
        assert apart[0] <= (2 if row.calls_library else 0), [arg[place] for arg in args]


@needs_chromium
@pytest.mark.parametrize("name", mostly_long(MODELS, lambda k, _: k % 3 == 0))
def test_every_output_of_a_model(name: str, page: Browser) -> None:
    (subject,) = subjects(name)
    compared, worst = check(subject, page, 1_000)
    assert compared >= 1_000
    assert worst <= 1e-12


@needs_chromium
def test_a_wrong_step_is_noticed(page: Browser) -> None:
    (right,) = subjects("transit")
    source = right.program.source.replace("$intensity * $ms_throughput", "$intensity + 0.1")
    assert source != right.program.source
    wrong = type(right.program)(
        **{n: getattr(right.program, n) for n in ("inputs", "outputs", "keys", "choices")},
        source=source,
    )
    with pytest.raises(AssertionError, match="cs_throughput of transit"):
        check(Subject(model=right.model, graphs=right.graphs, program=wrong), page, 50)


def test_literals_are_the_doubles_they_are() -> None:
    for value in (*HOSTILE, 2.0**62, 0.1, -0.0, 1e16, 1e-7):
        text = literal(value)
        assert text.startswith("(-") == text.endswith(")") == (math.copysign(1, value) < 0)
        number = float(text.strip("()").replace("Infinity", "inf"))
        assert same_bits([number], [float(value)])


def test_one_function_serves_all_labels_of_a_switch() -> None:
    graphs = {(label,): load_model("transit").graph(supply=label) for label in ("sharp", "smooth")}
    made = program(graphs, ["supply_limit", "cs_throughput"])
    assert made.choices["supply_limit"] == [0, 1]
    assert "cs_throughput" not in made.choices
    assert made.keys == (("sharp",), ("smooth",))


CIRCLE = """
import dse

turn = dse.quantity("turn", labels=("one", "other"), default="one")
qa = dse.quantity("a", domain="[0, inf)")
qb = dse.quantity("b", domain="[0, inf)")
qx = dse.quantity("x", domain="[0, inf)")


@dse.equation(source="here", when={"turn": "one"})
def a(x):
    return x


@dse.equation(name="a", source="here", when={"turn": "other"})
def a_other(b):
    return b + 1


@dse.equation(source="here", when={"turn": "one"})
def b(a):
    return a + 1


@dse.equation(name="b", source="here", when={"turn": "other"})
def b_other(x):
    return x
"""


def test_what_turns_round_with_a_switch_is_refused(tmp_path: Path) -> None:
    (tmp_path / "circle.py").write_text(CIRCLE)
    model = dse.model(str(tmp_path / "circle.py"))
    graphs = {(label,): model.graph(turn=label) for label in ("one", "other")}
    with pytest.raises(GraphError, match=r"under some labels .*: a -> b -> a|b -> a -> b"):
        program(graphs, ["a", "b"])
    assert program({("one",): graphs[("one",)]}, ["a", "b"]).inputs == ("x",)


def test_a_shared_step_is_written_once() -> None:
    model = load_model("mwp_cwp")
    made = program({(): model.graph()}, ["time", "case"])
    steps = [line.split(" = ", 1)[1] for line in made.source.splitlines() if " = " in line]
    products = [step for step in steps if "*" in step]
    assert len(products) == len(set(products))
