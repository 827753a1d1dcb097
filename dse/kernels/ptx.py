"""The instructions of one thread of a CUDA kernel, counted in its PTX text.

The thesis counts them by an emulator (Hong 2012, §2.6.2 and §3.8.2) and asks for a count by basic
blocks of an intermediate representation (§7.1.1): this is it. How often a loop runs is told by who
asks; of a branch forward both ways are counted, as a warp that diverges pays for both (§2.6.5).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from dse.toml_text import toml_number, toml_value, value_line
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.library import file_text

__all__ = ["kernel", "workload_text"]

#: Hong 2012, Table 7: the operations of each unit; the first are ``int`` or ``fp`` by their type.
_OPERATIONS = {
    "": "add addc sub subc mul mul24 mad mad24 fma sad div rem abs neg min max",
    "fp": "lg2 ex2",
    "sfu": "sin cos rcp sqrt rsqrt",
    "alu": "and or xor not cnot shl shr mov cvt set setp selp slct",
    "texture": "tex tld4",
}
_UNITS = {name: unit for unit, names in _OPERATIONS.items() for name in names.split()}
_SPACES = ("global", "local", "shared", "const")
#: Operations that touch no register file in Table 7.
_CONTROL = ("bra", "brx", "bar", "barrier", "call", "ret", "exit", "trap", "membar")
#: Hong 2012, Table 6: the classes of long operations, by the name and the kind of an operation.
_CLASSES = {
    "fp_div_insts": {("div", "fp")},
    "int_mul_insts": {("mul", "int"), ("mad", "int")},
    "int_div_insts": {("div", "int")},
    "int_mod_insts": {("rem", "int")},
}

#: Comments, and lines that tell of source files, which end without a semicolon.
_UNSAID = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/|^\s*\.(?:loc|file)\b[^\n]*", re.MULTILINE)
_REGISTER = re.compile(r"%(?!(?:n?tid|n?ctaid|laneid|n?warpid|n?smid|clock)\b)\w+")
#: An array that a block shares: its type, name and size.
_ARRAY = re.compile(r"\.shared\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)\[(\d+)\]")
_LEADING = re.compile(r"(?:[{}]\s*|([\w$%]+)\s*:(?!:)\s*)")
_WIDTHS = {"f16": 2, "b16": 2, "u16": 2, "s16": 2, "b8": 1, "u8": 1, "s8": 1}
_WIDTHS |= {"f64": 8, "b64": 8, "u64": 8, "s64": 8}


@dataclass(frozen=True, slots=True)
class _Instruction:
    """An operation with its modifiers, what it writes and reads, and where it jumps."""

    parts: tuple[str, ...]
    writes: frozenset[str]
    reads: frozenset[str]
    target: str = ""
    labels: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The unit of Table 7, the space of an access, ``sync``, or ``other``."""
        name = self.parts[0]
        if name in ("ld", "ldu", "st", "atom", "red"):
            return next((space for space in _SPACES if space in self.parts), "other")
        if name in ("bar", "barrier"):
            return "sync"
        floating = any(re.match(r"b?f\d", part) for part in self.parts)
        return _UNITS.get(name, "other") or ("fp" if floating else "int")

    @property
    def loads(self) -> bool:
        return self.parts[0] != "st" and self.kind in ("global", "local")

    @property
    def bytes(self) -> float:
        words = {"v2": 2, "v4": 4}
        many = next((words[part] for part in self.parts if part in words), 1)
        return many * float(_WIDTHS.get(self.parts[-1], 4))


