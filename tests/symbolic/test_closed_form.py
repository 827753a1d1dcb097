"""The symbolic algebra against the numeric one, closed forms against evaluation, and LaTeX."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from symbolic.closed_form import latex_symbols, symbol, to_sympy
from symbolic.errors import DseError, UnknownNameError
from symbolic.exact import to_exact
from symbolic.library import iterate_models, load_model
from symbolic.ops import (
    NUMERIC,
    SYMPY,
    absolute,
    divide,
    either,
    exp,
    floor,
    interpret,
    log,
    minimum,
    power,
    reference,
    where,
)
from symbolic.quantities import TABLE, quantity
from tests.long import draws, long, mostly_long
from tests.one_source.points import point

TRANSCENDENTAL = {"exp", "log", "log2", "log10", "sqrt", "pow"}
CONDITIONS = {"both": 2, "either": 2, "negate": 1}
ARITY = {"floor": 1, "ceil": 1, "absolute": 1, "divide": 3}
N, M = reference("threads"), reference("lanes_width")

PATIENT = settings(deadline=None)  # SymPy's first call of a kind is slow

rational = st.builds(Fraction, st.integers(-60, 60), st.integers(1, 8))


# --- the primitives


@pytest.mark.parametrize(
    "op", [op for op in NUMERIC if op not in TRANSCENDENTAL | {*CONDITIONS, "where"}]
)
@PATIENT
@given(st.data())
def test_a_primitive_is_exact_in_rationals(op: str, data: st.DataObject) -> None:
    args = [data.draw(rational) for _ in range(ARITY.get(op, 2))]
    if op == "div" and args[1] == 0:
        return
    expected = to_exact(NUMERIC[op](*args))
    assert SYMPY[op](*args) == expected  # Python numbers
    assert SYMPY[op](*map(to_exact, args)) == expected  # SymPy numbers
    names = sympy.symbols(f"x:{len(args)}", real=True)
    later = SYMPY[op](*names).xreplace(dict(zip(names, map(to_exact, args), strict=True)))
    assert later == expected  # numbers put in afterwards


@PATIENT
@given(st.booleans(), st.booleans(), rational, rational)
def test_conditions_are_exact(p: bool, q: bool, a: Fraction, b: Fraction) -> None:
    for op, arity in CONDITIONS.items():
        args = (p, q)[:arity]
        assert SYMPY[op](*args) == to_exact(NUMERIC[op](*args))
    assert SYMPY["where"](p, a, b) == to_exact(a if p else b)
    assert SYMPY["where"](p, q, p) == to_exact(q if p else p)


@pytest.mark.parametrize("op", sorted(TRANSCENDENTAL - {"pow"}))
@PATIENT
@given(rational)
@example(Fraction(0))
def test_a_transcendental_primitive_agrees(op: str, a: Fraction) -> None:
    expected = NUMERIC[op](a)
    got = SYMPY[op](a)
    if math.isnan(expected):
        assert got is sympy.nan
    elif math.isinf(expected):
        assert got == to_exact(expected)
    else:
        assert math.isclose(float(got), expected, rel_tol=1e-14, abs_tol=1e-15)


@PATIENT
@given(st.builds(Fraction, st.integers(0, 40), st.integers(1, 8)), rational)
@example(Fraction(0), Fraction(-1, 2))
@example(Fraction(-2), Fraction(1, 2))
def test_powers_agree(a: Fraction, b: Fraction) -> None:
    expected = float(NUMERIC["pow"](float(a), float(b)))
    got = SYMPY["pow"](a, b)
    if math.isnan(expected):
        assert got is sympy.nan
    else:
        assert math.isclose(float(got), expected, rel_tol=1e-12)


def test_infinities_pass_through() -> None:
    x = sympy.Symbol("x", positive=True)
    assert SYMPY["minimum"](x, math.inf) == x
    assert SYMPY["maximum"](x, math.inf) == sympy.oo
    assert SYMPY["maximum"](-math.inf, x) == x
    assert SYMPY["floor"](math.inf) == sympy.oo
    assert SYMPY["divide"](1, 0, math.inf) == sympy.oo
    assert SYMPY["divide"](1, x, 7) == 1 / x  # known not to be zero
    assert SYMPY["exp"](math.inf) == sympy.oo


def test_extrema_are_flat_and_hold_one_number() -> None:
    x, y = sympy.symbols("x y", real=True)
    nested = SYMPY["minimum"](SYMPY["minimum"](SYMPY["minimum"](x, 5), y), 3)
    assert nested == sympy.Min(x, y, 3)
    assert SYMPY["minimum"](x, x) == x


def test_literals_are_read_as_they_are_written() -> None:
    assert to_exact(0.1) == sympy.Rational(1, 10)
    assert to_exact(1e-12) == sympy.Rational(1, 10**12)
    assert to_exact(6.516e-4) == sympy.Rational(6516, 10**7)
    assert to_exact(Fraction(1, 3)) == sympy.Rational(1, 3)
    assert to_exact(-math.inf) == -sympy.oo
    assert to_exact(math.nan) is sympy.nan
    assert to_exact(True) is sympy.true


def test_primitives_take_expressions_directly() -> None:
    x, y = sympy.symbols("x y", real=True)
    assert minimum(x, y, 0.5) == sympy.Min(x, y, sympy.Rational(1, 2))
    assert where(x < y, x, 2) == sympy.Piecewise((x, x < y), (2, True))
    assert where(either(x < 0, x > 0), 1, 0).subs(x, 0) == 0
    assert divide(x, y, at_zero=0).subs({x: 3, y: 0}) == 0
    assert absolute(x).subs(x, -2) == 2
    assert floor(x).subs(x, sympy.Rational(7, 2)) == 3
    assert power(x, 3) == x**3
    assert log(exp(x)) == x


# --- symbols


def test_symbols_carry_the_domain() -> None:
    assert symbol(TABLE["threads"]).is_positive
    assert symbol(TABLE["n_sms"]).is_integer
    assert symbol(TABLE["n_sms"]).is_positive
    assert symbol(TABLE["mem_insts"]).is_nonnegative
    assert symbol(TABLE["mwp_peak_bw"]).is_extended_nonnegative
    assert symbol(TABLE["mwp_peak_bw"]).is_finite is None  # infinity lies in the domain
    assert symbol(quantity("shift", domain="(-inf, inf)")).is_real
    assert symbol(quantity("shift", domain="(-inf, inf)")).is_positive is None


def test_a_tree_becomes_an_expression_over_those_symbols() -> None:
    n, m = (symbol(TABLE[name]) for name in ("threads", "lanes_width"))
    assert to_sympy(N * 0.5 + M / 3, TABLE) == n / 2 + m / 3
    assert to_sympy(where(N < M, 1, 2), TABLE) == sympy.Piecewise((1, n < m), (2, True))
    least = to_sympy(minimum(N, where(N < 3, 1, where(N < 5, 2, 4))), TABLE)
    assert least.subs(n, 4) == 2
    with pytest.raises(DseError, match="'flux' is no quantity"):
        to_sympy(reference("flux"), TABLE)


def test_a_chain_of_decisions_is_one_piecewise() -> None:
    chain = to_sympy(where(N < 3, 1, where(N < 5, 2, where(N < 7, 4, 8))), TABLE)
    assert len(chain.args) == 4


def test_a_decision_on_a_decision_stays_as_written() -> None:
    n, m = (symbol(TABLE[name]) for name in ("threads", "lanes_width"))
    nested = where(where(N < M, N / M, 4) >= 1, N, M)
    expression = to_sympy(nested, TABLE)
    assert isinstance(expression, sympy.Piecewise)
    assert str(expression).startswith("Piecewise((threads, ")
    assert str(expression).count("Piecewise") == 2
    for values in ((2, 3), (3, 2), (1, 1)):
        there = dict(zip((n, m), values, strict=True))
        expected = interpret(nested, dict(zip(("threads", "lanes_width"), values, strict=True)))
        assert expression.xreplace(there) == expected
        assert expression.subs(there) == expected
        assert (1 / expression).subs(n, values[0]).subs(m, values[1]) == to_exact(
            Fraction(1, expected)
        )
    assert sympy.diff(expression, n).subs({n: 3, m: 2}) == 1
    assert "cases" in sympy.latex(expression)


# --- closed forms of models


def test_a_closed_form_stops_at_named_intermediates() -> None:
    model = load_model("transit")
    s = model.symbol
    assert model.closed_form("cs_throughput") == s("intensity") * s("ms_throughput")
    assert model.closed_form("ms_throughput") == sympy.Min(
        s("thread_limit"), s("ms_peak"), s("computation_limit")
    )


def test_a_closed_form_expands_down_to_the_inputs_or_what_is_named() -> None:
    model = load_model("transit")
    names = ("threads", "intensity", "mem_latency", "arithmetic_latency", "lanes_width", "ms_peak")
    n, z, latency, keep, m, r = map(model.symbol, names)
    turn = latency + keep * z
    full = model.closed_form("cs_throughput", expand=True)
    assert full == z * sympy.Min(n / turn, r, m / z)
    assert {part.name for part in full.free_symbols} <= set(model.inputs)
    part = model.closed_form("cs_throughput", expand=("ms_throughput", "thread_limit"))
    assert part == z * sympy.Min(n / turn, r, model.symbol("computation_limit"))
    assert model.closed_form("cs_throughput", expand="ms_throughput").has(
        model.symbol("thread_limit")
    )


def test_a_closed_form_follows_the_switches() -> None:
    model = load_model("transit")
    sharp = model.closed_form("supply_limit")
    smooth = model.closed_form("supply_limit", supply="smooth")
    assert isinstance(sharp, sympy.Min)
    assert smooth.has(model.symbol("mem_latency"))
    values = {"threads": 14, "mem_latency": 3, "intensity": 2, "ms_peak": sympy.oo}
    values |= {"arithmetic_latency": 2}
    there = {model.symbol(name): value for name, value in values.items()}
    assert smooth.xreplace(there) == model.closed_form("thread_limit").xreplace(there) == 2


@pytest.mark.parametrize(
    "name", mostly_long(["transit", "occupancy", "mwp_cwp"], lambda k, _: k % 2 == 0)
)
@pytest.mark.parametrize("expand", [False, True])
def test_closed_forms_are_exact_at_random_rational_points(name: str, expand: bool) -> None:
    model = load_model(name)
    graph = model.graph()
    rng = random.Random(1)
    forms = {out: model.closed_form(out, expand=expand) for out in model.yields}
    for _ in range(5):
        values: dict[str, Any] = dict(point(model.quantities, model.inputs, rng))
        for key, definition in graph.definitions.items():
            if definition.kind == "equation":
                values[key] = exact_literal(
                    interpret(definition.node, values, number=exact_literal)
                )
        leaves = {model.symbol(key): to_exact(value) for key, value in values.items()}
        for out, form in forms.items():
            assert form.xreplace(leaves) == to_exact(values[out]), out


def exact_literal(value: Any) -> Any:
    """A number as a fraction; floor and ceil of fractions are ints, of floats in quotients."""
    return Fraction(repr(value)) if math.isfinite(value) and type(value) is not Fraction else value


@long
def test_every_closed_form_of_every_model_and_switch_can_be_made_and_printed() -> None:
    for model in iterate_models():
        for eq in model.equations:
            if eq.table:
                with pytest.raises(DseError, match="table equation"):
                    model.closed_form(eq.name, **eq.when)
            else:
                # those of a union, and of the least of 24 tiles, are megabytes; some by test_ipp.py
                expand = model.name not in ("ipp", "gemm")
                form = model.closed_form(eq.name, expand=expand, **eq.when)
                assert str(form)


def test_what_has_no_closed_form_says_so() -> None:
    model = load_model("transit")
    with pytest.raises(DseError, match="threads is an input of the model transit"):
        model.closed_form("threads")
    with pytest.raises(DseError, match="time is not part of the model transit"):
        model.closed_form("time")
    with pytest.raises(UnknownNameError, match="did you mean 'ms_throughput'"):
        model.closed_form("ms_throughputs")
    with pytest.raises(DseError, match="threads is an input"):
        model.closed_form("cs_throughput", expand=("threads",))


@settings(max_examples=draws(20), deadline=None)
@given(st.integers(1, 2000))
def test_a_closed_form_can_be_differentiated(threads: int) -> None:
    model = load_model("transit")
    form = model.closed_form("thread_limit")
    slope = sympy.diff(form, model.symbol("threads"))
    values = {"threads": threads, "mem_latency": 400, "intensity": 16}
    values |= {"arithmetic_latency": 2}
    there = {model.symbol(name): value for name, value in values.items()}
    assert slope.xreplace(there) == sympy.Rational(1, 432)


# --- LaTeX


def test_latex_of_one_equation() -> None:
    model = load_model("transit")
    assert model.latex("cs_throughput") == (r"Zr = Z \cdot r \quad \text{(Li 2015, §2.2)}")
    line = model.latex("ms_throughput", supply="smooth")
    assert line.startswith(r"r = \min\left(\frac{M}{Z}, \mathrm{supply\_limit}\right)")
    assert line.endswith("supply=smooth)}")


@long
def test_latex_of_all_equations_shows_sources_switches_and_symbols() -> None:
    for model in iterate_models():
        lines = model.latex().splitlines()
        assert len(lines) == len(model.equations)
        for eq, line in zip(model.equations, lines, strict=True):
            assert " = " in line
            formula = r"\frac" in eq.symbol  # which its equation would repeat
            assert formula or not eq.symbol or line.startswith(latex_symbols(model)[eq.name])
            for part in (eq.source, eq.switch_text):
                assert part.replace("#", r"\#").replace("_", r"\_").replace("&", r"\&") in line


def test_latex_under_a_switch_shows_the_equations_that_hold() -> None:
    model = load_model("transit")
    lines = model.latex(supply="smooth").splitlines()
    assert len(lines) == len(model.yields)
    assert not any("supply=sharp" in line for line in lines)


def test_latex_shows_literals_as_written_and_tables_as_such(tmp_path: Any) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from symbolic.equation import equation\n"
        "@equation(source='a & b')\ndef pull(threads):\n    return 0.1365 * threads + 1.5e-7\n"
        "@equation(table=True)\ndef push(threads):\n    return 1\n"
    )
    model = load_model(str(path))
    assert "0.1365" in model.latex("pull")
    assert r"a \& b" in model.latex("pull")
    assert r"\mathrm{table}\left(\mathrm{threads}\right)" in model.latex("push")
    with pytest.raises(DseError, match="table equation"):
        model.closed_form("push")
    with pytest.raises(DseError, match="threads is an input"):
        model.latex("threads")


def test_formulas_keep_to_the_symbols_of_the_paper() -> None:
    lines = load_model("transit").latex()
    assert r"\mathrm{thread\_limit} = \frac{n}{l \cdot Z + L} " in lines
    assert r"r = \min\left(\frac{M}{Z}, R, \frac{n}{L+lZ}\right)" in lines
    for name in ("threads}", "intensity", "lanes", "ms\\_peak}", "mem\\_latency"):
        assert rf"\mathrm{{{name}" not in lines
    assert "1000000" not in lines
    assert "1000000" not in str(load_model("transit").regimes("bound")[0])
