"""Read cubins (ELF files with machine code): kernels, their instructions and lines.

pyelftools reads sections, symbols and line tables; NVIDIA's disassembler reads the instructions;
this module reads the attributes of kernels (``.nv.info``). Two changes make each kernel one flow of
instructions: called functions are copied behind the kernel, one copy for each call, and a jump
through a table (BRX, a ``switch``) becomes a chain of comparisons and branches. Recursive calls and
the compiler's slow paths of divisions and roots stay calls. A call into the middle of the same
function is read as a branch.
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

#: Codes of the attributes in .nv.info that are read.
_REGISTERS, _ARGUMENT, _BANK, _JUMPS = 0x2F, 0x17, 0x0A, 0x34
_HEADER, _SYMBOL = 64, 24
#: Number of bits of an address in a line table; the higher bits hold the index of the section.
_ADDRESS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFunction:
    """A kernel in machine code.

    ``arguments`` holds the offset of each argument from ``argument_base`` in the constant bank, and
    its size [B]. ``callees`` holds the offsets and names of the other functions in its code.
    ``jump_targets`` maps the position of each jump to a computed address to its possible targets.
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
    has_shared_section: bool = False

    @property
    def pointers(self) -> frozenset[int]:
        """Offsets of the arguments that can be addresses."""
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
                "this is a fat binary: extract a cubin (cuobjdump -xelf all)"
                if data[:4] == b"\x50\xed\x55\xba"
                else "this is no GPU machine code: expected a 64-bit ELF file (nvcc -cubin)"
            )
        self.data, elf = data, ELFFile(io.BytesIO(data))
        if (machine := elf["e_machine"]) != "EM_CUDA":
            raise DseError(
                f"this is a program or library for another machine ({machine}): extract a cubin "
                "(cuobjdump -xelf all)"
            )
        flags = elf["e_flags"]
        self.arch = flags >> 8 & 0xFF if data[7] == 0x41 else flags & 0xFF
        headers = elf["e_shoff"] + _HEADER * elf["e_shnum"]
        if elf["e_shentsize"] != _HEADER or headers > len(data):
            raise ValueError
        every = list(elf.iter_sections())
        self.sections: dict[str, Section] = {each.name: each for each in every}
        self.numbers = {each.name: number for number, each in enumerate(every)}
        if (table := self.sections[".symtab"])["sh_entsize"] != _SYMBOL:
            raise ValueError
        self.symbols = list(table.iter_symbols())  # type: ignore[attr-defined]

    def body(self, name: str) -> bytes:
        """Return the bytes of a section; empty if it is absent or takes no space in the file."""
        if (section := self.sections.get(name)) is None or section["sh_type"] == "SHT_NOBITS":
            return b""
        body = self.data[section["sh_offset"] :][: section["sh_size"]]
        if len(body) != section["sh_size"]:
            raise ValueError
        return body

    def size(self, name: str) -> int:
        return self.sections[name]["sh_size"] if name in self.sections else 0


@contextmanager
def _refuse_damaged(what: str) -> Iterator[None]:
    try:
        yield
    except DseError:
        raise
    except Exception:
        raise DseError(f"{what}: compile it again") from None


@_refuse_damaged("the machine code is cut short or damaged")
def read_functions(data: bytes) -> dict[str, KernelFunction]:
    """Return the kernels of a cubin by their names."""
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
        callees = [
            (each["st_value"], each.name)
            for each in cubin.symbols
            if each["st_info"]["type"] == "STT_FUNC" and each["st_shndx"] == number
        ]
        result[name] = KernelFunction(
            name=name,
            arch=cubin.arch,
            code=cubin.body(section),
            registers=registers.get(name, cubin.sections[section]["sh_info"] >> 24),
            shared_bytes=_static_shared_bytes(cubin, name),
            has_shared_section=f".nv.shared.{name}" in cubin.sections,
            # a kernel without arguments has no bank
            argument_base=bank or cubin.size(f".nv.constant0.{name}"),
            arguments=tuple((offset, size) for _, offset, size in sorted(arguments)),
            callees=tuple(sorted(each for each in callees if each[1] != name)),
            jump_targets=tuple(jumps),
            jump_table=_words(cubin.body(f".nv.constant2.{name}")),
        )
    return result


#: The driver reserves this number of bytes of shared memory in each block, from compute capability
#: 8.0 on. From 9.0 on, the size that a cubin states includes these bytes, unless it is 0.
_RESERVED_SHARED, _SINCE_ARCH = 1024, 90


