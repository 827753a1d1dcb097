"""The baselines of a validation, scored as its predictions are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.fitting.columns import Floats, Table, numbers
from dse.fitting.rows import Rows
from dse.validation import baselines as trivial
from dse.validation.folds import Folds, Places, keys_of
from dse.validation.question import Question, parts_of
from dse.validation.scores import Score, score, tied
from symbolic.errors import DseError
from symbolic.expression import parse
from symbolic.model import Model
from symbolic.ops import interpret_arrays, references
from symbolic.quantity import Quantity

#: Added to the name of a baseline where its choice is drawn of all that it calls equally good.
DRAWN = ", mean over its ties"
#: The score on some rows, with the spaces among these, in their numbers.
Scored = Callable[[Places, Sequence[Places]], Score]


def beside(
    question: Question,
    model: Model,
    table: Table,
    rows: Rows,
    folds: Folds,
    choices: Sequence[Places],
    keys: Sequence[str],
) -> dict[str, Scored]:
    """Each baseline that applies, by its name, as what scores it on some rows."""
    measured = next(iter(rows.measured.values()))
    elsewhere = ", learnt elsewhere" if question.leave_out else ""

    def by(predicted: Floats, **more: Any) -> Scored:
        return lambda own, spaces: score(measured[own], predicted[own], spaces, **more)

    found: dict[str, Scored] = {}
    for name, text in question.baselines.items():
        values = _formula(text, question, model, table, rows)
        found[name] = by(values)
        if tied(measured, values, choices) is not None:
            found[name + DRAWN] = _drawn(measured, values)
        if question.leave_out:
            found[f"{name}, one factor{elsewhere}"] = by(trivial.scaled(measured, folds, values))
    for name, text in question.orders.items():
        found[name] = by(_formula(text, question, model, table, rows), errors=False)
    if question.along is not None:
        name, _ = table.find(question.along)
        x = numbers(table.columns[name], name)[rows.places]
        curves = keys_of(table, [question.owned[0]], rows.places) if question.own else keys
        found[f"linear interpolation over {name}"] = by(trivial.along(measured, folds, x, curves))
    if question.choose:
        shapes = keys_of(table, question.choose, rows.places)
        found[f"one choice of {', '.join(question.choose)}{elsewhere}"] = by(
            trivial.constant_choice(measured, folds, keys, shapes), errors=False
        )
    if choices:
        tried = "one configuration" if question.budget == 1 else f"best of {question.budget}"
        found[f"{tried} at random"] = lambda own, spaces: trivial.random_search(
            measured[own], spaces, question.budget
        )
    median = trivial.one_value(measured, folds)
    found[f"the median{elsewhere or ' of all rows'}"] = lambda own, spaces: replace(
        score(measured[own], median[own], spaces),
        rank=math.nan,
        slowdown_median=math.nan,
        slowdown_p90=math.nan,
    )
    return found


def _drawn(measured: Floats, predicted: Floats) -> Scored:
    """A choice that is drawn of the equally good, where there are any among some rows."""

    def scored(own: Places, spaces: Sequence[Places]) -> Score:
        first = score(measured[own], predicted[own], spaces)
        drawn = tied(measured[own], predicted[own], spaces) or first
        return Score(slowdown_median=drawn.slowdown_median, slowdown_p90=drawn.slowdown_p90)

    return scored


def _formula(text: str, question: Question, model: Model, table: Table, rows: Rows) -> Floats:
    """A formula in columns and in what is given, for each row."""
    own = {
        n: Quantity(name=n) for n in table.columns if n not in model.quantities and n.isidentifier()
    }
    node = parse(text, {**model.quantities, **own})
    parts = parts_of(question, model, rows, question.fitted)
    values: dict[str, Any] = {}
    for name in references(node):
        if name in rows.inputs:
            values[name] = rows.inputs[name]
        elif name in table.columns:
            values[name] = numbers(table.columns[name], name)[rows.places]
        elif isinstance(given := parts.values.get(name), (int, float)):
            values[name] = np.array([float(given)])
        else:
            raise DseError(
                f"the baseline {text!r} needs {name}: give it as a column, by set= or machine="
            )
    found = np.asarray(interpret_arrays([node], values)[0], dtype=np.float64)
    return np.broadcast_to(found, (len(rows.places),)).copy()
