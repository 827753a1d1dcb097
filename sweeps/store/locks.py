"""The lock of a folder, let go of however its holder ends, and folders that are made under one.

What holds a lock is not the name of a folder but the folder: after a lock was taken it is looked at
whether the name still means the same one. Where a file system knows no locks (some of clusters), a
file that names its holder stands for one.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import shutil
import socket
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from symbolic.errors import DseError, OtherProcessError

__all__ = ["HIDDEN", "LOCKS", "PART", "alone", "locked", "room_beside", "sweep", "unwritable"]

#: The folder beside the arrays which zarr does not look into; in it lies the lock.
HIDDEN = ".simt-dse"
_LOCK = "lock"
#: Names the holder where there are no locks; and stands while one that is gone is removed.
_HELD, _REMOVING = "lock.held", "lock.removing"
#: The keys of what locks a store.
LOCKS = tuple(f"{HIDDEN}/{name}" for name in (_LOCK, _HELD, _REMOVING))
#: The ending of what is not whole yet.
PART = ".part"
#: What a system says that knows no locks.
_NONE = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
#: How often a lock is taken anew whose folder another process has moved meanwhile.
_TRIES = 64


class _MovedError(Exception):
    """The folder was moved or removed while its lock was taken."""


def unwritable(folder: Path, error: OSError) -> DseError:
    """A folder in which nothing can be made."""
    return DseError(
        f"cannot write in {folder}: {error.strerror}; create the folder, or choose another place"
    )


@contextmanager
def locked(folder: Path, name: str, *, writing: bool = True) -> Iterator[bool]:
    """Holds the lock of a folder; beside others that only read it, if one does not write.

    What is only read needs no lock where there is none. Gives whether there is a folder for one:
    what has none is no store, and nobody writes there.

    Raises
    ------
    OtherProcessError
        Another process holds it; ``name`` is how a person calls the folder.
    DseError
        It cannot be taken.
    """
    with ExitStack() as stack:
        for _ in range(_TRIES):
            there = (folder / HIDDEN).is_dir()
            with suppress(_MovedError):
                if there:
                    stack.enter_context(_taken(folder, name, writing))
                break
        else:
            raise _busy(name)
        yield there


@contextmanager
def _taken(folder: Path, name: str, writing: bool = True) -> Iterator[None]:
    """Holds the lock of a folder that has one; raises where it was moved meanwhile."""
    hidden = folder / HIDDEN
    with ExitStack() as stack:
        try:
            here = os.open(hidden, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, here)
            flags = os.O_RDWR | os.O_CREAT if writing else os.O_RDONLY
            handle = os.open(_LOCK, flags, 0o666, dir_fd=here)
            stack.callback(os.close, handle)
            if not _flock(handle, name, writing):
                stack.enter_context(_named(here, hidden, name, writing))
            same = os.path.samestat(os.fstat(here), os.stat(hidden))
            same = same and os.path.samestat(os.fstat(handle), os.stat(_LOCK, dir_fd=here))
        except FileNotFoundError as error:
            if writing or not (hidden.is_dir() and not (hidden / _LOCK).exists()):
                raise _MovedError from error
            same = True
        except OSError as error:
            if writing or not isinstance(error, PermissionError):
                raise DseError(
                    f"the lock of {name} cannot be taken ({hidden / _LOCK}: {error.strerror}): "
                    "choose another place"
                ) from error
            same = True
        if not same:
            raise _MovedError
        yield


def _flock(handle: int, name: str, writing: bool) -> bool:
    """Take the lock of a file; False where there are no such locks."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if writing else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _busy(name) from None
    except OSError as error:
        if error.errno not in _NONE:
            raise
        return False
    return True


def _busy(name: str, more: str = "") -> OtherProcessError:
    return OtherProcessError(
        f"{name} is being written by another process{more}: wait for it, or choose another place"
    )


# --- where the system has no locks


@contextmanager
def _named(here: int, hidden: Path, name: str, writing: bool) -> Iterator[None]:
    """Holds the file that names its holder, in a folder that may be moved meanwhile."""
    while not (writing and _made(here)):
        there = _read(here)
        if there is None:  # gone by now
            if not writing:
                break
        elif not _gone(there):
            who = f"process {there.get('process')} of {there.get('host')}" if there else "unknown"
            more = (
                f" ({who}; there are no locks on this file system: if it runs no more, remove "
                f"{hidden / _HELD})"
            )
            raise _busy(name, more)
        elif writing:
            _remove(here, hidden, name, there)
        else:
            break
    try:
        yield
    finally:
        if writing:
            with suppress(OSError):
                os.unlink(_HELD, dir_fd=here)


def _made(here: int) -> bool:
    """Whether the file could be made, by this process alone."""
    try:
        handle = os.open(_HELD, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=here)
    except FileExistsError:
        return False
    except FileNotFoundError as error:
        raise _MovedError from error
    with open(handle, "w", encoding="utf-8") as file:
        json.dump({**_self(), "id": uuid.uuid4().hex}, file)
    return True


def _read(here: int) -> dict[str, Any] | None:
    """Who holds it; nothing is known where it is just being made, and None where nobody does."""
    try:
        handle = os.open(_HELD, os.O_RDONLY, dir_fd=here)
    except FileNotFoundError:
        return None
    with open(handle, encoding="utf-8") as file:
        try:
            return dict(json.load(file))
        except (ValueError, TypeError):
            return {}


def _self() -> dict[str, Any]:
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


def _gone(there: dict[str, Any]) -> bool:
    """Whether it is sure that a holder runs no more: only of processes of this host is it known."""
    ours = _self()
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
        os.close(os.open(_REMOVING, os.O_CREAT | os.O_EXCL, 0o666, dir_fd=here))
    except FileExistsError:
        raise _busy(name, f" (if none runs any more, remove {hidden / _REMOVING})") from None
    except FileNotFoundError as error:
        raise _MovedError from error
    try:
        if _read(here) == there:
            os.unlink(_HELD, dir_fd=here)
    finally:
        os.unlink(_REMOVING, dir_fd=here)


# --- folders beside


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Waits until no other process is here too, for a few moments; where folders have locks."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        with suppress(ImportError, OSError):  # some file systems know no locks of folders
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def room_beside(path: Path) -> Iterator[Path]:
    """A new folder beside a path, locked, in which something is made; it is removed at the end.

    So is what other processes that were killed have left of theirs.

    Raises
    ------
    DseError
        Nothing can be made there.
    """
    sweep(path)
    with ExitStack() as stack:
        for _ in range(_TRIES):
            room = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}{PART}")
            try:
                room.mkdir()
            except OSError as error:
                raise unwritable(path.parent, error) from error
            # another process may take it for a leftover until it is locked
            with suppress(FileNotFoundError, OtherProcessError, _MovedError):
                (room / HIDDEN).mkdir(exist_ok=True)
                stack.enter_context(_taken(room, str(path)))
                break
        else:
            raise _busy(str(path))
        try:
            yield room
        finally:
            if room.exists():
                shutil.rmtree(room, ignore_errors=True)


def sweep(path: Path) -> None:
    """Remove what was made beside a path by processes that were killed."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{PART}"):
        with suppress(DseError, OSError, _MovedError):
            (left / HIDDEN).mkdir(exist_ok=True)
            with _taken(left, left.name):
                shutil.rmtree(left)
