"""Read PTX text into the records of machine instructions, so that one counter reads both.

Hong (2012, §2.6.2) counts in PTX and asks for a count by basic blocks of an intermediate
representation (§7.1.1). Each PTX operation becomes the equivalent machine operation. It gets its
class from Hong's Table 7: comparisons, shifts, logic and conversions are ``move``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from dse.cuda.cubin import KernelFunction
from dse.cuda.instructions import WORD, Instruction
from dse.cuda.source import closing_bracket
from symbolic.errors import DseError

#: Machine operations for integer operations and class "alu" of Table 7, as ``d = op(a, b, c)``.
_INTEGER_FORMS = {
    "add": "IADD3 {d},{a},{b},RZ", "sub": "IADD3 {d},{a},-{b},RZ", "neg": "IADD3 {d},-{a},RZ,RZ",
    "mul": "IMAD {d},{a},{b},RZ", "mad": "IMAD {d},{a},{b},{c}", "abs": "IABS {d},{a}",
    "min": "IMNMX {d},{a},{b},PT", "max": "IMNMX {d},{a},{b},!PT",
    "div": "IDIV {d},{a},{b}", "rem": "IREM {d},{a},{b}",
    "and": "LOP3.LUT {d},{a},{b},RZ,0xc0", "or": "LOP3.LUT {d},{a},{b},RZ,0xfc",
    "xor": "LOP3.LUT {d},{a},{b},RZ,0x3c", "not": "LOP3.LUT {d},RZ,{a},RZ,0x33",
    "shl": "SHF.L {d},{a},{b}", "shr": "SHFR {d},{a},{b}",
    "mov": "MOV {d},{a}", "cvt": "MOV {d},{a}", "cvta": "MOV {d},{a}",
    "selp": "SEL {d},{a},{b},{c}",
}  # fmt: skip
_INTEGER_FORMS |= {"mul24": "XMAD {d},{a},{b},RZ", "mad24": "XMAD {d},{a},{b},{c}"}
_PREDICATE_FORMS = {
    "and": "PLOP3.LUT {d},PT,{a},{b},PT,0xc0,0x0", "or": "PLOP3.LUT {d},PT,{a},{b},PT,0xfc,0x0",
    "xor": "PLOP3.LUT {d},PT,{a},{b},PT,0x3c,0x0", "not": "PLOP3.LUT {d},PT,{a},PT,PT,0x0f,0x0",
    "mov": "PLOP3.LUT {d},PT,{a},PT,PT,0xf0,0x0",
}  # fmt: skip
#: Operations whose results are unknown values.
_OPAQUE_OPCODES = {
    "bar": "BAR.SYNC", "barrier": "BAR.SYNC", "membar": "MEMBAR", "fence": "MEMBAR",
    "ret": "EXIT", "exit": "EXIT", "trap": "KILL", "brx": "BRX", "call": "JCAL",
    "rcp": "MUFU.RCP", "sqrt": "MUFU.SQRT", "rsqrt": "MUFU.RSQ", "sin": "MUFU.SIN",
    "cos": "MUFU.COS", "tanh": "MUFU.TANH", "tex": "TEX", "tld4": "TLD4",
    "shfl": "SHFL", "vote": "VOTE", "match": "MATCH", "redux": "REDUX",
    "mma": "HMMA", "wmma": "HMMA", "wgmma": "HGMMA", "cp": "LDGDEPBAR",
}  # fmt: skip
_NO_RESULT = ("bar", "barrier", "membar", "fence", "ret", "exit", "trap", "brx", "call", "cp")
_FLOATING = {"add": "ADD", "sub": "ADD", "mul": "MUL", "fma": "FMA", "mad": "FMA"}
#: Prefix and suffix of floating-point operations by type.
_WIDTHS = {"f64": ("D", ""), "f32": ("F", "")}
_KINDS = {"f64": "fp64", "f32": "fp32"}
_INTEGER = {"add", "addc", "sub", "subc", "mul", "mul24", "mad", "mad24", "madc", "sad", "div"}
_INTEGER |= {"rem", "abs", "neg", "min", "max"}
_ALU = {"and", "or", "xor", "not", "cnot", "shl", "shr", "lop3", "mov", "cvt", "set", "setp"}
_ALU |= {"selp", "slct"}
_UNSIGNED_COMPARISONS = {"lo": "LT", "ls": "LE", "hi": "GT", "hs": "GE"}
_MEMORY = {"ld": "LD", "ldu": "LD", "st": "ST", "atom": "ATOM", "red": "ATOM"}
_SPACES = {"global": "G", "shared": "S", "local": "L", "const": "C", "param": ""}
_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
#: Modifiers of machine code by the bytes of an access.
_MODIFIERS = {1: ".U8", 2: ".U16", 8: ".64", 16: ".128"}

#: Offset of the arguments in the constant bank, above all other contents.
_ARGUMENT_BASE = 0x400
#: Machine operand that stands for an unknown constant whose low half is 0.
_HIGH = "c[0x5][0x0]"
#: Comments, and directives about source files, which end without a semicolon.
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*\.(?:loc|file)\b[^\n]*", re.M | re.S)
_LEADING = re.compile(r"\s*(?:[{}]|([\w$%]+)\s*:(?!:))\s*")
_VARIABLE = re.compile(
    r"\.(shared|global|const|local)((?:\s+\.[a-z]+\s+\d+|\s+\.v\d)*)\s+\.(\w+)\s+([\w$]+)((?:\[\d*\])*)"
)
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+"
    r"(?:\.ptr(?:\s+\.(?:global|shared|const|local))?(?:\s+\.align\s+\d+)?\s+)?([\w$%]+)(?:\[(\d+)\])?"
)
_SPECIAL = re.compile(r"%(n?tid|n?ctaid)\.([xyz])$")
_NUMBER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?$|0[fFdD]([0-9a-fA-F]+)$")
_OPERAND = re.compile(r"\[[^\]]*\]|\{[^}]*\}|\([^)]*\)|[^,\s][^,]*")


#: A kernel of PTX text: function, names of arguments, instructions, their lines.
PtxKernel = tuple[KernelFunction, tuple[str, ...], list[Instruction], Mapping[int, int]]


def is_ptx(text: str) -> bool:
    """True if a text is PTX."""
    return re.search(r"^\s*\.version\s", text, re.M) is not None and ".target" in text


def find_entries(text: str, file: str) -> dict[str, int]:
    """Return the position at which each kernel begins in PTX text, by the kernel's name."""
    heads = re.finditer(r"\.entry\s+([\w$]+)", _blank_comments(text))
    places = {head[1]: head.end() for head in heads}
    if not places:
        raise DseError(f"{file} holds no kernel: expected PTX text with an .entry (nvcc -ptx)")
    return places


