"""What could not be computed: told beside the records, until it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict

from sweeps.grid.failing import Failure
from sweeps.store.folder import HIDDEN
from sweeps.store.medium import Medium
from sweeps.store.records import read_sealed, sealed

#: The folder of what failed, a file a tile.
FAILED = f"{HIDDEN}/failed"


def note(medium: Medium, tile: str, failures: Sequence[Failure]) -> None:
    """Keep beside the records what of a tile failed."""
    medium.put(f"{FAILED}/{tile}", sealed({"failures": [asdict(each) for each in failures]}))


def forget(medium: Medium, tile: str) -> None:
    """What failed once is computed now."""
    medium.delete(f"{FAILED}/{tile}")


def noted(medium: Medium) -> dict[str, tuple[Failure, ...]]:
    """What failed, by the tile."""
    found: dict[str, tuple[Failure, ...]] = {}
    for name in sorted(medium.sizes(FAILED)):
        found[name] = ()
        with suppress(FileNotFoundError, TypeError):
            tree = read_sealed(medium.get(f"{FAILED}/{name}")) or {"failures": ()}
            found[name] = tuple(Failure(**each) for each in tree["failures"])
    return found
