"""Compiling CUDA source without a GPU: NVRTC, as the extra ``kernels`` installs it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from symbolic.errors import DseError

__all__ = ["HINT", "architectures", "compiled", "installed"]

HINT = (
    "pip install 'simt-dse[kernels]' (or the packages nvidia-cuda-nvrtc and nvidia-cuda-nvdisasm)"
)
#: Headers of hosts and of the runtime, which hold nothing that NVRTC lacks: given as empty.
_EMPTY = (
    "assert.h", "cassert", "cfloat", "chrono", "climits", "cmath", "cstdint", "cstdio", "cstdlib",
    "cstring", "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h",
    "float.h", "fstream", "iostream", "limits.h", "math.h", "stdbool.h", "stddef.h", "stdint.h",
    "stdio.h", "stdlib.h", "string", "string.h", "sys/time.h", "time.h", "vector",
)  # fmt: skip


def installed(package: str, pattern: str) -> Path:
    """A file of an installed package; the way to install it where it is not."""
    for suffix in ("-cu12", "", "-cu13"):
        try:
            files = metadata.files(package + suffix) or []
        except metadata.PackageNotFoundError:
            continue
        for each in files:
            if re.search(pattern, str(each)):
                return Path(str(each.locate()))
    raise DseError(f"{package} is not installed, which reads kernels: {HINT}")


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    found = installed("nvidia-cuda-nvrtc", r"libnvrtc\.so|nvrtc64_.*\.dll$")
    return ctypes.CDLL(str(found))


@lru_cache(maxsize=1)
def architectures() -> tuple[int, ...]:
    """What the compiler compiles for, such as 80."""
    library, many = _library(), ctypes.c_int()
    library.nvrtcGetNumSupportedArchs(ctypes.byref(many))
    found = (ctypes.c_int * many.value)()
    library.nvrtcGetSupportedArchs(found)
    return tuple(found)


def _text(program: ctypes.c_void_p, what: str) -> bytes:
    library, size = _library(), ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, text)
    return text.raw


def compiled(
    source: str,
    arch: int,
    *,
    name: str = "kernel.cu",
    define: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
    wanted: str = "",
) -> tuple[bytes, str]:
    """The machine code of a source, and the name in it of a kernel that is wanted.

    Parameters
    ----------
    source : str
        CUDA C++; what is host code is not looked at where the source compiles without it.
    arch : int
        Compute capability without its point: 80.
    define : mapping
        Macros.
    options : sequence of str
        Of the compiler, such as ``-use_fast_math``.
    wanted : str
        The kernel, with arguments of its template: ``scale<float>``.

    Raises
    ------
    DseError
        The compiler's words; an architecture that it lacks.
    """
    if arch not in architectures():
        known = ", ".join(f"sm_{each}" for each in architectures())
        raise DseError(f"the compiler has no sm_{arch}: it compiles for {known}")
    library, program = _library(), ctypes.c_void_p()
    names = [each.encode() for each in _EMPTY]
    library.nvrtcCreateProgram(
        ctypes.byref(program),
        source.encode(),
        name.encode(),
        len(names),
        (ctypes.c_char_p * len(names))(*[b""] * len(names)),
        (ctypes.c_char_p * len(names))(*names),
    )
    try:
        if wanted:
            library.nvrtcAddNameExpression(program, wanted.encode())
        flags = [f"-arch=sm_{arch}", "-lineinfo", *options]
        flags += [f"-D{key}={value}" for key, value in (define or {}).items()]
        given = (ctypes.c_char_p * len(flags))(*[each.encode() for each in flags])
        failed = library.nvrtcCompileProgram(program, len(flags), given)
        if failed:
            log = _text(program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
            raise DseError(f"{name} does not compile for sm_{arch}:\n{log or f'error {failed}'}")
        lowered = ctypes.c_char_p()
        if wanted and not library.nvrtcGetLoweredName(
            program, wanted.encode(), ctypes.byref(lowered)
        ):
            wanted = (lowered.value or b"").decode()
        return _text(program, "CUBIN"), wanted
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
