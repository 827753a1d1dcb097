"""Signals that end the command line, from its first moment to its last.

Interrupt, termination and hang-up become an exception in the main thread, so that what was begun is
cleaned up on the way out. An exception that a signal raises within a weak reference's callback or a
finalizer is dropped by Python, which tells :data:`sys.unraisablehook`; it is raised again then. A
search that can hand back the best it has found is asked to, by the first interrupt.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sweeps.runtime import stopping
from symbolic.plain_text import without_controls

#: A second signal so soon is the same hand on the keyboard: the clean-up goes on.
_AGAIN = 2.0
#: Seconds after which a dropped exception is raised again.
_DROPPED = 0.01


class Signalled(BaseException):
    """A signal that ends the program; what was begun is cleaned up on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Caught:
    """When the program began; the signal that ends it, if one came, and when; whether it ended."""

    depth = 0
    began = 0.0
    number: int | None = None
    when = -_AGAIN
    ended = False


def _stop(number: int, _: Any) -> None:
    if _Caught.ended:
        return
    if number == signal.SIGINT and stopping.ask():
        with suppress(OSError):
            os.write(2, b"\ninterrupted: the best so far follows; once more, and nothing does\n")
        return
    now = time.monotonic()
    if now - _Caught.when > _AGAIN:
        _Caught.number, _Caught.when = number, now
        raise Signalled(number)


def _again() -> None:
    """The signal once more, since what it raised was dropped; the main thread is woken."""
    if _Caught.number is not None and not _Caught.ended:
        _Caught.when = -_AGAIN
        main = threading.main_thread().ident
        if hasattr(signal, "pthread_kill") and main is not None:
            signal.pthread_kill(main, _Caught.number)
        else:
            signal.raise_signal(_Caught.number)


@contextmanager
def listening(*, last: bool = False) -> Iterator[None]:
    """Interrupt, termination and hang-up as an exception in the main thread.

    ``last`` says that nothing follows but the end of the process: a signal ends it silently then.
    """
    kept: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in (
                signal.SIG_DFL,
                signal.default_int_handler,
            ):
                kept[number] = signal.signal(number, _stop)
    hook = sys.unraisablehook

    def dropped(told: Any) -> None:
        if isinstance(told.exc_value, Signalled):
            threading.Timer(_DROPPED, _again).start()
        else:
            hook(told)

    if not _Caught.depth:
        _Caught.began, _Caught.number = time.monotonic(), None
        _Caught.when, _Caught.ended = -_AGAIN, False
    if kept:
        sys.unraisablehook = dropped
    _Caught.depth += 1
    try:
        yield
    finally:
        _Caught.depth -= 1
        if kept:
            sys.unraisablehook = hook
        for number, handler in kept.items():
            signal.signal(number, signal.SIG_DFL if last else handler)


def left(seconds: float | None) -> float | None:
    """What is left of a time that is counted from the beginning of the program."""
    return None if seconds is None else max(seconds - (time.monotonic() - _Caught.began), 0.0)


def struck() -> int | None:
    """The signal that came, if one did: it counts even where its exception was lost."""
    return _Caught.number


def ending(stopped: BaseException) -> int:
    """Tell of an interrupt or signal; the exit status. Further signals change nothing."""
    _Caught.ended = True
    number = stopped.number if isinstance(stopped, Signalled) else int(signal.SIGINT)
    told = getattr(stopped, "__notes__", None)
    if not told and isinstance(stopped, stopping.Interrupted):
        told = [str(stopped)]
    told = told or ["nothing unfinished was left under the name of a result"]
    said = "interrupted" if number == signal.SIGINT else "terminated"
    with suppress(OSError, ValueError):
        sys.stderr.write(without_controls(f"{said}: {'; '.join(told)}\n"))
        sys.stderr.flush()
    return 128 + number
