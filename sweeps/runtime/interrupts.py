"""Interrupts and time limits that end a search with the best result so far.

While a query handles interrupts (:func:`return_best_on_interrupt`), the first interrupt only asks
the query to stop. The loops of the query check :func:`is_interrupted`. The second interrupt raises
KeyboardInterrupt.
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

#: Minimum time to wait for compiled code, which is enough to load code from the cache. [s]
_MIN_LOAD_SECONDS = 1.0
_POLL_SECONDS = 0.05
#: Time after the limit in which remaining cells of ``per`` still get a quick answer. [s]
_GRACE = 1.0

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


class _InterruptState:
    is_handling = False
    is_requested = False
    abandoned_thread: threading.Thread | None = None


class Interrupted(KeyboardInterrupt):
    """A search was interrupted. ``best`` is its answer so far, or None."""

    def __init__(self, message: str, best: Any = None) -> None:
        super().__init__(message)
        self.best = best


def request_stop() -> bool:
    """Ask the running query to end; return False if no query runs or it is already ending."""
    if not _InterruptState.is_handling or _InterruptState.is_requested:
        return False
    _InterruptState.is_requested = True
    return True


def is_interrupted() -> bool:
    """True if the running query was asked to end."""
    return _InterruptState.is_requested


def deadline() -> float:
    """Return the time (:func:`time.monotonic`) when the query must end; infinity if unlimited."""
    return _deadline.get()


@contextmanager
def time_limited(seconds: float | None) -> Iterator[None]:
    """Limit the time of the block. If an outer limit ends earlier, it still applies."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        yield  # no limit, or a value that the query will reject
        return
    token = _deadline.set(min(_deadline.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def raise_if_interrupted() -> None:
    """Raise Interrupted or OutOfTimeError if work without a partial answer must end."""
    if _InterruptState.is_requested:
        raise Interrupted("interrupted before there was an answer")
    if time.monotonic() > _deadline.get():
        raise OutOfTimeError("the time was up before there was any result: give more time")


def raise_if_out_of_time(cell: int, cells: int) -> None:
    """Raise OutOfTimeError if the time has been up for a second, except before the first cell."""
    if cell and time.monotonic() > _deadline.get() + _GRACE:
        raise OutOfTimeError(
            f"the time was up after {cell:,} of {cells:,} cells of per: give more time, or use "
            "fewer cells (--at)"
        )


def _on_sigint(*_: Any) -> None:
    if not request_stop():
        raise KeyboardInterrupt


@contextmanager
def _handle_interrupts() -> Iterator[None]:
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:  # a program with its own handler must call `request_stop`
        signal.signal(signal.SIGINT, _on_sigint)
    _InterruptState.is_handling = True
    try:
        yield
    finally:
        _InterruptState.is_handling = _InterruptState.is_requested = False
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def return_best_on_interrupt(query: _F) -> _F:
    """Decorate a query so that an interrupt raises :class:`Interrupted` with the answer so far.

    The answer has the attribute ``interrupted`` = 1. Only the main thread receives interrupts; in
    other threads the query runs unchanged.
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
                message = str(error) if late else "there was no result yet"
                raise Interrupted(message) from None
            if is_interrupted():
                best = result.assign_attrs(interrupted=1)
                raise Interrupted("the best so far is in its attribute best", best)
            return result

    return run_query  # type: ignore[return-value]


def run_with_deadline(work: Callable[[], object], deadline: float, what: str) -> None:
    """Do work in a thread. At the deadline raise OutOfTimeError, but let the thread continue.

    Later calls then need not repeat the work. ``what`` names the work in the message.
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
                late = "it was interrupted" if is_interrupted() else "the time was up"
                raise OutOfTimeError(
                    f"{late} while {what}, which is done once for this machine: there is "
                    "no result yet; give more time"
                )
    except BaseException:
        _InterruptState.abandoned_thread = thread
        raise
    if failed:
        raise failed[0]


def has_background_work() -> bool:
    """True if a thread of :func:`run_with_deadline` still works after its deadline."""
    thread = _InterruptState.abandoned_thread
    return thread is not None and thread.is_alive()
