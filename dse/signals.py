"""Convert SIGINT, SIGTERM and SIGHUP to an exception in the main thread.

If a signal arrives during a finalizer or the callback of a weak reference, Python drops the
exception and calls :data:`sys.unraisablehook`; the signal is then sent again. The first SIGINT only
asks a running search to return its best result so far.
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

#: A second signal within this time counts as the same key press and is ignored.
_REPEAT_SECONDS = 2.0
#: Seconds until a signal whose exception was dropped is sent again.
_RERAISE_SECONDS = 0.01


class SignalReceived(BaseException):
    """Exception that a signal raises; the program cleans up and ends."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _SignalState:
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
            os.write(2, b"\ninterrupted: the best result so far follows; interrupt again to stop\n")
        return
    now = time.monotonic()
    if now - _SignalState.signal_time > _REPEAT_SECONDS:
        _SignalState.number, _SignalState.signal_time = number, now
        raise SignalReceived(number)


def _resend_signal() -> None:
    if _SignalState.number is not None and not _SignalState.has_ended:
        _SignalState.signal_time = -_REPEAT_SECONDS
        main = threading.main_thread().ident
        if hasattr(signal, "pthread_kill") and main is not None:
            signal.pthread_kill(main, _SignalState.number)
        else:
            signal.raise_signal(_SignalState.number)


@contextmanager
def signals_as_exceptions(*, is_last: bool = False) -> Iterator[None]:
    """Raise signals as exceptions in the block; with ``is_last``, later signals end the process."""
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in (
                signal.SIG_DFL,
                signal.default_int_handler,
            ):
                handlers[number] = signal.signal(number, _handle_signal)
    hook = sys.unraisablehook

    def unraisable_hook(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, SignalReceived):
            threading.Timer(_RERAISE_SECONDS, _resend_signal).start()
        else:
            hook(unraisable)

    if not _SignalState.depth:
        _SignalState.start, _SignalState.number = time.monotonic(), None
        _SignalState.signal_time, _SignalState.has_ended = -_REPEAT_SECONDS, False
    if handlers:
        sys.unraisablehook = unraisable_hook
    _SignalState.depth += 1
    try:
        yield
    finally:
        _SignalState.depth -= 1
        if handlers:
            sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if is_last else handler)


def time_left(seconds: float | None) -> float | None:
    """Return the remaining seconds of a time limit that counts from the start of the program."""
    return None if seconds is None else max(seconds - (time.monotonic() - _SignalState.start), 0.0)


def received_signal() -> int | None:
    """Return the number of the last signal, even if Python dropped its exception; None for none."""
    return _SignalState.number


def report_interrupt(error: BaseException) -> int:
    """Print that a signal ended the program; ignore later signals; return the exit status."""
    _SignalState.has_ended = True
    number = error.number if isinstance(error, SignalReceived) else int(signal.SIGINT)
    notes = getattr(error, "__notes__", None)
    if not notes and isinstance(error, interrupts.Interrupted):
        notes = [str(error)]
    notes = notes or ["no unfinished result was written"]
    ending = "interrupted" if number == signal.SIGINT else "terminated"
    with suppress(OSError, ValueError):
        sys.stderr.write(escape_controls(f"{ending}: {'; '.join(notes)}\n"))
        sys.stderr.flush()
    return 128 + number
