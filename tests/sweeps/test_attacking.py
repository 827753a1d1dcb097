"""Proofs about models of a user's own, against every point: cases that went wrong once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dse
from symbolic.errors import InfeasibleError

HEAD = """import dse
from symbolic.ops import *
x = dse.quantity("x", domain="(-inf, inf)")
y = dse.quantity("y", domain="(-inf, inf)")
"""


def made(folder: Path, axes: dict[str, Any], **equations: str) -> dse.Study:
    """A study of a model whose quantities are given as formulas in those before them."""
    text, known = HEAD, list(axes)
    for name, formula in equations.items():
        args = ", ".join(known)
        text += f'\n@dse.equation(source="here")\ndef {name}({args}):\n    return {formula}\n'
        known.append(name)
    (folder / "model.py").write_text(text)
    return dse.Study(model="model.py", axes=axes, outputs=list(equations), folder=folder)


def best(study: dse.Study, name: str, method: str, **question: Any) -> Any:
    try:
        return float(study.optimum(**question, method=method)[name])
    except InfeasibleError:
        return None


# --- a supposed maximum whose argument has values of both signs, far from what the maximum is
@pytest.mark.parametrize(
    ("formula", "axis", "question"),
    [
        ("maximum(3.5, 2 * x)", range(-8, 42), {"maximize": "g", "where": "g <= 41"}),
        (
            "maximum(x * x, 7.0)",
            range(-4, 108),
            {"minimize": "g", "where": ["g >= 100", "g <= 260"]},
        ),
        ("3.5 + maximum(x * 2 - 3.5, 0)", range(-76, 57), {"maximize": "g", "where": "g <= 52"}),
        ("minimum(-7, x * x - 50)", range(-36, 23), {"minimize": "g", "where": "g >= 0 - 55"}),
    ],
)
def test_what_is_supposed_says_nothing_of_signs(
    tmp_path: Path, formula: str, axis: range, question: dict[str, Any]
) -> None:
    study = made(tmp_path, {"x": list(axis)}, g=formula)
    found = [best(study, "g", method, **question) for method in ("certified", "scan")]
    assert found[0] == found[1] is not None


# --- what is set aside under a gap
@pytest.mark.parametrize("gap", [0.01, 0.05, 0.2, 3.0])
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_a_bound_holds_under_a_gap(tmp_path: Path, gap: float, sense: str) -> None:
    axes = {"x": [*range(-375, 0), *range(1, 125)], "y": [3, 5, 4, -1, 1, 6, 0, 2]}
    study = made(tmp_path, axes, e="(x + 1) + y * y", g="e * ((x + 1) / x)")
    sign = 1 if sense == "minimize" else -1
    for limits in ([], ["e >= 0 - 6", "e <= 98"], ["e >= 273"]):
        question: dict[str, Any] = {sense: "g", "where": limits}
        if (least := best(study, "g", "scan", **question)) is None:
            continue
        found = study.optimum(**question, method="certified", gap=gap)
        assert sign * found.attrs["bound"] <= sign * least <= sign * float(found.g)
        assert found.attrs["gap"] <= gap
        assert abs(float(found.g) - least) <= gap * abs(float(found.g))


# --- what floats lose where large parts cancel
@pytest.mark.parametrize("large", [1e9, 1e15])
@pytest.mark.parametrize("formula", ["(e + y) - {0} * x", "(e - y * x) - {0} * x + y * x"])
def test_cancelled_parts_leave_their_rounding(tmp_path: Path, formula: str, large: float) -> None:
    axes = {"x": [k + 1 / 3 for k in range(300)], "y": [k / 7 for k in range(90)]}
    study = made(tmp_path, axes, e=f"{large} * x", g=formula.format(large))
    for sense in ("minimize", "maximize"):
        found = [best(study, "g", method, **{sense: "g"}) for method in ("certified", "scan")]
        assert found[0] == found[1] is not None
