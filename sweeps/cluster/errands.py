"""Tiles cut into errands: some that follow each other, for which one message suffices.

A message costs the scheduler, the worker and who hands out some milliseconds of a processor, which
tiles do not always take much longer than. So an errand is as many tiles as take about half a
second, as far as that is known by now; and fewer towards the end, that all end together.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from stochastic import sizes
from sweeps.store.layout import Layout
from sweeps.store.parts import Tile, flat_index
from sweeps.store.tiles import barred_in

#: Seconds that an errand should take, and the most tiles it has.
_LONG, _MOST = 0.5, sizes.ERRAND_TILES
#: Seconds over which the pace is taken.
_LATELY = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """Tiles of one part whose numbers follow each other, from ``first`` on.

    ``barred`` is whether none of their points is feasible; ``attempt`` how often they have failed.
    """

    tiles: tuple[Tile, ...]
    first: int
    barred: bool = False
    attempt: int = 0

    @property
    def part(self) -> int:
        """The part of the store to which the tiles belong."""
        return self.tiles[0].part

    def cut(self, start: int, stop: int | None = None, *, attempt: int = 0) -> Errand:
        """Some of the tiles as an errand of their own."""
        return Errand(
            tiles=self.tiles[start:stop],
            first=self.first + start,
            barred=self.barred,
            attempt=attempt,
        )

    def alone(self) -> list[Errand]:
        """Each tile as an errand of its own, after one more failure."""
        count = len(self.tiles)
        return [self.cut(k, k + 1, attempt=self.attempt + 1) for k in range(count)]


class Errands:
    """The tiles that are still to be handed out."""

    def __init__(self, layout: Layout, tiles: Sequence[Tile]) -> None:
        self.layout, self.tiles, self.at = layout, tiles, 0
        self.again: list[Errand] = []

    def __bool__(self) -> bool:
        return bool(self.again) or self.at < len(self.tiles)

    @property
    def left(self) -> int:
        """How many tiles they are, without those handed out before."""
        return len(self.tiles) - self.at

    def take(self, most: int) -> Errand:
        """The next errand; of so many tiles at most."""
        if self.again:
            return self.again.pop()
        first, barred = self._look(self.at)
        end = self.at + 1
        while end < min(self.at + most, len(self.tiles)):
            same_part = self.tiles[end].part == self.tiles[self.at].part
            if not same_part or self._look(end) != (first + end - self.at, barred):
                break
            end += 1
        taken = tuple(self.tiles[self.at : end])
        self.at = end
        return Errand(tiles=taken, first=first, barred=barred)

    def _look(self, at: int) -> tuple[int, bool]:
        """The number of a tile in its part, and whether no point of it is feasible."""
        tile = self.tiles[at]
        part = self.layout.parts[tile.part]
        return flat_index(tile.place, part.counts), barred_in(self.layout, part)(tile)


class Pace:
    """How many tiles come back, and so how many one errand should have."""

    def __init__(self) -> None:
        self.came: list[tuple[float, int]] = []

    def come(self, count: int) -> None:
        """So many tiles have come back by now, none where workers were lost."""
        if not count:
            return
        now = time.monotonic()
        self.came.append((now, count))
        while self.came[0][0] < now - _LATELY and len(self.came) > 2:
            self.came.pop(0)

    def most(self, threads: int, left: int) -> int:
        """Of how many tiles the next errand should be, for so many threads."""
        spent = self.came[-1][0] - self.came[0][0] if self.came else 0.0
        if not threads or spent < _LONG / 2:
            return 1
        each = threads * spent / sum(count for _, count in self.came[1:])
        return max(1, min(int(_LONG / each), left // (2 * threads), _MOST))
