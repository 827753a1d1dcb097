"""Joining equations by name: what is chosen, what is cut, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from symbolic.errors import DseError, GraphError, UnknownNameError
from symbolic.graph import Graph
from symbolic.library import load_model
from symbolic.model import Model
from symbolic.ops import constant, interpret, reference, where
from symbolic.quantities import quantity
from symbolic.resolve import resolve

HEAD = "from symbolic.equation import equation\nfrom symbolic.quantities import quantity\n"
THREADS, BLOCKS = reference("threads"), reference("blocks")
Write = Callable[[str], Model]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A model of one's own, from the text of its equations."""
    count = iter(range(100))

    def put(text: str) -> Model:
        path = tmp_path / f"mine{next(count)}.py"
        path.write_text(f"{HEAD}\n{text}\n")
        return load_model(str(path))

    return put


CHAIN = """
@equation(source="One")
def first(threads):
    return threads + 1

@equation(source="Two")
def second(first, blocks):
    return first * blocks

@equation(source="Three")
def third(second, first):
    return second - first

OUTPUTS = ["third"]
"""


def kinds(graph: Graph) -> dict[str, str]:
    return {name: definition.kind for name, definition in graph.definitions.items()}


# --- what is chosen


def test_each_definition_comes_after_those_it_needs(write: Write) -> None:
    graph = resolve(write(CHAIN), values={"threads": None, "blocks": None})
    order = list(graph.definitions)
    assert set(order) == {"threads", "blocks", "first", "second", "third"}
    for name, definition in graph.definitions.items():
        assert all(order.index(need) < order.index(name) for need in definition.needs)
    assert graph.outputs == ("third",)
    assert [eq.source for eq in graph.equations] == ["One", "Two", "Three"]


def test_only_what_the_outputs_need_is_joined(write: Write) -> None:
    graph = resolve(write(CHAIN), values={"threads": None}, outputs=["first"])
    assert set(graph.definitions) == {"threads", "first"}
    assert graph.ancestors(["first"]) == {"threads", "first"}


def test_a_value_cuts_the_equation(write: Write) -> None:
    graph = resolve(write(CHAIN), values={"first": None, "blocks": None})
    assert kinds(graph)["first"] == "given"
    assert "threads" not in graph.definitions
    assert graph.definitions["first"].is_leaf


def test_a_formula_takes_the_place_of_the_equation(write: Write) -> None:
    given = {"threads": None, "blocks": None, "first": THREADS * BLOCKS}
    graph = resolve(write(CHAIN), values=given)
    assert kinds(graph)["first"] == "formula"
    assert graph.definitions["first"].needs == ("threads", "blocks")
    assert interpret(graph.flat("third"), {"threads": 2, "blocks": 5}) == 10 * 5 - 10


def test_a_formula_that_names_itself_means_the_models_own_definition(write: Write) -> None:
    corrected = reference("first") * 10
    graph = resolve(write(CHAIN), values={"threads": None, "blocks": None, "first": corrected})
    assert interpret(graph.flat("first"), {"threads": 2}) == 30


def test_a_formula_for_some_labels_falls_back_on_the_equation(write: Write) -> None:
    partial = where(reference("label") < 1, constant(7.0), reference("first"))
    given = {"threads": None, "blocks": None, "label": None, "first": partial}
    flat = resolve(_label_axis(write(CHAIN)), values=given).flat("first")
    assert interpret(flat, {"label": 0, "threads": 2}) == 7
    assert interpret(flat, {"label": 1, "threads": 2}) == 3


def _label_axis(model: Model) -> Model:
    return replace(model, quantities={**model.quantities, "label": quantity("label")})


def test_a_partial_formula_without_a_definition_to_fall_back_on_is_missing(write: Write) -> None:
    partial = where(reference("label") < 1, 7.0, THREADS)
    with pytest.raises(GraphError, match=r"threads.*given for some labels of an axis and not"):
        resolve(
            _label_axis(write(CHAIN)), values={"threads": partial, "blocks": None, "label": None}
        )


def test_flattening_reaches_the_leaves_and_shares_steps(write: Write) -> None:
    graph = resolve(write(CHAIN), values={"threads": None, "blocks": None})
    first = THREADS + 1
    assert graph.flat("third") is first * BLOCKS - first
    assert graph.flat("threads") is THREADS


# --- defaults


