"""A primitive is one row: those of :mod:`tests.one_source.one_row` are in every world."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from tests.long import mostly_long

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "methods", mostly_long([["scan"], ["scan", "certified"]], lambda k, _: k == 0), ids=str
)
def test_a_row_is_all_that_a_primitive_takes(methods: list[str], tmp_path: Path) -> None:
    """The certified method takes long: it compiles another search, with the new rows in it."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.one_source.one_row", str(tmp_path), *methods],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["float"] == [pytest.approx(3, rel=1e-15), -1]
    assert result["array"] == [[2.0], [1.0]]
    assert result["closed form"] == "y*sign(x) + (x*y + 1)**(1/3)"
    assert result["nest"] < 1e-14
    (root, sign) = result["enclosure"]
    assert root == [pytest.approx(ends, rel=1e-14) for ends in ([-2, 1], [3, 2])]
    assert root[0][0] < -2 < 3 < root[1][0]
    assert sign == [[-1, 1], [1, 1]]
    assert result["trend"] == [True, True]
    best = result["optimum"]
    goals = {name.removesuffix(" by hand") for name in best if name.endswith(" by hand")}
    assert len(goals) == 2
    for goal in goals:
        for method in methods:
            assert best[f"{goal} {method}"] == best[f"{goal} by hand"]
    assert all(math.isfinite(value) for place in best.values() for value in place)
    assert result["refused"].startswith("cbrt takes 1 argument, and 2 are given")
