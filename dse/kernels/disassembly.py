"""Instructions of machine code: NVIDIA's disassembler, asked once for many kernels."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from dse.kernels.assembly import Instruction, instructions
from dse.kernels.calls import inlined
from dse.kernels.compiling import installed
from dse.kernels.cubin import Function
from dse.kernels.words import Words
from stochastic.kept.folder import place
from symbolic.errors import DseError

__all__ = ["asked", "disassembled"]

_SIZE = 16  # bytes an instruction, from compute capability 7.0 on


def _run(arguments: Sequence[str]) -> str:
    program = str(installed("nvidia-cuda-nvdisasm", r"nvdisasm(\.exe)?$"))
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        words = done.stderr.strip() or f"it ended with status {done.returncode}"
        raise DseError(f"the disassembler refuses the machine code: {words}")
    return done.stdout


def disassembled(functions: Sequence[Function]) -> list[list[Instruction]]:
    """The instructions of kernels and of what they call; those of one architecture in one go.

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
        every = [_words(functions[at]) for at in places]
        said = iter(_of_arch(arch, place()).told([word for each in every for word in each]))
        for at, words in zip(places, every, strict=True):
            told, told_at = zip(*itertools.islice(said, len(words)), strict=True)
            found[at] = inlined(instructions(told, told_at), functions[at].called)
    return found


@lru_cache(maxsize=16)
def _of_arch(arch: int, kept_in: Path | None) -> Words:
    """What is known of the words of an architecture; ``kept_in`` tells folders apart."""
    name = f"words-1-{arch}-{_version()}"
    return Words(name, lambda words: asked(words, arch))


def _version() -> str:
    for suffix in ("-cu12", "", "-cu13"):
        try:
            return metadata.version(f"nvidia-cuda-nvdisasm{suffix}")
        except metadata.PackageNotFoundError:
            continue
    return "none"


def asked(words: Sequence[int], arch: int) -> list[dict[str, str]]:
    """What the disassembler tells of words, as if they stood one behind the other."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code.bin")
        path.write_bytes(b"".join(each.to_bytes(_SIZE, "little") for each in words))
        told = json.loads(_run(["-b", f"SM{arch}", "-json", "-ndf", os.fspath(path)]))
    names = ("opcode", "predicate", "operands")
    return [
        {name: one.get(name, "") for name in names}
        for body in told[1]
        for one in body["sass-instructions"]
    ]


def _words(one: Function) -> list[int]:
    code, ends = one.code, range(_SIZE, len(one.code) + 1, _SIZE)
    return [int.from_bytes(code[end - _SIZE : end], "little") for end in ends]
