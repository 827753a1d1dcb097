"""Labels in a condition: what compares a quantity with one of its labels, and what refuses."""

from __future__ import annotations

from symbolic.errors import nearest
from symbolic.ops import Node, either, equal, negate, reference
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


def _labels(row: Quantity) -> dict[str, list[int]]:
    """The labels of a quantity, each with the numbers that stand for it."""
    found: dict[str, list[int]] = {}
    for number, label in row.flags or enumerate(row.places):
        found.setdefault(label, []).append(number)
    return found


def _held(row: Quantity) -> str:
    labels = [*_labels(row)] or row.labels or ()
    return ", ".join(labels[:12]) + ", ..." * (len(labels) > 12) or "none here: give it one"


def _example(word: str | Quantity | None) -> str:
    if isinstance(word, Quantity) and word.places:
        return f"{word.name} == {word.places[0]!r}"
    return "machine == 'gtx280'"


def labelled(source: Source, operator: str, left: Term, right: Term) -> Node:
    """The condition that a quantity has, or has not, a label."""
    term, label = (left, right.word) if isinstance(right.word, str) else (right, left.word)
    row = term.flagged or term.word
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
    held = _labels(row)
    if row.flags and label not in held:  # as files of data write them, without blanks
        written = label.replace("_", " ")
        label = next((one for one in held if one.replace("_", " ") == written), label)
    if label not in held:
        source.fail(
            f"{row.name} has no label {shown(label)}{nearest(label, held)}; it takes {_held(row)}",
            right.start if isinstance(right.word, str) else left.start,
            ExpressionNameError,
        )
    of = reference(row.name if row.flags else place_of(row.name))
    node: Node = either(*(equal(of, number) for number in held[label]))
    return node if operator == "==" else negate(node)
