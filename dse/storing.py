"""A run into a store: it begins, continues, is finished already, is extended, or starts afresh."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.growth import extend_hint, extend_store, remove_replaced, with_stored_outputs
from dse.identity import WAY_OUT, attributes_of, check_same_study, stored_identity
from dse.outcome import Outcome
from dse.rebuilding import read_identity
from sweeps.files.export import open_dataset
from sweeps.grid.grid import FEASIBLE
from sweeps.store.backend import backend_of
from sweeps.store.create import skeleton
from sweeps.store.fill import Filled, Watch, fill, finished
from sweeps.store.layout import COMPRESSIONS, Layout
from sweeps.store.lock import remove_stale_lock, write_lock
from sweeps.store.open import read_info
from symbolic.errors import DseError, OtherProcessError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData
    from sweeps.runtime.progress import Progress
    from sweeps.store.backend import StoreBackend
    from sweeps.store.fill import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """What must stand at a place in the end; ``extends`` if another study is there as yet."""

    study: StudyData
    layout: Layout
    identity: dict[str, Any]
    extends: bool

    @property
    def key(self) -> str:
        """Return the identity of the study."""
        return str(self.identity["identity"])


def run_into(
    store: str | Path,
    study: StudyData,
    *,
    listener: Callable[[Progress], None] | None,
    watch: Watch | None,
    pool: Pool | None,
    compression: str | None,
    expand: bool,
    fresh: bool,
    extend: bool,
) -> Outcome:
    """See :func:`dse.runner.run_study`."""
    backend, names = backend_of(store), study.grid().outputs

    def target() -> _Target:
        return _target(study, backend, compression, expand=expand, extend=extend)

    if not (fresh or backend.has_leftovers()):
        wanted = target()
        done = None if wanted.extends else finished(wanted.layout, backend, wanted.key)
        if done is not None:
            remove_stale_lock(backend)
            return _outcome(store, done, names)
    with ExitStack() as held:
        held.enter_context(write_lock(backend))
        kept = held.enter_context(_kept_aside(backend)) if fresh else None
        wanted = target()
        work: dict[str, Any] = {"listener": listener, "watch": watch, "pool": pool}
        if wanted.extends:
            filled = extend_store(study, backend, expand=expand, **work)
        else:
            remove_replaced(backend)
            about = attributes_of(wanted.study, expand=expand)
            files = lambda: skeleton(wanted.layout, about, wanted.identity)  # noqa: E731
            filled = fill(wanted.layout, backend, files, wanted.key, **work)
        return _outcome(store, filled, names, kept)


def _target(
    study: StudyData,
    backend: StoreBackend,
    compression: str | None,
    *,
    expand: bool,
    extend: bool,
) -> _Target:
    """Return what must stand at a place in the end; raise where what is there is in the way."""
    there = backend.exists()
    if there:
        study = with_stored_outputs(study, backend, expand=expand)
        known = _compression(backend)
        if None not in (compression, known) and compression != known:
            raise DseError(
                f"the chunks of {backend.name} are compressed by {known!r}, not {compression!r}: "
                f"give no compression to continue it, or {WAY_OUT}"
            )
        compression = known
    layout = Layout(study.grid(), expand=expand, compression=compression or COMPRESSIONS[0])
    identity, extends = stored_identity(study, layout), False
    if there:
        try:
            check_same_study(backend, identity)
        except DseError as error:
            if not extend:
                raise extend_hint(study, backend, error, expand=expand) from None
            extends = True
    return _Target(study=study, layout=layout, identity=identity, extends=extends)


def _compression(backend: StoreBackend) -> str | None:
    """Return how a store is compressed; None if it does not say so."""
    with suppress(DseError):
        known: str | None = read_identity(backend)[0].get("compression")
        return known
    return None


def _outcome(
    store: str | Path, filled: Filled, names: tuple[str, ...], kept: str | None = None
) -> Outcome:
    info = read_info(store)

    def opened() -> xr.Dataset:
        if info is not None:
            info.check_same()
        ds = open_dataset(store)
        return ds.drop_vars([name for name in ds.data_vars if name not in (*names, FEASIBLE)])

    return Outcome(
        open=opened,
        seconds=filled.seconds,
        compiling=filled.compiling,
        share=filled.share,
        tiles=(filled.computed, filled.skipped),
        feasible=filled.feasible,
        kept=kept,
        failed=filled.failed,
        barred=filled.barred,
    )


@contextmanager
def _kept_aside(backend: StoreBackend) -> Iterator[str | None]:
    """Move what is at a place out of the way; back again if no new store came to be there."""
    if not backend.exists():
        yield None
        return
    kept = backend.free_name()
    try:
        backend.move(kept)
    except OSError as error:
        raise DseError(f"{backend.name} cannot be kept aside: {error.strerror}") from error
    try:
        yield kept
    except BaseException as error:
        back = False
        if not backend.exists():
            with suppress(OSError):
                backend_of(kept).move(backend.name)
                back = True
        if not back and isinstance(error, OtherProcessError):
            raise OtherProcessError(f"{error}; what was there before is at {kept}") from error
        raise
