"""How the chunks of an output are cut into the small pieces of which zones tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.grid import Tiling

__all__ = ["MOST", "ZONE", "Cut", "cut_of", "pieces"]

#: Points of a zone of a large output. Zones of small ones hold fewer, until there are FEW zones or
#: they hold LEAST points; those of huge ones more, that there are hardly more than MOST zones.
ZONE, FEW, LEAST, MOST = sizes.ZONE, sizes.ZONES_FEW, sizes.ZONE_LEAST, sizes.ZONES_MOST


@dataclass(frozen=True)
class Cut:
    """How the chunks of an array are cut into zones."""

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    zone: tuple[int, ...]

    @property
    def cells(self) -> tuple[int, ...]:
        """How many zones a chunk has along each axis."""
        return tuple(-(-n // step) for n, step in zip(self.chunk, self.zone, strict=True))

    @property
    def chunks(self) -> tuple[int, ...]:
        """How many chunks there are along each axis."""
        return tuple(-(-n // step) for n, step in zip(self.shape, self.chunk, strict=True))

    @property
    def counts(self) -> tuple[int, ...]:
        """How many zones there are along each axis, those beyond its end included."""
        return tuple(a * b for a, b in zip(self.chunks, self.cells, strict=True))

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where in a chunk, which is one piece, each zone begins; at last the length of a chunk."""
        cells = self.cells
        split = max((k for k, n in enumerate(cells) if n > 1), default=None)
        total = math.prod(self.chunk)
        if split is None:
            return np.array([0, total], dtype=np.int64)
        inner = math.prod(self.chunk[split + 1 :])
        whole = np.arange(0, total, inner * self.chunk[split], dtype=np.int64)
        first = np.arange(cells[split], dtype=np.int64) * (self.zone[split] * inner)
        return np.append((whole[:, None] + first).reshape(-1), total)

    @property
    def _split(self) -> int:
        """The last axis along which there are several chunks; -1 where there is one chunk."""
        pairs = zip(self.chunk, self.shape, strict=True)
        return max((k for k, (step, n) in enumerate(pairs) if step < n), default=-1)

    @property
    def flat(self) -> bool:
        """Whether each chunk is one piece of the array."""
        return all(step == 1 for step in self.chunk[: max(self._split, 0)])

    def find(self, flat: Any) -> tuple[Any, Any, Any]:
        """Of flat indices: the chunk, the place in it, and how many values lie there from it on.

        >>> tuple(map(int, Cut((2, 10), (1, 4), (1, 4)).find(19)))
        (5, 1, 1)
        """
        split = self._split
        inner = math.prod(self.shape[split + 1 :])
        size, step = (self.shape[split], self.chunk[split]) if split >= 0 else (1, 1)
        lead, rest = flat // (size * inner), flat % (size * inner)
        part, place = rest // (step * inner), rest % (step * inner)
        end = np.minimum(part * step + step, size) * inner - part * (step * inner)
        return lead * -(-size // step) + part, place, end - place

    def along(self, axis: int) -> NDArray[np.int64]:
        """The zone of each index of an axis."""
        index = np.arange(self.shape[axis])
        chunk, within = np.divmod(index, self.chunk[axis])
        found: NDArray[np.int64] = chunk * self.cells[axis] + within // self.zone[axis]
        return found


def cut_of(shape: Sequence[int], chunk: Sequence[int]) -> Cut:
    """The zones of an array of a shape, stored in chunks."""
    if not chunk:
        return Cut((), (), ())
    points = math.prod(shape)
    target = max(min(ZONE, max(LEAST, points // FEW)), points // MOST)
    return Cut(tuple(shape), tuple(chunk), pieces(chunk, target))


def pieces(shape: Sequence[int], target: int, *, whole: bool = True) -> tuple[int, ...]:
    """The shape of even pieces of at most about ``target`` points.

    They hold trailing axes whole; one that would be cut into few is not, if what is left is not
    much less than asked for: so the pieces of arrays over different axes lie side by side. Where
    that is not wanted, ``whole`` is False.

    >>> pieces((10, 5, 400), 2048), pieces((10, 5, 4), 64), pieces((3, 100000), 2048)
    ((1, 5, 400), (1, 5, 4), (1, 2041))
    """
    tiling = Tiling(shape[:-1], shape[-1], target)
    if tiling.split < 0:
        return tuple(shape)
    inner = math.prod(shape[tiling.split + 1 :])
    step = -(-shape[tiling.split] // tiling.cuts)
    if whole and inner >= target // 8 and inner > 1:
        step = 1
    return (*(1 for _ in shape[: tiling.split]), step, *shape[tiling.split + 1 :])
