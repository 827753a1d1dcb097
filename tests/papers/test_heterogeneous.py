"""Work shared by a CPU and a GPU: Hong 2012, §5.9; Fig. 147 stands in test_throughput."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from symbolic.models import heterogeneous
from tests.long import draws
from tests.papers._solve import run_doctests, solve

rates = st.fractions(Fraction(1, 10), 1000, max_denominator=12)
shares = st.fractions(0, 1, max_denominator=40)
waits = st.one_of(st.just(Fraction(0)), st.fractions(Fraction(1, 10), 100, max_denominator=12))


def shared(**given_: Any) -> dict[str, Any]:
    return solve("heterogeneous", **given_)


def test_docstrings() -> None:
    failed, attempted = run_doctests(heterogeneous)
    assert not failed
    assert attempted >= 6


@settings(max_examples=draws(40), deadline=None)
@given(rates, rates, rates)
def test_without_a_transfer_shares_are_as_throughputs(work: Any, cpu: Any, gpu: Any) -> None:
    got = shared(work_flops=work, cpu_flops=cpu, gpu_flops=gpu)
    assert got["cpu_share"] == cpu / (cpu + gpu)
    assert got["cpu_share"] + got["gpu_share"] == 1
    assert got["time"] == work / (cpu + gpu)
    assert got["sharing_gain"] == (cpu + gpu) / max(cpu, gpu)


@settings(max_examples=draws(40), deadline=None)
@given(rates, rates, rates, waits, shares)
def test_no_share_is_faster(work: Any, cpu: Any, gpu: Any, wait: Any, other: Any) -> None:
    """Both are done at once; a transfer takes work away from the GPU, never all of it."""
    given_ = {"work_flops": work, "cpu_flops": cpu, "gpu_flops": gpu, "transfer_time": wait}
    got = shared(**given_)
    assert got["cpu_time"] == got["gpu_time"] == got["time"]
    assert shared(gpu_share=other, **given_)["time"] >= got["time"]
    assert 0 < got["gpu_share"] <= gpu / (cpu + gpu)
    assert got["sharing_gain"] > 1


def test_two_throughputs_of_one_kernel_are_shared() -> None:
    """From the machines of Table 14 to the share of each, as §5.9 does."""
    flops = [
        float(dse.evaluate("throughput", machine=name, workload="cmem", **more)["flops"])
        for name, more in (("e5645_x2", {}), ("gtx580", {"warps_per_sm": 32}))
    ]
    ds = dse.evaluate("heterogeneous", cpu_flops=flops[0], gpu_flops=flops[1], work_flops=1e9)
    assert float(ds.gpu_share) == pytest.approx(flops[1] / sum(flops))
    assert float(ds.gpu_share) > 0.9
    slow = dse.evaluate(
        "heterogeneous",
        cpu_flops=flops[0],
        gpu_flops=flops[1],
        work_flops=1e9,
        transfer_time="10 ms",
    )
    assert float(slow.gpu_share) < float(ds.gpu_share)
    assert float(slow.time) > float(ds.time)


def test_energy_is_that_of_each_device_at_work_and_of_the_system_until_both_are_done() -> None:
    given_: dict[str, Any] = {"work_flops": 1e12, "cpu_flops": 1e11, "gpu_flops": 9e11}
    given_ |= {"cpu_full_power": 20, "gpu_full_power": 150, "system_power": 242}
    shares = np.linspace(0, 1, 21)
    ds = dse.evaluate(
        "heterogeneous", gpu_share=shares, outputs=["time", "power", "energy"], **given_
    )
    for share, energy in zip(shares, ds.energy.values, strict=True):
        cpu, gpu = (1 - share) * 10, share * 1e12 / 9e11
        assert energy == pytest.approx(20 * cpu + 150 * gpu + 242 * max(cpu, gpu))
    assert shares[int(ds.energy.values.argmin())] == 0.9
    with pytest.raises(dse.DseError, match="cpu_full_power"):
        dse.evaluate("heterogeneous", outputs=["energy"], **dict([*given_.items()][:3]))
