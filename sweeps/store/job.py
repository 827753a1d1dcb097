"""What became of the tiles of a run; told from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from sweeps.grid.failing import Failure, failures_in, reason_of
from sweeps.runtime.progress import Tally
from sweeps.store.failures import forget, note, noted
from sweeps.store.layout import Layout
from sweeps.store.medium import Medium
from sweeps.store.parts import Tile

#: So many tiles that fail one after the other end a run.
_IN_A_ROW = 16


class Job:
    """What became of tiles; told from any thread."""

    def __init__(
        self,
        layout: Layout,
        medium: Medium,
        tally: Tally,
        done: Callable[[Tile, Mapping[str, Any]], None],
    ) -> None:
        self.layout, self.medium, self.tally = layout, medium, tally
        self.stored = 0
        self.failures: list[Failure] = []
        self.lost: set[str] = set()
        self._done, self._lock, self._in_a_row = done, threading.Lock(), 0
        self._known = noted(medium)

    def finish(self, tile: Tile, record: Mapping[str, Any]) -> None:
        """A tile is stored, and this is its record; some of its points may have failed."""
        part, grid = self.layout.parts[tile.part], self.layout.grid
        failed = failures_in(grid, part.outputs, part.dims, tile.low, tile.high, tile.name)
        with self._lock:
            self.stored += 1
            self._in_a_row = 0
            if failed:
                note(self.medium, tile.name, failed)
                self.failures += failed
                self.tally.lose(sum(failure.points for failure in failed))
            elif tile.name in self._known:
                forget(self.medium, tile.name)
            self._done(tile, record)

    def fail(self, tile: Tile, error: BaseException) -> None:
        """A tile failed, however often it was tried; raises the error where all do."""
        failure = Failure(
            tile=tile.name,
            configurations=self.layout.describe(tile),
            points=tile.points,
            reason=reason_of(error),
        )
        with self._lock:
            note(self.medium, tile.name, [failure])
            self.failures.append(failure)
            self.lost.add(tile.name)
            self._in_a_row += 1
            if self._in_a_row >= _IN_A_ROW:
                raise error
            self.tally.fail(tile.points)
