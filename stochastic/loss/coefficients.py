"""Spectra of items up to each value, of which products are powers, planned once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stochastic import sizes
from stochastic.loss.frequencies import NEGLIGIBLE, frequencies, window
from stochastic.loss.items import LEFT_OUT, Items

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Plan", "coefficients"]

_ROWS = sizes.COEFFICIENT_ROWS
_SPARSE = (
    sizes.COEFFICIENT_SPARSE
)  # cells a value, beyond which values are listed rather than cells
_CHUNK = sizes.COEFFICIENT_CHUNK


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What a spectrum is to hold: sums up to ``end``, told apart within ``period``.

    The last ``kept`` values are the largest of a group with a probability that counts; ``idle`` of
    those have no work. ``log_upto`` is log P(max <= value).
    """

    items: Items
    lanes: int
    end: int
    period: int
    log_upto: npt.NDArray[np.float64]
    kept: int
    idle: int
    runs: list[tuple[int, int]]
    left_out: float

    @classmethod
    def of(cls, items: Items, lanes: int) -> Plan:
        """Window, values and frequencies that matter."""
        begin, last = window(items.places, items.weights, lanes)
        period = (last - begin + 1) | 1
        below = np.log(np.minimum(np.cumsum(items.weights), 1.0))
        rest = np.log1p(-np.minimum(items.above, 0.5))
        log_upto = lanes * np.where(items.above < 0.5, rest, below)
        kept = len(log_upto) - int(np.searchsorted(log_upto, math.log(LEFT_OUT)))
        runs, left_out = frequencies(items.places, items.weights, lanes, period, kept)
        return cls(
            items=items,
            lanes=lanes,
            end=begin + period,
            period=period,
            log_upto=log_upto,
            kept=kept,
            idle=items.idle if kept == len(log_upto) else 0,
            runs=runs,
            left_out=left_out,
        )

    @property
    def frequencies(self) -> float:
        """How many frequencies may matter."""
        return float(sum(stop - start for start, stop in self.runs))


def coefficients(
    plan: Plan, centre: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Frequencies that do matter, and their coefficients."""
    from stochastic.kernels.inversion import transforms

    places, kept = plan.items.places, plan.kept
    if places[-1] >= _SPARSE * len(places):
        rows, column = np.zeros(1), np.arange(len(places))
        columns = places - centre
    else:
        count = min(1 << round(math.log2(places[-1] + 1) / 2), _ROWS)
        rows, column = np.arange(float(count)), places // count
        columns = count * np.arange(column[-1] + 1) - centre
    row = places % len(rows)
    used = [np.empty(0, dtype=np.int64)]
    parts = [np.empty((2, 0, kept - plan.idle))]
    step = max(_CHUNK // kept, 1)
    edges, turned = np.empty((2, len(columns) + len(rows))), np.empty((2, len(places)))
    lacking, power = np.empty((2, 2, kept))
    for start, stop in plan.runs:
        for begin in range(start, stop, step):
            asked = np.arange(begin, min(begin + step, stop))
            chosen, found = np.empty_like(asked), np.empty((2, len(asked), kept - plan.idle))
            size = transforms(
                *(asked, plan.period, columns, rows, column, row, plan.items.weights),
                *(plan.idle, plan.lanes, NEGLIGIBLE),
                *(edges, turned, lacking, power, chosen, found),
            )
            used.append(chosen[:size])
            parts.append(found[:, :size].copy())
    return np.concatenate(used), np.concatenate(parts, axis=1)
