"""What anybody would predict without a model: the yardsticks of a validation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dse.fitting.columns import Floats
from dse.validation.folds import Folds, Places, groups_of
from dse.validation.scores import Score


def one_value(measured: Floats, folds: Folds) -> Floats:
    """The median of what is known, for every row."""
    found = np.full(measured.size, math.nan)
    for out, rest in folds:
        found[out] = np.median(measured[rest])
    return found


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
