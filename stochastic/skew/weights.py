"""Read laws of random weights, from which the shares of bins are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic.arrays import Floats
from stochastic.errors import LawError
from stochastic.work.families import FAMILIES
from stochastic.work.parse import LAW_SYNTAX, LawSyntax, split_law
from stochastic.work.pmf import Pmf


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightLaw:
    """The law of the weight of a bin; ``draw(rng, size)`` returns independent weights."""

    text: str
    draw: Callable[[np.random.Generator, Any], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFamily:
    """A row of the table: syntax and draws of a family of continuous laws of weights.

    ``is_valid`` and ``draw`` take the numbers of the law last.
    """

    form: LawSyntax
    draw: Callable[..., Floats]
    is_valid: Callable[..., bool]
    requirement: str


def _draw_power(rng: Any, size: Any, exponent: float, low: float, high: float) -> Floats:
    """Return draws whose density is proportional to w**-exponent from low to high."""
    rise = (1 - exponent) * math.log(high / low)  # w = low·exp(x), where x has the rate 1-exponent
    draws = rng.random(size)
    if abs(rise) < 1e-12:
        return np.asarray(low * (high / low) ** draws)
    return np.asarray(low * np.exp(np.log1p(draws * math.expm1(rise)) / (1 - exponent)))


def _draw_lognormal(rng: Any, size: Any, mean: float, spread: float) -> Floats:
    width = math.sqrt(math.log1p((spread / mean) ** 2))
    return np.asarray(mean * np.exp(width * rng.standard_normal(size) - width**2 / 2))


#: Continuous laws of weights; only ratios of weights matter.
WEIGHT_FAMILIES = {
    "power": WeightFamily(
        form=LawSyntax(("exponent", "low", "high"), "power: 1.2, 0.01, 2"),
        draw=_draw_power,
        is_valid=lambda exponent, low, high: 0 < low < high and abs(exponent) < 100,
        requirement="0 < low < high; the density falls as weight**-exponent",
    ),
    "dirichlet": WeightFamily(
        form=LawSyntax(("concentration",), "dirichlet: 0.3"),
        draw=lambda rng, size, concentration: rng.standard_gamma(concentration, size),
        is_valid=lambda concentration: concentration > 0,
        requirement="the concentration of each bin is above 0",
    ),
    "lognormal": WeightFamily(
        form=LawSyntax(("mean", "spread"), "lognormal: 1, 0.5"),
        draw=_draw_lognormal,
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
    if not isinstance(value, Pmf):
        if hasattr(value, "pdf") and hasattr(value, "rvs"):
            if not value.support()[0] >= 0:
                raise LawError(
                    f"weights = {value!r:.60} may be negative: expected weights from 0 on"
                )
            text = f"scipy.stats.{value.dist.name}"
            return WeightLaw(
                text=text,
                draw=lambda rng, size: np.asarray(value.rvs(size=size, random_state=rng)),
            )
        try:
            value = Pmf.from_scipy(value)
        except LawError:
            raise LawError(
                f"weights = {value!r:.60}: expected a law, such as "
                f"{', '.join(repr(row.form.example) for row in WEIGHT_FAMILIES.values())}, or "
                f"{_OTHERS}; shares that are known are probabilities="
            ) from None
    if value.high == 0:
        raise LawError(f"weights = {value!r} are all 0: expected weights above 0")
    law = value
    return WeightLaw(
        text=repr(law), draw=lambda rng, size: np.asarray(law.sample(size, rng), dtype=np.float64)
    )


def _parse_weights(text: str) -> WeightLaw:
    if text.strip().lower().endswith((".csv", ".csv.gz")):
        return read_weights(Pmf.parse(text))
    name, words = split_law(text, _FORMS, _OTHERS)
    if name in FAMILIES or name not in WEIGHT_FAMILIES:
        return read_weights(Pmf.parse(text))
    row = WEIGHT_FAMILIES[name]
    try:
        numbers = [float(word) for word in words]
        is_valid = all(map(math.isfinite, numbers)) and row.is_valid(*numbers)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise LawError(f"weights = {text!r}: expected {row.form.usage}, with {row.requirement}")
    return WeightLaw(text=text.strip(), draw=lambda rng, size: row.draw(rng, size, *numbers))
