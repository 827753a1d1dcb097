"""Running a study: in memory, or into a store that continues where it was left."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.given import of_a_store
from dse.identity import attributes_of, check_storable
from sweeps.nest.run import compute
from sweeps.runtime.progress import Outcome, Progress
from symbolic.errors import DseError

if TYPE_CHECKING:
    from dse.study.data import StudyData
    from sweeps.store.fill import Watch


def _ending(store: str | Path) -> str | Path:
    """The place of a store, whose name must end in .zarr."""
    if not str(store).rstrip("/").endswith(".zarr") or Path(str(store)).name == ".zarr":
        raise DseError(f"store = {str(store)!r}: expected a name that ends in .zarr")
    if os.name != "nt" and "\\" in str(store):
        raise DseError(
            f"store = {str(store)!r} is a path of Windows, and this is none: parts of a path are "
            "separated by '/' here"
        )
    return store


def run_study(
    study: StudyData,
    *,
    store: str | Path | None = None,
    expand: bool = False,
    progress: bool | Callable[[Progress], None] = False,
    fresh: bool = False,
    client: Any = None,
    workers: int | None = None,
    extend: bool = False,
    compression: str | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """See :func:`dse.run`; ``watch`` is whose best value the progress tells."""
    flags: dict[str, Any] = {"expand": expand, "fresh": fresh, "extend": extend}
    of_a_store(store, client=client, workers=workers, **flags)
    from dse.progress import heard

    _compressible(compression, store)
    with heard(progress) as listener:
        if store is None:
            return _in_memory(study, expand, listener)
        from dse.storing import run_into
        from sweeps.cluster.scheduler import opened

        check_storable(study)
        with opened(client, workers) as pool:
            about = {"watch": watch, "pool": pool, "compression": compression, **flags}
            return run_into(_ending(store), study, listener=listener, **about)


def _compressible(compression: str | None, store: str | Path | None) -> None:
    from sweeps.store.layout import COMPRESSIONS

    if compression is not None and compression not in COMPRESSIONS:
        known = " or ".join(map(repr, COMPRESSIONS))
        raise DseError(f"compression = {compression!r}: expected {known}")
    if compression is not None and store is None:
        raise DseError(
            "only a store is compressed, and none is given: give store='OUT.zarr' (--store)"
        )


def _in_memory(
    study: StudyData, expand: bool, listener: Callable[[Progress], None] | None
) -> Outcome:
    from sweeps.grid.dataset import label
    from sweeps.grid.failing import failures_of

    last = [Progress(done=0, total=0, elapsed=0.0)]

    def heard(now: Progress) -> None:
        last[:] = [now]
        if listener is not None:
            listener(now)

    arrays = compute(study.grid(), expand=expand, listener=heard)
    ds = label(study.grid(), arrays, attributes_of(study, expand=expand))
    (now,) = last
    return Outcome(
        open=lambda: ds,
        seconds=now.elapsed - now.compiling,
        compiling=now.compiling,
        failed=failures_of(study.grid(), study.grid().outputs),
        barred=now.barred,
    )
