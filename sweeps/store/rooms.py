"""Folders that are made under a lock, and swept away when nobody holds it."""

from __future__ import annotations

import errno
import glob
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from sweeps.store.holders import MovedError, busy
from sweeps.store.locks import HIDDEN, TRIES, taken
from symbolic.errors import DseError, OtherProcessError

#: The ending of what is not whole yet.
PART = ".part"


def unwritable(folder: Path, error: OSError) -> DseError:
    """Return the error of a folder in which nothing can be made."""
    ways = {errno.ENOENT: "create the folder", errno.ENOTDIR: "create the folder"}
    ways |= {errno.ENOSPC: "free some space", errno.EDQUOT: "free some space"}
    ways |= {errno.ENAMETOOLONG: "choose a shorter name"}
    way = ways.get(error.errno or 0, "allow it")
    return DseError(f"cannot write in {folder}: {error.strerror}; {way}, or choose another place")


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
        for _ in range(TRIES):
            room = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}{PART}")
            try:
                room.mkdir()
            except OSError as error:
                raise unwritable(path.parent, error) from error
            # another process may take it for a leftover until it is locked
            with suppress(FileNotFoundError, OtherProcessError, MovedError):
                (room / HIDDEN).mkdir(exist_ok=True)
                stack.enter_context(taken(room, str(path)))
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
                with taken(left, left.name):
                    shutil.rmtree(left)
