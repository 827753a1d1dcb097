"""A search that is interrupted ends as if its time were up, with the best that it has found.

While a question heeds interrupts (:func:`return_best_on_interrupt`), the first one only asks its loops to stop;
they look at :func:`is_interrupted` as at the clock. A second one is an interrupt as any other.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

from symbolic.errors import InfeasibleError, OutOfTimeError

_F = TypeVar("_F", bound=Callable[..., Any])

#: Seconds that are waited for machine code, however little time there is: it may lie ready.
_MIN_LOAD_SECONDS = 1.0
_POLL_SECONDS = 0.05
#: Seconds after a limit in which further cells still get the best that little time allows.
_GRACE = 1.0

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


class _InterruptState:
    """Whether a question heeds interrupts, and whether one came; what still compiles in vain."""

    is_handling = False
    is_requested = False
    abandoned_thread: threading.Thread | None = None


class Interrupted(KeyboardInterrupt):
    """A search was interrupted; ``best`` is its answer so far, as if its time had been up.

    None where nothing was found by then; the message says what is known.
    """

    def __init__(self, message: str, best: Any = None) -> None:
        super().__init__(message)
        self.best = best


def request_stop() -> bool:
    """Ask the search that goes on to end; False where none does, or it was asked before."""
    if not _InterruptState.is_handling or _InterruptState.is_requested:
        return False
    _InterruptState.is_requested = True
    return True


def is_interrupted() -> bool:
    """Whether the search that goes on is to end."""
    return _InterruptState.is_requested


def deadline() -> float:
    """Return when the question must end, by :func:`time.monotonic`; infinite without a limit."""
    return _deadline.get()


@contextmanager
def time_limited(seconds: float | None) -> Iterator[None]:
    """Limit everything within to so many seconds from now; an earlier limit around it stays."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        yield  # no limit, or one that is refused where the question is read
        return
    token = _deadline.set(min(_deadline.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def raise_if_interrupted() -> None:
    """End work that has no partial answer, after an interrupt or when the time is up.

    Raises
    ------
    Interrupted, OutOfTimeError
    """
    if _InterruptState.is_requested:
        raise Interrupted("interrupted before there was an answer")
    if time.monotonic() > _deadline.get():
        raise OutOfTimeError("the time was up before anything was known: give more time")


def raise_if_out_of_time(cell: int, cells: int) -> None:
    """End an answer for many cells if the time was up a second ago: each cell takes some of it.

    Raises
    ------
    OutOfTimeError
    """
    if cell and time.monotonic() > _deadline.get() + _GRACE:
        raise OutOfTimeError(
            f"the time was up after {cell:,} of {cells:,} cells of per: give more time, or ask for "
            "fewer cells (--at)"
        )


def _on_sigint(*_: Any) -> None:
    if not request_stop():
        raise KeyboardInterrupt


@contextmanager
def _handle_interrupts() -> Iterator[None]:
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:  # else whoever listens asks
        signal.signal(signal.SIGINT, _on_sigint)
    _InterruptState.is_handling = True
    try:
        yield
    finally:
        _InterruptState.is_handling = _InterruptState.is_requested = False
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def return_best_on_interrupt(query: _F) -> _F:
    """A question that an interrupt ends with :class:`Interrupted`, which holds its answer so far.

    Its attribute ``interrupted`` is 1. Interrupts reach the main thread alone: in others it is
    asked as it is.
    """

    @wraps(query)
    def run_query(*args: Any, **options: Any) -> Any:
        main = threading.current_thread() is threading.main_thread()
        if not main or _InterruptState.is_handling:
            return query(*args, **options)
        with _handle_interrupts():
            try:
                result = query(*args, **options)
            except InfeasibleError as error:
                if not is_interrupted():
                    raise
                late = isinstance(error, OutOfTimeError)
                said = str(error) if late else "nothing was found by then"
                raise Interrupted(said) from None
            if is_interrupted():
                raise Interrupted(
                    "the best so far is in its attribute best", result.assign_attrs(interrupted=1)
                )
            return result

    return run_query  # type: ignore[return-value]


def run_with_deadline(work: Callable[[], object], deadline: float, what: str) -> None:
    """Do what cannot be stopped in a thread of its own, and wait for it no longer than there is.

    Raises
    ------
    OutOfTimeError
        The time is up, or the search is to end; the work goes on, for whoever asks next.
    """
    failed: list[BaseException] = []
    over = threading.Event()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    deadline = max(deadline, time.monotonic() + _MIN_LOAD_SECONDS)
    try:
        while not over.wait(_POLL_SECONDS):
            if is_interrupted() or time.monotonic() > deadline:
                late = "it was to end" if is_interrupted() else "the time was up"
                raise OutOfTimeError(
                    f"{late} while {what}, which is done once for this machine: nothing "
                    "is known yet; give more time"
                )
    except BaseException:
        _InterruptState.abandoned_thread = thread
        raise
    if failed:
        raise failed[0]


def has_background_work() -> bool:
    """Whether work still goes on for which nobody waits, so that a process cannot end in order."""
    return (
        _InterruptState.abandoned_thread is not None and _InterruptState.abandoned_thread.is_alive()
    )
