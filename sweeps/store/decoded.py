"""The chunks of a finished store at hand: where they lie, or unpacked where they are asked for."""

from __future__ import annotations

import math
import os
import struct
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.store.earlier import mended
from sweeps.store.folder import Folder
from sweeps.store.held import damaged
from sweeps.store.medium import Medium
from sweeps.store.packed import Packed
from sweeps.store.versions import Version
from sweeps.store.zarr_format import TRAILER, chunk_key
from sweeps.store.zones import Zoned

__all__ = ["Chunk", "Chunks"]

#: How many files are mapped at a time.
_MAPPED = 1 << 14


def _memory() -> int:
    """The bytes that chunks may take which are not mapped: a quarter of the memory."""
    with suppress(AttributeError, ValueError, OSError):
        return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE")) // 4
    return 1 << 30


class Chunk:
    """A chunk as one row; what was not asked for may be anything."""

    def __init__(self, values: NDArray[Any], packed: Packed | None, weight: int) -> None:
        self.values, self.address = values, int(values.ctypes.data)
        self.packed, self.weight = packed, weight

    def need(self, low: NDArray[np.int64] | int, high: NDArray[np.int64] | int) -> NDArray[Any]:
        """The row, of which values from ``low`` to before ``high`` are right; or several such."""
        if self.packed is not None:
            self.packed.need(low, high)
        return self.values


class Chunks:
    """Chunks by their outputs and numbers; each is checked when it is looked at first."""

    def __init__(
        self,
        medium: Medium,
        zones: Mapping[str, Zoned],
        types: Mapping[str, np.dtype[Any]],
        *,
        packed: bool,
        version: Version,
    ) -> None:
        self.medium, self.zones, self.types, self.version = medium, zones, types, version
        #: Whether values must be unpacked; whether they lie in files.
        self.packed, self.filed = packed, isinstance(medium, Folder)
        self._held: dict[tuple[str, int], Chunk] = {}
        self._lock, self._weight, self._most = threading.Lock(), 0, _memory()

    def get(self, name: str, number: int) -> Chunk:
        """A chunk by its number."""
        found = self._held.get((name, number))
        if found is None:
            read = self._read(name, number)
            with self._lock:
                found = self._held.setdefault((name, number), read)  # others may do so too
                self._weight += found.weight if found is read else 0
                while len(self._held) > 1 and (
                    len(self._held) > _MAPPED or self._weight > self._most
                ):
                    self._weight -= self._held.pop(next(iter(self._held))).weight
        return found

    def _read(self, name: str, number: int) -> Chunk:
        cut, kind = self.zones[name].cut, self.types[name]
        place = [int(k) for k in np.unravel_index(number, cut.chunks)] if cut.chunks else []
        key, size = f"{name}/{chunk_key(place)}", math.prod(cut.chunk) * kind.itemsize
        data = self.version.checked(key, lambda: self._bytes(key))
        assert data is not None  # else it was refused
        body = data[:-TRAILER]
        try:
            packed = Packed(mended(body), kind) if self.packed else None
            values = body.view(kind) if packed is None else packed.values
            right = values.nbytes == size
        except (ValueError, struct.error):
            right = False
        if not right:
            raise damaged(self.medium.name, key, "it holds other values than it must")
        # a file that is mapped takes no memory of its own
        weight = (0 if self.filed else data.nbytes) + (size if packed is not None else 0)
        return Chunk(values, packed, weight)

    def _bytes(self, key: str) -> NDArray[np.uint8] | None:
        with suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError):
            if not isinstance(self.medium, Folder):
                return np.frombuffer(self.medium.get(key), dtype=np.uint8)
            path = self.medium.path / key
            if not path.stat().st_size:  # which cannot be mapped
                return np.zeros(0, dtype=np.uint8)
            return np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
        return None
