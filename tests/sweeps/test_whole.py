"""Files that appear when they are whole: what stood there stays until then."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from sweeps.files.atomic_write import atomic_path, write_atomic
from symbolic.errors import DseError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError, OSError(errno.ENOSPC, "full")])
def test_a_write_that_is_cut_short_leaves_the_old_file(
    stop: type[BaseException] | OSError, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def cut_short() -> None:
        with atomic_path(path, replace=True) as temporary:
            temporary.write_text("half")
            assert path.read_text() == "old"
            raise stop

    with pytest.raises(DseError if isinstance(stop, OSError) else stop):
        cut_short()
    assert (path.read_text(), names(tmp_path)) == ("old", ["a.txt"])


def test_a_disk_that_is_full_at_the_very_end_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "a.txt"
    monkeypatch.setattr("sweeps.files.atomic_write.os.fsync", full)
    with pytest.raises(DseError, match=r"No space left on device; nothing was written"):
        write_atomic(path, "new")
    assert names(tmp_path) == []
    path.write_text("old")
    with pytest.raises(DseError, match="the earlier file is unchanged: free some space"):
        write_atomic(path, "new")
    assert (path.read_text(), names(tmp_path)) == ("old", ["a.txt"])


def test_a_file_is_replaced_with_its_permissions_and_behind_its_link(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to("a.txt")
    assert write_atomic(link, "new") == link
    assert link.is_symlink()
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)
    assert names(tmp_path) == ["a.txt", "link.txt"]


def test_what_exists_is_kept_where_it_is_not_to_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(DseError, match="exists: remove it"):
        write_atomic(path, "new", replace=False)
    (tmp_path / "folder").mkdir()
    with pytest.raises(DseError, match="is a folder: choose another name"):
        write_atomic(tmp_path / "folder", "new")
    assert path.read_text() == "old"


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_atomic(pipe, "text")
    reader.join()
    assert (read, names(tmp_path)) == (["text"], ["pipe"])


def test_text_that_no_file_can_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(DseError, match=r"holds '\\ud800', half of a character"):
        write_atomic(path, "a\ud800")
    assert (path.read_text(), names(tmp_path)) == ("old", ["a.txt"])


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(DseError, match=r"cannot write in .*none: No such file.*create the folder"):
        write_atomic(tmp_path / "none" / "a.txt", "new")
    with pytest.raises(DseError, match="File name too long; choose a shorter name"):
        write_atomic(tmp_path / ("a" * 300), "new")
