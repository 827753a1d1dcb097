"""Run a study in memory or into a store; a run into a store can be interrupted and continued."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.runs.identity import check_storable, dataset_attributes
from sweeps.nest.run import compute
from sweeps.runtime.progress import Outcome, Progress
from symbolic.errors import DseError

if TYPE_CHECKING:
    from dse.study.study import StudyData
    from sweeps.store.fill import WatchedOutput


def _check_store_name(store: str | Path) -> str | Path:
    if not str(store).rstrip("/").endswith(".zarr") or Path(str(store)).name == ".zarr":
        raise DseError(f"store = {str(store)!r}: expected a name that ends in .zarr")
    if os.name != "nt" and "\\" in str(store):
        raise DseError(
            f"store = {str(store)!r} is a Windows path: separate its parts by '/' on this system"
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
    watch: WatchedOutput | None = None,
) -> Outcome:
    """Run a study; see :func:`dse.run`. Progress reports include the best value of ``watch``."""
    from dse.progress import progress_listener
    from sweeps.store.layout import COMPRESSIONS

    options: dict[str, Any] = {"fresh": fresh, "extend": extend, "compression": compression}
    for name, value in {"client": client, "workers": workers, **options}.items():
        if store is None and value is not None and value is not False:
            way = "give store='OUT.zarr' (--store)"
            raise DseError(f"{name} needs a store, and none is given: {way}")
    if compression is not None and compression not in COMPRESSIONS:
        known = " or ".join(map(repr, COMPRESSIONS))
        raise DseError(f"compression = {compression!r}: expected {known}")
    study.check_outputs()
    with progress_listener(progress) as listener:
        if store is None:
            return _run_in_memory(study, expand, listener)
        from dse.runs.store import run_into_store
        from sweeps.cluster.scheduler import open_workers

        check_storable(study)
        with open_workers(client, workers) as pool:
            options |= {"expand": expand, "watch": watch, "pool": pool, "listener": listener}
            return run_into_store(_check_store_name(store), study, **options)


def _run_in_memory(
    study: StudyData, expand: bool, listener: Callable[[Progress], None] | None
) -> Outcome:
    from sweeps.grid.dataset import grid_dataset
    from sweeps.grid.failures import failures_of

    last = [Progress(done=0, total=0, elapsed=0.0)]

    def record_progress(now: Progress) -> None:
        last[:] = [now]
        if listener is not None:
            listener(now)

    arrays = compute(study.grid(), expand=expand, listener=record_progress)
    ds = grid_dataset(study.grid(), arrays, dataset_attributes(study, expand=expand))
    (now,) = last
    return Outcome(
        open_dataset=lambda: ds,
        seconds=now.elapsed - now.compiling,
        compiling=now.compiling,
        failures=failures_of(study.grid(), study.grid().outputs),
        infeasible=now.infeasible,
    )
