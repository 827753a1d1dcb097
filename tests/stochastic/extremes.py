"""Laws of work near their extremes, whose answers must be those of every group there is.

    python -m tests.stochastic.extremes 5000 1

Draws so many laws with the seed 1: a few values with probabilities from 1e-300 to 1 - 1e-16, and
families with parameters alike; 1 to 1024 lanes, each convention for groups without work. Mean,
variance, CDF, its complement, quantiles and atoms are compared with the sum over every multiset of
items, in fractions or, of many groups, to sixty digits. A warning, an exception that is no
``LawError``, an answer off by more than its bound: each is told, and ends it with status 1.
"""

from __future__ import annotations

import decimal
import itertools
import math
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from stochastic import LawError, Pmf, imbalance

LANES = (1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 64, 100, 128, 256, 1000, 1024)
#: Groups up to which each is counted, and up to which that is done in fractions.
GROUPS, EXACT = 20_000, 60
DIGITS = decimal.Context(prec=60, Emin=-999_999_999, Emax=999_999_999)


def _multisets(lanes: int, values: int) -> Iterator[tuple[int, ...]]:
    """Yield how often each value occurs among the items of a group."""
    for bars in itertools.combinations(range(lanes + values - 1), values - 1):
        edges = (-1, *bars, lanes + values - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))


def every_loss(weights: dict[int, float], lanes: int, zero_work: str) -> dict[Fraction, Any] | None:
    """P(X = x), ascending, by enumeration; None where there are too many groups."""
    groups = math.comb(lanes + len(weights) - 1, lanes)
    if groups > GROUPS:
        return None
    of: Any = Fraction if groups <= EXACT else decimal.Decimal
    values, chances = list(weights), [of(chance) for chance in weights.values()]
    with decimal.localcontext(DIGITS):
        powers = [[of(1)] for _ in values]
        for row, chance in zip(powers, chances, strict=True):
            for _ in range(lanes):
                row.append(row[-1] * chance)
        result: dict[Fraction | None, Any] = {}
        for times in _multisets(lanes, len(values)):
            chance, left = of(1), lanes
            for row, count in zip(powers, times, strict=True):
                chance, left = chance * math.comb(left, count) * row[count], left - count
            total = sum(value * count for value, count in zip(values, times, strict=True))
            most = max(value for value, count in zip(values, times, strict=True) if count)
            loss = Fraction(lanes * most, total) if total else None
            result[loss] = result.get(loss, 0) + chance
        idle = result.pop(None, None)
        if idle is not None and zero_work != "drop":
            at = Fraction(int(zero_work == "one"))
            result[at] = result.get(at, 0) + idle
        whole = sum(result.values())
        return {x: result[x] / whole for x in sorted(x for x in result if x is not None)}


def chances(rng: np.random.Generator, count: int) -> list[float]:
    """Probabilities of which some are tiny, and perhaps one is nearly everything."""
    tiny = 10.0 ** -rng.uniform(0, rng.choice([1, 5, 18, 30, 300]), count)
    some = np.where(rng.random(count) < 0.6, tiny, rng.random(count) + 1e-3)
    if rng.random() < 0.5:
        some = some * 10.0 ** -rng.uniform(0, 20)
        some[rng.integers(count)] = 1.0
    result: list[float] = (some / math.fsum(some)).tolist()
    return result


