"""Regimes tile the design space and agree with the model inside; borders lie between them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from symbolic.errors import DseError, UnknownNameError
from symbolic.exact import to_exact
from symbolic.graph import Graph
from symbolic.library import iterate_models, load_model
from symbolic.model import Model
from symbolic.ops import interpret
from symbolic.regimes import active_families
from tests.long import draws, mostly_long
from tests.one_source.points import point
from tests.oracles.closed import evaluator as at
from tests.oracles.closed import put

TRANSIT = load_model("transit")
QUANTITIES = ("threads", "intensity", "lanes_width", "ms_peak", "mem_latency", "arithmetic_latency")
N, Z, M, R, L, KEEP = map(TRANSIT.symbol, QUANTITIES)
TURN = L + KEEP * Z  # of a thread: waiting, and computing at l cycles an operation
LABELS = ("thread", "memory", "computation")

positive = st.builds(Fraction, st.integers(1, 400), st.integers(1, 12))
inputs = st.fixed_dictionaries(dict.fromkeys(QUANTITIES, positive))


def everything(graph: Graph, values: Mapping[str, Any]) -> dict[str, Any]:
    """Every quantity of a graph, from its inputs."""
    result = dict(values)
    for name, definition in graph.definitions.items():
        if definition.kind == "equation":
            result[name] = exactly(interpret(definition.node, result, number=as_fraction))
    return result


def exactly(value: Any) -> Any:
    """Floor and ceil of fractions are ints, whose quotients would be floats."""
    return Fraction(value) if isinstance(value, int) else value


def as_fraction(value: Any) -> Any:
    finite = isinstance(value, float) and math.isfinite(value)
    return Fraction(repr(value)) if finite else value


def agree(got: Any, value: Any) -> bool:
    """Exactly, but where a root or a logarithm has made a float of fractions."""
    if isinstance(value, float) and math.isfinite(value):
        return bool(float(got) == pytest.approx(value, rel=1e-12))
    return bool(got == to_exact(value))


# --- regimes of transit


def test_the_regimes_of_transit_read_as_the_paper_has_them() -> None:
    thread, memory, computation = TRANSIT.regimes()
    assert (thread.label, memory.label, computation.label) == LABELS
    assert thread.outputs["ms_throughput"] == N / TURN
    assert memory.outputs["ms_throughput"] == R
    assert computation.outputs["ms_throughput"] == M / Z
    assert computation.outputs["cs_throughput"] == M
    assert memory.outputs["threads_in_cs"] == R * KEEP * Z
    assert [regime.outputs["bound"] for regime in (thread, memory, computation)] == list(LABELS)
    assert memory.condition == sympy.And(R <= M / Z, R <= N / TURN)
    assert str(memory).startswith("memory (ms_throughput): where (ms_peak <= ")
    assert "\n  bound = memory" in str(memory)


of_transit = cache(TRANSIT.regimes)
border_of_transit = cache(TRANSIT.border)


@settings(deadline=None)
@given(inputs)
def test_the_regimes_of_transit_tile_the_space_and_agree_with_the_model(
    values: dict[str, Fraction],
) -> None:
    graph = TRANSIT.graph()
    model = everything(graph, values)
    flags = graph.definitions["bound"].equation.flags  # type: ignore[union-attr]
    limits = sorted((model["thread_limit"], model["ms_peak"], model["computation_limit"]))
    value = at(TRANSIT, values)
    holding = [regime for regime in of_transit() if value(regime.condition)]
    assert holding
    if limits[1] > limits[0] * (1 + Fraction(1, 10**11)):
        assert len(holding) == 1
        (regime,) = holding
        for name, expression in regime.outputs.items():
            if name == "bound":
                assert flags[int(model["bound"])] == expression
            else:
                assert value(expression) == to_exact(model[name]), name
    for regime in holding:  # on a border the expressions of both sides agree
        assert value(regime.outputs["ms_throughput"]) == to_exact(model["ms_throughput"])


def test_regimes_expand_to_the_inputs() -> None:
    model = load_model("occupancy")
    for regime in model.regimes(expand=True, granularity="cuda"):
        names = {symbol.name for symbol in regime.condition.free_symbols}
        assert names <= set(model.needs(granularity="cuda"))


def test_regimes_of_a_family_that_a_switch_dissolves_follow_the_flags() -> None:
    result = TRANSIT.regimes(supply="smooth")
    assert [regime.label for regime in result] == list(LABELS)  # and no capacity
    assert {regime.of for regime in result} == {"bound"}


def test_one_family_can_be_chosen_and_an_unknown_is_named() -> None:
    model = load_model("occupancy + transit")
    assert {regime.of for regime in model.regimes("ms_throughput")} == {"ms_throughput"}
    assert {regime.of for regime in model.regimes()} == {"active_blocks_per_sm", "ms_throughput"}
    with pytest.raises(UnknownNameError, match="did you mean 'ms_throughput'"):
        model.regimes("ms_througput")


# --- regimes of every model


#: Those of a union are those of its parts, and ipp takes minutes in exact logarithms; the cases of
#: transit_time are the bounds of transit. What hangs on a table is no expression in fractions.
JOINED = {"transit_time": "transit + transit_time"}
WITH_REGIMES = [
    JOINED.get(model.name, model.name)
    for model in iterate_models()
    if model.name != "ipp"
    and (active_families(model.graph()) or any(eq.flags for eq in model.equations))
    and not any(eq.table for eq in model.equations)
]


TENSOR_WORK = {"warp_tensor_flops", "tensor_flops", "tensor_insts"}


@pytest.mark.parametrize(
    ("name", "expand"),
    mostly_long(product(WITH_REGIMES, [False, True]), lambda k, _: k % 4 == 0 or k % 8 == 1),
)
def test_in_each_regime_the_expressions_equal_the_model(name: str, expand: bool) -> None:
    model = load_model(name)
    graph = model.graph()
    regimes = model.regimes(expand=expand)
    assert regimes
    inputs, rng, refused = model.inputs, random.Random(7), 0
    seen: set[tuple[str, str]] = set()
    for _ in range(60 if "roofline" in name or not expand else 20):
        drawn = point(model.quantities, inputs, rng)
        # typical tensor work outweighs all other units
        if TENSOR_WORK & {*inputs} and rng.random() < 0.5:
            drawn |= dict.fromkeys(TENSOR_WORK & {*inputs}, Fraction(0))
        values = everything(graph, drawn)
        value = at(model, values)
        try:
            conditions = [bool(value(regime.condition)) for regime in regimes]
        except ValueError:  # SymPy compares nothing with the logarithm of 0
            refused += 1
            continue
        for of in {regime.of for regime in regimes}:
            holding = [
                r for r, holds in zip(regimes, conditions, strict=True) if holds and r.of == of
            ]
            assert holding, of
            for regime in holding:
                seen.add((of, regime.label))
                for output, expression in regime.outputs.items():
                    if not isinstance(expression, str):
                        assert agree(value(expression), values[output]), output
                    elif len(holding) == 1:
                        eq = graph.definitions[output].equation
                        assert eq is not None
                        assert eq.flags[int(values[output])] == expression
    assert refused <= (5 if name == "power" else 0)
    # where 13 units or 24 tiles vie, few draws meet them all
    rare = name in ("power", "gemm", "latency_roofline")  # draws seldom reach its power limit
    assert len(seen) > len(regimes) / (3 if rare else 2)


def test_the_cases_of_mwp_cwp() -> None:
    model = load_model("mwp_cwp")
    cases = model.regimes("case")
    assert len(cases) == 3
    for regime in cases:
        assert not regime.outputs["total_cycles"].has(model.symbol("case"))
    of = [regime.of for regime in model.regimes()]
    assert of.index("mwp") < of.index("cwp") < of.index("case")


# --- borders


def test_the_borders_of_the_paper() -> None:
    assert TRANSIT.border("memory", "thread", solve_for="threads") == R * TURN
    assert TRANSIT.border("thread", "memory", solve_for="threads") == R * TURN
    assert TRANSIT.border("computation", "thread", solve_for="threads") == M * TURN / Z
    assert TRANSIT.border("memory", "thread", solve_for="intensity") == (N - L * R) / (KEEP * R)
    assert TRANSIT.border("computation", "memory", solve_for="intensity") == M / R
    n_less_m = TRANSIT.border("computation", "thread", solve_for="intensity")
    assert sympy.simplify(n_less_m - M * L / (N - KEEP * M)) == 0


EVERY = {(a, b, name) for a, b in combinations(LABELS, 2) for name in QUANTITIES}
STILL = {
    ("thread", "memory", "lanes_width"),
    ("thread", "computation", "ms_peak"),
    ("memory", "computation", "threads"),
    ("memory", "computation", "mem_latency"),
    ("memory", "computation", "arithmetic_latency"),
}


@pytest.mark.parametrize(("a", "b", "name"), sorted(EVERY - STILL))
@settings(max_examples=draws(30), deadline=None)
@given(values=inputs)
def test_across_a_border_the_bound_flips(
    a: str, b: str, name: str, values: dict[str, Fraction]
) -> None:
    graph = TRANSIT.graph()
    family = TRANSIT.families[0]
    (third,) = set(family.terms) - {a, b}
    aside = {"thread": "threads", "memory": "ms_peak", "computation": "lanes_width"}[third]
    if name != "threads" and third != "thread":
        values = values | {"threads": values["threads"] * 10**4}
    values = values | {aside: values[aside] * 10**12}
    where = put(TRANSIT, border_of_transit(a, b, solve_for=name), values)
    assume(where.is_positive)  # zoo and the negative are no place
    border = Fraction(int(where.p), int(where.q))
    there = everything(graph, {**values, name: border})
    first, second = (there[family.terms[label]] for label in (a, b))
    assert first == second
    assume(there[family.terms[third]] > first * Fraction(101, 100))
    flags = graph.definitions["bound"].equation.flags  # type: ignore[union-attr]
    step = Fraction(1, 10**4)
    sides = [
        flags[int(everything(graph, {**values, name: border * factor})["bound"])]
        for factor in (1 - step, 1 + step)
    ]
    assert set(sides) == {a, b}


@pytest.mark.parametrize(("a", "b", "name"), sorted(STILL))
def test_a_quantity_that_moves_no_border_is_refused(a: str, b: str, name: str) -> None:
    with pytest.raises(DseError, match=f"{name} does not move the border between {a} and {b}"):
        TRANSIT.border(a, b, solve_for=name)


@pytest.mark.parametrize(
    ("a", "b", "name"),
    mostly_long(
        [
            ("latency", "bandwidth", "mem_bandwidth"),
            ("latency", "bandwidth", "busy_sms"),
            ("latency", "bandwidth", "core_clock"),
            ("latency", "warps", "resident_warps"),
            ("latency", "warps", "mem_latency_nominal"),
            ("latency", "warps", "independent_insts"),
            ("latency", "warps", "departure_delay_uncoalesced"),
            ("bandwidth", "warps", "mem_bandwidth"),
            ("bandwidth", "warps", "mem_latency"),
            ("periods", "warps", "comp_insts"),
            ("memory", "computation", "mem_bandwidth"),
            ("memory", "computation", "comp_insts"),
        ],
        lambda k, _: k in (0, 7, 9),
    ),
)
def test_on_a_border_of_mwp_cwp_the_terms_are_equal(a: str, b: str, name: str) -> None:
    model = load_model("mwp_cwp")
    result = model.border(a, b, solve_for=name)
    solutions = result if isinstance(result, list) else [result]
    family = next(entry for entry in model.families if {a, b} <= set(entry.terms))
    graph = model.graph()
    inputs, rng = model.inputs, random.Random(3)
    tried = 0
    for _ in range(100):
        values = everything(graph, point(model.quantities, inputs, rng, edges=0))
        for solution in solutions:
            place = put(model, solution, values)
            if place.is_positive and place.is_finite and place.is_rational:
                cut = {key: values[key] for key in inputs} | {
                    name: Fraction(int(place.p), int(place.q))
                }
                there = moved_point(graph, cut, name)
                assert there[family.terms[a]] == there[family.terms[b]]
                tried += 1
    assert tried > 5


def moved_point(graph: Graph, values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Every quantity where one, input or not, has been given a value."""
    result = dict(values)
    for key, definition in graph.definitions.items():
        if definition.kind == "equation" and key != name:
            result[key] = exactly(interpret(definition.node, result, number=as_fraction))
    return result


