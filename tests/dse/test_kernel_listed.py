"""Machine code as text (SASS): counted as the cubin is, and by hand without a compiler."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.kernels.compiling import compiled, installed
from dse.kernels.sass import listed
from dse.kernels.signature import parameters
from symbolic.errors import DseError
from tests.dse.test_kernel_source import SOURCE, compiling
from tests.long import mostly_long

HEAD = "\tcode for sm_80\n\t\tFunction : _Z1kPfi\n"
USAGE = " Function _Z1kPfi:\n  REG:24 STACK:16 SHARED:512 LOCAL:0 CONSTANT[0]:364 TEXTURE:0\n"
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


def _listing(code: str, head: str = HEAD) -> str:
    """Lines as ``cuobjdump -sass`` writes them, with what it writes about."""
    rows = [line for line in code.splitlines() if line]
    return head + "".join(
        f"        /*{at * 16:04x}*/    {row} ;      /* 0x000fe40000000f00 */\n"
        f"                              /* 0x000fe40000000f00 */\n"
        for at, row in enumerate(rows)
    )


def _counted(tmp_path: Path, text: str, **given: Any) -> Any:
    path = tmp_path / "k.sass"
    path.write_text(text)
    return dse.kernel(path, **given)


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
    tmp_path: Path, between: str, stores: float
) -> None:
    text = _listing(SPILLED.format(between=between))
    found = _counted(tmp_path, text, block=[64], set={"arg1": 32})
    assert found.numbers["global_store"] == stores


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
def test_what_may_have_been_written_over_is_asked_for(tmp_path: Path, between: str) -> None:
    with pytest.raises(DseError, match="loaded_at_60: the value loaded at instruction 0x60"):
        _counted(tmp_path, _listing(SPILLED.format(between=between)), set={"arg1": 32})


@compiling
@pytest.mark.parametrize("arch", mostly_long([75, 90], lambda k, _: k == 0))
def test_a_listing_is_counted_as_its_machine_code(tmp_path: Path, arch: int) -> None:
    """That of NVIDIA's disassembler; ``cuobjdump`` asks the same one."""
    text = SOURCE[SOURCE.index("__global__ void reduce") : SOURCE.index("template")]
    path, listing = tmp_path / "several.cubin", tmp_path / "several.sass"
    path.write_bytes(compiled(text, arch)[0])
    program = installed("nvidia-cuda-nvdisasm", r"nvdisasm(\.exe)?$")
    done = subprocess.run([program, "-c", path], capture_output=True, text=True, check=True)
    names = [each.function.name for each in listed(done.stdout, "")]
    usage = "".join(
        f" Function {name}:\n  REG:24 STACK:16 SHARED:512 LOCAL:0 CONSTANT[0]:364\n"
        for name in names
    )
    listing.write_text(usage + done.stdout)
    for entry, given in (("reduce", {"arg2": 2**20}), ("strided", {"arg2": 9000, "arg3": 3})):
        asked: dict[str, Any] = {"entry": entry, "grid": [64], "set": given}
        of_code, found = dse.kernel(path, **asked), dse.kernel(listing, **asked)
        told = {"registers_per_thread": 24, "shared_mem_per_block": 512}
        assert dict(found) == {**of_code, **told}
        assert found.numbers == of_code.numbers
        assert not found.assumed
    listing.write_text(done.stdout)
    assumed = dse.kernel(listing, entry="reduce", set={"arg2": 9}).assumed
    assert "cuobjdump -res-usage does" in assumed["shared_mem_per_block"]
    assert ("registers_per_thread" in assumed) == (arch == 90)


def test_a_listing_that_says_too_little_is_refused(tmp_path: Path) -> None:
    good = SPILLED.format(between="NOP")
    several = _listing(good) + _listing(good, HEAD.replace("80", "86"))
    refused = [
        (_listing(good, "\t\tFunction : _Z1kPfi\n"), {}, "which compute capability _Z1kPfi is of"),
        (_listing(good, "\tcode for sm_80\n"), {}, "line 2: an instruction of no function"),
        (_listing(good, HEAD.replace("80", "61")), {}, "sm_61: expected that of sm_70 or later"),
        (_listing(good).replace("/*0050*/", "/*0058*/"), {}, "line 13: instruction 0058 of _Z1kPf"),
        (several, {"arch": "sm_75"}, "lists code for sm_80, sm_86, not for sm_75: name one"),
        (_listing(good), {"define": {"N": 3}}, "is machine code, compiled already"),
        (_listing(good), {"entry": "j"}, "has the kernels k: name one of them"),
    ]
    for text, given, words in refused:
        with pytest.raises(DseError, match=words):
            _counted(tmp_path, text, **given)
    found = _counted(tmp_path, USAGE + several, arch="sm_86", set={"arg1": 9})
    assert (found["registers_per_thread"], found.origin) == (24, "k.sass, sm_86")


def test_arguments_have_the_sizes_that_a_name_tells() -> None:
    assert parameters("_Z1kv") == parameters("k") == parameters("_Z1k6float4i") == ()
    assert parameters("_Z1kcPKfdRS0_S1_b") == ((0, 1), (8, 8), (16, 8), (24, 8), (32, 8), (40, 1))
    assert parameters("_Z1kP5PointS0_") == ((0, 8), (8, 8))
    assert parameters("_Z1kP5PointS_") == ()  # the structure itself, of no known size
