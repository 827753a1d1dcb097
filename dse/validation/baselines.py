"""Compute the trivial baselines of a validation, which predict rows without the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.fitting.parameters import Floats
from dse.fitting.rows import ColumnTable, FitRows, to_floats
from dse.inputs.merge import StudyInputs, merge_inputs
from dse.validation.scores import (
    TIES_SUFFIX,
    Folds,
    Places,
    Score,
    group_rows,
    row_keys,
    score,
    score_ties,
)
from symbolic.errors import DseError
from symbolic.expression import parse
from symbolic.model import Model
from symbolic.ops import interpret_arrays, references
from symbolic.quantity import Quantity

Keys = Sequence[str]
#: Function that returns the score of some rows, whose spaces are indices into these rows.
Scorer = Callable[[Places, Sequence[Places]], Score]


def fit_median_factor(measured: Floats, folds: Folds, formula: Floats) -> Floats:
    """Return a formula times the median of measured / formula over the known rows."""
    result = np.full(measured.size, math.nan)
    with np.errstate(all="ignore"):
        ratio = measured / formula
    for out, rest in folds:
        right = ratio[rest][np.isfinite(ratio[rest])]
        if right.size:
            result[out] = formula[out] * np.median(right)
    return result


def interpolate(measured: Floats, folds: Folds, x: Floats, keys: Keys) -> Floats:
    """Return linear interpolations over ``x`` between known rows with the same key."""
    result = np.full(measured.size, math.nan)
    labels = np.array(keys)
    for out, rest in folds:
        for key in np.unique(labels[out]):
            at, near = out[labels[out] == key], rest[labels[rest] == key]
            if near.size:
                near = near[np.argsort(x[near])]
                result[at] = np.interp(x[at], x[near], measured[near])
    return result


def constant_choice(measured: Floats, folds: Folds, spaces: Keys, choices: Keys) -> Floats:
    """Return the geometric mean slowdown of each row's configuration in the known spaces."""
    result = np.full(measured.size, math.nan)
    spaces_, labels = np.array(spaces), np.array(choices)
    for out, rest in folds:
        logs: dict[str, list[float]] = {}
        for rows in group_rows(spaces_[rest].tolist()).values():
            space = rest[rows]
            best = measured[space].min()
            for label, time in zip(labels[space].tolist(), measured[space], strict=True):
                logs.setdefault(label, []).append(math.log(time / best))
        worst = max(map(np.mean, logs.values()), default=0.0)
        means: Mapping[str, float] = {label: float(np.mean(each)) for label, each in logs.items()}
        result[out] = [math.exp(means.get(label, worst + 1)) for label in labels[out].tolist()]
    return result


def random_search(
    measured: Floats, spaces: Sequence[Places], budget: int, draws: int = 200, seed: int = 0
) -> Score:
    """Return the score of choosing the best of ``budget`` random, measured configurations."""
    rng = np.random.default_rng(seed)
    parts = []
    for rows in spaces:
        picks = rng.integers(0, rows.size, (draws, budget))
        parts.append(measured[rows][picks].min(axis=1) / measured[rows].min())
    slow = np.concatenate(parts) if parts else np.array([math.nan])
    median, p90 = np.quantile(slow, [0.5, 0.9]).tolist()
    return Score(rank=0.0, slowdown_median=median, slowdown_p90=p90)


def baseline_scorers(
    request: Any,
    model: Model,
    table: ColumnTable,
    rows: FitRows,
    folds: Folds,
    choice_spaces: Sequence[Places],
    keys: Sequence[str],
) -> dict[str, Scorer]:
    """Return the scorers of all baselines that the request contains, by name."""
    measured = next(iter(rows.measurements.values()))
    elsewhere = ", learnt elsewhere" if request.leave_out else ""

    def make_scorer(predicted: Floats, **more: Any) -> Scorer:
        return lambda rows, spaces: score(measured[rows], predicted[rows], spaces, **more)

    result: dict[str, Scorer] = {}
    for name, text in request.baselines.items():
        values = _evaluate(text, request, model, table, rows)
        result[name] = make_scorer(values)
        if score_ties(measured, values, choice_spaces) is not None:
            result[name + TIES_SUFFIX] = _tie_scorer(measured, values)
        if request.leave_out:
            scaled = fit_median_factor(measured, folds, values)
            result[f"{name}, one factor{elsewhere}"] = make_scorer(scaled)
    for name, text in request.orders.items():
        result[name] = make_scorer(_evaluate(text, request, model, table, rows), errors=False)
    if request.along is not None:
        name, _ = table.find_column(request.along)
        x = to_floats(table.columns[name], name)[rows.places]
        curves = row_keys(table, [next(iter(request.own))], rows.places) if request.own else keys
        values = interpolate(measured, folds, x, curves)
        result[f"linear interpolation over {name}"] = make_scorer(values)
    if request.choose:
        shapes = row_keys(table, request.choose, rows.places)
        result[f"one choice of {', '.join(request.choose)}{elsewhere}"] = make_scorer(
            constant_choice(measured, folds, keys, shapes), errors=False
        )
    if choice_spaces:
        tried = "one configuration" if request.budget == 1 else f"best of {request.budget}"
        budget = request.budget
        result[f"{tried} at random"] = lambda r, spaces: random_search(measured[r], spaces, budget)
    median = fit_median_factor(measured, folds, np.ones(measured.size))
    no_order: dict[str, Any] = dict.fromkeys(("rank", "slowdown_median", "slowdown_p90"), math.nan)
    result[f"the median{elsewhere or ' of all rows'}"] = lambda rows, spaces: replace(
        score(measured[rows], median[rows], spaces), **no_order
    )
    return result


def _tie_scorer(measured: Floats, predicted: Floats) -> Scorer:
    """Return a scorer whose slowdown is a mean over equally good choices."""

    def score_rows(rows: Places, spaces: Sequence[Places]) -> Score:
        first = score(measured[rows], predicted[rows], spaces)
        drawn = score_ties(measured[rows], predicted[rows], spaces) or first
        return Score(slowdown_median=drawn.slowdown_median, slowdown_p90=drawn.slowdown_p90)

    return score_rows


def _evaluate(text: str, request: Any, model: Model, table: ColumnTable, rows: FitRows) -> Floats:
    columns = [n for n in table.columns if n not in model.quantities and n.isidentifier()]
    node = parse(text, {**model.quantities, **{n: Quantity(name=n) for n in columns}})
    parts = fixed_parts(request, model, rows, request.fitted)
    values: dict[str, Any] = {}
    for name in references(node):
        if name in rows.inputs:
            values[name] = rows.inputs[name]
        elif name in table.columns:
            values[name] = to_floats(table.columns[name], name)[rows.places]
        elif isinstance(value := parts.values.get(name), (int, float)):
            values[name] = np.array([float(value)])
        else:
            raise DseError(f"{text!r} needs {name}: give it as a column, by set= or machine=")
    result = np.asarray(interpret_arrays([node], values)[0], dtype=np.float64)
    return np.broadcast_to(result, (len(rows.places),)).copy()


def fixed_parts(
    request: Any, model: Model, rows: FitRows, free: Sequence[str] = (), **more: Any
) -> StudyInputs:
    """Return the inputs that are equal for all rows, which excludes columns and free quantities."""
    for name in request.given:
        if name in rows.inputs or name in rows.measurements:
            raise DseError(f"{name} is a column and set: keep one of them")
    return merge_inputs(
        model,
        [rows.axis] if rows.workloads else (),
        entries=request.entries,
        set_values={**request.given, **more},
        replaced=dict.fromkeys((*rows.inputs, *rows.measurements, *free)),
    )
