"""What the store of a run says of itself: its study, and whether it is complete; without zarr."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeps.store.backend import HIDDEN, StoreBackend, backend_of, get_or_none
from sweeps.store.records import FINISHED, MANIFEST, RECORDS, read_sealed
from symbolic.errors import DamagedError, OtherProcessError, UnfinishedError


def damaged(place: str, key: str, problem: str) -> DamagedError:
    """Return the error for what is not as it was written, with the way to repair it."""
    return DamagedError(f"{place} is damaged: {key}: {problem}; repair it with dse verify --repair")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """What the store of a run says of itself: its place, its manifest, whether it is complete.

    ``manifest`` holds ``identity``, ``study`` (the text of the study) and what else tells its study
    from others.
    """

    place: str
    manifest: Mapping[str, Any]
    is_complete: bool

    @property
    def identity(self) -> str:
        """Return the identity of the study."""
        return str(self.manifest["identity"])

    def check_same(self) -> None:
        """Raise OtherProcessError where another store, or none, is at the place by now."""
        backend = backend_of(self.place)
        now = get_or_none(backend, MANIFEST)
        tree = read_sealed(now)
        begun = self.is_complete and get_or_none(backend, FINISHED) is None
        # one that is damaged is no other one
        if now is None or begun or (tree is not None and tree != self.manifest):
            raise OtherProcessError(
                f"another process has extended, replaced or removed {self.place} since it was "
                "opened: open it again"
            )


def read_info(place: str | Path) -> StoreInfo | None:
    """Return what the store of a run says of itself; None if something else is there.

    Raises
    ------
    DamagedError
        What tells its study is damaged.
    """
    backend = backend_of(place)
    data = get_or_none(backend, MANIFEST)
    if data is None:
        check_not_replaced(backend)
        if get_or_none(backend, f"{HIDDEN}/identity") is not None:
            raise DamagedError(
                f"{backend.name} was written by an earlier version, whose format is not read any "
                "more: run its study into another place, or with --fresh"
            )
        if get_or_none(backend, FINISHED) is None and not backend.sizes(RECORDS):
            return None
        raise damaged(backend.name, MANIFEST, "it is missing")
    manifest = read_sealed(data)
    if manifest is None or not isinstance(manifest.get("files"), dict):
        raise damaged(backend.name, MANIFEST, "its checksum does not fit")
    mark, identity = get_or_none(backend, FINISHED), manifest.get("identity")
    end = read_sealed(mark)
    if mark is not None and (end is None or end.get("identity") != identity):
        if _manifest_of(backend) == manifest:  # else it was replaced meanwhile
            problem = "its checksum does not fit" if end is None else "it is that of another store"
            raise damaged(backend.name, FINISHED, problem)
        return read_info(place)
    return StoreInfo(place=str(place), manifest=manifest, is_complete=mark is not None)


def _manifest_of(backend: StoreBackend) -> dict[str, Any] | None:
    return read_sealed(get_or_none(backend, MANIFEST))


def check_not_replaced(backend: StoreBackend) -> None:
    """Raise where another store is being put into a place, and neither stands there whole."""
    if backend.is_being_replaced():
        raise OtherProcessError(
            f"another store is being put into the place of {backend.name}, by a process that is at "
            f"it or was stopped: wait for it, or let dse verify {backend.name} bring it to its end"
        )


def check_complete(place: str | Path) -> StoreInfo | None:
    """Return what the store of a run says of itself; None if something else is there.

    Raises
    ------
    UnfinishedError
        Values are missing, with the way to finish it.
    """
    info = read_info(place)
    if info is None or info.is_complete:
        return info
    backend = backend_of(place)
    count = len(backend.sizes(RECORDS))
    raise UnfinishedError(
        f"{backend.name} is not finished ({count:,} tiles are stored): the command that began it "
        f"continues (dse run STUDY --store {backend.name}); or ask what is there, loaded into "
        "memory: dse.open(...).load()"
    )
