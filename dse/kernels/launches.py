"""A kernel of a file at a launch: found, compiled where it is source, and counted."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.kernels.assembly import Instruction
from dse.kernels.compiling import capability
from dse.kernels.counted import Counted, told
from dse.kernels.cubin import Function, functions
from dse.kernels.disassembly import disassembled
from dse.kernels.evaluate import Launch
from dse.kernels.hosted import built
from dse.kernels.linear import Atom
from dse.kernels.lines import source_lines
from dse.kernels.sass import Listed, is_sass, listed
from dse.kernels.signature import plain
from dse.kernels.source import Signature, signatures
from dse.kernels.tally import Reading, read
from symbolic.errors import DseError, nearest
from symbolic.quantities import TABLE

__all__ = ["Code", "bodies", "code_of", "counted", "counts_of", "lines_wanted"]


#: What names of what is asked begin with.
_ASKED = {
    "trips": "passes of the loop",
    "chance": "share of threads that branch",
    "loaded": "value loaded",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A kernel's machine code, and the names of its arguments; of a listing its instructions."""

    function: Function
    cubin: bytes
    arguments: Mapping[int, str]
    origin: str
    source: Sequence[str] = ()
    left_out: Sequence[str] = ()
    listing: Listed | None = None


def code_of(
    file: Path,
    *,
    entry: str,
    arch: str,
    define: Mapping[str, object],
    options: Sequence[str],
    names: Sequence[str] = (),
    source: Sequence[str] = (),
) -> Code:
    """The machine code of a kernel of a file; of a cubin with what it does not say, if known."""
    data = file.read_bytes()
    if data[:4] in (b"\x7fELF", b"\x50\xed\x55\xba") or file.suffix == ".cubin":
        _no_source(file, define, options)
        function = _chosen(functions(data), entry, str(file))
        return Code(
            function=function,
            cubin=data,
            arguments=_named(function, names),
            origin=f"{file.name}, sm_{function.arch}",
            source=source,
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DseError(
            f"{file} is neither text nor machine code: expected CUDA source (.cu), a .cubin "
            "or PTX (.ptx)"
        ) from None
    if is_sass(text):
        _no_source(file, define, options)
        return _of_listing(listed(text, str(file)), entry, arch, file)
    number = capability(arch)
    known = signatures(text)
    if not known:
        raise DseError(f"{file} has no kernel: a function marked __global__ was expected")
    wanted = _wanted(entry, known, str(file))
    plain = wanted.partition("<")[0]
    qualified = "::".join(filter(None, (known[plain].space, wanted)))
    code = built(text, number, file, define=define, options=options, wanted=qualified)
    found = functions(code.cubin)
    function = found.get(code.lowered) or _chosen(found, plain, str(file))
    return Code(
        function=function,
        cubin=code.cubin,
        arguments=_named(function, known[plain].arguments),
        origin=f"{file.name} ({wanted}), compiled for sm_{function.arch}",
        source=text.splitlines(),
        left_out=code.left_out,
    )


def _no_source(file: Path, define: Mapping[str, object], options: Sequence[str]) -> None:
    if define or options:
        raise DseError(
            f"{file} is machine code, compiled already: macros and options of a compiler "
            "(--define, --option) are of source"
        )


def _of_listing(found: Sequence[Listed], entry: str, arch: str, file: Path) -> Code:
    """The kernel of a listing, in which functions of one name may be of several architectures."""
    archs = sorted({each.function.arch for each in found})
    of_arch = [each for each in found if len(archs) == 1 or f"sm_{each.function.arch}" == arch]
    if not of_arch:
        several = ", ".join(f"sm_{each}" for each in archs)
        raise DseError(f"{file} lists code for {several}, not for {arch}: name one by arch")
    names = {each.function.name: each for each in of_arch}
    function = _chosen({name: each.function for name, each in names.items()}, entry, str(file))
    return Code(
        function=function,
        cubin=b"",
        arguments=_named(function, ()),
        origin=f"{file.name}, sm_{function.arch}",
        listing=names[function.name],
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
    if name not in known:
        raise DseError(
            f"{file} has no kernel {name!r}, of {', '.join(known)}{nearest(name, known)}"
        )
    if known[name].template and "<" not in entry:
        raise DseError(
            f"{name} is a template ({known[name].template}): name it with its arguments, such as "
            f"--entry '{name}<float>'"
        )
    return entry


def _chosen(found: Mapping[str, Function], entry: str, file: str) -> Function:
    fits = [name for name in found if not entry or entry == name or plain(name) == entry]
    if len(fits) == 1:
        return found[fits[0]]
    if not found:
        raise DseError(f"{file} has no kernel")
    names = ", ".join(map(plain, found))
    raise DseError(f"{file} has the kernels {names}: name one of them by entry (--entry)")


def _named(function: Function, names: Sequence[str]) -> dict[int, str]:
    """The arguments' names by their offsets; those of quantities are marked."""
    found = {}
    for number, (offset, _) in enumerate(function.arguments):
        name = names[number] if number < len(names) else f"arg{number}"
        found[offset] = f"kernel_{name}" if name in TABLE else name
    return found


def counted(
    file: Path,
    *,
    entry: str,
    arch: str,
    define: Mapping[str, object],
    options: Sequence[str],
    block: Sequence[int],
    grid: Sequence[int],
    given: Mapping[str, float],
    asked: Mapping[str, float],
    names: Sequence[str] = (),
    source: Sequence[str] = (),
) -> Counted:
    """The quantities of a kernel of a file (see :func:`dse.kernel`)."""
    told: dict[str, Any] = {"entry": entry, "arch": arch, "define": define, "options": options}
    code = code_of(file, **told, names=names, source=source)
    (body,) = bodies([code])
    lines = lines_wanted(code, body)
    return counts_of(code, read(code.function, body, lines), block, grid, given, asked, lines)


def bodies(codes: Sequence[Code]) -> list[list[Instruction]]:
    """The instructions of each kernel; the disassembler is asked once."""
    asked = iter(disassembled([each.function for each in codes if each.listing is None]))
    return [next(asked) if each.listing is None else each.listing.body for each in codes]


def lines_wanted(code: Code, body: Sequence[Instruction]) -> dict[int, int]:
    """The lines of the source, where there is a loop or branch that they name."""
    lines = code.listing.lines if code.listing is not None else {}
    if code.source and any(one.guards for one in body):
        lines = source_lines(code.cubin, code.function.name)
    return {one.at: lines[one.of] for one in body if one.of in lines}


def counts_of(
    code: Code,
    reading: Reading,
    block: Sequence[int],
    grid: Sequence[int],
    given: Mapping[str, float],
    asked: Mapping[str, float],
    lines: Mapping[int, int] | None = None,
    kept: dict[Any, dict[Any, Any]] | None = None,
) -> Counted:
    """The quantities of a kernel that was read, at a launch.

    ``kept``, where it is given, holds what kernels that are counted in turn have in common.
    """
    sizes = [_sizes(each, name) for each, name in ((block, "block"), (grid or (1,), "grid"))]
    for name in given:
        if name not in code.arguments.values():
            raise DseError(
                f"the kernel has no argument {name!r}, of "
                f"{', '.join(code.arguments.values()) or 'none'}"
                f"{nearest(name, code.arguments.values())}"
            )
    for name in asked:
        if name not in reading.often.asked:
            raise DseError(
                f"nothing is asked by the name {name!r}{nearest(name, reading.often.asked)}; asked "
                f"for: {', '.join(reading.often.asked) or 'nothing'}"
            )
    _complete(code, reading, given, asked)
    offsets = {name: offset for offset, name in code.arguments.items()}
    values = {offsets[name]: int(value) for name, value in given.items()}
    pointers = code.function.pointers
    alike = (*sizes, pointers, *(frozenset(each.items()) for each in (values, asked)))
    common = {} if kept is None else kept.setdefault(alike, {})
    passes = reading.often.passes
    launch = Launch(sizes[1], sizes[0], values, asked, passes, pointers=pointers, kept=common)
    names = {Atom("argument", (offset,)): name for offset, name in code.arguments.items()}
    one = sum(size > 1 for size in sizes[0]) <= 1 and sum(size > 1 for size in sizes[1]) <= 1
    if one and sizes[0][0] > 1:
        names[Atom("special", ("ntid.x",))] = "threads_per_block"
        names |= {Atom("special", ("nctaid.x",)): "blocks"} if grid else {}
    blocks = math.prod(sizes[1]) if grid else None
    found = told(reading, launch, names, code.origin, lines, blocks)
    quantities = dict(found.quantities)
    threads = math.prod(sizes[0])
    quantities["threads_per_block"] = float(threads)
    formulas = dict(found.formulas)
    if grid:
        quantities["blocks"] = float(math.prod(sizes[1]))
        quantities["elements"] = quantities["blocks"] * threads
        if one:  # of another block as many as it takes
            formulas["blocks"] = "ceil(elements / threads_per_block)"
    about = {name: ("argument of the kernel", value) for name, value in given.items()}
    about |= {name: ("of the data of the kernel", value) for name, value in asked.items()}
    return replace(
        found,
        quantities=quantities,
        formulas=formulas,
        declared={**about, **found.declared},
        assumed={**(code.listing.assumed if code.listing else {}), **found.assumed},
        left_out=code.left_out,
    )


def _sizes(given: Sequence[int], name: str) -> tuple[int, int, int]:
    if not 1 <= len(given) <= 3 or any(int(each) != each or each < 1 for each in given):
        raise DseError(f"{name} = {tuple(given)}: expected one to three whole numbers from 1 on")
    x, y, z = (*map(int, given), 1, 1)[:3]
    return x, y, z


def _complete(
    code: Code, reading: Reading, given: Mapping[str, float], asked: Mapping[str, float]
) -> None:
    """Raise where a count rests on what was not given."""
    lacking = []
    for name, at in reading.often.asked.items():
        if name in asked:
            continue
        told_line = re.search(r"_line_(\d+)", name)
        line = int(told_line[1]) if told_line else 0
        text = code.source[line - 1].strip() if 0 < line <= len(code.source) else ""
        place = f"instruction {at * 16:#x}"
        where = f"line {line}: {text}" if text else f"line {line}, {place}" if line else place
        word = name.partition("_")[0]
        lacking.append(f"  {name}: the {_ASKED[word]} at {where}")
    wanted = [code.arguments.get(offset, f"bytes {offset}") for offset in reading.needed()]
    lacking += [f"  {name}: an argument of the kernel" for name in wanted if name not in given]
    if lacking:
        raise DseError(
            f"the counts of {code.function.name} rest on what is not in its code:\n"
            + "\n".join(lacking)
            + "\ngive each its value: arguments by set (--set NAME=VALUE), the others by times "
            "(--times NAME=VALUE)"
        )
