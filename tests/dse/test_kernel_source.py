"""Counts of a kernel from its source: against profiles of real GPUs, and by hand."""

from __future__ import annotations

import gzip
import json
import random
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest

import dse
from dse.cuda import cubin as machine_code
from dse.cuda.compile import architectures, compile_source
from dse.cuda.cubin import disassemble, read_functions
from dse.cuda.integer_expressions import atom_expr, constant, floordiv, remainder
from dse.cuda.kernel_file import load_code
from dse.cuda.source import device_part, signatures
from symbolic.errors import DseError
from tests.dse.hecbench import entry_of, in_short
from tests.long import long, mostly_long

COULOMB = Path(__file__).parents[3] / "shared" / "data" / "profiles" / "coulomb"
EXAMPLE = Path(__file__).parents[2] / "examples" / "vector-add.cu"


@cache
def _lacks() -> str:
    try:
        architectures()
        from dse.cuda.compile import find_package_file

        find_package_file("nvidia-cuda-nvdisasm", r"nvdisasm(\.exe)?$")
    except DseError as error:
        return str(error)
    return ""


compiling = pytest.mark.skipif(bool(_lacks()), reason=_lacks() or "the extra kernels is there")
SOURCE = """
#include <cstdio>
#include "mine.h"
__global__ void reduce(const float *x, float *out, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    float a = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) a += x[i];
    s[t] = a;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void rows(const int *p, const int *c, const float *v, const float *x, float *y, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        float s = 0;
        for (int j = p[r]; j < p[r + 1]; j++) s += v[j] * x[c[j]];
        y[r] = s;
    }
}
__global__ void strided(const float *x, float *y, int n, int s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i * s];
}
template <typename T> __global__ void scale(T *x, T f, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        x[i] *= f;
}
int main() { std::printf("%d\\n", 3); return 0; }
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of several kernels and host code."""
    path = tmp_path_factory.mktemp("kernels") / "several.cu"
    path.write_text(SOURCE)
    return path


def _numbers(path: Path | bytes, **given: Any) -> dict[str, float]:
    return dict(dse.kernel(path, **given).numbers)


def by_place(text: str, entry: str, given: dict[str, int]) -> dict[str, int]:
    """Arguments by the names that they have in machine code."""
    names = signatures(text)[entry].arguments
    return {f"arg{names.index(name)}": value for name, value in given.items()}


@compiling
@pytest.mark.skipif(not COULOMB.is_dir(), reason="../shared/data is not beside the project")
def test_executed_instructions_and_loads_are_those_of_the_profile() -> None:
    """RTX 2080 Ti, KTT: a sample of the 210; ``python -m tests.dse.profiled`` counts them all."""
    file = COULOMB / "CoulombSum3d.cu"
    with gzip.open(COULOMB / "coulomb_2080_full_search_space.json.gz") as opened:
        results = json.load(opened)["Results"]
    about: dict[str, Any] = {"arch": "sm_75", "options": ["-use_fast_math"]}
    defined = [{each["Name"]: each["Value"] for each in one["Configuration"]} for one in results]
    codes = [load_code(file, define=each, entry="", **about) for each in defined[::23]]
    disassemble([each.function for each in codes])  # in one go, to be remembered
    for result, define in list(zip(results, defined, strict=True))[::23]:
        run = result["ComputationResults"][0]
        counters = {each["Name"]: each["Value"] for each in run["ProfilingData"]["Counters"]}
        grid, block = ([run[size][axis] for axis in "XYZ"] for size in ("GlobalSize", "LocalSize"))
        given = {"numberOfAtoms": 64, "gridSize": 256}
        counts = dse.kernel(file, define=define, block=block, grid=grid, set=given, **about)
        assert counts["registers_per_thread"] == run["CompilationData"]["RegistersCount"]
        warps = counts["blocks"] * -(-counts["threads_per_block"] // 32)
        numbers = counts.numbers
        assert warps * numbers["all"] == counters["smsp__inst_executed.sum"]
        loads = counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]
        assert warps * numbers["global_load_requests"] == loads


