"""Whether a folder that is opened as a store holds nothing but files of its own.

A store may come from somebody else. A link in it that leads out, a device or a pipe would have
other files read, or reading never end.
"""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import Path

from symbolic.errors import DseError
from symbolic.json_text import LONGEST

#: The file that describes arrays, which is read as a whole.
_DESCRIBES = "zarr.json"


def check_enclosed(path: Path) -> None:
    """Raise where something in a folder leads out of it, or is neither file nor folder.

    Raises
    ------
    DseError
        Which of its files it is; none was opened.
    """
    try:
        if not stat.S_ISDIR(os.stat(path).st_mode):
            return
        with os.scandir(path) as entries:
            folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        changed = tuple(os.stat(folder).st_mtime_ns for folder in (str(path), *sorted(folders)))
    except (OSError, ValueError):  # removed meanwhile, or not ours to read
        return
    _check(str(path), changed)


@lru_cache(maxsize=64)
def _check(path: str, _changed: tuple[int, ...]) -> None:
    """Check a folder; once, as long as it and the folders in it have not changed."""
    root = os.path.realpath(path)
    waiting = [root]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:  # removed meanwhile, or not ours to read
            continue
        for entry in entries:
            if entry.is_symlink():
                _check_link(entry.path, root, path)
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif not entry.is_file(follow_symlinks=False):
                if os.path.lexists(entry.path):
                    raise _refused(path, entry.path, root, "is a device, pipe or socket")
            elif entry.name == _DESCRIBES:
                _check_size(entry.path, root, path)


def _check_link(link: str, root: str, path: str) -> None:
    real = os.path.realpath(link)
    if not Path(real).is_relative_to(root):
        raise _refused(path, link, root, "is a link that leads out of the store")


def _check_size(file: str, root: str, path: str) -> None:
    try:
        size = os.stat(file).st_size
    except FileNotFoundError:
        return
    if size > LONGEST:
        raise _refused(path, file, root, f"has more than {LONGEST:,} bytes")


def _refused(path: str, entry: str, root: str, what: str) -> DseError:
    within = os.path.relpath(entry, root)
    return DseError(
        f"{path!r} is not opened as a store, for its file {within!r} {what}: take a copy of the "
        "store as it was written"
    )
