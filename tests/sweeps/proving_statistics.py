"""Random studies whose certified optimum of a statistic must be the one that a scan finds.

    python -m tests.sweeps.proving_statistics 500

The studies of `tests.sweeps.certifying` with a statistic over one of their axes, or over a discrete
law, weighted or not, in the objective and in conditions; ties, ranks and labels included. A second
number is the first seed. It ends with status 1 where anything differs.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

import sweeps.bounds.statistics_as_formulas
from dse import Study, discrete
from symbolic.errors import DseError
from tests.sweeps import certifying

KINDS = ["mean", "worst", "best", "chance", "geomean", "std", "quantile", "cvar"]


def statistic(kind: str, formula: str, over: str, rng: random.Random, limit: float) -> str:
    """A statistic as text."""
    if kind == "chance":
        formula = f"{formula} <= {limit!r}"
    level = f", {rng.choice(['0.25', '0.5', '0.9', '1/3'])}" if kind in ("quantile", "cvar") else ""
    return f"{kind}({formula}{level}{over})"


def with_hole(formula: str, limit: float, rng: random.Random) -> str:
    """A formula, in half of the studies NaN on one side of a limit, or everywhere."""
    if rng.random() < 0.5:
        return formula
    nan = f"({formula}) * sqrt(0 - ({formula}) / ({formula}))"  # constants are refused as no number
    below = rng.choice((f"({formula}) <= {limit!r} * 1", f"({formula}) >= {limit!r} * 1"))
    some = f"where({below}, {formula}, {nan})"
    choice = rng.random()
    if choice < 0.15:
        return nan
    if choice < 0.5:
        return f"{rng.choice(('minimum', 'maximum'))}({some}, {limit!r} * 1)"
    return some


def study(seed: int, most: int) -> tuple[Study, dict[str, Any]]:
    """A study, and a question of a statistic."""
    made, question = certifying.study(seed, most)
    rng = random.Random(f"statistics {seed}")
    (sense, text), *_ = [(k, v) for k, v in question.items() if k in ("minimize", "maximize")]
    numbers = {n: v for n, v in made.axes.items() if n not in certifying.MODELS[made.model]}
    name = rng.choice(list(numbers))
    axes, given, laws = dict(made.axes), dict(made.set), {}
    values = axes.pop(name)
    many = rng.choice([1, 2, 3, 5, 8, 40])
    weights = [rng.choice([0, 1, 1, 2, 5.5]) for _ in range(many)]
    weights = weights if any(weights) else [1.0] * many
    over = f", {name}"
    if isinstance(values, dict):
        axes[name] = {"zip": {k: v[:many] for k, v in values["zip"].items()}}
    else:
        weights = (
            weights[: len(values)] if any(weights[: len(values)]) else [1.0] * len(values[:many])
        )
        if rng.random() < 0.3:
            laws, over = {name: discrete(values, weights)}, ""
        elif rng.random() < 0.5:
            axes[name] = {"values": values, "weights": weights}
        else:
            axes[name] = values
    axes = {n: axes[n] for n in made.axes if n in axes}
    plain = Study(model=made.model, axes=made.axes, set=given)
    grid = plain.grid(plain._needed_quantities([text]))
    at = {axis: rng.randrange(grid.axes[axis].size) for axis in grid.axes}
    known = plain._query_grid([text], ())
    result = known.evaluate_point({a: at[a] for a in known.axes}, plain._needed_quantities([text]))
    limit = float(next(iter(result.values())))
    limit = limit if abs(limit) < 1e300 else 1.0
    text = with_hole(text, limit, random.Random(f"holes {seed}"))
    objective = statistic(rng.choice(KINDS), text, over, rng, limit)
    other = statistic(rng.choice(KINDS), text, over, rng, limit)
    objective = rng.choice(
        [objective] * 3 + [f"{objective} + {other}", f"floor({objective} / {limit!r})"]
    )
    new: dict[str, Any] = {sense: objective}
    if rng.random() < 0.4:
        new["where"] = f"{other} {rng.choice(['<=', '>='])} {limit!r} * 1"
    if rng.random() < 0.2:
        new["top"] = rng.randint(2, 5)
    if len(axes) > 1 and rng.random() < 0.15:
        left = [n for n in axes if n != name]
        new["per"] = rng.choice(left) if left else None
    return Study(model=made.model, axes=axes, set=given, random=laws), new


def compare(seed: int, most: int = 20_000) -> bool | None:
    """Return if a point was feasible; None if no valid query is drawn."""
    try:
        made, question = study(seed, most)
        made._query_grid([], ())
        expected = certifying.answer(made, question, "scan")
    except DseError:  # such as seconds and watts that are added
        return None
    with certifying.small_steps(random.Random(seed), 2):
        before = sweeps.bounds.statistics_as_formulas.CHEAP_VALUES
        sweeps.bounds.statistics_as_formulas.CHEAP_VALUES = 0
        try:
            made = Study(model=made.model, axes=made.axes, set=made.set, random=made.random)
            result = certifying.answer(made, question, "certified")
        finally:
            sweeps.bounds.statistics_as_formulas.CHEAP_VALUES = before
    same = result is None if expected is None else result is not None and result.identical(expected)
    assert same, f"seed {seed}, {made.text()}, {question}: {result} is not {expected}"
    return expected is not None


def main(count: int, first: int = 0) -> int:
    """Compare so many studies; the exit status."""
    began, done, feasible, wrong, seed = time.perf_counter(), 0, 0, 0, first
    while done < count:
        try:
            one = compare(seed)
        except AssertionError as error:
            wrong, one = wrong + 1, True
            print(error, file=sys.stderr, flush=True)
        done, feasible, seed = done + (one is not None), feasible + bool(one), seed + 1
    spent = time.perf_counter() - began
    print(f"{done} studies, {feasible} feasible: {wrong} differ from a scan; {spent:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*(int(given) for given in sys.argv[1:] or ["500"])))
