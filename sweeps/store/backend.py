"""Access to stores in a local folder or under an fsspec URL. Keys appear only when complete."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from symbolic.errors import DseError, OtherProcessError, UnreachableError

#: Folder in a store for files that only this package reads.
PRIVATE_FOLDER = ".simt-dse"
#: Suffix of files that are being written.
PART_SUFFIX = ".part"
#: Keys by which a store is recognized. A copy writes them last.
_MARKER_KEYS = (f"{PRIVATE_FOLDER}/manifest", "zarr.json", f"{PRIVATE_FOLDER}/finished")
#: Key that marks a finished store while it is copied over another store.
_REPLACING_MARK = f"{PRIVATE_FOLDER}/replacing"


def unwritable_error(folder: Path, error: OSError) -> DseError:
    """Return the error for a folder that cannot be written, with a remedy in its message."""
    ways = {errno.ENOENT: "create the folder", errno.ENOTDIR: "create the folder"}
    ways |= {errno.ENOSPC: "free some space", errno.EDQUOT: "free some space"}
    ways |= {errno.ENAMETOOLONG: "choose a shorter name"}
    way = ways.get(error.errno or 0, "allow it")
    return DseError(f"cannot write in {folder}: {error.strerror}; {way}, or choose another place")


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class LocalBackend:
    """A store in a folder. Keys are relative paths with ``/``."""

    def __init__(self, path: str | Path) -> None:
        self.name, path = str(path), Path(path)
        # follow a link, so that a new store does not replace the link
        self.path = Path(os.path.realpath(path)) if path.is_symlink() else path

    def exists(self) -> bool:
        """True if a file, folder or link with the name of the store exists."""
        try:
            os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return self.path.is_symlink()
        except (OSError, ValueError) as error:  # circular links, or an invalid name
            reason = error.strerror if isinstance(error, OSError) else error
            raise UnreachableError(f"{self.name} cannot be reached: {reason}") from error
        return True

    def get(self, key: str) -> bytes:
        """Return the content of a key; raise FileNotFoundError if it is missing."""
        try:
            return (self.path / key).read_bytes()
        except (NotADirectoryError, IsADirectoryError) as error:
            raise FileNotFoundError(*error.args) from None

    def put(self, key: str, data: Any, *, durable: bool = True) -> None:
        """Write a key atomically; after :meth:`make_durable`, its name also survives a crash."""
        path = self.path / key
        # use a unique name, because a worker that seemed lost may still be writing the same key
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}{PART_SUFFIX}")
        with suppress(FileExistsError):
            path.parent.mkdir(parents=True)
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            try:
                rest = memoryview(data).cast("B")
                while len(rest):
                    rest = rest[os.write(handle, rest) :]
                if durable:
                    os.fsync(handle)
            finally:
                os.close(handle)
            if path.is_dir() and not path.is_symlink():  # a damaged store, because keys are files
                shutil.rmtree(path)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise

    def make_durable(self, folders: Iterable[str], files: Iterable[str] = ()) -> None:
        """Flush some files to disk, then the names of files in some folders."""
        with ThreadPoolExecutor(8) as pool:  # a disk syncs many files as fast as one
            list(pool.map(lambda key: sync(self.path / key), files))
            list(pool.map(lambda key: sync(self.path / key), folders))

    def delete(self, key: str) -> None:
        """Remove a key, if it exists."""
        with suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(self.path / key)

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the size of each file in a folder; empty if the folder does not exist."""
        result = {}
        with suppress(FileNotFoundError, NotADirectoryError):
            for entry in list(os.scandir(self.path / folder)):
                with suppress(FileNotFoundError):  # the file was just renamed or removed
                    if entry.is_file():
                        result[entry.name] = entry.stat().st_size
        return result

    def files(self) -> dict[str, int]:
        """Return the sizes of all files by key."""
        result = {}
        for folder, _, names in os.walk(self.path):
            within = Path(folder).relative_to(self.path)
            for name in names:
                with suppress(FileNotFoundError):
                    result[(within / name).as_posix()] = os.lstat(f"{folder}/{name}").st_size
        return dict(sorted(result.items()))

    def create(self, files: Mapping[str, bytes]) -> None:
        """Create the store from files. Either all files appear at once, or none."""
        made = LocalBackend(self._sibling_path("new"))
        shutil.rmtree(made.path, ignore_errors=True)
        try:
            for key in {key.rpartition("/")[0] for key in files}:
                (made.path / key).mkdir(parents=True, exist_ok=True)
            with ThreadPoolExecutor(8) as pool:  # a disk can write small files in parallel
                list(pool.map(made.put, files, files.values()))
            made.make_durable({key.rpartition("/")[0] for key in files})
            if self.exists():
                raise OtherProcessError(f"{self.name} was begun by another process")
            os.rename(made.path, self.path)
        except BaseException:
            shutil.rmtree(made.path, ignore_errors=True)
            raise
        sync(self.path.parent)

    def _sibling_path(self, kind: str) -> Path:
        return self.path.with_name(f".{self.path.name}.{kind}")

    def lock_path(self) -> Path:
        """Return the path of the lock file."""
        return self._sibling_path("lock")

    def staging(self) -> LocalBackend:
        """Return the backend in which a replacement is built."""
        return LocalBackend(self._sibling_path("next"))

    def recover(self) -> None:
        """Finish or undo a replacement whose process was killed; only the writer may call this."""
        for kind in ("new", "gone"):
            if (left := self._sibling_path(kind)).exists():
                shutil.rmtree(left, ignore_errors=True)
        last = self._sibling_path("last")
        if last.exists():
            if not self.exists():
                os.rename(last, self.path)
            else:
                self._discard(last)

    def has_leftovers(self) -> bool:
        """True if there are temporary folders of a running or killed writer."""
        return any(self._sibling_path(kind).exists() for kind in ("new", "next", "last", "gone"))

    def is_being_replaced(self) -> bool:
        """True if the process of a replacement was killed between its two renames."""
        return not self.exists() and self._sibling_path("last").exists()

    def replace_by(self, other: Any) -> None:
        """Replace this store by another folder and remove the old store.

        The replacement is atomic if the system can exchange two names. Otherwise the old store has
        another name for a moment. If the process is killed in this moment, :meth:`recover` restores
        the name.
        """
        if _exchange_names(self.path, other.path):
            sync(self.path.parent)
            self._discard(other.path)
            return
        last = self._sibling_path("last")
        os.rename(self.path, last)
        try:
            os.rename(other.path, self.path)
        except BaseException:
            with suppress(OSError):
                os.rename(last, self.path)
            raise
        sync(self.path.parent)
        self._discard(last)

    def _discard(self, path: Path) -> None:
        """Rename a folder, then remove it, so that no partly removed folder looks like a store."""
        gone = self._sibling_path("gone")
        shutil.rmtree(gone, ignore_errors=True)
        os.rename(path, gone)
        shutil.rmtree(gone, ignore_errors=True)

    def remove(self) -> None:
        """Remove the store, if it exists."""
        if self.exists():
            self._discard(self.path)

    def move(self, new_name: str) -> None:
        """Rename the folder."""
        os.rename(self.name, new_name)


