"""Compare models with slow twins, which were written from the papers without the models' code."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from symbolic.quantity import Quantity
from tests.oracles.mwp_cwp_cases import mwp_cwp
from tests.oracles.tmm_passes import apsp, occupancy, tmm, tmm_calibrated
from tests.oracles.transit_balance import transit, transit_profiler

POINTS, DRAWN = 200, 300
CLOSE = 1e-12

Point = dict[str, float]
Values = Mapping[str, Any]
Twin = Callable[[Mapping[str, Fraction]], Values]
Repair = Callable[[Point], Point]


def value(row: Quantity, kind: str, far: float, rng: np.random.Generator) -> float:
    """Return a value of a quantity: an extreme, a small whole number, or a typical value."""
    low, high = row.typical or (1, 1000)
    least = max(low, high * 1e-4)
    most = min(high * far, 2.0**53) if row.domain.whole else high * far
    ends = [0.0, 1.0, least / far, float(low), float(high), most]
    drawn = {
        "end": float(rng.choice([end for end in ends if row.domain.contains(end)])),
        "small": float(rng.integers(1, 9)),
        "typical": float(least * (high / least) ** rng.random()),
    }[kind]
    drawn = float(round(drawn)) if row.domain.whole else drawn
    return drawn if row.domain.contains(drawn) else max(row.domain.low, 1.0)


def points(model: str, repair: Repair, far: float) -> list[Point]:
    """Return points: half have values of all kinds, and half have mostly values of one kind.

    Extremes lie beyond the typical range by the factor ``far``.
    """
    rng = np.random.default_rng(42)
    rows = {name: dse.model(model).quantity(name) for name in dse.model(model).inputs}
    result = []
    for _ in range(DRAWN):
        shares = [0.3, 0.4, 0.3] if rng.random() < 0.5 else rng.permutation([0, 0.99, 0.01])
        kinds = rng.choice(["end", "small", "typical"], size=len(rows), p=shares)
        drawn = {
            n: value(row, k, far, rng) for (n, row), k in zip(rows.items(), kinds, strict=True)
        }
        result.append(repair(drawn))
    return result


def agrees(got: float, expected: Fraction | float) -> bool:
    """True if a float is within 1e-12 of the exact value, or the same infinity."""
    if not math.isfinite(got) or math.isinf(expected):
        return got == expected
    return abs(Fraction(got) - Fraction(expected)) <= CLOSE * abs(Fraction(expected))


def is_clear(row: Values) -> bool:
    """True unless MWP is so near to 0 or 1 that floats do not have the digits of MWP - 1."""
    mwp = row.get("mwp", 1)
    return bool(mwp == 1 or (abs(mwp - 1) > 1e-3 and mwp > 1e-3))


def exact(point: Point) -> dict[str, Fraction]:
    """Return the same numbers as fractions."""
    return {name: Fraction(number) for name, number in point.items()}


def compare(model: str, twin: Twin, repair: Repair, *, far: float = 1e20, **switches: Any) -> None:
    """Assert that a model agrees with its twin in every quantity of the twin."""
    pairs = [(point, twin(exact(point))) for point in points(model, repair, far)]
    pairs = [(point, row) for point, row in pairs if is_clear(row)][:POINTS]
    drawn, expected = [point for point, _ in pairs], [row for _, row in pairs]
    assert len(drawn) == POINTS
    defined = Counter(name for row in expected for name in row)
    assert min(defined.values()) > POINTS / 4, defined
    given: dict[str, Any] = {n: xr.DataArray([p[n] for p in drawn], dims="point") for n in drawn[0]}
    ds = dse.evaluate(model, outputs=sorted(defined), **given, **switches)
    columns = {name: np.broadcast_to(ds[name].values, POINTS) for name in defined}
    wrong = [
        f"{name} = {columns[name][number]}, not {float(right)}, at {drawn[number]}"
        for number, row in enumerate(expected)
        for name, right in row.items()
        if not agrees(columns[name][number].item(), right)
    ]
    assert not wrong, f"{len(wrong)}: " + "\n".join(wrong[:5])


def tied_limits(point: Point) -> Point:
    """Return a point; if its numbers are small and whole, memory and computation tie."""
    if is_small(point):
        point["lanes_width"] = lanes = point["ms_peak"] * point["intensity"]
        enough = point["ms_peak"] * point["mem_latency"] + point["arithmetic_latency"] * lanes
        point["threads"] = max(enough + point["threads"] - 4, 1.0)
    return point


def with_accesses(point: Point) -> Point:
    """Return a point at which the kernel accesses DRAM."""
    if not point["dram_write_bytes"]:
        point["dram_read_bytes"] = max(point["dram_read_bytes"], 1.0)
    return point


def with_blocks(point: Point) -> Point:
    """Return a point at which a block is resident, and a sub-block is no larger than the matrix."""
    point["active_blocks_per_sm"] = max(point["active_blocks_per_sm"], 1.0)
    if "tile_dim" in point:
        point["tile_dim"] = min(point["tile_dim"], point["vertices"])
    return point


def with_a_block(point: Point) -> Point:
    """Return a point at which a block fits, but not too many blocks to count."""
    threads = point["threads_per_block"]
    registers = point["registers_per_thread"] * threads
    point["max_blocks_per_sm"] = min(point["max_blocks_per_sm"], 1000.0)
    point["max_threads_per_sm"] = max(point["max_threads_per_sm"], threads)
    point["registers_per_sm"] = max(point["registers_per_sm"], registers)
    point["shared_mem_per_sm"] = max(point["shared_mem_per_sm"], point["shared_mem_per_block"])
    return point


def with_requests(point: Point) -> Point:
    """Return a point at which floats tell whether some or all requests are independent.

    At points of small whole numbers, MWP and CWP are 3 if there are at least 3 warps.
    """
    if is_small(point):
        point |= {"imbalance_loss": 1.0, "comp_factor": 1.0, "issue_cycles": 1.0, "elements": 1e6}
        point |= {"core_clock": 1.0, "nominal_clock": 1.0, "mem_latency_nominal": 8.0}
        point |= {"departure_delay_coalesced": 0.0, "departure_delay_uncoalesced": 0.0}
        point["comp_insts"] = 3 * (point["coalesced_insts"] + point["uncoalesced_insts"])
        point["mem_bandwidth"] = point["load_bytes_per_warp"] * point["active_sms"] * 3 / 8
    requests = exact(point)["coalesced_insts"] + exact(point)["uncoalesced_insts"]
    if not point["independent_insts"] < requests * Fraction(999, 1000):
        point["independent_insts"] = float(requests) if float(requests) == requests else 0.0
    return with_blocks(point)


def is_small(point: Point) -> bool:
    """True if all values are small whole numbers; these points are a few in a hundred."""
    return all(number in range(1, 9) for number in point.values())


@pytest.mark.parametrize("supply", ["sharp", "smooth"])
def test_transit(supply: str) -> None:
    compare("transit", partial(transit, supply=supply), tied_limits, supply=supply)


def test_transit_profiler() -> None:
    compare("transit_profiler", transit_profiler, with_accesses)


def test_occupancy_without_allocation_units() -> None:
    compare("occupancy", occupancy, with_a_block, granularity="none")


@pytest.mark.parametrize("latency_hiding", ["modelled", "assumed"])
def test_tmm(latency_hiding: str) -> None:
    twin = partial(tmm, latency_hiding=latency_hiding)
    compare("tmm", twin, with_blocks, latency_hiding=latency_hiding)


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("latency_hiding", ["modelled", "assumed"])
def test_apsp(latency_hiding: str, printed: bool) -> None:
    switches: dict[str, Any] = {"latency_hiding": latency_hiding, "printed": printed}
    compare("apsp", partial(apsp, **switches), with_blocks, **switches)


def test_tmm_calibrated() -> None:
    compare("tmm_calibrated", tmm_calibrated, with_blocks)


@pytest.mark.parametrize("waves", ["fractional", "whole"])
@pytest.mark.parametrize("rounding", ["continuous", "whole"])
@pytest.mark.parametrize("printed", [False, True])
def test_mwp_cwp(printed: bool, rounding: str, waves: str) -> None:
    switches: dict[str, Any] = {"printed": printed, "rounding": rounding, "waves": waves}
    compare("mwp_cwp", partial(mwp_cwp, **switches), with_requests, far=1e3, **switches)
