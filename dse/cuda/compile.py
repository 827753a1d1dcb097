"""Compile CUDA source without a GPU, by NVRTC from the extra ``kernels``.

NVRTC has no host library. If a source does not compile as it is, host functions are removed. If
errors remain, every piece that has an error and is not device code is removed from the file and
from the headers in its folder. If the kernel needs a removed piece, compilation fails, so that
nothing wrong is counted.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from dse.cuda.source import FRAME, blank_comments, device_macros, device_part, split_declarations
from symbolic.errors import DseError

_MAX_ERRORS = 5  # maximum number of compiler errors in a message
_UNDEFINED = re.compile(
    r'^(.*?)\((\d+)\): error[^:]*: (?:identifier "([^"]+)" is undefined|(\S+) is not a template|'
    r'incomplete type "([^"]+)")',
    re.M,
)


class CompileError(DseError):
    """Error for a source that does not compile; it contains the names of missing headers."""

    def __init__(self, log: str, missing_headers: Sequence[str] = ()) -> None:
        super().__init__(log)
        self.missing_headers = tuple(missing_headers)


def explain_log(log: str, headers: Sequence[str]) -> str:
    """Return a shortened compiler log; if the cause is clear, a sentence on it comes first."""
    head, _, log = log.partition("\n")
    blocks = [each.strip("\n") for each in re.split(r"\n\s*\n", log)]
    errors = [
        each
        for each in blocks
        if "error" in each and not each.startswith("__nv_name_map") and " detected in " not in each
    ]
    errors.sort(key=lambda each: _UNDEFINED.search(each) is None)
    shown = errors[:_MAX_ERRORS]
    if len(errors) > _MAX_ERRORS:
        shown.append(f"and {len(errors) - _MAX_ERRORS} more errors")
    return "\n".join([head, *([cause] if (cause := _cause(log, headers)) else []), *shown])


#: Packages that contain headers of the CUDA toolkit, by prefixes of the headers' names.
_HEADER_PACKAGES = {
    "nvidia-cuda-crt": ("crt/",),
    "nvidia-cuda-runtime-cu12": ("cuda_", "mma.h", "cooperative_groups", "vector_", "device_"),
    "nvidia-cuda-cccl-cu12": ("cuda/", "nv/", "cub/", "thrust/"),
    "nvidia-curand-cu12": ("curand",),
    "nvidia-cublas-cu12": ("cublas",),
    "nvidia-cusparse-cu12": ("cusparse",),
}


def _cause(log: str, headers: Sequence[str]) -> str:
    missing = ", ".join(dict.fromkeys(headers))
    packages = [
        package
        for package, begins in _HEADER_PACKAGES.items()
        if any(each.startswith(begins) for each in headers)
    ]
    way_out = f"pip install {' '.join(packages)}, or " if packages else ""
    way_out += "give its folder (--include FOLDER)"
    names = [(m[1], m[2], m[3] or m[4] or m[5]) for m in _UNDEFINED.finditer(log)]
    names = [each for each in names if each[2] != "void"]
    if not names and not missing:
        return ""
    many = len(set(headers)) > 1
    not_found = f"the header{'s' if many else ''} {missing} {'were' if many else 'was'} not found"
    if not names:
        return f"{not_found}: {way_out}."
    file, line, name = names[0]
    undefined = f"{name} is not defined ({Path(file).name}, line {line})"
    if missing:
        return (
            f"{undefined}, and {not_found}: {way_out}, or the value of "
            f"{name} (--define {name}=...)."
        )
    return (
        f"{undefined}: include the header that defines it and give its folder (--include FOLDER), "
        f"or give its value (--define {name}=...)."
    )


HINT = "pip install nvidia-cuda-nvrtc-cu12 nvidia-cuda-nvdisasm pyelftools (or: '.[kernels]')"
#: Headers of host and runtime that are replaced by empty headers. NVRTC itself defines the parts
#: that device code needs.
_EMPTY = (
    "assert.h", "cassert", "cfloat", "chrono", "climits", "cmath", "cstdint", "cstdio", "cstdlib",
    "cstring", "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h",
    "float.h", "fstream", "iostream", "limits.h", "math.h", "stdbool.h", "stddef.h", "stdint.h",
    "algorithm", "array", "functional", "iomanip", "limits", "map", "memory", "numeric", "random",
    "set", "sstream", "stdio.h", "stdlib.h", "string", "string.h", "sys/time.h", "thread", "time.h",
    "tuple", "type_traits", "utility", "vector",
)  # fmt: skip
#: Text that replaces a header of the C++ library by the device version in the toolkit.
_DEVICE_HEADER = "#include <cuda/std/{0}>\nnamespace std {{ using namespace cuda::std; }}\n"
_DEVICE_HEADERS = ("algorithm", "limits", "type_traits", "utility")
#: Functions of <cmath>. This header is long, so it is included only if a source calls one of them.
_MATH = re.compile(r"\bstd::(abs|sqrt|pow|exp|log|sin|cos|floor|ceil|round|fmin|fmax|isnan|isinf)")
#: A source without these words is compiled with -minimal, which is faster and gives the same code.
_NEEDS_RUNTIME = re.compile(r"#\s*include|<<<|\b(?:cuda|CU|tex|surf)")
#: A warning of the assembler about a limit of registers that it does not keep to.
_REGISTER_WARNING = re.compile(r"^ptxas warning : .*reg.*$", re.M)
_MISSING = re.compile(r'(?:could not|cannot) open source file "([^"]+)"')
#: Numbers that the headers in _EMPTY would define.
_NUMBERS = {
    "M_E": math.e, "M_LN2": math.log(2), "M_LN10": math.log(10), "M_LOG2E": math.log2(math.e),
    "M_LOG10E": math.log10(math.e), "M_PI": math.pi, "M_PI_2": math.pi / 2, "M_PI_4": math.pi / 4,
    "M_1_PI": 1 / math.pi, "M_2_PI": 2 / math.pi, "M_2_SQRTPI": 2 / math.sqrt(math.pi),
    "M_SQRT2": math.sqrt(2), "M_SQRT1_2": math.sqrt(0.5),
    "FLT_MAX": "3.402823466e+38F", "FLT_MIN": "1.175494351e-38F", "FLT_EPSILON": "1.192092896e-07F",
    "DBL_MAX": sys.float_info.max, "DBL_MIN": sys.float_info.min,
    "DBL_EPSILON": sys.float_info.epsilon, "CHAR_BIT": 8,
    "INFINITY": "__int_as_float(0x7f800000)", "NAN": "__int_as_float(0x7fffffff)",
}  # fmt: skip
for bits, c_type, end in ((8, "CHAR", ""), (16, "SHRT", ""), (32, "INT", ""), (64, "LLONG", "LL")):
    names = ("SCHAR" if bits == 8 else c_type, f"U{c_type}"), (f"INT{bits}", f"UINT{bits}")
    for signed, unsigned in names:
        _NUMBERS[f"{signed}_MAX"] = f"{2 ** (bits - 1) - 1}{end}"
        _NUMBERS[f"{signed}_MIN"] = f"(-{signed}_MAX - 1)"
        _NUMBERS[f"{unsigned}_MAX"] = f"{2**bits - 1}{'U' if bits >= 32 else ''}{end}"
_NUMBERS["SIZE_MAX"] = "UINT64_MAX"
#: Declarations from headers that nvcc always includes; added if compiling fails without them.
_HOST_HEADER = "names-of-hosts.h"
_HOST_TEXT = """
#if __has_include(<cuda/std/cstdint>)
#include <cuda/std/cstdint>
#else
typedef signed char int8_t; typedef short int16_t; typedef int int32_t;
typedef decltype((char *)0 - (char *)0) int64_t; typedef decltype(sizeof 0) uint64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef int64_t intptr_t; typedef uint64_t uintptr_t;
#endif
typedef unsigned int uint; typedef unsigned short ushort; typedef unsigned long ulong;
namespace std { using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::uint8_t;
using ::uint16_t; using ::uint32_t; using ::uint64_t; }
#ifndef INT64_C
#define INT32_C(c) c
#define INT64_C(c) c##LL
#define UINT32_C(c) c##U
#define UINT64_C(c) c##ULL
#endif
"""
_HOST_TEXT += "".join(f"#ifndef {n}\n#define {n} {v}\n#endif\n" for n, v in _NUMBERS.items())


def find_package_file(package: str, pattern: str) -> Path:
    """Return the path of a file in an installed package."""
    for suffix in ("-cu12", "", "-cu13"):
        try:
            files = metadata.files(package + suffix) or []
        except metadata.PackageNotFoundError:
            continue
        for each in files:
            if re.search(pattern, str(each)):
                return Path(str(each.locate()))
    raise DseError(f"reading kernels needs {package}, which is not installed: {HINT}")


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    path = find_package_file("nvidia-cuda-nvrtc", r"libnvrtc\.so|nvrtc64_.*\.dll$")
    return ctypes.CDLL(str(path))


@lru_cache(maxsize=1)
def _supports_minimal() -> bool:
    try:
        _run_nvrtc("", "none.cu", ["-minimal"], "", {})
    except DseError:
        return False
    return True


@lru_cache(maxsize=1)
def architectures() -> tuple[int, ...]:
    """Return the compute capabilities that the compiler supports, such as 80."""
    library, many = _library(), ctypes.c_int()
    library.nvrtcGetNumSupportedArchs(ctypes.byref(many))
    result = (ctypes.c_int * many.value)()
    library.nvrtcGetSupportedArchs(result)
    return tuple(result)


def parse_arch(arch: str) -> int:
    """Return a compute capability as a number: 80 for ``sm_80``, ``8.0`` or ``cc8.0``."""
    number = re.fullmatch(r"(?:sm_|cc)?(\d+)\.?(\d)?[af]?", arch)
    if number is None:
        raise DseError(f"arch = {arch!r}: expected a compute capability such as sm_80")
    return int(number[1] + (number[2] or ""))


def _read_output(program: ctypes.c_void_p, what: str) -> bytes:
    library, size = _library(), ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, text)
    return text.raw


@lru_cache(maxsize=1)
def toolkit_folders() -> tuple[str, ...]:
    """Return the folders of the toolkit's headers, from the extra ``kernels`` or CUDA_HOME."""
    result = []
    headers = (("runtime", r"cuda_fp16\.h$"), ("cccl", r"nv/target$"), ("crt", r"crt/mma\.h$"))
    for package, header in headers:
        try:
            path = find_package_file(f"nvidia-cuda-{package}", header)
        except DseError:
            continue
        result.append(path.parent if package == "runtime" else path.parents[1])
    homes = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    result += [each / "include" for each in homes if not result and (each / "include").is_dir()]
    return tuple(map(str, result))


