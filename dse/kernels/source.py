"""CUDA source as text: its kernels and their arguments, and the part that is for the device."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Signature", "device_part", "signatures"]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)
_KERNEL = re.compile(
    r"(template\s*<[^{};()]*>\s*)?(?:extern\s*\"C\"\s*)?[\w\s]*\b__global__\b([^;{}]*?)\b(\w+)\s*\(",
    re.S,
)
_FOR_DEVICE = re.compile(
    r"\b(__global__|__device__|__constant__|__managed__|struct|class|union|enum|typedef|using|"
    r"constexpr|template|namespace|static\s+const|const)\b"
)


@dataclass(frozen=True, slots=True)
class Signature:
    """The names of a kernel's arguments, and the head of its template where it is one."""

    arguments: Sequence[str]
    template: str = ""


def _bare(source: str) -> str:
    """The source with comments blanked; texts and lines keep their places."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])

    return _COMMENT.sub(blank, source)


def signatures(source: str) -> dict[str, Signature]:
    """The kernels of a source by their names."""
    bare, found = _bare(source), {}
    for told in _KERNEL.finditer(bare):
        if told[3] == "__launch_bounds__":
            begin = _after(bare, told.end() - 1)
            rest = re.compile(r"[^;{}]*?\b(\w+)\s*\(", re.S).match(bare, begin)
            if rest is None:
                continue
            name, begin = rest[1], rest.end() - 1
        else:
            name, begin = told[3], told.end() - 1
        end = _after(bare, begin)
        inside = bare[begin + 1 : end - 1]
        arguments = [_name(each) for each in _split(inside) if each.strip() not in ("", "void")]
        found[name] = Signature(arguments, " ".join((told[1] or "").split()))
    return found


def _after(text: str, at: int) -> int:
    """The place behind the bracket that closes the one at a place."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if not depth:
            return place + 1
    return len(text)


def _split(text: str) -> list[str]:
    found, depth, piece = [], 0, ""
    for letter in text:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and not depth:
            found.append(piece)
            piece = ""
        else:
            piece += letter
    return [*found, piece]


def _name(argument: str) -> str:
    words = re.findall(r"\w+", argument.partition("=")[0].partition("[")[0])
    return words[-1] if words else "arg"


def device_part(source: str) -> str:
    """The source without host functions and host headers; what is left keeps its lines."""
    found = []
    for piece in _pieces(_bare(source)):
        head = piece.partition("{")[0]
        if piece.lstrip().startswith("#"):
            keep = not re.match(r"\s*#\s*include\s*\"", piece)
        else:
            keep = bool(_FOR_DEVICE.search(head)) and "using namespace" not in head
        found.append(piece if keep else re.sub(r"[^\n]", "", piece))
    return "".join(found)


def _pieces(text: str) -> Iterator[str]:
    """Directives and declarations at the outermost level."""
    begin = at = 0
    while at < len(text):
        letter = text[at]
        if letter == "#" and not text[begin:at].strip():
            while at < len(text) and (text[at] != "\n" or text[at - 1] == "\\"):
                at += 1
            yield text[begin:at]
            begin = at
        elif letter == "{":
            at = _after(text, at)
            rest = re.compile(r"[^;{}#]*;").match(text, at)
            kind = re.search(r"\b(struct|class|union|enum|=)", text[begin:at].partition("{")[0])
            if kind and rest:
                at = rest.end()
            yield text[begin:at]
            begin = at
        elif letter == ";":
            at += 1
            yield text[begin:at]
            begin = at
        else:
            at += 1
    yield text[begin:]
