"""Which measured configurations can be the best, by drawing their runs again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.measured.resampling import Runs, resampled

__all__ = ["RESAMPLES", "SURE", "Won"]

Floats = NDArray[np.float64]

#: Times that the runs are drawn again; errors of the mean by which who is behind cannot be best;
#: from which chance on the best is told apart from all others.
RESAMPLES, FAR, SURE = 4096, 6.0, 0.95
#: Parts of the resamples, each taken for a sample by itself.
_PARTS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Won:
    """Who can be the best (rows), the likeliest first, and what the resamples tell of them."""

    rows: NDArray[np.int64]
    chances: Floats
    regrets: Floats
    means: Floats
    gains: Floats

    @classmethod
    def of(cls, runs: dict[int, Runs], rng: np.random.Generator) -> Won:
        """Draw the runs again of all that are not too far behind."""
        known = [one.error / max(abs(one.values.mean()), 1e-300) for one in runs.values()]
        usual = float(np.median([share for share in known if share < math.inf]))
        means = np.array([one.values.mean() for one in runs.values()])
        errors = np.array([one.error for one in runs.values()])
        alone = errors == math.inf
        many = float(np.median([one.values.size for one in runs.values()]))
        errors[alone] = usual * np.abs(means[alone]) * math.sqrt(many)
        near = means - FAR * errors <= np.min(means + FAR * errors)
        rows = np.array(list(runs))[near]
        drawn = np.stack(
            [
                resampled(runs[row].values, runs[row].block, RESAMPLES, rng)
                if runs[row].values.size > 1
                else rng.normal(mean, error, RESAMPLES)
                for row, mean, error in zip(rows.tolist(), means[near], errors[near], strict=True)
            ]
        )
        least = drawn.min(axis=0)
        first = drawn == least
        chances = (first / first.sum(axis=0)).reshape(rows.size, _PARTS, -1).mean(axis=2)
        regrets = (drawn - least).reshape(rows.size, _PARTS, -1).mean(axis=2)
        gains = _gains(means[near], errors[near])
        order = np.lexsort((regrets.mean(axis=1), -chances.mean(axis=1)))
        return cls(
            rows=rows[order],
            chances=chances[order],
            regrets=regrets[order],
            means=drawn[order],
            gains=gains[order],
        )


def _gains(means: Floats, errors: Floats) -> Floats:
    """What measuring each as often again is expected to better the choice by."""
    from scipy.special import ndtr

    if means.size < 2:
        return np.zeros(means.size)
    order = np.argsort(means, kind="stable")
    other = np.full(means.size, means[order[0]])
    other[order[0]] = means[order[1]]
    moves = errors / math.sqrt(2)  # by how much the mean will move
    with np.errstate(all="ignore"):
        z = -np.abs(means - other) / moves
        found = moves * (z * ndtr(z) + np.exp(-z * z / 2) / math.sqrt(2 * math.pi))
    return np.where(moves > 0, found, 0.0)
