"""Random studies of 100,000 to a million points, and of more than 10,000 cells, as plain data.

Their formulas round exactly, so that every source has the values of brute force to the last bit;
they have ties, steps, values that are no number, and axes of no influence.
"""

from __future__ import annotations

import math
import random
from typing import Any

from tests.sweeps.attack_models import Drawn

EQUATIONS = {
    "near": (("a",), "a - 50 * floor(a / 50)"),
    "cost": (("b", "c", "near"), "(b - near) * (b - near) + c"),
    "gain": (("a", "b", "c"), "where(b > -2, a, c)"),
    "steps": (("a", "b", "d"), "floor((a + 2 * b) / 16) + floor(d / 4)"),
    "root": (("b", "c"), "sqrt(b - c)"),
    "share": (("c", "d"), "divide(c, d, at_zero=inf)"),
    "flat": (("d",), "floor(d / 1000)"),
}
GOALS = ("cost", "gain", "steps", "root", "share", "flat", "minimum(cost, gain)", "cost + steps")
LIMITS = ("gain <= 200", "root >= 1", "steps >= 0 - 5", "cost <= 1e4", "d >= 3", "a > 2")


def drawn_large(seed: int, points: tuple[float, float] = (1e5, 1e6), cells: int = 10_000) -> Drawn:
    """A study; in every fourth the first axis drawn has more values than ``cells``."""
    rng = random.Random(f"large {seed}")
    names = rng.sample("abcd", rng.randint(1, 4))
    total = int(math.exp(rng.uniform(*map(math.log, points))))
    sizes: list[int] = []
    if seed % 4 == 0:
        sizes.append(min(int(cells * rng.uniform(1.0, 6.0)) + 1, total))
    while len(sizes) < len(names):
        left = total // math.prod(sizes)
        last = len(sizes) == len(names) - 1
        sizes.append(left if last else max(int(left ** rng.uniform(0.1, 0.6)), 1))
    axes: dict[str, Any] = {}
    for name, size in zip(names, (max(n, 1) for n in sizes), strict=True):
        low = rng.choice([0, 1, -size // 2, -161])
        values = [low + k for k in range(size)]
        if rng.random() < 0.4:
            values.reverse()
        axes[name] = values
    order = list(axes)
    rng.shuffle(order)
    return Drawn(
        equations=EQUATIONS,
        axes={name: axes[name] for name in order},
        set={name: 3.0 for name in "abcd" if name not in axes},
        question={"cells": names[0] if seed % 4 == 0 else None},
        ask="large",
    )


def question_large(one: Drawn, seed: int) -> tuple[str, str, dict[str, Any]]:
    """A source, a verb and its keywords."""
    rng = random.Random(f"asked {seed}")
    many = one.question["cells"]
    source = rng.choice(["scan", "scan", "store", "Dataset", "certified"])
    verb = rng.choice(["optimum"] * 5 + ["count", "histogram", "quantiles", "pareto"])
    if many:  # whatever else asks every cell by itself, a millisecond each
        verb, source = "optimum", rng.choice(["scan", "store", "Dataset"])
    question: dict[str, Any] = {}
    if rng.random() < 0.5:
        question["where"] = rng.sample(LIMITS, rng.choice([1, 1, 2]))
    if many:
        question["per"] = [many]
    elif rng.random() < 0.5:
        short = [name for name, values in one.axes.items() if len(values) <= 1000]
        question |= {"per": [rng.choice(short)]} if short and source != "certified" else {}
    if verb in ("histogram", "quantiles"):
        question["quantity"] = rng.choice(GOALS)
        key, values = ("bins", [3, 10]) if verb == "histogram" else ("q", [0.5, [0.0, 0.1, 1.0]])
        question[key] = rng.choice(values)
    if verb in ("optimum", "pareto"):
        count = 2 if verb == "pareto" else 1 if many else rng.choice([1, 1, 2])
        goals = rng.sample(GOALS, count)
        question[rng.choice(["minimize", "maximize"])] = goals if count > 1 else goals[0]
    if verb == "optimum":
        question["top"] = rng.choice([1, 1, 2, 3] if "per" in question else [1, 2, 7, 1000])
        question["ties"] = not many and rng.random() < 0.2
    return source, verb, question
