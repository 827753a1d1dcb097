"""A finished store: its zones and coordinates in memory, its values read where they are needed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sweeps.dataset import opened_from, quantities_of
from sweeps.export import open_dataset
from sweeps.store.fill import FINISHED
from sweeps.store.folder import Folder
from sweeps.store.medium import medium_of
from sweeps.store.records import RECORDS
from sweeps.store.skeleton import IDENTITY
from sweeps.store.zarr_format import TRAILER, checksum, chunk_key, trailer
from sweeps.store.zones import ZONES, Zoned, unpack
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Stored", "origin", "stored"]

#: How many chunks are kept at hand: of a folder nothing but their places, of a URL their bytes.
_MAPPED, _HELD = 1 << 14, 16
#: How many things that follow from the zones are kept for the next question.
_KEPT = 64

Made = TypeVar("Made")


def stored(place: str | Path) -> Stored | None:
    """The store of a run at a place; None where something else is there.

    Raises
    ------
    DseError
        The store is not finished, or its zones are damaged.
    """
    medium = medium_of(place)
    try:
        stamp = (medium.stamp(ZONES), medium.stamp(IDENTITY))
    except FileNotFoundError:
        with suppress(FileNotFoundError):
            medium.stamp(IDENTITY)
            done = len(medium.sizes(RECORDS))
            raise DseError(
                f"{medium.name} is not finished ({done:,} tiles are stored): the command that began"
                f" it continues (dse run STUDY --store {medium.name}); or ask what is there, "
                "loaded into memory: dse.open(...).load()"
            ) from None
        return None
    return _opened(str(place), stamp)


def origin(ds: xr.Dataset) -> str | None:
    """The store of a run in which a Dataset lies as it was opened; None where it lies in none."""
    place = opened_from(ds)
    if place is None:
        return None
    with suppress(FileNotFoundError):
        medium_of(place).stamp(IDENTITY)
        return place
    return None


@lru_cache(maxsize=4)
def _opened(place: str, stamp: Any) -> Stored:
    return Stored(place)


class Stored:
    """A finished store, as what is asked sees it."""

    def __init__(self, place: str) -> None:
        self.medium = medium_of(place)
        zones = unpack(self.medium.get(ZONES))
        if zones is None or not len(self.medium.sizes(FINISHED.rpartition("/")[0])):
            raise DseError(
                f"{self.medium.name} is damaged: the checksum of {ZONES} is another one; repair it "
                "with dse verify --repair"
            )
        self.zones: Mapping[str, Zoned] = zones
        self.ds: xr.Dataset = open_dataset(place)
        self.quantities = quantities_of(self.ds)
        self.axes = {axis: int(self.ds.sizes[axis]) for axis in self.ds.attrs["axes"].split()}
        #: Coordinates by name: the axis along which one lies, its values, its attributes.
        self.coordinates = {
            str(name): (str(c.dims[0]), np.asarray(c.values), dict(c.attrs))
            for name, c in self.ds.coords.items()
        }
        self._types = {name: np.dtype(self.ds[name].dtype) for name in zones}
        self._chunks: dict[str, NDArray[Any]] = {}
        self._kept: dict[Any, Any] = {}
        self._rows: dict[tuple[str, int], NDArray[Any]] = {}
        self._addresses: dict[str, NDArray[np.int64]] = {}

    def once(self, key: Any, make: Callable[[], Made]) -> Made:
        """What was made before, of the last few."""
        if key not in self._kept:
            while len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = make()
        found: Made = self._kept[key]
        return found

    def dims(self, name: str) -> tuple[str, ...]:
        """The axes of an output or coordinate."""
        return self.zones[name].dims if name in self.zones else (self.coordinates[name][0],)

    def chunk(self, name: str, place: Sequence[int]) -> NDArray[Any]:
        """A chunk of an output; it is checked when it is looked at first."""
        key = f"{name}/{chunk_key(place)}"
        found = self._chunks.get(key)
        if found is None:
            shape = self.zones[name].cut.chunk
            data = self._bytes(key)
            body = data[:-TRAILER]
            kind = self._types[name]
            whole = data.size == math.prod(shape) * kind.itemsize + TRAILER
            if not whole or trailer(checksum(body)) != data[-TRAILER:].tobytes():
                raise DseError(
                    f"{self.medium.name} is damaged: the checksum of {key} is another one; repair "
                    "it with dse verify --repair"
                )
            found = body.view(kind).reshape(shape)
            limit = _MAPPED if isinstance(self.medium, Folder) else _HELD
            while len(self._chunks) >= limit:
                with suppress(KeyError, StopIteration, RuntimeError):  # others do so too
                    del self._chunks[next(iter(self._chunks))]
            self._chunks[key] = found
        return found

    def _bytes(self, key: str) -> NDArray[np.uint8]:
        try:
            if isinstance(self.medium, Folder):
                mapped = np.memmap(self.medium.path / key, dtype=np.uint8, mode="r")
                return mapped.view(np.ndarray)
            return np.frombuffer(self.medium.get(key), dtype=np.uint8)
        except (OSError, ValueError) as error:
            raise DseError(
                f"{self.medium.name} is damaged: {key} cannot be read ({error}); repair it with "
                "dse verify --repair"
            ) from error

    def box(self, name: str, low: Sequence[int], high: Sequence[int]) -> NDArray[Any]:
        """An output over a box of its axes."""
        chunk = self.zones[name].cut.chunk
        first = [a // n for a, n in zip(low, chunk, strict=True)]
        last = [(b - 1) // n for b, n in zip(high, chunk, strict=True)]
        if first == last:
            ends = zip(low, high, first, chunk, strict=True)
            cut = tuple(slice(a - p * n, b - p * n) for a, b, p, n in ends)
            return self.chunk(name, first)[cut]
        shape = [b - a for a, b in zip(low, high, strict=True)]
        found = np.empty(shape, dtype=self._types[name])
        for place in itertools.product(
            *(range(a, b + 1) for a, b in zip(first, last, strict=True))
        ):
            here, there = [], []
            for a, b, p, n in zip(low, high, place, chunk, strict=True):
                start, stop = max(a, p * n), min(b, p * n + n)
                here.append(slice(start - a, stop - a))
                there.append(slice(start - p * n, stop - p * n))
            found[tuple(here)] = self.chunk(name, place)[tuple(there)]
        return found

    def pieces(self, name: str, starts: NDArray[np.int64], length: int) -> NDArray[Any]:
        """Pieces of an output, each in a row, by their first flat indices.

        Its chunks must be such pieces too.
        """
        cut = self.zones[name].cut
        found = np.empty((starts.size, length), dtype=self._types[name])
        located = (each.tolist() for each in (starts, *cut.find(starts)))
        for row, start, number, place, there in zip(found, *located, strict=True):
            filled = min(length, there)
            row[:filled] = self._flat(name, number)[place : place + filled]
            while filled < length:
                number, place, there = (int(k) for k in cut.find(start + filled))
                take = min(length - filled, there)
                row[filled : filled + take] = self._flat(name, number)[place : place + take]
                filled += take
        return found

    def mapped(self, name: str) -> bool:
        """Whether pieces of an output lie in memory, as they are needed, at fixed addresses."""
        zoned, folder = self.zones.get(name), isinstance(self.medium, Folder)
        return zoned is not None and zoned.cut.flat and folder and self._types[name] == np.float64

    def addresses(
        self, name: str, starts: NDArray[np.int64], found: Sequence[NDArray[np.int64]], length: int
    ) -> tuple[NDArray[np.int64], Any]:
        """Where pieces of an output that is mapped lie, and what must outlive these addresses.

        ``found`` is where its cut finds their first indices. Pieces that no chunk holds whole are
        put together.
        """
        number, place, there = found
        if name not in self._addresses:
            count = math.prod(self.zones[name].cut.chunks)
            self._addresses[name] = np.zeros(count, dtype=np.int64)
        chunks = self._addresses[name]
        for one in np.unique(number[chunks[number] == 0]).tolist():
            chunks[one] = self._flat(name, one).ctypes.data
        at = chunks[number] + 8 * place
        parted = np.flatnonzero(there < length)
        whole = self.pieces(name, starts[parted], length)
        at[parted] = whole.ctypes.data + 8 * length * np.arange(parted.size)
        return at, whole

    def _flat(self, name: str, number: int) -> NDArray[Any]:
        """A chunk by its number, as one row."""
        found = self._rows.get((name, number))
        if found is None:
            chunks = self.zones[name].cut.chunks
            place = [int(k) for k in np.unravel_index(number, chunks)] if chunks else []
            found = self.chunk(name, place).reshape(-1)
            if isinstance(self.medium, Folder):
                found = self._rows.setdefault((name, number), found)  # others may do so too
        return found

    def at(self, name: str, places: Mapping[str, NDArray[np.int64]]) -> NDArray[Any]:
        """An output at single configurations, given as indices along each axis."""
        zoned = self.zones[name]
        index = [np.maximum(places[axis], 0) for axis in zoned.dims]
        if not index:
            return np.asarray(self.chunk(name, ())[()])
        shape = index[0].shape
        flat = [i.reshape(-1) for i in index]
        parts = [i // n for i, n in zip(flat, zoned.cut.chunk, strict=True)]
        within = [i % n for i, n in zip(flat, zoned.cut.chunk, strict=True)]
        number = np.ravel_multi_index(parts, zoned.cut.chunks)
        found = np.empty(number.size, dtype=self._types[name])
        for one in np.unique(number):
            here = np.flatnonzero(number == one)
            place = [int(p[here[0]]) for p in parts]
            found[here] = self.chunk(name, place)[tuple(w[here] for w in within)]
        return found.reshape(shape)

    def pick(
        self,
        places: Mapping[str, NDArray[np.int64]],
        shape: tuple[int, ...],
        outputs: Sequence[str],
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Coordinates by axis, and variables at the given places, of the given shape."""
        found = {
            name: (np.broadcast_to(self.at(name, places), shape), dict(self.ds[name].attrs))
            for name in outputs
        }
        return dict(self.coordinates), found
