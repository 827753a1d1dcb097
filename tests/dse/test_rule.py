"""Test rules against brute force, written as C and Python, and read from files."""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import runpy
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.rules.problem import BoxCosts, Choice, RuleProblem, Threshold
from dse.rules.prove import prove
from dse.rules.report import RuleReport
from sweeps.bounds.problem import Boxes
from sweeps.runtime.search_loop import SearchStats
from symbolic.errors import DseError
from symbolic.node import constant

ROOT = Path(__file__).parents[2]
SPLITS = '''"""Split-KV decode attention."""
import dse
groups = dse.quantity("groups", domain="whole [1, inf)", meaning="batch times KV heads")
tiles = dse.quantity("kv_tiles", domain="whole [1, inf)", meaning="tiles of keys")
splits = dse.quantity("splits", domain="whole [1, inf)", meaning="parts of the keys")
@dse.equation(source="flashinfer PR 4904", meaning="time in units of a tile")
def tile_time(groups, kv_tiles, splits, n_sms):
    waves = dse.ceil(groups * splits / (n_sms * 3))
    return waves * (dse.ceil(kv_tiles / splits) + 10) + 0.22 * splits
'''
SMS = (8, 13, 20)
POINTS = list(itertools.product(range(1, 61), range(1, 51), SMS))


def time_of(groups: float, tiles: float, sms: float, splits: float) -> float:
    waves = math.ceil(groups * splits / (sms * 3))
    return waves * (math.ceil(tiles / splits) + 10) + 0.22 * splits


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "splits.py").write_text(SPLITS)
    return str(tmp_path / "splits.py")


def study(model: str, splits: Any = range(1, 33), **options: Any) -> dse.Study:
    axes = {"groups": range(1, 61), "kv_tiles": range(1, 51), "n_sms": list(SMS)}
    return dse.Study(model=model, axes={**axes, "splits": splits}, **options)


def python_rule(report: RuleReport, folder: Path) -> Callable[..., float]:
    (folder / "written.py").write_text(report.text(".py"))
    result: Callable[..., float] = runpy.run_path(str(folder / "written.py"))["splits"]
    return result


def worst_by_brute_force(
    rule: Callable[..., float],
    splits: Any,
    allowed: Callable[..., bool] = lambda tiles, s: True,
) -> float:
    worst = 0.0
    for groups, tiles, sms in POINTS:
        some = [s for s in splits if allowed(tiles, s)]
        chosen = rule(groups=groups, n_sms=sms, kv_tiles=tiles)
        if chosen not in some:
            return math.inf
        best = min(time_of(groups, tiles, sms, s) for s in some)
        worst = max(worst, time_of(groups, tiles, sms, chosen) / best)
    return worst


def proven(problem: RuleProblem, tree: Any, **options: Any) -> Any:
    return prove(problem, tree, SearchStats.start(None), **options)


def test_certificate_agrees_with_brute_force(model: str, tmp_path: Path) -> None:
    report = study(model).rule(of="splits", minimize="tile_time", within=0.1)
    assert report.is_within
    assert report.leaves <= 8
    rule = python_rule(report, tmp_path)
    worst = worst_by_brute_force(rule, range(1, 33))
    assert report.proof.worst <= worst <= report.proof.bound <= 1.1
    exact = proven(report.problem, report.tree)
    assert exact.worst == exact.bound == worst
    point = report.problem.point(exact.place)
    best = min(time_of(point["groups"], point["kv_tiles"], point["n_sms"], s) for s in range(1, 33))
    chosen = rule(**{name: point[name] for name in report.problem.inputs})
    assert time_of(point["groups"], point["kv_tiles"], point["n_sms"], chosen) / best == worst