def kernel(
    path: str | PathLike[str], times: Mapping[str, float] | None = None, entry: str = ""
) -> dict[str, float]:
    """Instructions of one thread of a kernel, by the names of quantities: inputs of the models.

    Parameters
    ----------
    path : path
        A PTX file, as ``nvcc -ptx`` writes it.
    times : mapping
        How often the body of each loop runs, by the label that it jumps back to.
    entry : str
        The kernel, where the file holds several.

    Returns
    -------
    dict
        Instructions by unit (Hong 2012, Table 7: ``fp_insts`` without the fused ones,
        ``fp64_insts``, ``int_insts``, ``sfu_insts`` ...), ``comp_insts``, ``coalesced_insts``,
        ``sync_insts``;
        ``fp_div_insts`` and the other classes of Table 6 (model ``instruction_classes``);
        ``mem_strength``, loads before the first use of one (§5.3.7); ``dependency_distance``,
        mean instructions until a result is read (§5.3.4);
        ``bytes_per_thread`` [B] of an access, ``shared_mem_per_block`` [B]. All accesses are
        taken as coalesced, since their addresses are not in the text.

    Raises
    ------
    DseError
        No kernel in the file, or several and none named; a loop whose times are not given.
    """
    text = _UNSAID.sub(" ", file_text(Path(path)))
    listing, shared = _body(text, str(path), entry)
    counts = _executed(listing, times or {}, str(path))
    return _told(listing, counts) | {"shared_mem_per_block": shared}


def _body(text: str, path: str, entry: str) -> tuple[list[_Instruction], float]:
    """The instructions of a kernel, and the bytes it shares."""
    found = {match[1]: match.end() for match in re.finditer(r"\.entry\s+([\w$]+)", text)}
    if not found:
        raise DseError(f"{path} holds no kernel: expected PTX text with an .entry, as of nvcc -ptx")
    if entry not in found and (entry or len(found) > 1):
        raise UnknownNameError(
            f"{path} holds the kernels {', '.join(found)}: name one of them as entry"
            f"{f', not {entry!r}{nearest(entry, found)}' if entry else ''}"
        )
    start = text.index("{", found[entry or next(iter(found))])
    depth, end = 0, start
    for end in range(start, len(text)):
        depth += (text[end] == "{") - (text[end] == "}")
        if depth == 0:
            break
    body, listing, labels = text[start:end], [], []
    for statement in body.split(";"):
        rest = " ".join(statement.split())
        while leading := _LEADING.match(rest):
            labels += [leading[1]] if leading[1] else []
            rest = rest[leading.end() :]
        if rest and not rest.startswith("."):
            listing.append(_read(rest, tuple(labels)))
            labels = []
    shared = 0.0
    for kind, name, size in _ARRAY.findall(text):
        if re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", body):
            shared += float(_WIDTHS.get(kind, 4)) * int(size)
    return listing, shared


def _read(statement: str, labels: tuple[str, ...]) -> _Instruction:
    guard, rest = statement.split(" ", 1) if statement.startswith("@") else ("", statement)
    name, _, operands = rest.partition(" ")
    parts = tuple(name.split("."))
    first = re.match(r"\s*(\{[^}]*\}|[^,]*)", operands)
    stores = parts[0] in ("st", "red", *_CONTROL)
    written = "" if stores or not first else first[1]
    read = f"{guard} {operands[len(written) :]}"
    target = operands.strip() if parts[0] == "bra" else ""
    writes, reads = (frozenset(_REGISTER.findall(part)) for part in (written, read))
    return _Instruction(parts, writes, reads, target, labels)


def _executed(listing: list[_Instruction], times: Mapping[str, float], path: str) -> list[float]:
    """How often each instruction runs: the product of the times of the loops around it."""
    places = {label: place for place, each in enumerate(listing) for label in each.labels}
    ends: dict[str, int] = {}
    for place, each in enumerate(listing):
        if each.target and places.get(each.target, place + 1) <= place:
            ends[each.target] = place
    if set(times) != set(ends):
        loops = ", ".join(ends) or "none"
        given = ", ".join(times) or "none"
        raise DseError(
            f"{path} has the loops {loops}, and times are given of {given}: expected how often the "
            "body of each loop runs, such as times={'LOOP': 100}"
        )
    for label, n in times.items():
        if not 0 <= n < math.inf:
            raise DseError(f"times of {label} are {n}: expected a number of 0 or more")
    counts = [1.0] * len(listing)
    for label, end in ends.items():
        for place in range(places[label], end + 1):
            counts[place] *= times[label]
    return counts


