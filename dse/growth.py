"""Stores that are extended: further values along the axes of a study, further outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.given import a_place, some_outputs
from dse.identity import attributes_of, check_same_study, check_storable, stored_identity
from dse.progress import Shown, heard
from dse.rebuilding import axis_of, missing, read_identity, rebuilt
from dse.study.data import StudyData
from symbolic.errors import DseError
from symbolic.json_text import read_json

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.grid.space import Axis
    from sweeps.runtime.progress import Progress
    from sweeps.store.backend import StoreBackend
    from sweeps.store.fill import Filled, Pool, Watch

Listener = Callable[["Progress"], None]


def with_stored_outputs(study: StudyData, backend: StoreBackend, *, expand: bool) -> StudyData:
    """Return the study with all outputs of its store, if that has all of its own and more."""
    with suppress(DseError, ValueError, KeyError, TypeError):
        stored = read_json(read_identity(backend)[0]["study"])["outputs"]
        ours = study.grid().outputs
        if set(ours) <= set(stored) and tuple(stored) != ours:
            more = replace(study, outputs=tuple(stored), best=None)
            if _is_store_of(backend, more, expand=expand):
                return more
    return study


def extend_hint(study: StudyData, backend: StoreBackend, error: DseError, *, expand: bool) -> Any:
    """Return why a store is not that of a study; where the study extends it, with that way out."""
    if _stored_study(study, backend, expand=expand) is None:
        return error
    return DseError(f"{error}; or give extend=True (--extend) to replace it by the larger one")


def _stored_study(study: StudyData, backend: StoreBackend, *, expand: bool) -> StudyData | None:
    """Return the study of a store that a study extends; None if it does not extend it."""
    with suppress(DseError, ValueError, KeyError, TypeError, OSError):
        there = read_json(read_identity(backend)[0]["study"])
        axes = {name: axis_of(backend, name, spec) for name, spec in there["axes"].items()}
        if list(axes) != list(study.grid().axes):
            return None
        found = replace(study, axes=axes, outputs=tuple(there["outputs"]), best=None)
        pairs = zip(study.grid().axes.values(), found.grid().axes.values(), strict=True)
        same = _is_store_of(backend, found, expand=expand)
        if same and all(_holds_all(new, old) for new, old in pairs):
            return found
    return None


def _holds_all(new: Axis, old: Axis) -> bool:
    """True if an axis has all values of another one."""
    return set(new.columns) == set(old.columns) and set(_values(old)) <= set(_values(new))


def _values(axis: Axis) -> list[Any]:
    if axis.columns:
        columns = (axis.columns[name].tolist() for name in sorted(axis.columns))
        return list(zip(*columns, strict=True))
    return list(axis.labels) or np.asarray(axis.values).tolist()


def _is_store_of(backend: StoreBackend, study: StudyData, *, expand: bool) -> bool:
    from sweeps.store.layout import Layout

    tree, _ = read_identity(backend)
    ours = stored_identity(study, Layout(study.grid(), expand=expand))
    return all(tree.get(key) == ours[key] for key in ("identity", "chunks"))


def extend_store(
    study: StudyData,
    backend: StoreBackend,
    *,
    expand: bool,
    listener: Listener | None = None,
    watch: Watch | None = None,
    pool: Pool | None = None,
) -> Filled:
    """Replace a finished store by that of a study with more values or outputs.

    It is computed beside the present one and takes its place when it is whole; the same call
    continues where it was stopped. The caller holds the lock of the place.

    Raises
    ------
    DseError
        The store is not finished, or belongs to a study that this one does not extend.
    """
    from sweeps.store.create import skeleton
    from sweeps.store.fill import fill
    from sweeps.store.layout import Layout
    from sweeps.store.open import check_complete

    compression = read_identity(backend)[0].get("compression", "none")
    before = _stored_study(study, backend, expand=expand)
    if before is None:
        layout = Layout(study.grid(), expand=expand, compression=compression)
        check_same_study(backend, stored_identity(study, layout))  # names the difference
        raise DseError(f"{backend.name} is the store of this study: there is nothing to extend")
    check_complete(backend.name)
    more = set(before.grid().outputs) - set(study.grid().outputs)
    if more:
        study = replace(study, outputs=(*study.grid().outputs, *sorted(more)), best=None)
    layout = Layout(study.grid(), expand=expand, compression=compression)
    identity = stored_identity(study, layout)
    beside = backend.beside()
    if beside.exists() and not _begun_as(beside, identity):
        beside.remove()
    filled = fill(
        layout,
        beside,
        lambda: skeleton(layout, attributes_of(study, expand=expand), identity),
        str(identity["identity"]),
        listener=listener,
        watch=watch,
        pool=pool,
    )
    if filled.failed:
        raise DseError(
            f"{backend.name} stays as it is: {len(filled.failed):,} tiles of the larger study "
            f"failed, the first at {filled.failed[0]}"
        )
    backend.replace_by(beside)
    return filled


def remove_replaced(backend: StoreBackend) -> None:
    """Remove the store that was replaced, left by a kill; an unfinished extension stays."""
    from sweeps.store.backend import get_or_none
    from sweeps.store.records import FINISHED, MANIFEST

    beside = backend.beside()
    is_begun = get_or_none(beside, MANIFEST) is not None
    if beside.exists() and (get_or_none(beside, FINISHED) is not None or not is_begun):
        beside.remove()


def _begun_as(backend: StoreBackend, identity: dict[str, Any]) -> bool:
    try:
        check_same_study(backend, identity)
    except DseError:
        return False
    return True


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
    from sweeps.files.export import open_dataset
    from sweeps.store.backend import backend_of
    from sweeps.store.lock import write_lock

    backend = backend_of(a_place(store))
    if not (backend.exists() or backend.is_being_replaced()):
        raise missing(store)
    with ExitStack() as held:
        listener = held.enter_context(heard(progress))
        held.enter_context(write_lock(backend))
        whole, expand = rebuilt(store, study=study)
        names = some_outputs(outputs)
        more = tuple(name for name in names if name not in whole.grid().outputs)
        if more:
            larger = replace(whole, outputs=(*whole.grid().outputs, *more), best=None)
            check_storable(larger)
            extend_store(larger, backend, expand=expand, listener=listener)
        else:
            remove_replaced(backend)
        return open_dataset(store)
