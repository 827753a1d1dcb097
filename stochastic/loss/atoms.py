"""Compute atoms (values with their probabilities) of (longest item, sum), and of the loss.

Two methods implement Eqs. 7-11 of Swatman 2022, without the subtraction of Eq. 10, which cancels in
the tail. The sweep adds value by value, with positive terms only. So each atom has a small relative
error, but the sweep takes lanes**3 steps per value: minutes with 1024 lanes. The transform
(``fft``) evaluates the generating function at roots of unity. It is faster with many lanes; its
absolute error is 1e-16.

At the end, equal losses are merged. In lowest terms, sum / max is a whole number plus a Farey
fraction. If most of the possible fractions occur, we use one table of Farey fractions (see
stochastic.kernels.atoms): this is 7 times as fast as sorting (U{0..1000}, 32 lanes). If few
fractions occur, the table would be too large, and the quotients are sorted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError, check_integer

Fractions = tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]], Floats]

_EPS = 2.0**-52
#: -log of the probability that the transform leaves out in each of three tails.
_LOG_LEFT_OUT = 42.0
_LEFT_OUT = 3 * math.exp(-_LOG_LEFT_OUT)

_METHODS = ("auto", "sweep", "fft")
_MOST_SECONDS = 120.0
#: The more accurate sweep is always used if it takes at most this time, in seconds.
_MAX_SWEEP_SECONDS = 2.0
#: The sweep is used if it computes atoms down to this size without underflow.
_SWEEP_FLOOR = 1e-30
#: Up to this product of numerator and denominator, different quotients differ as floats.
_MAX_EXACT_PRODUCT = 2**51


@dataclass(frozen=True, kw_only=True, eq=False)
class _AtomProblem:
    """The number of lanes, and the law of an item, whose values are ``low + step·values``."""

    low: int
    step: int
    values: Ints
    weights: Floats
    lanes: int

    @classmethod
    def from_weights(cls, low: int, weights: Any, lanes: int) -> _AtomProblem:
        weights = np.asarray(weights, dtype=np.float64)
        at = np.flatnonzero(weights)
        if not len(at) or not weights.min() >= 0 or not math.isfinite(weights.sum()):
            raise LawError("weights: expected probabilities, at least one of them above 0")
        weights, moved = weights[at], at - at[0]
        if abs(weights.sum() - 1.0) > 1e-9:
            weights = weights / math.fsum(weights)
        step = max(int(np.gcd.reduce(moved)), 1)
        return cls(
            low=int(low) + int(at[0]),
            step=step,
            values=(moved // step).astype(np.int64),
            weights=weights,
            lanes=check_integer("lanes", lanes, least=1, example=32),
        )

    @property
    def top(self) -> int:
        return int(self.values[-1])

    @property
    def maxima(self) -> Ints:
        return self.low + self.step * self.values

    def sums(self, first: int, last: int) -> Ints:
        return self.lanes * self.low + self.step * np.arange(first, last + 1, dtype=np.int64)

    @property
    def count(self) -> int:
        return (self.lanes - 1) * int(self.values.sum()) + len(self.values)

    @cached_property
    def excess(self) -> float:
        """Return the rounding error of the weights: their sum minus 1."""
        return math.fsum([*self.weights.tolist(), -1.0])

    @cached_property
    def max_law(self) -> Floats:
        """Return P(max = value) for each value, with a small relative error."""
        below = np.cumsum(self.weights.astype(np.longdouble))
        share = self.weights[1:] / below[1:]
        below /= below[-1]
        with np.errstate(divide="ignore"):  # log(0) where all smaller values are negligible
            above = -np.expm1(self.lanes * np.log1p(-share)) * below[1:] ** self.lanes
        return np.concatenate([below[:1] ** self.lanes, above]).astype(np.float64)

    @cached_property
    def scale_bits(self) -> int:
        """Return a q for which the sweep's scale 2**(q·i) / i! is <= 2**1000 in every row i."""
        n = self.lanes
        q = int((1000.0 + _log2_factorial(n)) // n)
        while 2**q < n and q * 2**q - _log2_factorial(2**q) > 1000.0:
            q -= 1
        return q

    @property
    def floor(self) -> float:
        """Return the smallest probability of atoms that the sweep computes without underflow."""
        n, q = self.lanes, self.scale_bits
        most = min(n, 2**q)  # index of the row with the largest scale
        lost = _log2_factorial(n) - _log2_factorial(most) - q * (n - most)
        return float(min(1e-300 * 2.0 ** min(lost, 1000.0), 1.0))

    @property
    def sweep_seconds(self) -> float:
        n = float(self.lanes)
        total = float(self.values.sum()) + 128.0 * len(self.values) / n
        return total * (6e-11 * n**3 / 6 + 4e-10 * n**2 / 2 + 2e-9 * n)

    @cached_property
    def fft_window(self) -> tuple[int, int, int]:
        """Return the index of the transform's first value, and the first and last sum (in steps).

        Other values and sums have a probability below :data:`_LEFT_OUT`. For sums, this is
        Bernstein's bound.
        """
        total = float(self.weights.sum())
        below = np.cumsum(self.weights) / total
        row = int(np.argmax(self.lanes * np.log(below) > -_LOG_LEFT_OUT))
        mean = float(self.weights @ self.values) / total
        spread = float(self.weights @ (self.values - mean) ** 2) / total * self.lanes

        def away(most: float) -> float:
            part = _LOG_LEFT_OUT * most / 3
            return part + math.sqrt(part * part + 2 * _LOG_LEFT_OUT * spread) + 1

        first = max(math.floor(self.lanes * mean - away(mean)), 0)
        last = min(math.ceil(self.lanes * mean + away(self.top - mean)), self.lanes * self.top)
        return row, first, last

    @property
    def fft_seconds(self) -> float:
        row, first, last = self.fft_window
        return 1.4e-8 * (len(self.values) - row) * (last - first + 1)


def _log2_factorial(n: int) -> float:
    return math.lgamma(n + 1.0) / math.log(2.0)


def _choose_method(outcomes: _AtomProblem, method: str) -> str:
    """Return ``fft`` if the sweep underflows, or if it is slow and ``fft`` is faster."""
    if method not in _METHODS:
        raise LawError(f"method = {method!r}: expected one of {', '.join(_METHODS)}")
    if method != "auto":
        return method
    if outcomes.floor > _SWEEP_FLOOR:
        return "fft"
    seconds = outcomes.sweep_seconds
    return "fft" if seconds > _MAX_SWEEP_SECONDS and seconds > 2 * outcomes.fft_seconds else "sweep"


def _check_affordable(outcomes: _AtomProblem, method: str, size: int) -> None:
    seconds = outcomes.fft_seconds
    if method == "sweep":
        size += 4 * outcomes.lanes * (outcomes.lanes * outcomes.top + 512)
        seconds = outcomes.sweep_seconds
        if outcomes.floor > _SWEEP_FLOOR:
            raise LawError(
                f"the sweep underflows in {outcomes.lanes} lanes: take 'auto' or 'fft' instead of "
                "'sweep'; moments, CDF and quantiles need no atoms"
            )
    if size > sizes.OUTCOMES_BYTES or seconds > _MOST_SECONDS:
        raise LawError(
            f"the atoms of {len(outcomes.values)} values up to {outcomes.maxima[-1]} in "
            f"{outcomes.lanes} lanes would take {size / 2**30:.3g} GiB and about {seconds:.2g} s "
            f"(by the {method}), above {sizes.OUTCOMES_BYTES >> 30} GiB or {_MOST_SECONDS:.0f} s: "
            "moments, CDF and quantiles need no atoms; a larger eps cuts the support shorter; "
            "simulate draws"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointAtoms:
    """The table of P(max = a, sum = b) by maximum and sum; ``fft`` omits a probability of 1e-17.

    ``error`` is an estimate that is checked against P(max = a). For ``sweep`` it is the relative
    error of each atom of at least ``floor``; for ``fft`` it is the absolute error.
    """

    maxima: Ints
    sums: Ints
    probabilities: Floats
    method: str
    error: float
    floor: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossAtoms:
    """The atoms P(X = numerator / denominator; sum > 0) of X = lanes · max / sum, ascending.

    Fractions are in lowest terms, int32 if they fit; all probabilities are above zero. ``method``,
    ``error`` and ``floor`` are as in :class:`JointAtoms`.
    """

    numerator: npt.NDArray[np.integer[Any]]
    denominator: npt.NDArray[np.integer[Any]]
    probability: Floats
    method: str
    error: float
    floor: float


def atom_method(low: int, weights: Any, lanes: int, method: str = "auto") -> str:
    """Return the method by which atoms are computed: ``sweep`` or ``fft``."""
    return _choose_method(_AtomProblem.from_weights(low, weights, lanes), method)


def joint_atoms(low: int, weights: Any, lanes: int, method: str = "auto") -> JointAtoms:
    """Return P(max = a, sum = b) of ``lanes`` independent items (Swatman 2022, Eqs. 7-10)."""
    law = _AtomProblem.from_weights(low, weights, lanes)
    way = _choose_method(law, method)
    first_row, first, last = law.fft_window if way == "fft" else (0, 0, law.lanes * law.top)
    width = last - first + 1
    _check_affordable(law, way, 8 * (len(law.values) - first_row) * width)
    if way == "fft":
        table, error, floor = *_transform_atoms(law), 0.0
    else:
        table = np.zeros((len(law.values), width))
        base = np.arange(len(law.values), dtype=np.int64) * width
        error, floor = _run_sweep(law, base, table.reshape(-1)), law.floor
    return JointAtoms(
        maxima=law.maxima[first_row:],
        sums=law.sums(first, last),
        probabilities=table,
        method=way,
        error=error,
        floor=floor,
    )


def loss_atoms(low: int, weights: Any, lanes: int, method: str = "auto") -> LossAtoms:
    """Return the law of X = lanes · max / sum, with equal fractions merged (Swatman 2022, Eq. 11).

    Groups without work are left out; the probabilities of other groups are not rescaled.
    """
    law = _AtomProblem.from_weights(low, weights, lanes)
    way = _choose_method(law, method)
    if way == "fft":
        first_row, first, last = law.fft_window
        width = last - first + 1
        values = law.maxima[first_row:]
        _check_affordable(law, way, 16 * len(values) * width)
        atoms, error = _transform_atoms(law)
        firsts = np.repeat(law.sums(first, first), len(values))
        start = np.arange(len(values) + 1) * width
        floor = 0.0
    else:
        _check_affordable(law, way, 16 * law.count)
        values, firsts = law.maxima, law.lanes * law.low + law.step * law.values
        sizes = (law.lanes - 1) * law.values + 1
        start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        atoms = np.empty(start[-1])
        error, floor = _run_sweep(law, start[:-1] - law.values, atoms), law.floor
    numerator, denominator, probability = _merge_fractions(
        values, firsts, start, law.step, atoms.reshape(-1), law.lanes
    )
    return LossAtoms(
        numerator=numerator,
        denominator=denominator,
        probability=probability,
        method=way,
        error=error,
        floor=floor,
    )


@lru_cache(maxsize=64)
def _factorials(lanes: int, shift: int) -> tuple[Floats, Ints, float]:
    """Return 1/k! for k = 0..lanes as mantissas and exponents, and lanes! / 2**(shift·lanes)."""
    exponents = np.empty(lanes + 1, dtype=np.int64)
    mantissas = np.empty(lanes + 1)
    factorial = 1
    for k in range(lanes + 1):
        factorial *= max(k, 1)
        bits = factorial.bit_length()
        mantissas[k], exponents[k] = (1 << bits) / factorial, -bits
    return mantissas, exponents, factorial / (1 << (shift * lanes))


def _run_sweep(law: _AtomProblem, base: Ints, out: Floats) -> float:
    """Write the atom of each sum b, in steps, to ``out[base + b]``; return the relative error."""
    from stochastic.kernels.atoms import row_starts, sweep

    mantissas, exponents, scale = _factorials(law.lanes, law.scale_bits)
    scale *= math.exp(-law.lanes * math.log1p(law.excess))
    start = row_starts(law.lanes, law.top)
    masses = np.empty(len(law.values))
    sweep(
        law.values,
        law.weights,
        law.scale_bits,
        mantissas,
        exponents,
        scale,
        start,
        np.zeros(start[-1]),
        base,
        out,
        masses,
    )
    sure = law.max_law > 1e-280
    off = np.abs(masses[sure] / law.max_law[sure] - 1.0)
    return float(4.0 * off.max(initial=0.0)) + 8.0 * _EPS


def _transform_atoms(law: _AtomProblem) -> tuple[Floats, float]:
    """Return the table of P(max, sum) over the window ``fft_window``, and its absolute error.

    Atoms that may be noise are 0. Each row is scaled to sum to the probability of its maximum.
    """
    from scipy.fft import irfft, next_fast_len, rfft

    from stochastic.kernels.atoms import spectra

    first_row, first, last = law.fft_window
    weights = law.weights / (1.0 + law.excess)
    table = np.zeros((len(law.values) - first_row, last - first + 1))
    rows, error = max(sizes.TRANSFORM_CHUNK // table.shape[1], 4), 0.0
    for at in range(first_row, len(law.values), rows):
        values = law.values[at : at + rows]
        sums = np.arange(first, min(last, law.lanes * int(values[-1])) + 1)
        if not len(sums):
            continue
        size = next_fast_len(len(sums), real=True)
        below = np.bincount(law.values[:at] % size, weights[:at], minlength=size)
        roots = np.exp(-2j * np.pi / size * np.arange(size))
        spectrum = np.empty((len(values), size // 2 + 1), dtype=np.complex128)
        spectra(values, weights[at : at + rows], law.lanes, roots, rfft(below), spectrum)
        result = irfft(spectrum, size, axis=1, overwrite_x=True)[:, sums % size]
        into = table[at - first_row :, : len(sums)]
        for row, a, mass, to in zip(result, values, law.max_law[at:], into, strict=False):
            noise = max(-float(row.min()), 0.0)
            row[(row < 2 * noise) | (sums < a) | (sums > law.lanes * a)] = 0.0
            total = float(row.sum())
            if total > 0:
                to[:] = row * (mass / total)
            error = max(error, 16 * noise, 4 * law.lanes * _EPS * float(to.max()))
    return table, error + _LEFT_OUT


# --- merging equal losses: atoms[start[p] + i] is P(max = values[p], sum = first[p] + i·step)
def _merge_fractions(
    values: Ints, first: Ints, start: Ints, step: int, atoms: Floats, lanes: int
) -> Fractions:
    common = math.gcd(int(np.gcd.reduce(values)), step)
    idle = int(values[0] == 0)
    values, first, start = values[idle:] // common, first[idle:] // common, start[idle:]
    if not len(values):
        return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
    way = _merge_by_table if _is_dense(int(values[-1]), lanes, atoms) else _merge_by_sorting
    return way(values, first, start, step // common, atoms, lanes)


def _is_dense(high: int, lanes: int, atoms: Floats) -> bool:
    fractions = 0.304 * high**2 * lanes
    if 8 * fractions > sizes.RATIOS_BYTES:
        return False
    table = 8e-9 * fractions + 3e-9 * high**2 + 5e-9 * len(atoms)
    return table < 1e-7 * int(np.count_nonzero(atoms))


def _merge_by_table(
    values: Ints, first: Ints, start: Ints, step: int, atoms: Floats, lanes: int
) -> Fractions:
    from stochastic.kernels import atoms as kernels

    high = int(values[-1])
    above, below = kernels.farey_fractions(high)
    place = kernels.farey_places(above, below, high, int(values[0]))
    ratios = kernels.gather_ratios(values, first, step, start, atoms, place, len(above), lanes)
    count = np.count_nonzero(ratios)
    numerator, denominator = np.empty(count, np.int32), np.empty(count, np.int32)
    probability = np.empty(count)
    kernels.reduced_losses(ratios, above, below, lanes, numerator, denominator, probability)
    return numerator, denominator, probability


def _merge_by_sorting(
    values: Ints, first: Ints, start: Ints, step: int, atoms: Floats, lanes: int
) -> Fractions:
    at = start[0] + np.flatnonzero(atoms[start[0] :])
    if not at.size:  # all atoms are below the rounding error
        return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
    row = np.searchsorted(start, at, side="right") - 1
    below = first[row] + step * (at - start[row])
    above = lanes * values[row]
    # sort by X - 1, whose numerators are small if the values are large but close to each other
    more = above - below
    keys: npt.NDArray[Any] = more / below
    if int(more.max()) * int(below.max()) >= _MAX_EXACT_PRODUCT:
        keys = np.array(list(map(Fraction, more.tolist(), below.tolist())), dtype=object)
    order = np.argsort(keys)
    ordered = keys[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    numerator, denominator = _reduce_fractions(above[order[new]], below[order[new]])
    return numerator, denominator, np.add.reduceat(atoms[at[order]], np.flatnonzero(new))


def _reduce_fractions(
    numerator: Ints, denominator: Ints
) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]]]:
    common = np.gcd(numerator, denominator)
    numerator, denominator = numerator // common, denominator // common
    if len(numerator) and max(numerator.max(), denominator.max()) < 2**31:
        return numerator.astype(np.int32), denominator.astype(np.int32)
    return numerator, denominator
