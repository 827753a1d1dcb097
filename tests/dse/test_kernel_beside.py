"""Counts of a kernel beside those of a profile: which agree, and what cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.cuda.tuning_space import agreement_rows
from symbolic.errors import DseError
from tests.dse.test_kernel_source import COULOMB, compiling

CODE = """
.version 8.0
.target sm_80
.visible .entry _Z1kPfi(.param .u64 x, .param .u32 n) {
ld.param.u64 %rd1, [x];
ld.param.u32 %r2, [n];
mov.u32 %r1, %tid.x;
setp.ge.s32 %p1, %r1, %r2;
@%p1 bra OUT;
mad.wide.s32 %rd2, %r1, 4, %rd1;
ld.global.f32 %f1, [%rd2];
rsqrt.approx.f32 %f1, %f1;
fma.rn.f32 %f1, %f1, %f1, %f1;
st.global.f32 [%rd2], %f1;
OUT:
ret;
}
"""
#: Of two blocks of 64 threads, of which 32 are active.
ROWS = """"ID","Process ID","Kernel Name","launch__grid_size","launch__block_size",\
"launch__registers_per_thread",\
"smsp__inst_executed.sum","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",\
"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",\
"smsp__sass_thread_inst_executed_op_fp32_pred_on.sum"
"","","","","","register/thread","inst","","","inst"
"0","7","k(float *, int)",2,64,5,34,2,8,128
"1","7","void other::k2<float>(float *)",2,64,5,24,2,8,128
"2","7","k(float *, int)",4,64,5,68,4,4,256
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A kernel, and a profile of it and of another."""
    code, profile = tmp_path / "k.ptx", tmp_path / "profile.csv"
    code.write_text(CODE)
    profile.write_text(ROWS)
    return code, profile


def test_each_count_stands_beside_the_measured_one(files: tuple[Path, Path]) -> None:
    code, profile = files
    result = dse.kernel(code, entry="k", beside=profile, set={"n": 32})
    assert result.configuration.values.tolist() == [0, 2]
    agreement = {each["what"]: each for each in agreement_rows(result)}
    assert result.instructions.values.tolist() == [(6 + 11) / 2] * 2
    assert agreement["instructions"]["equal"] == agreement["instructions"]["of"] == 2
    assert agreement["global_loads"]["equal"] == 2
    assert "registers_per_thread" not in agreement  # which PTX does not have
    assert agreement["floating_insts"]["ratio"] == 1.0  # MUFU among them
    sectors = agreement["transactions_per_request"]
    assert (sectors["equal"], sectors["of"], sectors["furthest"]) == (1, 2, 0.5)
    one = dse.kernel(code, entry="k", profile=profile, row=2, set={"n": 64}, block=[32, 2])
    assert one.instructions.values.tolist() == [11.0]
    assert one.instructions_measured.values.tolist() == [8.5]


def test_what_cannot_be_compared_is_named(files: tuple[Path, Path], tmp_path: Path) -> None:
    code, profile = files
    bare, times = tmp_path / "bare.csv", tmp_path / "times.csv"
    bare.write_text(ROWS.replace("launch__block_size", "other"))
    times.write_text(
        '"ID","Process ID","Kernel Name","gpu__time_duration.sum"\n,,,"ns"\n0,7,"k",3\n'
    )
    refused: list[tuple[dict[str, Any], str]] = [
        ({"profile": profile}, "has launches of k, k2: name one by entry"),
        ({"profile": profile, "entry": "k3"}, "no launch of 'k3', only of k, k2; did you mean"),
        ({"profile": profile, "entry": "k", "row": 9}, "row 9 of 3: expected 0 to 2"),
        ({"profile": bare, "entry": "k"}, "does not have the block of each launch: give --block"),
        ({"profile": times}, "has no counts to compare with"),
        ({"profile": code}, "k.ptx"),
    ]
    for given, words in refused:
        with pytest.raises(DseError, match=words):
            dse.kernel(code, set={"n": 32}, **given)
    result = dse.kernel(code, entry="k", profile=profile)
    assert "n: argument of the kernel" in str(result.status.values[0])
    assert not list(agreement_rows(result.drop_vars("registers_per_thread_measured")))


def test_the_command_tells_a_line_for_each_count(files: tuple[Path, Path], tmp_path: Path) -> None:
    code, profile = files
    command = ["kernel", str(code), "--entry", "k", "--beside", str(profile)]
    done = CliRunner().invoke(main, [*command, "--set", "n=32"])
    assert done.exit_code == 0, done.output
    rows = {line.split()[0]: line.split() for line in done.output.splitlines()}
    assert rows["instructions"][1:4] == ["8.5", "8.5", "1"]
    out = tmp_path / "both.csv"
    done = CliRunner().invoke(main, [*command, "--json", "--out", str(out)])
    assert json.loads(done.output)["not_counted"][0].startswith("k: the code alone")
    assert "instructions_measured" in out.read_text().splitlines()[0]


@compiling
@pytest.mark.skipif(not COULOMB.is_dir(), reason="../shared/data is not beside the project")
def test_macros_are_those_of_each_row_of_a_tuner() -> None:
    sizes = ["256 / WORK_GROUP_SIZE_X", "256 / WORK_GROUP_SIZE_Y", "256 / Z_ITERATIONS"]
    result = dse.kernel(
        COULOMB / "CoulombSum3d.cu",
        arch="sm_75",
        options=["-use_fast_math"],
        profile=COULOMB / "coulomb_2080_full_search_space.json.gz",
        row=100,
        block=["WORK_GROUP_SIZE_X", "WORK_GROUP_SIZE_Y"],
        grid=sizes,
        set={"numberOfAtoms": 64, "gridSize": 256},
    )
    ratios = {each["what"]: each["ratio"] for each in agreement_rows(result)}
    assert set(ratios) >= {"instructions", "global_loads", "registers_per_thread", "floating_insts"}
    assert set(ratios.values()) == {1.0}
