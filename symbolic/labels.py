"""Labels in a condition: what compares a quantity with one of its labels, and what refuses."""

from __future__ import annotations

from symbolic.errors import nearest
from symbolic.ops import Node, equal, negate, reference
from symbolic.quantity import Quantity, place_of
from symbolic.term import Term
from symbolic.tokens import ExpressionNameError, Source, shown

__all__ = ["labelled", "refuse"]


def refuse(source: Source, term: Term) -> None:
    """Raise where a term is a label, or a quantity that takes labels."""
    if term.word is not None:
        source.fail(
            f"{_worded(term.word)}, no number and no condition: compare labels by == or !=, as in "
            f"{_example(term.word)}",
            term.start,
        )


def _worded(word: str | Quantity) -> str:
    if isinstance(word, str):
        return f"{shown(word)} is a label"
    return f"{word.name} takes labels ({_held(word)})"


def _held(row: Quantity) -> str:
    labels = row.places or row.labels or ()
    return ", ".join(labels[:8]) + ", ..." * (len(labels) > 8) or "none here: give it one"


def _example(word: str | Quantity | None) -> str:
    if isinstance(word, Quantity) and word.places:
        return f"{word.name} == {word.places[0]!r}"
    return "machine == 'gtx280'"


def labelled(source: Source, operator: str, left: Term, right: Term) -> Node:
    """The condition that a quantity has, or has not, a label."""
    row, label = (left.word, right.word) if isinstance(right.word, str) else (right.word, left.word)
    if not isinstance(row, Quantity) or not isinstance(label, str):
        odd, other = (left, right) if left.word is not None else (right, left)
        assert odd.word is not None
        text = shown(source.text[other.start : other.end])
        if other.word is None:
            message = f"{text} is {'a condition' if other.is_condition else 'a number'}"
        else:
            message = _worded(other.word)
        source.fail(
            f"{_worded(odd.word)}, and {message}: compare a quantity that takes labels with one "
            f"of them in quotes, as in {_example(row if isinstance(row, Quantity) else odd.word)}",
            other.start,
        )
    if operator not in ("==", "!="):
        source.fail(f"the labels of {row.name} have no order: compare them by == or !=", left.start)
    if label not in row.places:
        source.fail(
            f"{row.name} has no label {shown(label)}{nearest(label, row.places)}; it takes "
            f"{_held(row)}",
            right.start if isinstance(right.word, str) else left.start,
            ExpressionNameError,
        )
    node: Node = equal(reference(place_of(row.name)), row.places.index(label))
    return node if operator == "==" else negate(node)
