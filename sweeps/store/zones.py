"""Zones: between which values each small piece of an output lies, so that few of them are read.

A tile is cut into zones as an array is cut into tiles: whole trailing axes, an even share of one
axis. For each zone its record keeps the least and the largest value and whether one is NaN, over
the points that are feasible where the tile tells it. When a store is finished the zones of all its
tiles are put together into one file, which is all that a question reads before it reads values.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.nest.reduce import ranges
from sweeps.store.cuts import Cut, cut_of
from sweeps.store.folder import HIDDEN
from sweeps.store.layout import Layout
from sweeps.store.parts import Tile
from sweeps.store.zarr_format import TRAILER, checksum, trailer
from symbolic.json_text import read_json

#: The file of all zones.
ZONES = f"{HIDDEN}/zones"
_HEAD = 8
#: Bytes of a zone: the least and largest value, and whether one is NaN.
EACH = 17


class Ranges:
    """The zones of one output of a tile, gathered piece by piece, in the order of the chunk."""

    def __init__(self, cut: Cut, dtype: np.dtype[Any], *, compiled: bool = False) -> None:
        self.cut, self.compiled = cut, compiled and dtype.kind == "f"
        count = cut.starts.size - 1
        #: As whole numbers in the order of the values, where they are found by compiled code.
        kind, ends = (np.int64, _WHOLE) if self.compiled else (np.float64, (math.inf, -math.inf))
        self.low, self.high = (np.full(count, end, dtype=kind) for end in ends)
        self.undefined = np.zeros(count, dtype=bool)
        #: Where each zone begins, and what is known of it by now.
        self.held = cut.starts, self.low, self.high, self.undefined

    def add(self, values: NDArray[Any], origin: int, allowed: NDArray[np.bool_] | None) -> None:
        """The values that follow those before; ``origin`` is the place of the first."""
        starts = self.cut.starts
        if self.compiled:
            marked = _ALL if allowed is None else allowed
            ranges(values.view(np.int64), marked, origin, *self.held)
            return
        first, last = np.searchsorted(starts, [origin, origin + values.size - 1], "right") - 1
        at = np.maximum(starts[first : last + 1] - origin, 0)
        here = slice(int(first), int(last) + 1)
        if values.dtype.kind == "f":
            missing = np.isnan(values)
            counts = ~missing if allowed is None else allowed & ~missing
            missing &= True if allowed is None else allowed
            self.undefined[here] |= np.logical_or.reduceat(missing, at)
            below, above = (np.where(counts, values, end) for end in (math.inf, -math.inf))
        else:
            below = above = values.view(np.int8)
        low, high = np.minimum.reduceat(below, at), np.maximum.reduceat(above, at)
        self.low[here] = np.minimum(self.low[here], low)
        self.high[here] = np.maximum(self.high[here], high)

    def text(self) -> str:
        """The zones for a record: all least values, all largest, then where one is NaN."""
        low, high, undefined = self.arrays()
        data = b"".join(a.astype("<f8").tobytes() for a in (low, high))
        return base64.b64encode(data + undefined.tobytes()).decode()

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """The least value of each zone, the largest, and whether one is NaN."""
        low, high = _floats(self.low, math.inf), _floats(self.high, -math.inf)
        return low + 0.0, high + 0.0, self.undefined  # there is no -0.0


_ALL = np.empty(0, dtype=bool)
_WHOLE = (np.iinfo(np.int64).max, np.iinfo(np.int64).min)


def _floats(keys: NDArray[Any], empty: float) -> NDArray[np.float64]:
    """The values whose bits, ordered as whole numbers, were compared; ``empty`` where none was."""
    if keys.dtype.kind == "f":
        return keys
    bits = keys ^ ((keys >> 63) & _WHOLE[0])
    return np.where((keys == _WHOLE[0]) | (keys == _WHOLE[1]), empty, bits.view(np.float64))


@dataclass(frozen=True, kw_only=True)
class Zoned:
    """An output of a finished store: its axes, how it is cut, and what its zones hold.

    ``low`` is above ``high`` where a zone holds no number that counts.
    """

    dims: tuple[str, ...]
    cut: Cut
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    undefined: NDArray[np.bool_]


class Gathered:
    """The zones of all tiles of a store, put together tile by tile, in any order."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.cuts = [cut_of(part.shape, part.chunk) for part in layout.parts]
        pairs = [(p, c, n) for p, c in zip(layout.parts, self.cuts, strict=True) for n in p.outputs]
        size = sum(EACH * math.prod(cut.counts) for _, cut, _ in pairs)
        self._body, at = np.empty(size, dtype=np.uint8), 0
        self._head: dict[str, Any] = {}
        self._held: dict[str, list[NDArray[Any]]] = {}
        for part, cut, name in pairs:
            ends = {"shape": cut.shape, "chunk": cut.chunk, "zone": cut.zone}
            self._head[name] = {"dims": part.dims, **ends, "at": at}
            self._held[name] = _arrays(self._body, at, cut.counts)
            for array, nothing in zip(self._held[name], (math.inf, -math.inf, False), strict=True):
                array[...] = nothing  # before any value is known
            at += EACH * math.prod(cut.counts)

    def add(self, tile: Tile, record: Mapping[str, Any]) -> None:
        """The zones of a tile, from its record."""
        cells = self.cuts[tile.part].cells
        here = tuple(slice(p * n, p * n + n) for p, n in zip(tile.place, cells, strict=True))
        for name in self.layout.parts[tile.part].outputs:
            data, at = base64.b64decode(record["zones"][name]), 0
            for array in self._held[name]:
                piece = np.frombuffer(data, array.dtype, count=math.prod(cells), offset=at)
                array[here] = piece.reshape(cells)
                at += piece.nbytes

    def packed(self) -> bytes:
        """The file of all zones."""
        text = json.dumps(self._head).encode()
        head = len(text).to_bytes(_HEAD, "little") + text
        crc = checksum(self._body, checksum(head))
        return b"".join([head, self._body.data, trailer(crc)])


def _arrays(body: NDArray[np.uint8], at: int, counts: Sequence[int]) -> list[NDArray[Any]]:
    """The least and largest values of zones, and whether one is NaN, as they lie in a file."""
    found = []
    for kind in ("<f8", "<f8", "?"):
        array = np.frombuffer(body, dtype=kind, count=math.prod(counts), offset=at)
        found.append(array.reshape(counts))
        at += array.nbytes
    return found


def unpack(data: bytes) -> dict[str, Zoned] | None:
    """The zones by output, of the file of :class:`Gathered`; None where it is damaged."""
    body = np.frombuffer(data, dtype=np.uint8)[:-TRAILER]
    if len(data) < _HEAD + TRAILER or trailer(checksum(body)) != data[-TRAILER:]:
        return None
    start = _HEAD + int.from_bytes(data[:_HEAD], "little")
    found = {}
    for name, said in read_json(data[_HEAD:start]).items():
        cut = Cut(*(tuple(said[key]) for key in ("shape", "chunk", "zone")))
        low, high, undefined = _arrays(body, start + said["at"], cut.counts)
        found[name] = Zoned(
            dims=tuple(said["dims"]), cut=cut, low=low, high=high, undefined=undefined
        )
    return found
