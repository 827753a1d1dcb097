"""Machine code as compilers write it (a cubin, in ELF): kernels, their registers, arguments, lines.

pyelftools reads sections, symbols and programs of line numbers. The attributes of kernels
(``.nv.info``), which are NVIDIA's own, are read here.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.kernels.instructions import WORD
from symbolic.errors import DseError

if TYPE_CHECKING:
    from elftools.elf.sections import Section

_REGISTERS, _ARGUMENT, _BANK, _JUMPS = 0x2F, 0x17, 0x0A, 0x34
#: Bytes of the head of a section, and of a symbol.
_HEAD, _SYMBOL = 64, 24
#: Bits of an address in a line table; those above hold the section of the code.
_ADDRESS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A kernel in machine code.

    ``arguments`` are offsets and sizes in bytes, from the ``bank`` of the constants on; ``shared``
    bytes a block; ``called`` are the functions that lie in its code, by their offsets. ``jumps``
    are the places that each jump to a computed address may lead to, by its own, and ``table`` is
    the table of such places.
    """

    name: str
    arch: int
    code: bytes
    registers: int
    shared: int
    bank: int
    arguments: tuple[tuple[int, int], ...]
    called: tuple[tuple[int, str], ...] = ()
    jumps: tuple[tuple[int, tuple[int, ...]], ...] = ()
    table: tuple[int, ...] = ()

    @property
    def pointers(self) -> frozenset[int]:
        """The arguments that can be addresses, by their offsets."""
        return frozenset(offset for offset, size in self.arguments if size >= 8)


class _Cubin:
    """The sections of a cubin by their names, and its symbols."""

    def __init__(self, data: bytes) -> None:
        try:
            from elftools.elf.elffile import ELFFile
        except ImportError:
            raise DseError(
                "cubins need pyelftools, which is not installed: pip install pyelftools "
                "(in a clone: '.[kernels]')"
            ) from None
        if data[:4] != b"\x7fELF" or data[4:5] != b"\2":
            raise DseError(_describe(data))
        self.data, elf = data, ELFFile(io.BytesIO(data))
        if (machine := elf["e_machine"]) != "EM_CUDA":
            raise DseError(
                f"this is a program or library of another machine ({machine}): take a cubin out "
                "of it (cuobjdump -xelf all)"
            )
        flags = elf["e_flags"]
        self.arch = flags >> 8 & 0xFF if data[7] == 0x41 else flags & 0xFF
        heads = elf["e_shoff"] + _HEAD * elf["e_shnum"]
        if elf["e_shentsize"] != _HEAD or heads > len(data):
            raise ValueError
        every = list(elf.iter_sections())
        self.sections: dict[str, Section] = {each.name: each for each in every}
        self.numbers = {each.name: number for number, each in enumerate(every)}
        if (table := self.sections[".symtab"])["sh_entsize"] != _SYMBOL:
            raise ValueError
        self.symbols = list(table.iter_symbols())  # type: ignore[attr-defined]

    def body(self, name: str) -> bytes:
        """Return the bytes of a section; none of one that is absent or holds none in the file."""
        if (section := self.sections.get(name)) is None or section["sh_type"] == "SHT_NOBITS":
            return b""
        body = self.data[section["sh_offset"] :][: section["sh_size"]]
        if len(body) != section["sh_size"]:
            raise ValueError
        return body

    def size(self, name: str) -> int:
        """Return the bytes of a section in memory; 0 of one that is absent."""
        return self.sections[name]["sh_size"] if name in self.sections else 0


def _describe(data: bytes) -> str:
    """Return what a file is that is no machine code."""
    if data[:4] == b"\x50\xed\x55\xba":
        return "this is a fat binary: take a cubin out of it (cuobjdump -xelf all)"
    return "this is no machine code of a GPU (an ELF file of 64 bits, as nvcc -cubin writes)"


def functions(data: bytes) -> dict[str, Function]:
    """Return the kernels of a cubin by their names.

    Raises
    ------
    DseError
        No such file, or one that is damaged.
    """
    try:
        return _functions(_Cubin(data))
    except DseError:
        raise
    except Exception:  # whatever the library meets in spoilt bytes
        raise DseError("the machine code is cut short or damaged: compile it again") from None


