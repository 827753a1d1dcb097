"""Coverage of the stated 95 % intervals of statistics over draws.

    python -m tests.dse.covering_draws 150 1

Chances from 1e-6 to 0.5 and quantiles from 0.5 to 0.9999 of 64 to 16,384 draws, in 16 replicates of
scrambled Sobol points: along one random input, which these fill evenly, and along a sum of five,
which they do not. Laws are normal, exponential, heavy-tailed, discrete, constant. Means, standard
deviations and tails follow, and simulated launches and groups. The exit status is 1 where a chance
or a quantile is held less often than stated, beyond what so many samples leave to luck.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import binom

from dse.uncertain.draws import REPLICATES, sobol_points
from stochastic import Pmf, imbalance, launch
from stochastic.launch_time.shared_rate import Sharing
from stochastic.trials.simulation import simulate
from sweeps.nest.statistics import SamplingDesign, error_of, summary
from symbolic import statistic_laws
from symbolic.node import Node, reference
from symbolic.statistics import DRAW, Statistic

Floats = NDArray[np.float64]

EDGE = 2.0**-40
SIZES = (64, 256, 1024, 4096, 16384)
CHANCES = (1e-6, 1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
LEVELS = tuple(map(Fraction, ("0.5", "0.9", "0.99", "0.999", "0.9999")))
STEPS, SHARES = np.array([0.0, 1.0, 2.0, 5.0]), np.array([0.5, 0.4, 0.09, 0.01])


def discrete(u: Floats) -> Floats:
    """Return the quantiles of a law of four values."""
    return STEPS[np.searchsorted(np.cumsum(SHARES)[:-1], u)]


LAWS: dict[str, Callable[[Floats], Floats]] = {
    "normal": scipy.stats.norm.ppf,
    "uniform": lambda u: u,
    "exponential": scipy.stats.expon.ppf,
    "lognormal, s = 0.5": scipy.stats.lognorm(0.5).ppf,
    "lognormal, s = 2": scipy.stats.lognorm(2).ppf,
    "Student, 3": scipy.stats.t(3).ppf,
    "Pareto, 1.5": scipy.stats.pareto(1.5).ppf,
    "discrete": discrete,
    "constant": lambda u: np.full_like(u, 0.1),
}
#: Laws with a variance and no heavier tail than an exponential one, and of more than one value.
LIGHT = ("normal", "uniform", "exponential", "lognormal, s = 0.5")


def statistic(kind: str, level: Fraction | None = None) -> Statistic:
    """Return a statistic of the draws."""
    node = Node("constant", (0.0,))
    return Statistic(kind=kind, argument=node, argument_text="", axes=(DRAW,), level=level)


def places(size: int, inputs: int, seed: Any) -> Floats:
    """Return places of draws in a law, of one input, or of the sum of several."""
    parts = [
        sobol_points(inputs, size // REPLICATES, np.random.default_rng((*seed, k)))
        for k in range(REPLICATES)
    ]
    return np.clip(np.mod(np.concatenate(parts).sum(axis=1), 1.0), EDGE, 1 - EDGE)


def covers(kind: str, level: Fraction | None, rows: Floats, ends: Floats, truth: Floats) -> Floats:
    """Return for each row whether the interval of its statistic holds the truth."""
    value, about = np.empty(len(rows)), statistic(kind, level)
    summary(about, rows, None, value)

    def reach(some: NDArray[np.int64], _: bool) -> tuple[Floats, Floats]:
        return ends[some, :1], ends[some, 1:]

    error = error_of(
        about, rows, SamplingDesign(draws=rows.shape[1], replicates=REPLICATES, range_at=reach)
    )
    return np.abs(value - truth) <= error + 1e-12 * np.abs(truth)


def mean_beyond(law: Callable[[Floats], Floats], level: float) -> float:
    """Return the mean of a law beyond a level."""

    def term(t: float) -> float:
        return float(law(np.array([1 - math.exp(-t) * (1 - level)]))[0]) * math.exp(-t)

    return float(quad(term, 0, 27, limit=500)[0])


def moments() -> Iterator[tuple[str, str, Fraction | None, float]]:
    """Yield the law, the kind, the level and the truth of means, tails and deviations."""
    for name in LIGHT:
        law = LAWS[name]
        low = -mean_beyond(lambda u, law=law: -law(1 - u), 0.5)  # type: ignore[misc]
        mean = (low + mean_beyond(law, 0.5)) / 2
        yield name, "mean", None, mean
        square = lambda u, law=law: (law(u) - mean) ** 2  # noqa: B023, E731
        low = mean_beyond(lambda u, f=square: f(1 - u), 0.5)  # type: ignore[misc]
        yield name, "std", None, math.sqrt((low + mean_beyond(square, 0.5)) / 2)
        for level in LEVELS[:4]:
            yield name, "cvar_high", level, mean_beyond(law, float(level))


def of_draws(
    count: int, seed: int, sizes: Sequence[int] = SIZES
) -> dict[tuple[str, ...], list[bool]]:
    """Return for each statistic, level and number of draws what intervals held."""
    result: dict[tuple[str, ...], list[bool]] = defaultdict(list)
    names = list(LAWS)
    ends = np.array([LAWS[name](np.array([EDGE, 1 - EDGE])) for name in names])
    chances, some = np.array(CHANCES), list(moments())
    for size in sizes:
        for inputs in (1, 5):
            for number in range(count):
                u = places(size, inputs, (seed, inputs, size, number))
                rows = (u > 1 - chances[:, None]).astype(np.float64)
                inside = covers("chance", None, rows, np.tile([0.0, 1.0], (len(rows), 1)), chances)
                for chance, one in zip(CHANCES, inside, strict=True):
                    result["chance", f"{chance:g}", str(size)].append(bool(one))
                rows = np.stack([LAWS[name](u) for name in names])
                for level in LEVELS:
                    at = np.array([float(level) - 1e-15])
                    truth = np.array([LAWS[name](at)[0] for name in names])
                    inside = covers("quantile", level, rows, ends, truth)
                    for one in inside:
                        result["quantile", f"{float(level):g}", str(size)].append(bool(one))
                for name, kind, own, value in some:
                    i = names.index(name)
                    here = rows[i : i + 1], ends[i : i + 1], np.array([value])
                    text = kind if own is None else f"{kind} {float(own):g}"
                    result["light", text, str(size)].append(bool(covers(kind, own, *here)[0]))
    return result


class Simulated:
    """Simulated launches as a law."""

    def __init__(self, times: Floats) -> None:
        self.values, self.simulation_count = np.sort(times), len(times)
        self.cdf_values = np.arange(1, len(times) + 1) / len(times)


def of_launches(count: int, seed: int) -> dict[tuple[str, ...], list[bool]]:
    """Return what intervals of simulated launches, and of simulated groups, held."""
    result: dict[tuple[str, ...], list[bool]] = defaultdict(list)
    given: dict[str, Any] = {"blocks": 12, "slots": 4, "lanes": 4, "warps": 2}
    work, formula = Pmf.geometric(0.2), reference("launch_steps")

    def simulate_launches(launches: int, seed: int) -> Simulated:
        sharing = Sharing(full=2, resident=2, launches=launches, seed=seed)
        return Simulated(launch(work, **given, sharing=sharing).times)

    many = simulate_launches(200_000, seed + 10**6)
    some = [statistic("mean"), statistic("std")]
    some += [statistic("quantile", level) for level in LEVELS[:4]]
    some += [statistic("cvar_high", level) for level in LEVELS[:3]]
    bounds = [float(np.quantile(many.values, 1 - p)) for p in (0.5, 0.1, 0.01, 0.001)]
    law = imbalance(Pmf.uniform(1, 6), lanes=4)
    levels = [0.5, 0.9, 0.99, 0.999]
    for size in (100, 1000):
        for number in range(count):
            own = simulate_launches(size, seed + number)
            for about in some:
                value, truth = (
                    statistic_laws._statistic_function(about, formula, ("launch_steps",))(one)
                    for one in (own, many)
                )
                off = statistic_laws._error_function(about, formula, ("launch_steps",))(own)
                text = about.kind if about.level is None else f"{about.kind} {float(about.level):g}"
                result["launch", text, str(size)].append(abs(value - truth) <= off)
            for bound in bounds:
                about, test = statistic("chance"), formula <= bound
                off = statistic_laws._error_function(about, test, ("launch_steps",))(own)
                value, truth = (float(np.mean(one.values <= bound)) for one in (own, many))
                result["launch", "chance", str(size)].append(abs(value - truth) <= off)
            groups = simulate(Pmf.uniform(1, 6), 4, size, seed=seed + number, quantiles=levels)
            off = 1.96 * float(groups["loss_error"])
            inside = abs(float(groups["loss"]) - float(law.mean())) <= off
            result["groups", "mean", str(size)].append(inside)
            true = law.quantile(np.array(levels)).astype(float)
            low, high = (groups[f"loss_quantile_{end}"].values for end in ("low", "high"))
            for one in (low <= true * (1 + 1e-12)) & (true <= high * (1 + 1e-12)):
                result["groups", "quantile", str(size)].append(bool(one))
    return result


def too_few(inside: list[bool]) -> bool:
    """True if intervals hold the truth less often than stated, and not by luck."""
    return bool(binom.cdf(sum(inside), len(inside), 0.95) < 1e-4)


def table(hits: dict[tuple[str, ...], list[bool]]) -> str:
    """Return the shares that were held, a row for each statistic."""
    sizes = sorted({key[-1] for key in hits}, key=int)
    lines = ["".join(f"{one:>22}" if k == 0 else f"{one:>9}" for k, one in enumerate(["", *sizes]))]
    for row in dict.fromkeys(key[:-1] for key in hits):
        shares = [f"{np.mean(hits[*row, size]):>9.1%}" for size in sizes if (*row, size) in hits]
        lines.append(f"{' '.join(row):>22}{''.join(shares)}")
    return "\n".join(lines)


def main(count: int, seed: int) -> int:
    """Print the tables; return the exit status."""
    result, simulated = of_draws(count, seed), of_launches(count, seed)
    print(f"of 95 % intervals, the share that holds the truth: {count} samples of each, by draws")
    print(table(result))
    print(f"\n{table(simulated)}")
    wrong = [key for key, inside in result.items() if key[0] != "light" and too_few(inside)]
    for key in wrong:
        print(f"{' '.join(key)} draws: held less often than stated")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(*map(int, [*sys.argv[1:], *["200", "1"][len(sys.argv) - 1 :]])))
