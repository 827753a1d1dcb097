"""A store built beside another, which then takes its place; a kill in between loses neither."""

from __future__ import annotations

from sweeps.store.folder import HIDDEN
from sweeps.store.medium import Medium, medium_of
from sweeps.store.records import sealed

__all__ = ["settle", "take_place"]

#: Stands in a store that was built beside another, from when it is whole until it is alone.
_MARK = f"{HIDDEN}/grown"


def take_place(beside: Medium, medium: Medium) -> None:
    """Put a whole store into the place of another, which is removed."""
    beside.put(_MARK, sealed({}))
    settle(medium)


def settle(medium: Medium) -> None:
    """Bring to its end what a process that was killed had begun to put into a place."""
    beside = medium_of(medium.beside())
    if _marked(beside):
        medium.swap(beside)
        beside.delete(_MARK)
    if _marked(medium):
        beside.remove()
        medium.delete(_MARK)


def _marked(medium: Medium) -> bool:
    return _MARK.rpartition("/")[2] in medium.sizes(HIDDEN)
