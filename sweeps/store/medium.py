"""Where a store lies: a folder, or a place that fsspec reaches by a URL.

Nothing but the media touches the files of a store. What stands under a key is whole: it is written
under another name first (a folder), or appears at once (an object store).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from sweeps.store.enclosed import check_enclosed
from sweeps.store.folder import Folder
from sweeps.store.objects import Objects


class Medium(Protocol):
    """What a store asks of the place where it lies; keys are paths with ``/``."""

    @property
    def name(self) -> str:
        """The place as a person writes it."""

    def exists(self) -> bool:
        """Whether anything is there."""

    def get(self, key: str) -> bytes:
        """What stands under a key; FileNotFoundError where nothing does."""

    def stamp(self, key: str) -> Any:
        """What differs once a key is set anew; FileNotFoundError where nothing stands there."""

    def put(self, key: str, data: bytes, *, wait: bool = True) -> None:
        """Set a key; durably if one waits, else once its folder is settled."""

    def delete(self, key: str) -> None:
        """Remove a key, if it is there."""

    def sizes(self, folder: str) -> dict[str, int]:
        """The names in a folder, and the bytes of each; empty where there is no such folder."""

    def writing(self, key: str) -> Any:
        """A context with a function that appends; at its end the key is set, durably.

        What is given with ``True`` is not appended, and takes the place of what was written first.
        """

    def settle(self, folder: str, names: Sequence[str] = ()) -> None:
        """Make what stands under some names of a folder durable, and the names themselves."""

    def claim(self, *, writing: bool = True) -> Any:
        """A context in which no other process writes here, nor gives the name to something else.

        Others may read meanwhile where one does not write.
        """

    def create(self, files: Mapping[str, bytes]) -> None:
        """Make the store of these files, all or nothing; the last one is the sign that all are."""

    def files(self) -> list[str]:
        """The keys of all that is there, but for what locks it."""

    def remains(self) -> list[str]:
        """The keys that a killed process left unfinished."""

    def total(self) -> int:
        """The bytes of all that is there."""

    def adopt(self, other: Any, key: str) -> None:
        """Set a key to what stands under it in another place of the kind."""

    def beside(self) -> str:
        """The name under which what shall take this place is built."""

    def exchanging(self) -> Any:
        """A context in which no other process builds beside, or puts here what was built there."""

    def swap(self, other: Any) -> None:
        """Put what another place of the kind holds here; what was here may come to be there."""

    def remove(self) -> None:
        """Remove all that is here."""

    def aside(self) -> str:
        """A free name beside, for what is here."""

    def move(self, to: str) -> None:
        """Give what is here another name."""


def got(medium: Medium, key: str) -> bytes | None:
    """What stands under a key; None where nothing does."""
    with suppress(FileNotFoundError):
        return medium.get(key)
    return None


def is_url(place: object) -> bool:
    """Whether a place is a URL rather than a path."""
    return isinstance(place, str) and "://" in place


def medium_of(place: str | Path) -> Medium:
    """The medium of a path or URL.

    Raises
    ------
    DseError
        No place can have such a name, its links lead nowhere, or files in it lead out of it.
    """
    if is_url(place) and not str(place).startswith("file://"):
        return Objects(str(place))
    found = Folder(Path(str(place).removeprefix("file://")))
    found.exists()
    check_enclosed(found.path)
    return found
