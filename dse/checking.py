"""Whether a store still holds what was written, and the study it belongs to."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dse.given import a_place
from dse.identity import attributes_of, stored_identity
from dse.progress import Shown, heard
from dse.rebuilding import missing, rebuilt, told
from dse.study.data import StudyData
from symbolic.errors import DseError

if TYPE_CHECKING:
    from sweeps.store.verify import Checked


def verify(
    store: str | Path,
    *,
    repair: bool = False,
    study: StudyData | str | Path | None = None,
    progress: Shown = False,
) -> Checked:
    """Compare every chunk, record and description of a store with its checksum.

    Parameters
    ----------
    store : path or URL
        The store of a run, finished or not.
    repair : bool
        Compute the damaged tiles again, and no others.
    study : Study or path, optional
        Whose store it is; by default it is told by the store itself.
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
        There is no store, or its study cannot be told.
    """
    from sweeps.store.layout import Layout
    from sweeps.store.medium import medium_of
    from sweeps.store.skeleton import compression_of, skeleton
    from sweeps.store.swap import begun, claimed
    from sweeps.store.verify import verify as compare
    from sweeps.store.versions import Version

    medium = medium_of(a_place(store))
    if not (medium.exists() or begun(medium)):
        raise missing(store)
    if begun(medium) and not repair:
        with suppress(DseError), claimed(medium):  # to bring it to its end, if one may write
            pass
    claim = claimed(medium) if repair else medium.claim(writing=False)
    with claim, heard(progress) as listener:
        version = Version(medium.name)
        whose, expand = rebuilt(store, study=study)
        tree = told(medium, whose)[0]
        packed = tree.get("compression", "none") if "chunks" in tree else compression_of(medium)
        layout = Layout(whose.grid(), expand=expand, compression=packed)
        identity = stored_identity(whose, layout)
        attributes = attributes_of(whose, expand=expand)
        for said in (attributes, identity):  # that of the file then: a comment may be another now
            said |= {key: value for key, value in tree.items() if key == "model_files"}
        files = skeleton(layout, attributes, identity)
        found = compare(layout, medium, files, repair=repair, listener=listener)
        if not repair:  # perhaps there was no lock to take
            version.still()
        return found
