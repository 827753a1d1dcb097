"""The baselines of a validation, scored as its predictions are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.fitting.columns import Floats, Table, numbers
from dse.fitting.rows import Rows
from dse.validation import baselines as trivial
from dse.validation.folds import Places, keys_of
from dse.validation.question import Question, parts_of
from dse.validation.scores import Score, score
from symbolic.errors import DseError
from symbolic.expression import parse
from symbolic.model import Model
from symbolic.ops import interpret_arrays, references
from symbolic.quantity import Quantity

__all__ = ["beside"]


def beside(
    question: Question,
    model: Model,
    table: Table,
    rows: Rows,
    folds: Sequence[tuple[Places, Places]],
    spaces: Sequence[Places],
    keys: Sequence[str],
) -> dict[str, Score]:
    """Each baseline that applies, by its name."""
    measured = next(iter(rows.measured.values()))
    known = trivial.Known(measured=measured, folds=folds)
    elsewhere = ", learnt elsewhere" if question.leave_out else ""

    def scored(predicted: Floats, **more: Any) -> Score:
        return score(measured, predicted, spaces, **more)

    found: dict[str, Score] = {}
    for name, text in question.baselines.items():
        values = _formula(text, question, model, table, rows)
        found[name] = scored(values)
        if question.leave_out:
            found[f"{name}, one factor{elsewhere}"] = scored(trivial.scaled(known, values))
    if question.along is not None:
        name, _ = table.find(question.along)
        x = numbers(table.columns[name], name)[rows.places]
        found[f"linear interpolation over {name}"] = scored(trivial.along(known, x, keys))
    if question.choose:
        choices = keys_of(table, question.choose, rows.places)
        values = trivial.constant_choice(known, keys, choices)
        found[f"one choice of {', '.join(question.choose)}{elsewhere}"] = scored(
            values, errors=False
        )
    if spaces:
        tried = "one configuration" if question.budget == 1 else f"best of {question.budget}"
        found[f"{tried} at random"] = trivial.random_search(measured, spaces, question.budget)
    found[f"the median{elsewhere or ' of all rows'}"] = replace(
        scored(trivial.one_value(known)),
        rank=math.nan,
        slowdown_median=math.nan,
        slowdown_p90=math.nan,
    )
    return found


def _formula(text: str, question: Question, model: Model, table: Table, rows: Rows) -> Floats:
    """A formula in columns and in what is given, for each row."""
    own = {
        n: Quantity(name=n) for n in table.columns if n not in model.quantities and n.isidentifier()
    }
    node = parse(text, {**model.quantities, **own})
    parts = parts_of(question, model, rows, question.free)
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
