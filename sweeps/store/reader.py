"""A finished store: its zones and coordinates in memory, its values read where they are needed."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.dataset import quantity_of
from sweeps.grid.flat_index import ravel
from sweeps.store.decoded import Chunk, Chunks
from sweeps.store.folder import Folder
from sweeps.store.held import FINISHED, damaged
from sweeps.store.medium import got, medium_of
from sweeps.store.records import RECORDS
from sweeps.store.skeleton import ROOT, compression_of
from sweeps.store.versions import Version, steady, version_of
from sweeps.store.zarr_format import chunk_key, coordinate_values
from sweeps.store.zones import ZONES, Zoned, unpack
from symbolic.errors import DamagedError, DseError, UnfinishedError
from symbolic.json_text import read_json
from symbolic.quantities import place_of

__all__ = ["Stored", "stored"]

#: How many things that follow from the zones are kept for the next question.
_KEPT = sizes.READER_KEPT

Made = TypeVar("Made")


def stored(place: str | Path) -> Stored | None:
    """The store of a run at a place; None where something else is there.

    Raises
    ------
    DseError
        The store is not finished, or damaged.
    """
    return steady(medium_of(place), lambda: _stored(place))


def _stored(place: str | Path) -> Stored | None:
    medium = medium_of(place)
    try:
        stamp = (medium.stamp(FINISHED), medium.stamp(ZONES))
    except FileNotFoundError:
        if version_of(medium) is None:
            return None
        done = len(medium.sizes(RECORDS))
        raise UnfinishedError(
            f"{medium.name} is not finished ({done:,} tiles are stored): the command that began"
            f" it continues (dse run STUDY --store {medium.name}); or ask what is there, "
            "loaded into memory: dse.open(...).load()"
        ) from None
    return _opened(str(place), stamp)


@lru_cache(maxsize=4)
def _opened(place: str, stamp: Any) -> Stored:
    return Stored(place)


class Stored:
    """A finished store, as what is asked sees it."""

    def __init__(self, place: str) -> None:
        self.medium, version = medium_of(place), Version(place)
        data = version.checked(ZONES, lambda: self.medium.get(ZONES))
        if version.held is None:
            raise DamagedError(f"{self.medium.name} is not finished")
        #: What it must hold.
        self.held = version.held
        self.zones: Mapping[str, Zoned] = unpack(data) or {}
        key = ROOT
        try:
            tree = read_json(self._bytes(version, key))
            arrays = tree["consolidated_metadata"]["metadata"]
            #: What the store tells of itself, and of each output, as attributes.
            self.attrs: dict[str, Any] = dict(tree["attributes"])
            axes, beside = self.attrs["axes"].split(), self.attrs.pop("coordinates", "").split()
            #: Coordinates by name: the axis along which one lies, its values, its attributes.
            self.coordinates: dict[str, tuple[str, NDArray[Any], dict[str, Any]]] = {}
            for name in (*axes, *beside):
                about, key = arrays[name], f"{name}/{chunk_key([0])}"
                values = coordinate_values(about, self._bytes(version, key))
                self.coordinates[name] = (*about["dimension_names"], values, about["attributes"])
            rest = [name for name in arrays if name not in self.coordinates]
            self.outputs = {name: dict(arrays[name]["attributes"]) for name in rest}
            self._types = {name: np.dtype(arrays[name]["data_type"]) for name in self.zones}
            told = {name: (values.dtype, of) for name, (_, values, of) in self.coordinates.items()}
            told |= {name: (self._types[name], of) for name, of in self.outputs.items()}
        except DseError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
            raise damaged(self.medium.name, key, f"it cannot be read ({error})") from error
        self.axes = {axis: self.coordinates[axis][1].size for axis in axes}
        #: Its places along each axis, by which a question of one of them is asked.
        self.places: dict[str, tuple[str, NDArray[Any], dict[str, Any]]] = {
            place_of(axis): (axis, np.arange(float(size)), {}) for axis, size in self.axes.items()
        }
        self.quantities = {name: quantity_of(name, *about) for name, about in told.items()}
        for axis in axes:
            if self.quantities[axis].is_label:
                labels = tuple(map(str, self.coordinates[axis][1].tolist()))
                self.quantities[axis] = replace(self.quantities[axis], places=labels)
        packed = compression_of(self.medium) != "none"
        self._chunks = Chunks(self.medium, self.zones, self._types, packed=packed, version=version)
        self._kept: dict[Any, Any] = {}
        self._addresses: dict[str, tuple[NDArray[np.int64], dict[int, Chunk]]] = {}

    def _bytes(self, version: Version, key: str) -> bytes:
        """What stands under a key, as it was written."""
        found = version.checked(key, lambda: got(self.medium, key))
        if found is None:  # of an earlier version, which tells not what it must hold
            raise damaged(self.medium.name, key, "it is missing")
        return found

    def once(self, key: Any, make: Callable[[], Made]) -> Made:
        """What was made before, of the last few."""
        if key not in self._kept:
            while len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = make()
        found: Made = self._kept[key]
        return found

    def column(self, name: str) -> tuple[str, NDArray[Any]]:
        """The axis and the values of a coordinate, or of the places along an axis."""
        axis, values, _ = (self.coordinates if name in self.coordinates else self.places)[name]
        return axis, values

    def dims(self, name: str) -> tuple[str, ...]:
        """The axes of an output or coordinate."""
        return self.zones[name].dims if name in self.zones else (self.column(name)[0],)

    def attributes(self, name: str) -> dict[str, Any]:
        """The attributes of an output or coordinate."""
        return dict(self.outputs[name] if name in self.outputs else self.coordinates[name][2])

    def box(self, name: str, low: Sequence[int], high: Sequence[int]) -> NDArray[Any]:
        """An output over a box of its axes."""
        chunk = self.zones[name].cut.chunk
        first = [a // n for a, n in zip(low, chunk, strict=True)]
        last = [(b - 1) // n for b, n in zip(high, chunk, strict=True)]
        if first == last:
            ends = zip(low, high, first, chunk, strict=True)
            return self._within(name, first, [(a - p * n, b - p * n) for a, b, p, n in ends])
        shape = [b - a for a, b in zip(low, high, strict=True)]
        found = np.empty(shape, dtype=self._types[name])
        for place in itertools.product(
            *(range(a, b + 1) for a, b in zip(first, last, strict=True))
        ):
            here, there = [], []
            for a, b, p, n in zip(low, high, place, chunk, strict=True):
                start, stop = max(a, p * n), min(b, p * n + n)
                here.append(slice(start - a, stop - a))
                there.append((start - p * n, stop - p * n))
            found[tuple(here)] = self._within(name, place, there)
        return found

    def _within(
        self, name: str, place: Sequence[int], box: Sequence[tuple[int, int]]
    ) -> NDArray[Any]:
        """A box of a chunk."""
        cut = self.zones[name].cut
        shape = cut.chunk
        number, first, last = (
            int(ravel(index, sizes))
            for index, sizes in (
                (list(place), cut.chunks),
                ([low for low, _ in box], shape),
                ([high - 1 for _, high in box], shape),
            )
        )
        row = self._chunks.get(name, number).need(first, last + 1)
        return row.reshape(shape)[tuple(slice(*ends) for ends in box)]

    def pieces(self, name: str, starts: NDArray[np.int64], length: int) -> NDArray[Any]:
        """Pieces of an output, each in a row, by their first flat indices.

        Its chunks must be such pieces too.
        """
        cut = self.zones[name].cut
        found = np.empty((starts.size, length), dtype=self._types[name])
        located = (each.tolist() for each in (starts, *cut.find(starts)))
        for row, start, number, place, there in zip(found, *located, strict=True):
            filled = min(length, there)
            row[:filled] = self._chunks.get(name, number).need(place, place + filled)[
                place : place + filled
            ]
            while filled < length:
                number, place, there = (int(k) for k in cut.find(start + filled))
                take = min(length - filled, there)
                held = self._chunks.get(name, number).need(place, place + take)
                row[filled : filled + take] = held[place : place + take]
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
        if self._chunks.packed:
            at, held = self._unpacked(name, number, place, np.minimum(there, length))
        else:
            if name not in self._addresses:
                count = math.prod(self.zones[name].cut.chunks)
                self._addresses[name] = np.zeros(count, dtype=np.int64), {}
            chunks, held = self._addresses[name]
            for one in np.unique(number[chunks[number] == 0]).tolist():
                # others may do so too, and it must stay
                chunks[one] = held.setdefault(one, self._chunks.get(name, one)).address
            at = chunks[number] + 8 * place
        parted = np.flatnonzero(there < length)
        whole = self.pieces(name, starts[parted], length)
        at[parted] = whole.ctypes.data + 8 * length * np.arange(parted.size)
        return at, (held, whole)

    def _unpacked(
        self,
        name: str,
        number: NDArray[np.int64],
        place: NDArray[np.int64],
        length: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], dict[int, Chunk]]:
        """Where pieces of chunks lie once they are unpacked."""
        at, held = 8 * place, {}
        for one in np.unique(number).tolist():
            here = number == one
            held[one] = self._chunks.get(name, one)
            held[one].need(place[here], place[here] + length[here])
            at[here] += held[one].address
        return at, held

    def at(self, name: str, places: Mapping[str, NDArray[np.int64]]) -> NDArray[Any]:
        """An output at single configurations, given as indices along each axis."""
        zoned = self.zones[name]
        index = [np.maximum(places[axis], 0) for axis in zoned.dims]
        if not index:
            return np.asarray(self._within(name, (), ())[()])
        shape = index[0].shape
        flat = [i.reshape(-1) for i in index]
        parts = [i // n for i, n in zip(flat, zoned.cut.chunk, strict=True)]
        within = [i % n for i, n in zip(flat, zoned.cut.chunk, strict=True)]
        number = ravel(parts, zoned.cut.chunks)
        found = np.empty(number.size, dtype=self._types[name])
        place = ravel(within, zoned.cut.chunk)
        for one in np.unique(number).tolist():
            here = np.flatnonzero(number == one)
            held = self._chunks.get(name, one).need(place[here], place[here] + 1)
            found[here] = held[place[here]]
        return found.reshape(shape)