def test_branches_come_as_a_list(write: Callable[[str], Model]) -> None:
    model = write("return comp_insts * comp_insts - 3 * comp_insts + 2 * sync_insts")
    first, second = model.border("low", "high", solve_for="comp_insts")
    sync = model.symbol("sync_insts")
    both = {first.subs(sync, 1), second.subs(sync, 1)}
    assert both == {1, 2}


def test_extrema_and_magnitudes_are_told_apart(write: Callable[[str], Model]) -> None:
    model = write("return maximum(comp_insts - 5, 2 * comp_insts - 9) - sync_insts")
    sync = model.symbol("sync_insts")  # never negative, so that the second line is the higher one
    assert model.border("low", "high", solve_for="comp_insts").equals((sync + 9) / 2)
    model = write("return absolute(comp_insts - 5) - sync_insts")
    places = model.border("low", "high", solve_for="comp_insts")
    assert {place.subs(sync, 2) for place in places} == {3, 7}


def test_what_stands_behind_a_rounding_has_no_border(write: Callable[[str], Model]) -> None:
    model = write("return floor(comp_insts / 3) - sync_insts")
    with pytest.raises(DseError, match="comp_insts is inside a floor"):
        model.border("low", "high", solve_for="comp_insts")
    assert model.border("low", "high", solve_for="sync_insts") is not None


