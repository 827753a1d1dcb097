"""How a command ends: errors and signals as messages and exit statuses."""

from __future__ import annotations

import errno
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from dse.cli.output import error_text, plain_warnings
from dse.cli.waiting import waiting
from dse.signals import Signalled, ending, listening, struck
from stochastic.errors import LawError
from sweeps.runtime.stopping import Interrupted
from symbolic.errors import (
    DamagedError,
    DseError,
    InfeasibleError,
    InternalError,
    OtherProcessError,
    OutOfTimeError,
    TooLargeError,
    UnfinishedError,
    UnreachableError,
)

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["UNPROVEN", "Commands", "Misused", "end_with", "handed_back", "reading"]

#: The exit status of a command whose time was up before its answer was proven.
UNPROVEN = 3
#: The exit status of a command that has told its answer all the same.
_STATUS = "dse.status"


#: Errors of what was asked rightly.
_FAILURES = (
    *(DamagedError, InfeasibleError, OtherProcessError, TooLargeError, UnfinishedError),
    UnreachableError,
)


#: Errors of what was given to be read; any other is the system's.
_GIVEN = {
    None,  # by a library
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.ELOOP),
    *(errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO),
}


def _told(error: Exception) -> str:
    """The words of an error; of values that a model lacks, the models that yield them, too."""
    text = str(error)
    if not text.endswith("or join a model that yields it"):
        return text
    from dse.library import models

    found: dict[str, str] = {}
    for name in re.findall(r"^  (\w+)[, ]", text, flags=re.MULTILINE):
        able = [each for each in models().values() if name in each.yields]
        if able:
            found[name] = min(able, key=lambda each: len(each.equations)).name
    named = ", ".join(f"{model} for {name}" for name, model in found.items())
    return f"{text}: {named}" if named else text


class _Failed(click.ClickException):
    exit_code = 1

    def format_message(self) -> str:
        """Return the message without characters that steer a terminal."""
        return error_text(self.message)


class _Unproven(_Failed):
    exit_code = UNPROVEN


class _Wrong(_Failed):
    """A fault of this program; the status is that of sysexits.h for one."""

    exit_code = 70


class Misused(_Failed):
    """A wrong option, name or input."""

    exit_code = 2


class Commands(click.Group):
    """The commands; every error a person can cause becomes one message and an exit status."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command that the arguments name, and end the process."""
        with listening():
            try:
                return super().main(*args, **options)
            except Signalled as stopped:
                sys.exit(ending(stopped))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            with waiting(), plain_warnings():
                found = super().invoke(ctx)
            if (number := struck()) is not None:  # what it raised was lost where nobody could tell
                ctx.exit(ending(Signalled(number)))
            if status := ctx.meta.get(_STATUS):
                ctx.exit(status)
            return found
        except (Signalled, KeyboardInterrupt) as stopped:
            ctx.exit(ending(stopped))
        except click.ClickException as error:
            object.__setattr__(error, "message", error_text(error.message))
            raise
        except (DseError, LawError) as error:
            if isinstance(error, OutOfTimeError):
                raise _Unproven(_told(error)) from error
            failed = isinstance(error, _FAILURES)
            failed = failed or isinstance(error.__cause__, OSError)
            raise (_Failed if failed else Misused)(_told(error)) from error
        except InternalError as error:
            raise _Wrong(str(error)) from error
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


def end_with(status: int) -> None:
    """Let the command end with a status, once its answer is told."""
    click.get_current_context().meta[_STATUS] = status


@contextmanager
def reading() -> Iterator[None]:
    """What is wrong with an input that is reached and whole is misuse, if the system is well."""
    try:
        yield
    except (DamagedError, UnfinishedError, UnreachableError):
        raise
    except (DseError, LawError) as error:
        cause = error.__cause__
        failed = isinstance(cause, OSError) and cause.errno not in _GIVEN
        raise (_Failed if failed else Misused)(_told(error)) from error


def handed_back(search: Callable[[], xr.Dataset]) -> xr.Dataset:
    """The answer of a search; where it is interrupted, that so far, and the exit status says so.

    Only its attributes, and what :func:`sweeps.grid.dataset.arrays_of` has, are sure to be there.
    """
    from sweeps.grid.dataset import plainly

    try:
        with plainly():
            return search()
    except Interrupted as stopped:
        if stopped.best is None:
            raise
        end_with(128 + signal.SIGINT)
        found: xr.Dataset = stopped.best
        return found
