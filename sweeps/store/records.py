"""The record of a tile: the checksums of its chunks, and what its outputs hold, summed up.

A record is written after all chunks of its tile, so a tile with a record is done. It is JSON, with
its own checksum, and says nothing of when, where or by how many it was computed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.flat_index import ravel, unravel
from sweeps.nest.reduce import extremes, smallest
from sweeps.store.folder import HIDDEN
from sweeps.store.zarr_format import checksum
from symbolic.json_text import read_json

#: The folder of the records.
RECORDS = f"{HIDDEN}/tiles"
#: How many of the smallest and of the largest values a record keeps.
EXTREMES = sizes.RECORD_EXTREMES
_SEAL = "crc32c"
#: Bytes of a file that is read: the list of a store has 6 for each chunk.
_LONGEST = 1 << 26


def sealed(tree: Mapping[str, Any], *, lines: bool = True) -> bytes:
    """A tree as JSON that holds its own checksum; in many lines, or, sooner made, in one.

    >>> read_sealed(sealed({"a": [1, 2.5]}))
    {'a': [1, 2.5]}
    >>> read_sealed(sealed({"a": 1}).replace(b"1,", b"2,")) is None
    True
    """
    indent = 1 if lines else None
    text = json.dumps({**tree, _SEAL: ""}, indent=indent, sort_keys=True, allow_nan=False)
    return text.replace(_seal(""), _seal(f"{checksum(text.encode()):08x}")).encode()


def _seal(value: str) -> str:
    return f'"{_SEAL}": "{value}"'


def read_sealed(data: bytes) -> dict[str, Any] | None:
    """The tree of :func:`sealed`; None where a bit of it is not as it was written."""
    try:
        tree = dict(read_json(data, _LONGEST))
        seal = str(tree.pop(_SEAL))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    blank = data.replace(_seal(seal).encode(), _seal("").encode())
    return tree if len(blank) < len(data) and f"{checksum(blank):08x}" == seal else None


_ALL = np.empty(0, dtype=bool)
_ENDS = np.iinfo(np.int64)
#: One zone, of which it is not known what it holds.
_UNKNOWN = (
    np.array([0, _ENDS.max]),
    np.array([_ENDS.min]),
    np.array([_ENDS.max]),
    np.array([True]),
)


class Summary:
    """What one output of a tile holds, gathered piece by piece, in the order of the chunk.

    A float output is summed up over the points that are feasible, where the tile knows it; a case
    or bound, and ``feasible`` itself, by how often each value occurs.
    """

    def __init__(self, dtype: np.dtype[Any], *, compiled: bool = False) -> None:
        self.kind, self.compiled = dtype.kind, compiled
        self.count = 0
        self.counts = np.zeros(256, dtype=np.int64)
        # the smallest, and with the sign turned the largest, each with their places
        self.best = [
            (np.full(EXTREMES, np.inf), np.full(EXTREMES, -1, dtype=np.int64)) for _ in range(2)
        ]

    def add(
        self,
        values: NDArray[Any],
        origin: int,
        allowed: NDArray[np.bool_] | None,
        zones: Sequence[NDArray[Any]] = _UNKNOWN,
    ) -> None:
        """The values that follow those before; ``origin`` is the place of the first.

        ``zones`` says where the zones of the chunk begin and what they hold, these values included.
        """
        if self.kind == "b":
            self.count += int(np.count_nonzero(values))
        elif self.kind == "i":
            self.counts += np.bincount(values.view(np.uint8), minlength=256)
        elif self.compiled:
            (low, low_at), (high, high_at) = self.best
            marked = _ALL if allowed is None else allowed
            self.count += extremes(values, marked, origin, low, low_at, high, high_at, *zones)
        else:
            counts = np.isfinite(values)
            if allowed is not None:
                counts &= allowed
            self.count += int(np.count_nonzero(counts))
            for side, sign in enumerate((1.0, -1.0)):
                self._extend(side, np.where(counts, sign * values, np.inf), origin)

    def _extend(self, side: int, values: NDArray[np.float64], origin: int) -> None:
        known, places = self.best[side]
        new = smallest(values, EXTREMES)
        new = new[values[new] < known[-1]]  # what is equal to the last comes later, and loses
        known, places = np.concatenate([known, values[new]]), np.concatenate([places, new + origin])
        order = np.lexsort((places, known))[:EXTREMES]
        self.best[side] = known[order], places[order]

    def tree(self, places: Any) -> dict[str, Any]:
        """The summary for a record; ``places`` turns places in the chunk into those of the array.

        Without a finite value there are no extremes.
        """
        if self.kind == "b":
            return {"true": self.count}
        if self.kind == "i":
            values = np.arange(256, dtype=np.uint8).view(np.int8)
            held = zip(values, self.counts, strict=True)
            return {"values": {str(value): int(count) for value, count in held if count}}
        (low, low_at), (high, high_at) = ((v[at >= 0], at[at >= 0]) for v, at in self.best)
        return {
            "finite": self.count,
            "smallest": _pairs(low, places(low_at)),
            "largest": _pairs(-high, places(high_at)),
        }


def _pairs(values: NDArray[Any], places: NDArray[np.int64]) -> list[list[Any]]:
    return [[float(value), int(place)] for value, place in zip(values, places, strict=True)]


def flat_places(
    places: NDArray[np.int64], box: Sequence[int], low: Sequence[int], shape: Sequence[int]
) -> NDArray[np.int64]:
    """From flat places within a box to flat indices of the array in which it lies."""
    if not shape:
        return places
    moved = [part + start for part, start in zip(unravel(places, box), low, strict=True)]
    return ravel(moved, shape)