def test_regimes_that_never_meet_say_so(write: Callable[[str], Model]) -> None:
    model = write("return comp_insts + 1 + sync_insts * 0")
    with pytest.raises(DseError, match="never meet as comp_insts varies"):
        model.border("low", "high", solve_for="comp_insts")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Model]:
    """A model whose two terms are 0 and the given one."""
    count = iter(range(100))

    def put_down(body: str) -> Model:
        path = tmp_path / f"mine{next(count)}.py"
        path.write_text(
            "from symbolic.equation import equation\n"
            "from symbolic.model import Family\n"
            "from symbolic.ops import *\n"
            "FAMILIES = (Family(of='least', terms={'low': 'nothing', 'high': 'much'}),)\n"
            "@equation\ndef nothing(tile):\n    return tile * 0\n"
            f"@equation\ndef much(comp_insts, sync_insts):\n    {body}\n"
            "@equation\ndef least(nothing, much):\n    return minimum(nothing, much)\n"
        )
        return load_model(str(path))

    return put_down


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("memry", "thread", r"'memry' is no regime of the model transit; did you mean 'memory'"),
        ("thread", "capacity", r"'capacity' is no regime .* thread, memory, computation"),
        ("thread", "thread", "no border with itself"),
    ],
)
def test_unknown_regimes_are_named(a: str, b: str, message: str) -> None:
    with pytest.raises(DseError, match=message):
        TRANSIT.border(a, b, solve_for="threads")


