"""Machine instructions of a kernel (SASS): their operands, results and class."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from dse.cuda.integer_expressions import ZERO, Atom, IntExpr, atom_expr, constant

WORD = 16  # bytes of an instruction, from compute capability 7.0 on

#: Classes of instructions by prefixes of their names; the first match counts.
CLASSES: Mapping[str, tuple[str, ...]] = {
    "tensor": ("HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "UTC"),
    "fp16": ("HADD2", "HMUL2", "HFMA2", "HSET2", "HSETP2", "HMNMX2"),
    "fp64": ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX"),
    "fp32": ("FADD", "FMUL", "FFMA", "FSETP", "FSET", "FMNMX", "FSEL", "FCHK", "FSWZADD"),
    "special": ("MUFU", "I2F", "F2I", "F2F", "I2I", "FRND", "POPC", "FLO", "BREV"),
    "shuffle": ("SHFL", "VOTE", "MATCH", "REDUX", "CREDUX"),
    "shared_atomic": ("ATOMS",),
    "atomic": ("ATOM", "RED"),
    "barrier": ("BAR", "SYNCS"),
    "wait": ("DEPBAR", "LDGDEPBAR", "MEMBAR", "WARPSYNC", "ERRBAR", "CGAERRBAR", "CCTL"),
    "constant": ("LDC",),
    "texture": ("TEX", "TLD", "TMML", "TXD", "TXQ", "SULD", "SUST"),
    "local_load": ("LDL",),
    "local_store": ("STL",),
    "shared_load": ("LDSM", "LDS"),
    "shared_store": ("STSM", "STS"),
    "global_copy": ("LDGSTS", "UBLKCP", "UTMA"),
    "global_load": ("LDG", "LD"),
    "global_store": ("STG", "ST"),
    "control": (
        "BRA", "BRX", "JMP", "JMX", "EXIT", "BSSY", "BSYNC", "BREAK", "CALL", "RET", "NOP", "YIELD",
        "BMOV", "JCAL", "RPCMOV", "NANOSLEEP", "BPT", "KILL",
    ),
    "move": ("MOV", "S2R", "CS2R", "S2UR", "R2UR", "SEL", "PRMT", "P2R", "P2UR", "R2P", "R2UP"),
    "integer": (
        "IADD", "IMAD", "IMUL", "ISETP", "ISCADD", "IMNMX", "IABS", "IDP", "LEA", "LOP", "SHF",
        "SHL", "SHR", "SGXT", "BMSK", "VIADD", "VIMNMX", "PLOP", "VABSDIFF", "XMAD", "BFE", "BFI",
    ),
}  # fmt: skip
#: Classes of accesses to global memory, to all device memory, and to shared memory.
GLOBAL = ("global_load", "global_store", "global_copy", "atomic")
MEMORY = (*GLOBAL, "local_load", "local_store")
SHARED = ("shared_load", "shared_store", "shared_atomic")
_FROM_UNIFORM = re.compile(r"^U(?!TC|TMA|BLKCP)")
_REGISTER = re.compile(r"(U?[RP])(\d+)")
_NAMED = re.compile(r"\bU?[RP]\d+")
_WIDE = re.compile(r"\.(64|128)\b")
_PREDICATE = re.compile(r"U?P[T0-9]")
#: Bytes of an access by its modifier; an access without one has 4 bytes.
_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_NO_RESULT = {"global_store", "shared_store", "local_store", "global_copy", "control"}
_NO_RESULT |= {"barrier", "wait"}
#: Operations that write a register or predicate, although their class is in _NO_RESULT.
_WITH_RESULT = ("SYNCS", "BMOV")


def split_operands(operands: str) -> list[str]:
    """Return the operands in a text, which are separated by commas outside brackets."""
    return re.split(r",(?![^\[]*\])", operands) if operands else []


#: Name, modifiers, class, operands, number of result operands, registers written, registers read.
_Operation = tuple[str, list[str], str, list[str], int, tuple[str, ...], frozenset[str]]


@lru_cache(maxsize=1 << 16)
def _parse_operation(opcode: str, text: str) -> _Operation:
    first, *modifiers = opcode.split(".")
    name = _FROM_UNIFORM.sub("", first)
    kind = next((kind for kind, begins in CLASSES.items() if name.startswith(begins)), "other")
    operands = [each.strip() for each in split_operands(text.replace(".reuse", ""))]
    if name == "HFMA2" and all(each.lstrip("-") == "RZ" for each in operands[1:3]):
        kind = "move"  # computes 0 * 0 + c for each half c, which loads a constant
    results, count = tuple[str, ...](), 0
    if name in ("R2P", "R2UP"):
        results = tuple(f"{name[2:]}{each}" for each in range(7))
    elif operands and (kind not in _NO_RESULT or name in _WITH_RESULT) and name != "RED":
        width = _result_width(opcode, name, modifiers, kind)
        results, count = _result_registers(operands, name, width)
    reads = frozenset(_NAMED.findall(",".join(operands[count:])))
    return name, modifiers, kind, operands, count, results, reads


def _result_registers(
    operands: Sequence[str], name: str, width: int
) -> tuple[tuple[str, ...], int]:
    """Return the registers that an instruction writes, and the number of operands that name them.

    The first operand is a result. If it is a predicate, the second operand is a result too.
    Predicates directly after a result register (carries) are results too.
    """
    result: list[str] = []
    count = 0
    first = bool(_PREDICATE.match(operands[0]))
    most = (1 if name in ("VOTE", "VOTEU") else 2) if first else 3
    for number, operand in enumerate(operands[:most]):
        register = _REGISTER.fullmatch(operand)
        predicate = operand.lstrip("U") == "PT" or (register and register[1][-1] == "P")
        if number and not predicate and (number > 1 or not first):
            break
        if register is None and not predicate and operand.lstrip("U") != "RZ":
            break
        count = number + 1
        if register is not None:
            begin, many = int(register[2]), 1 if predicate else width
            result += [f"{register[1]}{begin + each}" for each in range(many)]
    return tuple(result), count


def _result_width(opcode: str, name: str, modifiers: Sequence[str], kind: str) -> int:
    if wide := _WIDE.search(opcode):
        return int(wide[1]) // 32
    if "WIDE" in modifiers or name.startswith(("DADD", "DMUL", "DFMA")):
        return 2
    if name == "CS2R":
        return 1 if "32" in modifiers else 2
    if kind == "tensor":
        return 4
    return 2 if name in ("F2F", "I2F", "DMNMX") and "F64" in modifiers[:1] else 1


class Instruction:
    """One instruction of a kernel.

    Attributes:
        name (str): The operation, without modifiers and without the U of the uniform datapath.
        modifiers (list of str): The parts of the opcode after its dots.
        operands (list of str): Operands without reuse flags; the first ``result_count`` are
            results.
        kind (str): Its class, a key of :data:`CLASSES`, or ``other``.
        results (tuple of str): The registers and predicates that it writes.
        reads (frozenset of str): Registers and predicates that it reads, including guards; only the
            first of a pair.
    """

    __slots__ = (
        "_branch_base", "guard", "guards", "index", "kind", "modifiers", "name", "opcode",
        "operands", "reads", "result_count", "results", "source_index", "text",
    )  # fmt: skip

    def __init__(
        self, index: int, opcode: str, text: str = "", guard: str = "",
        branch_base: int | None = None, source_index: int | None = None,
    ) -> None:  # fmt: skip
        self.index, self.opcode, self.text, self.guard = index, opcode, text, guard
        #: Index of the original if this is a copy, else the instruction's own index.
        self.source_index = index if source_index is None else source_index
        self._branch_base = index if branch_base is None else branch_base
        parts = _parse_operation(self.opcode, self.text)
        self.name, self.modifiers, self.kind, self.operands, self.result_count = parts[:5]
        self.results, self.reads = parts[5:]
        #: The predicates that must all hold for the instruction to take effect.
        self.guards: tuple[str, ...] = (self.guard,) if self.guard else ()
        if self.name in ("BRA", "EXIT", "RET"):
            self.guards += tuple(p for p in self.operands if _PREDICATE.match(p.lstrip("!")))
        if self.guards:
            self.reads |= {each.lstrip("!") for each in self.guards}

    def __repr__(self) -> str:
        guard = f"@{self.guard} " if self.guard else ""
        return f"{self.index * WORD:04x} {guard}{self.opcode} {self.text}"

    def copy_to(self, index: int) -> Instruction:
        """Return a copy at another index; the distance to a branch target stays the same."""
        places = self._branch_base, self.source_index
        return Instruction(index, self.opcode, self.text, self.guard, *places)

    @property
    def target(self) -> int | None:
        """Index of the instruction that a branch leads to; None without such an operand."""
        for operand in reversed(self.operands):
            if operand.startswith(("0x", "-0x")):
                return int(operand, 16) // WORD + self.index - self._branch_base
        return None


def access_width(instruction: Instruction) -> int:
    """Return the bytes that a thread loads or stores; 16 (one row) for a matrix."""
    if instruction.name in ("LDSM", "STSM"):
        return 16
    return next((_BYTES[each] for each in instruction.modifiers if each in _BYTES), 4)


def parse_instructions(
    listing: Sequence[Mapping[str, Any]], branch_bases: Sequence[int] = ()
) -> list[Instruction]:
    """Return the instructions of one function from the disassembler's JSON records."""
    bases = branch_bases or range(len(listing))
    return [
        Instruction(at, one["opcode"], one.get("operands", ""),
                    one.get("predicate", "").removeprefix("@"), place)
        for at, (one, place) in enumerate(zip(listing, bases, strict=True))
    ]  # fmt: skip


