"""CUDA source as text: its kernels and their arguments, the part for the device, plain names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache


def demangle(name: str) -> str:
    """The name of a function without what C++ adds to it, nor whose code it lies in.

    >>> demangle("$_Z1kPfi$_Z5near1fi"), demangle("_Z4rowsPKi"), demangle("main")
    ('near1', 'rows', 'main')
    """
    name = name.rpartition("$")[2]
    told = re.match(r"_Z(?:N\d*\w*?)?(\d+)", name)
    if told is None:
        return name
    return name[told.end() : told.end() + int(told[1])]


_TEXT = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
_COMMENT = re.compile(rf"//[^\n]*|/\*.*?\*/|{_TEXT}", re.S)
_KERNEL = re.compile(
    r"(template\s*<[^{};()]*>\s*)?(?:extern\s*\"C\"\s*)?[\w\s]*\b__global__\b([^;{}]*?)\b(\w+)\s*\(",
    re.S,
)
_FOR_DEVICE = re.compile(
    r"\b(__global__|__device__|__constant__|__managed__|struct|class|union|enum|typedef|using|"
    r"constexpr|template|namespace|static\s+const|const)\b"
)


#: Directives, and the braces of what only holds declarations.
FRAME = re.compile(r"\s*(#|\}|;|$|(inline\s+)?namespace\b[\w\s:]*\{$|extern\s*\"[^\"]*\"\s*\{$)")


@dataclass(frozen=True, slots=True)
class Signature:
    """The names of a kernel's arguments, the head of its template where it is one, the namespace
    that it is in, and the text that it stands in.
    """

    arguments: Sequence[str]
    template: str = ""
    namespace: str = ""
    text: str = ""


def blank_comments(source: str) -> str:
    """The source with comments blanked; texts and lines keep their places."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", " ", match[0])

    return _COMMENT.sub(blank, source)


@lru_cache(maxsize=16)
def signatures(source: str) -> Mapping[str, Signature]:
    """The kernels of a source by their names."""
    bare, result = blank_comments(source), {}
    for told in _KERNEL.finditer(bare):
        if told[3] == "__launch_bounds__":
            begin = closing_bracket(bare, told.end() - 1)
            rest = re.compile(r"[^;{}]*?\b(\w+)\s*\(", re.S).match(bare, begin)
            if rest is None:
                continue
            name, begin = rest[1], rest.end() - 1
        else:
            name, begin = told[3], told.end() - 1
        end = closing_bracket(bare, begin)
        inside = bare[begin + 1 : end - 1]
        arguments = [
            _argument_name(each)
            for each in _split_arguments(inside)
            if each.strip() not in ("", "void")
        ]
        space = _open_namespaces(bare[: told.start()])
        result[name] = Signature(arguments, " ".join((told[1] or "").split()), space, source)
    return result


def _open_namespaces(before: str) -> str:
    """The namespaces that are open at the end of a text, ``a::b``."""
    opened: list[str] = []
    for told in re.finditer(r"(?:\bnamespace\s+([\w:]+)\s*)?\{|\}", before):
        if told[0] != "}":
            opened.append(told[1] or "")
        elif opened:
            opened.pop()
    return "::".join(filter(None, opened))


_BRACKET = re.compile(r"[(\[{}\])]")


def closing_bracket(text: str, start: int) -> int:
    """Return the place behind the bracket that closes the one at a place."""
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] in "([{" else -1
        if not depth:
            return bracket.end()
    return len(text)


def _split_arguments(text: str) -> list[str]:
    result, depth, piece = [], 0, ""
    for letter in text:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and not depth:
            result.append(piece)
            piece = ""
        else:
            piece += letter
    return [*result, piece]


def _argument_name(argument: str) -> str:
    words = re.findall(r"\w+", argument.partition("=")[0].partition("[")[0])
    return words[-1] if words else "arg"


def device_part(source: str, macros: frozenset[str] = frozenset()) -> str:
    """The source without host functions; what is left keeps its lines.

    ``marks`` are macros of headers that stand for ``__device__``; the source's own are found.
    """
    bare = blank_comments(source)
    marked = re.compile(rf"\b({'|'.join(map(re.escape, macros | device_macros(bare)))})\b")
    result = []
    for piece in split_declarations(bare):
        head = piece.partition("{")[0]
        keep = bool(FRAME.match(piece) or _FOR_DEVICE.search(head) or marked.search(head))
        keep = keep and "using namespace" not in head
        result.append(piece if keep else re.sub(r"[^\n]", "", piece))
    return "".join(result)


def device_macros(source: str) -> frozenset[str]:
    """The macros of a source that stand for ``__device__`` or ``__global__``, and these."""
    told = r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t][^\n]*__(?:device|global)__"
    return frozenset(re.findall(told, source, re.M)) | {"__device__", "__global__"}


def split_declarations(source: str) -> Iterator[str]:
    """Directives and declarations at the outermost level, and within namespaces."""
    text = re.sub(_TEXT, lambda told: f'"{" " * (len(told[0]) - 2)}"', source)  # brackets in texts
    begin = at = 0
    while at < len(text):
        letter = text[at]
        if letter == "#" and not text[begin:at].strip():
            while at < len(text) and (text[at] != "\n" or text[at - 1] == "\\"):
                at += 1
        elif letter == "{" and not FRAME.match(text[begin : at + 1]):
            at = closing_bracket(text, at)
            rest = re.compile(r"[^;{}#]*;").match(text, at)
            kind = re.search(r"\b(struct|class|union|enum|=)", text[begin:at].partition("{")[0])
            if kind and rest:
                at = rest.end()
        else:
            at += 1
            if letter not in ";{}":
                continue
        yield source[begin:at]
        begin = at
    yield source[begin:]