@compiling
def test_a_sum_over_strides_halves_and_barriers_is_counted_as_it_runs(source: Path) -> None:
    result = _numbers(source, entry="reduce", block=[256], grid=[128], set={"n": 2**20})
    assert result["global_load"] == 2**20 / (128 * 256)
    assert result["barrier"] == 1 + 8
    assert result["global_store_requests"] == 1 / 8  # of one warp in eight
    assert result["sectors_per_request"] == pytest.approx(4, rel=0.01)


@compiling
@pytest.mark.parametrize(
    "arch",
    mostly_long(["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"], lambda k, _: k in (0, 2)),
)
def test_what_is_loaded_and_decides_is_asked_for(tmp_path: Path, arch: str) -> None:
    source = tmp_path / "rows.cu"  # at its lines, and alone
    before, kernel = SOURCE[: SOURCE.index("__global__ void strided")].split("__global__ void rows")
    source.write_text("\n" * before.count("\n") + "__global__ void rows" + kernel)
    with pytest.raises(DseError, match="loaded_line_21: mean value loaded at line 21: for"):
        dse.kernel(source, arch=arch, block=[128], grid=[100], set={"n": 12800})
    times = {"loaded_line_21": 0, "loaded_line_21_2": 27}
    result = _numbers(source, times=times, arch=arch, block=[128], grid=[100], set={"n": 12800})
    assert result["global_load"] in (2 + 3 * 27, 2 + 3 * 27 + 6)  # bounds read again behind a loop


@compiling
@pytest.mark.parametrize(("stride", "sectors"), [(1, 4), (2, 8), (4, 16), (8, 32)])
def test_sectors_of_a_request_follow_its_stride(cubin: bytes, stride: int, sectors: int) -> None:
    given = {"arg2": 12800, "arg3": stride}
    result = dse.kernel(cubin, block=[128], grid=[100], set=given)
    mangled = result.numbers["sectors_per_request"]
    assert mangled == (4 + sectors) / 2  # of the store and the load
    assert (result["uncoalesced_insts"], result["coalesced_insts"]) == (
        (1, 1) if stride > 1 else (0, 2)
    )


@compiling
def test_a_template_is_named_with_its_arguments(source: Path) -> None:
    with pytest.raises(DseError, match=r"scale is a template \(template <typename T>\)"):
        dse.kernel(source, entry="scale")
    given: dict[str, Any] = {"block": [128], "grid": [100], "set": {"n": 128000}}
    double = dse.kernel(source, entry="scale<double>", **given)
    assert double["bytes_per_thread"] == 8
    single = dse.kernel(source, entry="scale<float>", **given)
    assert (double["fp64_insts"], single["fp64_insts"]) == (10, 0)
    assert single.numbers["global_load"] == 10


@compiling
def test_a_workload_file_keeps_loops_as_formulas(tmp_path: Path) -> None:
    kernel = tmp_path / "walk.cu"
    kernel.write_text(
        "__global__ void walk(const float *x, float *y, int steps) {\n"
        "    float s = 0;\n"
        "#pragma unroll 1\n"
        "    for (int i = 0; i < steps; i++) s += x[i * 256 + threadIdx.x];\n"
        "    y[threadIdx.x + blockIdx.x * blockDim.x] = s;\n}\n"
    )
    result = dse.kernel(kernel, grid=[4096], set={"steps": 50})
    path = tmp_path / "walk.toml"
    path.write_text(result.toml())
    study = dse.Study(
        model="occupancy + mwp_cwp",
        machine="gtx280",
        workload=str(path),
        axes={"steps": [10, 50, 200]},
        set={"active_sms": 30},
        outputs=["mem_insts", "time"],
    )
    assert study.run().mem_insts.values.tolist() == [11, 51, 201]
    assert result["coalesced_insts"] == 51
    assert (
        dse.evaluate("mwp_cwp", workload=str(path), steps=7, outputs=["mem_insts"]).mem_insts == 8
    )


