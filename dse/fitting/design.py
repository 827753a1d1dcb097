"""Propose the measurements that determine the free quantities of a model best.

The next row is the one that reduces the mean variance of predictions over all candidates most. A
prediction has two errors. The quantities are uncertain: their relative error is ``PRIOR`` before
any measurement. The model is not exact: its relative error, ``DISCREPANCY``, is similar for shapes
whose columns differ by less than a factor of ``SIMILAR``. Without the second error, the rows would
be extreme shapes that lie close together (a D-optimal design).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symbolic.model import Model

Floats = NDArray[np.float64]

#: Standard deviations of logarithms: of a free quantity before any measurement (PRIOR), of the
#: model's error (DISCREPANCY), and of the error of a measurement (NOISE).
PRIOR, DISCREPANCY, NOISE = 0.5, 0.1, 0.05
#: The model has similar errors in rows whose columns differ by less than this factor.
SIMILAR = 4.0
#: STEP: relative step of numerical derivatives. MAX_CANDIDATES: upper limit on compared candidates.
STEP, MAX_CANDIDATES = 0.05, 2000
#: A quantity is determined if its standard deviation is at most this share of ``PRIOR``.
DETERMINED = 0.5


def log_slopes(
    model: Model,
    columns: Mapping[str, Floats],
    values: Mapping[str, float],
    to: str,
    options: Mapping[str, Any],
) -> Floats:
    """Return the derivatives d log(prediction) / d log(value), shape (rows, quantities)."""
    from dse.evaluation import evaluate

    count = len(values)
    moved = {name: np.full((count + 1, 1), value) for name, value in values.items()}
    steps = np.empty(count)
    for place, (name, array) in enumerate(moved.items()):
        high = model.quantity(name).domain.high
        ahead = array[0, 0] * (1 + STEP)
        array[place + 1] = ahead if ahead <= high else array[0, 0] / (1 + STEP)
        steps[place] = np.log(array[place + 1, 0] / array[0, 0])
    inputs: dict[str, Any] = {**columns, **moved}
    predicted = evaluate(model, outputs=[to], **options, **inputs)[to].values
    logs = np.log(np.broadcast_to(predicted, (count + 1, *next(iter(columns.values())).shape)))
    return ((logs[1:] - logs[0]) / steps[:, None]).T


def similarity(columns: Mapping[str, Floats]) -> Floats:
    """Return the correlation of the model's errors between rows, of shape (rows, rows).

    >>> np.round(similarity({"n": np.array([1.0, 4.0, 1e9])})[0], 2).tolist()
    [1.0, 0.61, 0.0]
    """
    logs = np.log(np.maximum(np.stack(list(columns.values()), axis=1), 1e-300)) / np.log(SIMILAR)
    squares = np.square(logs).sum(axis=1)
    apart = squares[:, None] + squares[None, :] - 2 * logs @ logs.T
    return np.exp(-np.maximum(apart, 0) / 2)


def determined_quantities(slopes: Floats) -> NDArray[np.bool_]:
    """Return the mask of the quantities that measured rows determine.

    >>> determined_quantities(np.array([[1.0, 0.0], [1.0, 1e-3]])).tolist()
    [True, False]
    """
    error = np.hypot(DISCREPANCY, NOISE)
    precision = np.eye(slopes.shape[1]) / PRIOR**2 + slopes.T @ slopes / error**2
    return np.sqrt(np.diag(np.linalg.inv(precision))) <= DETERMINED * PRIOR


def propose(
    slopes: Floats, similar: Floats, measured: Sequence[int], candidates: Sequence[int], count: int
) -> list[int]:
    """Return the rows to measure next, best first, chosen one after the other.

    Parameters:
        slopes (array): Derivatives of log predictions of all rows, shape (rows, quantities).
        similar (array): Correlation of the model's errors, shape (rows, rows).
        measured, candidates (sequence of int): Indices of the rows that are measured already, and
            of the rows to choose from.
    """
    covariance = PRIOR**2 * slopes @ slopes.T + DISCREPANCY**2 * similar
    open_rows = np.zeros(len(slopes), dtype=bool)
    open_rows[list(candidates)] = True
    chosen: list[int] = []
    for place in (*measured, *[-1] * min(count, len(candidates))):
        row = place
        if place < 0:
            gains = np.square(covariance).sum(axis=0) / (np.diag(covariance) + NOISE**2)
            row = int(np.argmax(np.where(open_rows, gains, -np.inf)))
            open_rows[row] = False
            chosen.append(row)
        column = covariance[:, row] / (covariance[row, row] + NOISE**2)
        covariance = covariance - np.outer(column, covariance[row])
    return chosen