def test_front_is_certified(model: str) -> None:
    report = study(model).rule(of="splits", minimize="tile_time", within=0.02)
    bounds = [proof.bound for proof in report.front.values()]
    assert list(report.front) == sorted(report.front)
    assert bounds == sorted(bounds, reverse=True)
    for proof in list(report.front.values())[:-1]:
        assert proof.worst <= proof.bound <= proof.worst * 1.01
        assert proof.worst > 1.02


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_have_the_worst_regret_of_brute_force(
    model: str, tmp_path: Path, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    problem = RuleProblem.from_study(study(model), "tile_time", "splits")
    formulas = problem.candidates()
    texts = ("groups", "kv_tiles", "kv_tiles / groups", "3 * n_sms / groups")

    def tree(depth: int) -> Any:
        if depth == 0 or rng.random() < 0.2:
            some = rng.choice(len(formulas), rng.integers(1, 4), replace=False)
            return Choice(formulas=tuple(formulas[k] for k in some))
        test = problem.parse(str(rng.choice(texts))) <= float(rng.integers(1, 20))
        return Threshold(test=constant(test), yes=tree(depth - 1), no=tree(depth - 1))

    made = tree(3)
    proof = proven(problem, made)
    report = RuleReport(problem=problem, tree=made, within=0.1, front={1: proof}, mean=1.0)
    rule = python_rule(report, tmp_path)
    assert proof.worst == proof.bound == worst_by_brute_force(rule, range(1, 33))
    path = tmp_path / "written.py"
    again = study(model).rule(check=path, minimize="tile_time", within=1e9)
    assert again.tree == made


def test_bounds_over_boxes_contain_the_regret_at_points(model: str) -> None:
    problem = RuleProblem.from_study(study(model), "tile_time", "splits")
    tree = Choice(formulas=tuple(problem.candidates()[12:15]))
    rng = np.random.default_rng(3)
    ends = np.sort([rng.integers(0, n, (200, 2)) for n in (60, 50, 3)], axis=2)
    boxes = Boxes(ends[:, :, 0], ends[:, :, 1])
    bound = BoxCosts(problem, boxes).regret(tree)
    inside = rng.integers(boxes.lo, boxes.hi + 1)
    at = BoxCosts(problem, Boxes(inside, inside)).regret(tree)
    assert np.all(at <= bound)
    assert np.any(at < bound)


def test_a_rule_chooses_among_unequal_values(model: str, tmp_path: Path) -> None:
    report = study(model, [1, 2, 4, 16]).rule(of="splits", minimize="tile_time", within=0.5)
    rule = python_rule(report, tmp_path)
    worst = worst_by_brute_force(rule, [1, 2, 4, 16])
    assert report.proof.worst <= worst <= report.proof.bound <= 1.5


def test_infeasible_choices_are_infinitely_bad(model: str, tmp_path: Path) -> None:
    limited = study(model, [1, 2, 4, 8], where="splits <= kv_tiles")
    report = limited.rule(of="splits", minimize="tile_time", within=1.0)
    rule = python_rule(report, tmp_path)
    worst = worst_by_brute_force(rule, [1, 2, 4, 8], lambda tiles, s: s <= tiles)
    assert report.proof.worst <= worst <= report.proof.bound <= 2.0
    for number in (2.0, 3.0):
        assert proven(report.problem, Choice(formulas=(constant(number),))).worst == math.inf


@pytest.mark.parametrize("sms", [[8], [8, 9]])
def test_studies_of_one_or_two_points(model: str, sms: list[int]) -> None:
    axes = {"groups": [7], "kv_tiles": [30], "n_sms": sms, "splits": [1, 2, 3, 50]}
    small = dse.Study(model=model, axes=axes)
    report = small.rule(of="splits", minimize="tile_time")
    assert report.proof.worst == report.proof.bound == 1
    bad = proven(report.problem, Choice(formulas=(constant(50.0),)))
    best = {n: min(time_of(7, 30, n, s) for s in (1, 2, 3)) for n in sms}
    assert bad.worst == bad.bound == max(time_of(7, 30, n, 50) / best[n] for n in sms)
    with pytest.raises(DseError, match="the only axis"):
        dse.Study(
            model=model, axes={"splits": [1, 2]}, set={"groups": 1, "kv_tiles": 2, "n_sms": 3}
        ).rule(of="splits", minimize="tile_time")


def test_given_formulas_may_be_leaves(model: str) -> None:
    text = "where(n_sms <= 13, 5, 7)"
    report = study(model, [1, 5, 7]).rule(
        of="splits", minimize="(splits - where(n_sms <= 13, 5, 7)) ** 2 + 1", formulas=text
    )
    assert report.tree == Choice(formulas=(report.problem.parse(text),))
    assert report.proof.bound == 1


def test_time_limit_ends_the_proof_with_a_wider_bound(model: str) -> None:
    axes = {"groups": range(1, 200_001), "kv_tiles": range(1, 200_001), "n_sms": list(SMS)}
    large = dse.Study(model=model, axes={**axes, "splits": range(1, 129)})
    began = time.monotonic()
    report = large.rule(of="splits", minimize="tile_time", within=0.001, time_limit=2)
    assert time.monotonic() - began < 20
    assert not report.is_within
    assert report.proof.bound >= report.proof.worst > 1


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_c_and_python_give_the_same(model: str, tmp_path: Path, count: int) -> None:
    report = study(model).rule(of="splits", minimize="tile_time", within=0.1)
    test = report.problem.parse("kv_tiles / groups") <= 1.3
    split = Threshold(test=constant(test), yes=report.tree, no=report.tree)
    both = replace(report, tree=split)
    rule = python_rule(both, tmp_path)
    (tmp_path / "rule.c").write_text(both.text(".c"))
    library = tmp_path / "rule.so"
    flags = ["-O2", "-Wall", "-Werror", "-ffp-contract=off", "-shared", "-fPIC"]
    done = subprocess.run(
        ["cc", *flags, "-o", library, tmp_path / "rule.c", "-lm"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    compiled = ctypes.CDLL(str(library)).splits
    compiled.restype, compiled.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    rng = np.random.default_rng(5)
    inputs = np.exp(rng.uniform(0, math.log(1e6), (count, 3))).astype(np.int64).astype(float)
    inputs[: count // 4] = rng.uniform(1, 1e4, (count // 4, 3))
    assert [row for row in inputs.tolist() if rule(*row) != compiled(*row)] == []


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_tiles_of_a_product(tmp_path: Path) -> None:
    """The best tile of the example has the time of the model; C, Python and model agree."""
    axes = {"product_rows": [1, 7, 100, 4000], "product_columns": [64, 640, 16000]}
    axes |= {"product_depth": [64, 1024, 8192], "tile_number": list(range(8))}
    tiles = dse.Study(
        model=f"gemm + {ROOT / 'examples/rules/gemm_tile.py'}",
        machine="h100_sxm",
        set={"dtype": "bf16"},
        axes=axes,
        outputs=["tile_cost", "product_cost"],
    )
    values = tiles.run()
    np.testing.assert_array_equal(values.tile_cost.min("tile_number"), values.product_cost)
    report = tiles.rule(of="tile_number", minimize="tile_cost", within=0.01)
    assert report.is_within
    for suffix in (".py", ".c"):
        (tmp_path / f"rule{suffix}").write_text(report.text(suffix))
    library = tmp_path / "rule.so"
    flags = ["-O2", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "-o", library, tmp_path / "rule.c", "-lm"], check=True)
    compiled = ctypes.CDLL(str(library)).tile_number
    compiled.restype, compiled.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    rule = runpy.run_path(str(tmp_path / "rule.py"))["tile_number"]
    worst = 0.0
    for point in itertools.product(*list(axes.values())[:3]):
        at = dict(zip(axes, point, strict=False))
        args = [float(at[name]) for name in report.problem.inputs]
        chosen = rule(*args)
        assert chosen == compiled(*args)
        cost = values.tile_cost.sel(at)
        worst = max(worst, float(cost.sel(tile_number=chosen) / cost.min()))
    assert worst <= report.proof.bound
    assert tiles.rule(check=tmp_path / "rule.py", minimize="tile_cost").tree == report.tree


GIVEN = """
import math
from math import floor

def splits(groups: int, kv_tiles: int, n_sms: int) -> int:
    '''A rule of thumb.'''
    slots = 3 * n_sms
    waves = slots // groups if groups <= slots else 1
    if kv_tiles <= 4 or not groups < 40:
        return 1
    elif 10 < kv_tiles <= 20:
        half = -(-kv_tiles // 2)
        return max(1, min(waves, half, 32))
    if kv_tiles % 2 == 0:
        waves = waves + 1
    return min(32, max(1, math.floor(waves * 0.75)), int_part(kv_tiles))
""".replace("int_part(kv_tiles)", "abs(kv_tiles - 60)")


def test_a_given_rule_is_certified(model: str, tmp_path: Path) -> None:
    path = tmp_path / "given.py"
    path.write_text(GIVEN)
    report = study(model).rule(check=path, minimize="tile_time", within=0.1)
    worst = worst_by_brute_force(runpy.run_path(str(path))["splits"], range(1, 33))
    assert report.proof.worst <= worst <= report.proof.bound <= report.proof.worst * 1.01
    assert not report.is_within
    assert worst > 1.5
    assert report.leaves == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def splits(groups):\n    for k in range(3):\n        pass\n    return 1",
            "line 2: 'for k",
        ),
        ("def splits(groups):\n    if groups > 3:\n        return 1", "without a return"),
        ("def splits(groups):\n    return round(groups)", "round"),
        ("def splits(groups):\n    return groups if groups else 1", "cannot be certified|expected"),
        ("def splits(batch):\n    return 1", "batch"),
        ("def splits(groups=3):\n    return 1", "plain arguments"),
        ("@cache\ndef splits(groups):\n    return 1", "plain arguments"),
        ("def other(groups):\n    return 1", "other is not"),
        ("def splits(groups):\n    return 1 / (groups - 2)", "may be undefined"),
        ("def splits(groups, n_sms):\n    return n_sms / groups // 1", "may round twice"),
        ("def splits(groups):\n    return groups * 10**15 // 10**15", "cannot be certified|above"),
        ("def splits(groups):\n    min = groups\n    return min(groups, 3)", "cannot be certified"),
        ("def min(a, b):\n    return 7\ndef splits(groups):\n    return min(groups, 3)", "min is"),
        ("from math import ceil as floor\ndef splits(groups):\n    return floor(2.5)", "no part"),
        ("import os\ndef splits(groups):\n    return 1", "no part"),
        ("def splits(groups):\n    return x", "x is unknown"),
        ("def splits(groups):\n    return 'a'", "no number"),
        ("def splits(groups)", "no Python file"),
        ("def splits(groups):\n    return floor(groups)", "floor.groups. cannot"),
        ("def splits(groups):\n    return math.floor(groups)", "cannot be certified"),
        ("import math\ndef splits(groups):\n    return math.min(groups, 2)", "math.min"),
        ("def splits(groups):\n    return min(groups)", "min.groups. cannot"),
        ("def splits(groups):\n" + "    a = 1\n" * 2000 + "    return 1", "too long"),
        ("def splits(groups):\n    return True", "True"),
        ("def splits(groups):\n    if groups is 3:\n        return 1\n    return 2", "is"),
    ],
)
def test_other_code_is_refused(model: str, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "given.py"
    path.write_text(text)
    with pytest.raises(DseError, match=message):
        study(model).rule(of="splits", check=path, minimize="tile_time")


def test_a_changed_prediction_is_refused(model: str, tmp_path: Path) -> None:
    path = tmp_path / "rule.py"
    study(model).rule(of="splits", minimize="tile_time", within=0.1, out=path)
    text = path.read_text()
    path.write_text(text.replace("0.22", "0.23"))
    with pytest.raises(DseError, match="predicted is not"):
        study(model).rule(check=path, minimize="tile_time")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": "tiles"}, "'tiles' is no axis of numbers"),
        ({"of": "splits", "within": 0.0}, "expected a positive share"),
        ({"of": "splits", "leaves": 0}, "leaves=0"),
        ({"of": "splits", "out": "rule.txt"}, "ends in .py, .c, .csv"),
        ({"of": "splits", "check": "rule.c"}, "expected a Python file"),
        ({}, "name the axis"),
        ({"of": "splits", "formulas": "splits / 2"}, "is no axis or value"),
        ({"of": "splits", "minimize": "tile_time - 1000"}, "not positive"),
        ({"of": "splits", "minimize": "groups"}, "does not depend on splits"),
        ({"of": "splits", "minimize": "best(tile_time, n_sms) + splits"}, "no objective with best"),
    ],
)
def test_errors_say_what_to_write(model: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DseError, match=message):
        study(model).rule(**{"minimize": "tile_time", **options})


def test_command(model: str, tmp_path: Path) -> None:
    (tmp_path / "splits.toml").write_text(
        'model = "splits.py"\n[axes]\ngroups = { start = 1, stop = 20, step = 1 }\n'
        "n_sms = [8, 13]\nkv_tiles = [1, 2, 5, 17]\nsplits = [1, 2, 3, 4, 5, 6, 7, 8]\n"
    )
    out = tmp_path / "rule.py"
    words = [str(tmp_path / "splits.toml"), "--minimize", "tile_time", "--within"]
    made = [*words, "10%", "--of", "splits", "--out", str(out), "--json"]
    done = CliRunner().invoke(main, ["rule", *made])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["bound"] <= 1.1
    done = CliRunner().invoke(main, ["rule", *words, "10%", "--check", str(out)])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["rule", *words, "0.01%", "--of", "splits", "--leaves", "1"])
    assert done.exit_code == 3, done.output
