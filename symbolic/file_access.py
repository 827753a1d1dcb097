"""Decide which of the files named in a study may be opened.

The user may name any file: as an argument, as an option, in Python. But a study file or a Dataset
may come from somebody else. A file that a study file names (machine, workload, fit, table of draws,
law) is opened only if it lies below the folder of the study file. A file that a Dataset names is
not opened. Exception: both may name files in the folders that the user lists in ``DSE_PATH``. Links
are resolved before the check. Only regular files are opened, and outside of ``DSE_PATH`` only files
of up to :data:`TEXT_LIMIT` or :data:`TABLE_LIMIT` bytes.

:func:`allowed_path` is called before any such file is opened.
"""

from __future__ import annotations

import errno
import gzip
import os
import shlex
import stat
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from symbolic.errors import DseError

#: Maximum size [bytes] of a study file, and of each machine, workload or fit file that the study
#: names. TOML is parsed at 0.6 to 4 MB per second.
TEXT_LIMIT = 1 << 20
#: Maximum size in bytes, after decompression, of a table (draws, a law) that a study file names.
TABLE_LIMIT = 16 << 20
#: Files that the user named in this process; a Dataset may name them too.
_NAMED_FILES: dict[str, Path] = {}


def search_folders() -> list[Path]:
    """Return the folders of ``DSE_PATH``."""
    parts = os.environ.get("DSE_PATH", "").split(os.pathsep)
    return [Path(part).expanduser() for part in parts if part.strip()]


@dataclass(frozen=True, slots=True)
class FileScope:
    """The folders that decide how a file name in a study is resolved and whether it is allowed.

    Names are relative to the folder ``base``, and files must lie below the folder ``root``. For the
    study of a Dataset ``root`` is None: its files must be in ``DSE_PATH``, or named by the user
    before. ``user_files`` are names from the user that replace names in the study file; these files
    may lie anywhere.
    """

    base: Path | None
    root: Path | None
    user_files: frozenset[str] = frozenset()

    def with_user_files(self, names: Iterable[str]) -> FileScope:
        """Return a copy of the scope to which further ``user_files`` are added."""
        return replace(self, user_files=self.user_files | frozenset(names))

    def locate(self, name: str, what: str) -> Path:
        """Return the path of a file, or raise an error if it may not be opened."""
        path = Path(os.path.expanduser(name) if name.startswith("~/") else name)
        if self.root is not None:
            place = _absolute_path(Path(self.base or "", path))
            if not is_within(place, [self.root, *search_folders()]):
                raise DseError(
                    f"the study names the {what} {name!r}, which lies outside its folder "
                    f"({str(self.root)!r}) and DSE_PATH, and was not opened: put it below "
                    f"the study's folder, or set DSE_PATH={shlex.quote(str(place.parent))}"
                )
            return place
        folders = search_folders()
        places = [_absolute_path(folder / path) for folder in folders]
        places = [place for place in places if is_within(place, folders) and place.exists()]
        if not places and name in _NAMED_FILES:
            places = [_NAMED_FILES[name]]
        if not places:
            raise DseError(
                f"it names the {what} {name!r}, which is not in DSE_PATH, and a Dataset opens no "
                "other file: use its study file instead (dse verify and dse add take --study), or, "
                "if the file is yours, list in DSE_PATH the folder to which this name is relative"
            )
        return places[0]


#: Base of relative file names: a folder, None for the working directory, or a scope.
PathBase: TypeAlias = "Path | FileScope | None"


def allowed_path(name: str | Path, base: PathBase, what: str, limit: int = TEXT_LIMIT) -> Path:
    """Return the path of a file that a study or a user names, if it may be opened.

    Raise an error for a file outside the study's scope, for a device, pipe or socket, and for a
    file that is too large. The caller reports a missing file.
    """
    text = str(name)
    if "\0" in text:
        raise DseError(f"the {what} {text!r} cannot be the name of a file: it holds a NUL")
    if isinstance(base, FileScope) and text not in base.user_files:
        path = base.locate(text, what)
        is_listed = is_within(path, search_folders()) or base.root is None
        check_file(path, what, None if is_listed else limit)
        return path
    path = Path(base_folder(base) or "", os.path.expanduser(text))
    if not isinstance(base, FileScope):
        _NAMED_FILES[text] = _absolute_path(path)
    check_file(path, what, None)
    return path


def base_folder(base: PathBase) -> Path | None:
    """Return the folder to which file names are relative."""
    return base.base if isinstance(base, FileScope) else base


def nested_scope(base: PathBase, folder: Path) -> FileScope:
    """Return the scope for the names in a file that is itself named by a study.

    ``base`` is the base of the study, and ``folder`` the folder of the file. The result has the
    same ``root`` as ``base`` if ``base`` is a scope, otherwise the root ``folder``.
    """
    if isinstance(base, FileScope):
        return replace(base, base=folder, user_files=frozenset())
    return FileScope(folder, folder)


def is_within(path: Path, places: Iterable[Path]) -> bool:
    """True if a path, with links resolved, lies below one of the folders ``places``."""
    real = os.path.realpath(path)
    return any(Path(real).is_relative_to(os.path.realpath(place)) for place in places)


def check_file(path: Path, what: str, limit: int | None) -> None:
    """Raise an error if a file is not a regular file, or has more than ``limit`` unpacked bytes.

    The caller reports a missing file and a folder.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.ENAMETOOLONG:
            raise DseError(
                f"the {what} {str(path)!r} cannot be opened: its name is too long"
            ) from error
        return
    if stat.S_ISDIR(status.st_mode):
        return
    if not stat.S_ISREG(status.st_mode):
        raise DseError(
            f"the {what} {str(path)!r} is a device, pipe or socket, and was not opened: give a "
            "regular file"
        )
    if limit is None:
        return
    size = status.st_size
    if size <= limit and path.suffix.lower() == ".gz":
        size = _unpacked_size(path, limit)
    if size > limit:
        raise DseError(
            f"the {what} {str(path)!r} has more than {limit:,} bytes, the most that is read of a "
            "file which a study names: make it smaller, or list its folder in DSE_PATH, which has "
            "no limit"
        )


def _unpacked_size(path: Path, limit: int) -> int:
    """Return the unpacked size in bytes, or a number above ``limit``; 0 for a damaged file."""
    size = 0
    try:
        with gzip.open(path) as file:
            while size <= limit and (data := file.read(1 << 20)):
                size += len(data)
    except (OSError, EOFError, zlib.error):
        return 0  # reading the file reports the damage
    return size


def _absolute_path(path: Path) -> Path:
    return Path(os.path.abspath(path))