def _static_shared_bytes(cubin: _Cubin, name: str) -> int:
    """Return a kernel's static shared memory [B] without the bytes that the driver reserves."""
    size = cubin.size(f".nv.shared.{name}")
    is_included = cubin.arch >= _SINCE_ARCH and ".nv.shared.reserved.0" in cubin.sections
    return max(size - _RESERVED_SHARED, 0) if is_included else size


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    result, at = [], 0
    while at + 4 <= len(data):
        form, kind, size = struct.unpack_from("<BBH", data, at)
        at += 4
        body = data[at : at + size] if form == 4 else struct.pack("<H", size)
        at += size if form == 4 else 0
        result.append((kind, body))
    return result


def _read_jumps(body: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    words, at = _words(body), 0
    while at + 3 <= len(words):
        place, _, many = words[at : at + 3]
        yield place, words[at + 3 : at + 3 + many]
        at += 3 + many


def _words(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])


@_refuse_damaged("the line table of the machine code is damaged")
def source_lines(data: bytes, name: str, file: str = "") -> dict[int, int]:
    """Return the source line of each instruction of a kernel, where the cubin has one.

    Functions of headers are inlined where they are called. So an instruction from another file gets
    the line of the last earlier instruction from ``file``. If no line is from ``file``, each
    instruction keeps its line.
    """
    cubin, text = _Cubin(data), f".text.{name}"
    if ".debug_line" not in cubin.sections or text not in cubin.sections:
        return {}
    wanted, size = cubin.numbers[text] + 1, cubin.size(text)
    rows: list[tuple[int, int, int, str]] = []
    before: tuple[int, int, str] | None = None
    for state, source in _states(_linked_lines(cubin)):
        section, at = state.address >> _ADDRESS, state.address & (1 << _ADDRESS) - 1
        if before is not None:
            rows.append((-(-before[0] // WORD), -(-min(at, size) // WORD), *before[1:]))
        ended = state.end_sequence or section != wanted
        before = None if ended else (at, state.line, source)
    has_lines = any(source == file for *_, source in rows)
    result: dict[int, int] = {}
    last = 0
    for begin, end, line, source in sorted(rows):
        last = line if source == file or not has_lines else last
        result |= dict.fromkeys(range(begin, end), last)
    return {place: line for place, line in result.items() if line > 0}


def _linked_lines(cubin: _Cubin) -> bytes:
    """Return the line programs, with each address replaced by (section << _ADDRESS) + offset."""
    lines = bytearray(cubin.body(".debug_line"))
    for form, size in (("rel", 16), ("rela", 24)):
        relocations = cubin.body(f".{form}.debug_line")
        for at in range(0, len(relocations), size):
            place, symbol = struct.unpack_from("<QQ", relocations, at)
            more = struct.unpack_from("<q", relocations, at + 16)[0] if size == 24 else 0
            of: Mapping[str, Any] = cubin.symbols[symbol >> 32]
            section = of["st_shndx"] + 1 if isinstance(of["st_shndx"], int) else 0
            struct.pack_into("<Q", lines, place, (section << _ADDRESS) + of["st_value"] + more)
    return bytes(lines)


def _states(lines: bytes) -> Iterator[tuple[Any, str]]:
    """Yield the rows of all line programs, each with the name of its file."""
    from elftools.common.utils import struct_parse
    from elftools.dwarf.lineprogram import LineProgram
    from elftools.dwarf.structs import DWARFStructs

    structs = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
    stream, end = io.BytesIO(lines), 0
    while end < len(lines):
        header = struct_parse(structs.Dwarf_lineprog_header, stream, end)
        end += header["unit_length"] + structs.initial_length_field_size()
        program = LineProgram(header, stream, structs, stream.tell(), end)
        files = [entry.name.decode(errors="replace") for entry in header.file_entry]
        for each in program.get_entries():
            if (state := each.state) is not None:
                yield state, files[state.file - 1] if 0 < state.file <= len(files) else ""


#: Callees: offset and name of each function in a kernel's code. JumpTargets: the possible targets
#: of each jump to a computed address, by the position of the jump.
Callees = Sequence[tuple[int, str]]
JumpTargets = Mapping[int, Sequence[int]]
_COMPILER_FUNCTIONS = ("__internal_", "__cuda_")
_MAX_INSTRUCTIONS = sizes.KERNEL_INSTRUCTIONS  # includes copies of called functions


def inline_calls(
    body: Sequence[Instruction], callees: Callees, *, slow_paths: bool = False
) -> list[Instruction]:
    """Return a kernel's instructions with copies of the called functions, except slow paths.

    Slow paths of divisions and roots are copied too if ``slow_paths`` is True.
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
        if begin not in names or begin in within:
            continue
        if not slow_paths and is_slow_path(names[begin]):
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


def is_slow_path(name: str) -> bool:
    """True if a function is the compiler's slow path of a division or root."""
    return any(prefix in name for prefix in _COMPILER_FUNCTIONS)


def _is_branch(call: Instruction, body: Sequence[Instruction], names: Mapping[int, str]) -> bool:
    """True if a call is a branch that never returns: its target is not the start of a function."""
    if call.name != "CALL" or call.target is None or not 0 <= call.target < len(body):
        return False
    if len(call.operands) != 1 or not call.operands[0].startswith("0x"):  # a call by a pointer
        return False
    if names:
        return call.target not in names
    return not any(each.name == "RET" for each in body)


#: A predicate that the hardware lacks, so that kernels cannot use it.
_SPARE_PREDICATE = "P9"


def expand_jump_tables(body: Sequence[Instruction], targets: JumpTargets) -> list[Instruction]:
    """Return the instructions with jumps through tables replaced by chains of branches."""
    result = list(body)
    for one in body:
        places = targets.get(one.index * WORD)
        if one.name not in ("BRX", "BRXU") or one.index != one.source_index or not places:
            continue
        register, last = one.operands[0].split("+")[0], places[-1]
        result[one.index] = _replace(one, one.index, "BRA", len(result), one.guard)
        for place in dict.fromkeys(places):
            if place != last:
                operands = f"{_SPARE_PREDICATE},PT,{register},{place:#x},PT"
                result.append(_replace(one, len(result), "ISETP.EQ.U32.AND", operands))
                result.append(_replace(one, len(result), "BRA", place // WORD, _SPARE_PREDICATE))
        result.append(_replace(one, len(result), "BRA", last // WORD))
    return result


def _replace(
    one: Instruction, index: int, opcode: str, operands: Any, guard: str = ""
) -> Instruction:
    text = f"{operands * WORD:#x}" if isinstance(operands, int) else operands
    return Instruction(index, opcode, text, guard, source_index=one.source_index)


_MAX_WORDS = sizes.WORDS_CACHED  # upper limit on cached words per architecture

#: The disassembler's record of a word, and the index at which the word was disassembled. Branch
#: targets in the record refer to this index.
WordText = tuple[Mapping[str, str], int]
_word_cache: dict[int, dict[bytes, WordText]] = {}


def _run_disassembler(arguments: Sequence[str]) -> str:
    program = str(find_package_file("nvidia-cuda-nvdisasm", r"nvdisasm(\.exe)?$"))
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        words = done.stderr.strip() or f"it ended with status {done.returncode}"
        raise DseError(f"the disassembler cannot read the machine code: {words}")
    return done.stdout


def disassemble(
    functions: Sequence[KernelFunction], *, slow_paths: bool = False
) -> list[list[Instruction]]:
    """Return the instructions of each kernel, with calls and jump tables expanded."""
    result: list[list[Instruction]] = [[] for _ in functions]
    for arch in sorted({each.arch for each in functions}):
        if arch < 70:
            raise DseError(f"machine code of sm_{arch}: expected sm_70 or later")
        places = [at for at, each in enumerate(functions) if each.arch == arch]
        codes = (functions[at].code for at in places)
        orders = [
            [code[k : k + WORD] for k in range(0, len(code) - WORD + 1, WORD)] for code in codes
        ]
        records = _lookup_words(dict.fromkeys(itertools.chain(*orders)), arch)
        for at, order in zip(places, orders, strict=True):
            every = [records[each] for each in order]
            body = parse_instructions([each for each, _ in every], [place for _, place in every])
            body = inline_calls(body, functions[at].callees, slow_paths=slow_paths)
            result[at] = expand_jump_tables(body, dict(functions[at].jump_targets))
    return result


def _lookup_words(words: Iterable[bytes], arch: int) -> dict[bytes, WordText]:
    known = _word_cache.get(arch, {})
    new = [each for each in words if each not in known]
    if not new:
        return known
    records = ((each, place) for place, each in enumerate(_disassemble_words(new, arch)))
    known = known | dict(zip(new, records, strict=True))
    _word_cache[arch] = dict(itertools.islice(known.items(), max(len(known) - _MAX_WORDS, 0), None))
    return known


def _disassemble_words(words: Sequence[bytes], arch: int) -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code.bin")
        path.write_bytes(b"".join(words))
        tree = json.loads(_run_disassembler(["-b", f"SM{arch}", "-json", "-ndf", os.fspath(path)]))
    every = [one for body in tree[1] for one in body["sass-instructions"]]
    if len(every) != len(words):
        raise DseError(
            f"the disassembler reads {len(every)} of {len(words)} instructions of sm_{arch}: its "
            "version may not match that of the compiler"
        )
    return every
