"""Fill, extend, verify and repair the stores of studies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.arguments import require_outputs, require_path
from dse.progress import ProgressOption, progress_listener
from dse.runs.identity import (
    OVERWRITE_HINT,
    check_same_study,
    check_storable,
    contained_study,
    dataset_attributes,
    is_expanded,
    is_same_manifest,
    manifest_identity,
    missing_store_error,
    rebuild_study,
)
from sweeps.files.export import open_dataset
from sweeps.grid.grid import FEASIBLE
from sweeps.store.backend import LocalBackend, StoreBackend, backend_of, free_name, get_or_none
from sweeps.store.create import METADATA_FILE, StorePlan
from sweeps.store.fill import WatchedOutput, fill, finished_outcome
from sweeps.store.layout import COMPRESSIONS, StoreLayout
from sweeps.store.lock import remove_stale_lock, write_lock
from sweeps.store.records import FINISHED, MANIFEST, check_complete, read_info, read_manifest
from sweeps.store.verify import VerifyResult
from sweeps.store.verify import verify as compare
from symbolic.errors import DseError, OtherProcessError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.study import StudyData
    from sweeps.runtime.progress import Outcome, Progress


def run_into_store(
    store: str | Path,
    study: StudyData,
    *,
    listener: Callable[[Progress], None] | None,
    watch: WatchedOutput | None,
    pool: Any,
    compression: str | None,
    expand: bool,
    fresh: bool,
    extend: bool,
) -> Outcome:
    """Run a study into a store; see :func:`dse.runs.run.run_study`."""
    backend, names = backend_of(store), study.grid().outputs

    def plan_target() -> tuple[StorePlan, bool]:
        return _plan_target(study, backend, compression, expand=expand, extend=extend)

    if not (fresh or backend.has_leftovers()):
        plan, extends = plan_target()
        done = None if extends else finished_outcome(plan, backend)
        if done is not None:
            remove_stale_lock(backend)
            return _run_outcome(store, done, names)
    with ExitStack() as stack:
        stack.enter_context(write_lock(backend))
        old_store = stack.enter_context(_move_aside(backend)) if fresh else None
        filled = _fill_store(backend, *plan_target(), listener=listener, watch=watch, pool=pool)
        return _run_outcome(store, filled, names, old_store)


def _plan_target(
    study: StudyData, backend: StoreBackend, compression: str | None, *, expand: bool, extend: bool
) -> tuple[StorePlan, bool]:
    """Return the plan of the store to write, and True if it extends the existing store."""
    if not backend.exists():
        return _store_plan(study, compression or COMPRESSIONS[0], expand=expand), False
    theirs = read_manifest(get_or_none(backend, MANIFEST))
    known = COMPRESSIONS[0] if theirs is None else theirs.get("compression", COMPRESSIONS[1])
    if theirs is not None and compression not in (None, known):
        raise DseError(
            f"the chunks of {backend.name} are compressed by {known!r}, not {compression!r}: "
            f"give no compression to continue it, or {OVERWRITE_HINT}"
        )
    plan = _store_plan(study, known, expand=expand)
    try:
        check_same_study(backend, plan.manifest, theirs, OVERWRITE_HINT)
    except DseError as error:
        if theirs is None:
            raise
        before = contained_study(study, backend, theirs, expand=expand)
        if before is None:
            raise
        ours, there = study.grid().outputs, before.grid().outputs
        if set(ours) <= set(there):
            plan = _store_plan(_with_outputs(study, there), known, expand=expand)
            if is_same_manifest(theirs, plan.manifest):
                return plan, False
        if not extend:
            raise DseError(
                f"{error}; or give extend=True (--extend) to replace it by the larger one"
            ) from None
        more = sorted(set(there) - set(ours))
        larger = _with_outputs(study, (*ours, *more)) if more else study
        return _store_plan(larger, known, expand=expand), True
    return plan, False


def _store_plan(study: StudyData, compression: str, *, expand: bool) -> StorePlan:
    layout = StoreLayout(study.grid(), expand=expand, compression=compression)
    attributes = dataset_attributes(study, expand=expand)
    return StorePlan(
        layout=layout, manifest=manifest_identity(study, layout), attributes=attributes
    )


def _with_outputs(study: StudyData, outputs: tuple[str, ...]) -> StudyData:
    return replace(study, outputs=outputs, best=None)


def _fill_store(backend: StoreBackend, plan: StorePlan, extends: bool, **work: Any) -> Outcome:
    """Compute the missing tiles of a locked store, or fill a larger store that replaces it."""
    if not extends:
        _remove_old_store(backend)
        return fill(plan, backend, **work)
    check_complete(backend.name)
    there = backend.staging()
    begun = read_manifest(get_or_none(there, MANIFEST))
    if there.exists() and (begun is None or not is_same_manifest(begun, plan.manifest)):
        there.remove()
    filled = fill(plan, there, **work)
    if filled.failures:
        raise DseError(
            f"{backend.name} is unchanged: {len(filled.failures):,} tiles of the larger study "
            f"failed, the first at {filled.failures[0]}"
        )
    backend.replace_by(there)
    return filled


def _remove_old_store(backend: StoreBackend) -> None:
    """Remove a replaced store that a killed process left, unless it is an unfinished extension."""
    there = backend.staging()
    is_begun = get_or_none(there, MANIFEST) is not None
    if there.exists() and (get_or_none(there, FINISHED) is not None or not is_begun):
        there.remove()


def _run_outcome(
    store: str | Path, outcome: Outcome, names: tuple[str, ...], old_store: str | None = None
) -> Outcome:
    info = read_info(store)

    def open_outputs() -> xr.Dataset:
        if info is not None:
            info.check_same()
        ds = open_dataset(store)
        return ds.drop_vars([name for name in ds.data_vars if name not in (*names, FEASIBLE)])

    return replace(outcome, open_dataset=open_outputs, old_store=old_store)


@contextmanager
def _move_aside(backend: StoreBackend) -> Iterator[str | None]:
    """Rename the existing store and yield its new name; undo this if no new store is created."""
    if not backend.exists():
        yield None
        return
    old_store = free_name(backend)
    try:
        backend.move(old_store)
    except OSError as error:
        raise DseError(f"{backend.name} cannot be moved aside: {error.strerror}") from error
    try:
        yield old_store
    except BaseException as error:
        back = False
        if not backend.exists():
            with suppress(OSError, DseError):
                backend_of(old_store).move(backend.name)
                back = True
        if not back and isinstance(error, OtherProcessError):
            raise OtherProcessError(f"{error}; the previous store is at {old_store}") from error
        raise


def _existing_store(store: str | Path) -> StoreBackend:
    backend: StoreBackend = backend_of(require_path(store))
    if not (backend.exists() or backend.is_being_replaced()):
        raise missing_store_error(store)
    return backend


def _store_compression(backend: StoreBackend, tree: dict[str, Any]) -> str:
    if tree.get("compression") in COMPRESSIONS:
        return str(tree["compression"])
    files = [key for key in backend.files() if key.endswith(METADATA_FILE)]
    metadata = b"".join(get_or_none(backend, key) or b"" for key in files)
    codecs = [name for name in COMPRESSIONS if f'"{name}"'.encode() in metadata]
    return next((name for name in codecs if name != "none"), "none")


def add(
    store: str | Path,
    outputs: str | Sequence[str],
    *,
    study: StudyData | str | Path | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """Add quantities to a finished store.

    A store with the additional outputs is computed under another name and then replaces the store.
    A run of the study without these outputs still recognizes the store. If the call is interrupted,
    the same call continues it.

    Parameters:
        store (path or URL): Store of a run.
        outputs (str or sequence of str): Quantities of the study's model.
        study (Study or path, optional): Study of the store; default: the study that the store
            contains.
        progress (bool or callable): True shows progress after a second; a function receives a
            :class:`sweeps.runtime.progress.Progress` after each tile.

    Returns:
        xarray.Dataset: The Dataset of the opened store.

    Raises:
        DseError: The store is not finished, its model or values have changed, or a quantity is
            unknown.
    """
    backend = _existing_store(store)
    with progress_listener(progress) as listener, write_lock(backend):
        whole, tree = rebuild_study(store, study=study)
        there = whole.grid().outputs
        if more := tuple(name for name in require_outputs(outputs) if name not in there):
            larger = _with_outputs(whole, (*there, *more))
            check_storable(larger)
            plan = _store_plan(larger, _store_compression(backend, tree), expand=is_expanded(tree))
            _fill_store(backend, plan, True, listener=listener)
        else:
            _remove_old_store(backend)
        return open_dataset(store)


def verify(
    store: str | Path,
    *,
    repair: bool = False,
    study: StudyData | str | Path | None = None,
    progress: ProgressOption = False,
) -> VerifyResult:
    """Compare every shard, record and metadata file of a store with its checksum.

    Parameters:
        store (path or URL): Store of a run, finished or not.
        repair (bool): Compute the damaged tiles again.
        study, progress: See :func:`add`; the progress counts the repaired tiles.

    Returns:
        sweeps.store.verify.VerifyResult: ``damages`` lists files, each with its problem, its tile
        and the tile's configurations.

    Raises:
        DseError: There is no store, or its study cannot be read.
    """
    backend = _existing_store(store)
    with ExitStack() as stack:
        # a lock needs write permission; reading needs no lock
        local = isinstance(backend, LocalBackend) and os.access(backend.path.parent, os.W_OK)
        if repair or local or backend.is_being_replaced():
            stack.enter_context(write_lock(backend))
        listener = stack.enter_context(progress_listener(progress))
        rebuilt, tree = rebuild_study(store, study=study)
        plan = _store_plan(rebuilt, _store_compression(backend, tree), expand=is_expanded(tree))
        # keep the recorded hashes, because comments in the files may have changed
        if "model_files" in tree:
            plan.attributes["model_files"] = plan.manifest["model_files"] = tree["model_files"]
        return compare(plan, backend, repair=repair, listener=listener)
