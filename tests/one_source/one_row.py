"""Two primitives that the project does not have, a row each, in every world: prints what they say.

    python -m tests.one_source.one_row FOLDER [METHODS]

A row stands in the table before anything else is made of it, as those of the project do.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from symbolic.primitives import PRIMITIVES
from symbolic.primitives.rule_operations import ALL_AXES, widen
from symbolic.primitives.spec import FormulaSyntax, Primitive


def _cbrt(al: Any, ah: Any, ua: Any) -> Any:
    lo, hi = widen(np.cbrt(al), np.cbrt(ah), al == ah)
    return lo, hi, ua


def _sign(al: Any, ah: Any, ua: Any) -> Any:
    return np.sign(al), np.sign(ah), ua


def _same(al: Any, ah: Any, aup: Any, adn: Any) -> Any:
    return aup, adn


PRIMITIVES["cbrt"] = Primitive(
    arity=1,
    scalar=math.cbrt,
    array=np.cbrt,
    sympy=lambda s, a: s.cbrt(a),
    nest="np.cbrt({0})",
    js="Math.cbrt({0})",
    interval=_cbrt,
    trend=_same,
    syntax=FormulaSyntax.fixed_count(1, "cbrt", units="plain"),
    calls_library=True,
)
PRIMITIVES["sign"] = Primitive(
    arity=1,
    scalar=lambda a: (a > 0) - (a < 0),
    array=np.sign,
    sympy=lambda s, a: s.sign(a),
    nest="np.sign({0})",
    js="Math.sign({0})",
    interval=_sign,
    trend=_same,
    syntax=FormulaSyntax.fixed_count(1, "sign", units="plain"),
)

MODEL = """import dse
from symbolic.ops import cbrt, sign
x = dse.quantity("x", domain="(-inf, inf)")
y = dse.quantity("y", domain="[0, inf)")


@dse.equation(source="here")
def root(x, y):
    return cbrt(x * y + 1) + sign(x) * y


@dse.equation(source="here")
def cost(root, x):
    return root * root - 3 * cbrt(x + 20)
"""


def main(folder: Path, methods: Sequence[str]) -> dict[str, Any]:
    """Return the results of the new primitives, backend by backend."""
    import dse
    import sweeps.nest.run
    from symbolic import ops
    from symbolic.intervals import Interval, Trend, enclose, literal_trend, trend_algebra
    from symbolic.ops import interpret_all, reference

    sweeps.nest.run.NUMPY_POINTS = 0  # no grid is too small for a nest
    (folder / "model.py").write_text(MODEL)
    axes = {
        "x": [-20.0, *np.linspace(-19.5, 40, 120).tolist()],
        "y": np.linspace(0, 9, 70).tolist(),
    }
    study = dse.Study(model="model.py", axes=axes, outputs=["root", "cost"], folder=folder)
    ds = study.run()
    x, y = np.array(axes["x"])[:, None], np.array(axes["y"])[None]
    by_hand = np.cbrt(x * y + 1) + np.sign(x) * y
    x_ = reference("x")
    roots = [ops.cbrt(x_), ops.sign(x_)]
    ends = Interval(np.array([-8.0, 1.0]), np.array([27.0, 8.0]))
    known = {"x": Trend(ends, ALL_AXES, ALL_AXES - np.uint64(1))}
    trends = interpret_all(roots, known, trend_algebra(), literal_trend)
    question: dict[str, Any] = {"where": ["cbrt(x) <= 2", "sign(x) * y >= -3"]}
    result: dict[str, Any] = {}
    allowed = (np.cbrt(x) <= 2) & (np.sign(x) * y >= -3)
    goals = {
        "cost": by_hand * by_hand - 3 * np.cbrt(x + 20),
        "cbrt(x * y + 30) + sign(x - 3)": np.cbrt(x * y + 30) + np.sign(x - 3),
    }
    for goal, values in goals.items():
        k, j = np.unravel_index(np.argmin(np.where(allowed, values, np.inf)), values.shape)
        result[f"{goal} by hand"] = [axes["x"][k], axes["y"][j]]
        for method in methods:
            best = study.optimum(minimize=goal, method=method, **question)
            result[f"{goal} {method}"] = [float(best["x"]), float(best["y"])]
    return {
        "float": [ops.cbrt(27.0), ops.sign(-2.5)],
        "array": [ops.cbrt(np.array([8.0])).tolist(), ops.sign(np.array([3.0])).tolist()],
        "closed form": str(dse.model(str(folder / "model.py")).closed_form("root")),
        "nest": float(np.abs(ds["root"].transpose("x", "y").values - by_hand).max()),
        "enclosure": [[e.lo.tolist(), e.hi.tolist()] for e in enclose(roots, {"x": ends})],
        "trend": [bool(np.all(t.up == ALL_AXES)) for t in trends],
        "optimum": result,
        "refused": _message(dse, study),
    }


def _message(dse: Any, study: Any) -> str:
    try:
        study.optimum(minimize="cbrt(x, y)")
    except dse.DseError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2:])))
