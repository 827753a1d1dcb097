"""Files and folders that appear under their names only when they are whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sweeps.store.rooms import room_beside
from symbolic.errors import DseError

__all__ = ["whole"]


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A name beside ``path`` to write under; it becomes ``path`` if all goes well, else vanishes.

    What processes that were killed have left of the same is removed.

    Raises
    ------
    DseError
        ``path`` exists, or its folder cannot be written.
    """
    taken = DseError(f"{path} exists: remove it, or choose another name")
    if path.exists() or path.is_symlink():
        raise taken
    with room_beside(path) as room:
        beside = room / path.name
        yield beside
        try:
            _named(beside, path)
        except FileExistsError:
            raise taken from None


def _named(beside: Path, path: Path) -> None:
    """Give what was written its name, unless something has it by now."""
    if not beside.is_dir():
        try:
            os.link(beside, path)
        except FileExistsError:
            raise
        except OSError:  # some file systems know no links
            pass
        else:
            return
    if path.exists():
        raise FileExistsError(path)
    os.rename(beside, path)
