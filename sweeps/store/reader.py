"""A finished store: whether one is at a place, and the values that a larger one takes over."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.flat_index import ravel
from sweeps.store.decoded import Chunks
from sweeps.store.held import FINISHED, damaged
from sweeps.store.medium import Medium, medium_of
from sweeps.store.records import RECORDS
from sweeps.store.skeleton import ROOT, compression_of
from sweeps.store.versions import Version, steady, version_of
from sweeps.store.zones import ZONES, Zoned, unpack
from symbolic.errors import DamagedError, DseError, UnfinishedError
from symbolic.json_text import read_json

__all__ = ["Stored", "is_finished"]


def is_finished(place: str | Path) -> bool:
    """True if the finished store of a run is at a place; False if something else is there.

    Raises
    ------
    UnfinishedError
        The run has not ended, so that values are missing.
    """
    medium = medium_of(place)
    return steady(medium, lambda: _is_finished(medium))


def _is_finished(medium: Medium) -> bool:
    try:
        medium.stamp(FINISHED)
        medium.stamp(ZONES)
    except FileNotFoundError:
        if version_of(medium) is None:
            return False
        done = len(medium.sizes(RECORDS))
        raise UnfinishedError(
            f"{medium.name} is not finished ({done:,} tiles are stored): the command that began"
            f" it continues (dse run STUDY --store {medium.name}); or ask what is there, "
            "loaded into memory: dse.open(...).load()"
        ) from None
    return True


class Stored:
    """A finished store whose values are taken over by a larger one."""

    def __init__(self, place: str) -> None:
        self.medium, version = medium_of(place), Version(place)
        data = version.checked(ZONES, lambda: self.medium.get(ZONES))
        if version.held is None:
            raise DamagedError(f"{self.medium.name} is not finished")
        #: What it must hold.
        self.held = version.held
        self.zones: Mapping[str, Zoned] = unpack(data) or {}
        try:
            tree = read_json(version.checked(ROOT, lambda: self.medium.get(ROOT)))
            arrays = tree["consolidated_metadata"]["metadata"]
            self._types = {name: np.dtype(arrays[name]["data_type"]) for name in self.zones}
        except DseError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise damaged(self.medium.name, ROOT, f"it cannot be read ({error})") from error
        packed = compression_of(self.medium) != "none"
        self._chunks = Chunks(self.medium, self.zones, self._types, packed=packed, version=version)

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
