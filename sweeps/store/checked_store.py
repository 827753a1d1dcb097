"""A zarr store that compares each shard of a run with its record when it is read.

An error is raised if a shard is missing or damaged, or if the store was replaced meanwhile.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import FsspecStore, LocalStore, MemoryStore, WrapperStore

from stochastic import sizes
from sweeps.store.backend import LocalBackend, backend_of, get_or_none
from sweeps.store.records import (
    MISSING,
    UNFIT,
    WRONG_TILE,
    StoreInfo,
    checksum,
    damaged_error,
    problem_of_shard,
    read_record,
)


class CheckedStore(WrapperStore[Store]):
    """A read-only zarr store of one run that checks every file it reads."""

    def __init__(self, info: StoreInfo) -> None:
        self.info, self._backend = info, backend_of(info.place)
        self._lock, self._cache = threading.Lock(), OrderedDict[str, Any]()
        local = isinstance(self._backend, LocalBackend)
        inner: Any = LocalStore(self._backend.path, read_only=True) if local else None
        super().__init__(inner or FsspecStore.from_url(self._backend.name, read_only=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.info,)

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self.info.place, self.info.identity, self.info.is_complete

    def with_read_only(self, read_only: bool = False) -> Self:
        """Return the store itself, because it is always read-only."""
        return self

    def read(self, key: str) -> Any:
        """Return the content of a key, or None if it is not stored yet; raise if it is damaged."""
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        data, problem = self._read_and_check(key)
        if problem:
            self.info.check_same()
            data, problem = self._read_and_check(key)  # a repair may just have rewritten it
        if problem:
            problem = "it is missing" if data is None else problem
            raise damaged_error(self._backend.name, key, problem)
        if data is not None and key not in self.info.manifest["files"]:
            with self._lock:
                self._cache[key] = data
                while len(self._cache) > sizes.READER_SHARDS:
                    self._cache.popitem(last=False)
        return data

    def _read_and_check(self, key: str) -> tuple[Any, str]:
        data = get_or_none(self._backend, key)
        known = self.info.manifest["files"].get(key)
        if known is not None:
            return data, MISSING if data is None else "" if checksum(data) == known else UNFIT
        name, _, chunk = key.rpartition("/")
        part = self.info.manifest["chunks"].get(name)
        if part is None or chunk.split(".")[0] != "c":
            return None, ""  # zarr looks for metadata of versions that no run writes
        tile = ".".join([str(part["part"]), *chunk.split(".")[1:]])
        record, problem = read_record(self._backend, tile, self.info.identity)
        if problem and problem != WRONG_TILE and not self.info.is_complete:
            return None, ""
        if problem:
            return data, f"the record of tile {tile}: {problem}"
        return data, problem_of_shard(data, record, name)

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a key within a range."""
        data = await asyncio.to_thread(self.read, key)
        if data is None:
            return None
        whole = MemoryStore({key: prototype.buffer.from_array_like(np.frombuffer(data, np.uint8))})
        return await whole.get(key, prototype, byte_range)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return the bytes of several keys within ranges."""
        return [await self.get(key, prototype, ends) for key, ends in key_ranges]
