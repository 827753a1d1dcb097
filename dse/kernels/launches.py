"""A kernel at a launch, counted."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.kernels.assembly import WORD, Instruction
from dse.kernels.code import Code, code_of
from dse.kernels.counted import Counted, told
from dse.kernels.disassembly import disassembled
from dse.kernels.evaluate import Launch
from dse.kernels.linear import Atom
from dse.kernels.cubin import source_lines
from dse.kernels.tally import Reading, read
from symbolic.errors import DseError, check_known

__all__ = ["bodies", "counted", "counts_of", "lines_wanted"]


#: What names of what is asked begin with.
_ASKED = {
    "trips": "passes of the loop",
    "chance": "share of threads that branch",
    "loaded": "value loaded",
}


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
) -> Counted:
    """The quantities of a kernel of a file (see :func:`dse.kernel`)."""
    told: dict[str, Any] = {"entry": entry, "arch": arch, "define": define, "options": options}
    code = code_of(file, **told)
    (body,) = bodies([code])
    lines = lines_wanted(code, body)
    return counts_of(code, read(code.function, body, lines), block, grid, given, asked, lines)


def bodies(codes: Sequence[Code]) -> list[list[Instruction]]:
    """The instructions of each kernel; the disassembler is asked once.

    Of one kernel those beside it are asked, too: they are likely to be counted next.
    """
    beside = codes[0].beside if len(codes) == 1 else ()
    told = iter(disassembled([each.function for each in codes if not each.body], beside))
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
    lines: Mapping[int, int] | None = None,
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
        check_known(name, reading.often.asked, said, "asked for")
    _complete(code, reading, given, asked)
    values = {offsets[name]: _whole(name, value) for name, value in given.items()}
    pointers = code.function.pointers
    alike = (*sizes, pointers, *(frozenset(each.items()) for each in (values, asked)))
    common = {} if kept is None else kept.setdefault(alike, {})
    passes = reading.often.passes
    launch = Launch(sizes[1], sizes[0], values, asked, passes, pointers=pointers, kept=common)
    names = {Atom("argument", (offset,)): name for offset, name in quantity.items()}
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
    about = {
        quantity[offset]: (f"argument {code.arguments[offset]} of the kernel", float(value))
        for offset, value in values.items()
    }
    about |= {name: ("of the data of the kernel", value) for name, value in asked.items()}
    known = {atom: name for atom, name in names.items() if name in about}
    known |= {Atom("asked", (name,)): name for name in asked}
    known |= {Atom("special", ("ntid.x",)): "threads_per_block"}
    known |= {Atom("special", ("nctaid.x",)): "elements"} if grid else {}
    holds_for = {
        name: sorted({known[each] for each in rests if each in known})
        for name, rests in found.rests.items()
    }
    return replace(
        found,
        holds_for={name: of for name, of in holds_for.items() if of},
        quantities=quantities,
        formulas=formulas,
        declared={**about, **found.declared},
        left_out=code.left_out,
    )


def _sizes(given: Sequence[int], name: str) -> tuple[int, int, int]:
    if not 1 <= len(given) <= 3 or any(int(each) != each or each < 1 for each in given):
        raise DseError(f"{name} = {tuple(given)}: expected one to three whole numbers from 1 on")
    x, y, z = (*map(int, given), 1, 1)[:3]
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
    for name, at in reading.often.asked.items():
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
