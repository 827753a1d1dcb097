"""A literal among arrays is a double: divisions by a literal 0, whole numbers beyond 2^53."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from symbolic.errors import DseError
from symbolic.ops import constant, interpret_arrays, reference, where

MODEL = """
import dse
from symbolic.ops import where

x = dse.quantity("x", domain="[-inf, inf]")
y = dse.quantity("y", domain="[-inf, inf]")


@dse.equation(source="here")
def nought():
    return 0


@dse.equation(source="here")
def endless(nought):
    return 3 / nought


@dse.equation(source="here")
def unknown(endless, x):
    return where(x < 2, 1, 0) * endless


@dse.equation(source="here")
def odd():
    return 2**53 + 1


@dse.equation(source="here")
def rest(odd, endless, x):
    return x / endless + (odd - 2**53)


@dse.equation(source="here")
def wide(x):
    return where(x < 2, 2**62, 3) * 4


@dse.equation(source="here", flags={1: "below", 2: "above", 3: "beyond"})
def state(endless, x, y):
    return where(x < endless, where(x < y, 1, 2), 3)
"""
#: Each quantity as doubles have it, at each x.
TRUE = {
    "nought": [0.0] * 4,
    "endless": [math.inf] * 4,
    "unknown": [math.inf, math.inf, math.nan, math.nan],
    "odd": [2.0**53] * 4,
    "rest": [0.0] * 4,
    "wide": [2.0**64, 2.0**64, 12.0, 12.0],
}


@pytest.fixture
def study(tmp_path: Path) -> Any:
    (tmp_path / "constants.py").write_text(MODEL)
    axes = {"x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}
    outputs = [*TRUE, "state"]
    return dse.Study(model="constants.py", folder=tmp_path, axes=axes, outputs=outputs)


def test_literals_are_doubles() -> None:
    wide = where(reference("x") < 2, 2**62, 3) * 4
    known = {"x": np.array([1.0])}
    result = interpret_arrays([constant(3) / 0, constant(0) / 0, wide, constant(True)], known)
    np.testing.assert_array_equal(result[:2], [math.inf, math.nan])
    assert result[2].tolist() == [2.0**64]
    assert result[3] is True


def test_a_whole_number_beyond_all_doubles_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "beyond.py").write_text(MODEL.replace("2**53 + 1", "-(10**309)"))
    with pytest.raises(DseError, match=r"odd .* cannot be recorded: .* beyond the largest float"):
        dse.Study(model="beyond.py", folder=tmp_path, axes={"x": [1.0], "y": [2.0]})


def test_runs_explanations_and_configurations_agree(study: Any) -> None:
    ds = study.run()
    grid = study.grid()
    places = np.arange(4)
    told = grid.outputs_at_points({"x": places, "y": places * 0}, list(TRUE))
    for name, values in TRUE.items():
        alike = ds[name].broadcast_like(ds.x).values
        np.testing.assert_array_equal(alike, values)
        np.testing.assert_array_equal(told[name], values)
        (array,) = grid.evaluate([grid.graph.flat(name)], (), ("x",))
        np.testing.assert_array_equal(array, values)
    for place, x in enumerate(ds.x.values.tolist()):
        said = {step.name: step.value for step in study.explain(x=x, y=1.0).steps}
        np.testing.assert_array_equal(
            [said[name] for name in TRUE], [values[place] for values in TRUE.values()]
        )


@pytest.mark.parametrize("method", ["scan", "certified"])
@pytest.mark.parametrize(
    ("asked", "place", "value"),
    [
        ({"maximize": "wide"}, 0, 2.0**64),
        ({"minimize": "wide", "where": ["endless > wide"]}, 2, 12.0),
        ({"minimize": "rest - x"}, 3, -3.0),
        ({"maximize": "x / endless - rest * 2", "where": ["3 / nought >= x"]}, 0, 0.0),
        ({"minimize": "wide", "where": ["unknown > 7", "odd == 9007199254740992"]}, 0, 2.0**64),
    ],
)
def test_scans_and_proofs_agree(
    study: Any, asked: dict[str, Any], place: int, value: float, method: str
) -> None:
    for result in (study.optimum(**asked, method=method), dse.optimum(study.run(), **asked)):
        text = asked.get("minimize", asked.get("maximize"))
        assert float(result.x) == place
        assert float(result[text if text in result else "objective"]) == value


def test_counts_boxes_and_distributions(study: Any) -> None:
    ds, where = study.run(), ["endless > wide", "x < 2"]
    for counted in (study.count(where=where), dse.count(ds, where=where)):
        assert int(counted.feasible_points) == 6
    for spread in (study.quantiles("wide * 1", 0.75), dse.quantiles(ds, "wide * 1", 0.75)):
        assert spread.objective.item() == 2.0**64
    boxes = dse.meets(study, ["endless > wide", "wide > 12"])
    assert (int(boxes.inner), int(boxes.outer)) == (6, 6)


def test_borders_ranges_and_slopes(study: Any) -> None:
    result = dse.borders(study, "state", along="x")
    assert result.border.sel(side="above", along="x").isel(x=0).values.tolist() == [1.0, 2.0, 3.0]
    ends = dse.ranges(study, {"y": "10 %"})
    for name in ("endless", "odd", "wide"):
        for end in ends.end.values:
            told = ends[name].sel(end=end).broadcast_like(ends.x).values
            np.testing.assert_array_equal(told, TRUE[name])
    slopes = dse.sensitivity(study, output="rest - x", at={"x": 1.0, "y": 1.0})
    assert slopes.elasticity.sel(input="x").item() == pytest.approx(1.0)


def test_only_worlds_with_numbers_of_their_own_choose_the_kind() -> None:
    """Whoever evaluates over arrays calls ``interpret_arrays``."""
    for package in ("dse", "sweeps", "stochastic"):
        for path in sorted((Path(__file__).parents[2] / package).rglob("*.py")):
            for call in ast.walk(ast.parse(path.read_text())):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                    own = {word.arg for word in call.keywords} & {"number"} or len(call.args) > 3
                    assert own or call.func.id not in ("interpret", "interpret_all"), path
