"""A second process that compiles what a command will need, while the command compiles the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess


@contextmanager
def compiling_beside(
    program: str, bodies: Collection[str] = (), begins: str | None = None
) -> Iterator[Callable[[], None]]:
    """From the first body on that must be compiled, run a program that needs the others.

    What it compiles lies where compiled code is kept; where none is kept, it is not run. Yields
    what waits for it; who needs one of the ``bodies``, of these names, waits, too. ``begins`` is
    the body from which on it is run, where that is no other. Whatever becomes of it, what is
    missing is compiled when it is needed.
    """
    from stochastic.kept import place, telling

    others: list[subprocess.Popen[bytes]] = []
    alone = place() is None or (os.cpu_count() or 1) < 2

    def begin(name: str) -> None:
        if name in bodies:
            wait()
        if others or alone or name in bodies or begins not in (None, name):
            return
        import subprocess

        nothing = subprocess.DEVNULL
        with suppress(OSError):
            command = [sys.executable, "-P", "-c", program]  # no code of the folder it is in
            others.append(subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing))

    def wait() -> None:
        for other in others:
            other.wait()

    try:
        with telling(begin):
            yield wait
    finally:
        for other in others:
            other.kill()
            other.wait()