_CONSTANT = re.compile(r"c\[(0x[0-9a-f]+)\]\[(?:(U?R)(\d+|Z)\+?)?(-?0x[0-9a-f]+)?\]$")
_PLAIN = re.compile(r"U?R\d+")
_SPECIAL = {
    f"SR_{name.upper()}.{axis.upper()}": f"{name}.{axis}"
    for name in ("tid", "ctaid", "ntid", "nctaid")
    for axis in "xyz"
} | {"SR_LANEID": "lane"}


@dataclass(frozen=True, slots=True)
class ConstantBank:
    """The constant bank of a launch; its methods read operands that are the same for all threads.

    ``layout`` maps offsets to launch sizes, ``argument_base`` is the offset of the arguments, and
    ``upper_halves`` are the offsets of high halves of 8-byte arguments. ``known`` maps sizes,
    indices and arguments to their numbers if the kernel is analysed for one launch.
    """

    layout: Mapping[int, str]
    argument_base: int
    upper_halves: frozenset[int]
    jump_table: tuple[int, ...] = ()
    known: Mapping[Atom, int] = field(default_factory=dict)

    def parse_operand(self, text: str) -> IntExpr | tuple[bool, str] | None:
        """Return a constant's value, (is_negative, name) for a register, or None for other text."""
        if text.startswith("-") and text[1:2] != "0":
            result = self.parse_operand(text[1:])
            return (not result[0], result[1]) if isinstance(result, tuple) else result and -result
        if text.startswith(("0x", "-0x")):
            number = int(text, 16)
            return constant(number - 2**32 if number >= 2**31 else number)
        if text == "SR_CgaCtaId":  # index of a block in its cluster, which has only this block
            return ZERO
        if text in _SPECIAL:
            return self._known_value(Atom("special", (_SPECIAL[text],)))
        text = text.partition(".")[0]
        if text in ("RZ", "URZ", "SRZ"):
            return ZERO
        if (match := _CONSTANT.match(text)) is not None:
            is_fixed = not match[2] or match[3] == "Z"
            at = int(match[4] or "0x0", 16)
            if match[1] == "0x2" and is_fixed and at // 4 < len(self.jump_table):
                number = self.jump_table[at // 4]  # a constant that the compiler put into the bank
                return constant(number - 2**32 if number >= 2**31 else number)
            if match[1] != "0x0" or not is_fixed:
                return atom_expr("unknown", ("constant", match[0]))
            return self._launch_constant(at)
        return (False, text) if _PLAIN.fullmatch(text) else None

    def _known_value(self, atom: Atom) -> IntExpr:
        number = self.known.get(atom)
        return IntExpr({(atom,): 1}) if number is None else constant(number)

    def jump_table_entry(self, text: str) -> tuple[str, int] | None:
        """Return the register and offset of an operand that reads the jump table, or None."""
        match = _CONSTANT.match(text)
        if match is None or match[1] != "0x2" or not match[2] or match[3] == "Z":
            return None
        return f"{match[2]}{match[3]}", int(match[4] or "0x0", 16)

    def next_word(self, text: str, distance: int) -> IntExpr | None:
        """Return the constant ``distance`` words after the word that an operand reads."""
        match = _CONSTANT.match(text)
        if match is None or match[2] or match[1] != "0x0":
            return None
        return self._launch_constant(int(match[4] or "0x0", 16) + 4 * distance)

    def _launch_constant(self, offset: int) -> IntExpr:
        if offset - self.argument_base in self.upper_halves:
            return ZERO
        if offset in self.layout:
            return self._known_value(Atom("special", (self.layout[offset],)))
        if offset >= self.argument_base:
            return self._known_value(Atom("argument", (offset - self.argument_base,)))
        return atom_expr("unknown", ("constant", offset))
