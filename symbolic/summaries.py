"""Statistics in a formula while it is read: what stands in the parentheses, what it measures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symbolic.dimensions import Dimension
from symbolic.ops import reference
from symbolic.quantity import Quantity
from symbolic.statistic import STATISTICS, StatisticName, made
from symbolic.term import Term
from symbolic.terms import condition, numeric
from symbolic.tokens import Source, Token, shown

__all__ = ["Summary", "summary"]

_PLAIN = Dimension()


@dataclass(frozen=True, slots=True)
class Summary:
    """A statistic that was read, and what stands for it."""

    term: Term
    name: StatisticName


def summary(
    source: Source,
    quantities: Mapping[str, Quantity],
    word: Token,
    terms: Sequence[Term],
    axes: Sequence[Token],
    within: Sequence[Summary],
    end: int,
) -> Summary:
    """The statistic of that word.

    Parameters
    ----------
    quantities : mapping of str to Quantity
        The quantities it may name.
    terms : sequence of Term
        What stands in the parentheses: the formula, and the level where there is one.
    axes : sequence of Token
        The names of axes that follow.
    within : sequence of Summary
        Statistics read before, some of them within the formula.
    end : int
        Where its text ends.
    """
    kind, first = word.text, terms[0]
    test = condition(source, first) if kind == "chance" else numeric(source, first)
    leveled = STATISTICS[kind]
    if len(terms) != 1 + leveled:
        what = "a formula and a level between 0 and 1" if leveled else "one formula"
        example = f"{kind}(time, 0.95)" if leveled else f"{kind}(time, workload)"
        source.fail(
            f"{kind} takes {what}, then names of axes, as in {example}; {len(terms)} "
            f"{'is' if len(terms) == 1 else 'are'} given",
            word.position,
        )
    names = tuple(axis.text for axis in axes)
    for number, name in enumerate(names):
        if name in names[:number]:
            source.fail(f"{kind} names the axis {name} twice: remove one", axes[number].position)
    if kind == "error" and not (test.node.op == "reference" and _is_one(test)):
        source.fail("error is that of one statistic, as in error(mean(time))", first.start)
    if kind == "error" and names:
        source.fail("the axes of an error are those of its statistic", axes[0].position)
    level = _level(source, kind, terms[1]) if leveled else None
    said = source.text[terms[1].start : terms[1].end].strip() if leveled else ""
    if kind == "error":
        names = test.node.args[0].statistic.axes
    name = made(
        kind,
        test.node,
        _text(source, first, within),
        names,
        level=level,
        said=said,
        unit=_unit(quantities, test, kind),
    )
    measures = _PLAIN if kind == "chance" else test.kind
    return Summary(Term(reference(name), measures, word.position, end), name)


def _unit(quantities: Mapping[str, Quantity], term: Term, kind: str) -> str:
    """The unit of its values: that of a quantity alone, else what is known of a formula."""
    if kind == "chance" or term.kind is None:
        return ""
    name = term.node.args[0] if term.node.op == "reference" else ""
    if isinstance(name, StatisticName):
        return name.statistic.unit
    unit = term.kind.unit
    return quantities[name].unit if name in quantities else "W" if unit == "J/s" else unit


def _is_one(term: Term) -> bool:
    name = term.node.args[0]
    return isinstance(name, StatisticName) and name.statistic.kind != "error"


def _level(source: Source, kind: str, term: Term) -> Fraction:
    value = term.value
    if not isinstance(value, (int, Fraction)) or (term.kind or _PLAIN) != _PLAIN:
        source.fail(f"the level of {kind} is a number between 0 and 1, such as 0.95", term.start)
    if not (0 < value < 1 or (kind == "quantile" and 0 <= value <= 1)):
        source.fail(
            f"the level of {kind} is {shown(source.text[term.start : term.end])}, expected a "
            "number between 0 and 1, such as 0.95",
            term.start,
        )
    return Fraction(value)


def _text(source: Source, term: Term, within: Sequence[Summary]) -> str:
    """The formula as it was written, the statistics in it by their names."""
    inner = [one for one in within if term.start <= one.term.start and one.term.end <= term.end]
    outermost = [
        one
        for one in inner
        if not any(
            other is not one and other.term.start <= one.term.start < other.term.end
            for other in inner
        )
    ]
    text, place = "", term.start
    for one in sorted(outermost, key=lambda one: one.term.start):
        text += source.text[place : one.term.start] + one.name.statistic.written
        place = one.term.end
    return re.sub(r"\s+", " ", text + source.text[place : term.end]).strip()
