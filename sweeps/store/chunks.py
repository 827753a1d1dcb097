"""A chunk that is being written: its values as they are, or compressed, then their checksum."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.store.packing import Packer
from sweeps.store.zarr_format import TRAILER, checksum, joined, trailer

#: Bytes that are written at a time, of what is compressed.
_LEAST = sizes.WRITE_LEAST


class Chunk:
    """A chunk that is being written; ``write`` appends to its file."""

    def __init__(
        self, write: Callable[..., None], shape: Sequence[int], dtype: np.dtype[Any]
    ) -> None:
        self.write, self.crc = write, 0
        #: Its bytes, once it is finished.
        self.length = math.prod(shape) * dtype.itemsize + TRAILER

    def add(self, values: NDArray[Any]) -> None:
        """The values that follow those before."""
        self._append(values)

    def _append(self, data: NDArray[Any] | bytes) -> None:
        self.write(data)
        self.crc = checksum(data, self.crc)

    def finish(self) -> None:
        """All values have been added."""
        self.write(trailer(self.crc))


class PackedChunk(Chunk):
    """A chunk that is compressed; what stands before its blocks is written last."""

    def __init__(
        self,
        write: Callable[..., None],
        shape: Sequence[int],
        dtype: np.dtype[Any],
        *,
        shuffled: bool,
    ) -> None:
        super().__init__(write, shape, dtype)
        self.packer = Packer(shape, dtype, shuffled=shuffled)
        self.held: list[bytes] = []
        self.size = 0
        self.write(bytes(self.packer.ahead))

    def add(self, values: NDArray[Any]) -> None:
        """The values that follow those before, which are held until they are worth writing."""
        for block in self.packer.add(values):
            self.held.append(block)
            self.size += len(block)
        if self.size >= _LEAST:
            self._release()

    def _release(self) -> None:
        self._append(b"".join(self.held))
        self.held, self.size = [], 0

    def finish(self) -> None:
        """All values have been added: it is known what stands before them."""
        self._release()
        head = self.packer.head()
        self.crc = joined(checksum(head), self.crc, self.packer.length - len(head))
        self.length = self.packer.length + TRAILER
        self.write(head, True)
        super().finish()