def _exchange_names(path: Path, other: Path) -> bool:
    """Exchange two names atomically; return False if the system cannot do so."""
    import ctypes

    now, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    done: int = rename(now, os.fsencode(path), now, os.fsencode(other), exchange)
    return done == 0


class RemoteBackend:
    """A store of objects under a URL. Each object is written atomically."""

    def __init__(self, url: str) -> None:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]

        self.name = url.rstrip("/")
        if set("*?[]") & set(self.name):
            raise DseError(f"{url!r} holds one of the wildcards * ? [ ]: rename it")
        try:
            # no cache, because other hosts write objects too
            fs, root = url_to_fs(self.name, use_listings_cache=False)
        except ImportError as error:
            kind = url.partition("://")[0]
            way = "; pip install s3fs" if kind == "s3" else ""
            raise DseError(f"{url!r} cannot be reached: {error}{way}") from error
        except ValueError as error:
            raise DseError(f"{url!r} cannot be reached: {error}") from error
        self.fs: Any = _ReachableFileSystem(fs, self.name.rpartition("/")[0])
        self.root = str(root)

    def _path(self, key: str) -> str:
        return f"{self.root}/{key}"

    def exists(self) -> bool:
        """True if the store has any object."""
        # after an error, fsspec's `exists` may return False, while `sizes` raises
        return bool(self.fs.exists(self.root) or self.sizes(""))

    def get(self, key: str) -> bytes:
        """Return an object; raise FileNotFoundError if it is missing."""
        return bytes(self.fs.cat_file(self._path(key)))

    def put(self, key: str, data: Any, *, durable: bool = True) -> None:
        """Write an object."""
        self.fs.pipe_file(self._path(key), bytes(data))

    def make_durable(self, folders: Iterable[str], files: Iterable[str] = ()) -> None:
        """Do nothing, because objects are durable once they are written."""

    def delete(self, key: str) -> None:
        """Remove an object, if it exists."""
        with suppress(FileNotFoundError):
            self.fs.rm_file(self._path(key))

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the size of each object in a folder."""
        listed = []
        with suppress(FileNotFoundError):
            listed = self.fs.ls(self._path(folder), detail=True)
        files = (entry for entry in listed if entry["type"] == "file")
        return {entry["name"].rsplit("/", 1)[-1]: int(entry["size"]) for entry in files}

    def files(self) -> dict[str, int]:
        """Return the sizes of all objects by key."""
        result = self.fs.find(self.root, detail=True)
        return {path[len(self.root) + 1 :]: result[path]["size"] for path in sorted(result)}

    def create(self, files: Mapping[str, bytes]) -> None:
        """Write the objects, the manifest first, so that a killed run can be continued."""
        for key in sorted(files, key=lambda key: key not in _MARKER_KEYS):
            self.put(key, files[key])

    def lock_path(self) -> str:
        """Return the path of the lock object."""
        return f"{self.root.removesuffix('.zarr')}.lock"

    def staging(self) -> RemoteBackend:
        """Return the backend in which a replacement is built."""
        parent, name = self.name.rsplit("/", 1)
        return RemoteBackend(f"{parent}/.{name.removesuffix('.zarr')}.next.zarr")

    def has_leftovers(self) -> bool:
        """True if there are staged objects of a running or killed writer."""
        return self.staging().exists()

    def is_being_replaced(self) -> bool:
        """True if the process of a replacement was killed while it copied objects."""
        return get_or_none(self.staging(), _REPLACING_MARK) is not None

    def recover(self) -> None:
        """Finish a replacement whose process was killed; only the writer may call this."""
        if self.is_being_replaced():
            self.replace_by(self.staging())

    def replace_by(self, other: Any) -> None:
        """Replace this store by a copy of another store, then remove the other store.

        Marker keys are deleted first and copied last, so that no partial copy looks like a store. A
        mark in the other store makes :meth:`recover` repeat the copy if the process is killed.
        """
        other.put(_REPLACING_MARK, b"")
        for key in _MARKER_KEYS:
            self.delete(key)
        self.remove()
        names = set(other.files()) - {_REPLACING_MARK}
        other._copy(self, sorted(names.difference(_MARKER_KEYS)))
        for name in (name for name in _MARKER_KEYS if name in names):
            other._copy(self, [name])
        other.delete(_REPLACING_MARK)
        other.remove()

    def _copy(self, target: RemoteBackend, keys: Sequence[str]) -> None:
        self.fs.copy([self._path(key) for key in keys], [target._path(key) for key in keys])

    def remove(self) -> None:
        """Remove all objects."""
        with suppress(FileNotFoundError):
            self.fs.rm(self.root, recursive=True)

    def move(self, new_name: str) -> None:
        """Copy all objects to another URL and remove them here."""
        self._copy(RemoteBackend(new_name), list(self.files()))
        self.remove()


class _ReachableFileSystem:
    """A wrapper of fsspec that raises UnreachableError for all errors but missing objects."""

    def __init__(self, fs: Any, name: str) -> None:
        self._fs, self._name = fs, name

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._fs, name)

        def call(*args: Any, **options: Any) -> Any:
            try:
                return inner(*args, **options)
            except (FileNotFoundError, FileExistsError, NotImplementedError):
                raise
            except Exception as error:
                from sweeps.grid.failures import reason_of

                reason = error if isinstance(error, OSError) else reason_of(error)
                raise UnreachableError(f"{self._name} cannot be reached: {reason}") from error

        return call


StoreBackend: TypeAlias = LocalBackend | RemoteBackend


def get_or_none(backend: StoreBackend, key: str) -> bytes | None:
    """Return the content of a key, or None if it is missing."""
    with suppress(FileNotFoundError):
        return backend.get(key)
    return None


def free_name(backend: StoreBackend) -> str:
    """Return an unused name in the folder of a store, to which the store can be moved."""
    (stem, ending), number = os.path.splitext(backend.name), 1
    while type(backend)(result := f"{stem}.old-{number}{ending}").exists():
        number += 1
    return result


def is_url(place: object) -> bool:
    """True if the location of a store is a URL, False if it is a path."""
    return isinstance(place, str) and "://" in place


def backend_of(place: str | Path) -> Any:
    """Return the backend of a path or URL; raise an error if it is invalid or links to outside."""
    if is_url(place) and not str(place).startswith("file://"):
        return RemoteBackend(str(place))
    result = LocalBackend(str(Path(str(place).removeprefix("file://"))))
    result.exists()
    from sweeps.store.untrusted import check_no_outside_links

    check_no_outside_links(Path(result.name))
    return result
