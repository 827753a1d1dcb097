"""Compressed chunks, read block by block."""

from __future__ import annotations

import struct
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.store.packing import HEAD, ONE, START

__all__ = ["Packed"]


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
