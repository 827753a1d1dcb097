"""Read laws of random weights, from which the shares of bins are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats
from stochastic.checks import LawError, check_real
from stochastic.work.arguments import check_positive
from stochastic.work.families import poisson_pmf
from stochastic.work.parse import LAW_SYNTAX, LawSyntax, split_law
from stochastic.work.pmf import Pmf

_TAIL = 1e-20  # tail at which infinite laws of weights are truncated
_WIDEST = 20.0  # log(high / low) up to which 128 nodes integrate to 1e-14
_NEARLY_0 = 1e-9  # exponent that counts as 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightLaw:
    """The law of the weight of a bin.

    ``draw(rng, size)`` returns independent weights. ``chances(n, s)``, if known, returns P(a
    Poisson count with the mean s·weight is n) for n = 0, 1, ..., as a sum of some ``terms``.
    ``span`` is (smallest weight above 0, largest), ``empty`` is P(weight = 0), ``missing`` bounds
    the error by truncation, and ``concentration`` is the shape of a gamma law, whose shares have a
    Dirichlet law.
    """

    draw: Callable[[np.random.Generator, Any], Floats]
    chances: Callable[[Floats, float], Floats] | None = None
    terms: int = 1
    mean: float = 1.0
    span: tuple[float, float] = (0.0, math.inf)
    empty: float = 0.0
    missing: float = 0.0
    concentration: float = 0.0


def _power(exponent: Any, low: Any, high: Any) -> WeightLaw:
    """Return the law with a density that is proportional to w**-exponent from low to high."""
    exponent = check_real("exponent", exponent, lambda x: abs(x) < 100, "a number such as 1.2")
    low = check_positive("low", low)
    high = check_real("high", high, lambda x: x > low, f"a number above low = {low!r}")
    width = math.log(high / low)

    def area(power: float) -> float:
        """Return the integral of (w / low)**power / w from low to high."""
        return width if abs(power) < _NEARLY_0 else math.expm1(power * width) / power

    def draw(rng: np.random.Generator, size: Any) -> Floats:
        parts, power = rng.random(size) * area(1 - exponent), 1 - exponent
        logs = parts if abs(power) < _NEARLY_0 else np.log1p(parts * power) / power
        return np.asarray(low * np.exp(logs))

    def chances(n: Floats, s: float) -> Floats:
        from scipy.special import gammainc, gammaincc

        shapes = n[1:] + 1 - exponent
        below = gammainc(shapes, s * low)
        upper = gammaincc(shapes, s * low) - gammaincc(shapes, s * high)
        inside = np.where(below > 0.5, upper, gammainc(shapes, s * high) - below)
        ratios = np.cumprod(np.append(math.gamma(2 - exponent), shapes[:-1] / n[2:]))
        rest = ratios * inside * (s * low) ** (exponent - 1) / area(1 - exponent)
        places, shares = np.polynomial.legendre.leggauss(128)
        logs = (places + 1) / 2 * width
        shares = shares * np.exp((1 - exponent) * logs)
        none = shares @ np.exp(-s * low * np.exp(logs)) / shares.sum()
        return np.append(none, rest)

    return WeightLaw(
        draw=draw,
        chances=chances if exponent < 2 and width < _WIDEST else None,
        mean=low * area(2 - exponent) / area(1 - exponent),
        span=(low, high),
    )


def _dirichlet(concentration: Any) -> WeightLaw:
    expected = "a number from 1e-9 to 1e9; more is the same as equal probabilities"
    shape = check_real("concentration", concentration, lambda x: 1e-9 <= x <= 1e9, expected)

    def draw(rng: np.random.Generator, size: Any) -> Floats:
        if shape > 0.01:
            return rng.standard_gamma(shape, size)
        logs = np.log(rng.standard_gamma(shape + 1, size))  # smaller weights underflow to 0
        logs += np.log1p(-rng.random(size)) / shape
        return np.asarray(np.exp(logs - logs.max(axis=-1, keepdims=True)))

    return WeightLaw(
        draw=draw,
        chances=lambda n, s: np.asarray(Pmf.negative_binomial(shape, 1 / (1 + s)).pmf(n)),
        mean=shape,
        concentration=shape,
    )


def _lognormal(mean: Any, spread: Any) -> WeightLaw:
    ratio = check_positive("spread", spread) / check_positive("mean", mean)
    width = math.sqrt(math.log1p(ratio**2))
    return WeightLaw(draw=lambda rng, size: np.exp(width * rng.standard_normal(size)))


def _discrete(law: Pmf) -> WeightLaw:
    if law.high == 0:
        raise LawError(f"weights = {law!r} are all 0: expected weights above 0")

    def draw(rng: np.random.Generator, size: Any) -> Floats:
        return np.asarray(law.sample(size, rng), dtype=np.float64)

    if not law.is_finite and law.sf(law.low + sizes.LOADS_WEIGHTS) >= _TAIL:
        return WeightLaw(draw=draw)
    finite = law.cut(_TAIL)
    values = finite.low + np.flatnonzero(finite.weights).astype(np.float64)
    shares = np.asarray(finite.pmf(values))
    used = values > 0

    def chances(n: Floats, s: float) -> Floats:
        result = np.asarray(shares[used] @ poisson_pmf(n[None], s * values[used][:, None]))
        result[0] += finite.pmf(0)
        return result

    return WeightLaw(
        draw=draw,
        chances=chances,
        terms=len(values),
        mean=finite.mean(),
        span=(float(values[used][0]), float(values[-1])),
        empty=float(finite.pmf(0)),
        missing=finite.missing,
    )


#: Syntax and constructor of each family of continuous weights; only ratios of weights matter.
WEIGHT_FAMILIES: dict[str, tuple[LawSyntax, Callable[..., WeightLaw]]] = {
    "power": (LawSyntax(("exponent", "low", "high"), "power: 1.2, 0.01, 2"), _power),
    "dirichlet": (LawSyntax(("concentration",), "dirichlet: 0.3"), _dirichlet),
    "lognormal": (LawSyntax(("mean", "spread"), "lognormal: 1, 0.5"), _lognormal),
}
_FORMS = {name: form for name, (form, _) in WEIGHT_FAMILIES.items()} | LAW_SYNTAX
_OTHERS = "the path of a .csv file, a Pmf, or a law of scipy.stats"


def read_weights(value: Any) -> WeightLaw:
    """Return the law of weights from text, a Pmf, or a frozen law of SciPy."""
    if isinstance(value, str):
        is_file = value.strip().lower().endswith((".csv", ".csv.gz"))
        name, words = ("", []) if is_file else split_law(value, _FORMS, _OTHERS)
        if name in WEIGHT_FAMILIES:
            return WEIGHT_FAMILIES[name][1](*(_read_number(word, value) for word in words))
        return _discrete(Pmf.parse(value))
    if hasattr(value, "pdf") and hasattr(value, "rvs"):
        if not value.support()[0] >= 0:
            raise LawError(f"weights = {value!r:.60}: expected a law without negative values")
        return WeightLaw(draw=lambda rng, size: value.rvs(size=size, random_state=rng))
    try:
        return _discrete(value if isinstance(value, Pmf) else Pmf.from_scipy(value))
    except LawError as error:
        examples = ", ".join(repr(form.example) for form, _ in WEIGHT_FAMILIES.values())
        raise LawError(
            f"weights = {value!r:.60}: expected a law, such as {examples}, or {_OTHERS}; shares "
            f"that are known are probabilities= ({error})"
        ) from None


def _read_number(word: str, text: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise LawError(f"{word!r} in {text!r:.60} is no number: expected one such as 0.3") from None
