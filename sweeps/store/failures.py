"""What could not be computed: told beside the records, until it is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass

from sweeps.store.folder import HIDDEN
from sweeps.store.layout import Tile
from sweeps.store.medium import Medium
from sweeps.store.records import read_sealed, sealed

__all__ = ["FAILED", "Failure", "forget", "note", "noted", "reason_of"]

#: The folder of what failed, a file a tile.
FAILED = f"{HIDDEN}/failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Configurations that could not be computed, and why."""

    tile: str
    configurations: str
    points: int
    reason: str

    def __str__(self) -> str:
        return f"{self.configurations}: {self.reason}"


def reason_of(error: BaseException) -> str:
    """An error in one line.

    >>> reason_of(ZeroDivisionError("division by zero")), reason_of(MemoryError())
    ('ZeroDivisionError: division by zero', 'MemoryError')
    """
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def note(medium: Medium, failure: Failure) -> None:
    """Keep beside the records what failed."""
    medium.put(f"{FAILED}/{failure.tile}", sealed(asdict(failure)))


def forget(medium: Medium, tile: Tile) -> None:
    """What failed once is computed now."""
    medium.delete(f"{FAILED}/{tile.name}")


def noted(medium: Medium) -> dict[str, Failure]:
    """What failed, by the tile."""
    found = {}
    for name in sorted(medium.sizes(FAILED)):
        with suppress(FileNotFoundError, TypeError):
            tree = read_sealed(medium.get(f"{FAILED}/{name}"))
            found[name] = Failure(**(tree or {}))
    return found
