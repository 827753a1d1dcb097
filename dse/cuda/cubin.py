"""Machine code as compilers write it (a cubin, in ELF): kernels, their instructions and lines.

pyelftools reads sections, symbols and programs of line numbers. The attributes of kernels
(``.nv.info``), which are NVIDIA's own, are read here. NVIDIA's disassembler reads instructions, as
one flow:

Functions that a kernel calls are put where it calls them. Compilers leave loops by calls, too: a
call into the middle of the same function is a branch. A copy of a function's code stands behind
the kernel's for each place that calls it. What calls itself, and the compiler's own slow ways of a
division or a root, stay calls. A jump through a table (BRX), as compilers write a ``switch``,
becomes a chain of comparisons and branches behind the kernel, one for each place of the table.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cuda.compile import find_package_file
from dse.cuda.instructions import WORD, Instruction, parse_instructions
from stochastic import sizes
from symbolic.errors import DseError

if TYPE_CHECKING:
    from elftools.elf.sections import Section

_REGISTERS, _ARGUMENT, _BANK, _JUMPS = 0x2F, 0x17, 0x0A, 0x34
#: Bytes of the head of a section, and of a symbol.
_HEAD, _SYMBOL = 64, 24
#: Bits of an address in a line table; those above hold the section of the code.
_ADDRESS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFunction:
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
    shared_bytes: int
    argument_base: int
    arguments: tuple[tuple[int, int], ...]
    callees: tuple[tuple[int, str], ...] = ()
    jump_targets: tuple[tuple[int, tuple[int, ...]], ...] = ()
    jump_table: tuple[int, ...] = ()

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
            raise DseError(
                "this is a fat binary: take a cubin out of it (cuobjdump -xelf all)"
                if data[:4] == b"\x50\xed\x55\xba"
                else "this is no machine code of a GPU (an ELF file of 64 bits, as nvcc -cubin "
                "writes)"
            )
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


@contextmanager
def _refuse_damaged(what: str) -> Iterator[None]:
    """Raise a clear error in place of whatever the library meets in spoilt bytes."""
    try:
        yield
    except DseError:
        raise
    except Exception:
        raise DseError(f"{what}: compile it again") from None


@_refuse_damaged("the machine code is cut short or damaged")
def read_functions(data: bytes) -> dict[str, KernelFunction]:
    """Return the kernels of a cubin by their names.

    Raises
    ------
    DseError
        No such file, or one that is damaged.
    """
    cubin = _Cubin(data)
    registers: dict[str, int] = {}
    for kind, body in _attributes(cubin.body(".nv.info")):
        if kind == _REGISTERS and len(body) == 8:
            symbol, value = struct.unpack("<II", body)
            registers[cubin.symbols[symbol].name] = value
    result = {}
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
                jumps += _read_jumps(body)
        if not bank and f".nv.constant0.{name}" not in cubin.sections:
            continue  # a function that kernels call
        number = cubin.numbers[section]
        called = [
            (each["st_value"], each.name)
            for each in cubin.symbols
            if each["st_info"]["type"] == "STT_FUNC" and each["st_shndx"] == number
        ]
        result[name] = KernelFunction(
            name=name,
            arch=cubin.arch,
            code=cubin.body(section),
            registers=registers.get(name, cubin.sections[section]["sh_info"] >> 24),
            shared_bytes=cubin.size(f".nv.shared.{name}"),
            argument_base=bank
            or cubin.size(f".nv.constant0.{name}"),  # of a kernel without arguments
            arguments=tuple((offset, size) for _, offset, size in sorted(arguments)),
            callees=tuple(sorted(each for each in called if each[1] != name)),
            jump_targets=tuple(jumps),
            jump_table=_words(cubin.body(f".nv.constant2.{name}")),
        )
    return result


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    """Return the attributes of .nv.info: a format, a kind, and a value or the size of one."""
    result, at = [], 0
    while at + 4 <= len(data):
        form, kind, size = struct.unpack_from("<BBH", data, at)
        at += 4
        body = data[at : at + size] if form == 4 else struct.pack("<H", size)
        at += size if form == 4 else 0
        result.append((kind, body))
    return result


def _read_jumps(body: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each jump to a computed address with the places that it may lead to."""
    words, at = _words(body), 0
    while at + 3 <= len(words):
        place, _, many = words[at : at + 3]
        yield place, words[at + 3 : at + 3 + many]
        at += 3 + many