def test_regimes_of_different_quantities_share_no_border() -> None:
    model = load_model("occupancy + transit")
    with pytest.raises(DseError, match=r"different quantities.*active_blocks_per_sm: shared_mem"):
        model.border("registers", "memory", solve_for="threads")


def test_a_switch_that_dissolves_a_family_takes_its_borders() -> None:
    with pytest.raises(DseError, match=r"not the smallest of .* under supply=smooth"):
        TRANSIT.border("memory", "thread", solve_for="threads", supply="smooth")


def test_an_unknown_quantity_is_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'threads'"):
        TRANSIT.border("memory", "thread", solve_for="thread")


def test_a_border_in_a_union_is_that_of_the_model() -> None:
    model = load_model("transit + occupancy")
    assert model.border("memory", "thread", solve_for="threads") == R * TURN


def test_a_family_may_be_of_the_largest_term(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from symbolic.equation import equation\n"
        "from symbolic.model import Family\n"
        "from symbolic.ops import *\n"
        "FAMILIES = (Family(of='most', terms={'a': 'tile', 'b': 'twice'}, largest=True),\n"
        "            Family(of='least', terms={'c': 'tile', 'd': 'twice'}, largest=True))\n"
        "@equation\ndef twice(comp_insts):\n    return 2 * comp_insts\n"
        "@equation\ndef most(tile, twice):\n    return maximum(tile, twice)\n"
        "@equation\ndef least(tile, twice):\n    return minimum(tile, twice)\n"
    )
    model = load_model(str(path))
    tile, insts = map(model.symbol, ("tile", "comp_insts"))
    first, second = model.regimes()
    assert (first.condition, second.condition) == (tile >= 2 * insts, 2 * insts >= tile)
    assert (first.outputs["most"], second.outputs["most"]) == (tile, 2 * insts)
    assert model.border("a", "b", solve_for="comp_insts") == tile / 2
    with pytest.raises(DseError, match="least is not the largest of tile, twice"):
        model.border("c", "d", solve_for="tile")
