"""Wavefronts and sectors of requests, against lanes written out one by one, and by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse.cuda.cubin import KernelFunction
from dse.cuda.instructions import parse_instructions
from dse.cuda.launch_values import KernelLaunch
from dse.cuda.loop_counts import KernelAnalysis
from dse.cuda.memory_accesses import alignment_shares, cache_wavefronts, sectors, shared_wavefronts
from tests.dse.test_kernel_source import compiling
from tests.long import draws

LANES = range(32)


def by_lanes(first: list[int], active: list[bool], width: int, load: bool) -> int:
    """Wavefronts in shared memory, lane by lane."""
    words = max(width // 4, 1)

    def serve(lanes: range) -> int:
        banks: dict[int, set[int]] = {}
        for lane in lanes:
            if active[lane]:
                for word in range(first[lane] // 4, (first[lane] + width - 1) // 4 + 1):
                    banks.setdefault(word % 32, set()).add(word)
        return max(map(len, banks.values()), default=0)

    def is_pair_equal(by: int) -> bool:
        return all(
            first[lane] == first[lane ^ by] for lane in LANES if active[lane] and active[lane ^ by]
        )

    groups = words // 2 if words > 1 and load and (is_pair_equal(1) or is_pair_equal(2)) else words
    size = 32 // groups
    return sum(serve(range(at, at + size)) for at in range(0, 32, size))


@settings(max_examples=draws(150), deadline=None)
@given(st.data())
def test_wavefronts_and_sectors_are_those_of_lanes_one_by_one(data: st.DataObject) -> None:
    width = data.draw(st.sampled_from([1, 2, 4, 8, 16]))
    load = data.draw(st.booleans())
    step = data.draw(st.integers(0, 40))
    places = data.draw(
        st.one_of(
            st.lists(st.integers(0, 200), min_size=32, max_size=32),
            st.sampled_from([[step * (lane // by) for lane in LANES] for by in (1, 2, 4)]),
        )
    )
    active = data.draw(st.lists(st.booleans(), min_size=32, max_size=32).filter(any))
    if data.draw(st.booleans()):
        active = [True] * 32
    first = [width * place for place in places]
    lanes, asks = np.array([first]), np.array([active])
    result = shared_wavefronts(lanes, asks, width, load=load)
    assert result.tolist() == [by_lanes(first, active, width, load)]
    every = {
        byte // 32
        for at, on in zip(first, active, strict=True)
        if on
        for byte in range(at, at + width)
    }
    assert sectors(lanes, asks, width).tolist() == [len(every)]
    through = cache_wavefronts(lanes, asks, width, load=load)[0]
    assert through >= max(sum(each % 4 == at for each in every) for at in range(4))
    assert -(-len(every) // 4) <= through <= max(len(every), 4)


@given(
    st.lists(st.tuples(st.integers(-70, 70), st.integers(1, 40)), max_size=2),
    st.integers(0, 40),
    st.sampled_from([4, 32]),
)
def test_places_in_a_sector_are_those_of_every_move(
    moves: list[tuple[int, int]], fixed: int, unit: int
) -> None:
    every = [fixed]
    for step, many in moves:
        every = [at + step * number for at in every for number in range(many)]
    left = [each % unit for each in every]
    shares = {at: left.count(at) / len(left) for at in {*left}}
    assert alignment_shares(tuple(moves), fixed, unit) == pytest.approx(shares)


#: Kernels of one cubin: a store and a load of shared memory, and their wavefronts by hand.
SHARED = {
    "row": ("s[x]", "s[x ^ 1]", 1, 1),
    "two": ("s[2 * x]", "s[2 * x + 1]", 2, 2),
    "column": ("s[32 * x]", "s[32 * x + 1]", 32, 32),
    "padded": ("s[33 * x]", "s[33 * x + 1]", 1, 1),
    "same": ("s[x]", "s[threadIdx.y]", 1, 1),
    "pairs": ("p[x]", "p[x + 1]", 2, 2),
    "fours": ("q[x]", "q[x + 1]", 4, 4),
    "fours_same": ("q[x]", "q[threadIdx.y]", 4, 2),
    "fours_apart": ("q[2 * x]", "q[2 * x + 1]", 8, 8),
}
TEXT = """
extern "C" __global__ void {name}(const {type} *a, {type} *b) {{
    __shared__ {type} {array}[2048];
    int x = threadIdx.x, at = threadIdx.y * blockDim.x + x;
    {store} = a[at];
    __syncthreads();
    b[at] = {load};
}}
"""
TYPES = {"s": "float", "p": "float2", "q": "float4"}
MORE = """
extern "C" __global__ void tree(const float *a, float *b) {  // the lanes that a guard leaves
    __shared__ float s[256];
    int x = threadIdx.x;
    s[x] = a[x];
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        int at = 2 * step * x;
        if (at < 256) s[at] += s[at + step];
        __syncthreads();
    }
    if (x == 0) b[0] = s[0];
}
extern "C" __global__ void rows(const float *a, float *b) {  // begins 4 bytes on in each row
    b[blockIdx.x * 256 + threadIdx.x] = a[blockIdx.x * 257 + threadIdx.x];
}
extern "C" __global__ void some(const float *a, float *b) {  // a sector, of a quarter of a warp
    if (threadIdx.x % 32 < 8) b[blockIdx.x * 256 + threadIdx.x] = a[threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    from dse.cuda.kernel_file import load_code

    file: Path = tmp_path_factory.mktemp("shared") / "k.cu"
    every = [
        TEXT.format(name=name, array=store[0], store=store, load=load, type=TYPES[store[0]])
        for name, (store, load, *_) in SHARED.items()
    ]
    file.write_text("".join(every) + MORE)
    return load_code(file, entry="row", arch="sm_75", define={}, options=()).cubin


@compiling
@pytest.mark.parametrize("name", SHARED)
def test_conflicts_of_banks_are_those_by_hand(cubin: bytes, name: str) -> None:
    *_, stored, loaded = SHARED[name]
    result = dse.kernel(cubin, entry=name, block=[32, 4])
    assert result["shared_wavefronts"] == stored + loaded
    assert "shared_wavefronts" not in result.assumed


@compiling
def test_lanes_that_a_guard_holds_back_do_not_conflict(cubin: bytes) -> None:
    result = dse.kernel(cubin, entry="tree", block=[256])
    total = 1 + 1 / 8  # what is stored first, and loaded last by one warp of eight
    for step in (1 << each for each in range(8)):
        for warp in range(8):
            first = [4 * 2 * step * (32 * warp + lane) for lane in LANES]
            active = [each < 4 * 256 for each in first]
            total += 3 * by_lanes(first, active, 4, True) / 8  # two loads and a store
    assert result["shared_wavefronts"] == total


@compiling
def test_sectors_are_the_mean_over_blocks_that_begin_elsewhere(cubin: bytes) -> None:
    """256 lanes from 4 k bytes on: 4 sectors where 8 divides k, else 5."""
    result = dse.kernel(cubin, entry="rows", block=[256], grid=[800])
    assert result.numbers["sectors_per_load_request"] == 4 + 7 / 8
    assert result["l1_wavefronts"] == 2 + 7 / 8
    result = dse.kernel(cubin, entry="some", block=[256], grid=[8])
    assert result.numbers["sectors_per_request"] == 1


def test_a_register_that_rests_on_what_else_a_loop_changes_is_followed() -> None:
    """``at`` is 7 first, then 8 times the number, which the same loop raises."""
    body = [
        ("MOV", "R0,RZ", ""),
        ("MOV", "R2,0x7", ""),
        ("STS", "[R2],R0", ""),
        ("IADD3", "R0,R0,0x1,RZ", ""),
        ("IMAD", "R2,R0,0x8,RZ", ""),
        ("ISETP.GE.AND", "P0,PT,R2,0x100,PT", ""),
        ("BRA", "0x20", "@!P0"),
        ("EXIT", "", ""),
    ]
    listing = [{"opcode": name, "operands": text, "predicate": p} for name, text, p in body]
    function = KernelFunction(
        name="k", arch=80, code=b"", registers=0, shared_bytes=0, argument_base=0x160, arguments=()
    )
    reading = KernelAnalysis(function, parse_instructions(listing))
    values = reading.values
    launch = KernelLaunch((1, 1, 1), (32, 1, 1), {}, {}, reading.trip_counts)
    assert launch.mean_per_warp(reading.block_runs[1]) == 32
    where = values.solve_loops(values.operand_value("R2", 1, 0), 1)
    result = [int(launch.restrict_to({1: number}, {}).value(where)) for number in range(32)]
    assert result == [7, *range(8, 256, 8)]


HISTOGRAM = Path(__file__).parents[2] / "examples" / "kernels" / "histogram.cu"


@compiling
def test_shared_addresses_that_depend_on_loaded_data_are_taken_as_random() -> None:
    """Each atomic has the mean of the largest number of 32 lanes at one of 32 random banks.

    A profiler saw 3.3 wavefronts for each atomic on random values
    (``docs/gpu-validation/kernels-h100.csv``).
    """
    banks = np.random.default_rng(0).integers(0, 32, (100_000, 32))
    most = np.array([np.bincount(row, minlength=32).max() for row in banks]).mean()
    counts = dse.kernel(HISTOGRAM, arch="sm_90", block=256, grid=1056, set={"n": 67108864})
    each = (counts["shared_wavefronts"] - 2) / counts["shared_atomic_insts"]
    assert each == pytest.approx(most, rel=0.01)
    measured = 6916559 / 2097152
    assert 1 < measured < each < 1.1 * measured
    assert (
        "3.53 wavefronts each (1 without bank conflicts, at most 32)"
        in (counts.assumed["shared_wavefronts"])
    )
    options = {"set": {"n": 67108864, "shared_wavefronts": 3000}, "grid": 1056, "block": 256}
    result = dse.analyze(HISTOGRAM, "h100_sxm", moves=False, **options)
    assert not any(text.startswith("shared_wavefronts") for text in result.best.assumed)
