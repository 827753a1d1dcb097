"""Running what a study, or several models compared, are made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.answers import warn_of
from dse.progress import Shown
from dse.study.comparison import ComparisonData, joined_runs
from dse.study.data import StudyData
from dse.verbs.sources import Askable, with_file_read
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr


def run(
    source: Askable,
    *,
    store: str | Path | None = None,
    expand: bool = False,
    progress: Shown = False,
    fresh: bool = False,
    client: Any = None,
    workers: int | None = None,
    extend: bool = False,
    compression: str | None = None,
) -> xr.Dataset:
    """Compute every output over the axes on which it depends.

    Parameters
    ----------
    source : Study, Comparison or path
        What is run. The outputs that all models compared yield lie along the dimension ``model``;
        such a run is kept in memory. Where the models mean different things by the values of a
        case or bound, the meanings stand in the attributes ``flag_values_by_model`` and
        ``flag_meanings_by_model``.
    store : path or URL, optional
        The zarr store to write: a folder, or what fsspec reaches (``s3://``, ``memory://``).
        What it holds of this study is kept and what is missing computed, tile by tile, so that
        the same call continues a run that was stopped. Memory does not grow with the grid.
    expand : bool
        Store every output over all axes.
    progress : bool or callable
        True shows progress on standard error once a run takes longer than a second; a callable
        is given a :class:`sweeps.runtime.progress.Progress` after each tile.
    fresh : bool
        With ``store``: keep an existing store aside and compute anew.
    client : distributed.Client or str, optional
        With ``store``: a cluster of dask.distributed, or the address of its scheduler, whose
        workers compute the tiles and write them; by default threads of this process do.
    workers : int, optional
        With ``store``: so many processes of this machine instead, which end with the run. Call
        it under ``if __name__ == "__main__":``, as with any module that starts processes.
    extend : bool
        With ``store``: where it is the finished store of this study with fewer values along its
        axes, or fewer outputs, take over what it holds and compute only what is new.
    compression : str, optional
        With ``store``: ``"lz4"``, that of a new store, or ``"none"``; where one is, it stays.

    Returns
    -------
    xarray.Dataset
        Each axis a dimension coordinate; cases as small integers with their meanings;
        ``feasible`` where a rule or constraint applies. That of a store is read when needed.
    """
    from dse.runner import run_study

    whole: dict[str, Any] = {"expand": expand, "progress": progress}
    of_store: dict[str, Any] = {"store": store, "fresh": fresh, "client": client}
    of_store |= {"workers": workers, "extend": extend, "compression": compression}
    of = with_file_read(source)
    if isinstance(of, ComparisonData):
        _only_without_store(**of_store)
        runs = {model: run(study, **whole) for model, study in of.each.items()}
        return joined_runs(runs, of.outputs)
    if not isinstance(of, StudyData):
        raise DseError(f"{of!r} cannot be run: give a Study, or the path of a study file (.toml)")
    done = run_study(of, **whole, **of_store)
    if done.failed:
        warn_of(done.failed)
    return done.open()


def lazy(source: Any, chunks: Any = None, *, expand: bool = False) -> xr.Dataset:
    """Return the Dataset of a study with lazy Dask arrays, whose blocks are computed when read.

    Whatever xarray does with such arrays works: ``.sel(...).compute()``, ``.to_zarr(...)``, a
    ``distributed.Client``. The values are those of :func:`dse.run`.

    Parameters
    ----------
    source : Study, Comparison or path
        What is computed.
    chunks : int, "auto" or mapping, optional
        Sizes of the blocks, for all axes or by axis, as :meth:`xarray.Dataset.chunk` takes them; an
        axis that a mapping does not name is not cut. By default those of a store.
    expand : bool
        Put every output over all axes.

    Raises
    ------
    DseError
        Sizes of blocks that do not fit the axes.
    """
    from dse.identity import attributes_of
    from sweeps.files.lazy_outputs import lazy_dataset

    of = with_file_read(source)
    if isinstance(of, ComparisonData):
        runs = {model: lazy(study, chunks, expand=expand) for model, study in of.each.items()}
        return joined_runs(runs, of.outputs)
    attributes = attributes_of(of, expand=expand)
    return lazy_dataset(of.grid(), attributes, chunks=chunks, expand=expand)


def _only_without_store(**asked: Any) -> None:
    """Refuse, of models compared, what a run into a store is asked."""
    if wrong := [name for name, value in asked.items() if value]:
        raise DseError(
            f"{', '.join(wrong)}: the run of several models is kept in memory; dse.export writes "
            "its Dataset, or run each model into a store of its own"
        )
