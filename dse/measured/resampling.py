"""The runs of one configuration, and means of blocks of them drawn again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Runs", "block_length", "resampled"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """The runs of one configuration, and what they tell of themselves.

    ``lag`` is the correlation of neighbours; ``drift`` by which share of the mean a straight line
    through the runs rises from the first to the last, and ``steady`` whether that may be chance.
    """

    values: Floats
    lag: float
    drift: float
    steady: bool

    @classmethod
    def of(cls, values: Floats) -> Runs:
        """Some runs, in their order."""
        count, off = values.size, values - values.mean()
        total = float(off @ off)
        if count < 3 or total == 0:
            return cls(values=values, lag=0.0, drift=0.0, steady=True)
        lag = float(off[1:] @ off[:-1]) / total
        along = np.arange(count) - (count - 1) / 2
        slope = float(along @ off) / float(along @ along)
        rest = off - slope * along
        own = float(rest[1:] @ rest[:-1]) / max(float(rest @ rest), 1e-300)
        spread = math.sqrt(float(rest @ rest) / (count - 2) / float(along @ along))
        spread *= math.sqrt((1 + max(own, 0.0)) / (1 - min(own, 0.9)))
        mean = float(values.mean())
        return cls(
            values=values,
            lag=lag,
            drift=slope * (count - 1) / abs(mean) if mean else 0.0,
            steady=abs(slope) <= 2 * spread,
        )

    @property
    def error(self) -> float:
        """The standard error of the mean, neighbours being alike."""
        if self.values.size < 2:
            return math.inf
        lag = min(max(self.lag, 0.0), 0.9)
        alone = float(self.values.std(ddof=1)) / math.sqrt(self.values.size)
        return alone * math.sqrt((1 + lag) / (1 - lag))

    @property
    def block(self) -> int:
        """How many neighbours are drawn together."""
        return block_length(self.values.size, self.lag)


def block_length(count: int, lag: float) -> int:
    """The length of a block of so many runs with that correlation of neighbours (Carlstein 1986).

    >>> block_length(32, 0.6), block_length(32, 0.0)
    (5, 1)
    """
    if lag <= 0:
        return 1
    lag = min(lag, 0.9)
    best = (2 * lag / (1 - lag**2)) ** (2 / 3) * count ** (1 / 3)
    return int(min(max(round(best), 1), max(count // 3, 1)))


def resampled(values: Floats, block: int, times: int, rng: np.random.Generator) -> Floats:
    """So many means of blocks drawn with replacement, as many runs as there are."""
    count = values.size
    starts = rng.integers(0, count, (times, -(-count // block)))
    index = (starts[:, :, None] + np.arange(block)).reshape(times, -1)[:, :count] % count
    return np.asarray(values[index].mean(axis=1))
