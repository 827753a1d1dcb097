"""Machine code written out by hand, of numba, and spoilt.

Fused operations, dependency distance and parallelism have counts by hand.
"""

from __future__ import annotations

import random
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.cuda.cubin import KernelFunction, read_functions, source_lines
from dse.cuda.instructions import parse_instructions
from dse.cuda.kernel_file import KernelCode, count_launch
from dse.cuda.loop_counts import KernelAnalysis
from symbolic.errors import DseError
from tests.dse.test_kernel_source import compiling
from tests.long import draws as draws_of

DATA = Path(__file__).parents[1] / "data"
NUMBA = {"cubin": DATA / "numba_saxpy_sm80.cubin", "ptx": DATA / "numba_saxpy.ptx"}


def count_text(text: str, given: dict[str, float] | None = None, **launch: Any) -> Any:
    """Return the counts of machine code that is written out, with a pointer and an int."""
    listing = []
    for line in filter(None, map(str.strip, text.splitlines())):
        guard, _, rest = line[1:].partition(" ") if line[0] == "@" else ("", "", line)
        opcode, _, operands = rest.partition(" ")
        operands = operands.replace(", ", ",")
        listing.append({"predicate": guard and f"@{guard}", "opcode": opcode, "operands": operands})
    about = {"registers": 24, "shared_bytes": 0, "arguments": ((0, 8), (8, 4))}
    function = KernelFunction(name="k", arch=80, code=b"", argument_base=0x160, **about)  # type: ignore[arg-type]
    code = KernelCode(function=function, cubin=b"", argument_names=("x", "n"), origin="by hand")
    reading = KernelAnalysis(function, parse_instructions(listing))
    return count_launch(code, reading, launch.get("block", (32,)), (), given or {}, {})


