"""Machine code as compilers write it (a cubin, in ELF): kernels, their registers and arguments."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from symbolic.errors import DseError

__all__ = ["Function", "Section", "functions", "sections_of"]

_CUDA, _FUNCTION = 190, 2  # the machine of an ELF file; a kind of symbol
#: The head of a section, as ELF orders its numbers, and what is in it.
Section = tuple[tuple[int, ...], bytes]
_REGISTERS, _ARGUMENT, _BANK, _JUMPS = 0x2F, 0x17, 0x0A, 0x34


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


def sections_of(data: bytes) -> dict[str, Section]:
    """The sections of a file by their names."""
    if data[:4] != b"\x7fELF" or data[4:5] != b"\2":
        raise DseError(_kind(data))
    machine = struct.unpack_from("<H", data, 0x12)[0]
    if machine != _CUDA:
        raise DseError(
            f"this is a program or library of another machine (ELF machine {machine}): take a "
            "cubin out of it (cuobjdump -xelf all)"
        )
    start = struct.unpack_from("<Q", data, 0x28)[0]
    size, many, names = struct.unpack_from("<HHH", data, 0x3A)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, start + at * size) for at in range(many)]
    texts = heads[names][4]
    found = {}
    for head in heads:
        begin = texts + head[0]
        name = data[begin : data.index(b"\0", begin)].decode()
        body = b"" if head[1] == 8 else data[head[4] : head[4] + head[5]]
        if head[1] != 8 and len(body) != head[5]:
            raise ValueError
        found[name] = (head, body)
    return found


def _kind(data: bytes) -> str:
    """What a file is that is no machine code."""
    if data[:4] == b"\x50\xed\x55\xba":
        return "this is a fat binary: take a cubin out of it (cuobjdump -xelf all)"
    if b".entry" in data[:65536] and b".version" in data[:4096]:
        return "this is PTX: give its CUDA source, or the cubin that ptxas makes of it"
    return "this is no machine code of a GPU (an ELF file of 64 bits, as nvcc -cubin writes)"


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    """The attributes of .nv.info: a format, a kind, and a value or the size of one."""
    found, at = [], 0
    while at + 4 <= len(data):
        form, kind, size = struct.unpack_from("<BBH", data, at)
        at += 4
        body = data[at : at + size] if form == 4 else struct.pack("<H", size)
        at += size if form == 4 else 0
        found.append((kind, body))
    return found


def functions(data: bytes) -> dict[str, Function]:
    """The kernels of a cubin by their names.

    Raises
    ------
    DseError
        No such file, or one that is damaged.
    """
    try:
        return _functions(data)
    except DseError:
        raise
    except (struct.error, ValueError, IndexError, KeyError, UnicodeDecodeError):
        raise DseError("the machine code is cut short or damaged: compile it again") from None


def _functions(data: bytes) -> dict[str, Function]:
    sections = sections_of(data)
    flags = struct.unpack_from("<I", data, 0x30)[0]
    arch = flags >> 8 & 0xFF if data[7] == 0x41 else flags & 0xFF
    symbols = _symbols(sections)
    registers: dict[str, int] = {}
    for kind, body in _attributes(sections.get(".nv.info", ((), b""))[1]):
        if kind == _REGISTERS and len(body) == 8:
            symbol, value = struct.unpack("<II", body)
            registers[symbols.get(symbol, "")] = value
    found = {}
    for section, (head, code) in sections.items():
        name = section.removeprefix(".text.")
        told = sections.get(f".nv.info.{name}")
        if name == section or told is None:
            continue
        bank, arguments, jumps = 0, [], list[tuple[int, tuple[int, ...]]]()
        for kind, body in _attributes(told[1]):
            if kind == _BANK and len(body) == 8:
                bank = struct.unpack("<IHH", body)[1]
            elif kind == _ARGUMENT and len(body) == 12:
                _, number, offset, packed = struct.unpack("<IHHI", body)
                arguments.append((number, offset, packed >> 18))
            elif kind == _JUMPS:
                jumps += _jumps(body)
        constants = sections.get(f".nv.constant0.{name}")
        if not bank and constants is None:
            continue  # a function that kernels call
        bank = bank or (constants[0][5] if constants else 0)  # of a kernel without arguments
        found[name] = Function(
            name=name,
            arch=arch,
            code=code,
            registers=registers.get(name, head[7] >> 24),
            shared=sections.get(f".nv.shared.{name}", ((0,) * 10, b""))[0][5],
            bank=bank,
            arguments=tuple((offset, size) for _, offset, size in sorted(arguments)),
            called=_called(sections, name),
            jumps=tuple(jumps),
            table=_words(sections.get(f".nv.constant2.{name}", ((), b""))[1]),
        )
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


def _called(sections: Mapping[str, Section], name: str) -> Any:
    """The functions within the code of a kernel, by their offsets."""
    table, names = sections[".symtab"][1], sections[".strtab"][1]
    within = list(sections).index(f".text.{name}")
    found = []
    for number in range(len(table) // 24):
        begin, about, _, section, value, _ = struct.unpack_from("<IBBHQQ", table, number * 24)
        told = names[begin : names.index(b"\0", begin)].decode()
        if about & 0xF == _FUNCTION and section == within and told != name:
            found.append((value, told))
    return tuple(sorted(found))


def _symbols(sections: Mapping[str, Section]) -> dict[int, str]:
    table, names = sections[".symtab"][1], sections[".strtab"][1]
    found = {}
    for number in range(len(table) // 24):
        begin = struct.unpack_from("<I", table, number * 24)[0]
        found[number] = names[begin : names.index(b"\0", begin)].decode()
    return found
