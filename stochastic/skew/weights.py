"""Read laws of random weights, from which the shares of bins are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic.arrays import Floats
from stochastic.errors import LawError
from stochastic.work.families import poisson_pmf
from stochastic.work.parse import LAW_SYNTAX, LawSyntax, split_law
from stochastic.work.pmf import Pmf

_TAIL = 1e-20  # tail at which infinite laws of weights are truncated
_MOST_EXPONENT = 2.0  # from which Γ(2 - exponent) has another sign


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightLaw:
    """The law of the weight of a bin.

    ``draw(rng, size)`` returns independent weights. ``chances(n, s)``, if known, returns P(a
    Poisson count with the mean s·weight is n) for n = 0, 1, ..., as a sum of some ``terms``.
    ``span`` is (smallest weight above 0, largest), ``empty`` is P(weight = 0), ``missing`` bounds
    the error by truncation, and ``concentration`` is the shape of a gamma law, whose draws are
    Dirichlet shares.
    """

    draw: Callable[[np.random.Generator, Any], Floats]
    chances: Callable[[Floats, float], Floats] | None = None
    terms: int = 1
    mean: float = 1.0
    span: tuple[float, float] = (0.0, math.inf)
    empty: float = 0.0
    missing: float = 0.0
    concentration: float = 0.0


def _power(exponent: float, low: float, high: float) -> WeightLaw:
    """Return the law with a density that is proportional to w**-exponent from low to high."""

    def area(power: float) -> float:
        """Return the integral of (w / low)**power / w from low to high."""
        ratio = math.log(high / low)
        return ratio if abs(power) * ratio < 1e-9 else math.expm1(power * ratio) / power

    def draw(rng: np.random.Generator, size: Any) -> Floats:
        parts = rng.random(size) * area(1 - exponent)
        if abs(1 - exponent) < 1e-9:
            return np.asarray(low * np.exp(parts))
        return np.asarray(low * np.exp(np.log1p(parts * (1 - exponent)) / (1 - exponent)))

    def chances(n: Floats, s: float) -> Floats:
        from scipy.special import gammainc, gammaincc

        shapes = n[1:] + 1 - exponent
        below, above = gammainc(shapes, s * low), gammaincc(shapes, s * high)
        upper = gammaincc(shapes, s * low) - above
        inside = np.where(below > 0.5, upper, gammainc(shapes, s * high) - below)
        # Γ(n + 1 - exponent) / Γ(n + 1), times (s·low)**(exponent - 1) / area
        ratios = np.cumprod(np.append(math.gamma(2 - exponent), shapes[:-1] / n[2:] * 1.0))
        rest = ratios * inside * (s * low) ** (exponent - 1) / area(1 - exponent)
        return np.append(max(1 - math.fsum(rest), 0.0), rest)

    return WeightLaw(
        draw=draw,
        chances=chances if exponent < _MOST_EXPONENT else None,
        mean=low * area(2 - exponent) / area(1 - exponent),
        span=(low, high),
    )


def _dirichlet(concentration: float) -> WeightLaw:
    def chances(n: Floats, s: float) -> Floats:
        return np.asarray(Pmf.negative_binomial(concentration, 1 / (1 + s)).pmf(n))

    return WeightLaw(
        draw=lambda rng, size: rng.standard_gamma(concentration, size),
        chances=chances,
        mean=concentration,
        concentration=concentration,
    )


def _lognormal(mean: float, spread: float) -> WeightLaw:
    width = math.sqrt(math.log1p((spread / mean) ** 2))
    return WeightLaw(draw=lambda rng, size: np.exp(width * rng.standard_normal(size)))


def _discrete(law: Pmf) -> WeightLaw:
    if law.high == 0:
        raise LawError(f"weights = {law!r} are all 0: expected weights above 0")
    finite = law.cut(_TAIL)
    places = np.flatnonzero(finite.weights)
    values, shares = places + float(finite.low), finite.weights[places]
    positive = values > 0

    def chances(n: Floats, s: float) -> Floats:
        result = shares[positive] @ poisson_pmf(n, s * values[positive][:, None])
        result[0] += finite.pmf(0)
        return np.asarray(result)

    return WeightLaw(
        draw=lambda rng, size: np.asarray(law.sample(size, rng), dtype=np.float64),
        chances=chances,
        terms=len(values),
        mean=finite.mean(),
        span=(float(values[positive][0]), float(values[-1])),
        empty=float(finite.pmf(0)),
        missing=finite.missing,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFamily:
    """A row of the table: the syntax and the law of a family of continuous weights."""

    form: LawSyntax
    make: Callable[..., WeightLaw]
    is_valid: Callable[..., bool]
    requirement: str


#: Continuous laws of weights; only ratios of weights matter.
WEIGHT_FAMILIES = {
    "power": WeightFamily(
        form=LawSyntax(("exponent", "low", "high"), "power: 1.2, 0.01, 2"),
        make=_power,
        is_valid=lambda exponent, low, high: 0 < low < high and abs(exponent) < 100,
        requirement="0 < low < high; the density falls as weight**-exponent",
    ),
    "dirichlet": WeightFamily(
        form=LawSyntax(("concentration",), "dirichlet: 0.3"),
        make=_dirichlet,
        is_valid=lambda concentration: concentration > 0,
        requirement="the concentration of each bin is above 0",
    ),
    "lognormal": WeightFamily(
        form=LawSyntax(("mean", "spread"), "lognormal: 1, 0.5"),
        make=_lognormal,
        is_valid=lambda mean, spread: mean > 0 and spread > 0,
        requirement="the mean and the spread, a standard deviation, are above 0",
    ),
}
_FORMS = {name: row.form for name, row in WEIGHT_FAMILIES.items()} | LAW_SYNTAX
_OTHERS = "the path of a .csv file, a Pmf, or a law of scipy.stats"


def read_weights(value: Any) -> WeightLaw:
    """Return the law of weights from text, a Pmf, or a frozen law of SciPy."""
    if isinstance(value, str):
        return _parse_weights(value)
    if isinstance(value, Pmf):
        return _discrete(value)
    if hasattr(value, "pdf") and hasattr(value, "rvs"):
        if not value.support()[0] >= 0:
            raise LawError(f"weights = {value!r:.60}: expected a law without negative values")
        return WeightLaw(draw=lambda rng, size: value.rvs(size=size, random_state=rng))
    try:
        return _discrete(Pmf.from_scipy(value))
    except LawError as error:
        examples = ", ".join(repr(row.form.example) for row in WEIGHT_FAMILIES.values())
        raise LawError(
            f"weights = {value!r:.60}: expected a law, such as {examples}, or {_OTHERS}; shares "
            f"that are known are probabilities= ({error})"
        ) from None


def _parse_weights(text: str) -> WeightLaw:
    if text.strip().lower().endswith((".csv", ".csv.gz")):
        return _discrete(Pmf.parse(text))
    name, words = split_law(text, _FORMS, _OTHERS)
    if name not in WEIGHT_FAMILIES:
        return _discrete(Pmf.parse(text))
    row = WEIGHT_FAMILIES[name]
    try:
        numbers = [float(word) for word in words]
        is_valid = all(map(math.isfinite, numbers)) and row.is_valid(*numbers)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise LawError(f"weights = {text!r}: expected {row.form.usage}, with {row.requirement}")
    return row.make(*numbers)
