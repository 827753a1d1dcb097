"""Where a store lies: a folder, or a place that fsspec reaches by a URL.

Nothing else in the package touches the files of a store. What stands under a key is whole: it is
written under another name first (a folder), or appears at once (an object store).
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from symbolic.errors import DseError

__all__ = ["HIDDEN", "Folder", "Medium", "Objects", "is_url", "medium_of"]

#: The folder beside the arrays which zarr does not look into.
HIDDEN = ".simt-dse"
_LOCK = f"{HIDDEN}/lock"
#: The ending of what is not whole yet.
_PART = ".part"

Write = Callable[[Any], None]


class Medium(Protocol):
    """What a store asks of the place where it lies; keys are paths with ``/``."""

    @property
    def name(self) -> str:
        """The place as a person writes it."""

    def exists(self) -> bool:
        """Whether anything is there."""

    def get(self, key: str) -> bytes:
        """What stands under a key; FileNotFoundError where nothing does."""

    def put(self, key: str, data: bytes) -> None:
        """Set a key, durably."""

    def delete(self, key: str) -> None:
        """Remove a key, if it is there."""

    def sizes(self, folder: str) -> dict[str, int]:
        """The names in a folder, and the bytes of each; empty where there is no such folder."""

    def writing(self, key: str) -> Any:
        """A context with a function that appends; at its end the key is set, durably."""

    def settle(self, folder: str) -> None:
        """Make the names in a folder durable."""

    def claim(self) -> Any:
        """A context in which no other process writes here."""

    def create(self, files: Mapping[str, bytes]) -> None:
        """Make the store of these files, all or nothing; the last one is the sign that all are."""

    def remains(self) -> list[str]:
        """The keys that a killed process left unfinished."""


def is_url(place: object) -> bool:
    """Whether a place is a URL rather than a path."""
    return isinstance(place, str) and "://" in place


def medium_of(place: str | Path) -> Folder | Objects:
    """The medium of a path or URL."""
    if isinstance(place, str) and place.startswith("file://"):
        return Folder(Path(place.removeprefix("file://")))
    return Objects(str(place)) if is_url(place) else Folder(Path(place))


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

    def exists(self) -> bool:
        """Whether anything is there."""
        return self.path.exists() or self.path.is_symlink()

    def get(self, key: str) -> bytes:
        """What stands under a key."""
        try:
            return (self._place / key).read_bytes()
        except NotADirectoryError as error:
            raise FileNotFoundError(*error.args) from None

    def put(self, key: str, data: bytes) -> None:
        """Set a key, durably."""
        with self.writing(key) as write:
            write(data)
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
    def writing(self, key: str) -> Iterator[Write]:
        """Appends to a file under another name, which becomes the key."""
        path = self._place / key
        beside = path.with_name(path.name + _PART)
        with suppress(FileExistsError):
            path.parent.mkdir(parents=True)
        try:
            with beside.open("wb", buffering=0) as file:

                def write(data: Any) -> None:
                    rest = memoryview(data).cast("B")
                    while rest:  # the system may take less than it is given
                        rest = rest[file.write(rest) :]

                yield write
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise

    def settle(self, folder: str) -> None:
        """Make the names in a folder durable."""
        _durable(self._place / folder)

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Holds the lock of the folder; a process that ends, however it ends, lets it go."""
        if self.path.exists():
            with _locked(self.path / _LOCK, self.name):
                yield
            return
        parent = self.path.parent
        for left in parent.glob(f".{self.path.name}.*{_PART}"):
            with suppress(DseError, OSError), _locked(left / _LOCK, self.name):
                shutil.rmtree(left)
        beside = parent / f".{self.path.name}.{uuid.uuid4().hex[:8]}{_PART}"
        try:
            beside.mkdir()
            (beside / HIDDEN).mkdir()
            (beside / _LOCK).touch()
        except OSError as error:
            raise DseError(
                f"cannot write in {parent}: {error.strerror}; create the folder, or choose "
                "another place"
            ) from error
        try:
            with _locked(beside / _LOCK, self.name):
                self._place = beside
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


@contextmanager
def _locked(path: Path, name: str) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # without such locks two processes do the same work twice
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


class Objects:
    """Objects under a URL. Each appears at once, so that nothing unfinished is ever seen."""

    def __init__(self, url: str) -> None:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]

        self._name = url.rstrip("/")
        try:
            fs, root = url_to_fs(self._name)
        except (ImportError, ValueError) as error:
            raise DseError(f"{url!r} cannot be reached: {error}") from error
        self.fs: Any = fs
        self._root = str(root)

    @property
    def name(self) -> str:
        """The URL."""
        return self._name

    def _at(self, key: str) -> str:
        return f"{self._root}/{key}"

    def exists(self) -> bool:
        """Whether any object is there."""
        self.fs.invalidate_cache()
        return bool(self.fs.exists(self._root))

    def get(self, key: str) -> bytes:
        """An object."""
        return bytes(self.fs.cat_file(self._at(key)))

    def put(self, key: str, data: bytes) -> None:
        """Set an object."""
        self.fs.pipe_file(self._at(key), data)

    def delete(self, key: str) -> None:
        """Remove an object, if it is there."""
        with suppress(FileNotFoundError):
            self.fs.rm_file(self._at(key))

    def sizes(self, folder: str) -> dict[str, int]:
        """The objects of a folder, and the bytes of each."""
        self.fs.invalidate_cache()
        try:
            listed = self.fs.ls(self._at(folder), detail=True)
        except FileNotFoundError:
            return {}
        files = (entry for entry in listed if entry["type"] == "file")
        return {entry["name"].rsplit("/", 1)[-1]: int(entry["size"]) for entry in files}

    @contextmanager
    def writing(self, key: str) -> Iterator[Write]:
        """Collects the object, then sets it."""
        data = bytearray()
        yield data.extend
        self.put(key, bytes(data))

    def settle(self, folder: str) -> None:
        """Objects are durable once they are set."""

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Object stores have no locks; two processes write the same bytes under the same keys."""
        yield

    def create(self, files: Mapping[str, bytes]) -> None:
        """Set the objects in the given order."""
        for key, data in files.items():
            self.put(key, data)

    def remains(self) -> list[str]:
        """Nothing unfinished is ever seen."""
        return []
