"""Coverage of stated 95 % intervals, over random small studies with known answers.

    python -m tests.dse.covering [studies] [seed]

Two options whose values are linear in two normal inputs, or exponentials of that: chances, regrets
(Margrabe's formula for the latter), quantiles, tails and values of information in closed form.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import norm

import dse

MODEL = '''"""Two options."""
import dse

for name in ("p1", "p2", "level", "gain", "slope1", "more1", "slope2", "more2"):
    globals()[name] = dse.quantity(name, domain="(-inf, inf)", meaning=name)
take = dse.quantity("take", domain="[0, 1]", meaning="which option")


@dse.equation(source="test", meaning="linear")
def plain_value(p1, p2, level, gain, slope1, more1, slope2, more2, take):
    return level + gain * take + (slope1 + more1 * take) * p1 + (slope2 + more2 * take) * p2


@dse.equation(source="test", meaning="exponential")
def bent_value(plain_value):
    return dse.exp(plain_value)
'''
SET = ("level", "gain", "slope1", "more1", "slope2", "more2")


def exceeding(mean: float, std: float) -> float:
    """E[max(D, 0)] of a normal D."""
    return mean * norm.cdf(mean / std) + std * norm.pdf(mean / std)


class Problem:
    """A study and the truth about it."""

    def __init__(self, rng: np.random.Generator, model: Path, draws: int, bent: bool) -> None:
        self.bent, self.name = bent, "bent_value" if bent else "plain_value"
        given = dict(zip(SET, rng.normal(0, 0.5, 6).tolist(), strict=True))
        laws = {name: dse.normal(m, s) for name, m, s in (("p1", 0.3, 0.7), ("p2", -0.2, 0.4))}
        seed = int(rng.integers(1 << 30))
        self.study = dse.Study(
            model=str(model),
            axes={"take": [0, 1]},
            set=given,
            outputs=["plain_value"],
            random={**laws, "draws": draws, "seed": seed},
        )
        slopes = [
            [given["slope1"], given["slope2"]],
            [given["slope1"] + given["more1"], given["slope2"] + given["more2"]],
        ]
        self.means = [
            given["level"] + given["gain"] * k + s[0] * 0.3 - s[1] * 0.2
            for k, s in enumerate(slopes)
        ]
        self.stds = [math.hypot(s[0] * 0.7, s[1] * 0.4) for s in slopes]
        self.apart = (given["more1"] * 0.7, given["more2"] * 0.4)  # of the difference, by input

    def mean_of(self, option: int) -> float:
        """The mean of an option."""
        m, s = self.means[option], self.stds[option]
        return math.exp(m + s * s / 2) if self.bent else m

    def chance(self, option: int) -> float:
        """The chance that an option is the smaller."""
        step = self.means[1] - self.means[0]
        first = float(norm.cdf(step / math.hypot(*self.apart)))
        return first if option == 0 else 1 - first

    def regret(self, option: int) -> float:
        """The mean excess of an option where it is larger."""
        off, std = self.means[option] - self.means[1 - option], math.hypot(*self.apart)
        if not self.bent:
            return exceeding(off, std)
        own, other = self.mean_of(option), self.mean_of(1 - option)
        high = (math.log(own / other) + std * std / 2) / std
        return own * float(norm.cdf(high)) - other * float(norm.cdf(high - std))

    def quantile(self, option: int, level: float) -> float:
        """The quantile of an option."""
        result = self.means[option] + self.stds[option] * float(norm.ppf(level))
        return math.exp(result) if self.bent else result

    def tail(self, option: int, level: float) -> float:
        """The mean of the largest."""
        z, s = float(norm.ppf(level)), self.stds[option]
        if self.bent:
            return self.mean_of(option) * float(norm.cdf(s - z)) / (1 - level)
        return self.means[option] + s * float(norm.pdf(z)) / (1 - level)

    def worth(self, known: int | None) -> float:
        """The value of learning one input, or both; of the linear value."""
        std = math.hypot(*self.apart) if known is None else abs(self.apart[known])
        off = abs(self.means[1] - self.means[0])
        return exceeding(-off, std)


def of_statistics(problem: Problem, rng: np.random.Generator) -> dict[str, bool]:
    """True for each interval of a study that holds the truth."""
    result: dict[str, bool] = {}
    answer = problem.study.chances(minimize=problem.name, top=1)
    option = int(answer.take.values[0])
    for name in ("chance", "regret"):
        off = abs(answer[name].values[0] - getattr(problem, name)(option))
        result[name] = bool(off <= answer[f"{name}_error"].values[0])
    level = float(rng.choice([0.5, 0.9, 0.95]))
    texts = {name: f"{name}({problem.name}, {level})" for name in ("quantile", "cvar_high")}
    texts |= {"mean": f"mean({problem.name})"}
    truth = {"quantile": problem.quantile(option, level), "mean": problem.mean_of(option)}
    truth["cvar_high"] = problem.tail(option, level)
    grid = problem.study.grid([*texts.values(), *(f"error({t})" for t in texts.values())])
    for name, text in texts.items():
        value, error = (
            float(grid.leaves[()][one].array[option]) for one in (text, f"error({text})")
        )
        result[name] = abs(value - truth[name]) <= error
    return result


def of_information(problem: Problem) -> dict[str, bool]:
    """Check the intervals of the value of information, as :func:`of_statistics`."""
    answer = problem.study.information(minimize=problem.name)
    result = {"evpi": abs(answer.evpi.item() - problem.worth(None)) <= answer.evpi_error.item()}
    for known, name in enumerate(("p1", "p2")):
        one = answer.sel(set=name)
        result[f"evppi {name}"] = bool(
            abs(one.evppi.item() - problem.worth(known)) <= one.evppi_error.item()
        )
    return result


def main(count: int, seed: int) -> None:
    """Tell of each interval in how many cases it holds the truth."""
    rng = np.random.default_rng(seed)
    hits: dict[str, list[bool]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "options.py"
        model.write_text(MODEL)
        for number in range(count):
            draws = int(rng.choice([256, 1024, 4096]))
            for name, inside in of_statistics(
                Problem(rng, model, draws, number % 2 == 1), rng
            ).items():
                hits[name].append(inside)
                hits[f"{name}, {draws} draws"].append(inside)
            if number % 10 == 0:
                for name, inside in of_information(Problem(rng, model, 4096, False)).items():
                    hits[name].append(inside)
    for name, inside in sorted(hits.items()):
        print(f"{name}: {sum(inside)} of {len(inside)}, {np.mean(inside):.1%}")


if __name__ == "__main__":
    main(*map(int, [*sys.argv[1:], *["1000", "1"][len(sys.argv) - 1 :]]))
