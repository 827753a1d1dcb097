"""Published numbers of occupancy: Ma 2014, Eq. 4, and NVIDIA's calculator and tests."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from symbolic.models import occupancy
from tests.long import draws
from tests.papers import occupancy_header
from tests.papers._solve import run_doctests, solve

KEYS = (
    "max_threads_per_sm",
    "max_warps_per_sm",
    "max_blocks_per_sm",
    "registers_per_sm",
    "max_registers_per_block",
    "register_allocation_unit",
    "registers_allocated_per_warp",
    "warp_allocation_unit",
    "shared_mem_per_sm",
    "max_shared_mem_per_block",
    "shared_mem_allocation_unit",
)
# compute capabilities, from NVIDIA's cuda_occupancy.h and programming guide
LIMITS: dict[str, tuple[int, ...]] = {
    "1.0": (768, 24, 8, 8192, 8192, 256, 0, 2, 16384, 16384, 512),
    "1.3": (1024, 32, 8, 16384, 16384, 512, 0, 2, 16384, 16384, 512),
    "2.0": (1536, 48, 8, 32768, 32768, 64, 1, 2, 49152, 49152, 128),
    "3.5": (2048, 64, 16, 65536, 65536, 256, 1, 4, 49152, 49152, 256),
    "5.0": (2048, 64, 32, 65536, 65536, 256, 1, 4, 65536, 49152, 256),
    "3.7": (2048, 64, 16, 131072, 65536, 256, 1, 4, 114688, 49152, 256),
    "5.2": (2048, 64, 32, 65536, 65536, 256, 1, 4, 98304, 49152, 256),
    "5.3": (2048, 64, 32, 65536, 32768, 256, 1, 4, 65536, 49152, 256),
    "6.0": (2048, 64, 32, 65536, 65536, 256, 1, 2, 65536, 49152, 256),
    "8.0": (2048, 64, 32, 65536, 65536, 256, 1, 4, 167936, 166912, 128),
}
CAPABILITIES = {name: dict(zip(KEYS, row, strict=True)) for name, row in LIMITS.items()}


def occupy(
    capability: str,
    threads: Any,
    registers: Any,
    shared: Any,
    granularity: str = "cuda",
    **more: Any,
) -> dict[str, Any]:
    return solve(
        "occupancy",
        granularity=granularity,
        **CAPABILITIES[capability]
        | {
            "threads_per_block": threads,
            "registers_per_thread": registers,
            "shared_mem_per_block": shared,
        }
        | more,
    )


@pytest.mark.parametrize(
    ("capability", "threads", "registers", "shared", "blocks"),
    [
        # NVIDIA's own tests of its calculator
        ("1.0", 256, 10, 2048, 3),
        ("1.0", 256, 16, 2048, 2),
        ("1.0", 256, 20, 2048, 1),
        ("1.3", 256, 10, 2048, 4),
        ("1.3", 256, 16, 2048, 4),
        ("1.3", 256, 20, 2048, 3),
        ("1.3", 256, 21, 2048, 2),
        ("1.3", 256, 10, 8192, 2),
        # the header; NVIDIA's old spreadsheet has 4 for 5.2, with global caching partitioned
        ("5.0", 128, 85, 0, 5),
        ("5.2", 128, 85, 0, 5),
    ],
)
def test_known_blocks(
    capability: str, threads: int, registers: int, shared: int, blocks: int
) -> None:
    assert occupy(capability, threads, registers, shared)["active_blocks_per_sm"] == blocks


@pytest.mark.parametrize(
    ("capability", "threads", "registers", "blocks"),
    [  # by cuda_occupancy.h of CUDA 13
        ("3.7", 512, 128, 2),
        ("3.7", 128, 85, 11),
        ("5.2", 1024, 64, 1),
        ("5.2", 512, 72, 1),
        ("5.3", 128, 85, 5),
        ("5.3", 384, 86, 0),
        ("5.3", 352, 80, 2),
        ("6.0", 64, 200, 5),
        ("6.0", 544, 100, 0),
        ("6.0", 576, 96, 1),
        ("7.5", 64, 256, 4),
        ("6.1", 64, 256, 0),
        ("8.0", 33, 257, 0),
    ],
)
def test_what_the_header_answers(
    capability: str, threads: int, registers: int, blocks: int
) -> None:
    result = dse.evaluate(
        "occupancy",
        machine=f"cc{capability}",
        threads_per_block=threads,
        registers_per_thread=registers,
        outputs=["blocks_by_registers"],
    )
    assert result.blocks_by_registers.item() == blocks


def test_the_register_limit_of_a_block_is_a_limit_alone() -> None:
    """It says whether a block runs, not how many do."""
    assert occupy("5.0", 128, 85, 0, max_registers_per_block=32768)["active_blocks_per_sm"] == 5
    assert occupy("5.0", 512, 72, 0, max_registers_per_block=32768)["active_blocks_per_sm"] == 0


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folders = occupancy_header.headers()
    if reason := occupancy_header.missing(folders):
        pytest.skip(reason)
    scratch = tmp_path_factory.mktemp("header")
    return [occupancy_header.build_program(folder, scratch) for folder in folders]


@pytest.mark.parametrize("capability", occupancy_header.CAPABILITIES)
def test_random_launches_are_those_of_the_header(capability: str, programs: list[Path]) -> None:
    """More by ``python -m tests.papers.occupancy_header 100000 1``."""
    result = occupancy_header.compare_programs(programs, capability, 20_000, 7)
    if result is None:
        pytest.skip(f"none of the headers that are installed knows {capability}")
    differing, line = result
    assert not differing, line
    assert "(without allocation units 0.0%)" not in line


def test_every_capability_from_3_0_to_12_1_is_compared() -> None:
    assert len(occupancy_header.CAPABILITIES) == 26
    assert {"3.0", "3.7", "10.1", "10.7", "11.0", "12.1"} <= {*occupancy_header.CAPABILITIES}


def test_a_wrong_limit_is_noticed(programs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    honest = occupancy_header.ours
    monkeypatch.setattr(
        occupancy_header,
        "ours",
        lambda *limits, **more: honest(*limits, warp_allocation_unit=2, **more),
    )
    result = occupancy_header.compare_programs(programs, "8.0", 20_000, 7)
    assert result is not None
    assert "blocks by the header" not in result[1]
    assert result[0]
    assert "by the header" in result[0][0]


def test_granularity_matters() -> None:
    """cc 1.3, 21 registers: Eq. 4 as printed allows 3 blocks, whole units of 512 only 2."""
    assert occupy("1.3", 256, 21, 2048, "none")["active_blocks_per_sm"] == 3
    assert occupy("5.0", 128, 85, 0, "none")["active_blocks_per_sm"] == 6
    assert occupy("1.0", 64, 0, 2049, "none")["active_blocks_per_sm"] == 7
    assert occupy("1.0", 64, 0, 2049, "cuda")["active_blocks_per_sm"] == 6


@pytest.mark.parametrize("granularity", ["none", "cuda"])
@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks", "limiter"),
    [
        (256, 10, 2048, 3, 1),  # registers and threads both allow 3: registers come first
        (256, 10, 5000, 3, 0),  # shared memory too
        (256, 4, 0, 3, 3),
        (64, 4, 0, 8, 2),
        (96, 4, 0, 8, 2),  # blocks and threads both allow 8
        (64, 4, 4096, 4, 0),
    ],
)
def test_limiter_and_its_ties(
    granularity: str, threads: int, registers: int, shared: int, blocks: int, limiter: int
) -> None:
    got = occupy("1.0", threads, registers, shared, granularity)
    assert (got["active_blocks_per_sm"], got["limiter"]) == (blocks, limiter)


@pytest.mark.parametrize("granularity", ["none", "cuda"])
def test_nothing_used_is_no_limit(granularity: str) -> None:
    got = occupy("5.0", 64, 0, 0, granularity)
    assert got["blocks_by_shared_mem"] == got["blocks_by_registers"] == math.inf
    assert (got["active_blocks_per_sm"], got["limiter"], got["occupancy"]) == (32, 2, 1)


@pytest.mark.parametrize("granularity", ["none", "cuda"])
@pytest.mark.parametrize(
    ("threads", "registers", "shared"), [(512, 32, 0), (256, 10, 20000), (1024, 4, 0)]
)
def test_a_block_that_does_not_fit_gives_0(
    granularity: str, threads: int, registers: int, shared: int
) -> None:
    got = occupy("1.0", threads, registers, shared, granularity)
    assert got["active_blocks_per_sm"] == got["warps_per_sm"] == got["occupancy"] == 0


def test_the_limits_of_one_block() -> None:
    """52 KiB fit into the SM of 5.2 but not into a block; 512 threads of 72 registers likewise."""
    assert occupy("5.2", 128, 16, 52 * 1024)["active_blocks_per_sm"] == 0
    assert occupy("5.2", 128, 16, 52 * 1024, "none")["active_blocks_per_sm"] == 1
    assert occupy("5.3", 512, 72, 0)["active_blocks_per_sm"] == 0
    assert occupy("5.2", 512, 72, 0)["active_blocks_per_sm"] == 1
    assert occupy("5.0", 512, 72, 0)["active_blocks_per_sm"] == 1
    assert occupy("1.3", 512, 24, 0, max_registers_per_block=8192)["active_blocks_per_sm"] == 0


def test_limits_of_one_block_default_to_those_of_the_sm() -> None:
    limits = CAPABILITIES["1.3"].copy()
    del limits["max_registers_per_block"], limits["max_shared_mem_per_block"]
    got = solve(
        "occupancy",
        granularity="cuda",
        **limits,
        threads_per_block=256,
        registers_per_thread=21,
        shared_mem_per_block=2048,
    )
    assert got["active_blocks_per_sm"] == 2


def test_reserved_shared_memory_from_8_0() -> None:
    assert occupy("8.0", 64, 16, 40 * 1024)["active_blocks_per_sm"] == 4
    with_system = occupy("8.0", 64, 16, 40 * 1024, reserved_shared_mem_per_block=1024)
    assert with_system["active_blocks_per_sm"] == 4
    assert (
        occupy("8.0", 64, 16, 0, reserved_shared_mem_per_block=8192)["active_blocks_per_sm"] == 20
    )
    whole = occupy("8.0", 64, 16, 163 * 1024, reserved_shared_mem_per_block=1024)
    assert whole["active_blocks_per_sm"] == 1


def test_warp_limit_of_broken_blocks() -> None:
    """100 threads are four warps: six such blocks fill 24 warps; Eq. 4 counts threads alone."""
    assert occupy("1.0", 100, 4, 0)["active_blocks_per_sm"] == 6
    assert occupy("1.0", 100, 4, 0, "none")["active_blocks_per_sm"] == 7


@pytest.mark.parametrize(
    ("registers", "shared", "threads", "expected"),
    [(7, 52, 128, 6), (9, 44, 128, 6), (18, 3960, 256, 1), (11, 36, 128, 5), (15, 60, 128, 4)],
)
def test_merge_workloads_on_the_8800gtx(
    registers: int, shared: int, threads: int, expected: int
) -> None:
    """Fig. 20: all but tiled matrices and Linear are above 70 % occupied."""
    got = occupy("1.0", threads, registers, shared)
    assert got["active_blocks_per_sm"] == expected
    assert (got["occupancy"] > 0.7) == (registers not in (15, 18))


def test_eq_4_in_fractions_and_arrays() -> None:
    threads = np.arange(32.0, 1025.0, 32.0)
    got = occupy("3.5", threads, 24.0, 3000.0, "none")
    for i, size in enumerate(threads):
        one = occupy("3.5", Fraction(size), Fraction(24), Fraction(3000), "none")
        wanted = min(49152 // 3000, 65536 // (24 * int(size)), 16, 2048 // int(size))
        assert got["active_blocks_per_sm"][i] == one["active_blocks_per_sm"] == wanted
        assert one["occupancy"] == Fraction(wanted * int(size), 2048)


def by_hand(limits: dict[str, int], threads: int, registers: int, shared: int) -> int:
    """Place blocks one at a time, as the hardware's allocator would, in whole numbers."""

    def up(amount: int, unit: int) -> int:
        return -(-amount // unit) * unit

    warps = -(-threads // 32)
    if shared > limits["max_shared_mem_per_block"]:
        return 0
    unit = limits["register_allocation_unit"]
    most = limits["max_registers_per_block"]
    blocks, room = 0, limits["shared_mem_per_sm"]
    used = up(shared, limits["shared_mem_allocation_unit"])
    if limits["registers_allocated_per_warp"]:
        per_warp = up(registers * 32, unit)
        parts = limits["warp_allocation_unit"]
        places = limits["registers_per_sm"] // parts // per_warp * parts // warps
        places *= per_warp * up(warps, 4) <= most
    else:
        block = up(up(warps, limits["warp_allocation_unit"]) * registers * 32, unit)
        places = limits["registers_per_sm"] // block if block <= most else 0
    while (
        blocks < min(limits["max_blocks_per_sm"], places)
        and (blocks + 1) * threads <= limits["max_threads_per_sm"]
        and (blocks + 1) * warps <= limits["max_warps_per_sm"]
        and (blocks + 1) * used <= room
    ):
        blocks += 1
    return blocks


@settings(max_examples=draws(150), deadline=None)
@given(
    st.sampled_from(sorted(CAPABILITIES)),
    st.integers(1, 1024),
    st.integers(1, 128),
    st.integers(0, 60000),
    st.sampled_from(["none", "cuda"]),
)
def test_invariants(
    capability: str, threads: int, registers: int, shared: int, granularity: str
) -> None:
    values = [float(value) for value in (threads, registers, shared)]
    got = occupy(capability, *values, granularity)
    blocks = got["active_blocks_per_sm"]
    limits = CAPABILITIES[capability]
    assert blocks == int(blocks) >= 0
    assert blocks * threads <= limits["max_threads_per_sm"]
    assert blocks * registers * threads <= limits["registers_per_sm"]
    assert blocks * shared <= limits["shared_mem_per_sm"]
    assert 0 <= got["occupancy"] <= 1
    order = (
        "blocks_by_shared_mem",
        "blocks_by_registers",
        "max_blocks_per_sm",
        "blocks_by_threads",
    )
    bounds = [got[name] for name in order]
    assert got["limiter"] == bounds.index(min(bounds))
    if granularity == "cuda":
        assert got["warps_per_sm"] <= limits["max_warps_per_sm"]
        assert blocks == by_hand(limits, threads, registers, shared)


def test_docstrings() -> None:
    failed, attempted = run_doctests(occupancy)
    assert failed == 0
    assert attempted > 0