def compile_source(
    source: str,
    arch: int,
    *,
    name: str = "kernel.cu",
    define: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
    entry: str = "",
    headers: Mapping[str, str] | None = None,
) -> tuple[bytes, str, list[str]]:
    """Return machine code, the kernel's mangled name, and missing headers or register warnings.

    ``entry`` may have template arguments (``scale<float>``). ``headers`` maps names to texts; any
    other header that is not a file counts as empty.
    """
    if arch not in architectures():
        known = ", ".join(f"sm_{each}" for each in architectures())
        raise DseError(f"the compiler has no sm_{arch}: it compiles for {known}")
    flags = [f"-arch=sm_{arch}", "-lineinfo", *options]
    flags += [f"-D{key}={value}" for key, value in (define or {}).items()]
    flags += [f"-I{each}" for each in toolkit_folders()]
    flags += ["-minimal"] if _supports_minimal() and not _NEEDS_RUNTIME.search(source) else []
    texts = dict.fromkeys(_EMPTY, "") | {_HOST_HEADER: _HOST_TEXT} | dict(headers or {})
    missing: list[str] = []
    first: DseError | None = None
    while True:
        try:
            cubin, lowered, notes = _run_nvrtc(source, name, flags, entry, texts)
            return cubin, lowered, [*missing, *notes]
        except DseError as error:
            log = str(error)
            if "-minimal" in flags:
                flags.remove("-minimal")
                continue
            match = _MISSING.search(log)
            if match and (header := match[1]) not in texts:
                texts[header] = ""
                missing.append(header)
            elif entry and "<" not in entry and "instance of overloaded function" in log:
                entry = ""  # another function has the name of the kernel
            elif first is None:
                first = error
                flags.insert(0, f"--pre-include={_HOST_HEADER}")
                needed = (*_DEVICE_HEADERS, *(("cmath",) if _MATH.search(source) else ()))
                texts |= {each: _DEVICE_HEADER.format(each) for each in needed if toolkit_folders()}
            else:
                # the declarations may clash with those of the source
                clash = any("error" in line and _HOST_HEADER in line for line in log.splitlines())
                cause = first if clash else error
                heading = f"{name} does not compile for sm_{arch}:"
                raise CompileError(f"{heading}\n{cause}", missing) from None