def test_defaults_are_leaves_of_their_own_kind() -> None:
    model = load_model("occupancy")
    graph = resolve(model, values={"threads_per_block": None}, outputs=["warps_per_block"])
    assert kinds(graph) == {
        "threads_per_block": "given",
        "warp_size": "default",
        "warps_per_block": "equation",
    }
    assert graph.definitions["warp_size"].node is constant(32)


def test_a_default_can_be_another_quantity(write: Write) -> None:
    model = write("@equation\ndef share(active_sms, n_sms):\n    return active_sms / n_sms")
    graph = resolve(model, values={"n_sms": None})
    assert kinds(graph)["active_sms"] == "formula"
    assert graph.definitions["active_sms"].needs == ("n_sms",)
    assert interpret(graph.flat("share"), {"n_sms": 30}) == 1
    graph = resolve(model, values={"n_sms": None, "active_sms": None})
    assert kinds(graph)["active_sms"] == "given"


def test_a_default_that_lacks_its_own_value_is_missing(write: Write) -> None:
    model = write("@equation\ndef share(active_sms):\n    return active_sms / 2")
    with pytest.raises(GraphError, match=r"n_sms, streaming multiprocessors.*needed by active_sms"):
        resolve(model, values={})


# --- switches


def test_a_switch_chooses_the_equation() -> None:
    model = load_model("transit")
    given = dict.fromkeys(model.needs(supply="smooth"))
    for label in ("sharp", "smooth"):
        graph = resolve(model, values=given, switches={"supply": label})
        chosen = graph.definitions["ms_throughput"].equation
        assert chosen is not None
        assert chosen.when == {"supply": label}
        assert graph.switches["supply"] == label
        assert graph.switches_of(["ms_throughput"]) == {"supply"}
        assert graph.switches_of(["cs_throughput"]) == {"supply"}
        assert graph.switches_of(["thread_limit"] if label == "sharp" else []) == set()


def test_switches_default_to_their_first_label() -> None:
    model = load_model("transit")
    graph = resolve(model, values=dict.fromkeys(model.inputs))
    assert graph.switches["supply"] == "sharp"
    assert graph.switches["printed"] == "false"


def test_an_unknown_label_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="expected one of sharp, smooth; did you mean 'smo"):
        resolve(load_model("transit"), values={}, switches={"supply": "smoth"})


# --- what is refused


def test_all_missing_inputs_are_named_with_the_equations_that_need_them() -> None:
    with pytest.raises(GraphError) as caught:
        resolve(load_model("transit"), values={"threads": None}, outputs=["cs_throughput"])
    message = str(caught.value)
    assert "the model transit lacks 4 values" in message
    for name in ("mem_latency", "intensity", "ms_peak", "lanes_width"):
        assert f"\n  {name}, " in message
    line = next(line for line in message.splitlines() if line.startswith("  intensity,"))
    assert "[cycle]" in line
    for user in ("thread_limit", "computation_limit", "cs_throughput"):
        assert f"{user} (" in line
    assert message.endswith("or join a model that yields it")


def test_one_missing_output_says_it_was_asked_for() -> None:
    with pytest.raises(GraphError, match=r"lacks a value:\n  elements, work items.* is wanted"):
        resolve(load_model("transit"), values={}, outputs=["elements"])


def test_two_definitions_of_a_quantity_name_both(write: Write) -> None:
    model = write(
        "@equation(name='pull', source='A')\ndef one(threads):\n    return threads\n"
        "@equation(name='pull', source='B')\ndef two(threads):\n    return threads * 2\n"
    )
    with pytest.raises(GraphError, match=r"pull has two definitions: pull \(A\).*pull \(B\)"):
        resolve(model, values={"threads": None})
    graph = resolve(model, values={"threads": None, "pull": THREADS * 3})
    assert interpret(graph.flat("pull"), {"threads": 2}) == 6


CYCLE = """
@equation
def ping(pong, threads):
    return pong + threads

@equation
def pong(pang):
    return pang * 2

@equation
def pang(ping):
    return ping / 2
"""


def test_a_cycle_is_named_and_a_value_cuts_it(write: Write) -> None:
    model = write(CYCLE)
    with pytest.raises(GraphError, match="cycle: ping -> pong -> pang -> ping; give one of them"):
        resolve(model, values={"threads": None}, outputs=["ping"])
    graph = resolve(model, values={"threads": None, "pang": None}, outputs=["ping"])
    assert interpret(graph.flat("ping"), {"threads": 1, "pang": 3}) == 7


