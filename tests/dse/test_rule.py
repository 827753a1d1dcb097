"""Rules with a certified worst regret: against brute force, as C and Python, and changed files."""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import runpy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.rules.fit import prove
from dse.rules.report import RuleReport
from dse.rules.sample import RuleProblem
from dse.rules.tree import Choice, Threshold
from sweeps.grid.goals import one_goal
from sweeps.sources.grid_proof import search_above
from symbolic.errors import DseError

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


def time_of(groups: float, tiles: float, sms: float, splits: float) -> float:
    waves = math.ceil(groups * splits / (sms * 3))
    return waves * (math.ceil(tiles / splits) + 10) + 0.22 * splits


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "splits.py").write_text(SPLITS)
    return str(tmp_path / "splits.py")


def study(model: str, splits: Any = range(1, 33), **options: Any) -> dse.Study:
    axes = {"groups": range(1, 61), "kv_tiles": range(1, 51), "n_sms": [8, 13, 20]}
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
    for groups, tiles, sms in itertools.product(range(1, 61), range(1, 51), (8, 13, 20)):
        some = [s for s in splits if allowed(tiles, s)]
        chosen = rule(groups=groups, n_sms=sms, kv_tiles=tiles)
        assert chosen in some
        best = min(time_of(groups, tiles, sms, s) for s in some)
        worst = max(worst, time_of(groups, tiles, sms, chosen) / best)
    return worst


def test_certificate_equals_brute_force(model: str, tmp_path: Path) -> None:
    report = study(model).rule(of="splits", minimize="tile_time", within=0.1)
    assert report.is_within
    assert report.leaves <= 8
    rule = python_rule(report, tmp_path)
    assert worst_by_brute_force(rule, range(1, 33)) == report.proof.bound == report.proof.worst
    point = report.proof.point
    best = min(time_of(*at(point), s) for s in range(1, 33))
    chosen = rule(groups=point["groups"], n_sms=point["n_sms"], kv_tiles=point["kv_tiles"])
    assert time_of(*at(point), chosen) / best == report.proof.worst


def at(point: dict[str, Any]) -> tuple[float, float, float]:
    return point["groups"], point["kv_tiles"], point["n_sms"]


def test_thresholds_choose_among_unequal_values(model: str, tmp_path: Path) -> None:
    report = study(model, [1, 2, 4, 16]).rule(of="splits", minimize="tile_time", within=0.5)
    rule = python_rule(report, tmp_path)
    assert worst_by_brute_force(rule, [1, 2, 4, 16]) == report.proof.worst


def test_infeasible_choices_are_infinitely_bad(model: str, tmp_path: Path) -> None:
    limited = study(model, [1, 2, 4, 8], where="splits <= kv_tiles")
    report = limited.rule(of="splits", minimize="tile_time", within=1.0)
    assert all(len(leaf.formulas) == 1 for leaf in leaves_of(report.tree))
    rule = python_rule(report, tmp_path)
    worst = worst_by_brute_force(rule, [1, 2, 4, 8], lambda tiles, s: s <= tiles)
    assert worst == report.proof.worst
    problem = RuleProblem.from_study(limited, "tile_time", "splits")
    assert prove(problem, Choice(formulas=("2.0",)), 2.0, None).worst > 1e290
    assert prove(problem, Choice(formulas=("3.0",)), 2.0, None).worst > 1e290


def leaves_of(tree: Any) -> list[Choice]:
    return [tree] if isinstance(tree, Choice) else leaves_of(tree.yes) + leaves_of(tree.no)


@pytest.mark.parametrize("rule", ["2", "maximum(1, minimum(32, floor(n_sms * 3 / groups)))"])
def test_search_above_a_limit_agrees_with_a_scan(model: str, rule: str) -> None:
    text = f"regret(tile_time, splits, {rule})"
    worst = study(model).optimum(maximize=text, method="scan")[text].item()
    goal = one_goal(None, text)
    grid = study(model)._query_grid([goal], ())
    for limit in (1.0, worst - 1e-9):
        above = search_above(grid, goal, limit, None)
        assert above.place is not None
        assert above.value == above.bound == worst
    for limit in (worst, worst + 1):
        none = search_above(grid, goal, limit, None)
        assert none.place is None
        assert none.bound == limit


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_c_and_python_give_the_same(model: str, tmp_path: Path, count: int) -> None:
    report = study(model).rule(of="splits", minimize="tile_time", within=0.1)
    split = Threshold(formula="kv_tiles / groups", limit=1.3, yes=report.tree, no=report.tree)
    both = RuleReport(
        problem=report.problem, tree=split, proof=report.proof, mean=1.0, within=0.1, front={}
    )
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


@pytest.mark.parametrize("suffix", [".py", ".c", ".csv"])
def test_a_written_rule_is_certified_and_a_changed_one_is_refused(
    model: str, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"rule{suffix}"
    report = study(model).rule(of="splits", minimize="tile_time", within=0.1, out=path)
    again = study(model).rule(check=path, within=0.1)
    assert again.proof == report.proof
    text = path.read_text()
    for changed in (
        "2.0".join(text.rsplit("1.0", 1)),
        text + "#\n",
        "x = 3\n" + text,
        text.replace('"of"', '"off"', 1),
    ):
        path.write_text(changed)
        with pytest.raises(DseError):
            study(model).rule(of="splits", check=path, minimize="tile_time")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": "tiles"}, "'tiles' is no axis of numbers"),
        ({"of": "splits", "within": 0.0}, "expected a positive share"),
        ({"of": "splits", "leaves": 0}, "leaves=0"),
        ({"of": "splits", "out": "rule.txt"}, "ends in .py, .c, .csv"),
        ({}, "name the axis"),
        ({"of": "splits", "features": "splits / 2"}, "is no input"),
        ({"of": "splits", "minimize": "tile_time - 1000"}, "not positive"),
        ({"of": "splits", "minimize": "groups"}, "does not depend on splits"),
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
    out = tmp_path / "rule.c"
    words = [str(tmp_path / "splits.toml"), "--of", "splits", "--minimize", "tile_time"]
    done = CliRunner().invoke(
        main, ["rule", *words, "--within", "10%", "--out", str(out), "--json"]
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["bound"] <= 1.1
    done = CliRunner().invoke(main, ["rule", words[0], "--check", str(out), "--within", "10%"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["rule", *words, "--within", "0.01%", "--leaves", "1"])
    assert done.exit_code == 3, done.output