def _functions(cubin: _Cubin) -> dict[str, Function]:
    registers: dict[str, int] = {}
    for kind, body in _attributes(cubin.body(".nv.info")):
        if kind == _REGISTERS and len(body) == 8:
            symbol, value = struct.unpack("<II", body)
            registers[cubin.symbols[symbol].name] = value
    found = {}
    for section in cubin.sections:
        name = section.removeprefix(".text.")
        if name == section or f".nv.info.{name}" not in cubin.sections:
            continue
        bank, arguments, jumps = 0, [], list[tuple[int, tuple[int, ...]]]()
        for kind, body in _attributes(cubin.body(f".nv.info.{name}")):
            if kind == _BANK and len(body) == 8:
                bank = struct.unpack("<IHH", body)[1]
            elif kind == _ARGUMENT and len(body) == 12:
                _, number, offset, packed = struct.unpack("<IHHI", body)
                arguments.append((number, offset, packed >> 18))
            elif kind == _JUMPS:
                jumps += _jumps(body)
        if not bank and f".nv.constant0.{name}" not in cubin.sections:
            continue  # a function that kernels call
        number = cubin.numbers[section]
        called = [
            (each["st_value"], each.name)
            for each in cubin.symbols
            if each["st_info"]["type"] == "STT_FUNC" and each["st_shndx"] == number
        ]
        found[name] = Function(
            name=name,
            arch=cubin.arch,
            code=cubin.body(section),
            registers=registers.get(name, cubin.sections[section]["sh_info"] >> 24),
            shared=cubin.size(f".nv.shared.{name}"),
            bank=bank or cubin.size(f".nv.constant0.{name}"),  # of a kernel without arguments
            arguments=tuple((offset, size) for _, offset, size in sorted(arguments)),
            called=tuple(sorted(each for each in called if each[1] != name)),
            jumps=tuple(jumps),
            table=_words(cubin.body(f".nv.constant2.{name}")),
        )
    return found


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    """Return the attributes of .nv.info: a format, a kind, and a value or the size of one."""
    found, at = [], 0
    while at + 4 <= len(data):
        form, kind, size = struct.unpack_from("<BBH", data, at)
        at += 4
        body = data[at : at + size] if form == 4 else struct.pack("<H", size)
        at += size if form == 4 else 0
        found.append((kind, body))
    return found


def _jumps(body: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each jump to a computed address with the places that it may lead to."""
    words, at = _words(body), 0
    while at + 3 <= len(words):
        place, _, many = words[at : at + 3]
        yield place, words[at + 3 : at + 3 + many]
        at += 3 + many


def _words(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])


def source_lines(data: bytes, name: str) -> dict[int, int]:
    """Return the line of the source of each instruction of a kernel, as far as a cubin has them.

    Raises
    ------
    DseError
        A program of line numbers that is damaged.
    """
    try:
        cubin, text = _Cubin(data), f".text.{name}"
        if ".debug_line" not in cubin.sections or text not in cubin.sections:
            return {}
        own, size = cubin.numbers[text] + 1, cubin.size(text)
        found: dict[int, int] = {}
        before: tuple[int, int] | None = None
        for state in _states(_linked_lines(cubin)):
            section, at = state.address >> _ADDRESS, state.address & (1 << _ADDRESS) - 1
            if before is not None:
                places = range(-(-before[0] // WORD), -(-min(at, size) // WORD))
                found |= dict.fromkeys(places, before[1])
            before = None if state.end_sequence or section != own else (at, state.line)
    except DseError:
        raise
    except Exception:  # whatever the library meets in spoilt bytes
        raise DseError(
            "the lines that the machine code tells are damaged: compile it again"
        ) from None
    return {place: line for place, line in found.items() if line > 0}


def _linked_lines(cubin: _Cubin) -> bytes:
    """Return the line programs with the addresses of a linker, the section above the offset."""
    lines = bytearray(cubin.body(".debug_line"))
    for form, size in (("rel", 16), ("rela", 24)):
        told = cubin.body(f".{form}.debug_line")
        for at in range(0, len(told), size):
            place, symbol = struct.unpack_from("<QQ", told, at)
            more = struct.unpack_from("<q", told, at + 16)[0] if size == 24 else 0
            of: Mapping[str, Any] = cubin.symbols[symbol >> 32]
            section = of["st_shndx"] + 1 if isinstance(of["st_shndx"], int) else 0
            struct.pack_into("<Q", lines, place, (section << _ADDRESS) + of["st_value"] + more)
    return bytes(lines)


def _states(lines: bytes) -> Iterator[Any]:
    """Yield the rows of all line programs."""
    from elftools.common.utils import struct_parse
    from elftools.dwarf.lineprogram import LineProgram
    from elftools.dwarf.structs import DWARFStructs

    structs = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
    stream, end = io.BytesIO(lines), 0
    while end < len(lines):
        header = struct_parse(structs.Dwarf_lineprog_header, stream, end)
        end += header["unit_length"] + structs.initial_length_field_size()
        program = LineProgram(header, stream, structs, stream.tell(), end)
        yield from (each.state for each in program.get_entries() if each.state is not None)
