"""Locks that admit one writer: a lock file next to a folder, or an object in an object store."""

import errno
import itertools
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sweeps.store.backend import LocalBackend, StoreBackend, unwritable_error
from symbolic.errors import DseError, OtherProcessError, UnreachableError

#: Time in which a lock is tried again, because its last holder may be removing the file. [s]
_LOCK_TIMEOUT = 0.1
#: Errors of file systems without locks. There, a lock file that exists is the lock.
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
_RESUME_HINT = "what is stored stays, and the same command continues"
#: Maximum number of attempts to create a lock object.
_TRIES = 3


@contextmanager
def write_lock(backend: StoreBackend) -> Iterator[None]:
    """Lock a store and clean up after a killed writer; if it is locked, raise OtherProcessError."""
    with (
        file_lock(backend.lock_path(), backend.name)
        if isinstance(backend, LocalBackend)
        else _lock_object(backend)
    ):
        try:
            backend.recover()
            yield
        except BrokenPipeError:
            raise
        except UnreachableError as error:
            if isinstance(error.__cause__, UnreachableError):  # `TileJob.run` has added a hint
                raise
            raise UnreachableError(f"{error}; {_RESUME_HINT}") from error
        except OSError as error:
            problem = f"{backend.name} cannot be written or read: {error.strerror or error}"
            raise DseError(f"{problem}; {_RESUME_HINT}") from error


def remove_stale_lock(backend: StoreBackend) -> None:
    """Remove the lock file of a killed writer."""
    if isinstance(backend, LocalBackend) and backend.lock_path().exists():
        with suppress(DseError), file_lock(backend.lock_path(), backend.name):
            pass


def _busy_error(name: str, more: str = "") -> OtherProcessError:
    return OtherProcessError(
        f"{name} is being written by another process{more}: wait for it, or choose another place"
    )


@contextmanager
def file_lock(path: Path, name: str) -> Iterator[None]:
    """Hold a lock file during the block, then remove it. ``name`` says what it protects."""
    from filelock import FileLock, SoftFileLock, Timeout

    try:  # FileLock would create a missing folder
        os.stat(f"{path.parent}/.")
    except OSError as error:
        raise unwritable_error(path.parent, error) from error
    how: dict[str, Any] = {"timeout": _LOCK_TIMEOUT, "poll_interval": 0.01}
    lock: Any = FileLock(path, **how)
    try:
        try:
            lock.acquire()
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            with suppress(OSError):  # the attempt has left an empty file
                if not path.stat().st_size:
                    path.unlink()
            lock = SoftFileLock(path, **how)
            lock.acquire()
    except Timeout:
        raise _busy_error(name) from None
    except OSError as error:
        raise unwritable_error(path.parent, error) from error
    try:
        yield
    finally:
        with suppress(OSError):  # waiting processes check that the file is still the same
            if not path.stat().st_size:
                path.unlink()
        lock.release()


@contextmanager
def _lock_object(backend: Any) -> Iterator[None]:
    """Hold a lock object that names its holder.

    If the holder ran on the host of the next writer and has ended, this writer removes the object.
    If the holder ran on another host, a person must find out whether it has ended.
    """
    lock, data = backend.lock_path(), json.dumps(_process(os.getpid())).encode()
    url = f"{backend.name.removesuffix('.zarr')}.lock"
    for attempt in itertools.count():
        try:
            backend.fs.pipe_file(lock, data, mode="create")
            break
        except (OSError, NotImplementedError, UnreachableError) as error:
            if not backend.fs.exists(lock):
                if isinstance(error, NotImplementedError):  # there are no conditional writes
                    backend.fs.pipe_file(lock, data)
                    break
                if attempt == _TRIES:
                    reason = f"{backend.name} cannot be locked: {error}"
                    raise UnreachableError(reason) from error
                continue
        with suppress(FileNotFoundError):
            try:
                holder = json.loads(backend.fs.cat_file(lock))
                who = f"process {holder['process']} of {holder['host']}"
                has_ended = _has_ended(holder)
            except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
                has_ended, who = False, "its holder is unknown"
            if not has_ended:
                raise _busy_error(backend.name, f" ({who}; if it no longer runs, remove {url})")
            backend.fs.rm_file(lock)
    try:
        yield
    finally:
        with suppress(OSError, DseError):
            backend.fs.rm_file(lock)


def _process(number: int) -> dict[str, Any]:
    result: dict[str, Any] = {"host": socket.gethostname(), "process": number}
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        result["system"] = boot + os.readlink("/proc/self/ns/pid")
        result["began"] = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19]
    return result


def _has_ended(holder: dict[str, Any]) -> bool:
    """True if the holder of a lock has surely ended; never for a holder on another host."""
    here = _process(int(holder["process"]))
    if "system" not in here or any(holder.get(k) != here[k] for k in ("host", "system")):
        return False
    with suppress(PermissionError):  # the process belongs to another user
        try:
            os.kill(int(holder["process"]), 0)
        except ProcessLookupError:
            return True
    return bool(here.get("began", holder["began"]) != holder["began"])
