"""Kernels in sources with host code: what is left out, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dse
from dse.cuda.compile import remove_definitions
from dse.cuda.source import device_part, signatures, split_declarations
from symbolic.errors import DseError
from tests.dse.test_kernel_source import compiling

HEADER = """
#pragma once
#include <vector>
#include "none.h"
#define HD __host__ __device__ inline
#define WIDTH 4
struct Options { std::vector<int> sizes; };
struct Body { float x, y, z; };
HD float square(float x) { return x * x; }
void report(const Options &options, const char *name = "{");
"""
SOURCE = """
#include <iostream>
#include <vector>
#include <chrono>
#include "bodies.h"
using namespace std;
#define TILE 16 /* of a block */
static const vector<double> weights = {1.0, 2.0};
typedef float real;
namespace work {
vector<Body> every;
template <typename T, int N> __global__ void sum(const T *x, T *y) {
    T s = 0;
#pragma unroll 1
    for (int i = 0; i < N * TILE * WIDTH; i++) s += x[i];
    y[threadIdx.x] = s;
}
}  // namespace work
__device__ float normalize(float x) { return x; }
__global__ void other(const Options *o, real *y) { y[threadIdx.x] = o->sizes.size(); }
extern "C" {
__global__ void normalize(const Body *b, real *y) {
    int i = blockIdx.x * TILE + threadIdx.x;
    y[i] = square(b[i].x) + square(b[i].y);
}
}
template <typename T> void run(const vector<T> &x) {
    work::sum<T, 2><<<1, TILE>>>(x.data(), (T *)x.data());
}
int main(int argc, char **argv) {
    const auto begin = chrono::steady_clock::now();
    run<real>({1.f});
    cout << "}" << endl;
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A source with host code, and a header with some beside it."""
    (tmp_path / "bodies.h").write_text(HEADER)
    path = tmp_path / "bodies.cu"
    path.write_text(SOURCE)
    return path


@compiling
def test_kernels_are_found_among_host_code_and_headers_beside_the_file(file: Path) -> None:
    result = dse.kernel(file, entry="normalize", block=[16], grid=[8])
    assert result.numbers["global_load"] == 2
    assert result.numbers["fp32"] == 2
    left = "\n".join(result.left_out)
    assert "#include none.h: no such file" in left
    assert "bodies.h line 7: struct Options" in left
    assert "bodies.cu line 8: static const vector<double> weights" in left
    assert all(f"# left out, not for the device: {each}" in result.toml() for each in left[:1])


@compiling
@pytest.mark.parametrize("entry", ["sum<float, 2>", "work::sum<float, 2>"])
def test_a_template_in_a_namespace_is_named_with_its_arguments(file: Path, entry: str) -> None:
    assert dse.kernel(file, entry=entry, block=[16]).numbers["global_load"] == 2 * 16 * 4


@compiling
def test_a_macro_that_is_given_replaces_that_of_the_text_and_of_a_header(file: Path) -> None:
    given: dict[str, Any] = {"entry": "sum<float, 2>", "block": [16]}
    result = dse.kernel(file, define={"TILE": 8, "WIDTH": 2}, **given)
    assert result.numbers["global_load"] == 2 * 8 * 2
    assert (
        remove_definitions("#define A(x) \\\n x\n#define AB 2\nA", {"A(x)": 1})
        == "\n\n#define AB 2\nA"
    )


@compiling
def test_what_the_kernel_needs_is_not_left_out(file: Path) -> None:
    with pytest.raises(
        DseError, match=r'bodies.cu\(20\): error: identifier "Options" is und'
    ) as raised:
        dse.kernel(file, entry="other")
    assert "left out earlier, because it is not device code:\nbodies.cu line" in str(raised.value)


def test_pieces_keep_what_frames_declarations_and_every_line() -> None:
    for text in (HEADER, SOURCE):
        assert "".join(split_declarations(text)) == text
        assert device_part(text).count("\n") == text.count("\n")
    result = signatures(SOURCE)
    assert {name: each.namespace for name, each in result.items()} == {
        "sum": "work",
        "other": "",
        "normalize": "",
    }
    part = device_part(SOURCE)
    assert "main" not in part
    assert part.count("{") == part.count("}")
    assert "square" not in device_part("float square(float x) { return x; }")
    assert "square" in device_part(HEADER)
