"""What anybody would predict without a model: the yardsticks of a validation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.fitting.coordinates import Floats
from dse.fitting.rows import Rows, Table, numbers
from dse.inputs import Parts, read_parts
from dse.validation.scores import DRAWN, Folds, Places, Score, groups_of, keys_of, score, tied
from symbolic.errors import DseError
from symbolic.expression import parse
from symbolic.model import Model
from symbolic.ops import interpret_arrays, references
from symbolic.quantity import Quantity


def scaled(measured: Floats, folds: Folds, formula: Floats) -> Floats:
    """A formula times the one factor that is right in the median of what is known."""
    found = np.full(measured.size, math.nan)
    with np.errstate(all="ignore"):
        ratio = measured / formula
    for out, rest in folds:
        right = ratio[rest][np.isfinite(ratio[rest])]
        if right.size:
            found[out] = formula[out] * np.median(right)
    return found


def along(measured: Floats, folds: Folds, x: Floats, keys: Sequence[str]) -> Floats:
    """Linear interpolation over a column, between the known rows of the same key."""
    found = np.full(measured.size, math.nan)
    labels = np.array(keys)
    for out, rest in folds:
        for key in np.unique(labels[out]):
            at, near = out[labels[out] == key], rest[labels[rest] == key]
            if near.size:
                near = near[np.argsort(x[near])]
                found[at] = np.interp(x[at], x[near], measured[near])
    return found


def constant_choice(
    measured: Floats, folds: Folds, spaces: Sequence[str], choices: Sequence[str]
) -> Floats:
    """How slow each choice was elsewhere, as the geometric mean over the spaces that are known.

    A score to choose by, no prediction of what is measured. A choice that was not seen comes last.
    """
    found = np.full(measured.size, math.nan)
    spaces_, labels = np.array(spaces), np.array(choices)
    for out, rest in folds:
        logs: dict[str, list[float]] = {}
        for rows in groups_of(spaces_[rest].tolist()).values():
            own = rest[rows]
            best = measured[own].min()
            for label, time in zip(labels[own].tolist(), measured[own], strict=True):
                logs.setdefault(label, []).append(math.log(time / best))
        worst = max(map(np.mean, logs.values()), default=0.0)
        means: Mapping[str, float] = {label: float(np.mean(of)) for label, of in logs.items()}
        found[out] = [math.exp(means.get(label, worst + 1)) for label in labels[out].tolist()]
    return found


def random_search(
    measured: Floats, spaces: Sequence[Places], budget: int, draws: int = 200, seed: int = 0
) -> Score:
    """Taking the best of ``budget`` configurations measured at random, of each space."""
    rng = np.random.default_rng(seed)
    found = []
    for rows in spaces:
        picks = rng.integers(0, rows.size, (draws, budget))
        found.append(measured[rows][picks].min(axis=1) / measured[rows].min())
    slow = np.concatenate(found) if found else np.array([math.nan])
    return Score(
        rank=0.0,
        slowdown_median=float(np.median(slow)),
        slowdown_p90=float(np.quantile(slow, 0.9)),
    )


# --- The baselines of a validation, scored as its predictions are


#: The score on some rows, with the spaces among these, in their numbers.
Scored = Callable[[Places, Sequence[Places]], Score]


def beside(
    question: Any,
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
            found[f"{name}, one factor{elsewhere}"] = by(scaled(measured, folds, values))
    for name, text in question.orders.items():
        found[name] = by(_formula(text, question, model, table, rows), errors=False)
    if question.along is not None:
        name, _ = table.find(question.along)
        x = numbers(table.columns[name], name)[rows.places]
        curves = keys_of(table, [next(iter(question.own))], rows.places) if question.own else keys
        found[f"linear interpolation over {name}"] = by(along(measured, folds, x, curves))
    if question.choose:
        shapes = keys_of(table, question.choose, rows.places)
        found[f"one choice of {', '.join(question.choose)}{elsewhere}"] = by(
            constant_choice(measured, folds, keys, shapes), errors=False
        )
    if choices:
        tried = "one configuration" if question.budget == 1 else f"best of {question.budget}"
        found[f"{tried} at random"] = lambda own, spaces: random_search(
            measured[own], spaces, question.budget
        )
    median = scaled(measured, folds, np.ones(measured.size))
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


def _formula(text: str, question: Any, model: Model, table: Table, rows: Rows) -> Floats:
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


def parts_of(
    question: Any, model: Model, rows: Rows, free: Sequence[str] = (), **given: Any
) -> Parts:
    """Return what is given for all rows, besides their columns and what is free."""
    for name in question.given:
        if name in rows.inputs or name in rows.measured:
            raise DseError(f"{name} is a column and set: keep one of them")
    return read_parts(
        model,
        [rows.axis] if rows.workloads else (),
        entries=question.entries,
        given={**question.given, **given},
        replaced=(*rows.inputs, *rows.measured, *free),
    )
