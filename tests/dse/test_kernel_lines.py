"""Lines of the source as a cubin tells them, against what the disassembler lists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from dse.cuda.compile import compile_source, find_package_file
from dse.cuda.cubin import _Cubin, read_functions, source_lines
from symbolic.errors import DseError
from tests.dse.test_kernel_source import compiling

SOURCE = """
__device__ __forceinline__ float within(float a) {
    float s = 0;
    for (int i = 0; i < a; i++) s += a * i;
    return s;
}
__device__ __noinline__ float apart(float a) {
    for (int i = 0; i < 9; i++) a = sinf(a);
    return a;
}
namespace inside {
template <class T> __global__ void both(T *x, int n) {
    for (int i = threadIdx.x; i < n; i++)
        x[i] = within(x[i])
            + apart(x[i + 1]);
}
template __global__ void both<float>(float *, int);
template __global__ void both<double>(double *, int);
}
__global__ void plain(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
"""


def _list_lines(cubin: bytes, folder: Path) -> dict[str, dict[int, int]]:
    """Return the lines that ``nvdisasm -g`` writes above each instruction, by kernel."""
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    program = str(find_package_file("nvidia-cuda-nvdisasm", r"nvdisasm(\.exe)?$"))
    done = subprocess.run([program, "-c", "-g", path], capture_output=True, text=True, check=True)
    result: dict[str, dict[int, int]] = {}
    line, name = 0, ""
    for row in done.stdout.splitlines():
        if row.startswith(".text."):
            name = row.removeprefix(".text.").rstrip(":")
        elif at := re.search(r'//## File "[^"]*", line (\d+)', row):
            line = int(at[1])
        elif line and (place := re.match(r"^\s*/\*([0-9a-f]{4,})\*/", row)):
            result.setdefault(name, {})[int(place[1], 16) // 16] = line
    return result


@compiling
@pytest.mark.parametrize("arch", [75, 120])
def test_lines_are_those_that_the_disassembler_lists(arch: int, tmp_path: Path) -> None:
    cubin = compile_source(SOURCE, arch)[0]
    listed = _list_lines(cubin, tmp_path)
    assert len(listed) == 3
    for name, lines in listed.items():
        assert len(set(lines.values())) > 1 or name.startswith("_Z5plain")
        assert source_lines(cubin, name) == lines
    assert source_lines(cubin, "another") == {}


@compiling
def test_damaged_lines_are_refused_or_read() -> None:
    cubin = compile_source(SOURCE, 80)[0]
    lines = _Cubin(cubin).body(".debug_line")
    begin, refused = cubin.index(lines), 0  # names of folders, of any length, lie within
    for at in (*range(begin, begin + 10), *range(begin + 10, begin + len(lines), 7)):
        spoilt = cubin[:at] + bytes([cubin[at] ^ 0x95]) + cubin[at + 1 :]
        for name in read_functions(cubin):
            try:
                assert all(line > 0 for line in source_lines(spoilt, name).values())
            except DseError:
                refused += 1
    assert refused
