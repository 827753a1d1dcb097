"""A kernel of a file, found by its name and compiled where it is source, counted at a launch."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from dse.kernels.affine import Atom
from dse.kernels.compile import built, capability, included
from dse.kernels.counted import Counted, told
from dse.kernels.cubin import Function, disassembled, functions, source_lines
from dse.kernels.formula import quantity_names
from dse.kernels.instructions import WORD, Instruction
from dse.kernels.launch_values import Launch
from dse.kernels.loop_counts import Reading
from dse.kernels.ptx import Reader, entries, is_ptx
from dse.kernels.source import Signature, plain, signatures
from symbolic.errors import DseError, check_known

_Kernel = TypeVar("_Kernel")
#: The first instruction, as ``cuobjdump -sass`` and ``nvdisasm -c`` list it.
_LISTING = re.compile(r"^\s*/\*0{4,}\*/\s", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A kernel's machine code, and the names of its arguments.

    Of PTX the instructions are read already, into ``body``, with their ``lines``.
    """

    function: Function
    cubin: bytes
    origin: str
    names: Sequence[str] = ()
    source: Sequence[str] = ()
    left_out: Sequence[str] = ()
    body: Sequence[Instruction] = ()
    lines: Mapping[int, int] = field(default_factory=dict)

    @property
    def arguments(self) -> dict[int, str]:
        """The names of arguments by their offsets."""
        names = dict(enumerate(self.names))
        offsets = enumerate(offset for offset, _ in self.function.arguments)
        return {offset: names.get(number, f"arg{number}") for number, offset in offsets}

    @property
    def quantities(self) -> dict[int, str]:
        """The names of quantities that stand for arguments, by their offsets."""
        return dict(zip(self.arguments, quantity_names([*self.arguments.values()]), strict=True))

    @property
    def offsets(self) -> dict[str, int]:
        """The offsets of arguments by their names in the source, and by those of quantities."""
        named = {name: offset for offset, name in self.quantities.items()}
        return named | {name: offset for offset, name in self.arguments.items()}


def code_of(
    file: Path,
    *,
    entry: str,
    arch: str,
    define: Mapping[str, object],
    options: Sequence[str],
) -> Code:
    """Return the machine code of a kernel of a file."""
    data, called = file.read_bytes(), file.name.encode("utf-8", "replace").decode()
    is_code = data[:4] in (b"\x7fELF", b"\x50\xed\x55\xba") or file.suffix == ".cubin"
    try:
        text = "" if is_code else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DseError(
            f"{file} is neither text nor machine code: expected CUDA source (.cu), a .cubin "
            "or PTX (.ptx)"
        ) from None
    of_ptx = not is_code and (file.suffix == ".ptx" or is_ptx(text))
    if (is_code or of_ptx) and (define or options):
        raise DseError(
            f"{file} is compiled already: macros and options of a compiler "
            "(--define, --option) are of source"
        )
    if is_code:
        function = _chosen(functions(data), entry, str(file))
        return Code(function=function, cubin=data, origin=f"{called}, sm_{function.arch}")
    if of_ptx:
        heads = entries(text, str(file))
        chosen = _chosen({name: name for name in heads}, entry, str(file))
        function, names, body, lines = Reader(text, chosen, heads[chosen], str(file)).read()
        of: dict[str, Any] = {
            "names": names,
            "source": text.splitlines(),
            "body": body,
            "lines": lines,
        }
        return Code(function=function, cubin=b"", origin=f"{called}, PTX", **of)
    if _LISTING.search(text):
        raise DseError(
            f"{file} lists machine code as text: give the cubin itself (cuobjdump -xelf all, "
            "nvcc -cubin), its CUDA source, or PTX"
        )
    number, own = capability(arch), dict(signatures(text))
    known: dict[str, Signature] = {}
    for each in included(text, file, options).values():
        known |= signatures(each)
    known |= own
    name = entry.partition("<")[0].rpartition("::")[2]
    beside = own if own and (not entry or name in own) else known
    if not beside:
        raise DseError(
            f"{file} has no kernel, nor has what it includes of files that were found: a function "
            "marked __global__ was expected (--include FOLDER names where headers lie)"
        )
    wanted = _wanted(entry, beside, str(file))
    plain = wanted.partition("<")[0]
    qualified = "::".join(filter(None, (known[plain].space, wanted)))
    cubin, lowered, left_out = built(
        text, number, file, define=define, options=options, wanted=qualified
    )
    found = functions(cubin)
    function = found.get(lowered) or _chosen(found, plain, str(file))
    return Code(
        function=function,
        cubin=cubin,
        origin=f"{called} ({wanted}), compiled for sm_{function.arch}",
        names=known[plain].arguments,
        source=beside[plain].text.splitlines(),
        left_out=left_out,
    )


def _wanted(entry: str, known: Mapping[str, Signature], file: str) -> str:
    name = entry.partition("<")[0].rpartition("::")[2]
    entry = name + entry[len(entry.partition("<")[0]) :]
    if not entry:
        if len(known) > 1:
            raise DseError(
                f"{file} has {len(known)} kernels: {', '.join(known)}; name one by entry (--entry)"
            )
        (name,) = known
        entry = name
    check_known(name, known, f"{file} has no kernel {name!r}")
    if known[name].template and "<" not in entry:
        raise DseError(
            f"{name} is a template ({known[name].template}): name it with its arguments, such as "
            f"--entry '{name}<float>'"
        )
    return entry


def _chosen(found: Mapping[str, _Kernel], entry: str, file: str) -> _Kernel:
    fits = [name for name in found if not entry or entry == name or plain(name) == entry]
    if len(fits) == 1:
        return found[fits[0]]
    if not found:
        raise DseError(f"{file} has no kernel")
    names = ", ".join(map(plain, found))
    raise DseError(f"{file} has the kernels {names}: name one of them by entry (--entry)")


