"""Who holds what the system has no lock for, by a file or object that names its holder.

It is removed by its holder, or, once it is sure that this runs no more, by who comes next. Of
processes of other hosts nobody here knows that: a person must look.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from symbolic.errors import OtherProcessError

#: Names the holder; and stands while one that is gone is removed.
HELD, REMOVING = "lock.held", "lock.removing"


class MovedError(Exception):
    """The folder was moved or removed while its lock was taken."""


def busy(name: str, more: str = "") -> OtherProcessError:
    """Another process has the lock of a place."""
    return OtherProcessError(
        f"{name} is being written by another process{more}: wait for it, or choose another place"
    )


@contextmanager
def held_by_name(here: int, hidden: Path, name: str, writing: bool) -> Iterator[None]:
    """Holds the file that names its holder, in a folder that may be moved meanwhile."""
    while not (writing and _made(here)):
        there = _read(here)
        if there is None:  # gone by now
            if not writing:
                break
        elif not is_gone(there):
            who = f"process {there.get('process')} of {there.get('host')}" if there else "unknown"
            more = (
                f" ({who}; there are no locks on this file system: if it runs no more, remove "
                f"{hidden / HELD})"
            )
            raise busy(name, more)
        elif writing:
            _remove(here, hidden, name, there)
        else:
            break
    try:
        yield
    finally:
        if writing:
            with suppress(OSError):
                os.unlink(HELD, dir_fd=here)


def _made(here: int) -> bool:
    """Whether the file could be made, by this process alone; it appears with what it says."""
    data = json.dumps({**holder(), "id": uuid.uuid4().hex})
    beside = f"{HELD}.{uuid.uuid4().hex[:8]}.part"
    try:
        _write(here, beside, data)
        try:
            os.link(beside, HELD, src_dir_fd=here, dst_dir_fd=here)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise
            _write(here, HELD, data)  # there are no links either
        finally:
            os.unlink(beside, dir_fd=here)
    except FileExistsError:
        return False
    except FileNotFoundError as error:
        raise MovedError from error
    return True


def _write(here: int, name: str, data: str) -> None:
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=here)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(data)


def _read(here: int) -> dict[str, Any] | None:
    """Who holds it; nothing is known where it is just being made, and None where nobody does."""
    try:
        handle = os.open(HELD, os.O_RDONLY, dir_fd=here)
    except FileNotFoundError:
        return None
    with open(handle, encoding="utf-8") as file:
        try:
            return dict(json.load(file))
        except (ValueError, TypeError):
            return {}


def holder() -> dict[str, Any]:
    """What tells this process from any other: the host as it was booted, its number, its begin."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    found: dict[str, Any] = {"host": socket.gethostname(), "process": os.getpid()}
    with suppress(OSError):
        found["system"] = boot.read_text().strip() + os.readlink("/proc/self/ns/pid")
    return found | {"began": _began(os.getpid())}


def _began(process: int) -> str | None:
    """When a process of this host began; None where that is not told."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def is_gone(there: dict[str, Any]) -> bool:
    """Whether it is sure that a holder runs no more: only of processes of this host is it known."""
    ours = holder()
    if ours.get("system") is None or any(there.get(k) != ours[k] for k in ("host", "system")):
        return False
    try:
        os.kill(int(there["process"]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it runs, and is somebody else's
    began = _began(int(there["process"]))
    return began is not None and began != there["began"]


def _remove(here: int, hidden: Path, name: str, there: dict[str, Any]) -> None:
    """Remove the file of a holder that is gone; by one process at a time, lest it be another's."""
    try:
        os.close(os.open(REMOVING, os.O_CREAT | os.O_EXCL, 0o666, dir_fd=here))
    except FileExistsError:
        raise busy(name, f" (if none runs any more, remove {hidden / REMOVING})") from None
    except FileNotFoundError as error:
        raise MovedError from error
    try:
        if _read(here) == there:
            os.unlink(HELD, dir_fd=here)
    finally:
        os.unlink(REMOVING, dir_fd=here)
