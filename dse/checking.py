"""Whether a store still holds what was written."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from dse.given import a_place
from dse.identity import attributes_of, stored_identity
from dse.progress import Shown, heard
from dse.rebuilding import missing, read_identity, rebuilt
from dse.study.data import StudyData

if TYPE_CHECKING:
    from sweeps.store.backend import StoreBackend
    from sweeps.store.verify import Checked


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
    from sweeps.store.backend import backend_of
    from sweeps.store.create import skeleton
    from sweeps.store.layout import Layout
    from sweeps.store.lock import write_lock
    from sweeps.store.verify import verify as compare

    backend = backend_of(a_place(store))
    if not (backend.exists() or backend.is_being_replaced()):
        raise missing(store)
    with ExitStack() as held:
        if repair or backend.is_being_replaced() or _may_be_locked(backend):
            held.enter_context(write_lock(backend))
        listener = held.enter_context(heard(progress))
        whose, expand = rebuilt(store, study=study)
        tree = read_identity(backend, whose)[0]
        layout = Layout(whose.grid(), expand=expand, compression=_compression(backend, tree))
        identity = stored_identity(whose, layout)
        attributes = attributes_of(whose, expand=expand)
        if "model_files" in tree:  # a comment in such a file may be another one now
            attributes["model_files"] = identity["model_files"] = tree["model_files"]
        files = skeleton(layout, attributes, identity)
        key = str(identity["identity"])
        return compare(layout, backend, files, key, repair=repair, listener=listener)


def _may_be_locked(backend: StoreBackend) -> bool:
    """True if a check can keep writers away: who may only read a folder cannot."""
    import os

    from sweeps.store.backend import Folder

    return isinstance(backend, Folder) and os.access(backend.path.parent, os.W_OK)


def _compression(backend: StoreBackend, tree: dict[str, str]) -> str:
    """Return how a store is compressed, by its manifest or else by what describes its arrays."""
    from sweeps.store.backend import get_or_none
    from sweeps.store.create import ROOT
    from sweeps.store.layout import COMPRESSIONS

    packed, plain = COMPRESSIONS
    if tree.get("compression") in COMPRESSIONS:
        return tree["compression"]
    found = [get_or_none(backend, key) or b"" for key in backend.files() if key.endswith(ROOT)]
    return packed if any(b'"blosc"' in data for data in found) else plain
