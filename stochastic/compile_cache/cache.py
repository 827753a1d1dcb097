"""Store machine code in a cache folder of the user, with one file for each entry.

The folder is in ``DSE_CACHE``, or in ``simt-dse`` in the platform's cache folder; an empty
``DSE_CACHE`` disables the cache. An error counts as a cache miss and is not raised. An entry is
written to a temporary file, which is then renamed. An entry is used only if its checksum is right
and only this user can write the file.
"""

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import time
from pathlib import Path

#: Upper limit on the size of the cache. [B] Entries that were not used for _DAYS are removed.
_MAX_BYTES, _DAYS = 256 << 20, 120.0
_DAY = 86400.0  # Interval at which an entry's time of use is updated. [s]
_SUFFIX, _TEMP_SUFFIX = ".code", ".part"
_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_swept_folders: set[Path] = set()


def cache_folder() -> Path | None:
    """Return the folder of machine code, which may not exist yet; None if the cache is disabled."""
    setting = os.environ.get("DSE_CACHE")
    if setting is not None:
        return Path(setting) / "code" if setting else None
    try:
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # the user has no home folder
        return None
    return base / "simt-dse" / "code" if base.is_absolute() else None


def load(key: str) -> bytes | None:
    """Return the entry of a key; None if it is missing, damaged, or writable by other users."""
    try:
        folder = cache_folder()
        if folder is None or not _is_trusted(os.lstat(folder), stat.S_ISDIR):
            return None
        path = folder / (key + _SUFFIX)
        handle = os.open(path, os.O_RDONLY | _OPEN_FLAGS)
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(handle)
            if not _is_trusted(about, stat.S_ISREG) or about.st_size > _MAX_BYTES:
                return None
            data = file.read()
        if data[:32] != _checksum(key, data[32:]):
            return None
        if time.time() - about.st_mtime > _DAY:
            with contextlib.suppress(OSError):
                os.utime(path)
        return data[32:]
    except (OSError, ValueError):
        return None


def save(key: str, data: bytes) -> None:
    """Write the entry of a key; an existing entry is replaced."""
    try:
        folder = cache_folder()
        if folder is None:
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_trusted(os.lstat(folder), stat.S_ISDIR):
            return
        handle, part = tempfile.mkstemp(prefix=key[:16], suffix=_TEMP_SUFFIX, dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_checksum(key, data) + data)
            os.replace(part, folder / (key + _SUFFIX))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
        if folder not in _swept_folders:
            _swept_folders.add(folder)
            _remove_stale(folder)
    except (OSError, ValueError):
        return


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + data).digest()


def _is_trusted(status: os.stat_result, kind: object) -> bool:
    """True if a path has the given kind, belongs to this user, and other users cannot write it."""
    if not kind(status.st_mode):  # type: ignore[operator]
        return False
    if not hasattr(os, "getuid"):  # on Windows, folders of a user are private
        return True
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _remove_stale(folder: Path) -> None:
    """Remove old temporary files, entries unused for _DAYS, and the oldest beyond _MAX_BYTES."""
    now, entries = time.time(), []
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            about = entry.stat(follow_symlinks=False)
            age = now - about.st_mtime
            if entry.name.endswith(_TEMP_SUFFIX) and age > _DAY:
                os.unlink(entry.path)
            elif entry.name.endswith(_SUFFIX):
                entries.append((age, about.st_size, entry.path))
    total = 0
    for age, size, path in sorted(entries):
        total += size
        if total > _MAX_BYTES or age > _DAYS * _DAY:
            with contextlib.suppress(OSError):
                os.unlink(path)