def _words(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])


@_refuse_damaged("the lines that the machine code tells are damaged")
def source_lines(data: bytes, name: str) -> dict[int, int]:
    """Return the line of the source of each instruction of a kernel, as far as a cubin has them.

    Raises
    ------
    DseError
        A program of line numbers that is damaged.
    """
    cubin, text = _Cubin(data), f".text.{name}"
    if ".debug_line" not in cubin.sections or text not in cubin.sections:
        return {}
    own, size = cubin.numbers[text] + 1, cubin.size(text)
    result: dict[int, int] = {}
    before: tuple[int, int] | None = None
    for state in _states(_linked_lines(cubin)):
        section, at = state.address >> _ADDRESS, state.address & (1 << _ADDRESS) - 1
        if before is not None:
            places = range(-(-before[0] // WORD), -(-min(at, size) // WORD))
            result |= dict.fromkeys(places, before[1])
        before = None if state.end_sequence or section != own else (at, state.line)
    return {place: line for place, line in result.items() if line > 0}


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


_COMPILER_FUNCTIONS = ("__internal_", "__cuda_")
_MAX_INSTRUCTIONS = sizes.KERNEL_INSTRUCTIONS  # instructions of a kernel with all copies


def inline_calls(
    body: Sequence[Instruction], callees: Sequence[tuple[int, str]]
) -> list[Instruction]:
    """The instructions of a kernel with those of the functions that it calls.

    ``called`` are the functions in its code by their offsets in bytes.
    """
    names = {offset // WORD: name for offset, name in callees}
    result = [
        _replace(one, one.index, "BRA", one.target or 0, one.guard)
        if _is_branch(one, body, names)
        else one
        for one in body
    ]
    if not callees:
        return result
    begins = sorted(names)
    ends = dict(zip(begins, [*begins[1:], len(body)], strict=True))
    body = list(result)
    waiting: list[tuple[int, tuple[int, ...]]] = [
        (one.index, (0,)) for one in body[: begins[0]] if one.name == "CALL"
    ]
    while waiting:
        at, within = waiting.pop(0)
        call = result[at]
        begin = None if call.target is None else call.target - at + call.source_index
        if (
            begin not in names
            or begin in within
            or any(own in names[begin] for own in _COMPILER_FUNCTIONS)
        ):
            continue
        copy = body[begin : ends[begin]]
        if len(result) + len(copy) > _MAX_INSTRUCTIONS:
            break
        moved = len(result)
        result[at] = _replace(call, at, "BRA", moved, call.guard)
        for one in copy:
            place = len(result)
            if one.name == "RET":
                result.append(_replace(one, place, "BRA", at + 1, one.guard))
                continue
            result.append(one.copy_to(place))
            if one.name == "CALL":
                waiting.append((place, (*within, begin)))
    return result


def _is_branch(
    instruction: Instruction, body: Sequence[Instruction], names: Mapping[int, str]
) -> bool:
    """True if a call never returns: it leads into code that is no function of its own.

    Where no function is named, code that has a return may be one.
    """
    if (
        instruction.name != "CALL"
        or instruction.target is None
        or not 0 <= instruction.target < len(body)
    ):
        return False
    if len(instruction.operands) != 1 or not instruction.operands[0].startswith(
        "0x"
    ):  # by a pointer
        return False
    if names:
        return instruction.target not in names
    return not any(each.name == "RET" for each in body)


_TABLE_JUMPS = ("BRX", "BRXU")
#: A predicate that the hardware does not have.
_SPARE_PREDICATE = "P9"


def expand_jump_tables(
    body: Sequence[Instruction], targets: Mapping[int, Sequence[int]]
) -> list[Instruction]:
    """Return the instructions with jumps through tables as chains of branches.

    ``targets`` are the places in bytes that each jump may lead to, by its own. A jump that they do
    not know stays.
    """
    result = list(body)
    for one in body:
        places = targets.get(one.index * WORD)
        if one.name not in _TABLE_JUMPS or one.index != one.source_index or not places:
            continue
        register, last = one.operands[0].split("+")[0], places[-1]
        result[one.index] = _replace(one, one.index, "BRA", len(result), one.guard)
        for place in dict.fromkeys(places):
            if place != last:
                compared = f"{_SPARE_PREDICATE},PT,{register},{place:#x},PT"
                result.append(_replace(one, len(result), "ISETP.EQ.U32.AND", compared))
                result.append(_replace(one, len(result), "BRA", place // WORD, _SPARE_PREDICATE))
        result.append(_replace(one, len(result), "BRA", last // WORD))
    return result


def _replace(
    original: Instruction, index: int, opcode: str, operands: str | int, guard: str = ""
) -> Instruction:
    """Return an instruction at a place, in place of another; a branch by where it leads."""
    text = f"{operands * WORD:#x}" if isinstance(operands, int) else operands
    return Instruction(index, opcode, text, guard, source_index=original.source_index)


_MAX_WORDS = sizes.WORDS_CACHED  # words of an architecture that are remembered

#: What is told of a word, and where it stood then, from which its branch counts.
WordText = tuple[Mapping[str, str], int]
_word_cache: dict[int, dict[bytes, WordText]] = {}


def _run_disassembler(arguments: Sequence[str]) -> str:
    program = str(find_package_file("nvidia-cuda-nvdisasm", r"nvdisasm(\.exe)?$"))
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        words = done.stderr.strip() or f"it ended with status {done.returncode}"
        raise DseError(f"the disassembler refuses the machine code: {words}")
    return done.stdout


def disassemble(functions: Sequence[KernelFunction]) -> list[list[Instruction]]:
    """The instructions of kernels and of what they call; those of one architecture in one go.

    The text of each word of machine code is remembered, so that only new words are read.

    Raises
    ------
    DseError
        Machine code that the disassembler refuses; compute capabilities before 7.0.
    """
    result: list[list[Instruction]] = [[] for _ in functions]
    for arch in sorted({each.arch for each in functions}):
        if arch < 70:
            raise DseError(f"machine code of sm_{arch}: expected that of sm_70 or later")
        places = [at for at, each in enumerate(functions) if each.arch == arch]
        orders = [_code_words(functions[at]) for at in places]
        told = _lookup_words(dict.fromkeys(itertools.chain(*orders)), arch)
        for at, order in zip(places, orders, strict=True):
            every = [told[each] for each in order]
            body = parse_instructions([each for each, _ in every], [place for _, place in every])
            body = inline_calls(body, functions[at].callees)
            result[at] = expand_jump_tables(body, dict(functions[at].jump_targets))
    return result


def _lookup_words(words: Iterable[bytes], arch: int) -> dict[bytes, WordText]:
    """What is known of words, and what the disassembler tells of those that are new."""
    known = _word_cache.get(arch, {})
    new = [each for each in words if each not in known]
    if not new:
        return known
    told = ((each, place) for place, each in enumerate(_disassemble_words(new, arch)))
    known = known | dict(zip(new, told, strict=True))
    _word_cache[arch] = dict(itertools.islice(known.items(), max(len(known) - _MAX_WORDS, 0), None))
    return known


def _disassemble_words(words: Sequence[bytes], arch: int) -> list[dict[str, str]]:
    """What the disassembler tells of words, as if they stood one behind the other."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code.bin")
        path.write_bytes(b"".join(words))
        told = json.loads(_run_disassembler(["-b", f"SM{arch}", "-json", "-ndf", os.fspath(path)]))
    every = [one for body in told[1] for one in body["sass-instructions"]]
    if len(every) != len(words):
        raise DseError(
            f"the disassembler tells {len(every)} of {len(words)} instructions of sm_{arch}: "
            "expected all; it and the compiler may be of versions that do not fit together"
        )
    return every


def _code_words(function: KernelFunction) -> list[bytes]:
    return [function.code[at : at + WORD] for at in range(0, len(function.code) - WORD + 1, WORD)]
