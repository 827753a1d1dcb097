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

from sweeps.runtime import interrupts
from symbolic.safe_text import escape_controls

#: A second signal so soon is the same hand on the keyboard: the clean-up goes on.
_REPEAT_SECONDS = 2.0
#: Seconds after which a dropped exception is raised again.
_RERAISE_SECONDS = 0.01


class SignalReceived(BaseException):
    """A signal that ends the program; what was begun is cleaned up on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _SignalState:
    """When the program began; the signal that ends it, if one came, and when; whether it ended."""

    depth = 0
    start = 0.0
    number: int | None = None
    signal_time = -_REPEAT_SECONDS
    has_ended = False


def _handle_signal(number: int, _: Any) -> None:
    if _SignalState.has_ended:
        return
    if number == signal.SIGINT and interrupts.request_stop():
        with suppress(OSError):
            os.write(2, b"\ninterrupted: the best so far follows; once more, and nothing does\n")
        return
    now = time.monotonic()
    if now - _SignalState.signal_time > _REPEAT_SECONDS:
        _SignalState.number, _SignalState.signal_time = number, now
        raise SignalReceived(number)


def _resend_signal() -> None:
    """The signal once more, since what it raised was dropped; the main thread is woken."""
    if _SignalState.number is not None and not _SignalState.has_ended:
        _SignalState.signal_time = -_REPEAT_SECONDS
        main = threading.main_thread().ident
        if hasattr(signal, "pthread_kill") and main is not None:
            signal.pthread_kill(main, _SignalState.number)
        else:
            signal.raise_signal(_SignalState.number)


@contextmanager
def signals_as_exceptions(*, is_last: bool = False) -> Iterator[None]:
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
                kept[number] = signal.signal(number, _handle_signal)
    hook = sys.unraisablehook

    def unraisable_hook(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, SignalReceived):
            threading.Timer(_RERAISE_SECONDS, _resend_signal).start()
        else:
            hook(unraisable)

    if not _SignalState.depth:
        _SignalState.start, _SignalState.number = time.monotonic(), None
        _SignalState.signal_time, _SignalState.has_ended = -_REPEAT_SECONDS, False
    if kept:
        sys.unraisablehook = unraisable_hook
    _SignalState.depth += 1
    try:
        yield
    finally:
        _SignalState.depth -= 1
        if kept:
            sys.unraisablehook = hook
        for number, handler in kept.items():
            signal.signal(number, signal.SIG_DFL if is_last else handler)


def time_left(seconds: float | None) -> float | None:
    """What is left of a time that is counted from the beginning of the program."""
    return None if seconds is None else max(seconds - (time.monotonic() - _SignalState.start), 0.0)


def received_signal() -> int | None:
    """The signal that came, if one did: it counts even where its exception was lost."""
    return _SignalState.number


def report_interrupt(error: BaseException) -> int:
    """Tell of an interrupt or signal; the exit status. Further signals change nothing."""
    _SignalState.has_ended = True
    number = error.number if isinstance(error, SignalReceived) else int(signal.SIGINT)
    told = getattr(error, "__notes__", None)
    if not told and isinstance(error, interrupts.Interrupted):
        told = [str(error)]
    told = told or ["nothing unfinished was left under the name of a result"]
    said = "interrupted" if number == signal.SIGINT else "terminated"
    with suppress(OSError, ValueError):
        sys.stderr.write(escape_controls(f"{said}: {'; '.join(told)}\n"))
        sys.stderr.flush()
    return 128 + number
