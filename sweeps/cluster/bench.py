"""Where a worker computes: the orders it was sent, and the nests it has compiled."""

from __future__ import annotations

import ctypes
import threading
from collections import defaultdict
from contextlib import suppress

from sweeps.cluster.order import Order, differing, versions
from sweeps.store.medium import got, medium_of
from sweeps.store.parts import Tile
from sweeps.store.records import RECORDS, read_sealed
from sweeps.store.tiles import Source, store_tile
from symbolic.errors import DseError

_benches: dict[str, Bench] = {}

#: Bytes freed that stay with a process, and of a piece of memory that is returned alone once it is;
#: and what the C library of Linux calls both.
_KEPT, _LARGE, _TRIM, _MAP = 1 << 26, 1 << 25, -1, -3


class HaltedError(RuntimeError):
    """Of several tiles, one failed; ``args`` tells how many before it are stored."""


class Bench:
    """What a worker has of one order; its threads share the nests, and each has a source."""

    def __init__(self, order: Order, name: str) -> None:
        self.order, self.name = order, name
        self.medium = medium_of(order.place)
        self._free: dict[int, list[Source]] = defaultdict(list)
        self._lock = threading.Lock()
        self._other = differing(versions(), order.versions)

    def tiles(self, part: int, first: int, count: int, barred: bool) -> None:
        """Compute and store some tiles, or fill them; those before the first that fails stay."""
        if self._other:
            raise DseError(
                f"the worker {self.name} has {self._other}: its tiles would differ; "
                "install the same versions there"
            )
        recipe = self.order.recipes[part]
        with self._lock:
            free = self._free[part]
            source = free.pop() if free else Source(recipe, lambda at: self.order.nests[part, at])
        source.barred = (lambda _: True) if barred else None
        begun = True  # perhaps by a worker that was lost; what it has stored is as good
        for number in range(count):
            tile = recipe.part.tile(first + number)
            begun = begun and self._stored(tile)
            if begun:
                continue
            try:
                store_tile(source, tile, self.medium)
            except Exception as error:
                if count == 1:
                    raise
                raise HaltedError(number) from error
        with self._lock:
            self._free[part].append(source)

    def _stored(self, tile: Tile) -> bool:
        data = got(self.medium, f"{RECORDS}/{tile.name}")
        record = None if data is None else read_sealed(data)
        return record is not None and record["tile"] == tile.name


def take(token: str, order: Order, name: str) -> None:
    """Keep an order under a short name."""
    _keep_memory()
    _benches[token] = Bench(order, name)


def _keep_memory() -> None:
    """Let memory stay with this process between blocks, each of which is compressed into its own.

    Workers of dask return the least piece, and fetching it anew takes longer than compressing.
    """
    with suppress(AttributeError, OSError, TypeError):  # other C libraries have no such setting
        library = ctypes.CDLL(None)
        library.mallopt(_TRIM, _KEPT)
        library.mallopt(_MAP, _LARGE)


def clear(token: str) -> None:
    """Forget an order."""
    _benches.pop(token, None)


def tiles(token: str, part: int, first: int, count: int = 1, barred: bool = False) -> None:
    """A task: tiles of a part of an order, by their numbers; ``barred`` if no point is feasible.

    It gives nothing: who handed it out reads the records from the store.
    """
    _benches[token].tiles(part, first, count, barred)
