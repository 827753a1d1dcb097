"""Instructions of machine code: NVIDIA's disassembler, asked once for many kernels."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dse.kernels.assembly import Instruction, instructions
from dse.kernels.calls import inlined
from dse.kernels.compiling import installed
from dse.kernels.cubin import Function
from symbolic.errors import DseError

__all__ = ["disassembled"]

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
        words: dict[bytes, int] = {}  # what many kernels have in common is asked once
        orders = [
            [words.setdefault(each, len(words)) for each in _words(functions[at])] for at in places
        ]
        told = _told(list(words), arch)
        for at, order in zip(places, orders, strict=True):
            body = instructions([told[each] for each in order], order)
            found[at] = inlined(body, functions[at].called)
    return found


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
    return [one.code[at : at + _SIZE] for at in range(0, len(one.code) - _SIZE + 1, _SIZE)]
