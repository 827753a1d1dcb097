"""Compute statistics of quantities with a probability law from the law, without draws.

Some table equations yield laws (:attr:`symbolic.quantity.Quantity.is_law`), such as
``launch_steps``. A formula of such a quantity has no single value, but it has statistics. Each
statistic becomes a table equation. Its inputs are the law and the other quantities of the formula;
it is computed once for each distinct combination of inputs. A law has ascending ``values`` and
their ``cdf_values``. Its ``simulation_count`` is the number of simulated launches from which it
comes, or 0 if it is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from symbolic.confidence import (
    TAIL_PROBABILITY,
    ZERO_COUNT_BOUND,
    binomial_half_width,
    quantile_ranks,
)
from symbolic.equation import Equation, EquationSet
from symbolic.errors import DseError
from symbolic.graph import Definition, Graph
from symbolic.node import Node, reference, references, substitute
from symbolic.ops import interpret_arrays
from symbolic.statistics import (
    DRAW,
    STATISTICS,
    Statistic,
    StatisticName,
    check_direction,
    statistic_of_law,
)


def law_definition(
    name: StatisticName, model: EquationSet, definition_of: Callable[[str], Definition | None]
) -> Definition | None:
    """Return the definition of a statistic of a law; None if the formula depends on no law."""
    about = name.statistic
    if about.kind == "error":
        inner = about.argument.args[0]
        result = law_definition(inner, model, definition_of)
        if result is not None:
            about = inner.statistic
            flat = _expand_laws(about.argument, model, definition_of)
            result = _table_definition(
                name, result.needs, _error_function(about, flat, result.needs), f"error {flat!r}"
            )
        return result
    formula = _expand_laws(about.argument, model, definition_of)
    names = references(formula)
    laws = [need for need in names if model.quantity(need).is_law]
    if not laws:
        return None
    if len(laws) > 1:
        raise DseError(
            f"{name} needs {' and '.join(laws)}, each of which has a law of its own: ask for "
            "statistics of one of them at a time"
        )
    if about.axes != (DRAW,):
        text = about.argument_text
        raise DseError(
            f"{name}: {text} has a law, not one value, and a statistic of it goes along no axis: "
            f"take one of its statistics first, as in {about.kind}(mean({text}), "
            f"{', '.join(about.axes)})"
        )
    if about.kind == "cvar" and about.argument.op != "reference":
        check_direction(name)
    if STATISTICS[about.kind].law is None:
        raise DseError(
            f"{name}: a law has no {about.kind}: ask another statistic, such as "
            f"quantile({about.argument_text}, 0.999999)"
        )
    needs = (*laws, *(need for need in names if need not in laws))
    return _table_definition(name, needs, _statistic_function(about, formula, needs), repr(formula))


def _table_definition(
    name: StatisticName, needs: tuple[str, ...], function: Callable[..., float], formula: str
) -> Definition:
    eq = Equation(
        name=name,
        function=function,
        inputs=needs,
        source=f"the law of {needs[0]}",
        when={},
        flags={},
        table=True,
        formula=formula,
    )
    return Definition(name=name, kind="table", node=reference(name), needs=needs, equation=eq)


def _expand_laws(
    node: Node, model: EquationSet, definition_of: Callable[[str], Definition | None]
) -> Node:
    """Return a formula with each quantity that depends on a law replaced by its equation."""
    expanded: dict[str, Node | None] = {}  # None: no law found yet

    def law_formula(name: str) -> Node | None:
        if name not in expanded:
            expanded[name] = None
            about = None if isinstance(name, StatisticName) else definition_of(name)
            if about is not None and about.kind in ("equation", "formula"):
                flat = expand(about.node)
                has_law = any(model.quantity(need).is_law for need in references(flat))
                expanded[name] = flat if has_law else None
        return expanded[name]

    def expand(node: Node) -> Node:
        done = {name: flat for name in references(node) if (flat := law_formula(name)) is not None}
        return substitute(node, done) if done else node

    return expand(node)


def check_labels(graph: Graph) -> None:
    """Raise an error if an equation or formula uses a quantity whose values are labels."""
    for definition in graph.definitions.values():
        for need in definition.needs:
            row = graph.model.quantity(need)
            if row.is_label and not row.is_law and definition.kind != "table":
                raise DseError(
                    f"{definition.name} cannot use {need}, whose values are labels: only a table "
                    "equation can"
                )


def refuse_laws(graph: Graph) -> None:
    """Raise an error if an output or condition uses a law and not a statistic of the law."""
    if not any(graph.model.quantity(name).is_law for name in graph.definitions):
        return
    wanted = [(name, reference(name)) for name in graph.outputs]
    wanted += [(condition.text, condition.node) for condition in graph.conditions]
    for text, node in wanted:
        leaves = references(*(graph.flat(name) for name in references(node)))
        if any(graph.model.quantity(name).is_law for name in leaves):
            way = f"chance({text}) >= 0.99" if node.op != "reference" else f"mean({text})"
            raise DseError(
                f"{text} has a law, not one value: ask a statistic of it, such as {way}"
                + (f" or quantile({text}, 0.99)" if node.op == "reference" else "")
            )


#: Number of bootstrap samples. Half width of an interval, in standard deviations of the samples.
_RESAMPLES, _BOOTSTRAP_FACTOR = 200, 2.4


def _statistic_function(
    statistic: Statistic, formula: Node, needs: Sequence[str]
) -> Callable[..., float]:
    def answer(law: Any, *others: float) -> float:
        return statistic_of_law(
            statistic, _formula_values(law, others, formula, needs), np.asarray(law.cdf_values)
        )

    return answer


def _formula_values(law: Any, others: Sequence[float], formula: Node, needs: Sequence[str]) -> Any:
    values = np.asarray(law.values, dtype=np.float64)
    constants = {name: np.array([value]) for name, value in zip(needs[1:], others, strict=True)}
    result = interpret_arrays([formula], {needs[0]: values, **constants})[0]
    return np.broadcast_to(result, values.shape)


def _error_function(statistic: Statistic, node: Node, needs: Sequence[str]) -> Callable[..., float]:
    """Return a function that computes the half width of the 95 % interval of a law's statistic.

    The half width is 0 for an exact law. For a law from simulation, a probability has the interval
    of Clopper and Pearson, and a quantile has an interval between two order statistics. For other
    statistics the half width is 2.4 bootstrap standard deviations (Efron 1979), joined with the
    effect of 3.7 draws beyond the largest gap between values. It is infinite if too few launches
    were simulated to bound a quantile or tail.
    """

    def half_width(law: Any, *others: float) -> float:
        if not law.simulation_count:
            return 0.0
        values, size = _formula_values(law, others, node, needs), law.simulation_count
        below = np.asarray(law.cdf_values)
        here = statistic_of_law(statistic, values, below)
        if statistic.kind == "chance":
            return float(binomial_half_width(here, size))
        if math.isnan(here):
            return math.nan
        chances = np.diff(below, prepend=0.0)
        if statistic.level is not None:
            low, high = quantile_ranks(size, float(statistic.level), TAIL_PROBABILITY)
            if high > size or (low < 1 and statistic.kind == "quantile"):
                return math.inf
            if statistic.kind == "quantile":
                levels = [Fraction(2 * rank - 1, 2 * size) for rank in (low, high)]
                ends = (
                    statistic_of_law(replace(statistic, level=p), values, below) for p in levels
                )
                return max(abs(end - here) for end in ends)
        drawn = np.random.default_rng(0).multinomial(size, chances, size=_RESAMPLES)
        belows = np.cumsum(drawn, axis=1) / size
        result = _BOOTSTRAP_FACTOR * float(
            np.std([statistic_of_law(statistic, values, each) for each in belows])
        )
        gap = float(np.diff(np.sort(values[chances > 0])).max(initial=0.0))
        return math.hypot(result, ZERO_COUNT_BOUND * gap / size / float(1 - (statistic.level or 0)))

    return half_width
