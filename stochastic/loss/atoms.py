"""Atoms of the law: the joint law of the longest item and the sum, and the loss merged from it.

Two ways (Swatman 2022, Eqs. 7-11, without the subtraction of Eq. 10, which leaves no digits in the
tail). The sweep goes through the values; all its terms are positive, so that each atom has all its
digits however small it is. The transform (``fft``) evaluates the generating function at roots of
unity: with many lanes it is faster, and each atom is good to about 1e-16 of the whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.loss.merging import Rows
from stochastic.loss.outcomes import Outcomes, choose_way, refuse
from stochastic.loss.transform import transformed

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Joint", "Merged", "choose", "joint", "merged"]

_EPS = 2.0**-52


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Joint:
    """P(max = a, sum = b).

    Attributes
    ----------
    maxima, sums : arrays of int
        Values a with positive weight, sums b. By ``fft`` those are left out that have a probability
        below 1e-17 together.
    probabilities : array of float, shape (maxima, sums)
        None is negative.
    method : str
        ``sweep`` or ``fft``.
    error : float
        Estimate, checked against P(max = a): by ``sweep`` relative to each atom, by ``fft``
        absolute.
    floor : float
        The smallest atom to which ``error`` applies.
    """

    maxima: npt.NDArray[np.int64]
    sums: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]
    method: str
    error: float
    floor: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Merged:
    """P(X = numerator / denominator; sum > 0) of X = lanes · max / sum.

    Attributes
    ----------
    numerator, denominator : arrays of int, shape (atoms,)
        In lowest terms, X ascending, int32 where that holds them.
    probability : array of float, shape (atoms,)
        All above zero.
    method, error, floor
        As of :class:`Joint`.
    """

    numerator: npt.NDArray[np.integer[Any]]
    denominator: npt.NDArray[np.integer[Any]]
    probability: npt.NDArray[np.float64]
    method: str
    error: float
    floor: float


def choose(low: int, weights: Any, lanes: int, how: str = "auto") -> str:
    """The way in which atoms are computed: ``sweep`` or ``fft``."""
    return choose_way(Outcomes.of(low, weights, lanes), how)


def joint(low: int, weights: Any, lanes: int, how: str = "auto") -> Joint:
    """P(max = a, sum = b) of so many independent items (Swatman 2022, Eqs. 7-10).

    Parameters
    ----------
    low, weights : int, array of float
        The law of an item: probabilities of low, low + 1, ...; only their ratios count.
    lanes : int
        Items in lockstep.
    how : {"auto", "sweep", "fft"}
        The way; by itself the sweep, unless that takes long.

    Raises
    ------
    LawError
        Where the result does not fit into memory or takes too long.

    >>> found = joint(0, [0.5, 0.25, 0.25], 2)
    >>> found.probabilities.tolist()[1], found.error < 1e-14
    ([0.0, 0.25, 0.0625, 0.0, 0.0], True)
    """
    law = Outcomes.of(low, weights, lanes)
    way = choose_way(law, how)
    first_row, first, last = law.reach if way == "fft" else (0, 0, law.lanes * law.top)
    width = last - first + 1
    refuse(law, way, 8 * (len(law.values) - first_row) * width)
    if way == "fft":
        table, error, floor = *transformed(law), 0.0
    else:
        table = np.zeros((len(law.values), width))
        base = np.arange(len(law.values), dtype=np.int64) * width
        error, floor = _sweep(law, base, table.reshape(-1)), law.floor
    return Joint(
        maxima=law.maxima[first_row:],
        sums=law.sums(first, last),
        probabilities=table,
        method=way,
        error=error,
        floor=floor,
    )


def merged(low: int, weights: Any, lanes: int, how: str = "auto") -> Merged:
    """The law of X = lanes · max / sum, equal fractions merged (Swatman 2022, Eq. 11).

    Groups without any work are left out, not made up for. Parameters and errors as of
    :func:`joint`.

    >>> die = merged(1, [1 / 6] * 6, 2)
    >>> [f"{a}/{b}" for a, b in zip(die.numerator, die.denominator)]
    ['1/1', '12/11', '10/9', '8/7', '6/5', '5/4', '4/3', '10/7', '3/2', '8/5', '5/3', '12/7']
    """
    law = Outcomes.of(low, weights, lanes)
    way = choose_way(law, how)
    if way == "fft":
        first_row, first, last = law.reach
        width = last - first + 1
        values = law.maxima[first_row:]
        refuse(law, way, 16 * len(values) * width)
        atoms, error = transformed(law)
        firsts = np.repeat(law.sums(first, first), len(values))
        start = np.arange(len(values) + 1) * width
        floor = 0.0
    else:
        refuse(law, way, 16 * law.count)
        values, firsts = law.maxima, law.lanes * law.low + law.step * law.values
        sizes = (law.lanes - 1) * law.values + 1
        start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        atoms = np.empty(start[-1])
        error, floor = _sweep(law, start[:-1] - law.values, atoms), law.floor
    rows = Rows(
        values=values,
        first=firsts,
        start=start,
        step=law.step,
        atoms=atoms.reshape(-1),
        lanes=law.lanes,
    )
    numerator, denominator, probability = rows.merged()
    return Merged(
        numerator=numerator,
        denominator=denominator,
        probability=probability,
        method=way,
        error=error,
        floor=floor,
    )


@lru_cache(maxsize=64)
def _factorials(
    lanes: int, shift: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], float]:
    """1/k! as mantissas and exponents, for k = 0 ... lanes; lanes! / 2**(shift·lanes)."""
    exponents = np.empty(lanes + 1, dtype=np.int64)
    mantissas = np.empty(lanes + 1)
    factorial = 1
    for k in range(lanes + 1):
        factorial *= max(k, 1)
        bits = factorial.bit_length()
        mantissas[k], exponents[k] = (1 << bits) / factorial, -bits
    return mantissas, exponents, factorial / (1 << (shift * lanes))


def _sweep(law: Outcomes, base: npt.NDArray[np.int64], found: npt.NDArray[np.float64]) -> float:
    """Put the atoms of sum b, on the lattice, at base + b; their relative error."""
    from stochastic.kernels.sweep import starts, sweep

    mantissas, exponents, scale = _factorials(law.lanes, law.shift)
    scale *= math.exp(-law.lanes * math.log1p(law.excess))
    start = starts(law.lanes, law.top)
    masses = np.empty(len(law.values))
    sweep(
        law.values,
        law.weights,
        law.shift,
        mantissas,
        exponents,
        scale,
        start,
        np.zeros(start[-1]),
        base,
        found,
        masses,
    )
    sure = law.masses > 1e-280
    off = np.abs(masses[sure] / law.masses[sure] - 1.0)
    return float(4.0 * off.max(initial=0.0)) + 8.0 * _EPS