#: Code; fused, unfused, flops; the distances of results, the longest chain and all instructions.
BY_HAND = {
    # each reads the result before it; EXIT reads nothing
    "chain": (
        "FFMA R1, R1, R1, R2\nFFMA R1, R1, R1, R2\nFADD R1, R1, R2\nEXIT",
        (2, 1, 5), [1, 1], 3, 4,
    ),
    # two chains side by side
    "pair": (
        "FFMA R1, R1, R1, R2\nDFMA R4, R4, R4, R6\nFMUL R1, R1, R2\nDADD R4, R4, R6\nEXIT",
        (2, 2, 6), [2, 2], 2, 5,
    ),
    # what is loaded is waited for by mem_strength: only R5 counts, three before who reads it
    "loads": (
        "LDG.E R4, [R2]\nIADD3 R5, R0, 0x1, RZ\nLDG.E R6, [R2+0x4]\n"
        "FADD R8, R4, R6\nIMAD R9, R5, R5, RZ\nEXIT",
        (0, 1, 1), [3], 2, 6,
    ),
    # a predicate and a pair are results, of which the first register is read
    "guard": (
        "IMAD.WIDE R2, R0, 0x4, R4\nISETP.GE.AND P0, PT, R0, R6, PT\nMUFU.RCP R7, R8\n"
        "@P0 FADD R7, R7, R7\nSTG.E [R2.64], R7\nEXIT",
        (0, 1, 1), [1, 1], 3, 6,
    ),
    # a constant in halves is no multiplication; halves are no flops
    "halves": (
        "HFMA2.MMA R1, -RZ, RZ, 0, 0\nHFMA2 R2, R1, R1, R1\nHADD2 R3, R2, R2\nEXIT",
        (1, 1, 0), [1, 1], 3, 4,
    ),
    # a barrier depends on nothing and ends no block
    "independent": (
        "FADD R1, R9, R9\nFADD R2, R9, R9\nBAR.SYNC 0x0\nFADD R3, R9, R9\nEXIT",
        (0, 3, 3), [], 1, 5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_fused_distance_and_parallelism_are_those_by_hand(name: str) -> None:
    text, (fused, unfused, flops), distances, longest, every = BY_HAND[name]
    result = count_text(text)
    assert (result["fp_fused_insts"], result["narrow_fp_insts"]) == (fused, unfused)
    assert result["fp_insts"] == fused + unfused
    assert result.numbers["flops"] == flops
    expected = sum(distances) / len(distances) if distances else 1
    assert result["dependency_distance"] == pytest.approx(expected, abs=1e-6)
    assert result.numbers["ilp"] == pytest.approx(every / longest, abs=1e-6)


def test_a_loop_weighs_as_often_as_it_runs() -> None:
    """Check the distances: of 2 + 2 n results, n are read two behind them, and one three."""
    result = count_text(
        """
        MOV R0, RZ
        MOV R1, RZ
        FADD R4, R4, R1
        FFMA R5, R5, R5, R5
        IADD3 R0, R0, 0x1, RZ
        FMUL R6, R5, R5
        ISETP.GE.AND P0, PT, R0, c[0x0][0x168], PT
        @!P0 BRA 0x20
        EXIT
        """,
        {"n": 10},
    )
    assert (result["fp_fused_insts"], result["narrow_fp_insts"]) == (10, 20)
    # in each pass FMUL reads two behind, ISETP two behind, the branch one behind
    assert result["dependency_distance"] == pytest.approx(5 / 3, abs=1e-6)
    # 2 instructions in a row of 1; of each pass 6 in a row of 3 (IADD3, ISETP, BRA); EXIT
    assert result.numbers["ilp"] == pytest.approx((2 + 6 * 10 + 1) / (1 + 3 * 10 + 1), abs=1e-6)


@compiling
def test_throughput_counts_a_fused_operation_twice(tmp_path: Path) -> None:
    """A kernel of nothing else comes near the peak, which is of two operations."""
    path = tmp_path / "fma.cu"
    path.write_text(
        "__global__ void fma_only(float *x, int n) {\n"
        "    float a = x[threadIdx.x], b = a + 1, c = a + 2, d = a + 3;\n"
        "    for (int i = 0; i < n; i++) "
        "{ a = a * a + b; b = b * b + c; c = c * c + d; d = d * d + a; }\n"
        "    x[threadIdx.x] = a + b + c + d;\n}\n"
    )
    result = dse.kernel(path, set={"n": 100_000})
    assert (result["fp_fused_insts"], result["narrow_fp_insts"]) == (400_000, 6)
    given: dict[str, Any] = {"machine": "gtx580", "warps_per_sm": 32}
    ds = dse.evaluate("throughput", **given, **result, outputs=["flops", "peak_achievable"])
    assert 0.9 < float(ds.flops / ds.peak_achievable) < 1
    assert float(ds.peak_achievable) == pytest.approx(1581.056e9, rel=1e-4)


@pytest.mark.parametrize("form", [pytest.param("cubin", marks=compiling), "ptx"])
def test_what_numba_writes_is_counted(form: str) -> None:
    """y = a x + y by strides of the grid; an array is seven arguments, n the last."""
    path = NUMBA[form]
    result = dse.kernel(path, set={"arg15": 16 * 256 * 10}, grid=[16])
    assert (result.numbers["global_load"], result.numbers["global_store"]) == (20, 10)
    assert result.numbers["sectors_per_request"] == 4
    assert result["fp_fused_insts"] == 10
    assert result.origin.startswith(path.name)
    assert not result.assumed
    with pytest.raises(DseError, match="arg15: argument of the kernel"):
        dse.kernel(path, grid=[16])


def test_a_cubin_without_its_reader_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "elftools.elf.elffile", None)
    with pytest.raises(
        DseError, match=r"need pyelftools, which is not installed: .*in a clone: '.\[kernels\]'"
    ):
        dse.kernel(NUMBA["cubin"])
    assert dse.kernel(NUMBA["ptx"], set={"arg15": 9})["fp_fused_insts"] > 0


def test_a_branch_out_of_the_code_is_refused() -> None:
    for to in ("0x1000", "-0x10", "0x92f1a0d0c40f0"):
        with pytest.raises(DseError, match="branches out of its code, which is damaged"):
            count_text(f"BRA {to}\nEXIT")


def test_spoilt_heads_of_sections_are_refused_or_read_soon() -> None:
    """Sizes, places, links and kinds of sections, of any size; ELF's magic before other bytes."""
    draws, good = random.Random(11), NUMBA["cubin"].read_bytes()
    place, many = struct.unpack_from("<Q", good, 0x28)[0], struct.unpack_from("<H", good, 0x3C)[0]
    numbers = [0, 1, 3, 24, len(good), 2**31, 2**32 - 1, 2**60, 2**64 - 1]
    begin = time.process_time()
    for _ in range(draws_of(120)):
        spoilt = bytearray(good)
        at = place + 64 * draws.randrange(many) + draws.choice([0, 4, 8, 16, 24, 32, 40, 48, 56])
        spoilt[at : at + 8] = draws.choice(numbers).to_bytes(8, "little")
        with suppress(DseError):
            for name in read_functions(bytes(spoilt)):
                source_lines(bytes(spoilt), name)
    for rest in (b"", b"text" * 99, b"\2\1\1" + b"\xff" * 999, b"\2\1\1" + bytes(999)):
        with pytest.raises(DseError):
            read_functions(b"\x7fELF" + rest)
    assert time.process_time() - begin < 20


#: What a store at the end is guarded by is put on the stack, as where registers are too few.
SPILLED = """
MOV R1, c[0x0][0x28]
IADD3 R1, R1, -0x10, RZ
S2R R0, SR_TID.X
STL.64 [R1+0x8], R0
ISETP.GE.AND P1, PT, R0, c[0x0][0x168], PT
{between}
LDL.LU R5, [R1+0x8]
ISETP.GE.AND P0, PT, R5, c[0x0][0x168], PT
@P0 EXIT
STG.E [R2.64], R4
EXIT
"""


@pytest.mark.parametrize(
    ("between", "stores"),
    [
        ("FADD R4, R4, R4", 0.5),
        ("@P1 STL [R1+0xc], R4", 0.5),  # the word beside it
        ("@P1 BRA 0x70\nSTL [R1+0x4], R4", 0.5),
        ("STL [R1+0x8], RZ", 1.0),
        ("@!P1 STL [R1+0x8], RZ", 0.5),  # of threads that store anyway
        ("@P1 STL [R1+0x8], RZ", 1.0),
    ],
)
def test_what_is_put_on_the_stack_is_known_when_it_is_taken_off(
    between: str, stores: float
) -> None:
    result = count_text(SPILLED.format(between=between), {"n": 32}, block=(64,))
    assert result.numbers["global_store"] == stores


@pytest.mark.parametrize(
    "between",
    [
        "STL [R7], R4",
        "STL.U8 [R1+0x8], R4",
        "STL [R1+UR4], R4",
        "ST.E [R2.64], R4",
        "IADD3 R1, R1, -0x10, RZ",
    ],
)
def test_what_may_have_been_written_over_is_asked_for(between: str) -> None:
    with pytest.raises(DseError, match="loaded_at_60: mean value loaded at instruction 0x60"):
        count_text(SPILLED.format(between=between), {"n": 32})
