"""The line of the source that each instruction comes from, as a cubin tells it.

The program of line numbers (``.debug_line``; DWARF 5, section 6.2) is run for one function. The
names of files are passed over, and so is what NVIDIA adds where functions are inlined.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from dse.kernels.assembly import WORD
from dse.kernels.cubin import Section, sections_of
from symbolic.errors import DseError

__all__ = ["source_lines"]

#: Operations that are told apart; of others the head of the unit tells the operands.
_EXTENDED, _COPY, _ADVANCE, _LINE, _CONSTANT, _FIXED = 0, 1, 2, 3, 8, 9
_END, _ADDRESS = 1, 2


def source_lines(cubin: bytes, name: str) -> dict[int, int]:
    """The line of the source of each instruction of a kernel, where the cubin tells it.

    Raises
    ------
    DseError
        A program of line numbers that is damaged.
    """
    try:
        every, text = sections_of(cubin), f".text.{name}"
        if ".debug_line" not in every or text not in every:
            return {}
        return _lines(every[".debug_line"][1], _begins(every, text), len(every[text][1]))
    except (struct.error, IndexError, KeyError, ValueError, ZeroDivisionError):
        raise DseError(
            "the lines that the machine code tells are damaged: compile it again"
        ) from None


def _lines(data: bytes, begins: Mapping[int, int], size: int) -> dict[int, int]:
    found: dict[int, int] = {}
    before: tuple[int, int] | None = None
    for at, line, ends in _rows(data, begins):
        if before is not None:
            places = range(-(-before[0] // WORD), -(-min(at, size) // WORD))
            found |= dict.fromkeys(places, before[1])
        before = None if ends else (at, line)
    return {place: line for place, line in found.items() if line > 0}


def _begins(every: Mapping[str, Section], text: str) -> dict[int, int]:
    """The addresses that a linker would write into the lines: those within a function's code."""
    table, within = every[".symtab"][1], list(every).index(text)
    found = {}
    for kind, size in (("rel", 16), ("rela", 24)):
        told = every.get(f".{kind}.debug_line", ((), b""))[1]
        for at in range(0, len(told), size):
            place, symbol = struct.unpack_from("<QQ", told, at)
            more = struct.unpack_from("<q", told, at + 16)[0] if size == 24 else 0
            _, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", table, (symbol >> 32) * 24)
            if section == within:
                found[place] = value + more
    return found


def _rows(data: bytes, begins: Mapping[int, int]) -> Iterator[tuple[int, int, bool]]:
    """Addresses in a function, the line from there on, and whether a run of them ends there."""
    at = 0
    while at < len(data):
        length, version = struct.unpack_from("<IH", data, at)
        end = at + 4 + length
        at += 6 + (2 if version >= 5 else 0)  # the sizes of an address and a segment
        begin = at + 4 + struct.unpack_from("<I", data, at)[0]
        yield from _run(data, begin, end, at + 4, 1 if version >= 4 else 0, begins)
        at = end


def _run(
    data: bytes, at: int, end: int, head: int, more: int, begins: Mapping[int, int]
) -> Iterator[tuple[int, int, bool]]:
    """The rows of one unit; those of other functions are passed over."""
    step = data[head]
    base, span, first = struct.unpack_from("<bBB", data, head + more + 2)
    operands = data[head + more + 5 : head + more + 4 + first]
    address, line, ours = 0, 1, False
    while at < end:
        what = data[at]
        at += 1
        if what >= first:
            address += (what - first) // span * step
            line += base + (what - first) % span
        elif what == _EXTENDED:
            length, at = _number(data, at)
            if data[at] == _ADDRESS:
                ours = at + 1 in begins
                address = begins.get(at + 1, 0) + int.from_bytes(
                    data[at + 1 : at + length], "little"
                )
            elif data[at] == _END:
                if ours:
                    yield address, line, True
                address, line, ours = 0, 1, False
            at += length
            continue
        elif what == _ADVANCE:
            by, at = _number(data, at)
            address += by * step
            continue
        elif what == _LINE:
            by, at = _number(data, at, signed=True)
            line += by
            continue
        elif what == _CONSTANT:
            address += (255 - first) // span * step
            continue
        elif what == _FIXED:
            address += struct.unpack_from("<H", data, at)[0]
            at += 2
            continue
        elif what != _COPY:
            for _ in range(operands[what - 1]):
                _, at = _number(data, at)
            continue
        if ours:
            yield address, line, False


def _number(data: bytes, at: int, *, signed: bool = False) -> tuple[int, int]:
    """A number of variable length (LEB128), and what follows."""
    value = shift = 0
    while True:
        each = data[at]
        value, shift, at = value | (each & 0x7F) << shift, shift + 7, at + 1
        if each < 0x80:
            return value - (1 << shift if signed and each & 0x40 else 0), at
