"""Kernels of PTX text: the same record as of machine code, against counts by hand."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import dse
from tests.dse.guarding import attack, ptx_of
from tests.dse.test_kernel_source import compiling
from tests.long import draws as draws_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "strided-sum.ptx"
Found = Callable[..., Any]
#: What machine code has and PTX lacks.
ONLY_CODE = {"registers_per_thread"}


@pytest.fixture
def counter(tmp_path: Path) -> Found:
    """Return a function that counts a kernel of some lines."""

    def count(*lines: str, **options: Any) -> Any:
        path = tmp_path / "kernel.ptx"
        path.write_text("\n".join((".visible .entry k(.param .u64 a)", "{", *lines, "ret;", "}")))
        return dse.kernel(path, **options)

    return count


def test_the_example_has_the_counts_that_a_hand_finds() -> None:
    """11 instructions before the loop, 12 in it, 4 behind it."""
    counted = dse.kernel(EXAMPLE, set={"steps": 100})
    assert counted["comp_insts"] + counted["coalesced_insts"] == 11 + 12 * 100 + 4
    wanted = {"coalesced_insts": 201, "fp_insts": 200, "int_insts": 504, "alu_insts": 205}
    wanted |= {"misc_insts": 105, "register_insts": 1215 - 101, "mem_strength": 2}
    wanted |= {"int_mul_insts": 103, "int_div_insts": 0, "bytes_per_thread": 4}
    assert {name: counted[name] for name in wanted} == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("line", "unit"),
    [
        ("add.s32 %r1, %r2, %r3;", "int"),
        ("mad24.lo.u32 %r1, %r2, %r3, %r4;", "int"),
        ("div.rn.f32 %f1, %f2, %f3;", "narrow_fp"),
        ("fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", "fp_fused"),
        ("fma.rn.f16x2 %r1, %r2, %r3, %r4;", "fp_fused"),
        ("ex2.approx.f32 %f1, %f2;", "narrow_fp"),
        ("min.f64 %fd1, %fd2, %fd3;", "narrow_fp"),
        ("rsqrt.approx.f32 %f1, %f2;", "sfu"),
        ("setp.lt.f32 %p1, %f1, %f2;", "alu"),
        ("st.shared.f32 [%r1], %f1;", "shared"),
        ("ld.const.f32 %f1, [%r1];", "const"),
        ("@%p1 st.local.f32 [%r1], %f1;", "local"),
        ("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6}];", "texture"),
        ("bar.sync 0;", "sync"),
    ],
)
def test_an_instruction_is_of_the_unit_of_table_7(line: str, unit: str, counter: Found) -> None:
    counted = counter(line)
    units = ("int", "narrow_fp", "fp_fused", "sfu", "alu", "shared", "const", "local", "texture")
    units = (*units, "sync")
    assert [name for name in units if counted[f"{name}_insts"]] == [unit]


@pytest.mark.parametrize(
    ("lines", "strength"),
    [
        (("ld.global.f32 %f1, [%r1];", "add.f32 %f2, %f2, %f1;") * 2, 1),
        (("ld.global.f32 %f1, [%r1];", "ld.global.f32 %f2, [%r2];", "add.f32 %f3, %f1, %f2;"), 2),
        (("ld.global.u64 %rd1, [%rd2];", "ld.global.f32 %f2, [%rd1];"), 1),
        (("ld.global.f32 %f1, [%r1];", "bar.sync 0;", "ld.global.f32 %f2, [%r2];"), 2),
        (("mov.f32 %f1, 0f00000000;",), 1),
    ],
)
def test_loads_before_the_first_use_of_one_overlap(
    lines: tuple[str, ...], strength: float, counter: Found
) -> None:
    assert counter(*lines).get("mem_strength", 1) == strength


def test_long_operations_are_told_apart_as_in_table_6(counter: Found) -> None:
    lines = [
        "div.rn.f32 %f1, %f2, %f3;",
        "mad.lo.s32 %r1, %r2, %r3, %r4;",
        "mul24.lo.u32 %r1, %r2, %r3;",
    ]
    counted = counter(
        *lines, "div.u32 %r1, %r2, %r3;", "rem.u32 %r1, %r2, %r3;", "rem.s32 %r1, %r2, %r3;"
    )
    classes = [counted[f"{name}_insts"] for name in ("fp_div", "int_mul", "int_div", "int_mod")]
    assert classes == [1, 1, 1, 2]


def test_a_fused_operation_that_lacks_operands_is_counted(counter: Found) -> None:
    assert counter("fma.rn.f16x2 0x10;")["fp_fused_insts"] == 1


def test_loops_that_data_decide_are_asked_for_by_their_line(counter: Found) -> None:
    lines = ("OUT:", "add.s32 %r1, %r1, 1;", "IN:", "add.f32 %f1, %f1, %f2;", "@%p1 bra IN;")
    lines = (*lines, "@%p2 bra.uni OUT;")
    with pytest.raises(dse.DseError, match="trips_line_6: mean trip count of the loop at line 6"):
        counter(*lines)
    counted = counter(*lines, times={"trips_line_4": 10, "trips_line_6": 5})
    assert (counted["int_insts"], counted["fp_insts"], counted["misc_insts"]) == (10, 50, 61)
    counted = counter("fma.rn.f64 %fd1, %fd1, %fd2, %fd3;", "add.f32 %f1, %f1, %f2;")
    assert (counted["fp64_insts"], counted["fp_fused_insts"], counted["fp_insts"]) == (1, 1, 2)
    assert (counted["narrow_fp_insts"], counted.numbers["flops"]) == (1, 3)


def test_branches_are_followed_by_arguments_and_threads(counter: Found) -> None:
    lines = [
        "mov.u32 %r1, %tid.x;",
        "setp.ge.u32 %p1, %r1, 40;",
        "@%p1 bra NEVER;",
        "st.global.f32 [%rd1], %f1;",
        "NEVER:",
        "add.f32 %f1, %f1, %f2;",
    ]
    counted = counter(*lines, block=64)
    assert (counted["coalesced_insts"], counted["fp_insts"]) == (1, 1)  # a warp of 8 lanes, too
    counted = counter(*lines, block=[128])
    assert (counted["coalesced_insts"], counted["fp_insts"]) == (0.5, 1)
    with pytest.raises(
        dse.DseError, match=r"skip_line_3: share of threads .* that skip line 4, at"
    ):
        counter(*lines[2:], "L:", times={})


def test_results_are_waited_for_by_the_distance_to_who_reads_them(counter: Found) -> None:
    at_once = ("add.f32 %f1, %f1, %f2;",) * 3
    apart = ("add.f32 %f1, %f1, %f2;", "add.f32 %f3, %f3, %f2;") * 3
    assert counter(*at_once)["dependency_distance"] == 1
    assert counter(*apart)["dependency_distance"] == 2


def test_shared_arrays_and_wide_accesses_have_their_bytes(counter: Found) -> None:
    arrays = (".shared .align 16 .b8 tile[1024];", ".shared .f64 tile2[8];", "mov.u32 %r1, tile;")
    lines = (*arrays, "ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];")
    counted = counter(*lines)
    assert (counted["shared_mem_per_block"], counted["bytes_per_thread"]) == (1024 + 64, 16)


def test_what_a_compiler_writes_besides_is_no_instruction(counter: Found) -> None:
    """Lines of source, comments, pragmas, scopes of calls, guards, labels with a dollar."""
    plain = ("add.s32 %r1, %r1, 1;", "st.param.b32 [param0], %r1;", "call.uni f, (param0);")
    lines = (
        '.file 1 "k.cu"',
        ".loc 1 7 3",
        "$L__BB0_1: // a loop",
        '.pragma "nounroll";',
        f"@!%p1 {plain[0]} /* one; two */",
        "{ .reg .b32 temp_param_reg; .param .b32 param0;",
        *plain[1:],
        "} // callseq",
        ".loc 1 8 3",
        "@%p1 bra $L__BB0_1;",
    )
    counted = counter(*lines, times={"trips_line_7": 3})
    assert "called functions are not counted" in counted.assumed["comp_insts"]
    assert (counted["int_insts"], counted["comp_insts"]) == (3, 3 * 4 + 1)


def test_what_cannot_be_counted_is_named(counter: Found, tmp_path: Path) -> None:
    refused: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
        (("add.s32 %r1, %r1, 1;",), {"times": {"M": 2}}, "the kernel needs no value 'M'"),
        (("add.s32 %r1, %r1, 1;",), {"entry": "j"}, "has the kernels k: name one of them by ent"),
        (("@%p1 bra AWAY;",), {}, "'@%p1 bra AWAY' leads to no label of k"),
        (("brx.idx %r1, L;",), {}, "jumps to a computed address"),
        (("ret;",), {"define": {"N": 3}}, "compiled already: macros and options"),
    ]
    for lines, given, words in refused:
        with pytest.raises(dse.DseError, match=words):
            counter(*lines, **given)
    path = tmp_path / "empty.ptx"
    for text, words in ((".version 6.0", "holds no kernel: expected PTX"), (".entry k", "is cut")):
        path.write_text(text)
        with pytest.raises(dse.DseError, match=words):
            dse.kernel(path)
    listing = tmp_path / "k.sass"
    listing.write_text("\tFunction : k\n        /*0000*/    EXIT ;\n")
    with pytest.raises(dse.DseError, match="is a listing of machine code: give the cubin itself"):
        dse.kernel(listing)
    with pytest.raises(dse.DseError, match="saxpy is a Python function: compile it first"):
        dse.kernel(saxpy)


def saxpy(x: Any, y: Any) -> None:
    """A function that somebody may take for a kernel."""


@compiling
def test_ptx_has_the_fields_of_machine_code(tmp_path: Path) -> None:
    """And what both tell alike: accesses, their sectors, what runs how often."""
    source, path = EXAMPLE.with_name("vector-add.cu"), tmp_path / "k.ptx"
    path.write_text(ptx_of(source.read_text()))
    code = dse.kernel(source, set={"n": 2**20}, grid=4096)
    counted = dse.kernel(path, set={"arg3": 2**20}, grid=4096)
    assert {*code} - {*counted} == ONLY_CODE
    assert not {*counted} - {*code}
    same = ("coalesced_insts", "uncoalesced_insts", "warp_bytes", "load_requests", "block_bytes")
    same += ("launch_bytes", "l1_wavefronts", "elements", "sfu_insts")
    assert {name: counted[name] for name in same} == {name: code[name] for name in same}
    assert counted.formulas["blocks"] == code.formulas["blocks"]


def test_spoilt_ptx_is_counted_or_refused_by_name(tmp_path: Path) -> None:
    """Pieces removed, doubled, exchanged; hostile numbers and names."""
    draws, text, path = random.Random(7), EXAMPLE.read_text(), tmp_path / "k.ptx"
    words = ("", ";", "{", "}", "9" * 5000, "%r1", "[", "]", ",", "0x", "-", ".v4", "@!", "\0", "é")
    for _ in range(draws_of(150)):
        spoilt = text
        for _ in range(draws.randint(1, 4)):
            at = draws.randrange(text.index(".visible"), len(spoilt))
            end = at + draws.choice([0, 1, 2, 5, 20])
            spoilt = spoilt[:at] + draws.choice((*words, spoilt[end : end + 30])) + spoilt[end:]
        path.write_text(spoilt)
        with suppress(dse.DseError):
            assert dse.kernel(path, set={"steps": 3})["comp_insts"] >= 0


@compiling
def test_drawn_kernels_ask_in_ptx_as_often_as_their_warps_do() -> None:
    assert not [(seed, what) for seed, _, what in attack(6, 26, ["ptx"]) if what]


def test_what_is_counted_is_a_workload_of_the_models(
    counter: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    counted = counter("ld.global.f32 %f1, [%rd1];", "fma.rn.f32 %f2, %f1, %f2, %f3;")
    Path("own.toml").write_text(counted.toml())
    given: dict[str, Any] = {"machine": "gtx580", "warps_per_sm": 24, "outputs": ["mwp_app"]}
    predicted = dse.evaluate("throughput", workload="own.toml", **given).mwp_app
    assert predicted == dse.evaluate("throughput", **given, **counted).mwp_app
    given = {"machine": "gtx280", "threads_per_block": 256, "registers_per_thread": 8}
    assert dse.evaluate("ipp", workload="own.toml", elements=1e6, **given).power > 83