def _told(listing: list[_Instruction], counts: list[float]) -> dict[str, float]:
    pairs = list(zip(listing, counts, strict=True))

    def total(*kinds: str, names: tuple[str, ...] = ()) -> float:
        return sum(
            n for one, n in pairs if one.kind in kinds and (not names or one.parts[0] in names)
        )

    fused = total("fp", names=("fma", "mad"))
    accesses = [(one, n) for one, n in pairs if one.kind in ("global", "local")]
    requests = sum(n for _, n in accesses)
    computing = [(one, n) for one, n in pairs if one.kind not in ("global", "local", "sync")]
    comp = sum(n for _, n in computing)
    doubles = sum(n for one, n in pairs if one.kind == "fp" and "f64" in one.parts)
    units = {f"{unit}_insts": total(unit) for unit in ("int", "sfu", "alu", "texture", *_SPACES)}
    register = sum(n for one, n in pairs if one.parts[0] not in _CONTROL)
    found = {"comp_insts": comp, "coalesced_insts": requests, "uncoalesced_insts": 0.0}
    found |= {"sync_insts": total("sync"), "fp_insts": total("fp") - fused, "fp_fused_insts": fused}
    found |= units | {"fp64_insts": doubles}
    found |= {"misc_insts": comp - total("fp", "int"), "register_insts": register}
    for name, operations in _CLASSES.items():
        found[name] = sum(n for one, n in computing if (one.parts[0], one.kind) in operations)
    found["mem_strength"] = _mean(_strengths(pairs))
    found["dependency_distance"] = _mean(_distances(pairs))
    found["bytes_per_thread"] = _mean((one.bytes, n) for one, n in accesses) if accesses else 4.0
    return found


def _mean(weighed: Iterator[tuple[float, float]]) -> float:
    values = list(weighed)
    total = sum(n for _, n in values)
    return sum(value * n for value, n in values) / total if total else 1.0


def _strengths(pairs: list[tuple[_Instruction, float]]) -> Iterator[tuple[float, float]]:
    """Loads that are in flight when the first of them is used, and how often they are."""
    flying: set[str] = set()
    many, often = 0, 0.0
    for one, n in pairs:
        if many and (one.reads & flying or one.labels or one.kind == "sync" or n != often):
            yield many, often
            many, flying = 0, set()
        if one.loads:
            many, often, flying = many + 1, n, flying | one.writes
    if many:
        yield many, often


def _distances(pairs: list[tuple[_Instruction, float]]) -> Iterator[tuple[float, float]]:
    """Instructions from a result of computation to the next that reads it, within a block."""
    written: dict[str, int] = {}
    for place, (one, n) in enumerate(pairs):
        if one.labels:
            written = {}
        near = [written[name] for name in one.reads if name in written]
        if near:
            yield place - max(near), n
        for name in one.writes:
            written.pop(name, None)
            if not one.loads:
                written[name] = place
        if one.target:
            written = {}


def workload_text(path: str, found: Mapping[str, float]) -> str:
    """A workload file of what :func:`kernel` found."""
    counted = "source", f"{path}, counted by dse kernel"
    taken = "assumed", "addresses are not in PTX: every access is taken as coalesced"
    rows: dict[str, tuple[float | str, str, str]] = {
        name: (value, *(taken if name.endswith("coalesced_insts") else counted))
        for name, value in found.items()
    }
    if found["fp_fused_insts"]:
        why = "fused multiply-adds keep the floating-point units as busy as others"
        rate = "(fp_insts + fp_fused_insts) * issue_rate"
        rows["access_rate_fp"] = rate, "assumed", why
    lines = [
        value_line(name, toml_number(value), origin, text)
        for name, (value, origin, text) in rows.items()
    ]
    return "\n".join([f"title = {toml_value(Path(path).stem)}", "", "[values]", *lines])