def draw(rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """A law as text that makes it, and what else is asked."""
    lanes = int(rng.choice(LANES))
    requested = {"lanes": lanes, "zero_work": str(rng.choice(["one", "drop", "zero"]))}
    near = 10.0 ** -rng.uniform(0, rng.choice([2, 8, 16, 300]))
    p = float(near if rng.random() < 0.5 else 1 - near) or 0.5
    trials = int(rng.choice([1, 2, 3, 10, 40]))
    family = rng.integers(12)
    if family > 5:
        most = int(rng.choice([2, 3, 3, 4, 6, 20, 200]))
        low = int(rng.choice([0, 0, 1, 7]))
        count = min(int(rng.integers(1, 5)), most)
        places = sorted(set((low + rng.choice(most, count, replace=False)).tolist()))
        law = dict(zip(places, chances(rng, len(places)), strict=True))
        return f"Pmf.from_weights({law}, normalise=True)", requested
    texts = (
        f"Pmf.geometric({max(p, 0.1)!r})",
        f"Pmf.poisson({(near if rng.random() < 0.7 else near * 20)!r})",
        f"Pmf.binomial({trials}, {p!r})",
        f"Pmf.negative_binomial({float(rng.choice([0.1, 1, 5]))!r}, {max(p, 0.1)!r})",
        f"Pmf.bernoulli({p!r})",
        f"Pmf.uniform({int(rng.integers(3))}, {int(rng.integers(3, 9))})",
    )
    return texts[family], requested


def faults(text: str, options: dict[str, Any], rng: np.random.Generator) -> Iterator[str]:
    """Yield the faults in the answers of one law."""
    law = imbalance(eval(text, {"Pmf": Pmf}), **options)
    used = np.flatnonzero(law.work.weights)
    weights = {int(law.work.low + i): float(law.work.weights[i]) for i in used}
    exact = every_loss(weights, law.lanes, law.zero_work)
    mean, var, error = float(law.mean()), float(law.var()), float(law.error)
    if not 0 <= mean <= law.lanes * (1 + 1e-12) or var < 0 or not error >= 0:
        yield f"mean {mean}, variance {var}, error {error}"
    qs = [0.0, 1.0, 0.5, *rng.random(2).tolist(), float(10.0 ** -rng.uniform(0, 40)), 1 - 1e-12]
    quantiles = law.quantile(np.array(qs)).astype(float)
    if np.any(np.diff(quantiles[np.argsort(qs, kind="stable")]) < 0):
        yield f"quantiles fall: {dict(zip(qs, quantiles, strict=True))}"
    if exact is None:
        ts = np.concatenate([rng.uniform(1, max(law.lanes, 1.5), 5), quantiles])
        cdf, sf = np.asarray(law.cdf(ts), float), np.asarray(law.sf(ts), float)
        if np.any(np.abs(cdf + sf - 1) > 1e-9) or np.any(cdf[-7:] < np.array(qs) - 1e-9):
            yield f"cdf {cdf}, sf {sf} at {ts}"
        return
    off = law.error.cdf + 1e-11  # what is counted is the law that is cut
    losses = list(exact)
    with decimal.localcontext(DIGITS):
        of = type(exact[losses[0]])
        upto = list(itertools.accumulate(exact.values()))
        beyond = [upto[-1] - c for c in upto]
        places = [of(x.numerator) / x.denominator for x in losses]
        true_mean = sum(x * p for x, p in zip(places, exact.values(), strict=True))
        true_var = sum(
            (x - true_mean) ** 2 * p for x, p in zip(places, exact.values(), strict=True)
        )
    if abs(mean - float(true_mean)) > 1e-12 * float(true_mean) + law.error.mean:
        yield f"mean {mean!r}, not {float(true_mean)!r}"
    off_var = law.error.cdf * law.lanes**2 + 1e-10 * max(float(true_var), 1e-12)
    if abs(var - float(true_var)) > off_var:
        yield f"variance {var!r}, not {float(true_var)!r}"
    some = sorted(rng.choice(len(losses), min(len(losses), 12), replace=False).tolist())
    ts = np.array([losses[i] for i in some], dtype=object)
    cdf, sf = np.asarray(law.cdf(ts), float), np.asarray(law.sf(ts), float)
    for i, below, above in zip(some, cdf, sf, strict=True):
        if abs(below - float(upto[i])) > off or abs(above - float(beyond[i])) > off:
            yield f"cdf({losses[i]}) = {below!r}, sf = {above!r}, not {float(upto[i])!r}"
    for q, result in zip(qs, quantiles.tolist(), strict=True):
        if q == 1.0:
            continue
        at = next((i for i, x in enumerate(losses) if float(x) == result), None)
        if at is None or upto[at] < q - off or (at > 0 and upto[at - 1] > q + off):
            right = next((i for i, c in enumerate(upto) if c >= q), -1)
            yield f"quantile({q}) = {result}, not {float(losses[right])}"
    if len(losses) < 3000 and law.lanes * law.work.high < 20_000:
        atoms = law.pmf()
        printed = {
            Fraction(int(a), int(b)): float(c)
            for a, b, c in zip(
                atoms.numerator.values, atoms.denominator.values, atoms.values, strict=True
            )
        }
        for x in {*printed, *losses}:
            if abs(printed.get(x, 0.0) - float(exact.get(x, 0))) > off:
                yield f"P(X = {x}) = {printed.get(x, 0.0)!r}, not {float(exact.get(x, 0))!r}"


def main(count: int, seed: int) -> int:
    """Compare so many laws; the exit status."""
    rng, began = np.random.default_rng(seed), time.perf_counter()
    wrong, refused, compared = 0, Counter[str](), 0
    for _ in range(count):
        text, requested = draw(rng)
        printed: list[str] = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                printed = list(faults(text, requested, rng))
            compared += 1
        except LawError as error:
            refused[" ".join(str(error).split()[-8:])] += 1
        except Exception as error:
            trace = traceback.extract_tb(error.__traceback__)[-1]
            printed = [f"{type(error).__name__}: {error} ({trace.name}, line {trace.lineno})"]
        if printed:
            wrong += 1
            print(f"imbalance({text}, **{requested}): {'; '.join(printed[:3])}", flush=True)
    output = ", ".join(f"{many} because {why}" for why, many in refused.items()) or "none"
    spent = time.perf_counter() - began
    print(f"{compared} laws, seed {seed}: {wrong} wrong; refused: {output}; {spent:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    sys.exit(main(given[0] if given else 2000, given[1] if len(given) > 1 else 1))
