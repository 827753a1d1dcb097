"""The stores of studies: runs into them, further outputs, damage that is found and repaired."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.given import a_place, some_outputs
from dse.identity import (
    WAY_OUT,
    attributes_of,
    check_same_study,
    check_storable,
    extended_by,
    is_expanded,
    is_same,
    missing,
    rebuilt,
    stored_identity,
)
from dse.progress import Shown, heard
from sweeps.files.export import open_dataset
from sweeps.grid.grid import FEASIBLE
from sweeps.store.backend import Folder, backend_of, free_name, get_or_none
from sweeps.store.create import ROOT, StorePlan
from sweeps.store.fill import fill, finished
from sweeps.store.layout import COMPRESSIONS, Layout
from sweeps.store.lock import remove_stale_lock, write_lock
from sweeps.store.records import FINISHED, MANIFEST, check_complete, read_info, read_manifest
from sweeps.store.verify import Checked
from sweeps.store.verify import verify as compare
from symbolic.errors import DseError, OtherProcessError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData
    from sweeps.runtime.progress import Outcome, Progress
    from sweeps.store.backend import StoreBackend
    from sweeps.store.fill import Watch


def run_into(
    store: str | Path,
    study: StudyData,
    *,
    listener: Callable[[Progress], None] | None,
    watch: Watch | None,
    pool: Any,
    compression: str | None,
    expand: bool,
    fresh: bool,
    extend: bool,
) -> Outcome:
    """See :func:`dse.runner.run_study`."""
    backend, names = backend_of(store), study.grid().outputs

    def target() -> tuple[StorePlan, bool]:
        return _target(study, backend, compression, expand=expand, extend=extend)

    if not (fresh or backend.has_leftovers()):
        plan, extends = target()
        done = None if extends else finished(plan, backend)
        if done is not None:
            remove_stale_lock(backend)
            return _outcome(store, done, names)
    with ExitStack() as held:
        held.enter_context(write_lock(backend))
        kept = held.enter_context(_kept_aside(backend)) if fresh else None
        filled = _fill(backend, *target(), listener=listener, watch=watch, pool=pool)
        return _outcome(store, filled, names, kept)


def _target(
    study: StudyData,
    backend: StoreBackend,
    compression: str | None,
    *,
    expand: bool,
    extend: bool,
) -> tuple[StorePlan, bool]:
    """Return what must stand at a place in the end, and True if it extends what is there.

    Raise where what is there is in the way.
    """
    if not backend.exists():
        return _plan(study, compression or COMPRESSIONS[0], expand=expand), False
    theirs = read_manifest(get_or_none(backend, MANIFEST))
    known = COMPRESSIONS[0] if theirs is None else theirs.get("compression", COMPRESSIONS[1])
    if theirs is not None and compression not in (None, known):
        raise DseError(
            f"the chunks of {backend.name} are compressed by {known!r}, not {compression!r}: "
            f"give no compression to continue it, or {WAY_OUT}"
        )
    plan = _plan(study, known, expand=expand)
    try:
        check_same_study(backend, plan.manifest, theirs, WAY_OUT)
    except DseError as error:
        if theirs is None:
            raise
        before = extended_by(study, backend, theirs, expand=expand)
        if before is None:
            raise
        ours, there = study.grid().outputs, before.grid().outputs
        if set(ours) <= set(there):
            plan = _plan(_with_outputs(study, there), known, expand=expand)
            if is_same(theirs, plan.manifest):
                return plan, False
        if not extend:
            raise DseError(
                f"{error}; or give extend=True (--extend) to replace it by the larger one"
            ) from None
        more = sorted(set(there) - set(ours))
        larger = _with_outputs(study, (*ours, *more)) if more else study
        return _plan(larger, known, expand=expand), True
    return plan, False


def _plan(study: StudyData, compression: str, *, expand: bool) -> StorePlan:
    layout = Layout(study.grid(), expand=expand, compression=compression)
    attributes = attributes_of(study, expand=expand)
    return StorePlan(layout=layout, manifest=stored_identity(study, layout), attributes=attributes)


def _with_outputs(study: StudyData, outputs: tuple[str, ...]) -> StudyData:
    return replace(study, outputs=outputs, best=None)


def _fill(backend: StoreBackend, plan: StorePlan, extends: bool, **work: Any) -> Outcome:
    """Compute what is missing at a place; the caller holds its lock.

    The store of a larger study is computed beside the present one and takes its place when it is
    whole.
    """
    if not extends:
        _remove_replaced(backend)
        return fill(plan, backend, **work)
    check_complete(backend.name)
    there = backend.beside()
    begun = read_manifest(get_or_none(there, MANIFEST))
    if there.exists() and (begun is None or not is_same(begun, plan.manifest)):
        there.remove()
    filled = fill(plan, there, **work)
    if filled.failed:
        raise DseError(
            f"{backend.name} stays as it is: {len(filled.failed):,} tiles of the larger study "
            f"failed, the first at {filled.failed[0]}"
        )
    backend.replace_by(there)
    return filled


def _remove_replaced(backend: StoreBackend) -> None:
    """Remove the store that was replaced, left by a kill; an unfinished extension stays."""
    there = backend.beside()
    is_begun = get_or_none(there, MANIFEST) is not None
    if there.exists() and (get_or_none(there, FINISHED) is not None or not is_begun):
        there.remove()


def _outcome(
    store: str | Path, filled: Outcome, names: tuple[str, ...], kept: str | None = None
) -> Outcome:
    info = read_info(store)

    def opened() -> xr.Dataset:
        if info is not None:
            info.check_same()
        ds = open_dataset(store)
        return ds.drop_vars([name for name in ds.data_vars if name not in (*names, FEASIBLE)])

    return replace(filled, open=opened, kept=kept)


@contextmanager
def _kept_aside(backend: StoreBackend) -> Iterator[str | None]:
    """Move what is at a place out of the way; back again if no new store came to be there."""
    if not backend.exists():
        yield None
        return
    kept = free_name(backend)
    try:
        backend.move(kept)
    except OSError as error:
        raise DseError(f"{backend.name} cannot be kept aside: {error.strerror}") from error
    try:
        yield kept
    except BaseException as error:
        back = False
        if not backend.exists():
            with suppress(OSError, DseError):
                backend_of(kept).move(backend.name)
                back = True
        if not back and isinstance(error, OtherProcessError):
            raise OtherProcessError(f"{error}; what was there before is at {kept}") from error
        raise


# --- Stores that are there already


def _existing(store: str | Path) -> StoreBackend:
    """Return the backend of a store that is there."""
    backend: StoreBackend = backend_of(a_place(store))
    if not (backend.exists() or backend.is_being_replaced()):
        raise missing(store)
    return backend


def _compression(backend: StoreBackend, tree: dict[str, Any]) -> str:
    """Return how a store is compressed, by its manifest or else by what describes its arrays."""
    packed, plain = COMPRESSIONS
    if tree.get("compression") in COMPRESSIONS:
        return str(tree["compression"])
    found = (get_or_none(backend, key) or b"" for key in backend.files() if key.endswith(ROOT))
    return packed if any(b'"blosc"' in data for data in found) else plain


def add(
    store: str | Path,
    outputs: str | Sequence[str],
    *,
    study: StudyData | str | Path | None = None,
    progress: Shown = False,
) -> xr.Dataset:
    """Add quantities to a finished store.

    The store of the study with these outputs too is computed beside it and takes its place. A run
    of the study without them still finds its own there. A call that was stopped is continued by the
    same call.

    Parameters
    ----------
    store : path or URL
        The store of a run.
    outputs : str or sequence of str
        Quantities of its model.
    study : Study or path, optional
        The study of the store; by default the one that the store names.
    progress : bool or callable
        Shown after a second; or a function that is given a
        :class:`sweeps.runtime.progress.Progress` after each tile.

    Returns
    -------
    xarray.Dataset
        The store, opened.

    Raises
    ------
    DseError
        The store is not finished, its model or values have changed since, or no such quantity.
    """
    backend = _existing(store)
    with ExitStack() as held:
        listener = held.enter_context(heard(progress))
        held.enter_context(write_lock(backend))
        whole, tree = rebuilt(store, study=study)
        there = whole.grid().outputs
        if more := tuple(name for name in some_outputs(outputs) if name not in there):
            larger = _with_outputs(whole, (*there, *more))
            check_storable(larger)
            plan = _plan(larger, _compression(backend, tree), expand=is_expanded(tree))
            _fill(backend, plan, True, listener=listener)
        else:
            _remove_replaced(backend)
        return open_dataset(store)


def verify(
    store: str | Path,
    *,
    repair: bool = False,
    study: StudyData | str | Path | None = None,
    progress: Shown = False,
) -> Checked:
    """Compare every shard, record and file of metadata of a store with its checksum.

    Parameters
    ----------
    store : path or URL
        The store of a run, finished or not.
    repair : bool
        Compute the damaged tiles again, and no others.
    study : Study or path, optional
        The study of the store; by default the one that the store names.
    progress : bool or callable
        Shown after a second; or a function that is given a
        :class:`sweeps.runtime.progress.Progress` after each tile that is repaired.

    Returns
    -------
    sweeps.store.verify.Checked
        ``damages``: each a file, its problem, its tile and the configurations of the tile.

    Raises
    ------
    DseError
        There is no store, or its study cannot be read.
    """
    backend = _existing(store)
    with ExitStack() as held:
        # who may only read a folder cannot keep writers away
        local = isinstance(backend, Folder) and os.access(backend.path.parent, os.W_OK)
        if repair or local or backend.is_being_replaced():
            held.enter_context(write_lock(backend))
        listener = held.enter_context(heard(progress))
        whose, tree = rebuilt(store, study=study)
        plan = _plan(whose, _compression(backend, tree), expand=is_expanded(tree))
        if "model_files" in tree:  # a comment in such a file may be another one now
            plan.attributes["model_files"] = plan.manifest["model_files"] = tree["model_files"]
        return compare(plan, backend, repair=repair, listener=listener)
