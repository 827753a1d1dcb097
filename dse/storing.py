"""A run into a store: one that begins, continues, is finished already, grows, or starts afresh.

Whose store stands at a place is decided once the place is claimed. Only what is finished is looked
at without: nothing is written then, and it is one and the same store throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.growth import grow, refused, widened
from dse.identity import WAY_OUT, attributes_of, belongs, stored_identity
from dse.outcome import Outcome
from sweeps.files.export import open_dataset
from sweeps.grid.grid import FEASIBLE
from sweeps.store.fill import Filled, Watch, fill, finished
from sweeps.store.layout import COMPRESSIONS, Layout
from sweeps.store.medium import medium_of
from sweeps.store.skeleton import compression_of, skeleton
from sweeps.store.swap import begun, claimed
from sweeps.store.versions import Version, steady
from symbolic.errors import DseError, OtherProcessError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData
    from sweeps.runtime.progress import Progress
    from sweeps.store.crew import Crew
    from sweeps.store.medium import Medium

__all__ = ["run_into"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """What must stand at a place, in the end; ``grows`` where that is another study as yet."""

    study: StudyData
    layout: Layout
    identity: dict[str, Any]
    grows: bool


def run_into(
    store: str | Path,
    study: StudyData,
    *,
    listener: Callable[[Progress], None] | None,
    watch: Watch | None,
    crew: Crew | None,
    compression: str | None,
    expand: bool,
    fresh: bool,
    extend: bool,
) -> Outcome:
    """See :func:`dse.runner.run_study`."""
    medium, names = medium_of(store), study.grid().outputs

    def target() -> _Target:
        return _target(study, medium, compression, expand=expand, extend=extend)

    def as_it_is() -> Outcome | None:
        if begun(medium):
            return None
        wanted = target()
        filled = None if wanted.grows else finished(wanted.layout, medium)
        return None if filled is None else _outcome(store, filled, names)

    if not fresh and (found := steady(medium, as_it_is)) is not None:
        return found
    with ExitStack() as held:
        held.enter_context(claimed(medium))
        kept = held.enter_context(_kept_aside(medium)) if fresh else None
        wanted, filled = target(), None
        if wanted.grows:
            filled = grow(study, medium, held, expand=expand, listener=listener)
        filled = filled or fill(
            wanted.layout,
            medium,
            lambda: skeleton(
                wanted.layout, attributes_of(wanted.study, expand=expand), wanted.identity
            ),
            listener=listener,
            watch=watch,
            crew=crew,
        )
        return _outcome(store, filled, names, kept)


def _target(
    study: StudyData, medium: Medium, compression: str | None, *, expand: bool, extend: bool
) -> _Target:
    """What must stand at a place in the end; raises where what is there is in the way."""
    there = medium.exists()
    if there:
        study = widened(study, medium, expand=expand)
        known = compression_of(medium)
        if compression not in (None, known):
            raise DseError(
                f"the chunks of {medium.name} are compressed by {known!r}, not {compression!r}: "
                f"give no compression to continue it, or {WAY_OUT}"
            )
        compression = known
    layout = Layout(study.grid(), expand=expand, compression=compression or COMPRESSIONS[0])
    identity, grows = stored_identity(study, layout), False
    if there:
        try:
            belongs(medium, identity)
        except DseError as error:
            if not extend:
                raise refused(study, medium, error, expand=expand) from None
            grows = True
    return _Target(study=study, layout=layout, identity=identity, grows=grows)


def _outcome(
    store: str | Path, filled: Filled, names: tuple[str, ...], kept: str | None = None
) -> Outcome:
    version = Version(str(store))

    def opened() -> xr.Dataset:
        ds = open_dataset(version.place, version)
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
def _kept_aside(medium: Medium) -> Iterator[str | None]:
    """What is at a place out of the way; back again where nothing new came to be there."""
    if not medium.exists():
        yield None
        return
    kept = medium.aside()
    try:
        with medium.exchanging():
            medium.move(kept)
    except OSError as error:
        raise DseError(f"{medium.name} cannot be kept aside: {error.strerror}") from error
    try:
        with claimed(medium):
            yield kept
    except BaseException as error:
        back = False
        if not medium.exists():
            with suppress(OSError):
                medium_of(kept).move(medium.name)
                back = True
        if not back and isinstance(error, OtherProcessError):
            raise OtherProcessError(f"{error}; what was there before is at {kept}") from error
        raise