@compiling
def test_names_of_host_headers_are_known_and_a_text_may_give_its_own(tmp_path: Path) -> None:
    kernel = tmp_path / "typed.cu"
    for own in ("", "typedef unsigned long long uint64_t;", "typedef unsigned long uint64_t;"):
        named = "typedef unsigned uint;" if own else "#include <stdint.h>"
        kernel.write_text(f"{named}\n{own}\n__global__ void k(uint64_t *x, uint n) {{ x[n] = 3; }}")
        assert _numbers(kernel, block=[32])["global_store"] == 1
    kernel.write_text("__global__ void k(float *x) { x[threadIdx.x] = M_PI * FLT_EPSILON; }")
    assert _numbers(kernel, block=[32])["global_store"] == 1
    same = "UINT64_C(1) << 63 == UINT64_MAX / 2 + 1 && INT64_MIN < 0 && 8 == CHAR_BIT"
    kernel.write_text(f"__global__ void k(int *x) {{ if ({same}) *x = 1; }}")
    assert _numbers(kernel, block=[32])["global_store"] == 1


@compiling
def test_a_kernel_without_arguments_is_one(tmp_path: Path) -> None:
    kernel = tmp_path / "none.cu"
    kernel.write_text("__device__ int x[32]; __global__ void k() { x[threadIdx.x] = 1; }")
    assert _numbers(kernel, block=[32])["global_store"] == 1


@compiling
def test_an_argument_of_a_guarded_load_is_asked_for_and_one_of_an_address_is_not(
    tmp_path: Path,
) -> None:
    kernel = tmp_path / "guarded.cu"
    kernel.write_text(
        "__global__ void k(const float *x, float *y, int n, int s) {\n"
        "    float a = 1;\n    if (threadIdx.x < n) a = x[threadIdx.x * s];\n"
        "    y[threadIdx.x] = a;\n}\n"
    )
    with pytest.raises(DseError, match="n: argument of the kernel"):
        dse.kernel(kernel)
    result = dse.kernel(kernel, block=[64], set={"n": 32})
    assert result.numbers["global_load_requests"] == 0.5
    assert "are unknown" in result.assumed["coalesced_insts"]


@compiling
def test_arguments_that_take_a_count_beyond_64_bits_are_refused(tmp_path: Path) -> None:
    kernel = tmp_path / "power.cu"
    kernel.write_text(
        "__global__ void k(float *x, int n) { if (threadIdx.x < (1 << n)) x[threadIdx.x] = 3; }"
    )
    with pytest.raises(DseError, match="exceeds 64 bits"):
        dse.kernel(kernel, block=[32], set={"n": 10**5})


@compiling
def test_what_a_kernel_lacks_is_named(source: Path, tmp_path: Path) -> None:
    empty, broken = tmp_path / "empty.cu", tmp_path / "broken.cu"
    empty.write_text("int main() { return 0; }")
    broken.write_text("__global__ void k(float *x) { x[0] = nothing; }")
    cubin = tmp_path / "short.cubin"
    cubin.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + b"\xbe" + bytes(48))
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: dse.kernel(empty), "have a kernel"),
        (lambda: dse.kernel(source), "has 4 kernels: reduce, rows, strided, scale; name one"),
        (
            lambda: dse.kernel(source, entry="rws"),
            r"no kernel 'rws'; did you mean 'rows'\?; there are: reduce, rows, strided, scale",
        ),
        (lambda: dse.kernel(broken), r'identifier "nothing" is undefined'),
        (lambda: dse.kernel(source, entry="rows", arch="sm_11"), "has no sm_11: it compiles for"),
        (lambda: dse.kernel(source, entry="rows", arch="fermi"), "capability such as sm_80"),
        (lambda: dse.kernel(source, entry="strided"), "n: argument of the kernel"),
        (lambda: dse.kernel(source, entry="strided", set={"m": 1}), "no argument 'm'"),
        (lambda: dse.kernel(source, entry="strided", block=[0]), "expected one to three whole"),
        (lambda: dse.kernel(source, {"x": 1}, "strided", set={"n": 1}), "it needs: none"),
        (lambda: dse.kernel(cubin), "damaged"),
        (lambda: dse.kernel(tmp_path / "none.cu"), "is no file"),
    ]
    for ask, words in refused:
        with pytest.raises(DseError, match=words):
            ask()


