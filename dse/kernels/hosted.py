"""A source with its host code: what of it is for the device, and compiles.

A compiler for the device alone knows no host library. Where a source does not compile as it stands,
host functions are left out, and then whatever else is not for the device and has an error, piece
by piece, in the file and in the headers beside it. A piece that the kernel needs is missed by
the compiler, so that nothing is counted without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dse.kernels.compiling import compiled
from dse.kernels.complaints import CompileError, explained
from dse.kernels.source import FRAME, device_part, marks_of, pieces, without_comments
from symbolic.errors import DseError

__all__ = ["Built", "built", "included", "redefined"]

#: Letters of a file's name that an assembler does not read in quotes.
_UNTOLD = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')
_ROUNDS = 40  # of compiling and leaving out
_ERROR = re.compile(r"^(.*?)\((\d+)\): (?:catastrophic )?error[^:]*: (.*)$", re.M)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.M)
_DEVICE = re.compile(r"\b(__device__|__constant__|__managed__)\b")
_KERNEL = re.compile(r"\b__global__\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """Machine code, the name in it of the kernel that is wanted, and what was left out."""

    cubin: bytes
    lowered: str
    left_out: Sequence[str] = field(default=())


def redefined(source: str, define: Mapping[str, object]) -> str:
    """The source without its own values of macros that are given; lines keep their places."""
    for key in define:
        name = re.escape(key.partition("(")[0])
        line = rf"^[ \t]*#[ \t]*define[ \t]+{name}\b(?:[^\n\\]|\\[^\n]|\\\n)*"
        source = re.sub(line, lambda told: "\n" * told[0].count("\n"), source, flags=re.M)
    return source


def built(
    source: str,
    arch: int,
    file: Path,
    *,
    define: Mapping[str, object],
    options: Sequence[str],
    wanted: str,
    lines: bool = True,
) -> Built:
    """The machine code of a source, as it stands or without its host code.

    Raises
    ------
    DseError
        The compiler's words of what is left, and what had been left out.
    """
    source = redefined(source, define)
    options = [*options, f"-I{file.parent}"]
    name = _UNTOLD.sub("_", str(file))

    def attempt(text: str, headers: Mapping[str, str]) -> tuple[bytes, str, list[str]]:
        return compiled(
            text,
            arch,
            name=name,
            define=define,
            options=options,
            wanted=wanted,
            headers=headers,
            lines=lines,
        )

    try:
        cubin, lowered, missing = attempt(source, {})
        return Built(cubin=cubin, lowered=lowered, left_out=_not_found(missing))
    except CompileError as error:
        first = error
    texts = {name: source, **included(source, file, options)}
    texts = {each: redefined(text, define) for each, text in texts.items()}
    marks = frozenset().union(*map(marks_of, texts.values()))
    texts = {each: device_part(text, marks) for each, text in texts.items()}
    if texts == {name: source}:
        raise DseError(explained(str(first), first.lacking))
    kernel = wanted.partition("<")[0].rpartition("::")[2]
    left: list[str] = []
    for _ in range(_ROUNDS):
        try:
            headers = {each: text for each, text in texts.items() if each != name}
            cubin, lowered, missing = attempt(texts[name], headers)
        except CompileError as error:
            more = _without_errors(texts, str(error), kernel)
            if not more:
                said = "\nleft out before, as not for the device:\n" + "\n".join(left[:5])
                told = explained(str(error), (*first.lacking, *error.lacking))
                raise DseError(f"{told}{said if left else ''}") from None
            left += more
        else:
            return Built(cubin=cubin, lowered=lowered, left_out=(*_not_found(missing), *left))
    raise DseError(explained(str(first), first.lacking))


def _not_found(headers: Sequence[str]) -> list[str]:
    return [f"#include {name}: no such file" for name in headers]


def _folders(options: Sequence[str]) -> list[Path]:
    return [Path(each[2:]) for each in options if each.startswith("-I")]


def included(source: str, file: Path, options: Sequence[str]) -> dict[str, str]:
    """Return what a source includes of files beside it, and what these do, by their names."""
    folders = [file.parent, *_folders(options)]
    found: dict[str, str] = {}
    waiting = [(source, list(folders))]
    while waiting:
        text, where = waiting.pop()
        for name in _INCLUDE.findall(without_comments(text)):
            path = next((each / name for each in where if (each / name).is_file()), None)
            if path is None or name in found:
                continue
            found[name] = path.read_text(encoding="utf-8-sig", errors="replace")
            waiting.append((found[name], [path.parent, *folders]))
    return found


def _without_errors(texts: dict[str, str], log: str, kernel: str) -> list[str]:
    """Leave out the pieces with errors that are not for the device; what they were."""
    left = []
    for name, text in texts.items():
        errors = {int(line): why for at, line, why in reversed(_ERROR.findall(log)) if at == name}
        if not errors:
            continue
        kept, line = [], 1
        for piece in pieces(text):
            begin = line + len(piece[: len(piece) - len(piece.lstrip())].split("\n")) - 1
            line += piece.count("\n")
            why = next((errors[at] for at in sorted(errors) if begin <= at <= line), None)
            if why is None or _needed(piece, kernel):
                kept.append(piece)
                continue
            kept.append("\n" * piece.count("\n"))
            head = " ".join(piece.partition("{")[0].split())[:60]
            left.append(f"{Path(name).name} line {begin}: {head}: {why}")
        texts[name] = "".join(kept)
    return left


def _needed(piece: str, kernel: str) -> bool:
    """Whether a piece may decide what the kernel does: code for the device, but other kernels."""
    if _KERNEL.search(piece):
        return bool(re.search(rf"\b{re.escape(kernel)}\b", piece))
    return bool(_DEVICE.search(piece) or FRAME.match(piece))
