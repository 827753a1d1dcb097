"""A store as zarr reads it, whole as it was opened: what came to be there since is not read.

What is lost or damaged is refused, and not filled in.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Self

import numpy as np
from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import FsspecStore, LocalStore, WrapperStore

from sweeps.store.earlier import mended
from sweeps.store.folder import Folder
from sweeps.store.medium import medium_of
from sweeps.store.skeleton import packed_in
from sweeps.store.versions import Version
from sweeps.store.zarr_format import TRAILER, checksum, trailer


class Pinned(WrapperStore[Store]):
    """Reads of one store; refused once another is at its place, from before a read has ended."""

    def __init__(self, store: Store, version: Version) -> None:
        super().__init__(store)
        self.version = version

    def _with_store(self, store: Store) -> Self:
        return type(self)(store, self.version)

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self.version.place, self.version.stamp

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """As of the store."""
        while True:
            found = await super().get(key, prototype, byte_range)
            if await asyncio.to_thread(self.version.still):
                whole = byte_range is None
                return (
                    await asyncio.to_thread(self._right, key, found, prototype) if whole else found
                )

    def _right(self, key: str, found: Buffer | None, prototype: BufferPrototype) -> Buffer | None:
        """What stands under a key as any reader unpacks it; refused where it is damaged."""
        data = None if found is None else found.as_numpy_array().view(np.uint8)
        if self.version.held is not None:
            self.version.held.check(key, data)
        if data is None or key.rpartition("/")[0] not in packed_in(self.version.told):
            return found
        body = now = data[:-TRAILER]
        with suppress(ValueError, struct.error):  # else zarr says what is wrong
            now = mended(body)
        if now is body:
            return found
        return prototype.buffer.from_bytes(now.tobytes() + trailer(checksum(now)))

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """As of the store."""
        ranges = list(key_ranges)
        while True:
            found = await super().get_partial_values(prototype, ranges)
            if await asyncio.to_thread(self.version.still):
                return found


def pinned(version: Version) -> Pinned:
    """What zarr reads of a store that was opened, and of no other."""
    medium, inner = medium_of(version.place), None
    if isinstance(medium, Folder):
        inner = LocalStore(medium.path, read_only=True)
    return Pinned(inner or FsspecStore.from_url(medium.name, read_only=True), version)
