"""Instructions of machine code: NVIDIA's disassembler, asked once for many kernels."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dse.kernels.assembly import WORD, Instruction, instructions
from dse.kernels.calls import inlined
from dse.kernels.compiling import installed
from dse.kernels.cubin import Function
from dse.kernels.jumps import without_tables
from stochastic import sizes
from symbolic.errors import DseError

__all__ = ["disassembled"]

_MOST = sizes.WORDS_KEPT  # words of an architecture that are remembered
_BESIDE = sizes.WORDS_BESIDE  # words that take less time than another start of the disassembler

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


def disassembled(
    functions: Sequence[Function], beside: Sequence[Function] = ()
) -> list[list[Instruction]]:
    """The instructions of kernels and of what they call; those of one architecture in one go.

    What was told of a word of machine code is remembered: only words that are new are asked, and
    with them, as far as that takes next to no time, those of the functions ``beside``.

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
        told = _known(
            dict.fromkeys(itertools.chain(*orders)),
            (word for each in beside if each.arch == arch for word in _words(each)),
            arch,
        )
        for at, order in zip(places, orders, strict=True):
            every = [told[each] for each in order]
            body = instructions([each for each, _ in every], [place for _, place in every])
            body = inlined(body, functions[at].called)
            found[at] = without_tables(body, dict(functions[at].jumps))
    return found


def _known(words: Iterable[bytes], beside: Iterable[bytes], arch: int) -> dict[bytes, Told]:
    """What is known of words, and what the disassembler tells of those that are new."""
    known = _remembered.get(arch, {})
    new = [each for each in words if each not in known]
    if not new:
        return known
    more = (each for each in itertools.islice(beside, _BESIDE) if each not in known)
    new = list(dict.fromkeys([*new, *more]))
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
