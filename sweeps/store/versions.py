"""Which of the stores that come to stand under a name, one after the other, is meant.

A store is known by the file that tells whose it is, which is written once. Who reads several things
without a lock asks before and after; who reads later holds on to the store that was opened, or to
one with further outputs that holds all of it too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sweeps.store.folder import HIDDEN
from sweeps.store.held import FINISHED, Held, held_of
from sweeps.store.medium import Medium, medium_of
from sweeps.store.records import read_sealed
from sweeps.store.skeleton import IDENTITY
from symbolic.errors import OtherProcessError
from symbolic.json_text import read_json

#: How often something is read of which the store was replaced meanwhile.
_TRIES = 8

Read = TypeVar("Read")
Data = TypeVar("Data", bound=bytes | NDArray[np.uint8] | None)


class Version:
    """The store of a run that was at a place when this was made."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.stamp, self.told = steady(medium_of(place), self._look)
        self._held: tuple[Held | None, ...] = ()

    def _look(self) -> tuple[Any, dict[str, Any] | None]:
        medium = medium_of(self.place)
        with suppress(FileNotFoundError):
            return medium.stamp(IDENTITY), read_sealed(medium.get(IDENTITY))
        return None, None

    @property
    def known(self) -> bool:
        """Whether it is the store of a run."""
        return self.stamp is not None or self.held is not None

    @property
    def held(self) -> Held | None:
        """What it must hold; None where it is not finished.

        Raises
        ------
        DamagedError
            That is damaged itself.
        """
        if not self._held:
            self._held = (self.read(lambda: held_of(medium_of(self.place))),)
        return self._held[0]

    def checked(self, key: str, read: Callable[[], Data]) -> Data:
        """What is read of this store under a key, as it was written.

        Raises
        ------
        DamagedError
            It is not.
        OtherProcessError
            The store is no more at its place.
        """

        def both() -> Data:
            found, held = read(), self.held
            if held is not None:
                held.check(key, found)
            return found

        return self.read(both)

    def read(self, what: Callable[[], Read]) -> Read:
        """What is read of this store.

        Raises
        ------
        OtherProcessError
            It is no more at its place.
        """
        while True:
            found: Read | None = None
            failed: Exception | None = None
            try:
                found = what()
            except Exception as error:
                failed = error
            if self.still():
                if failed is not None:
                    raise failed
                return found  # type: ignore[return-value]

    def still(self) -> bool:
        """Whether this store was there until now; else what was read must be read again."""
        stamp = version_of(medium_of(self.place))
        if stamp == self.stamp:
            return True
        stamp, told = self._look()
        if not self._within(told):
            raise OtherProcessError(
                f"another process has extended, replaced or removed {self.place} since it was "
                "opened: open it again"
            )
        self.stamp, self.told, self._held = stamp, told, ()
        return False

    def _within(self, told: dict[str, Any] | None) -> bool:
        """Whether a store that tells this is whole, and holds all that this one holds."""
        whole = FINISHED.rpartition("/")[2] in medium_of(self.place).sizes(HIDDEN)
        if self.told is None or told is None or not whole:
            return False
        with suppress(KeyError, ValueError, TypeError):
            before, now = _parts(self.told), _parts(told)
            return before.keys() == now.keys() and all(_among(before[k], now[k]) for k in before)
        return False


def _parts(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a store tells of itself, with its outputs as one of several things."""
    study = read_json(told["study"])
    outputs = dict.fromkeys(study.pop("outputs"))
    expanded = str(told["identity"]).endswith("-expanded")
    return {**told, "study": json.dumps(study), "outputs": outputs, "identity": expanded}


def _among(before: Any, now: Any) -> bool:
    if isinstance(before, dict) and isinstance(now, dict):
        return all(key in now and now[key] == value for key, value in before.items())
    return bool(before == now)


def version_of(medium: Medium) -> Any:
    """What differs once another store of a run is at a place; None where there is none."""
    with suppress(FileNotFoundError):
        return medium.stamp(IDENTITY)
    return None


def steady(medium: Medium, read: Callable[[], Read]) -> Read:
    """What is read of one store, be it right or wrong; anew where another came to be there."""
    for _ in range(_TRIES):
        version = version_of(medium)
        try:
            found = read()
        except Exception:
            if version_of(medium) == version:
                raise
        else:
            if version_of(medium) == version:
                return found
    raise OtherProcessError(
        f"{medium.name} is being replaced by other processes again and again: wait for them"
    )
