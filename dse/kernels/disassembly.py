"""Instructions of machine code, from NVIDIA's disassembler, as one flow.

Functions that a kernel calls are put where it calls them. Compilers leave loops by calls, too: a
call into the middle of the same function is a branch. A copy of a function's code stands behind
the kernel's for each place that calls it. What calls itself, and the compiler's own slow ways of a
division or a root, stay calls. A jump through a table (BRX), as compilers write a ``switch``,
becomes a chain of comparisons and branches behind the kernel, one for each place of the table.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dse.kernels.compile import installed
from dse.kernels.cubin import Function
from dse.kernels.instructions import WORD, Instruction, instructions
from stochastic import sizes
from symbolic.errors import DseError

_OWN = ("__internal_", "__cuda_")
_MOST_COPIED = sizes.KERNEL_INSTRUCTIONS  # instructions of a kernel with all copies


def inlined(body: Sequence[Instruction], called: Sequence[tuple[int, str]]) -> list[Instruction]:
    """The instructions of a kernel with those of the functions that it calls.

    ``called`` are the functions in its code by their offsets in bytes.
    """
    names = {offset // WORD: name for offset, name in called}
    found = [
        _made(one, one.at, "BRA", one.target or 0, one.guard)
        if _is_branch(one, body, names)
        else one
        for one in body
    ]
    if not called:
        return found
    begins = sorted(names)
    ends = dict(zip(begins, [*begins[1:], len(body)], strict=True))
    body = list(found)
    waiting: list[tuple[int, tuple[int, ...]]] = [
        (one.at, (0,)) for one in body[: begins[0]] if one.name == "CALL"
    ]
    while waiting:
        at, within = waiting.pop(0)
        call = found[at]
        begin = None if call.target is None else call.target - at + call.of
        if begin not in names or begin in within or any(own in names[begin] for own in _OWN):
            continue
        copy = body[begin : ends[begin]]
        if len(found) + len(copy) > _MOST_COPIED:
            break
        moved = len(found)
        found[at] = _made(call, at, "BRA", moved, call.guard)
        for one in copy:
            place = len(found)
            if one.name == "RET":
                found.append(_made(one, place, "BRA", at + 1, one.guard))
                continue
            found.append(one.moved(place))
            if one.name == "CALL":
                waiting.append((place, (*within, begin)))
    return found


def _is_branch(one: Instruction, body: Sequence[Instruction], names: Mapping[int, str]) -> bool:
    """True if a call never returns: it leads into code that is no function of its own.

    Where no function is named, code that has a return may be one.
    """
    if one.name != "CALL" or one.target is None or not 0 <= one.target < len(body):
        return False
    if len(one.operands) != 1 or not one.operands[0].startswith("0x"):  # by a pointer
        return False
    if names:
        return one.target not in names
    return not any(each.name == "RET" for each in body)


JUMPS = ("BRX", "BRXU")
#: A predicate that the hardware does not have.
_FREE = "P9"


def without_tables(
    body: Sequence[Instruction], targets: Mapping[int, Sequence[int]]
) -> list[Instruction]:
    """Return the instructions with jumps through tables as chains of branches.

    ``targets`` are the places in bytes that each jump may lead to, by its own. A jump that they do
    not know stays.
    """
    found = list(body)
    for one in body:
        places = targets.get(one.at * WORD)
        if one.name not in JUMPS or one.at != one.of or not places:
            continue
        register, last = one.operands[0].split("+")[0], places[-1]
        found[one.at] = _made(one, one.at, "BRA", len(found), one.guard)
        for place in dict.fromkeys(places):
            if place != last:
                compared = f"{_FREE},PT,{register},{place:#x},PT"
                found.append(_made(one, len(found), "ISETP.EQ.U32.AND", compared))
                found.append(_made(one, len(found), "BRA", place // WORD, _FREE))
        found.append(_made(one, len(found), "BRA", last // WORD))
    return found


def _made(
    of: Instruction, at: int, opcode: str, operands: str | int, guard: str = ""
) -> Instruction:
    """Return an instruction at a place, in place of another; a branch by where it leads."""
    text = f"{operands * WORD:#x}" if isinstance(operands, int) else operands
    return Instruction(at, opcode, text, guard, of=of.of)


_MOST = sizes.WORDS_KEPT  # words of an architecture that are remembered

#: What is told of a word, and where it stood then, from which its branch counts.
Told = tuple[Mapping[str, str], int]
_remembered: dict[int, dict[bytes, Told]] = {}


def _run(arguments: Sequence[str]) -> str:
    program = str(installed("nvidia-cuda-nvdisasm", r"nvdisasm(\.exe)?$"))
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        words = done.stderr.strip() or f"it ended with status {done.returncode}"
        raise DseError(f"the disassembler refuses the machine code: {words}")
    return done.stdout


def disassembled(functions: Sequence[Function]) -> list[list[Instruction]]:
    """The instructions of kernels and of what they call; those of one architecture in one go.

    The text of each word of machine code is remembered, so that only new words are read.

    Raises
    ------
    DseError
        Machine code that the disassembler refuses; compute capabilities before 7.0.
    """
    found: list[list[Instruction]] = [[] for _ in functions]
    for arch in sorted({each.arch for each in functions}):
        if arch < 70:
            raise DseError(f"machine code of sm_{arch}: expected that of sm_70 or later")
        places = [at for at, each in enumerate(functions) if each.arch == arch]
        orders = [_words(functions[at]) for at in places]
        told = _known(dict.fromkeys(itertools.chain(*orders)), arch)
        for at, order in zip(places, orders, strict=True):
            every = [told[each] for each in order]
            body = instructions([each for each, _ in every], [place for _, place in every])
            body = inlined(body, functions[at].called)
            found[at] = without_tables(body, dict(functions[at].jumps))
    return found


def _known(words: Iterable[bytes], arch: int) -> dict[bytes, Told]:
    """What is known of words, and what the disassembler tells of those that are new."""
    known = _remembered.get(arch, {})
    new = [each for each in words if each not in known]
    if not new:
        return known
    told = ((each, place) for place, each in enumerate(_told(new, arch)))
    known = known | dict(zip(new, told, strict=True))
    _remembered[arch] = dict(itertools.islice(known.items(), max(len(known) - _MOST, 0), None))
    return known


def _told(words: Sequence[bytes], arch: int) -> list[dict[str, str]]:
    """What the disassembler tells of words, as if they stood one behind the other."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code.bin")
        path.write_bytes(b"".join(words))
        told = json.loads(_run(["-b", f"SM{arch}", "-json", "-ndf", os.fspath(path)]))
    every = [one for body in told[1] for one in body["sass-instructions"]]
    if len(every) != len(words):
        raise DseError(
            f"the disassembler tells {len(every)} of {len(words)} instructions of sm_{arch}: "
            "expected all; it and the compiler may be of versions that do not fit together"
        )
    return every


def _words(one: Function) -> list[bytes]:
    return [one.code[at : at + WORD] for at in range(0, len(one.code) - WORD + 1, WORD)]
