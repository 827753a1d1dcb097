"""Stores that grow: further values along the axes of a finished study, further outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dse.given import a_place, some_outputs
from dse.identity import attributes_of, belongs, check_storable, stored_identity
from dse.progress import Shown, heard
from dse.rebuilding import axis_of, missing, rebuilt, told
from dse.study.data import StudyData
from symbolic.errors import DseError
from symbolic.json_text import read_json

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.runtime.progress import Progress
    from sweeps.store.fill import Filled
    from sweeps.store.medium import Medium

__all__ = ["add", "grow", "refused", "smaller", "widened"]

Listener = Callable[["Progress"], None]


def widened(study: StudyData, medium: Medium, *, expand: bool) -> StudyData:
    """The study with all outputs of its store, where that holds more of them; else as it is."""
    held = _outputs(medium)
    if not set(study.grid().outputs) < set(held) and (
        set(study.grid().outputs) != set(held) or tuple(held) == study.grid().outputs
    ):
        return study
    with suppress(DseError):
        more = replace(study, outputs=tuple(held), best=None)
        if _is_of(medium, more, expand=expand):
            return more
    return study


def smaller(study: StudyData, medium: Medium, *, expand: bool) -> StudyData | None:
    """The study of a store whose axes a study extends, or to whose outputs it adds; else None."""
    with suppress(DseError, ValueError, KeyError, TypeError, OSError):
        there = read_json(told(medium)[0]["study"])
        axes = {name: axis_of(medium, name, spec) for name, spec in there["axes"].items()}
        if list(axes) != list(study.grid().axes):
            return None
        found = replace(study, axes=axes, outputs=tuple(there["outputs"]), best=None)
        if _is_of(medium, found, expand=expand) and _within(found, study):
            return found
    return None


def refused(study: StudyData, medium: Medium, error: DseError, *, expand: bool) -> DseError:
    """Why a store is not that of a study; where the study extends it, with that way out."""
    if smaller(study, medium, expand=expand) is None:
        return error
    return DseError(f"{error}; or give extend=True (--extend) to compute only what is new")


def _within(small: StudyData, large: StudyData) -> bool:
    """Whether the axes of a study hold all values of those of another."""
    from sweeps.store.growth import places_of

    pairs = zip(large.grid().axes.values(), small.grid().axes.values(), strict=True)
    return all((places_of(new, old) >= 0).sum() == old.size for new, old in pairs)


def _outputs(medium: Medium) -> Sequence[str]:
    with suppress(DseError, ValueError, KeyError, TypeError):
        return list(read_json(told(medium)[0]["study"])["outputs"])
    return []


def _is_of(medium: Medium, study: StudyData, *, expand: bool) -> bool:
    from sweeps.store.layout import Layout

    tree, _ = told(medium)
    ours = stored_identity(study, Layout(study.grid(), expand=expand))
    return all(tree.get(key) == ours[key] for key in ("identity", "chunks"))


def grow(
    study: StudyData,
    medium: Medium,
    held: ExitStack,
    *,
    expand: bool,
    listener: Listener | None = None,
) -> Filled | None:
    """Make a finished store that of a larger study; only what is new is computed.

    The larger one is built beside it, of what it holds and of the rest, and takes its place when it
    is whole; the same call continues where it was stopped. Who calls has claimed the place; the
    claim of what comes to stand there is ``held``.

    Raises
    ------
    DseError
        The store is not finished, or of a study that this one does not extend.
    """
    from sweeps.store.fill import fill
    from sweeps.store.growth import Growing, Growth
    from sweeps.store.layout import Layout
    from sweeps.store.medium import medium_of
    from sweeps.store.reader import Stored, is_finished
    from sweeps.store.skeleton import compression_of, skeleton
    from sweeps.store.swap import take_place
    from sweeps.store.versions import Version

    layout = Layout(study.grid(), expand=expand, compression=compression_of(medium))
    identity = stored_identity(study, layout)
    before = smaller(study, medium, expand=expand)
    if before is None:
        belongs(medium, identity)  # names the difference
        return None
    more = set(before.grid().outputs) - set(study.grid().outputs)
    if more:
        study = replace(study, outputs=(*study.grid().outputs, *sorted(more)), best=None)
        return grow(study, medium, held, expand=expand, listener=listener)
    version = Version(medium.name)
    held.enter_context(medium.exchanging())
    version.still()
    beside = medium_of(medium.beside())
    if beside.exists() and not _is_of_safely(beside, study, expand=expand):
        beside.remove()
    if not is_finished(medium.name):
        raise DseError(f"{medium.name} is no store of a run")
    held.enter_context(beside.claim())
    growth = Growth(layout, Layout(before.grid(), expand=expand), Stored(medium.name))
    filled = fill(
        layout,
        beside,
        lambda: skeleton(layout, attributes_of(study, expand=expand), identity),
        listener=listener,
        crew=Growing(growth),
    )
    if filled.failed:
        first = filled.failed[0]
        raise DseError(
            f"{medium.name} stays as it is: {len(filled.failed):,} tiles of the larger study "
            f"failed, the first at {first}"
        )
    take_place(beside, medium)
    return filled


def _is_of_safely(medium: Medium, study: StudyData, *, expand: bool) -> bool:
    with suppress(DseError):
        return _is_of(medium, study, expand=expand)
    return False


def add(
    store: str | Path,
    outputs: str | Sequence[str],
    *,
    study: StudyData | str | Path | None = None,
    progress: Shown = False,
) -> xr.Dataset:
    """Add quantities to a finished store; the graph computes them from the axes.

    What is stored stays as it is, chunk by chunk; nothing of it is computed again. Then the store
    is that of the study with these outputs too, and a run of the study without them still finds its
    own there. A call that was stopped is continued by the same call.

    Parameters
    ----------
    store : path or URL
        The store of a run.
    outputs : str or sequence of str
        Quantities of its model.
    study : Study or path, optional
        Whose store it is; by default it is told by the store itself.
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
    from sweeps.store.medium import medium_of
    from sweeps.store.swap import begun, claimed

    medium = medium_of(a_place(store))
    if not (medium.exists() or begun(medium)):
        raise missing(store)
    with ExitStack() as held:
        listener = held.enter_context(heard(progress))
        held.enter_context(claimed(medium))
        whole, expand = rebuilt(store, study=study)
        names = some_outputs(outputs)
        more = tuple(name for name in names if name not in whole.grid().outputs)
        if more:
            larger = replace(whole, outputs=(*whole.grid().outputs, *more), best=None)
            check_storable(larger)
            grow(larger, medium, held, expand=expand, listener=listener)
        return open_dataset(store)
