"""The chunks of a finished store at hand: where they lie, or unpacked block by block when asked."""

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

from stochastic import sizes
from sweeps.grid.flat_index import unravel
from sweeps.store.earlier import mended
from sweeps.store.folder import Folder
from sweeps.store.held import damaged
from sweeps.store.medium import Medium
from sweeps.store.packing import HEAD, ONE, START
from sweeps.store.versions import Version
from sweeps.store.zarr_format import TRAILER, chunk_key
from sweeps.store.zones import Zoned

#: How many files are mapped at a time.
_MAPPED = sizes.MAPPED_FILES


def _memory() -> int:
    """The bytes that chunks may take which are not mapped: a quarter of the memory."""
    with suppress(AttributeError, ValueError, OSError):
        return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE")) // 4
    return 1 << 30


class Packed:
    """The values of a chunk, unpacked where they are asked for."""

    def __init__(self, data: NDArray[np.uint8], dtype: np.dtype[Any]) -> None:
        self._data = data
        said = HEAD.unpack(data[: HEAD.size].tobytes())
        _, _, self._flags, _, size, self._step, _ = said
        #: All values; what was not asked for is anything.
        self.values: NDArray[Any] = np.empty(size // dtype.itemsize, dtype=dtype)
        self._raw, self._bytes = self.values.view(np.uint8), dtype.itemsize
        blocks = -(-size // self._step) if size > self._step else 1
        self._ends = np.array([0, data.size], dtype=np.int64)
        if blocks > 1:
            starts = data[HEAD.size : HEAD.size + START * blocks].view("<i4")
            self._ends = np.append(starts, data.size).astype(np.int64)
        self._there, self._all, self._lock = np.zeros(blocks, dtype=bool), False, threading.Lock()

    def need(self, low: NDArray[np.int64] | int, high: NDArray[np.int64] | int) -> None:
        """Unpack what values from ``low`` to before ``high`` need; or of several such pieces."""
        if self._all:
            return
        step = self._step // self._bytes
        if isinstance(low, int) and isinstance(high, int):
            wanted = range(low // step, (high - 1) // step + 1)
            missing = [number for number in wanted if not self._there[number]]
        else:
            begun = np.zeros(self._there.size + 1, dtype=np.int64)
            np.add.at(begun, low // step, 1)
            np.add.at(begun, (high - 1) // step + 1, -1)
            held = np.cumsum(begun[:-1]) > 0
            missing = np.flatnonzero(held & ~self._there).tolist()
        if missing:
            with self._lock:  # what another reads must not change meanwhile
                for number in missing:
                    if not self._there[number]:
                        self._unpack(number)
                        self._there[number] = True
                self._all = bool(self._there.all())

    def _unpack(self, number: int) -> None:
        from numcodecs import blosc  # type: ignore[import-untyped]

        into = self._raw[number * self._step : (number + 1) * self._step]
        packed = self._data[self._ends[number] : self._ends[number + 1]]
        if self._there.size > 1:
            ahead, size = HEAD.size + START, into.size
            flags = self._flags if size == self._step else self._flags | ONE
            alone = np.empty(ahead + packed.size, dtype=np.uint8)
            said = HEAD.pack(2, 1, flags, self._bytes, size, size, alone.size)
            alone[:ahead] = np.frombuffer(said + struct.pack("<I", ahead), dtype=np.uint8)
            alone[ahead:] = packed
            packed = alone
        blosc.decompress(packed, into)


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
        place = [int(k) for k in unravel(number, cut.chunks)]
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
