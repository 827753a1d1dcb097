"""Machine code as text (SASS), as ``cuobjdump -sass`` and ``nvdisasm -c`` write it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dse.kernels.assembly import WORD, Instruction, instructions
from dse.kernels.calls import inlined
from dse.kernels.cubin import Function
from dse.kernels.signature import parameters
from symbolic.errors import DseError

__all__ = ["Listed", "is_sass", "listed"]

_FIRST = re.compile(r"^\s*/\*0{4,}\*/\s", re.M)
_CODE = re.compile(
    r"^\s*/\*([0-9a-f]{4,})\*/\s*(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z][\w.]*)\s*([^;]*?)\s*;"
)
_NAMED = re.compile(r"^\s*Function\s*:\s*(\S+)|^\.text\.(\S+):")
_LABEL = re.compile(r"^(\.L_x_\d+|\$\S+):|^\s*\.type\s+(\$\S+),@function")
_ARCH = re.compile(r"\bcode for sm_(\d+)|EF_CUDA_SM(\d+)|^\s*\.target\s+sm_(\d+)|^arch = sm_(\d+)")
_LINE = re.compile(r'//## File "[^"]*", line (\d+)')
_TO = re.compile(r"`\((\S+?)\)")
_USAGE = re.compile(r"^\s*Function (\S+?):\s*\n\s*REG:(\d+) STACK:\d+ SHARED:(\d+)", re.M)
_REGISTERS = re.compile(r"SHI_REGISTERS=(\d+)")
_REGISTER = re.compile(r"\bR(\d+)\b")
_CONSTANT = re.compile(r"c\[0x0\]\[(0x[0-9a-f]+)\]")


@dataclass(slots=True)
class Listed:
    """A kernel of a listing: what a cubin would say of it, its instructions and their lines.

    ``assumed`` names what a listing does not say, and what was taken.
    """

    function: Function
    body: list[Instruction]
    lines: Mapping[int, int]
    assumed: Mapping[str, str]


@dataclass(slots=True)
class _Part:
    name: str
    arch: int
    told: list[dict[str, str]] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)
    registers: int = 0


def is_sass(text: str) -> bool:
    """Whether a text lists machine code."""
    return _FIRST.search(text) is not None


def listed(text: str, file: str) -> list[Listed]:
    """The kernels of a listing.

    Raises
    ------
    DseError
        No name or compute capability; an instruction that is missing from its place.
    """
    usage = {name: tuple(map(int, told)) for name, *told in _USAGE.findall(text)}
    found = [_kernel(part, usage, file) for part in _parts(text, file) if part.told]
    if not found:
        raise DseError(f"{file} lists no kernel: expected what cuobjdump -sass writes")
    return found


def _parts(text: str, file: str) -> Iterator[_Part]:
    arch, line, registers = 0, 0, 0
    part: _Part | None = None
    for number, row in enumerate(text.splitlines(), 1):
        if (one := _CODE.match(row)) is not None:
            if part is None:
                raise DseError(f"{file} line {number}: an instruction of no function")
            if int(one[1], 16) != len(part.told) * WORD:
                raise DseError(
                    f"{file} line {number}: instruction {one[1]} of {part.name} where "
                    f"{len(part.told) * WORD:04x} was expected: the listing is cut, or older "
                    "than sm_70"
                )
            if line:
                part.lines[len(part.told)] = line
            part.told.append(_instruction(one))
        elif (named := _NAMED.match(row)) is not None:
            if part is not None:
                yield part
            part = _Part(named[1] or named[2], arch, registers=registers)
            line = 0
        elif (label := _LABEL.match(row)) is not None and part is not None:
            part.labels.setdefault(label[1] or label[2], len(part.told))
        elif (told := _ARCH.search(row)) is not None:
            arch = int(next(filter(None, told.groups())))
            if part is not None and not part.told:
                part.arch = arch
        elif (said := _REGISTERS.search(row)) is not None:
            registers = int(said[1])
        elif (at := _LINE.search(row)) is not None:
            line = int(at[1])
    if part is not None:
        yield part


def _instruction(told: re.Match[str]) -> dict[str, str]:
    """As the disassembler's JSON tells it."""
    operands = re.sub(r"\s*\(\*.*?\*\)", "", told[4])
    return {
        "predicate": (told[2] or "").strip(),
        "opcode": told[3],
        "operands": re.sub(r"\s*([,|&])\s*", r"\1", operands),
    }


def _kernel(part: _Part, usage: Mapping[str, tuple[int, ...]], file: str) -> Listed:
    if not part.arch:
        raise DseError(
            f"{file} does not say which compute capability {part.name} is of: expected a line "
            "'code for sm_80' or '.target sm_80'"
        )
    if part.arch < 70:
        raise DseError(f"machine code of sm_{part.arch}: expected that of sm_70 or later")
    for told in part.told:
        told["operands"] = _TO.sub(
            lambda to: f"{part.labels[to[1]] * WORD:#x}" if to[1] in part.labels else to[0],
            told["operands"],
        )
    body = instructions(part.told)
    assumed = {}
    registers, shared = usage.get(part.name, (part.registers, 0))
    if not registers:
        names = [int(each) for one in body for each in _REGISTER.findall(one.text)]
        registers = max(names, default=0) + 1
        assumed["registers_per_thread"] = (
            "the highest register that is named: a listing does not say how many are allocated, "
            "which cuobjdump -res-usage does"
        )
    if part.name not in usage and any(one.kind.startswith("shared") for one in body):
        assumed["shared_mem_per_block"] = (
            "none: a listing does not say how much, which cuobjdump -res-usage does"
        )
    bank = 0x160 if part.arch < 90 else 0x210 if part.arch < 100 else 0x380
    function = Function(
        name=part.name,
        arch=part.arch,
        code=b"",
        registers=registers,
        shared=shared,
        bank=bank,
        arguments=parameters(part.name) or _read_ones(body, bank),
        called=tuple(sorted((at * WORD, to) for to, at in part.labels.items() if to[0] == "$")),
    )
    return Listed(function, inlined(body, function.called), part.lines, assumed)


def _read_ones(body: list[Instruction], bank: int) -> tuple[tuple[int, int], ...]:
    """Offsets and sizes of the arguments that code reads; of 8 bytes where its use says so."""
    sizes: dict[int, int] = {}
    wide = set()
    for one in body:
        for operand in one.operands:
            for told in _CONSTANT.findall(operand):
                offset = int(told, 16) - bank
                if offset < 0:
                    continue
                sizes.setdefault(offset, 4)
                if "WIDE" in one.modifiers and operand == one.operands[-1]:
                    wide.add(offset)
                elif "X" in one.modifiers and offset % 8 == 4:
                    wide.add(offset - 4)
    found = {offset: 8 if offset in wide else 4 for offset in sizes if offset - 4 not in wide}
    return tuple(sorted({**found, **dict.fromkeys(wide, 8)}.items()))
