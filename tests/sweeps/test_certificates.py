"""Test that the checker accepts certificates of random studies, and rejects false ones."""

from __future__ import annotations

import ast
import copy
import itertools
import json
import math
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
import sweeps.certify.certificate
from sweeps.certify.certificate import certificate_text
from sweeps.certify.optimum import SwitchCase
from sweeps.grid.goals import Goal
from symbolic.errors import DseError
from symbolic.node import Node
from symbolic.ops import where
from symbolic.primitives import PRIMITIVES
from symbolic.primitives.spec import FormulaSyntax, Primitive
from tests.long import mostly_long
from tests.sweeps.certificates import (
    CHANGES,
    CHECKER,
    Certificate,
    checker,
    draw_certificate,
    is_true,
    scores,
    sizes_of,
    verdict,
)

#: Number of studies in a test, and the least numbers of accepted and of rejected certificates.
STUDIES, ACCEPTED, REJECTED = 40, 15, 120


@pytest.mark.parametrize(
    "first", mostly_long(range(1, 1 + 10 * STUDIES, STUDIES), lambda k, _: k == 0)
)
def test_true_certificates_are_accepted_and_false_ones_rejected(first: int, tmp_path: Path) -> None:
    accepted, differs, rejected = 0, 0, dict.fromkeys(CHANGES, 0)
    for seed in range(first, first + STUDIES):
        data, error = draw_certificate(seed, tmp_path)
        assert not error, (seed, error)
        if data is None:
            continue
        reason = verdict(data)
        # exp, log and powers of two libraries differ, and with them a condition at a tie
        library = any(f"{name}(" in json.dumps(data["equations"]) for name in checker.LIBRARY)
        assert not reason or (library and data["conditions"]), (seed, reason)
        accepted, differs = accepted + (not reason), differs + bool(reason)
        rng = random.Random(seed)
        for change in CHANGES:
            false = copy.deepcopy(data)
            if change(false, rng):
                assert verdict(false), (seed, change.__name__)
                rejected[change] += 1
    assert accepted >= ACCEPTED
    assert differs <= 1
    assert sum(rejected.values()) >= REJECTED
    assert sum(not count for count in rejected.values()) <= 1  # a change that fits no study here


# --- One small certificate, and what an attacker may try

MODEL = """import dse
from symbolic.ops import *
x = dse.quantity("x", domain="(-inf, inf)")
y = dse.quantity("y", domain="(-inf, inf)")

@dse.equation(source="here")
def cost(x, y):
    return (x - 7) * (x - 7) / 3 + maximum(y, 2) - divide(1, y, at_zero=0) + 0 * floor(x)
"""


def small_study(folder: Path, **axes: Any) -> dse.Study:
    (folder / "small.py").write_text(MODEL)
    axes = {"x": range(40), "y": range(-3, 10)} | axes
    return dse.Study(model="small.py", axes=axes, where="x + y >= 3", folder=folder)


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    file = tmp_path / "small.json"
    small_study(tmp_path).optimum(minimize="cost", method="certified", certificate=file)
    data: Certificate = json.loads(file.read_text())
    assert is_true(data)
    assert not verdict(data)
    return data


def _as_worse(data: Certificate, **changes: Any) -> Certificate:
    """Return a claim that the worst point is the best, with matching bounds and some changes."""
    values = scores(data)
    worst = np.unravel_index(
        np.argmax(np.where(np.isfinite(values), values, -np.inf)), values.shape
    )
    data["incumbent"] = {
        "indices": dict(zip(sizes_of(data), map(int, worst), strict=True)),
        "goal": float(values[worst]),
    }
    bound = data["incumbent"]["goal"]
    data["boxes"] = [b if isinstance(b, list) or b is None else bound for b in data["boxes"]]
    return data | changes


