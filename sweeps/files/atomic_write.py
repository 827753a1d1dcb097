"""Atomic writes of files and folders.

A file is first written into a temporary folder next to it and then renamed. So a full disk or an
interrupt leaves the earlier file as it was.
"""

import errno
import glob
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sweeps.store.backend import PART_SUFFIX, unwritable_error
from sweeps.store.lock import file_lock
from symbolic.errors import DseError

#: Errors of the disk that do not depend on the written data.
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}


@contextmanager
def atomic_path(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary path that becomes ``path`` if the block succeeds.

    An existing file is replaced only if ``replace`` is True; its permissions are kept. Devices and
    pipes are written directly. Temporary folders of killed processes are removed.
    """
    try:
        place, mode = _check_target(path, replace=replace)
    except OSError as error:
        raise unwritable_error(path.parent, error) from error
    if mode is not None and not stat.S_ISREG(mode):
        yield path  # /dev/stdout or a pipe cannot be replaced
        return
    with _temporary_folder(place) as room:
        temporary = room / path.name
        try:
            yield temporary
            if not temporary.is_dir():  # the many files of a folder are not synced
                with temporary.open("rb+") as file:
                    os.fsync(file.fileno())  # this may report a full disk
                if mode is not None:
                    temporary.chmod(stat.S_IMODE(mode))
            _rename_into_place(temporary, place, replace=replace)
        except FileExistsError:
            raise _exists_error(path) from None
        except OSError as error:
            if error.errno not in _DISK_ERRORS:
                raise
            before = "the earlier file is unchanged" if place.exists() else "nothing was written"
            raise DseError(
                f"{path} cannot be written: {error.strerror}; {before}: free some space, or choose "
                "another place"
            ) from error


def write_atomic(path: str | Path, content: str | bytes, *, replace: bool = True) -> Path:
    """Write text (as UTF-8) or bytes to a file atomically."""
    path = Path(path)
    try:
        data = content.encode("utf-8") if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        sign = ascii(error.object[error.start])
        raise DseError(
            f"{path} cannot be written: its text holds {sign}, half of a character, which UTF-8 "
            "cannot express: remove it from the names, titles and sources of the input"
        ) from error
    with atomic_path(path, replace=replace) as temporary:
        temporary.write_bytes(data)
    return path


@contextmanager
def _temporary_folder(path: Path) -> Iterator[Path]:
    for lock in path.parent.glob(f".{glob.escape(path.name)}.*.lock"):
        with suppress(DseError, OSError), file_lock(lock, lock.name):
            shutil.rmtree(lock.with_suffix(PART_SUFFIX), ignore_errors=True)
    folder = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}{PART_SUFFIX}")
    with file_lock(folder.with_suffix(".lock"), str(path)):
        try:
            folder.mkdir()
        except OSError as error:
            raise unwritable_error(path.parent, error) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _exists_error(path: Path) -> DseError:
    return DseError(f"{path} exists: remove it, or choose another name")


def _check_target(path: Path, *, replace: bool) -> tuple[Path, int | None]:
    """Return the path with links resolved, and the mode of the file (None if it does not exist)."""
    if not replace:
        if path.exists() or path.is_symlink():
            raise _exists_error(path)
        return path, None
    place = path.resolve() if path.is_symlink() else path
    if place.is_dir():
        raise DseError(f"{path} is a folder: choose another name")
    if not place.exists():
        return place, None
    if not os.access(place, os.W_OK):
        raise DseError(f"{path} exists and may not be written: choose another name")
    return place, place.stat().st_mode


def _rename_into_place(temporary: Path, path: Path, *, replace: bool) -> None:
    if replace:
        temporary.replace(path)
        return
    if not temporary.is_dir():
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # some file systems have no links
            pass
        else:
            return
    if path.exists():
        raise FileExistsError(path)
    temporary.rename(path)
