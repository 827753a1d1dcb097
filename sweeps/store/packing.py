"""Compressed chunks, made piece by piece and read block by block.

A chunk is one buffer of Blosc: a header, where each block begins, then the blocks, each some values
that LZ4 compressed, with their bytes sorted by significance (shuffled) where values seldom repeat.
Every block is compressed alone, so the bytes follow from the values, however these come and whoever
computes them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from symbolic.errors import DseError

#: Most bytes of a block, some zones of float64, so that a question unpacks little besides; and
#: fewest, if there are several. Most bytes that Blosc gives to one stream of LZ4, of which a block
#: has one for each byte of a value.
BLOCK, _SHORT, STREAM = sizes.PACK_BLOCK, sizes.PACK_SHORT, sizes.PACK_STREAM
_LEVEL = 5
#: Versions of the format and of that of LZ4, flags, bytes of a value; bytes of all values, of a
#: block of them, and of what they are packed into.
HEAD, START = struct.Struct("<BBBBIII"), 4
#: Flags: stored as it is; a block is one stream, and not one for each byte of a value.
_PLAIN, ONE = 0x02, 0x10


def block_of(chunk: Sequence[int], itemsize: int) -> int:
    """The bytes of a block: trailing axes whole, as the pieces in which values come have them.

    >>> block_of((100, 10, 4000), 8), block_of((7, 65521), 8), block_of((7, 65537), 8)
    (320000, 524168, 524288)
    >>> block_of((100, 10, 4000), 1)
    200000
    """
    size, most = itemsize, min(BLOCK, STREAM * itemsize)
    for count in reversed(chunk):
        fits = [n for n in range(1, min(count, most // size) + 1) if count % n == 0]
        size *= fits[-1]
        if fits[-1] < count:
            break
    else:
        return most
    return size if size >= max(BLOCK // 4, _SHORT) else most


def codec(block: int, itemsize: int, *, shuffled: bool) -> dict[str, Any]:
    """The codec of chunks, as the metadata of an array name it."""
    sorts = "shuffle" if shuffled else "noshuffle"
    said = {"typesize": itemsize, "cname": "lz4", "clevel": _LEVEL, "shuffle": sorts}
    return {"name": "blosc", "configuration": {**said, "blocksize": block}}


@cache
def _flags(itemsize: int, shuffled: bool) -> int:
    """The flags of a buffer of several blocks."""
    from numcodecs import blosc  # type: ignore[import-untyped]

    zeros = np.zeros(BLOCK // itemsize, dtype=f"V{itemsize}")
    flags: int = blosc.compress(zeros, b"lz4", _LEVEL, int(shuffled), BLOCK)[2]
    return flags


class Packer:
    """Packs the values of a chunk of known shape, which may come in any pieces."""

    def __init__(self, chunk: Sequence[int], dtype: np.dtype[Any], *, shuffled: bool) -> None:
        from numcodecs import blosc

        self._dtype, self._size = dtype, math.prod(chunk) * dtype.itemsize
        self._step = block_of(chunk, dtype.itemsize)
        self._flags, self._shuffled = _flags(dtype.itemsize, shuffled), int(shuffled)
        self._compress = blosc.compress
        # where a block is split into streams, what is asked for are the bytes of one of them
        self._asked = self._step // (1 if self._flags & ONE else dtype.itemsize)
        self._each = self._step // dtype.itemsize
        self._starts: list[int] = []
        #: How many bytes stand before the blocks; they are known at last.
        blocks = -(-self._size // self._step)
        self.ahead = HEAD.size + START * blocks if blocks > 1 else 0
        self.length = self.ahead
        self._rest = np.empty(self._each, dtype=dtype)
        self._held = self._seen = 0

    def add(self, values: NDArray[Any]) -> list[bytes]:
        """The blocks that are whole with the values that follow those before."""
        found, start = [], 0
        self._seen += values.nbytes
        while start < values.size:
            if not self._held and values.size - start >= self._each:
                found.append(self._block(values[start : start + self._each]))
                start += self._each
                continue
            take = min(self._each - self._held, values.size - start)
            self._rest[self._held : self._held + take] = values[start : start + take]
            self._held, start = self._held + take, start + take
            if self._held == self._each:
                self._held = 0
                found.append(self._block(self._rest))
        if self._held and self._seen == self._size:
            found.append(self._block(self._rest[: self._held]))
            self._held = 0
        self.length += sum(map(len, found))
        return found

    def head(self) -> bytes:
        """The bytes before the blocks, once all values have been added."""
        if not self.ahead:
            return b""
        item = self._dtype.itemsize
        said = HEAD.pack(2, 1, self._flags, item, self._size, self._step, self.length)
        lengths = np.array([self.ahead, *self._starts])
        return said + np.cumsum(lengths)[:-1].astype("<i4").tobytes()

    def _buffer(self, values: NDArray[Any]) -> bytes:
        found: bytes = self._compress(values, b"lz4", _LEVEL, self._shuffled, self._asked)
        step = HEAD.unpack_from(found)[5]
        if step != (wanted := min(self._step, values.nbytes)):  # else nobody could unpack it
            raise DseError(
                f"Blosc compressed blocks of {step:,} bytes, not of {wanted:,} as it was asked: "
                "give compression='none' (--compression none), or another version of numcodecs"
            )
        return found

    def _block(self, values: NDArray[Any]) -> bytes:
        if not self.ahead:
            return self._buffer(values)
        found = self._buffer(values) if values.size == self._each else b""
        start, end = HEAD.size + START, len(found)
        if not found or found[2] & _PLAIN:  # as it is after another: the last is not split
            zeros = np.zeros(self._each, dtype=self._dtype)
            found = self._buffer(np.concatenate([zeros, values]))
            other, start = struct.unpack_from("<II", found, HEAD.size)
            end = other if other > start else len(found)  # threads may have put it first
        self._starts.append(end - start)
        return found[start:end]
