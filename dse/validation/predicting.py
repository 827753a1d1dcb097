"""Rows predicted by fits to the rows that are known then, or by what is given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dse.fitting.cases import Case
from dse.fitting.columns import Floats, Table
from dse.fitting.request import Request
from dse.fitting.result import Fit
from dse.fitting.rows import Rows
from dse.fitting.run import run as fitted
from dse.validation.folds import Folds, Places, groups_of, keys_of
from dse.validation.question import Question, parts_of
from sweeps.grid.laws import NAME as LAW
from symbolic.errors import DseError
from symbolic.model import Model


def predict(
    question: Question,
    model: Model,
    table: Table,
    rows: Rows,
    folds: Folds,
) -> tuple[Floats, list[dict[str, float]]]:
    """Each row as predicted by a fit to the rows known then, or by what is given; what was fitted.

    NaN where a rule is broken, and where a label with values of its own has no row that is known.
    Rows that tell laws of work are predicted law by law.
    """
    to = next(iter(rows.measured))
    if laws := _laws(question, model, table, rows):
        return _by_law(question, model, rows, laws), []
    parts = parts_of(question, model, rows, question.fitted)
    case = Case(model=model, parts=parts, to=(to,), free=question.fitted)
    found, values = np.full(len(rows.places), math.nan), []
    for out, known in folds:
        if not question.fitted:
            found[out] = _evaluated(case, rows.kept(out), {}, to)
            continue
        fold: dict[str, float] = {}
        for own, fit, label in _fits(question, model, table, rows, out, known):
            own_values = fit.set_of(label) if label else fit.set
            found[own] = _evaluated(case, rows.kept(own), own_values, to)
            fold |= fit.values
        values.append(fold)
    return found, values


def _laws(question: Question, model: Model, table: Table, rows: Rows) -> dict[str, Places]:
    """The rows of each law of work, where a column tells it and the model takes it."""
    named = question.columns is None or LAW in question.columns
    if LAW not in table.columns or LAW not in model.quantities or not named:
        return {}
    if LAW in question.given:
        return {}
    if question.fitted:
        raise DseError(
            f"rows have a law each, in the column {LAW}, and a fit takes those of one: choose the "
            f"rows of one law and set it (set={{'{LAW}': ...}}), or free nothing"
        )
    return groups_of(keys_of(table, [LAW], rows.places))


def _by_law(question: Question, model: Model, rows: Rows, laws: Mapping[str, Places]) -> Floats:
    to = next(iter(rows.measured))
    found = np.full(len(rows.places), math.nan)
    for law, own in laws.items():
        one = replace(question, given={**question.given, LAW: law})
        case = Case(model=model, parts=parts_of(one, model, rows), to=(to,), free=())
        found[own] = _evaluated(case, rows.kept(own), {}, to)
    return found


def _fits(
    question: Question, model: Model, table: Table, rows: Rows, out: Places, known: Places
) -> Iterator[tuple[Places, Fit, str]]:
    """Rows that are predicted, the fit that does, and the label of whose own values it does."""
    if not question.own:
        yield out, _fit(question, model, rows, known), ""
        return
    column, _ = question.owned
    labels = np.array(keys_of(table, [column], rows.places))
    shared = _fit(question, model, rows, known, labels) if question.free else None
    for label, places in groups_of(labels[out].tolist()).items():
        seen = known[labels[known] == label]
        if seen.size:
            # what nothing joins is fitted by itself: the same values, found sooner
            fit = _fit(question, model, rows, seen, labels) if shared is None else shared
            yield out[places], fit, label


def _fit(
    question: Question, model: Model, rows: Rows, known: Places, labels: Any | None = None
) -> Fit:
    seen = rows.kept(known)
    data: dict[str, Any] = {**seen.inputs, **seen.measured}
    if seen.workloads:
        data["workload"] = np.array(seen.workloads)
    if labels is not None:
        data[question.owned[0]] = labels[known]
    return fitted(
        Request(
            model=model,
            data=data,
            free=question.free,
            per=question.own or None,
            to=next(iter(rows.measured)),
            entries=question.entries,
            given=question.given,
            where=(),
            columns=None,
            weights=None,
            residuals=question.residuals,
            start=question.start,
            bounds=question.bounds,
            left_out="hat",
            prefer=question.prefer,
        )
    )


def _evaluated(case: Case, rows: Rows, values: Mapping[str, float], to: str) -> Floats:
    """What the model yields on rows; NaN where a rule is broken."""
    grid = case.grid(rows, values)
    roots = [grid.graph.flat(to), grid.feasible_node(())]
    found, feasible = grid.evaluate(roots, (), tuple(grid.axes))
    return np.where(np.asarray(feasible, dtype=bool), np.asarray(found, dtype=float), math.nan)
