"""The cases of docs/validation.md meet what is due, on rows that were left out."""

from __future__ import annotations

import importlib.util
import math
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dse
from symbolic.models import latency_roofline
from tests.papers._solve import run_doctests

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"

needs_profiles = pytest.mark.skipif(
    not (DATA / "profiles").is_dir(), reason="needs ../shared/data/profiles beside the project"
)


@cache
def table() -> Any:
    """The program docs/validation_cases.py, as a module."""
    path = ROOT / "docs" / "validation_cases.py"
    spec = importlib.util.spec_from_file_location("docs_validation_cases", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_validation_cases"] = module
    spec.loader.exec_module(module)
    return module


def test_doctests_of_equations() -> None:
    failed, attempted = run_doctests(latency_roofline)
    assert failed == 0
    assert attempted >= 15


@needs_profiles
@pytest.mark.parametrize("number", range(len(table().CASES)))
def test_a_case_meets_what_is_due(number: int) -> None:
    case = table().CASES[number]
    found = table().validated(case, DATA)
    assert found.score.missing == 0
    assert case.due
    for what, most in case.due.items():
        label, _, measure = what.rpartition(": ")
        value = getattr(found.by[label] if label else found.score, measure)
        assert value <= most, what
    for other in found.baselines.values():
        assert math.isnan(other.median) or found.score.median < other.median


def test_both_bounds_join_at_a_right_angle() -> None:
    """One kernel by hand: 800 warps of 1,000 instructions on 80 SMs, all of it from DRAM."""
    given = {"threads_per_block": 256, "blocks": 100, "registers_per_thread": 32}
    found = dse.evaluate(
        "occupancy + latency_roofline",
        machine="v100_pcie",
        **given,
        shared_mem_per_block=0,
        total_insts=1000,
        fp_insts=0,
        mem_insts=6,
        dram_bytes=800 * 6 * 128,
        issue_interval=4,
        core_clock=1e9,
        nominal_clock=1e9,
    )
    assert found["dram_time"].item() == pytest.approx(800 * 6 * 128 / (0.9 * 900e9))
    assert found["throughput_time"].item() == pytest.approx(800 * 1000 / (4 * 80 * 1e9))
    assert found["mixed_latency"].item() == pytest.approx(434)
    assert found["latency_bound_time"].item() == pytest.approx((4 * 1000 + 6 * 434 / 3) / 1e9)
    both = math.hypot(found["throughput_time"].item(), found["latency_bound_time"].item())
    assert found["time"].item() == pytest.approx(both)
