"""Run time by Transit beside that by MWP-CWP (Li 2015; Hong 2012)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from symbolic.models import transit_time
from tests.long import draws
from tests.papers._solve import run_doctests, solve

LI = "transit + transit_time"


def test_doctests() -> None:
    failed, tried = run_doctests(transit_time)
    assert failed == 0
    assert tried >= 5


def test_the_worked_example_of_hong_and_kim() -> None:
    """20 warps of 6 requests, one every 320 cycles: 38400, beside 38428.1875 by MWP-CWP."""
    given = {"machine": "hong2009_example", "workload": "hong2009_example"}
    ds = dse.evaluate(LI, **given)
    assert float(ds.ms_peak) == pytest.approx(1 / 320)
    assert float(ds.time * ds.core_clock) == pytest.approx(38400)
    other = dse.evaluate("mwp_cwp", **given)
    assert float(other.exec_cycles) == 38428.1875
    assert int(ds.case) == int(other.case) == 2


def test_the_inputs_are_those_of_mwp_cwp() -> None:
    given: dict[str, Any] = {"machine": "gtx280", "workload": "svm", "threads_per_block": 128}
    both = [dse.evaluate(f"occupancy + {model}", **given) for model in ("mwp_cwp", LI)]
    shared = {str(name) for name in both[0].data_vars} & {str(name) for name in both[1].data_vars}
    apart = {"time", "case", "feasible"}
    assert {"mem_latency", "comp_cycles", "resident_warps", "repetitions"} <= shared
    for name in shared - apart:
        assert both[0][name].values == both[1][name].values, name


@pytest.mark.parametrize(
    ("warps", "peak", "comp", "case"),
    [(4.0, 1.0, 60.0, 1), (32.0, 0.01, 60.0, 2), (32.0, 1.0, 900.0, 3), (64.0, 0.01, 600.0, 4)],
)
def test_time_is_the_largest_of_three(warps: float, peak: float, comp: float, case: int) -> None:
    """A warp's latency and computation in turn, departures, the computation of all warps."""
    given = {"resident_warps": warps, "ms_peak": peak, "comp_cycles": comp, "mem_latency": 400.0}
    given |= {"repetitions": 3.0, "mem_insts": 6.0, "core_clock": 2.0}
    ds = dse.evaluate(LI, **given, outputs=["time", "case"])
    terms = (6 * 400 + comp, 6 * warps / peak, warps * comp)
    assert float(ds.time) == pytest.approx(3 * max(terms) / 2, rel=1e-12)
    assert int(ds.case) == case


POINTS = st.fixed_dictionaries(
    {
        "comp_insts": st.integers(1, 3000),
        "coalesced_insts": st.integers(1, 60),
        "uncoalesced_insts": st.integers(0, 60),
        "active_blocks_per_sm": st.integers(1, 8),
        "threads_per_block": st.sampled_from([32, 64, 128, 256]),
        "blocks": st.sampled_from([30, 2400, 24000]),
    }
)


@settings(deadline=None, max_examples=draws(60))
@given(point=POINTS)
def test_no_run_is_shorter_than_its_computation_or_its_requests(point: dict[str, Any]) -> None:
    machine = {"n_sms": 30, "active_sms": 30, "core_clock": 1.3e9, "nominal_clock": 1.3e9}
    machine |= {"mem_bandwidth": 141.7e9, "mem_latency_nominal": 450, "issue_cycles": 4}
    machine |= {"departure_delay_coalesced": 4, "departure_delay_uncoalesced": 40}
    machine |= {"transactions_per_uncoalesced": 2, "comp_factor": 1, "imbalance_loss": 1}
    got = solve(LI, **machine, **point)
    warps = got["resident_warps"] * got["repetitions"]
    cycles = got["time"] * got["core_clock"]
    assert cycles >= warps * got["comp_cycles"] * (1 - 1e-12)
    assert cycles >= warps * got["mem_insts"] * got["departure_delay"] * (1 - 1e-12)
    in_turn = got["mem_insts"] * got["mem_latency"] + got["comp_cycles"]
    assert cycles >= got["repetitions"] * in_turn * (1 - 1e-12)


def test_workloads_without_requests_are_outside_the_model() -> None:
    given = {"machine": "hong2009_example", "workload": "hong2009_example"}
    with pytest.raises(dse.DseError, match="mem_insts > 0"):
        dse.evaluate(LI, **given, coalesced_insts=0, uncoalesced_insts=0)
