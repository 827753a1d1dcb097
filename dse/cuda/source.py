"""Read CUDA source as text: kernels and their arguments, device code, demangled names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache


def demangle(name: str) -> str:
    """Return the plain name of a C++ function.

    >>> demangle("$_Z1kPfi$_Z5near1fi"), demangle("_Z4rowsPKi"), demangle("main")
    ('near1', 'rows', 'main')
    """
    name = name.rpartition("$")[2]
    match = re.match(r"_Z(?:N\d*\w*?)?(\d+)", name)
    if match is None:
        return name
    return name[match.end() : match.end() + int(match[1])]


_TEXT = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
_COMMENT = re.compile(rf"//[^\n]*|/\*.*?\*/|{_TEXT}", re.S)
_KERNEL = re.compile(
    r"(template\s*<[^{};()]*>\s*)?(?:extern\s*\"C\"\s*)?[\w\s]*\b__global__\b([^;{}]*?)\b(\w+)\s*\(",
    re.S,
)
#: An attribute such as ``__launch_bounds__`` or ``__maxnreg__``, and the name after it.
_ATTRIBUTE, _NAME_AFTER = re.compile(r"__\w+__"), re.compile(r"[^;{}]*?\b(\w+)\s*\(", re.S)
_FOR_DEVICE = re.compile(
    r"\b(__global__|__device__|__constant__|__managed__|struct|class|union|enum|typedef|using|"
    r"constexpr|template|namespace|static\s+const|const)\b"
)


#: Directives, and the braces of namespaces and ``extern "C"`` blocks.
FRAME = re.compile(r"\s*(#|\}|;|$|(inline\s+)?namespace\b[\w\s:]*\{$|extern\s*\"[^\"]*\"\s*\{$)")


@dataclass(frozen=True, slots=True)
class Signature:
    """Argument names, template head, namespace and source text of a kernel."""

    arguments: Sequence[str]
    template: str = ""
    namespace: str = ""
    text: str = ""


def blank_comments(source: str) -> str:
    """Return the source in which blanks replace comments."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", " ", match[0])

    return _COMMENT.sub(blank, source)


def own_source(source: str, kernel: str) -> str:
    """Return the source without comments and without the kernels of other names."""
    heads = (
        (piece, piece.partition("{")[0]) for piece in split_declarations(blank_comments(source))
    )
    return "".join(
        piece
        for piece, head in heads
        if "__global__" not in head or not kernel or re.search(rf"\b{kernel}\b", head)
    )


_LOOP = re.compile(r"\b(?:for|while|do|goto)\b")
_BRANCH = re.compile(r"\b(?:if|else|switch|case|return|break|continue)\b|\?|&&|\|\|")
#: Functions of the CUDA math library with paths for special values.
_MATH_FUNCTION = re.compile(
    r"\b(?:a?(?:sin|cos|tan)h?|sincos|(?:sin|cos|sincos)pi|exp(?:2|10|m1)?|log(?:2|10|1p|b)?|pow|"
    r"r?sqrt|r?cbrt|erfc?(?:inv|x)?|normcdf(?:inv)?|[lt]gamma|r?hypot|r?norm[34]d|fmod|remainder|"
    r"remquo|ldexp|scalbln?|ilogb|atan2|[jy][01n]|cyl_bessel_i[01]|__fdividef|__powf)f?\s*\("
)


@dataclass(frozen=True, slots=True)
class LineKinds:
    """Lines of a source that have keywords of loops or branches, or mathematical functions."""

    loops: frozenset[int] = frozenset()
    branches: frozenset[int] = frozenset()
    functions: frozenset[int] = frozenset()


@lru_cache(maxsize=16)
def read_line_kinds(source: str) -> LineKinds:
    """Return the lines of a source that have words of each kind; comments do not count."""
    lines = list(enumerate(blank_comments(source).split("\n"), 1))
    return LineKinds(
        *(
            frozenset(number for number, text in lines if pattern.search(text))
            for pattern in (_LOOP, _BRANCH, _MATH_FUNCTION)
        )
    )


@lru_cache(maxsize=16)
def signatures(source: str) -> Mapping[str, Signature]:
    """Return the signatures of the kernels in a source, by kernel name."""
    bare, result = blank_comments(source), {}
    for match in _KERNEL.finditer(bare):
        name, begin = match[3], match.end() - 1
        while _ATTRIBUTE.fullmatch(name) and (
            rest := _NAME_AFTER.match(bare, closing_bracket(bare, begin))
        ):
            name, begin = rest[1], rest.end() - 1
        if _ATTRIBUTE.fullmatch(name):
            continue
        end = closing_bracket(bare, begin)
        inside = bare[begin + 1 : end - 1]
        arguments = [each for each in _split_arguments(inside) if each.strip() not in ("", "void")]
        names = [_argument_name(each) for each in arguments]
        space = _open_namespaces(bare[: match.start()])
        result[name] = Signature(names, " ".join((match[1] or "").split()), space, source)
    return result


def _open_namespaces(before: str) -> str:
    stack: list[str] = []
    for brace in re.finditer(r"(?:\bnamespace\s+([\w:]+)\s*)?\{|\}", before):
        if brace[0] != "}":
            stack.append(brace[1] or "")
        elif stack:
            stack.pop()
    return "::".join(filter(None, stack))


_BRACKET = re.compile(r"[(\[{}\])]")


def closing_bracket(text: str, start: int) -> int:
    """Return the position just after the bracket that closes the bracket at ``start``."""
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
    """Return the source without host functions; line numbers stay the same."""
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
    """Return ``__device__``, ``__global__``, and the source's macros that contain one of these."""
    definition = r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t][^\n]*__(?:device|global)__"
    return frozenset(re.findall(definition, source, re.M)) | {"__device__", "__global__"}


def split_declarations(source: str) -> Iterator[str]:
    """Yield the directives and declarations at the outermost level and in namespaces."""
    text = re.sub(_TEXT, lambda literal: f'"{" " * (len(literal[0]) - 2)}"', source)
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