#: What names of what is asked begin with.
_ASKED = {
    "trips": "passes of the loop",
    "chance": "share of threads that branch",
    "loaded": "value loaded",
}


def counted(file: Path, define: Mapping[str, object], told: Mapping[str, Any]) -> Counted:
    """Return the quantities of a kernel of a file; ``told`` are options of :func:`dse.kernel`."""
    of = {name: told[name] for name in ("entry", "arch", "options")}
    code = code_of(file, define=define, **of)
    (body,) = bodies([code])
    reading = Reading(code.function, body, lines_wanted(code, body))
    return counts_of(code, reading, told["block"], told["grid"], told["set"], told["times"])


def bodies(codes: Sequence[Code]) -> list[list[Instruction]]:
    """Return the instructions of each kernel; the disassembler runs once."""
    told = iter(disassembled([each.function for each in codes if not each.body]))
    return [list(each.body) or next(told) for each in codes]


def lines_wanted(code: Code, body: Sequence[Instruction]) -> dict[int, int]:
    """The lines of the source, where there is a loop or branch that they name."""
    lines = code.lines
    if code.cubin and code.source and any(one.guards for one in body):
        lines = source_lines(code.cubin, code.function.name)
    return {one.at: lines[one.of] for one in body if one.of in lines}


def counts_of(
    code: Code,
    reading: Reading,
    block: Sequence[int],
    grid: Sequence[int],
    given: Mapping[str, float],
    asked: Mapping[str, float],
    kept: dict[Any, dict[Any, Any]] | None = None,
) -> Counted:
    """The quantities of a kernel that was read, at a launch.

    ``kept``, where it is given, holds what kernels that are counted in turn have in common.
    """
    sizes = [_sizes(each, name) for each, name in ((block, "block"), (grid or (1,), "grid"))]
    offsets, quantity = code.offsets, code.quantities
    for name in given:
        check_known(name, offsets, f"the kernel has no argument {name!r}")
    for name in asked:
        said = f"nothing is asked by the name {name!r}"
        said += " (loops are followed, or asked for by their lines)" if code.body else ""
        check_known(name, reading.asked, said, "asked for")
    _complete(code, reading, given, asked)
    values = {offsets[name]: _whole(name, value) for name, value in given.items()}
    pointers = code.function.pointers
    alike = (*sizes, pointers, *(frozenset(each.items()) for each in (values, asked)))
    common = {} if kept is None else kept.setdefault(alike, {})
    launch = Launch(
        sizes[1], sizes[0], values, asked, reading.passes, pointers=pointers, kept=common
    )
    names = {Atom("argument", (offset,)): name for offset, name in quantity.items()}
    if launch.is_of_one_axis() and sizes[0][0] > 1:
        names[Atom("special", ("ntid.x",))] = "threads_per_block"
        names |= {Atom("special", ("nctaid.x",)): "blocks"} if grid else {}
    declared = {
        quantity[offset]: (f"argument {code.arguments[offset]} of the kernel", float(value))
        for offset, value in values.items()
    }
    declared |= {name: ("of the data of the kernel", value) for name, value in asked.items()}
    known = {atom: name for atom, name in names.items() if name in declared}
    known |= {Atom("asked", (name,)): name for name in asked}
    known |= {Atom("special", ("ntid.x",)): "threads_per_block"}
    known |= {Atom("special", ("nctaid.x",)): "elements"} if grid else {}
    found = told(reading, launch, names, known, math.prod(sizes[1]) if grid else None)
    of_all = {**declared, **found.declared}
    return replace(found, declared=of_all, origin=code.origin, left_out=code.left_out)


def _sizes(given: Sequence[Any], name: str) -> tuple[int, int, int]:
    """Return the sizes of a block or grid in x, y and z."""
    try:
        sizes = [int(each) for each in given]
        right = 1 <= len(sizes) <= 3 and all(
            1 <= size < 2**31 and size == float(each)
            for size, each in zip(sizes, given, strict=True)
        )
    except (TypeError, ValueError, OverflowError):
        right = False
    if not right:
        raise DseError(f"{name} = {tuple(given)}: expected one to three whole numbers from 1 on")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _whole(name: str, value: float) -> int:
    if not math.isfinite(value) or abs(value) >= 2**63:
        raise DseError(f"the argument {name} = {value}: expected a number of 64 bits")
    return int(value)


def _complete(
    code: Code, reading: Reading, given: Mapping[str, float], asked: Mapping[str, float]
) -> None:
    """Raise where a count rests on what was not given."""
    lacking = []
    for name, at in reading.asked.items():
        if name in asked:
            continue
        told_line = re.search(r"_line_(\d+)", name)
        line = int(told_line[1]) if told_line else 0
        text = code.source[line - 1].strip() if 0 < line <= len(code.source) else ""
        place = f"instruction {at * WORD:#x}"
        where = f"line {line}: {text}" if text else f"line {line}, {place}" if line else place
        word = name.partition("_")[0]
        lacking.append(f"  {name}: the {_ASKED[word]} at {where}")
    have = {code.offsets[name] for name in given}
    wanted = [offset for offset in reading.needed() if offset not in have]
    names = [code.arguments.get(offset, f"bytes {offset}") for offset in wanted]
    lacking += [f"  {name}: an argument of the kernel" for name in names]
    if lacking:
        raise DseError(
            f"the counts of {code.function.name} rest on what is not in its code:\n"
            + "\n".join(lacking)
            + "\ngive each its value: arguments by set (--set NAME=VALUE), the others by times "
            "(--times NAME=VALUE)"
        )