def _run_nvrtc(
    source: str, name: str, flags: Sequence[str], entry: str, headers: Mapping[str, str]
) -> tuple[bytes, str, list[str]]:
    """Return machine code, the mangled name, and warnings about registers."""
    library, program = _library(), ctypes.c_void_p()
    names = [each.encode() for each in headers]
    texts = [each.encode() for each in headers.values()]
    library.nvrtcCreateProgram(
        ctypes.byref(program),
        source.encode(),
        name.encode(),
        len(names),
        (ctypes.c_char_p * len(names))(*texts),
        (ctypes.c_char_p * len(names))(*names),
    )
    try:
        if entry:
            library.nvrtcAddNameExpression(program, entry.encode())
        options = (ctypes.c_char_p * len(flags))(*[each.encode() for each in flags])
        failed = library.nvrtcCompileProgram(program, len(flags), options)
        log = _read_output(program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
        if failed:
            raise DseError(log or f"error {failed}")
        name_ = ctypes.c_char_p()
        if entry and not library.nvrtcGetLoweredName(program, entry.encode(), ctypes.byref(name_)):
            entry = (name_.value or b"").decode()
        return _read_output(program, "CUBIN"), entry, _REGISTER_WARNING.findall(log)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


#: Characters of a file name that an assembler cannot read within quotes.
_UNQUOTABLE = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')
_ROUNDS = 40  # upper limit on how often pieces with errors are removed
_ERROR = re.compile(r"^(.*?)\((\d+)\): (?:catastrophic )?error[^:]*: (.*)$", re.M)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.M)
_DEVICE = re.compile(r"\b(__device__|__constant__|__managed__)\b")
_KERNEL = re.compile(r"\b__global__\b")


