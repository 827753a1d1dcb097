"""What the store of a run says of itself: its study, and whether it is complete; without zarr."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.grid.dataset import opened_from, unfinished_places
from sweeps.store.backend import HIDDEN, StoreBackend, backend_of, get_or_none
from sweeps.store.records import (
    FINISHED,
    MANIFEST,
    RECORDS,
    UNFIT,
    read_manifest,
    read_sealed,
)
from symbolic.errors import DamagedError, OtherProcessError, UnfinishedError

if TYPE_CHECKING:
    import xarray as xr


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
        begun = self.is_complete and get_or_none(backend, FINISHED) is None
        # one that is damaged is no other one
        if now is None or begun or read_sealed(now) not in (None, self.manifest):
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
    manifest = read_manifest(data)
    if manifest is None:
        lacks = "it does not say its study, or the files of the store"
        raise damaged(backend.name, MANIFEST, UNFIT if read_sealed(data) is None else lacks)
    mark = get_or_none(backend, FINISHED)
    end = read_sealed(mark)
    if mark is not None and (end is None or end.get("identity") != manifest["identity"]):
        if get_or_none(backend, MANIFEST) != data:  # it was replaced meanwhile
            return read_info(place)
        problem = UNFIT if end is None else "it is that of another store"
        raise damaged(backend.name, FINISHED, problem)
    return StoreInfo(place=str(place), manifest=manifest, is_complete=mark is not None)


def check_not_replaced(backend: StoreBackend) -> None:
    """Raise where another store is being put into a place, and neither stands there whole."""
    if backend.is_being_replaced():
        raise OtherProcessError(
            f"another store is being put into the place of {backend.name}, by a process that is at "
            f"it or was stopped: wait for it, or let dse verify {backend.name} bring it to its end"
        )


def info_of(source: xr.Dataset | str | Path) -> StoreInfo | None:
    """Return what the store of a run says of itself, given by its path or as it was opened.

    None of any other file, and of a Dataset that was changed.

    Raises
    ------
    OtherProcessError
        Another store came to be there since the Dataset was opened.
    """
    if isinstance(source, (str, Path)):
        return read_info(source) if str(source).rstrip("/").endswith(".zarr") else None
    info: StoreInfo | None = opened_from(source)
    if info is not None:
        info.check_same()
    return info


def check_complete(place: str | Path) -> None:
    """Raise where the store of a run is not finished.

    Raises
    ------
    UnfinishedError
        Values are missing, with the way to finish it, and to use what is there all the same.
    """
    info = read_info(place)
    if info is None or info.is_complete:
        return
    backend = backend_of(place)
    count = len(backend.sizes(RECORDS))
    raise UnfinishedError(
        f"{backend.name} is not finished ({count:,} tiles are stored): the command that began it "
        f"continues (dse run STUDY --store {backend.name}); or ask what is there, loaded into "
        "memory: dse.open(...).load()"
    )


def check_finished(source: xr.Dataset | str | Path) -> None:
    """Raise where values of the store of a run, or of a part of it, are missing.

    Raises
    ------
    UnfinishedError
        As of :func:`check_complete`.
    """
    info = info_of(source)
    if isinstance(source, (str, Path)):
        places = [info.place] if info is not None and not info.is_complete else []
    else:
        places = unfinished_places(source)
    for place in places:
        check_complete(place)
