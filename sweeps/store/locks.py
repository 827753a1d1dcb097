"""The lock of a folder, let go of however its holder ends.

What holds a lock is not the name of a folder but the folder: after a lock was taken it is looked at
whether the name still means the same one. Where a file system knows no locks (some of clusters), a
file that names its holder stands for one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from sweeps.store.holders import HELD, REMOVING, MovedError, busy, held_by_name
from symbolic.errors import DseError

#: The folder beside the arrays which zarr does not look into; in it lies the lock.
HIDDEN = ".simt-dse"
_LOCK = "lock"
#: The keys of what locks a store.
LOCKS = tuple(f"{HIDDEN}/{name}" for name in (_LOCK, HELD, REMOVING))
#: What a system says that knows no locks.
_NONE = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
#: How often a lock is taken anew whose folder another process has moved meanwhile.
TRIES = 64


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
        for _ in range(TRIES):
            there = (folder / HIDDEN).is_dir()
            with suppress(MovedError):
                if there:
                    stack.enter_context(taken(folder, name, writing))
                break
        else:
            raise busy(name)
        yield there


@contextmanager
def taken(folder: Path, name: str, writing: bool = True) -> Iterator[None]:
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
