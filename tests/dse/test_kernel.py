"""The instructions of a kernel, counted in PTX, against counts by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import dse
from dse.kernels.ptx import workload_text

EXAMPLE = Path(__file__).parents[2] / "examples" / "strided-sum.ptx"
Found = Callable[..., dict[str, float]]


@pytest.fixture
def found(tmp_path: Path) -> Found:
    """What is found in a kernel of these lines."""

    def count(*lines: str, **options: object) -> dict[str, float]:
        path = tmp_path / "kernel.ptx"
        path.write_text("\n".join((".visible .entry k(.param .u64 a)", "{", *lines, "ret;", "}")))
        return dse.kernel(path, **options)  # type: ignore[arg-type]

    return count


def test_the_example_has_the_counts_that_a_hand_finds() -> None:
    """11 instructions before the loop, 12 in it, 4 behind it."""
    counted = dse.kernel(EXAMPLE, {"WALK": 100})
    assert counted["comp_insts"] + counted["coalesced_insts"] == 11 + 12 * 100 + 4
    wanted = {"coalesced_insts": 201, "fp_insts": 200, "int_insts": 504, "alu_insts": 205}
    wanted |= {"misc_insts": 310, "register_insts": 1215 - 101, "mem_strength": 2}
    wanted |= {"int_mul_insts": 103, "int_div_insts": 0, "bytes_per_thread": 4}
    assert {name: counted[name] for name in wanted} == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("line", "unit"),
    [
        ("add.s32 %r1, %r2, %r3;", "int"),
        ("mad24.lo.u32 %r1, %r2, %r3, %r4;", "int"),
        ("div.rn.f32 %f1, %f2, %f3;", "fp"),
        ("fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", "fp_fused"),
        ("ex2.approx.f32 %f1, %f2;", "fp"),
        ("rsqrt.approx.f32 %f1, %f2;", "sfu"),
        ("setp.lt.f32 %p1, %f1, %f2;", "alu"),
        ("st.shared.f32 [%r1], %f1;", "shared"),
        ("ld.const.f32 %f1, [%r1];", "const"),
        ("@%p1 st.local.f32 [%r1], %f1;", "local"),
        ("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6}];", "texture"),
        ("bar.sync 0;", "sync"),
    ],
)
def test_an_instruction_is_of_the_unit_of_table_7(line: str, unit: str, found: Found) -> None:
    counted = found(line)
    units = ("int", "fp", "fp_fused", "sfu", "alu", "shared", "const", "local", "texture", "sync")
    assert [name for name in units if counted[f"{name}_insts"]] == [unit]


@pytest.mark.parametrize(
    ("lines", "strength"),
    [
        (("ld.global.f32 %f1, [%r1];", "add.f32 %f2, %f2, %f1;") * 2, 1),
        (("ld.global.f32 %f1, [%r1];", "ld.global.f32 %f2, [%r2];", "add.f32 %f3, %f1, %f2;"), 2),
        (("ld.global.u64 %rd1, [%rd2];", "ld.global.f32 %f2, [%rd1];"), 1),
        (("ld.global.f32 %f1, [%r1];", "bar.sync 0;", "ld.global.f32 %f2, [%r2];"), 1),
        (("mov.f32 %f1, 0f00000000;",), 1),
    ],
)
def test_loads_before_the_first_use_of_one_overlap(
    lines: tuple[str, ...], strength: float, found: Found
) -> None:
    assert found(*lines)["mem_strength"] == strength


def test_long_operations_are_told_apart_as_in_table_6(found: Found) -> None:
    lines = [
        "div.rn.f32 %f1, %f2, %f3;",
        "mad.lo.s32 %r1, %r2, %r3, %r4;",
        "mul24.lo.u32 %r1, %r2, %r3;",
    ]
    counted = found(
        *lines, "div.u32 %r1, %r2, %r3;", "rem.u32 %r1, %r2, %r3;", "rem.s32 %r1, %r2, %r3;"
    )
    classes = [counted[f"{name}_insts"] for name in ("fp_div", "int_mul", "int_div", "int_mod")]
    assert classes == [1, 1, 1, 2]


def test_times_of_loops_within_each_other_multiply(found: Found) -> None:
    lines = ("OUT:", "add.s32 %r1, %r1, 1;", "IN:", "add.f32 %f1, %f1, %f2;", "@%p1 bra IN;")
    counted = found(*lines, "@%p2 bra.uni OUT;", times={"OUT": 10, "IN": 5})
    assert (counted["int_insts"], counted["fp_insts"], counted["misc_insts"]) == (10, 50, 61)
    counted = found("fma.rn.f64 %fd1, %fd1, %fd2, %fd3;", "add.f32 %f1, %f1, %f2;")
    assert (counted["fp64_insts"], counted["fp_fused_insts"], counted["fp_insts"]) == (1, 1, 1)


def test_a_loop_is_known_by_either_of_two_labels_at_one_place(found: Found) -> None:
    lines = ("IN:", "OUT:", "add.s32 %r1, %r1, 1;", "@%p1 bra IN;", "@%p2 bra OUT;")
    assert found(*lines, times={"IN": 5, "OUT": 2})["int_insts"] == 10


def test_results_are_waited_for_by_the_distance_to_who_reads_them(found: Found) -> None:
    at_once = ("add.f32 %f1, %f1, %f2;",) * 3
    apart = ("add.f32 %f1, %f1, %f2;", "add.f32 %f3, %f3, %f2;") * 3
    assert found(*at_once)["dependency_distance"] == 1
    assert found(*apart)["dependency_distance"] == 2


def test_shared_arrays_and_wide_accesses_have_their_bytes(found: Found) -> None:
    arrays = (".shared .align 16 .b8 tile[1024];", ".shared .f64 tile2[8];", "mov.u32 %r1, tile;")
    lines = (*arrays, "ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];")
    counted = found(*lines)
    assert (counted["shared_mem_per_block"], counted["bytes_per_thread"]) == (1024 + 64, 16)


def test_what_a_compiler_writes_besides_is_no_instruction(found: Found) -> None:
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
    counted = found(*lines, times={"$L__BB0_1": 3})
    assert (counted["int_insts"], counted["comp_insts"]) == (3, 3 * 4 + 1)


def test_what_cannot_be_counted_is_told(found: Found, tmp_path: Path) -> None:
    with pytest.raises(dse.DseError, match=r"the loops L, and times are given of none: expected"):
        found("L:", "add.s32 %r1, %r1, 1;", "@%p1 bra L;")
    with pytest.raises(dse.DseError, match=r"the loops none, and times are given of M"):
        found("add.s32 %r1, %r1, 1;", times={"M": 2})
    with pytest.raises(dse.DseError, match=r"times of L are -1: expected a number of 0 or more"):
        found("L:", "add.s32 %r1, %r1, 1;", "@%p1 bra L;", times={"L": -1})
    with pytest.raises(dse.DseError, match=r"the kernels k: name one of them as entry, not 'j'"):
        found(entry="j")
    empty = tmp_path / "empty.ptx"
    empty.write_text(".version 6.0")
    with pytest.raises(dse.DseError, match=r"holds no kernel: expected PTX text"):
        dse.kernel(empty)


def test_what_is_counted_is_a_workload_of_the_models(
    found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    counted = found("ld.global.f32 %f1, [%rd1];", "fma.rn.f32 %f2, %f1, %f2, %f3;")
    Path("own.toml").write_text(workload_text("own.ptx", counted))
    given = {"machine": "gtx580", "warps_per_sm": 24, "outputs": ["mwp_app"]}
    told = dse.evaluate("throughput", workload="own.toml", **given).mwp_app
    assert told == dse.evaluate("throughput", **given, **counted).mwp_app  # type: ignore[arg-type]
    given = {"machine": "gtx280", "threads_per_block": 256, "registers_per_thread": 8}
    assert dse.evaluate("ipp", workload="own.toml", elements=1e6, **given).power > 83
