"""One validation: rows read, groups left out in turn, predictions scored beside baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dse.fitting.cases import Case, chosen
from dse.fitting.columns import Floats, Table, read_table
from dse.fitting.groups import some_rows
from dse.fitting.rows import Rows, read_rows
from dse.validation.beside import beside
from dse.validation.folds import Folds, Places, deal, groups_of, keys_of, subspaces
from dse.validation.predicting import predict
from dse.validation.question import ROW, Question, parts_of
from dse.validation.result import Validation
from dse.validation.scores import score, tied
from sweeps.grid.laws import NAME as LAW
from symbolic.errors import DseError
from symbolic.library import load_model
from symbolic.model import Model

#: Labels whose scores are told one by one.
FEW = 24
#: Rows of which an interval is learnt, at least.
ENOUGH = 10


def run(question: Question) -> Validation:
    """See :func:`dse.validate`."""
    model = load_model(question.model, prefer=question.prefer)
    table = _table(question.data)
    rows = _rows(question, model, table)
    to = next(iter(rows.measured))
    measured = rows.measured[to]
    if (wrong := np.flatnonzero(measured <= 0)).size:
        raise DseError(
            f"{to} is {measured[wrong[0]]:g} at row {rows.places[wrong[0]]}: errors are shares of "
            "what was measured, which should be above 0"
        )
    labels, folds = _folds(question, table, rows)
    predicted, values = predict(question, model, table, rows, folds)
    spaces, keys = _spaces(question, table, rows)
    low, high = _interval(question, measured, predicted, folds)
    inside = None
    if np.isfinite(low).any():
        inside = (low <= measured) & (measured <= high)
    every = np.arange(len(measured))
    others = beside(question, model, table, rows, folds, spaces, keys)
    parts = {
        label: (own, _inside(spaces, own))
        for label, own in _parts(question, table, rows, labels).items()
    }
    return Validation(
        model=model.name,
        to=to,
        rows=len(measured),
        how=question.how,
        score=score(measured, predicted, spaces, within=inside),
        drawn=tied(measured, predicted, spaces),
        baselines={name: scored(every, spaces) for name, scored in others.items()},
        per=tuple(question.per),
        by={
            label: score(measured[own], predicted[own], inner)
            for label, (own, inner) in parts.items()
        },
        beside={
            label: {name: scored(own, inner) for name, scored in others.items()}
            for label, (own, inner) in parts.items()
        },
        fitted=tuple(values),
        measured=measured,
        predicted=predicted,
        low=low,
        high=high,
        labels=tuple(labels),
        places=rows.places,
    )


def _table(data: Any) -> Table:
    """The columns; profiles and what tuners write are read row by row."""
    if isinstance(data, (str, Path)) and Path(data).suffix != ".csv":
        from dse.measured import is_measured, open_measured

        if is_measured(Path(data)):
            return read_table(open_measured(Path(data), shape="rows"))
    return read_table(data)


def _rows(question: Question, model: Model, table: Table) -> Rows:
    """The rows: every column that is an input of the model is read, unless columns are named."""
    named = question.columns
    if named is None:
        targets = [question.to] if question.to else [n for n in model.outputs if n in table.columns]
        taken = (*targets, *question.given, *question.fitted)
        named = [
            name
            for name in table.columns
            if name in targets
            or (
                name in model.quantities
                and not model.quantities[name].is_label
                and not model.variants(name)
                and name not in taken
            )
        ]
    elif not isinstance(named, (str, Mapping)):
        named = [name for name in named if name != LAW]
    data = some_rows(table, slice(None))
    rows = read_rows(data, model, to=question.to, columns=named, weights=None, labels=None)
    case = Case(
        model=model, parts=parts_of(question, model, rows), to=tuple(rows.measured), free=()
    )
    return chosen(case, rows, {}, ())


def _folds(
    question: Question, table: Table, rows: Rows
) -> tuple[list[str], list[tuple[Places, Places]]]:
    """What is left out with each row, and the rows left out together with those known then."""
    every = np.arange(len(rows.places))
    if not question.leave_out:
        return [""] * every.size, [(every, every)]
    if ROW in question.leave_out and ROW not in table.columns:
        if len(question.leave_out) > 1:
            raise DseError("leave_out names 'row', each by itself, and a column: keep one of them")
        labels = list(map(str, rows.places))
    else:
        labels = keys_of(table, question.leave_out, rows.places)
    out = deal(labels, question.folds)
    return labels, [(fold, np.setdiff1d(every, fold)) for fold in out]


def _parts(
    question: Question, table: Table, rows: Rows, labels: Sequence[str]
) -> dict[str, Places]:
    """The rows of each label that is scored by itself: those asked for, or a few left out."""
    if question.per:
        return groups_of(keys_of(table, question.per, rows.places))
    if not question.leave_out or ROW in question.leave_out:
        return {}
    few = groups_of(labels)
    return few if len(few) <= FEW else {}


def _spaces(question: Question, table: Table, rows: Rows) -> tuple[list[Places], list[str]]:
    """The spaces in which a configuration is chosen, and what each row's is called."""
    every = np.arange(len(rows.places))
    if not question.within:
        keys = [""] * every.size
        spaces = [every] if question.draws else []
    else:
        keys = keys_of(table, question.within, rows.places)
        spaces = list(groups_of(keys).values())
    return (subspaces(spaces, *question.draws) if question.draws else spaces), keys


def _inside(spaces: Sequence[Places], own: Places) -> list[Places]:
    """The spaces all of whose rows are among some, in the numbers of these."""
    number = {row: place for place, row in enumerate(own.tolist())}
    return [
        np.array([number[row] for row in space.tolist()])
        for space in spaces
        if all(row in number for row in space.tolist())
    ]


def _interval(
    question: Question,
    measured: Floats,
    predicted: Floats,
    folds: Folds,
) -> tuple[Floats, Floats]:
    """Between which values rows are expected: by how far off the predictions were elsewhere.

    A prediction times quantiles of measured over predicted, of rows of the other groups, each of
    which was left out when it was predicted.
    """
    low, high = np.full(measured.size, math.nan), np.full(measured.size, math.nan)
    if not question.leave_out:
        return low, high
    with np.errstate(all="ignore"):
        ratio = measured / predicted
    tail = (1 - question.interval) / 2
    for out, known in folds:
        seen = ratio[known][np.isfinite(ratio[known])]
        if seen.size >= ENOUGH:
            least, most = np.quantile(seen, [tail, 1 - tail])
            low[out], high[out] = predicted[out] * least, predicted[out] * most
    return low, high
