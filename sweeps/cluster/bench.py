"""Where a worker computes: the orders it was sent, and the nests it has compiled."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

from sweeps.cluster.order import Order, versions
from sweeps.store.medium import medium_of
from sweeps.store.tiles import Source, store_tile
from symbolic.errors import DseError

__all__ = ["Bench", "clear", "take", "tile"]

_benches: dict[str, Bench] = {}


class Bench:
    """What a worker has of one order; its threads share the nests, and each has a source."""

    def __init__(self, order: Order, name: str) -> None:
        self.order, self.name = order, name
        self.medium = medium_of(order.place)
        self._free: dict[int, list[Source]] = defaultdict(list)
        self._lock = threading.Lock()
        here = versions().items()
        self._other = [
            f"{n} {v}, not {order.versions[n]}" for n, v in here if v != order.versions[n]
        ]

    def tile(self, part: int, number: int, barred: bool) -> tuple[str, dict[str, Any]]:
        """Compute and store a tile, or fill it; the name of the worker, and the record."""
        if self._other:
            raise DseError(
                f"the worker {self.name} has {', '.join(self._other)}: its tiles would differ; "
                "install the same versions there"
            )
        recipe = self.order.recipes[part]
        with self._lock:
            free = self._free[part]
            source = free.pop() if free else Source(recipe, lambda at: self.order.nests[part, at])
        source.barred = (lambda _: True) if barred else None
        record = store_tile(source, recipe.part.tile(number), self.medium)
        with self._lock:
            self._free[part].append(source)
        return self.name, record


def take(token: str, order: Order, name: str) -> None:
    """Keep an order under a short name."""
    _benches[token] = Bench(order, name)


def clear(token: str) -> None:
    """Forget an order."""
    _benches.pop(token, None)


def tile(token: str, part: int, number: int, barred: bool = False) -> tuple[str, dict[str, Any]]:
    """A task: one tile of a part of an order, by its number; ``barred`` if no point is feasible."""
    return _benches[token].tile(part, number, barred)