def test_a_kernel_is_named_as_profilers_name_it() -> None:
    named = {
        "add(int *, const int *, int)": "add",
        "void add_kernel<float>(const T1 *, T1 *)": "add_kernel<float>",
        "void walk<(int)4, unsigned int>(T2 *)": "walk<(int)4, unsigned int>",
    }
    assert {mangled: entry_of(mangled) for mangled in named} == named
    assert in_short("k.cu does not compile:\nk.cu(3): error: no x\n") == "compiler: no x"


def test_what_is_left_of_a_loop_that_was_unrolled_divides_again() -> None:
    n, four = atom_expr("argument", 0), constant(4)
    assert floordiv(n - remainder(n, four), four) == floordiv(n, four)
    assert floordiv(floordiv(n, four), four) == floordiv(n, constant(16))
    assert floordiv(n.scale(8) + constant(5), four) == n.scale(2) + constant(1)
    assert (n - n).constant_value == 0


def test_kernels_and_their_arguments_are_read_off_the_source() -> None:
    result = signatures(SOURCE)
    assert list(result) == ["reduce", "rows", "strided", "scale"]
    assert result["rows"].arguments == ["p", "c", "v", "x", "y", "n"]
    assert result["scale"].template == "template <typename T>"
    bounded = signatures(
        "__global__ void __launch_bounds__(128, 2) k(float *a, /* , */ int b[3]) {}"
    )
    assert bounded["k"].arguments == ["a", "b"]
    part = device_part(SOURCE)
    assert "main" not in part
    assert '#include "mine.h"' in part  # found beside it, or taken as empty
    assert part.count("\n") == SOURCE.count("\n")
    assert part.splitlines()[20] == SOURCE.splitlines()[20]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[quantities]\ntime = { meaning = 'x' }", "all models share it"),
        ("[quantities]\nn = 3", "expected { meaning"),
        ("[quantities]\nn = { meaning = 'x', colour = 'red' }", "expected meaning, unit, domain"),
        ("quantities = 3", "expected a table"),
    ],
)
def test_a_quantity_that_a_workload_cannot_declare(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(f'title = "own"\n{text}\n')
    with pytest.raises(DseError, match=words):
        dse.workload(str(path))


@long
@compiling
def test_a_space_of_macros_is_counted_once_for_each_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSE_CACHE", str(tmp_path / "kept"))
    kernel = tmp_path / "unrolled.cu"
    kernel.write_text(
        "__global__ void walk(const float *x, float *y, int n) {\n"
        "    float s = 0;\n"
        "#pragma unroll U\n"
        "    for (int i = 0; i < n; i++) s += x[i * BX + threadIdx.x];\n"
        "    y[threadIdx.x] = s WRONG;\n}\n"
    )
    options: dict[str, Any] = {"define": {"U": [1, 4], "BX": [64, 128], "WRONG": ["", "+ none"]}}
    options |= {"block": ["BX"], "grid": ["4096 / BX"], "set": {"n": 50}}
    result = dse.kernel(kernel, **options)
    good = result.sel(WRONG="")
    assert dict(result.sizes) == {"U": 2, "BX": 2, "WRONG": 2}
    assert (result.status.sel(WRONG="") == "").all()
    assert all(
        'identifier "none"' in text for text in result.status.sel(WRONG="+ none").values.flat
    )
    assert good.threads_per_block.values.tolist() == [[64, 128], [64, 128]]
    assert good.blocks.values.tolist() == [[64, 32], [64, 32]]
    assert (good.coalesced_insts == 51).all()
    for unroll in (1, 4):
        define = {"U": unroll, "BX": 64, "WRONG": ""}
        one = dse.kernel(kernel, define=define, block=[64], grid=[64], set={"n": 50})
        assert good.instructions.sel(U=unroll, BX=64) == one.numbers["all"]
    monkeypatch.setattr("dse.cuda.tuning_space.load_code", None)  # kept: nothing is compiled
    assert dse.kernel(kernel, **options).identical(result)


LOOPS = """
__global__ void steps(const float *x, float *y, int n) {
    float s = 0;
    for (int i = 1; i < n; i += 3) s += x[i];
    y[threadIdx.x] = s;
}
__global__ void down(const float *x, float *y, int n) {
    float s = 0;
    for (int i = n - 1; i >= 0; i--) s += x[i];
    y[threadIdx.x] = s;
}
__global__ void wide(const float *x, float *y, long n) {
    long t = blockIdx.x * (long)blockDim.x + threadIdx.x;
    float s = 0;
    for (long i = t; i < n; i += (long)blockDim.x * gridDim.x) s += x[i];
    y[t] = s;
}
__global__ void tiles(const float *x, float *y, int n, int m) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n && c < m) y[r * m + c] = x[r * m + c] + x[c];
}
__global__ void doubled(const float *x, float *y, int n) {
    float s = 0;
    for (int k = 1; k < n; k *= 2) s += x[k];
    y[threadIdx.x] = s;
}
__global__ void quotient(const float *x, float *y, int n, int d) {
    float s = 0;
    for (int k = 0; k < n / d; k++) s += x[k];
    y[threadIdx.x] = s;
}
__global__ void lesser(const float *x, float *y, int n) {
    float s = 0;
    for (int i = 0; i < n && i < 100; i++) s += x[i];
    y[threadIdx.x] = s;
}
__global__ void broken_off(const float *x, float *y, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) {
        if (i * i > 50) break;
        s += x[i];
    }
    y[threadIdx.x] = s;
}
__global__ void apart(const float *x, float *y, int n) {
    float s = 0;
    if (threadIdx.x & 1) for (int i = 0; i < n; i++) s += x[i];
    else for (int i = 0; i < 2 * n; i++) s -= x[i + 1];
    y[threadIdx.x] = s;
}
"""


@pytest.fixture(scope="module")
def loops() -> dict[int, bytes]:
    """Machine code of all loops; a kernel and its arguments are as well known by it."""
    return {arch: compile_source(LOOPS, arch)[0] for arch in (75, 90)}


@compiling
@pytest.mark.parametrize("arch", [75, 90])
@pytest.mark.parametrize(
    ("entry", "given", "grid", "block", "loads"),
    [
        ("steps", {"n": 100}, [1], [32], 33),
        ("steps", {"n": 1}, [1], [32], 0),
        ("down", {"n": 37}, [1], [32], 37),
        ("wide", {"n": 5000}, [3], [128], (12 * 14 - 11) / 12),  # 157 loads of 12 warps
        ("tiles", {"n": 50, "m": 70}, [3, 4], [32, 16], 2 * (16 * 9 + 6) / 192),
        ("doubled", {"n": 1024}, [1], [32], 10),
        ("quotient", {"n": 100, "d": 7}, [1], [32], 14),
        ("lesser", {"n": 500}, [2], [32], 100),
        ("lesser", {"n": 50}, [2], [32], 50),
        ("broken_off", {"n": 100}, [1], [32], 8),
        ("broken_off", {"n": 4}, [1], [32], 4),
        ("apart", {"n": 10}, [1], [64], 30),  # a warp goes both ways
    ],
)
def test_loops_of_every_kind_run_as_often_as_by_hand(
    loops: dict[int, bytes], arch: int, entry: str, given: Any, grid: Any, block: Any, loads: float
) -> None:
    values = by_place(LOOPS, entry, given)
    result = _numbers(loops[arch], entry=entry, grid=grid, block=block, set=values)
    assert result["global_load_requests"] == pytest.approx(loads, rel=1e-12)


@compiling
def test_what_was_told_of_machine_code_is_remembered_wherever_it_stands(
    loops: dict[int, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Branches lead where they led when the kernel was asked for alone."""
    first, second = list(read_functions(loops[75]).values())[:2]
    monkeypatch.setattr(machine_code, "_word_cache", {})
    monkeypatch.setattr(machine_code, "_MAX_WORDS", 8)
    (alone,) = disassemble([first])
    assert len(machine_code._word_cache[75]) == 8 < len({each.text for each in alone})
    monkeypatch.setattr(machine_code, "_word_cache", {})
    monkeypatch.setattr(machine_code, "_MAX_WORDS", 10**4)
    disassemble([second, first])
    monkeypatch.setattr(machine_code, "_run_disassembler", None)  # nothing is asked anew
    assert len(machine_code._word_cache) == 1
    (result,) = disassemble([first])
    assert sum(each.name == "BRA" for each in result) > 2
    for each, other in zip(result, alone, strict=True):
        assert (each.opcode, each.guard) == (other.opcode, other.guard)
        same = (each.target, other.target) if each.kind == "control" else (each.text, other.text)
        assert same[0] == same[1]
    with pytest.raises(TypeError, match="not callable"):  # of another architecture it is
        disassemble([replace(first, arch=80)])


CALLED = """
__device__ __noinline__ float far(float x, int n) {
    return n > 1 ? far(x * x + 1.5f, n - 1) * far(x, n - 2) : x;
}
__device__ __noinline__ float near(float x, int n) { return x * n; }
__device__ float (*table[2])(float, int) = {near, far};
__global__ void k(float *x, int n) { x[threadIdx.x] = far(x[threadIdx.x], n); }
__global__ void pointer(float *x, int n) { x[threadIdx.x] = table[n & 1](x[threadIdx.x], n); }
__global__ void cases(float *x, int n) {
    float a = x[threadIdx.x];
    switch (n) {
        case 0: a = a * 3; break; case 1: a = cosf(a); break; case 2: a = expf(a); break;
        case 3: a = logf(a); break; case 4: a = erff(a); break; case 5: a = cbrtf(a); break;
        case 6: a = tanf(a); break; default: a = 0;
    }
    x[threadIdx.x] = a;
}
"""


@compiling
def test_functions_that_call_themselves_are_named_and_those_that_are_not_known_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "called.cu"
    path.write_text(CALLED)
    result = dse.kernel(path, entry="k", set={"n": 3})
    note = "called functions (far) are not counted: inline them"
    assert result.assumed["comp_insts"] == note
    assert 'assumed = "called functions' in result.toml()
    with pytest.raises(DseError, match=r"calls an unknown function by a pointer \(.*CALL\.REL"):
        dse.kernel(path, entry="pointer", set={"n": 3})
    with pytest.raises(DseError, match=r"skip_line_12: share of threads"):  # the sign of cosf
        dse.kernel(path, entry="cases", set={"n": 1})
    assert dse.kernel(path, entry="cases", set={"n": 3})["fp_insts"] > 5  # logf


@pytest.fixture(scope="module")
def cubin(source: Path) -> bytes:
    """Machine code of one kernel."""
    text = SOURCE[SOURCE.index("__global__ void strided") : SOURCE.index("template")]
    return compile_source(text, 80)[0]


@compiling
def test_machine_code_is_counted_as_its_source_is(
    cubin: bytes, source: Path, tmp_path: Path
) -> None:
    """Read any file name, bytes, and an object like Triton's (whose wheel tests do not need)."""
    given: dict[str, Any] = {"block": [128], "grid": [100]}
    named = dse.kernel(source, entry="strided", set={"n": 12800, "s": 2}, **given)
    path = tmp_path / "strided.bin"
    path.write_bytes(cubin)

    class Compiled:
        name = "strided"
        asm: ClassVar = {"cubin": cubin, "ptx": ""}

    for each in (path, cubin, Compiled()):
        result = dse.kernel(each, set={"arg2": 12800, "arg3": 2}, **given)
        assert dict(result) == dict(named)
    assert result.origin == "strided.cubin, sm_80"


@compiling
def test_what_is_no_kernel_is_named_for_what_it_is(tmp_path: Path) -> None:
    ptx = EXAMPLE.with_name("strided-sum.ptx").read_text()
    path = tmp_path / "named.cu"
    path.write_text(ptx)
    assert dse.kernel(path, set={"steps": 100})["coalesced_insts"] == 201
    host = b"\x7fELF\2\1\1" + bytes(11) + b"\x3e\0" + bytes(60)
    refused = [
        (host, "for another machine .EM_X86_64."),
        (b"\x50\xed\x55\xba" + bytes(99), "fat binary"),
        (ptx.encode(), "steps: argument of the kernel"),  # PTX it is, and counted as such
        (b"PAR1", "no GPU machine code"),
    ]
    for data, words in refused:
        with pytest.raises(DseError, match=words):
            dse.kernel(data)
    with pytest.raises(DseError, match="a dict is no kernel"):
        dse.kernel({"cubin": b""})


@compiling
def test_damaged_machine_code_is_refused_or_read_and_breaks_nothing(cubin: bytes) -> None:
    rng = random.Random(16)
    end = struct.unpack_from("<Q", cubin, 0x20)[0]  # behind it only what loaders ask
    for at in range(0, end, 61):
        with pytest.raises(DseError):
            read_functions(cubin[:at])
    for _ in range(400):
        spoilt = bytearray(cubin)
        for _ in range(rng.randint(1, 8)):
            spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
        with suppress(DseError):
            assert all(
                isinstance(one.registers, int) for one in read_functions(bytes(spoilt)).values()
            )


@pytest.mark.parametrize(
    "attributes",
    ["__maxnreg__(20)", "__maxnreg__(20) __cluster_dims__(2, 1, 1)", "__launch_bounds__(256, 2)"],
)
def test_attributes_of_a_kernel_are_not_its_name(attributes: str, tmp_path: Path) -> None:
    """A limit of registers that the assembler does not keep to is an assumption."""
    file = tmp_path / "copy.cu"
    file.write_text(
        f"__global__ void {attributes} copy(const float *a, float *b, int n)\n"
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = a[i]; }\n"
    )
    counts = dse.kernel(file, arch="sm_90", set={"n": 4096})
    assert counts.origin == "copy.cu (copy), compiled for sm_90"
    assert not counts.left_out
    note = counts.assumed.get("registers_per_thread", "")
    assert ("count of 20 to lower bound of 24" in note) == ("maxnreg" in attributes)


def test_a_limit_of_registers_by_an_option_is_noted(tmp_path: Path) -> None:
    file = tmp_path / "copy.cu"
    file.write_text("__global__ void copy(const float *a, float *b) { b[threadIdx.x] = *a; }")
    notes = [
        dse.kernel(file, options=[f"-maxrregcount={most}"]).assumed.get("registers_per_thread")
        for most in (20, 32)
    ]
    assert "count of 20 to lower bound of 24" in notes[0]
    assert notes[1] is None


def test_an_argument_that_is_no_whole_number_is_written_as_given(tmp_path: Path) -> None:
    file = tmp_path / "scale.cu"
    file.write_text(
        "__global__ void scale(float *a, float by, int n)\n"
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] *= by; }\n"
    )
    counts = dse.kernel(file, set={"n": 4096, "by": 0.4})
    assert counts.declared["by"] == ("argument by of the kernel", 0.4)
    assert "by = { value = 0.4," in counts.toml()
