"""What a finished store holds: one list of the checksums of its files and of all its chunks.

The list is written last and says that the store is finished. Whoever reads a store compares with it
what he reads when he reads it first: so nothing lost is taken for values, and nothing that was put
from elsewhere into the place of another is taken for it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.store.folder import HIDDEN
from sweeps.store.layout import Layout
from sweeps.store.medium import Medium, got
from sweeps.store.parts import Tile
from sweeps.store.records import read_sealed, sealed
from sweeps.store.zarr_format import TRAILER, checksum, trailer
from symbolic.errors import DamagedError

#: The list. Whatever is missing once it is there is damage.
FINISHED = f"{HIDDEN}/finished"
#: Files besides chunks that end in their checksum.
_ENDED = (f"{HIDDEN}/zones",)

Data = bytes | NDArray[np.uint8]


def _ends(key: str) -> bool:
    """Whether what stands under a key ends in its checksum: such are told apart by that alone."""
    return key in _ENDED or key.rpartition("/")[2].split(".")[0] == "c"


def _sum(key: str, data: Data) -> int:
    """The checksum of what stands under a key; -1 where what it ends in is another one."""
    if not _ends(key):
        return checksum(data)
    found = checksum(data[:-TRAILER])
    return found if trailer(found) == bytes(data[-TRAILER:]) else -1


class Listing:
    """The list of a store, gathered tile by tile, in any order."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._sums = {
            name: np.zeros(part.counts, dtype="<u4")
            for part in layout.parts
            for name in part.outputs
        }

    def add(self, tile: Tile, record: Mapping[str, Any]) -> None:
        """The chunks of a tile, from its record."""
        for name in self.layout.parts[tile.part].outputs:
            self._sums[name][tile.place] = int(record["chunks"][name], 16)

    def sealed(self, files: Mapping[str, Data]) -> bytes:
        """The file of the list; ``files`` are those besides chunks of outputs and records."""
        chunks = {
            name: {"counts": sums.shape, "crc32c": base64.b64encode(sums.tobytes()).decode()}
            for name, sums in self._sums.items()
        }
        sums = {key: f"{_sum(key, data):08x}" for key, data in files.items()}
        return sealed({"tiles": self.layout.count, "files": sums, "chunks": chunks})


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The list of a finished store at a place; one of an earlier version is empty."""

    place: str
    files: Mapping[str, int]
    chunks: Mapping[str, NDArray[np.uint32]]

    def expected(self, key: str) -> int | None:
        """The checksum of what stands under a key; None where the list does not have it."""
        name, _, last = key.rpartition("/")
        sums = self.chunks.get(name)
        if sums is None:
            return self.files.get(key)
        with suppress(ValueError, IndexError):
            kind, *place = last.split(".")
            if kind == "c" and len(place) == sums.ndim:
                return int(sums[tuple(map(int, place))])
        return self.files.get(key)

    def problem(self, key: str, data: Data | None) -> str | None:
        """What is wrong with what stands under a key; None where nothing is."""
        wanted = self.expected(key)
        if wanted is None and not _ends(key):
            return None
        if data is None:
            return "it is missing"
        found = _sum(key, data)
        if found < 0:
            return "its checksum is another one"
        return None if wanted in (None, found) else "it is that of another place or version"

    def check(self, key: str, data: Data | None) -> None:
        """Refuse what is missing, or not as it was written.

        Raises
        ------
        DamagedError
            Which says how to repair it.
        """
        problem = self.problem(key, data)
        if problem is not None:
            raise damaged(self.place, key, problem)


def damaged(place: str, key: str, problem: str) -> DamagedError:
    """The error for what is not as it was written; its way out."""
    return DamagedError(f"{place} is damaged: {key}: {problem}; repair it with dse verify --repair")


def held_of(medium: Medium) -> Held | None:
    """What a store holds; None where it is not finished.

    Raises
    ------
    DamagedError
        The list is not as it was written.
    """
    data = got(medium, FINISHED)
    if data is None:
        return None
    tree = read_sealed(data)
    if tree is None or "tiles" not in tree or "tile" in tree:  # or it is another file of a store
        raise damaged(medium.name, FINISHED, "its checksum is another one")
    return Held(
        place=medium.name,
        files={key: int(text, 16) for key, text in tree.get("files", {}).items()},
        chunks={
            name: np.frombuffer(base64.b64decode(said["crc32c"]), "<u4").reshape(said["counts"])
            for name, said in tree.get("chunks", {}).items()
        },
    )
