"""A store as zarr reads it, whole as it was opened: what came to be there since is not read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Self

from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import FsspecStore, LocalStore, WrapperStore

from sweeps.store.folder import Folder
from sweeps.store.medium import medium_of
from sweeps.store.versions import Version

__all__ = ["Pinned", "pinned"]


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
                return found

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
