"""A line on the terminal while a command has shown nothing yet, so that no wait is blank."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Seconds until the line is shown, and between two looks at what goes on.
_SOON, _OFTEN = 0.1, 0.2
_CLEAR = "\r\x1b[K"


class _First:
    """A stream of text; the first that is written to it has the line removed."""

    def __init__(self, stream: Any, before: Any) -> None:
        self._stream, self._before = stream, before

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "write", "writelines"):
            self._before()
        return getattr(self._stream, name)


class _Line:
    """The line, in a thread of its own, until anything else is written or the command ends."""

    def __init__(self) -> None:
        self._began, self._over, self._lock = time.monotonic(), False, threading.Lock()
        self._stopped = threading.Event()
        self._out, self._err = sys.stdout, sys.stderr
        self._first = _First(self._out, self.end), _First(self._err, self.end)
        self._shown = False
        sys.stdout, sys.stderr = self._first
        threading.Thread(target=self._go_on, daemon=True, name="waiting").start()

    def _go_on(self) -> None:
        pause = _SOON
        while not self._stopped.wait(pause):
            pause = _OFTEN
            with self._lock:
                if self._over:
                    return
                self._shown = True
                self._err.write(f"{_CLEAR}{_what()}: {time.monotonic() - self._began:.0f} s so far")
                self._err.flush()

    def end(self) -> None:
        """Remove the line; it does not come back."""
        with self._lock:
            if self._over:
                return
            self._over = True
            self._stopped.set()
            for name, first, own in zip(
                ("stdout", "stderr"), self._first, (self._out, self._err), strict=True
            ):
                if getattr(sys, name) is first:
                    setattr(sys, name, own)
            if self._shown:
                self._err.write(_CLEAR)
                self._err.flush()


def _what() -> str:
    """What takes the time: the compiler is loaded where something is not kept compiled."""
    return (
        "compiling once for this machine" if "stochastic.kept.build" in sys.modules else "working"
    )


@contextmanager
def waiting() -> Iterator[None]:
    """On a terminal: show within moments that a command works, until it shows something itself."""
    if not sys.stderr.isatty():
        yield
        return
    line = _Line()
    try:
        yield
    finally:
        line.end()
