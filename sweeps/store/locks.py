"""The lock of a folder, let go of however its holder ends, and folders that are made under one.

What holds a lock is not the name of a folder but the folder: after a lock was taken it is looked at
whether the name still means the same one. Where a file system knows no locks (some of clusters), a
file that names its holder stands for one.
"""

from __future__ import annotations

import errno
import glob
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from sweeps.store.holders import HELD, REMOVING, MovedError, busy, held_by_name
from symbolic.errors import DseError, OtherProcessError

__all__ = ["HIDDEN", "LOCKS", "PART", "alone", "locked", "room_beside", "sweep", "unwritable"]

#: The folder beside the arrays which zarr does not look into; in it lies the lock.
HIDDEN = ".simt-dse"
_LOCK = "lock"
#: The keys of what locks a store.
LOCKS = tuple(f"{HIDDEN}/{name}" for name in (_LOCK, HELD, REMOVING))
#: The ending of what is not whole yet.
PART = ".part"
#: What a system says that knows no locks.
_NONE = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
#: How often a lock is taken anew whose folder another process has moved meanwhile.
_TRIES = 64


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
            with suppress(MovedError):
                if there:
                    stack.enter_context(_taken(folder, name, writing))
                break
        else:
            raise busy(name)
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
                stack.enter_context(held_by_name(here, hidden, name, writing))
            same = os.path.samestat(os.fstat(here), os.stat(hidden))
            same = same and os.path.samestat(os.fstat(handle), os.stat(_LOCK, dir_fd=here))
        except FileNotFoundError as error:
            if writing or not (hidden.is_dir() and not (hidden / _LOCK).exists()):
                raise MovedError from error
            same = True
        except OSError as error:
            if writing or not isinstance(error, PermissionError):
                raise DseError(
                    f"the lock of {name} cannot be taken ({hidden / _LOCK}: {error.strerror}): "
                    "choose another place"
                ) from error
            same = True
        if not same:
            raise MovedError
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
        raise busy(name) from None
    except OSError as error:
        if error.errno not in _NONE:
            raise
        return False
    return True


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
            with suppress(FileNotFoundError, OtherProcessError, MovedError):
                (room / HIDDEN).mkdir(exist_ok=True)
                stack.enter_context(_taken(room, str(path)))
                break
        else:
            raise busy(str(path))
        try:
            yield room
        finally:
            if room.exists():
                shutil.rmtree(room, ignore_errors=True)


def sweep(path: Path) -> None:
    """Remove what was made beside a path, or beside what was to take its place, and left there.

    The processes that made it were killed.
    """
    for name in (path.name, f".{path.name}.next"):
        for left in path.parent.glob(f".{glob.escape(name)}.*{PART}"):
            with suppress(DseError, OSError, MovedError):
                (left / HIDDEN).mkdir(exist_ok=True)
                with _taken(left, left.name):
                    shutil.rmtree(left)
