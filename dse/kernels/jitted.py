"""Kernels that are Python functions (``numba.cuda``): compiled to machine code without a GPU."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dse.kernels.compiling import capability, installed
from symbolic.errors import DseError

__all__ = ["assembled", "is_python", "python_kernel"]

_HINT = "pip install 'numba-cuda[cu13]' (in a clone: '.[numba]')"


def is_python(given: object) -> bool:
    """Whether an object is a function, or one that numba compiles for GPUs."""
    return callable(getattr(given, "py_func", given)) and not isinstance(given, type)


def python_kernel(given: Any, signature: Any, arch: str) -> tuple[bytes, list[str], list[str]]:
    """The machine code of a Python function as a kernel, its arguments, the lines of its file.

    An array ``x`` is several arguments, as numba passes it: ``x`` where its data begins,
    ``x_size``, ``x_itemsize``, ``x_shape_0``, ``x_stride_0``.

    Raises
    ------
    DseError
        No signature; no numba-cuda; its words on a function that it cannot compile; no ptxas,
        which makes machine code of PTX.
    """
    function = getattr(given, "py_func", given)
    known = list(getattr(given, "overloads", {}))
    signature = signature or (known[0] if len(known) == 1 else None)
    if signature is None:
        raise DseError(
            f"{function.__name__} is a Python function, whose types are not known: give "
            "signature='void(float32[::1], int32)'"
        )
    try:
        from numba import cuda
        from numba.core.sigutils import normalize_signature
    except ImportError:
        raise DseError(f"numba-cuda is not installed, which compiles functions: {_HINT}") from None
    number = capability(arch)
    try:
        types, _ = normalize_signature(signature)
        about = {"cc": divmod(number, 10), "device": False, "abi": "numba", "lineinfo": True}
        ptx, _ = cuda.compile(function, types, output="ptx", **about)
    except Exception as error:
        raise DseError(f"numba does not compile {function.__name__}: {error}") from None
    source = Path(function.__code__.co_filename)
    lines = source.read_text(encoding="utf-8").splitlines() if source.is_file() else []
    return assembled(ptx, number), _arguments(function, types), lines


def _arguments(function: Callable[..., Any], types: Sequence[Any]) -> list[str]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    found = []
    for name, each in zip(names, types, strict=True):
        axes = getattr(each, "ndim", None)
        if axes is None:
            found.append(name)
            continue
        found += [f"{name}_{part}" for part in ("meminfo", "parent", "size", "itemsize")]
        found.append(name)
        found += [f"{name}_{part}_{at}" for part in ("shape", "stride") for at in range(axes)]
    return found


def assembled(ptx: str, arch: int) -> bytes:
    """The machine code of PTX text.

    Raises
    ------
    DseError
        No ptxas; its words.
    """
    program = _ptxas()
    with TemporaryDirectory() as folder:
        path, out = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        path.write_text(ptx)
        asked = [program, f"-arch=sm_{arch}", "-lineinfo", os.fspath(path), "-o", os.fspath(out)]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode:
            raise DseError(f"ptxas does not assemble this for sm_{arch}: {done.stderr.strip()}")
        return out.read_bytes()


def _ptxas() -> str:
    """NVIDIA's assembler: of its package, of the toolkit that CUDA_HOME names, or on the path."""
    try:
        return os.fspath(installed("nvidia-cuda-nvcc", r"bin/ptxas(\.exe)?$"))
    except DseError:
        homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
        folders = [os.path.join(home, "bin") for home in homes if home]
        found = shutil.which("ptxas", path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
    if found is None:
        raise DseError(
            "ptxas is not installed, which makes machine code of what numba compiles: "
            "pip install nvidia-cuda-nvcc (in a clone: '.[numba]')"
        )
    return found