def remove_definitions(source: str, define: Mapping[str, object]) -> str:
    """Return the source without its definitions of the macros in ``define``; line numbers stay."""
    for key in define:
        name = re.escape(key.partition("(")[0])
        line = rf"^[ \t]*#[ \t]*define[ \t]+{name}\b(?:[^\n\\]|\\[^\n]|\\\n)*"
        source = re.sub(line, lambda match: "\n" * match[0].count("\n"), source, flags=re.M)
    return source


def compile_kernel(
    source: str,
    arch: int,
    file: Path,
    *,
    define: Mapping[str, object],
    options: Sequence[str],
    entry: str,
) -> tuple[bytes, str, list[str]]:
    """Return machine code, the kernel's mangled name, and notes on the code that was left out."""
    source = remove_definitions(source, define)
    options = [*options, f"-I{file.parent}"]
    name = _UNQUOTABLE.sub("_", str(file))
    about: dict[str, Any] = {"name": name, "define": define, "options": options, "entry": entry}
    try:
        cubin, lowered, missing = compile_source(source, arch, **about)
        return cubin, lowered, _missing_header_notes(missing)
    except CompileError as error:
        first = error
    texts = {name: source, **read_includes(source, file, options)}
    texts = {each: remove_definitions(text, define) for each, text in texts.items()}
    marks = frozenset().union(*map(device_macros, texts.values()))
    texts = {each: device_part(text, marks) for each, text in texts.items()}
    if texts == {name: source}:
        raise DseError(explain_log(str(first), first.missing_headers))
    kernel = entry.partition("<")[0].rpartition("::")[2]
    left: list[str] = []
    for _ in range(_ROUNDS):
        try:
            headers = {each: text for each, text in texts.items() if each != name}
            cubin, lowered, missing = compile_source(texts[name], arch, headers=headers, **about)
        except CompileError as error:
            more = _drop_failing_pieces(texts, str(error), kernel)
            if not more:
                notes = "\nleft out earlier, because it is not device code:\n" + "\n".join(left[:5])
                cause = explain_log(str(error), (*first.missing_headers, *error.missing_headers))
                raise DseError(f"{cause}{notes if left else ''}") from None
            left += more
        else:
            return cubin, lowered, [*_missing_header_notes(missing), *left]
    raise DseError(explain_log(str(first), first.missing_headers))


def _missing_header_notes(notes: Sequence[str]) -> list[str]:
    return [n if n.startswith("ptxas") else f"#include {n}: no such file" for n in notes]


def read_includes(source: str, file: Path, options: Sequence[str]) -> dict[str, str]:
    """Return the texts of the files that a source includes directly or indirectly, by name."""
    folders = [file.parent, *(Path(each[2:]) for each in options if each.startswith("-I"))]
    result: dict[str, str] = {}
    waiting = [(source, folders)]
    while waiting:
        text, searched = waiting.pop()
        for name in _INCLUDE.findall(blank_comments(text)):
            path = next((each / name for each in searched if (each / name).is_file()), None)
            if path is None or name in result:
                continue
            result[name] = path.read_text(encoding="utf-8-sig", errors="replace")
            waiting.append((result[name], [path.parent, *folders]))
    return result


def _drop_failing_pieces(texts: dict[str, str], log: str, kernel: str) -> list[str]:
    left = []
    for name, text in texts.items():
        errors = {int(line): why for at, line, why in reversed(_ERROR.findall(log)) if at == name}
        if not errors:
            continue
        pieces, line = [], 1
        for piece in split_declarations(text):
            begin = line + len(piece[: len(piece) - len(piece.lstrip())].split("\n")) - 1
            line += piece.count("\n")
            why = next((errors[at] for at in sorted(errors) if begin <= at <= line), None)
            if why is None or _is_needed(piece, kernel):
                pieces.append(piece)
                continue
            pieces.append("\n" * piece.count("\n"))
            head = " ".join(piece.partition("{")[0].split())[:60]
            left.append(f"{Path(name).name} line {begin}: {head}: {why}")
        texts[name] = "".join(pieces)
    return left


def _is_needed(piece: str, kernel: str) -> bool:
    """True if a piece may affect the kernel: device code that is not another kernel."""
    if _KERNEL.search(piece):
        return bool(re.search(rf"\b{re.escape(kernel)}\b", piece))
    return bool(_DEVICE.search(piece) or FRAME.match(piece))
