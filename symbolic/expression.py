"""Formulas as people write them: ``"power <= 150 W"``, ``"2 * time"``, ``"141.7 GB/s"``.

A Pratt parser of our own reads them into :class:`symbolic.node.Node`; nothing is ever evaluated as
Python. A number may be followed by a unit, a name is a quantity, operators and functions are those
of :mod:`symbolic.ops`. Units are checked as far as they can be inferred: a bare number fits
anything, and counts are plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from symbolic import ops
from symbolic.errors import DseError, UnitError
from symbolic.grammar import Parser
from symbolic.ops import Node
from symbolic.quantity import Quantity
from symbolic.statistic import StatisticName
from symbolic.terms import Term, condition, numeric
from symbolic.tokens import ExpressionUnitError, Source, shown, unit_of
from symbolic.units import Dimension, dimension, misfit


def parse(text: str, quantities: Mapping[str, Quantity]) -> Node:
    """Read a formula that is a number.

    Parameters
    ----------
    text : str
        The formula; numbers with units are taken in SI.
    quantities : mapping of str to Quantity
        The quantities it may name.

    Returns
    -------
    Node
        The formula, to be evaluated by :func:`symbolic.ops.interpret`.

    Raises
    ------
    ExpressionError
        Where it cannot be read; the error points at the place. It is a ``UnitError`` too where
        units do not fit, and an ``UnknownNameError`` where a name is not known.

    >>> from symbolic.quantities import TABLE
    >>> parse("core_clock * 2 ms + 1", TABLE)
    add(mul(core_clock, 0.002), 1)
    """
    if isinstance(text, str) and text.strip() in quantities and not text.strip().isidentifier():
        return ops.reference(text.strip())  # a statistic that is held under its text
    parser = Parser(text, quantities)
    return numeric(parser.source, parser.term()).node


def parse_condition(text: str, quantities: Mapping[str, Quantity]) -> Node:
    """Read a formula that holds or does not, as ``where`` takes it.

    Parameters and errors as for :func:`parse`. Besides it may compare labels, by ``==`` and
    ``!=``, with those in the ``places`` of their quantity: the node speaks of the place
    (:func:`symbolic.quantity.place_of`).

    >>> from symbolic.quantities import TABLE
    >>> parse_condition("time <= 10 ms and 1 < active_sms < n_sms", TABLE)
    both(less_equal(time, 0.01), both(less(1, active_sms), less(active_sms, n_sms)))
    >>> machine = Quantity(name="machine", labels=(), places=("gtx280", "c2050"))
    >>> parse_condition("machine == 'c2050'", {"machine": machine})
    equal(PLACE_OF_machine, 1)
    """
    parser = Parser(text, quantities, labels=True)
    return condition(parser.source, parser.term()).node


def parse_output(text: str, quantities: Mapping[str, Quantity]) -> str:
    """The name under which a quantity, or one statistic, is an output.

    >>> from symbolic.quantities import TABLE
    >>> parse_output("mean( time )", TABLE), parse_output("time", TABLE)
    ('mean(time)', 'time')
    """
    if isinstance(text, StatisticName) or text.isidentifier():
        return text
    node = parse(text, quantities)
    name = node.args[0] if node.op == "reference" else None
    if not isinstance(name, str):
        raise DseError(
            f"the output {shown(text)} is a formula: expected a quantity, or one statistic such "
            "as mean(time)"
        )
    return name


def _fit(source: Source, term: Term, row: Quantity, expected: Dimension) -> None:
    if term.kind is not None and term.kind != expected:
        unit = unit_of(source.text) if term.is_literal else ""
        given = shown(source.text.strip())
        stored = f" [{row.unit}]" if row.unit else ""
        why = misfit(given, term.kind, expected, unit)
        if row.unit == "cycle" and term.kind == dimension("s"):
            clocked = source.text.strip() + " * core_clock"
            why += f", in cycles, or as a time at the clock, {shown(clocked)}"
        source.fail(
            f"{row.name}{stored}: {why}",
            term.start,
            ExpressionUnitError,
        )


def parse_value(text: str, quantity: Quantity, quantities: Mapping[str, Quantity]) -> float | Node:
    """Read what a quantity is set to: a number with or without a unit, or a formula.

    Parameters
    ----------
    text : str
        The value; a bare number is in the unit of the quantity.
    quantity : Quantity
        The quantity that is given the value; its domain is not checked here.
    quantities : mapping of str to Quantity
        The quantities a formula may name.

    Returns
    -------
    float or Node
        A float in the stored unit where the text names no quantity, else the formula.

    Raises
    ------
    ExpressionError
        As for :func:`parse`; it is a ``UnitError`` too where the unit does not fit the quantity.

    >>> from symbolic.quantities import TABLE
    >>> parse_value("120 GB/s", TABLE["mem_bandwidth"], TABLE)
    120000000000.0
    >>> parse_value("2*16", TABLE["tile"], TABLE)
    32.0
    >>> parse_value("n_sms / 2", TABLE["active_sms"], TABLE)
    div(n_sms, 2)
    """
    parser = Parser(text, quantities)
    source = parser.source
    if quantity.is_label:
        raise DseError(
            f"{quantity.name} takes a label ({', '.join(quantity.labels or ()) or 'any'}), "
            f"not the formula {shown(text)}"
        )
    term = numeric(source, parser.term())
    try:
        expected = dimension(quantity.unit)
    except UnitError as error:
        raise UnitError(f"the declared unit of {quantity.name} cannot be read: {error}") from None
    _fit(source, term, quantity, expected)
    if not isinstance(term.value, Node):
        return float(term.value)
    if ops.references(term.value):
        return term.value
    try:
        value = float(ops.interpret(term.value, {}, number=float))
    except (ZeroDivisionError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        source.fail("the result is no finite number", term.start)
    return value
