"""Kernels that are Python functions: compiled by numba and assembled, without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dse
from dse.kernels.jitted import _ptxas
from symbolic.errors import DseError
from tests.dse.test_kernel_source import compiling

pytest.importorskip("numba_cuda")
from numba import cuda  # what numba-cuda brings

SIGNATURE = "void(float32[::1], float32[::1], float32, int32)"


def saxpy(x: Any, y: Any, a: Any, n: Any) -> None:
    """y = a x + y, by strides of the grid."""
    i = cuda.grid(1)
    while i < n:
        y[i] = a * x[i] + y[i]
        i += cuda.gridsize(1)


@compiling
def test_a_function_is_counted_as_numba_compiles_it() -> None:
    try:
        _ptxas()
    except DseError as error:
        pytest.skip(str(error))
    asked: dict[str, Any] = {"signature": SIGNATURE, "grid": [16], "arch": "8.0"}
    found = dse.kernel(saxpy, set={"n": 16 * 256 * 10}, **asked)
    assert (found.numbers["global_load"], found.numbers["global_store"]) == (20, 10)
    assert found.numbers["sectors_per_request"] == 4
    assert found.origin == "saxpy.cubin, sm_80"
    assert 1 <= found["registers_per_thread"] <= 64
    with pytest.raises(DseError, match=r"no argument 'x_shape'; .*: x_meminfo, .*x_shape_0"):
        dse.kernel(saxpy, set={"x_shape": 3}, **asked)


def test_what_numba_or_ptxas_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DseError, match="saxpy is a Python function, whose types are not known"):
        dse.kernel(saxpy)
    with pytest.raises(DseError, match="expected such as sm_80"):
        dse.kernel(saxpy, signature=SIGNATURE, arch="ampere")
    for name in ("CUDA_HOME", "CUDA_PATH", "PATH"):
        monkeypatch.setenv(name, str(Path(__file__).parent))

    def none(package: str, pattern: str) -> Path:
        raise DseError(package + pattern)

    monkeypatch.setattr("dse.kernels.jitted.installed", none)
    with pytest.raises(DseError, match=r"ptxas is not installed, .*pip install nvidia-cuda-nvcc"):
        _ptxas()
