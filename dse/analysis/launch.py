"""Launches of a kernel: the defaults in its source, sizes as formulas, and shapes of a block."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from dse.delimited import split_commas
from symbolic.errors import DseError, nearest_hint

#: A comment with the launch of a kernel, in the options of ``dse analyze``.
_LAUNCH_LINE = re.compile(r"^\s*(?://|\*|/\*)?\s*dse:\s*(\S.*?)\s*(?:\*/)?$", re.MULTILINE)
_PAIRS = ("set", "define", "times", "bytes")
_SIZES = ("block", "grid")
_TEXTS = ("entry", "dynamic-shared")
_LISTS = ("option",)
#: A loop that halves or doubles a distance within the block, such as a reduction.
_HALVING = re.compile(
    r"\bblockDim\s*\.\s*[xyz]\s*(?:/\s*2\b|>>\s*1\b|;[^;)]*(?:\*=\s*2\b|<<=\s*1\b))"
)
#: Size of a warp, and the maximum number of threads in a block, for the blocks that are tried.
_WARP, _MAX_THREADS = 32, 1024
_SIZES_1D = (*range(32, 257, 32), *range(320, 513, 64), *range(640, 1025, 128))
_SIZES_X, _SIZES_Y, _SIZES_Z = (8, 16, 32, 64, 128, 256), (1, 2, 4, 8, 16, 32), (1, 2, 4, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """Arguments, macros, sizes (numbers or formulas) and data-dependent values of a launch."""

    set: Mapping[str, float] = field(default_factory=dict)
    define: Mapping[str, object] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    block: tuple[int | str, ...] = ()
    grid: tuple[int | str, ...] = ()
    entry: str = ""
    options: tuple[str, ...] = ()
    dynamic_shared: int | str | None = None
    array_bytes: Mapping[str, int | str] = field(default_factory=dict)


def split_sizes(text: str) -> tuple[int | str, ...]:
    """Return the sizes of a block or grid, which commas outside brackets separate.

    >>> split_sizes("ceil(n / block_x), 16")
    ('ceil(n / block_x)', 16)
    """
    return tuple(int(each) if each.isdigit() else each for each in split_commas(text))


def source_launch(source: str, name: str) -> LaunchOptions:
    """Return the launch in a source's comments, ``// dse: --set n=4096 ...``.

    >>> source_launch("// dse: --set n=4096 --block 16,4 --grid n/16,n/4", "a.cu").grid
    ('n/16', 'n/4')
    """
    words = []
    for match in _LAUNCH_LINE.finditer(source):
        try:
            words += shlex.split(match[1])
        except ValueError as error:
            raise DseError(f"{name}: the comment 'dse: {match[1]}': {error}") from None
    values: dict[str, Any] = {each: {} for each in _PAIRS}
    compiler: list[str] = []
    known = (*_PAIRS, *_SIZES, *_TEXTS, *_LISTS)
    for flag, text in itertools.zip_longest(words[::2], words[1::2]):
        key = flag.removeprefix("--")
        if key not in known or text is None or not flag.startswith("--"):
            expected = ", ".join(f"--{each}" for each in known)
            hint = nearest_hint(key, known)
            raise DseError(
                f"{name}: the comment with 'dse:' has {flag!r}{hint}: expected options of a launch "
                f"with a value each: {expected}"
            )
        if key in _PAIRS:
            for pair in split_commas(text):
                word, equals, value = pair.partition("=")
                if not equals:
                    raise DseError(f"{name}: 'dse: ... --{key} {text}': expected NAME=VALUE")
                is_number = key in ("set", "times")
                values[key][word.strip()] = float(value) if is_number else value.strip()
        elif key in _SIZES:
            values[key] = split_sizes(text)
        elif key in _LISTS:
            compiler.append(text)
        else:
            values[key] = text
    values["array_bytes"] = values.pop("bytes")
    fields = {key.replace("-", "_"): value for key, value in values.items()}
    return LaunchOptions(**fields, options=tuple(compiler))


def varied_sizes(source: str, block: Sequence[int | str]) -> str:
    """Return the axes of a block along which other sizes can be tried, such as ``"xy"``.

    They are the axes whose block size is read in ``source``, which must have no comments. The text
    is empty if macros decide the shape of the block.
    """
    if any(isinstance(each, str) and re.search(r"[A-Za-z_]", each) for each in block):
        return ""
    return "".join(
        axis for axis in "xyz" if re.search(rf"\bblockDim\s*\.\s*{axis}\b|%ntid\.{axis}\b", source)
    )


def block_shapes(
    varied: str, block: Sequence[int], source: str = "", most: int = _MAX_THREADS
) -> Iterator[tuple[int, ...]]:
    """Yield the block shapes to try: whole warps that differ only along the axes in ``varied``.

    If a loop of ``source`` halves a size of the block, sizes are powers of two.

    >>> len(list(block_shapes("x", (256,)))), next(block_shapes("xy", (16, 16)))
    (16, (8, 4))
    """
    sizes = [*block, 1, 1][:3]
    if varied == "x" and sizes[1:] == [1, 1]:
        choices: list[Sequence[int]] = [_SIZES_1D, (1,), (1,)]
    else:
        every = {"x": _SIZES_X, "y": _SIZES_Y, "z": _SIZES_Z}
        choices = [
            every[axis] if axis in varied else (size,)
            for axis, size in zip("xyz", sizes, strict=True)
        ]
    dims = max(at for at in (1, 2, 3) if at == 1 or len(choices[at - 1]) > 1 or sizes[at - 1] > 1)
    for x, y, z in itertools.product(*choices):
        threads = x * y * z
        is_allowed = not threads & (threads - 1) or not _HALVING.search(source)
        if _WARP <= threads <= most and threads % _WARP == 0 and is_allowed:
            yield (x, y, z)[:dims]


def merge_launch(given: LaunchOptions, in_source: LaunchOptions) -> LaunchOptions:
    """Return the launch that the caller gives, completed by the launch in the source."""
    values: dict[str, Any] = {}
    for each in fields(LaunchOptions):
        own, other = getattr(given, each.name), getattr(in_source, each.name)
        values[each.name] = {**other, **own} if isinstance(own, Mapping) else own or other
    values["options"] = (*in_source.options, *given.options)
    return LaunchOptions(**values)
