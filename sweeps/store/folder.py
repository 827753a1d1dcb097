"""A store in a folder: files that appear under their names when they are whole, and a lock."""

from __future__ import annotations

import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from sweeps.store.direct import Appender
from symbolic.errors import DseError

__all__ = ["HIDDEN", "Folder", "exchanged"]

#: The folder beside the arrays which zarr does not look into.
HIDDEN = ".simt-dse"
_LOCK = f"{HIDDEN}/lock"
#: The ending of what is not whole yet.
_PART = ".part"

Write = Callable[..., None]


def _durable(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Folder:
    """A folder of the file system."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._place = path  # while the store is being made: the folder beside it

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def _itself(self) -> Path:
        """The folder, where the path is a link to it."""
        return self.path.resolve() if self.path.is_symlink() else self.path

    def exists(self) -> bool:
        """Whether anything is there."""
        return self.path.exists() or self.path.is_symlink()

    def get(self, key: str) -> bytes:
        """What stands under a key."""
        try:
            return (self._place / key).read_bytes()
        except (NotADirectoryError, IsADirectoryError) as error:
            raise FileNotFoundError(*error.args) from None

    def stamp(self, key: str) -> Any:
        """What differs once a key is set anew."""
        try:
            found = os.stat(self._place / key)
        except NotADirectoryError as error:
            raise FileNotFoundError(*error.args) from None
        if stat.S_ISDIR(found.st_mode):
            raise FileNotFoundError(f"{key} is a folder")
        return found.st_ino, found.st_mtime_ns, found.st_size

    def put(self, key: str, data: bytes, *, wait: bool = True) -> None:
        """Set a key; durably if one waits, else once its folder is settled."""
        with self.writing(key, wait=wait) as write:
            write(data)
        if wait:
            _durable((self._place / key).parent)

    def delete(self, key: str) -> None:
        """Remove a key, if it is there."""
        (self._place / key).unlink(missing_ok=True)

    def sizes(self, folder: str) -> dict[str, int]:
        """The files in a folder, and the bytes of each."""
        try:
            with os.scandir(self._place / folder) as entries:
                return {e.name: e.stat().st_size for e in entries if e.is_file()}
        except (FileNotFoundError, NotADirectoryError):
            return {}

    @contextmanager
    def writing(self, key: str, *, wait: bool = True) -> Iterator[Write]:
        """Appends to a file under a name of its own, which becomes the key; or sets its beginning.

        What is written with ``True`` takes the place of what was written first.
        """
        path = self._place / key
        # another worker, taken for lost, may still be writing the same
        beside = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}{_PART}")
        with suppress(FileExistsError):
            path.parent.mkdir(parents=True)
        try:
            with beside.open("wb", buffering=0) as file:
                appender = Appender(file.fileno())
                yield appender.write
                appender.finish()
                if wait:
                    os.fsync(file.fileno())
            if path.is_dir() and not path.is_symlink():  # no file of a store is one
                shutil.rmtree(path)
            beside.replace(path)
        except BaseException:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise

    def settle(self, folder: str, names: Sequence[str] = ()) -> None:
        """Make what stands under some names of a folder durable, and the names themselves."""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: _durable(self._place / folder / name), names))
        _durable(self._place / folder)

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Holds the lock of the folder; a process that ends, however it ends, lets it go."""
        if self.path.exists():
            with _locked(self.path / _LOCK, self.name):
                yield
            return
        parent = self.path.parent
        beside = parent / f".{self.path.name}.{uuid.uuid4().hex[:8]}{_PART}"
        with ExitStack() as stack:
            with _alone(parent):  # else what others are about to lock would look like a leftover
                for left in parent.glob(f".{self.path.name}.*{_PART}"):
                    with suppress(DseError, OSError), _locked(left / _LOCK, self.name):
                        shutil.rmtree(left)
                try:
                    (beside / HIDDEN).mkdir(parents=True)
                    stack.enter_context(_locked(beside / _LOCK, self.name))
                except OSError as error:
                    raise _unwritable(parent, error) from error
            self._place = beside
            try:
                yield
            finally:
                self._place = self.path
                if beside.exists():
                    shutil.rmtree(beside)

    def create(self, files: Mapping[str, bytes]) -> None:
        """Fill the folder beside, then give it its name."""
        for folder in {(self._place / key).parent for key in files}:
            folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(8) as pool:  # disks take many small files at a time
            list(pool.map(self.put, files, files.values()))
        beside, self._place = self._place, self.path
        try:
            beside.rename(self.path)
        except OSError as error:
            raise DseError(f"{self.name} was begun by another process at the same time") from error
        _durable(self.path.parent)

    def remains(self) -> list[str]:
        """The files that a killed process left unfinished."""
        found = self._place.rglob(f"*{_PART}")
        return sorted(path.relative_to(self._place).as_posix() for path in found if path.is_file())

    def total(self) -> int:
        """The bytes of all files."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())

    def adopt(self, other: Folder, key: str) -> None:
        """Set a key to what stands under it in another folder, without a copy where that can be."""
        path = self._place / key
        beside = path.with_name(path.name + _PART)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        try:
            os.link(other.path / key, beside)
        except OSError:
            with (other.path / key).open("rb") as source, self.writing(key) as write:
                while data := source.read(1 << 22):
                    write(data)
            return
        beside.replace(path)

    def beside(self) -> str:
        """The name under which what shall take this place is built."""
        return str(self._itself.with_name(f".{self._itself.name}.next"))

    def swap(self, other: Folder) -> None:
        """Exchange what is here with what another folder holds, at once where the system can."""
        path = self._itself
        last = path.with_name(f".{path.name}.last")
        if path.exists() and not exchanged(path, other.path):
            path.rename(last)
        if not path.exists():  # a process may have been killed here
            other.path.rename(path)
        if last.exists():
            shutil.rmtree(last)
        _durable(path.parent)

    def remove(self) -> None:
        """Remove all that is here."""
        shutil.rmtree(self.path, ignore_errors=True)

    def aside(self) -> str:
        """A free name beside, for what is here."""
        path, number = self.path, 1
        while (found := path.with_name(f"{path.stem}.old-{number}{path.suffix}")).exists():
            number += 1
        return str(found)

    def move(self, to: str) -> None:
        """Rename, unless another process writes here."""
        with _locked(self.path / _LOCK, self.name):
            self.path.rename(to)


def exchanged(one: Path, other: Path) -> bool:
    """Exchange two names at once; False where the system has no such call."""
    import ctypes

    now, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    done: int = rename(now, os.fsencode(one), now, os.fsencode(other), exchange)
    return done == 0


def _unwritable(folder: Path, error: OSError) -> DseError:
    return DseError(
        f"cannot write in {folder}: {error.strerror}; create the folder, or choose another place"
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Waits until no other process is here too, for a few moments."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise _unwritable(folder, error) from error
    except (ImportError, AttributeError):
        yield
        return
    try:
        with suppress(OSError):  # some file systems know no locks of folders
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def _locked(path: Path, name: str) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # without such locks two processes do the same work twice
        yield
        return
    if not path.parent.is_dir():  # what is there is no store
        yield
        return
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DseError(
                f"{name} is being written by another process: wait for it, or choose another place"
            ) from None
        yield
