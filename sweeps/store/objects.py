"""A store under a URL that fsspec reaches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sweeps.grid.failing import reason_of
from sweeps.store.holders import busy, holder, is_gone
from sweeps.store.locks import HIDDEN
from symbolic.errors import DseError, UnreachableError

#: By these a store is opened, and known.
_SIGNS = ("zarr.json", f"{HIDDEN}/finished", f"{HIDDEN}/identity")


class Objects:
    """Objects under a URL. Each appears at once, so that nothing unfinished is ever seen."""

    def __init__(self, url: str) -> None:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]

        self._name = url.rstrip("/")
        try:
            # no list of names is kept: other hosts set objects meanwhile
            fs, root = url_to_fs(self._name, use_listings_cache=False)
        except ImportError as error:
            kind = url.partition("://")[0]
            way = "; pip install s3fs" if kind == "s3" else ""
            raise DseError(f"{url!r} cannot be reached: {error}{way}") from error
        except ValueError as error:
            raise DseError(f"{url!r} cannot be reached: {error}") from error
        self.fs: Any = _Telling(fs)
        self._root = str(root)

    @property
    def name(self) -> str:
        """The URL."""
        return self._name

    def _at(self, key: str) -> str:
        return f"{self._root}/{key}"

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            above = self._name.rpartition("/")[0]
            raise UnreachableError(f"{above} cannot be reached: {error}") from error

    def exists(self) -> bool:
        """Whether any object is there."""
        with self._reached():
            if self.fs.exists(self._root):
                return True
        return bool(self.sizes(""))  # what does not answer may be said not to exist

    def get(self, key: str) -> bytes:
        """An object."""
        with self._reached():
            return bytes(self.fs.cat_file(self._at(key)))

    def stamp(self, key: str) -> Any:
        """What differs once an object is set anew."""
        with self._reached():
            said = self.fs.info(self._at(key))
        return tuple(str(said.get(k)) for k in ("size", "ETag", "etag", "created", "LastModified"))

    def put(self, key: str, data: bytes, *, wait: bool = True) -> None:
        """Set an object."""
        self.fs.pipe_file(self._at(key), data)

    def delete(self, key: str) -> None:
        """Remove an object, if it is there."""
        with suppress(FileNotFoundError):
            self.fs.rm_file(self._at(key))

    def sizes(self, folder: str) -> dict[str, int]:
        """The objects of a folder, and the bytes of each."""
        try:
            with self._reached():
                listed = self.fs.ls(self._at(folder), detail=True)
        except FileNotFoundError:
            return {}
        files = (entry for entry in listed if entry["type"] == "file")
        return {entry["name"].rsplit("/", 1)[-1]: int(entry["size"]) for entry in files}

    @contextmanager
    def writing(self, key: str) -> Iterator[Callable[..., None]]:
        """Collects the object, then sets it."""
        data = bytearray()

        def write(more: Any, first: bool = False) -> None:
            view = memoryview(more).cast("B")
            data[0 if first else len(data) : len(view) if first else len(data)] = view

        yield write
        self.put(key, bytes(data))

    def settle(self, folder: str, names: Sequence[str] = ()) -> None:
        """Objects are durable once they are set."""

    @contextmanager
    def claim(self, *, writing: bool = True) -> Iterator[None]:
        """Object stores have no locks; two processes write the same bytes under the same keys."""
        yield

    def create(self, files: Mapping[str, bytes]) -> None:
        """Set the objects in the given order; of several that begin here the first one begins.

        Who comes later with the same first object belongs to the same study, and goes on.
        """
        key, first = next(iter(files.items()))
        try:
            self.fs.pipe_file(self._at(key), first, mode="create")
        except (OSError, NotImplementedError):  # it is there, or such a condition is not known
            if self.fs.exists(self._at(key)) and self.get(key) != first:
                raise DseError(
                    f"{self.name} was begun by another process at the same time"
                ) from None
        for key, data in files.items():
            self.put(key, data)

    def files(self) -> list[str]:
        """The keys of all objects."""
        return sorted(path[len(self._root) + 1 :] for path in self.fs.find(self._root))

    def remains(self) -> list[str]:
        """Nothing unfinished is ever seen."""
        return []

    def total(self) -> int:
        """The bytes of all objects."""
        return int(self.fs.du(self._root))

    def adopt(self, other: Objects, key: str) -> None:
        """Set an object to a copy of what stands under its key in another place."""
        self.fs.cp_file(other._at(key), self._at(key))

    def beside(self) -> str:
        """The name under which what shall take this place is built."""
        return f"{self._name.removesuffix('.zarr')}.next.zarr"

    @contextmanager
    def exchanging(self) -> Iterator[None]:
        """Holds an object that names its holder, while something is built beside or put here.

        Whether a holder on another host still runs nobody knows: a person must look.
        """
        url = f"{self._name.removesuffix('.zarr')}.lock"
        lock, data = f"{self._root.removesuffix('.zarr')}.lock", json.dumps(holder()).encode()
        while True:
            try:
                self.fs.pipe_file(lock, data, mode="create")
                break
            except (OSError, NotImplementedError):
                if not self.fs.exists(lock):  # such a condition is not known
                    self.fs.pipe_file(lock, data)
                    break
            there = json.loads(self.fs.cat_file(lock))
            if not is_gone(there):
                who = f"process {there['process']} of {there['host']}"
                raise busy(self.name, f" ({who}; if it runs no more, remove {url})")
            self.fs.rm_file(lock)
        try:
            yield
        finally:
            with suppress(OSError):
                self.fs.rm_file(lock)

    def swap(self, other: Objects) -> None:
        """Put what another place holds here; not at once, and it can be done again.

        What tells that a store is here, and whose, goes first and comes last.
        """
        for key in _SIGNS:
            self.delete(key)
        self.remove()
        names = {path[len(other._root) + 1 :] for path in other.fs.find(other._root)}
        rest = sorted(names.difference(_SIGNS))
        self.fs.copy([other._at(name) for name in rest], [self._at(name) for name in rest])
        for name in (name for name in reversed(_SIGNS) if name in names):
            self.fs.cp_file(other._at(name), self._at(name))

    def remove(self) -> None:
        """Remove all objects."""
        with suppress(FileNotFoundError):
            self.fs.rm(self._root, recursive=True)

    def aside(self) -> str:
        """A free name beside, for what is here."""
        stem, number = self._name.removesuffix(".zarr"), 1
        while Objects(found := f"{stem}.old-{number}.zarr").exists():
            number += 1
        return found

    def move(self, to: str) -> None:
        """Copy all objects and remove them here."""
        here, there = self.fs.find(self._root), Objects(to)
        self.fs.copy(here, [there._at(path[len(self._root) + 1 :]) for path in here])
        self.fs.rm(self._root, recursive=True)


class _Telling:
    """A file system whose errors are all those of files, whatever speaks to the server."""

    def __init__(self, fs: Any) -> None:
        self._fs = fs

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._fs, name)

        def call(*given: Any, **more: Any) -> Any:
            try:
                return inner(*given, **more)
            except (OSError, NotImplementedError):
                raise
            except Exception as error:  # of credentials, addresses, protocols
                raise ConnectionError(reason_of(error)) from error

        return call