ATTACKS: dict[str, Callable[[Certificate], Certificate]] = {
    "no boxes": lambda d: _as_worse(d, boxes=[]),
    "only the incumbent's box": lambda d: _as_worse(d, boxes=[["x", 0], d["incumbent"]["goal"]]),
    "all is infeasible": lambda d: _as_worse(d, boxes=[None]),
    "an infinite bound": lambda d: _as_worse(d, boxes=[math.inf]),
    "a bound that is no number": lambda d: _as_worse(d, boxes=[math.nan]),
    "a bound as text": lambda d: _as_worse(d, boxes=["inf"]),
    "a gap that is no number": lambda d: _as_worse(d, gap=math.nan),
    "a negative gap": lambda d: d | {"gap": -1e-9},
    "an infinite gap": lambda d: _as_worse(d, gap=math.inf, boxes=[-math.inf]),
    "an infinite goal": lambda d: d | {"incumbent": d["incumbent"] | {"goal": math.inf}},
    "the other sense": lambda d: d | {"sense": "maximize"},
    "no sense": lambda d: d | {"sense": ["minimize"]},
    "an empty axis": lambda d: _as_worse(d, axes=d["axes"] | {"y": 0}),
    "an axis of a negative size": lambda d: _as_worse(d, axes=d["axes"] | {"y": -3}),
    "an axis of half a value": lambda d: _as_worse(d, axes=d["axes"] | {"y": 0.5}),
    "an axis left out": lambda d: _as_worse(d, axes={"x": d["axes"]["x"]}),
    "an incumbent beside the grid": lambda d: (
        d | {"incumbent": d["incumbent"] | {"indices": {"x": -33, "y": 5}}}
    ),
    "an incumbent between the points": lambda d: (
        d | {"incumbent": d["incumbent"] | {"indices": {"x": 7.0, "y": 5}}}
    ),
    "a truth value as an index": lambda d: (
        d | {"incumbent": d["incumbent"] | {"indices": {"x": True, "y": 5}}}
    ),
    "a number as a condition": lambda d: _as_worse(d, conditions=["x - x"], boxes=[None]),
    "a choice by a number": lambda d: d | {"goal": "where(x - 20, cost, cost)"},
    "a logical number": lambda d: d | {"conditions": [*d["conditions"], "both(x, 0 <= x)"]},
    "an operand that is written to": lambda d: d | {"goal": "floor(cost, cost)"},
    "a third operand that is written to": lambda d: (
        d | {"equations": d["equations"] | {"more": "power(x, y, x)"}}
    ),
    "an argument by name": lambda d: d | {"goal": "minimum(cost, 1e9, out=x)"},
    "a chain of comparisons": lambda d: d | {"conditions": [*d["conditions"], "0 <= x <= 1e9"]},
    "an attribute": lambda d: d | {"goal": "cost.real"},
    "a call of Python": lambda d: d | {"goal": "__import__('os').getpid()"},
    "a statement": lambda d: d | {"goal": "cost; x"},
    "a quantity that is defined later": lambda d: (
        d | {"equations": {"first": "second", **d["equations"], "second": "x"}}
    ),
    "an equation of an input": lambda d: d | {"equations": d["equations"] | {"x": "x + 1"}},
    "another infinity": lambda d: _as_worse(d, quantities=d["quantities"] | {"inf": -1e9}),
    "a table that is too short": lambda d: (
        d | {"quantities": d["quantities"] | {"y": {"axes": ["y"], "values": [1.0] * 12}}}
    ),
    "a table of texts": lambda d: (
        d | {"quantities": d["quantities"] | {"y": {"axes": ["y"], "values": ["a"] * 13}}}
    ),
    "the axes the other way": lambda d: (
        d | {"boxes": [["y", e[1]] if isinstance(e, list) else e for e in d["boxes"]]}
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_are_rejected(attack: str, certificate: Certificate) -> None:
    assert verdict(ATTACKS[attack](copy.deepcopy(certificate)))


def test_a_name_that_is_given_twice_is_rejected(certificate: Certificate, tmp_path: Path) -> None:
    file = tmp_path / "twice.json"
    file.write_text(
        json.dumps(certificate).replace('"goal": "cost"', '"goal": "x", "goal": "cost"')
    )
    done = run_checker(file)
    assert done.returncode
    assert "a name occurs twice" in done.stderr


def run_checker(file: Path) -> subprocess.CompletedProcess[str]:
    """Run the program as a user does, in a folder without this project."""
    command = [sys.executable, "-I", str(CHECKER), str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=file.parent)


def test_the_program_accepts_and_rejects_files(certificate: Certificate, tmp_path: Path) -> None:
    done = run_checker(tmp_path / "small.json")
    assert done.stdout.startswith("accepted: minimize cost: "), done.stderr
    assert "over 520 points" in done.stdout
    assert not done.returncode
    certificate["incumbent"]["goal"] -= 1e-6
    (tmp_path / "false.json").write_text(json.dumps(certificate))
    done = run_checker(tmp_path / "false.json")
    assert done.returncode
    assert done.stderr.startswith("rejected: the incumbent has ")


def test_the_checker_is_short_and_independent() -> None:
    text = CHECKER.read_text()
    assert len(text.splitlines()) <= 200
    modules = {
        name.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in node.names
    }
    assert modules - set(sys.stdlib_module_names) == {"numpy"}


# --- The enclosures of the checker contain values of all kinds

ODD: tuple[float, ...] = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -2.0,
    3.0,
    1 / 3,
    5e-324,
    -5e-324,
    1e308,
    -1e308,
    math.inf,
)
ODD += (-math.inf, 2.0**53, 2.0**53 + 2, 0.1, -7.5, 710.0, -746.0)
CONDITIONS = ((True, True), (False, True), (False, False))


def _operand(rng: random.Random, is_condition: bool) -> tuple[Any, list[Any]]:
    """Return an enclosure, and values in it."""
    if is_condition:
        always, sometimes = rng.choice(CONDITIONS)
        values = [True] * sometimes + [False] * (not always)
        return (np.bool_(always), np.bool_(sometimes), np.False_), list(map(np.bool_, values))
    if rng.random() < 0.1:
        return (np.float64(np.nan), np.float64(np.nan), np.True_), [np.float64(np.nan)]
    low, high = sorted(rng.choice((*ODD, rng.gauss(0, 10))) for _ in range(2))
    inside = [low, high, *(value for value in ODD if low <= value <= high)]
    if math.isfinite(high - low):
        inside += [min(max(low + (high - low) * rng.random(), low), high) for _ in range(3)]
    has_nan = rng.random() < 0.2
    inside += [math.nan] * has_nan
    return (np.float64(low), np.float64(high), np.bool_(has_nan)), list(map(np.float64, inside))


EXACT: dict[str, Callable[[Fraction, Fraction], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else None,
}


def _contains_exact(ends: Any, op: str, values: Any) -> bool:
    """True if the ends, rounded outward, enclose the value of exact arithmetic."""
    if op not in EXACT or not all(map(math.isfinite, values)):
        return True
    exact = EXACT[op](*map(Fraction, values))
    if exact is None:
        return True
    low, high = map(float, ends)
    above = low == -math.inf or (math.isfinite(low) and Fraction(low) <= exact)
    return above and (high == math.inf or (math.isfinite(high) and exact <= Fraction(high)))


@pytest.mark.parametrize("op", sorted(checker.POINT))
def test_enclosures_hold_all_values(op: str) -> None:
    rng = random.Random(op)
    for _ in range(120 if checker.TERMS[op] < 3 else 30):
        kinds = [op in checker.LOGICAL or (op == "where" and k == 0) for k in range(3)]
        operands = [_operand(rng, kind) for kind in kinds[: checker.TERMS[op]]]
        with np.errstate(all="ignore"):
            for mode in ("nearest", "outward"):
                low, high, undefined = checker.enclose(op, mode, *(each for each, _ in operands))
                for values in itertools.product(*(values for _, values in operands)):
                    value = checker.POINT[op](*values)
                    what = (mode, operands, values, value, low, high, undefined)
                    if np.asarray(value).dtype == bool:
                        assert low <= value <= high, what
                    elif np.isnan(value):
                        assert undefined, what
                    else:
                        assert low <= value <= high, what
                        assert mode == "nearest" or _contains_exact((low, high), op, values), what


# --- What cannot be written


def test_a_certificate_needs_one_plain_optimum(tmp_path: Path) -> None:
    study, file = small_study(tmp_path), tmp_path / "no.json"
    for options in (
        {"method": "auto"},
        {"per": "x"},
        {"top": 2},
        {"ties": True},
        {"within": 0.1},
        {"minimize": ["cost", "x"]},
    ):
        given: dict[str, Any] = {"minimize": "cost", "method": "certified", **options}
        with pytest.raises(DseError, match="a certificate is a proof of one optimum"):
            study.optimum(**given, certificate=file)
    with pytest.raises(DseError, match="recorded values are scanned"):
        dse.optimum(study.run(), minimize="cost", method="certified", certificate=file)
    assert not file.exists()


def test_too_many_boxes_or_numbers_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = small_study(tmp_path, y=[0.3, -2.0, 5.0, 4.0])
    given: dict[str, Any] = {"minimize": "cost", "method": "certified"}
    given["certificate"] = tmp_path / "no.json"
    with monkeypatch.context() as patch:
        patch.setattr(sweeps.certify.certificate, "_MAX_BOXES", 3)
        with pytest.raises(DseError, match=r"more than 3 boxes.*accept a gap"):
            study.optimum(**given)
    with monkeypatch.context() as patch:
        patch.setattr(sweeps.certify.certificate, "_MAX_NUMBERS", 3)
        with pytest.raises(DseError, match="at most 3 values of a quantity, and y has 4"):
            study.optimum(**given)
    assert not (tmp_path / "no.json").exists()


def test_a_primitive_of_the_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = PRIMITIVES["floor"]
    cells = {name: getattr(row, name) for name in row.__slots__}
    syntax = FormulaSyntax.fixed_count(1, "round_down")
    monkeypatch.setitem(PRIMITIVES, "round_down", Primitive(**cells | {"syntax": syntax}))
    study = small_study(tmp_path)
    root = Node("round_down", (study.grid().graph.flat("cost"),))
    case = SwitchCase(
        labels={}, key=(), root=where(root > 0, root, math.inf),
        leaves=study.grid().leaves[()], sizes={"x": 40, "y": 13},
    )  # fmt: skip
    goal = Goal(text="cost", sign=1.0)
    with pytest.raises(DseError, match="does not know the primitive round_down"):
        certificate_text(study.grid(), [case], goal, {"x": 0, "y": 0}, 0.0)


def test_an_unproven_optimum_has_a_certificate_of_its_gap(tmp_path: Path) -> None:
    file = tmp_path / "gap.json"
    best = small_study(tmp_path).optimum(
        minimize="cost", method="certified", gap=0.5, certificate=file
    )
    data = json.loads(file.read_text())
    assert data["gap"] == max(0.5, best.attrs["gap"])
    assert not verdict(data)