def test_a_formula_can_close_a_cycle(write: Write) -> None:
    given = {"threads": reference("third"), "blocks": None}
    with pytest.raises(GraphError, match="third -> second -> first -> threads -> third"):
        resolve(write(CHAIN), values=given)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"values": {"treads": None}},
        {"values": {}, "outputs": ["treads"]},
        {"values": {}, "switches": {"treads": "x"}},
        {"values": {"blocks": reference("treads")}, "outputs": ["blocks"]},
    ],
)
def test_an_unknown_name_is_met_with_the_nearest(kwargs: dict[str, object]) -> None:
    with pytest.raises(UnknownNameError, match=r"'treads' is no quantity.*did you mean 'threads'"):
        resolve(load_model("transit"), **kwargs)  # type: ignore[arg-type]


def test_labels_feed_tables_only(write: Write) -> None:
    text = "{}\ndef spread(mood):\n    return {}\nmood = quantity('mood', labels=())"
    table = write(text.format("@equation(table=True)", "len(mood)"))
    graph = resolve(table, values={"mood": None})
    assert kinds(graph)["spread"] == "table"
    assert graph.definitions["spread"].needs == ("mood",)
    assert graph.definitions["spread"].is_leaf
    with pytest.raises(DseError, match="spread cannot use mood, whose values are labels"):
        resolve(write(text.format("@equation", "mood + 1")), values={"mood": None})


# --- rules and constraints

RULED = CHAIN + "RULES = ['third <= 100', 'blocks <= elements']\n"


def test_a_rule_applies_where_all_its_quantities_are_known(write: Write) -> None:
    model = write(RULED)
    graph = resolve(model, values={"threads": None, "blocks": None})
    assert [condition.text for condition in graph.conditions] == ["third <= 100"]
    assert all(condition.is_rule for condition in graph.conditions)
    graph = resolve(model, values={"threads": None, "blocks": None, "elements": None})
    assert [c.text for c in graph.conditions] == ["third <= 100", "blocks <= elements"]
    flat = graph.flat_condition(graph.conditions[0])
    assert interpret(flat, {"threads": 1, "blocks": 50}) is True
    assert interpret(flat, {"threads": 1, "blocks": 103}) is False


def test_a_rule_on_quantities_that_cannot_be_joined_waits_too(write: Write) -> None:
    model = write(
        CYCLE + "@equation\ndef apart(threads):\n    return threads\nRULES = ['ping <= 3']"
    )
    assert resolve(model, values={"threads": None}, outputs=["apart"]).conditions == ()
    given = {"threads": None, "pang": None}
    assert len(resolve(model, values=given, outputs=["apart"]).conditions) == 1


def test_rules_shared_by_all_models_wait_for_their_quantities() -> None:
    model = load_model("occupancy")
    given = dict.fromkeys(model.inputs)
    texts = [condition.text for condition in resolve(model, values=given).conditions]
    assert "active_blocks_per_sm >= 1" in texts
    assert "active_sms <= n_sms" not in texts
    given |= dict.fromkeys(("n_sms", "active_sms"))
    texts = [condition.text for condition in resolve(model, values=given).conditions]
    assert "active_sms <= n_sms" in texts


def test_a_model_file_has_only_the_shared_rules_of_its_quantities(write: Write) -> None:
    known = dict.fromkeys(("threads", "n_sms", "active_sms", "core_clock", "max_core_clock"))
    for body, expected in (("threads", []), ("threads / n_sms", ["active_sms <= n_sms"])):
        names = "threads, n_sms" if "n_sms" in body else "threads"
        model = write(f"@equation\ndef apart({names}):\n    return {body}\n")
        conditions = resolve(model, values=known, outputs=["apart"]).conditions
        assert [condition.text for condition in conditions] == expected


def test_a_constraint_brings_in_what_it_needs_or_is_refused(write: Write) -> None:
    model = write(CHAIN)
    given = {"threads": None}
    graph = resolve(model, values=given, outputs=["first"], where=["first * 2 <= 10"])
    (condition,) = graph.conditions
    assert not condition.is_rule
    assert interpret(graph.flat_condition(condition), {"threads": 4}) is True
    with pytest.raises(GraphError, match=r"blocks.*needed by second"):
        resolve(model, values=given, outputs=["first"], where=["second <= 10"])


def test_a_constraint_that_is_no_condition_is_refused(write: Write) -> None:
    with pytest.raises(DseError):
        resolve(write(CHAIN), values={"threads": None}, outputs=["first"], where=["first + 2"])