def _blank_comments(text: str) -> str:
    return _COMMENTS.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)


class PtxReader:
    """Reads a kernel of PTX text."""

    def __init__(self, text: str, name: str, head: int, file: str) -> None:
        self.text, self.name, self.file = _blank_comments(text), name, file
        self.begin = self.text.find("{", head)
        self.head = self.text[head : self.begin]
        self.end = closing_bracket(self.text, self.begin) - 1
        self.registers: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.shared_bytes = 0

    def read(self) -> PtxKernel:
        """Return the kernel."""
        no_code = DseError(f"{self.file} has no code of {self.name}: the text is cut")
        if self.begin < 0:
            raise no_code
        arguments, names = self._arguments()
        self._place_variables()
        statements, labels, lines = self._statements()
        if not statements:
            raise no_code
        body = []
        for at, statement in enumerate(statements):
            try:
                body.append(self._instruction(at, statement, labels))
            except DseError:
                raise
            except (IndexError, ValueError):
                where = f"{self.file} line {lines[at]}"
                raise DseError(f"{where}: {statement[:80]!r} is no PTX instruction") from None
        target = re.search(r"\.target\s+sm_(\d+)", self.text)
        function = KernelFunction(
            name=self.name,
            arch=int(target[1]) if target else 0,
            code=b"",
            registers=0,
            shared_bytes=self.shared_bytes,
            argument_base=_ARGUMENT_BASE,
            arguments=arguments,
        )
        return function, names, body, lines

    def _arguments(self) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]]:
        result, names, offset = [], [], 0
        for number, (align, kind, name, many) in enumerate(_PARAMETER.findall(self.head)):
            size = _type_size(kind)
            to = int(align or size)
            offset = -(-offset // to) * to
            result.append((offset, size * int(many or 1)))
            self.variables[name] = f"c[0x0][{_ARGUMENT_BASE + offset:#x}]"
            names.append(f"arg{number}" if name == f"{self.name}_param_{number}" else name)
            offset += size * int(many or 1)
        return tuple(result), tuple(names)

    def _place_variables(self) -> None:
        body = self.text[self.begin : self.end]
        arrays = 0
        for space, more, kind, name, many in _VARIABLE.findall(self.text):
            named = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", body)
            if name in self.variables or named is None:
                continue
            size = _type_size(kind)
            align = re.search(r"\.align\s+(\d+)", more)
            if space != "shared":
                self.variables[name] = f"c[0x4][{8 * arrays:#x}]"
                arrays += 1
                continue
            to = max(int(align[1]) if align else size, 1)
            self.shared_bytes = -(-self.shared_bytes // to) * to
            self.variables[name] = f"{self.shared_bytes:#x}"
            lengths = (int(each or 0) for each in re.findall(r"\[(\d*)", many))
            self.shared_bytes += size * math.prod(lengths)

    def _statements(self) -> tuple[list[str], dict[str, int], dict[int, int]]:
        """Return the statements, the statement index of each label, and each statement's line."""
        statements, labels, lines = list[str](), dict[str, int](), dict[int, int]()
        line, counted = 1, 0
        for match in re.compile(r"[^;]+").finditer(self.text, self.begin + 1, self.end):
            at = match.start()
            while leading := _LEADING.match(self.text, at, match.end()):
                if leading[1]:
                    labels[leading[1]] = len(statements)
                at = leading.end()
            rest = self.text[at : match.end()]
            statement = " ".join(rest.split())
            if not statement or statement.startswith("."):
                continue
            at += len(rest) - len(rest.lstrip())
            line, counted = line + self.text.count("\n", counted, at), at
            lines[len(statements)] = line
            statements.append(statement)
        return statements, labels, lines

    def _instruction(self, index: int, statement: str, labels: Mapping[str, int]) -> Instruction:
        guard, rest = statement.split(" ", 1) if statement.startswith("@") else ("", statement)
        name, _, text = rest.partition(" ")
        first, *parts = name.split(".")
        operands = [each.strip() for each in _OPERAND.findall(text)]
        if first == "bra":
            if operands[-1] not in labels:
                raise DseError(f"{self.file}: {statement!r} leads to no label of {self.name}")
            written, operation = list[str](), f"BRA {labels[operands[-1]] * WORD:#x}"
        else:
            written, operation = self._operation(first, parts, operands)
        opcode, _, text = operation.partition(" ")
        mark = "!" if guard.startswith("@!") else ""
        guard = mark + self._predicate(guard.lstrip("@!")) if guard else ""
        one = Instruction(index, opcode, text, guard)
        one.kind = _instruction_kind(first, parts, one.kind)
        one.results = tuple(written)
        return one

    def _operation(self, name: str, parts: list[str], operands: list[str]) -> tuple[list[str], str]:
        """Return the registers that an operation writes, and the equivalent machine operation."""
        if name == "setp":
            return self._comparison(parts, operands)
        if name in _MEMORY or (name == "cp" and len(operands) > 1):
            return self._access(name, parts, operands)
        predicates = "pred" in parts
        read = self._predicate if predicates else self._value
        if not operands and name not in _OPAQUE_OPCODES:
            return [], "NOP"
        writes = name not in _NO_RESULT and bool(operands)
        written = self._destinations(operands[0], predicates) if writes else []
        rest = operands[1:] if writes else operands
        if name == "selp":
            values = [*map(self._value, rest[:2]), *map(self._predicate, rest[2:])]
        else:
            values = [each for operand in rest for each in self._values(operand, read)]
        if name == "and":
            values = ["0x0" if each == _HIGH else each for each in values]
        form = (_PREDICATE_FORMS if predicates else _INTEGER_FORMS).get(name)
        kinds = _float_types(parts)
        if name == "cvt" and kinds and "pred" not in parts:
            is_from, is_to = (each in kinds for each in (parts[-1], parts[-2]))
            form = "F2I {d},{a}" if is_from else "I2F {d},{a}"
            form = "MOV {d},{a}" if is_from == is_to else form
        elif kinds and name not in ("mov", "selp"):
            form = None
        if name == "mul" and "wide" in parts:
            form = "WIDE {d},{a},{b}"
        if form is None:
            opcode = _opaque_opcode(name, parts)
            if opcode.startswith("MUFU") and not values:
                raise ValueError
            return written, f"{opcode} {','.join([*written[:1], *values])}"
        values += [""] * (3 - len(values)) if len(values) >= form.count("{") - 1 else []
        text = form.format(d=written[0], a=values[0], b=values[1], c=values[2])
        opcode, _, text = text.partition(" ")
        opcode += ".HI" if opcode == "IMAD" and "hi" in parts else ""
        opcode += ".U32" if parts and parts[-1].startswith("u") else ""
        return written, f"{opcode} {text.replace('--', '')}"

    def _comparison(self, parts: list[str], operands: list[str]) -> tuple[list[str], str]:
        written = [self._predicate(each) for each in operands[0].split("|")]
        values = [self._value(each) for each in operands[1:3]]
        other = [self._predicate(each) for each in operands[3:4]] or ["PT"]
        if len(values) < 2:
            raise ValueError
        if _float_types(parts) or "xor" in parts:
            return written, f"FSETP {','.join([*written, *values, *other])}"
        word = _UNSIGNED_COMPARISONS.get(parts[0], parts[0].upper())
        sign = ".U32" if parts[-1].startswith("u") or parts[0] in _UNSIGNED_COMPARISONS else ""
        join = "OR" if "or" in parts else "AND"
        both = ",".join([written[0], *(written[1:] or ["PT"]), *values, *other])
        return written, f"ISETP.{word}{sign}.{join} {both}"

    def _access(self, name: str, parts: list[str], operands: list[str]) -> tuple[list[str], str]:
        """Return the registers and the operation, in machine code, of a load, store or atomic."""
        if name == "cp":
            width = int(operands[2]) if operands[2:3] and operands[2].isdigit() else 4
            places = ",".join(self._value(each) for each in operands[:2])
            return [], f"LDGSTS{_MODIFIERS.get(width, '')} {places}"
        spaces = [each for each in (part.split("::")[0] for part in parts) if each in _SPACES]
        space = spaces[0] if spaces else "global"
        loads = name in ("ld", "ldu", "atom")
        written = self._destinations(operands[0], False) if loads else []
        values = [each for operand in operands[1 if loads else 0 :]
                  for each in self._values(operand, self._value)]  # fmt: skip
        if space == "param":
            constant = re.match(r"\[c(.*)\]$", values[0])
            if constant and loads:
                return written, f"MOV {written[0]},c{constant[1]}"
            return written, f"PARAM {','.join(values)}"
        many = next((int(part[1:]) for part in parts if re.fullmatch(r"v\d", part)), 1)
        opcode = f"{_MEMORY[name]}{_SPACES[space]}"
        opcode = "RED" if name == "red" and space != "shared" else opcode
        opcode += _MODIFIERS.get(many * _type_size(parts[-1]), "")
        return written, f"{opcode} {','.join([*written[:1], *values])}"

    def _destinations(self, operand: str, predicate: bool) -> list[str]:
        names = re.split(r"[\s,|]+", operand.strip("{} "))
        if predicate:
            return [self._predicate(each) for each in names]
        return [self._register(each) for each in names if each != "_"]

    def _values(self, operand: str, read: Callable[[str], str]) -> list[str]:
        if operand.startswith(("{", "(")):
            return [self._value(each.strip()) for each in operand[1:-1].split(",") if each.strip()]
        return [read(operand)]

    def _register(self, name: str) -> str:
        """Return the machine register that stands for a PTX register of any width."""
        return self.registers.setdefault(name, f"R{4 * len(self.registers)}")

    def _predicate(self, name: str) -> str:
        if name.startswith("!"):
            return f"!{self._predicate(name[1:])}"
        if (number := _NUMBER.match(name)) is not None:
            return "!PT" if number[2] == "0" else "PT"
        return self.registers.setdefault(name, f"P{4 * len(self.registers)}")

    def _value(self, operand: str) -> str:
        if operand.startswith("["):
            parts = [each.strip() for each in re.split(r"[+,]", operand[1:-1].strip("{} "))]
            return f"[{self._address(parts)}]"
        if (number := _NUMBER.match(operand)) is not None:
            if number[3]:
                return f"0x{number[3]}"
            digits = number[2].lstrip("0") if number[2].isdigit() else number[2]
            size = int(digits or "0", 0)
            if size >= 2**32:  # more than 32 bits; the low half stands for the pair
                return f"c[0x5][{size:#x}]" if size % 2**32 else _HIGH
            return f"{number[1]}{size:#x}"
        if (special := _SPECIAL.match(operand)) is not None:
            return f"SR_{special[1].upper()}.{special[2].upper()}"
        if operand in self.variables:
            return self.variables[operand]
        named = {"%laneid": "SR_LANEID", "WARP_SZ": "0x20"}
        if operand in named:
            return named[operand]
        if operand.startswith("-"):
            return f"-{self._value(operand[1:])}"
        return self._register(operand)

    def _address(self, parts: list[str]) -> str:
        values = [self._value(each.strip("{} ")) for each in parts if each]
        first, *rest = values or ["RZ"]
        if (constant := re.match(r"c\[0x0\]\[(\w+)\]", first)) and rest:
            return f"c[0x0][{int(constant[1], 16) + int(rest[0], 16):#x}]"
        return "+".join(values)


def _instruction_kind(name: str, parts: list[str], kind: str) -> str:
    """Return the class of an operation, from Table 7 of Hong 2012 if it has the operation."""
    floating = next(iter(_float_types(parts)), "")
    if name in _ALU and "param" not in parts:
        return "move"
    if name in ("lg2", "ex2", "fma", "copysign", "testp") or (name in _INTEGER and floating):
        return _KINDS.get(floating, "fp16" if floating else "fp32")
    if name in _INTEGER:
        return "integer"
    return "other" if name in ("ld", "ldu", "st") and "param" in parts else kind


def _float_types(parts: list[str]) -> list[str]:
    return [part for part in parts if re.match(r"b?t?f\d", part)]


def _opaque_opcode(name: str, parts: list[str]) -> str:
    if name == "bar" and "warp" in parts:
        return "WARPSYNC"
    if name in _OPAQUE_OPCODES:
        return _OPAQUE_OPCODES[name]
    if not (kinds := _float_types(parts)):
        return f"PTX{name.upper()}"
    before, behind = _WIDTHS.get(kinds[-1], ("H", "2"))
    return f"{before}{_FLOATING.get(name, name.upper())}{behind}"


def _type_size(kind: str) -> int:
    bits = re.search(r"(\d+)(x2)?$", kind)
    return _BYTES.get(bits[1], 4) * (2 if bits[2] else 1) if bits else 4
