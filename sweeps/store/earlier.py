"""Chunks as an earlier version packed them, which no other reader of Blosc unpacks.

Values of one byte Blosc had cut into blocks of :data:`~sweeps.store.packing.STREAM`, where larger
ones were asked for. What was stored of each of these are several of those, one after another, each
after its length; and before them something that counts for nothing.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from sweeps.store.packing import HEAD, START, STREAM, Packer


def mended(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A chunk without its checksum as it would be packed now; the same where nothing is amiss.

    Raises
    ------
    ValueError
        It cannot be told what it holds.
    """
    said = HEAD.unpack(data[: HEAD.size].tobytes())
    width, size, step = said[3:6]
    if width != 1 or step <= STREAM or size <= step:
        return data
    starts = data[HEAD.size :][: START * -(-size // step)].view("<i4").tolist()
    parts = zip(range(0, size, step), starts, [*starts[1:], data.size], strict=True)
    values = [
        _values(data[a:b].tobytes(), said[2], step, min(step, size - at)) for at, a, b in parts
    ]
    packer = Packer((size,), np.dtype(np.int8), shuffled=False)
    blocks = packer.add(np.concatenate(values))
    return np.frombuffer(packer.head() + b"".join(blocks), dtype=np.uint8)


def _values(part: bytes, flags: int, step: int, size: int) -> NDArray[np.int8]:
    """The values of one block, as many as ``size``."""
    for skipped, total in ((START, size), (0, step - STREAM + size)):
        sizes = [min(STREAM, total - at) for at in range(0, total, STREAM)]
        found = _streams(part[skipped:], flags, sizes)
        if found is not None:  # before it zeros may lie, after which it was compressed
            return found[total - size :]
    raise ValueError("blocks of one-byte values that cannot be unpacked")


def _streams(part: bytes, flags: int, sizes: list[int]) -> NDArray[np.int8] | None:
    """What blocks of some sizes hold; None where these are not what lies there."""
    from numcodecs import blosc  # type: ignore[import-untyped]

    found, at = [], 0
    for size in sizes:
        length = START + int.from_bytes(part[at : at + START], "little", signed=True)
        if not START < length <= len(part) - at:
            return None
        ahead = HEAD.size + START
        head = HEAD.pack(2, 1, flags, 1, size, size, ahead + length) + struct.pack("<I", ahead)
        try:
            found.append(np.frombuffer(blosc.decompress(head + part[at : at + length]), np.int8))
        except RuntimeError:
            return None
        at += length
    return np.concatenate(found) if at == len(part) else None
