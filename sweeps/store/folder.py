"""A store in a folder: files that appear under their names when they are whole, and a lock."""

from __future__ import annotations

import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from sweeps.store.direct import Appender
from sweeps.store.locks import HIDDEN, LOCKS, locked
from sweeps.store.rooms import PART, alone, room_beside, sweep
from symbolic.errors import OtherProcessError, UnreachableError

__all__ = ["HIDDEN", "PART", "Folder", "exchanged"]

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
        return Path(os.path.realpath(self.path)) if self.path.is_symlink() else self.path

    def exists(self) -> bool:
        """Whether anything is there."""
        try:
            os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return self.path.is_symlink()
        except (OSError, ValueError) as error:  # links in a circle, or no name of a file
            said = error.strerror if isinstance(error, OSError) else error
            raise UnreachableError(f"{self.name} cannot be reached: {said}") from error
        if self._place != self.path:  # where nothing was when it was claimed
            raise self._begun()
        return True

    def _begun(self) -> OtherProcessError:
        return OtherProcessError(f"{self.name} was begun by another process at the same time")

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
        beside = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}{PART}")
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
    def claim(self, *, writing: bool = True) -> Iterator[None]:
        """Holds the lock of what stands here, or of what is about to; see :func:`locked`."""
        with ExitStack() as stack:
            while True:
                if writing and not self.exists():
                    self._place = stack.enter_context(room_beside(self.path))
                    break
                held = stack.enter_context(locked(self.path, self.name, writing=writing))
                if writing:
                    sweep(self.path)
                # what has no folder for a lock is no store; one may have come to be there since
                if held or not writing or (self.exists() and not (self.path / HIDDEN).exists()):
                    break
            try:
                yield
            finally:
                self._place = self.path

    def create(self, files: Mapping[str, bytes]) -> None:
        """Fill the folder beside, then give it its name."""
        for folder in {(self._place / key).parent for key in files}:
            folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(8) as pool:  # disks take many small files at a time
            list(pool.map(self.put, files, files.values()))
        beside, self._place = self._place, self.path
        with alone(self.path.parent):
            try:
                beside.rename(self.path)
            except OSError as error:
                raise self._begun() from error
        _durable(self.path.parent)

    def files(self) -> list[str]:
        """The keys of all files, but for what locks them."""
        found = []
        for folder, _, names in os.walk(self._place):
            within = Path(folder).relative_to(self._place)
            found += [(within / name).as_posix() for name in names]
        return sorted(key for key in found if key not in LOCKS)

    def remains(self) -> list[str]:
        """The files that a killed process left unfinished."""
        return [key for key in self.files() if key.endswith(PART)]

    def total(self) -> int:
        """The bytes of all files."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())

    def adopt(self, other: Folder, key: str) -> None:
        """Set a key to what stands under it in another folder, without a copy where that can be."""
        path = self._place / key
        beside = path.with_name(path.name + PART)
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

    def exchanging(self) -> Any:
        """Who has claimed the folder may put something else into its place."""
        return nullcontext()

    def swap(self, other: Folder) -> None:
        """Exchange what is here with what another folder holds, at once where the system can."""
        path, last = self._itself, other._last
        with alone(path.parent):  # where it cannot, nobody begins another here in between
            if path.exists() and not exchanged(path, other.path):
                path.rename(last)
            if not path.exists():  # a process may have been killed here
                other.path.rename(path)
            if last.exists():
                last.rename(other.path)
        _durable(path.parent)

    @property
    def _last(self) -> Path:
        """Where what is here has another name in the middle of an exchange."""
        return self.path.with_name(f"{self.path.name}.last")

    def remove(self) -> None:
        """Remove all that is here; a name at once, so that no part of it is taken for a whole."""
        for path in (self.path, self._last):
            if path.exists():
                gone = path.with_name(f".{self.path.name}.{uuid.uuid4().hex[:8]}{PART}")
                path.rename(gone)
                shutil.rmtree(gone)
        sweep(self.path)

    def aside(self) -> str:
        """A free name beside, for what is here."""
        path, number = self.path, 1
        while (found := path.with_name(f"{path.stem}.old-{number}{path.suffix}")).exists():
            number += 1
        return str(found)

    def move(self, to: str) -> None:
        """Rename."""
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
