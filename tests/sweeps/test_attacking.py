"""Proofs about models of a user's own, against every point: cases that went wrong once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
import sweeps.bounds.merge_axes
from sweeps.grid.grid import Leaf
from symbolic.errors import InfeasibleError
from symbolic.primitives import PRIMITIVES
from tests.long import mostly_long
from tests.sweeps.attack_models import draw_study
from tests.sweeps.attacking import attack

HEAD = """import dse
from symbolic.ops import *
x = dse.quantity("x", domain="(-inf, inf)")
y = dse.quantity("y", domain="(-inf, inf)")
z = dse.quantity("z", domain="(-inf, inf)")
inf = float("inf")
"""


def make_study(
    folder: Path, axes: dict[str, Any], given: dict[str, Any] | None = None, /, **equations: str
) -> dse.Study:
    """A study of a model whose quantities are given as formulas in those before them."""
    text, known = HEAD, [*axes, *(given or {})]
    for name, formula in equations.items():
        args = ", ".join(known)
        text += f'\n@dse.equation(source="here")\ndef {name}({args}):\n    return {formula}\n'
        known.append(name)
    (folder / "model.py").write_text(text)
    return dse.Study(
        model="model.py", axes=axes, set=given or {}, outputs=list(equations), folder=folder
    )


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
    study = make_study(tmp_path, {"x": list(axis)}, g=formula)
    result = [best(study, "g", method, **question) for method in ("certified", "scan")]
    assert result[0] == result[1] is not None


# --- what is set aside under a gap
@pytest.mark.parametrize("gap", [0.01, 0.05, 0.2, 3.0])
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_a_bound_holds_under_a_gap(tmp_path: Path, gap: float, sense: str) -> None:
    axes = {"x": [*range(-375, 0), *range(1, 125)], "y": [3, 5, 4, -1, 1, 6, 0, 2]}
    study = make_study(tmp_path, axes, e="(x + 1) + y * y", g="e * ((x + 1) / x)")
    sign = 1 if sense == "minimize" else -1
    for limits in ([], ["e >= 0 - 6", "e <= 98"], ["e >= 273"]):
        question: dict[str, Any] = {sense: "g", "where": limits}
        if (least := best(study, "g", "scan", **question)) is None:
            continue
        result = study.optimum(**question, method="certified", gap=gap)
        assert sign * result.attrs["bound"] <= sign * least <= sign * float(result.g)
        assert result.attrs["gap"] <= gap
        assert abs(float(result.g) - least) <= gap * abs(float(result.g))


# --- what floats lose where large parts cancel
@pytest.mark.parametrize("large", [1e9, 1e15])
@pytest.mark.parametrize("formula", ["(e + y) - {0} * x", "(e - y * x) - {0} * x + y * x"])
def test_cancelled_parts_leave_their_rounding(tmp_path: Path, formula: str, large: float) -> None:
    axes = {"x": [k + 1 / 3 for k in range(300)], "y": [k / 7 for k in range(90)]}
    study = make_study(tmp_path, axes, e=f"{large} * x", g=formula.format(large))
    for sense in ("minimize", "maximize"):
        result = [best(study, "g", method, **{sense: "g"}) for method in ("certified", "scan")]
        assert result[0] == result[1] is not None


# --- a minimum of which one argument reaches far beyond the other
def test_the_smaller_share_of_a_chord_is_kept(tmp_path: Path) -> None:
    axes = {"x": [-1e273, -9e180, -6e78, -2e-210, 0.0, 1e-239, 2e190, 5e233], "y": [5.0, 6.0]}
    formula = "where(minimum(y, x * x - 10) <= -4, floor(x * 0 + 0.5), 7)"
    study = make_study(tmp_path, axes, e="minimum(y, x * x - 10)", g=formula)
    question: dict[str, Any] = {"minimize": "g", "where": "e <= -4.01"}
    result = [study.optimum(**question, method=method) for method in ("certified", "scan")]
    assert result[0].x == result[1].x == -2e-210
    listed = study.optimum(**question, within=0.0, method="certified")
    assert listed.attrs["configurations"] == 6


# --- worlds that are an ulp apart
def test_what_is_fixed_is_computed_as_arrays_are(tmp_path: Path) -> None:
    """Floats have an exp, log and power of their own; what stays as it is was computed with it."""
    for place, k in enumerate([0.3, 1.7, 2.9, 11.3, 23.7]):
        (folder := tmp_path / str(place)).mkdir()
        text = {"e": "exp(y) * x + log10(y) * x", "g": "e * power(x, z)"}
        axes = {"x": [3.0, 4.7, 5.1, 6.6], "y": [k], "z": [0.5, 2.0, -1.0, 3.0]}
        study = make_study(folder, axes, **text)
        run = study.run()
        for name in ("e", "g"):
            for sense in ("minimize", "maximize"):
                query: dict[str, Any] = {sense: name, "method": "certified"}
                best_one = float(study.optimum(**query)[name])
                near = study.optimum(**query, within=0.0)
                assert near.attrs["configurations"] >= 1
                assert float(near[name][0]) == best_one
                assert best_one == getattr(run[name], sense[:3])()


def test_an_array_read_backwards_has_the_same_logarithms() -> None:
    values = np.random.default_rng(0).uniform(1, 1e6, 1000)
    leaf = Leaf(axes=("x",), array=values[::-1])
    log10 = PRIMITIVES["log10"].array
    assert np.array_equal(log10(leaf.array), log10(values[::-1].copy()))


# --- tables whose axes are merged
def test_axes_of_a_table_are_merged_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps.bounds.merge_axes, "_MIN_POINTS", 0)
    axes = {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0, 4.0]}
    table = xr.DataArray(np.arange(12.0).reshape(3, 4) % 7, dims=("x", "y"))
    study = make_study(tmp_path, axes, {"z": table}, g="floor(x / 2) - z")
    for sense in ("minimize", "maximize"):
        result = [study.optimum(**{sense: "g"}, method=m) for m in ("certified", "scan")]
        assert result[0].drop_attrs().identical(result[1].drop_attrs())


# --- what is infinite is never the best
def test_an_infinite_objective_cannot_be_the_best(tmp_path: Path) -> None:
    study = make_study(tmp_path, {"x": [1.0, 0.0, 2.0]}, {"y": 1.0}, g="divide(y, x, at_zero=inf)")
    result = dse.ranges(study, {"y": "10 %"}, maximize="g")
    assert result.can_be_best.values.tolist() == [True, False, False]


# --- many more: ``python -m tests.sweeps.attacking 20000``
@pytest.mark.parametrize("seed", mostly_long(range(0, 60, 10), lambda k, _: k % 2 == 0))
def test_proofs_are_what_brute_force_finds(tmp_path: Path, seed: int) -> None:
    for number in range(seed, seed + 10):
        how, wrong = attack(draw_study(number), number, tmp_path)
        assert how != "wrong", (number, wrong)
