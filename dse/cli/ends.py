"""How a command ends: errors and signals as messages and exit statuses."""

from __future__ import annotations

import errno
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from dse.cli.waiting import waiting
from stochastic.errors import LawError
from symbolic.errors import (
    DamagedError,
    DseError,
    InfeasibleError,
    OtherProcessError,
    UnreachableError,
)

__all__ = ["Commands", "Misused", "reading"]

#: A second signal so soon is the same hand on the keyboard: the clean-up goes on.
_AGAIN = 2.0


class _Failed(click.ClickException):
    exit_code = 1


class Misused(click.ClickException):
    """A wrong option, name or input."""

    exit_code = 2


class _Signalled(BaseException):
    """A signal that ends the program; what was begun is cleaned up on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def _signals() -> Iterator[None]:
    """Interrupt, termination and hang-up as an exception in the main thread."""
    last = 0.0

    def stop(number: int, _: Any) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > _AGAIN:
            last = now
            raise _Signalled(number)

    kept: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in (
                signal.SIG_DFL,
                signal.default_int_handler,
            ):
                kept[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


class Commands(click.Group):
    """The commands; every error a person can cause becomes one message and an exit status."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            with _signals(), waiting():
                return super().invoke(ctx)
        except (_Signalled, KeyboardInterrupt) as stopped:
            number = stopped.number if isinstance(stopped, _Signalled) else int(signal.SIGINT)
            said = "interrupted" if number == signal.SIGINT else "terminated"
            notes = getattr(stopped, "__notes__", None)
            told = "; ".join(notes or ["nothing unfinished was left under the name of a result"])
            click.echo(f"{said}: {told}", err=True)
            ctx.exit(128 + number)
        except (DseError, LawError) as error:
            others = (DamagedError, InfeasibleError, OtherProcessError, UnreachableError)
            failed = isinstance(error, others)
            failed = failed or isinstance(error.__cause__, OSError)
            raise (_Failed if failed else Misused)(str(error)) from error
        except ValueError as error:
            if "checksum do not match" not in str(error):  # by zarr, of a chunk it reads
                raise
            raise _Failed(
                "a chunk of the store is damaged: dse verify names it, --repair computes it anew"
            ) from error
        except MemoryError as error:
            detail = str(error) or "no more can be had"
            raise _Failed(
                f"not enough memory: {detail}; see dse plan for what is needed"
            ) from error
        except RuntimeError as error:
            if "can't start new thread" not in str(error):
                raise
            raise _Failed(
                "no more threads can be started: the system, or a limit on this session, allows no "
                "more; end other programs, or raise the limit (ulimit -u)"
            ) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            raise _Failed(str(error)) from error


@contextmanager
def reading() -> Iterator[None]:
    """What is wrong with an input that is reached and whole is misuse, whatever its cause."""
    try:
        yield
    except (DamagedError, UnreachableError):
        raise
    except (DseError, LawError) as error:
        raise Misused(str(error)) from error
