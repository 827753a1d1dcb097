"""A store built beside another, which then takes its place; a kill in between loses neither.

Names are exchanged by who holds the locks of both stores, so that whoever waits for either finds
that it is another one then. What lies beside belongs to who has the lock of the store itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sweeps.store.folder import HIDDEN
from sweeps.store.medium import Medium, medium_of
from sweeps.store.records import sealed
from symbolic.errors import DseError

#: Stands in a store that was built beside another, from when it is whole until it is alone.
_MARK = f"{HIDDEN}/grown"


def take_place(beside: Medium, medium: Medium) -> None:
    """Put a whole store into the place of another, which is removed; both are claimed.

    And the place is ``exchanging``.
    """
    beside.put(_MARK, sealed({}))
    _exchange(beside, medium)


def begun(medium: Medium) -> bool:
    """Whether a process that was killed had begun to put another store into a place."""
    return _marked(medium_of(medium.beside())) or _marked(medium)


@contextmanager
def claimed(medium: Medium) -> Iterator[None]:
    """Claims a place; what a process that was killed had begun to put there comes to its end first.

    Raises
    ------
    OtherProcessError
        Another process writes there.
    DseError
        The place cannot be written, before or meanwhile.
    """
    try:
        while True:
            beside = medium_of(medium.beside())
            if not medium.exists() and _marked(beside):  # killed in the middle of an exchange
                _settle(beside, medium)
            with medium.claim():
                if not begun(medium):
                    yield
                    return
                _settle(beside, medium)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DseError(
            f"{medium.name} cannot be written or read: {error.strerror or error}; what is stored "
            "stays, and the same command continues"
        ) from error


def _settle(beside: Medium, medium: Medium) -> None:
    with medium.exchanging():
        if _marked(beside):
            with beside.claim():
                if _marked(beside):  # else another process has put it there meanwhile
                    _exchange(beside, medium)
        else:
            _end(beside, medium)


def _exchange(beside: Medium, medium: Medium) -> None:
    medium.swap(beside)
    beside.delete(_MARK)
    _end(beside, medium)


def _end(beside: Medium, medium: Medium) -> None:
    if _marked(medium):
        beside.remove()
        medium.delete(_MARK)


def _marked(medium: Medium) -> bool:
    return _MARK.rpartition("/")[2] in medium.sizes(HIDDEN)
