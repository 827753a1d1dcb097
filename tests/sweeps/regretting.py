"""Random studies whose ``at`` and ``regret`` must be those of brute force.

    python -m tests.sweeps.regretting 2000 1

The first number is that of the studies, the second the first seed. It ends with status 1 where
anything differs: the values of a run, and the worst regret of a scan and of a proof.
"""

from __future__ import annotations

import itertools
import random
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import dse
from symbolic.errors import InfeasibleError, OutOfTimeError

MODEL = '''"""Random."""
import dse
from dse import absolute, ceil, floor, maximum, minimum, where
x = dse.quantity("x", domain="[0, inf)", meaning="x")
y = dse.quantity("y", domain="whole [0, inf)", meaning="y")
s = dse.quantity("s", domain="[0, inf)", meaning="the choice")

@dse.equation(source="none", meaning="cost")
def cost(x, y, s):
    return {cost}

@dse.equation(source="none", meaning="the rule")
def rule(x, y):
    return {rule}
'''
SLOW = {  # each primitive for one point
    "ceil": np.ceil,
    "floor": np.floor,
    "maximum": lambda a, b: a if b < a else b,
    "minimum": lambda a, b: a if a < b else b,
    "where": lambda c, a, b: a if c else b,
    "absolute": abs,
    "nan": np.nan,
}


def term(rng: random.Random, names: str) -> str:
    """A positive term."""
    a, b = rng.choice(names), rng.choice(names)
    number = rng.choice((1, 2, 3, 0.22, 7.5))
    return rng.choice(
        (
            f"ceil({a} * {b} / {number})",
            f"(ceil({a} / (1 + {b})) + {number})",
            f"(floor({a} * {number} / (1 + {b})) + 1)",
            f"maximum({a}, {number}) * minimum({b} + 1, 4)",
            f"({number} * {a} + 1)",
            f"where({a} < {b}, {number}, {a} + 2)",
            f"ceil({a} * maximum(1, floor({b} / maximum({a}, 1))) / ({number} + {b}))",
        )
    )


def study(seed: int) -> tuple[dict[str, str], dict[str, list[float]], str, dict[str, str]]:
    """The formulas of a model, the axes, a constraint or '', and the rule as it is written."""
    rng = random.Random(seed)
    parts = [term(rng, "xys") for _ in range(rng.choice((1, 2, 3)))]
    cost = parts[0] + "".join(f" {rng.choice('+*')} {part}" for part in parts[1:])
    rules = (
        "maximum(1, floor(y / (1 + x)))",
        "floor(maximum(1, minimum(y, floor(6 / (1 + x)))))",
        "minimum(x, y)",
        "y",
        "2",
        "where(x < y, 1, 3)",
        "x / 2 + 1",
        "floor(x) - 1",
    )
    rule = rng.choice(rules)
    choices = (
        list(range(1, rng.choice((2, 4, 9)))),
        list(range(0, 9, 2)),
        [1, 2, 4, 8],
        [0.5, 1, 1.5, 2, 3.75],
        [3, 1, 2],
        [0, 1],
        [2],
    )
    axes = {
        "x": sorted(rng.sample((0, 1, 2, 3, 5, 8, 0.5, 2.5), rng.choice((1, 3, 4)))),
        "y": sorted(rng.sample(range(9), rng.choice((1, 3, 5)))),
        "s": rng.choice(choices),
    }
    axes = dict(rng.sample(sorted(axes.items()), 3))
    limit = rng.choice(("", "", "s <= y", "cost <= 9", "x + s >= 2", "s != 1"))
    written = rng.choice(("rule", f"({rule})"))
    return {"cost": cost, "rule": rule}, axes, limit, {"written": written}


def brute_force(formulas: dict[str, str], axes: dict[str, list[float]], limit: str) -> Any:
    """The cost at the rule, the best cost, and where the limit permits a point, over x and y.

    A limit that does not depend on s removes points, but it removes no choice of s.
    """
    along = "s" in re.findall(r"\w+", limit.replace("cost", formulas["cost"]))
    outer = [name for name in axes if name != "s"]

    def value(text: str, at: dict[str, float]) -> Any:
        with np.errstate(all="ignore"):
            return eval(text, {**SLOW, **{k: np.float64(v) for k, v in at.items()}})

    def cost(at: dict[str, float]) -> float:
        known = value(formulas["cost"], at)
        met = not (limit and along) or value(limit, {**at, "cost": known})
        return float(known) if met else np.nan

    shape = [len(axes[name]) for name in outer]
    chosen, best, here = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, True)
    for place in itertools.product(*map(range, shape)):
        at = {name: axes[name][k] for name, k in zip(outer, place, strict=True)}
        rule = float(value(formulas["rule"], at))
        costs = [cost({**at, "s": s}) for s in axes["s"]]
        if limit and not along:
            first = {**at, "s": axes["s"][0]}
            here[place] = value(limit, {**first, "cost": cost(first)})
        if rule in axes["s"]:
            chosen[place] = cost({**at, "s": rule})
        if not np.all(np.isnan(costs)):
            best[place] = np.nanmin(costs)
    return outer, chosen, best, here


def check(seed: int, folder: Path, prove: bool = True) -> str:
    """The first difference, or ''."""
    formulas, axes, limit, about = study(seed)
    file = folder / f"random_{seed}.py"
    file.write_text(MODEL.format(**formulas))
    made = dse.Study(model=str(file), axes=axes, where=limit or ())
    rule = about["written"]
    outer, chosen, best, here = brute_force(formulas, axes, limit)
    outputs = {
        f"at(cost, s, {rule})": chosen,
        f"regret(cost, s, {rule}, 'absolute')": chosen - best,
    }
    with np.errstate(all="ignore"):
        outputs[f"regret(cost, s, {rule})"] = chosen / best
    try:
        ds = dse.Study(model=str(file), axes=axes, where=limit or (), outputs=list(outputs)).run()
    except InfeasibleError:
        return "" if np.all(np.isnan(best[here])) else "refused as infeasible"
    arrays = [array for name, array in ds.data_vars.items() if name != "feasible"]
    for (text, expected), array in zip(outputs.items(), arrays, strict=True):
        dims = [axis for axis in outer if axis in array.dims]
        got = array.transpose(*dims).values if array.ndim else array.values
        whole = np.broadcast_to(
            got.reshape([len(axes[a]) if a in dims else 1 for a in outer]), expected.shape
        )
        if not np.array_equal(whole, expected, equal_nan=True):
            return f"{text}: {whole} instead of {expected}"
    regret = f"regret(cost, s, {rule})"
    finite = outputs[regret][here & np.isfinite(outputs[regret])]
    for method in ("scan", "certified") if prove else ("scan",):
        try:
            answer = made.optimum(maximize=regret, method=method)
        except (InfeasibleError, OutOfTimeError):
            if finite.size:
                return f"{method} finds no point"
            continue
        got = next(float(answer[n]) for n in answer.data_vars if str(n).startswith("regret"))
        if got != finite.max():
            return f"{method} finds {got} instead of {finite.max()}"
        if method == "certified" and (answer.attrs["gap"] or answer.attrs["bound"] != got):
            return f"the bound is {answer.attrs['bound']}"
    return ""


def main(count: int, first: int = 1) -> int:
    """Check some studies, and return the number of differences."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            if result := check(seed, Path(folder)):
                wrong += 1
                print(seed, study(seed), result)
    print(f"{count} studies: {wrong} differ from brute force")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
