"""A question of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dse.progress import Shown, shown
from dse.verbs.query import resolve_source, run_query
from dse.verbs.registry import verb
from dse.verbs.sources import Askable

if TYPE_CHECKING:
    import xarray as xr

    from dse.verbs.query import Source
    from sweeps.ask.spread import AnyFold
    from sweeps.grid.at import At


@verb
def fold(
    source: Askable,
    make: Callable[[], AnyFold],
    formulas: str | Sequence[str],
    *,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    progress: Shown = False,
    client: Any = None,
    workers: int | None = None,
) -> Any:
    """A question of your own: what a fold keeps of the feasible configurations, all passing by.

    Nothing is stored; of a grid threads each feed a fold of their own, and so do the workers of a
    cluster, each of a part along the longest axis; these are merged in the order of the axes.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked.
    make : callable
        Makes a fold that has seen nothing: an object with ``feed(values, weight)``,
        ``merge(other)`` and ``answer()``; see :class:`sweeps.ask.spread.Fold`.
    formulas : str or list of str
        Quantities or formulas: ``values`` has a row for each, of shape (formulas, configurations);
        each column stands for ``weight`` configurations.
    where : str or list of str
        Constraints besides those of the study or Dataset.
    per : str or list of str, optional
        Axes, or columns of measured rows, for each value of which a fold answers.
    progress : bool or callable
        As of :func:`optimum`.
    client : distributed.Client or str, optional
        A cluster of dask.distributed, or the address of its scheduler, whose workers feed the
        folds. They see the files that a study names, and the store.
    workers : int, optional
        So many processes of this machine instead, which end with the question; as of :func:`run`.

    Returns
    -------
    object
        What ``answer()`` gives; with ``per``, a DataArray of numbers along these axes, or a
        Dataset of Datasets.

    >>> from dse import Study
    >>> class Mean:
    ...     total, count = 0.0, 0
    ...     def feed(self, values, weight):
    ...         self.total += weight * values[0].sum()
    ...         self.count += weight * values[0].size
    ...     def merge(self, other):
    ...         self.total, self.count = self.total + other.total, self.count + other.count
    ...     def answer(self):
    ...         return self.total / self.count
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024], "intensity": [10, 20]},
    ...               set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> float(study.fold(Mean, "cs_throughput").round(3))
    11.227
    >>> fold(study.run(), Mean, "cs_throughput", per="intensity").values.round(3).tolist()
    [7.53, 14.925]
    """
    from sweeps.ask.source import for_each
    from sweeps.ask.spread import checked, folded
    from sweeps.cluster.scheduler import opened
    from sweeps.grid.dataset import assemble
    from sweeps.grid.goals import texts_of

    names, axes = texts_of(formulas, "formulas"), texts_of(per, "per")
    about: dict[str, Any] = {"texts": names, "where": texts_of(where, "where"), "per": axes}

    def answer(part: Source) -> Any:
        if crew is None:
            return folded(part, make, names).answer()
        from sweeps.cluster.scheduler import parts_of, shared

        whole = checked(make, names)
        dims = [axis for axis in part.values(*names).dims if axis not in part.at]
        parts = [{**part.at, **one} for one in parts_of(part.sizes, dims, crew)]
        for one in shared(crew, partial(_share, make=make, **about), of, parts):
            whole.merge(one)
        return whole.answer()

    def labelled(part: Source) -> xr.Dataset:
        told = answer(part)
        return told if hasattr(told, "data_vars") else assemble({"answer": ((), told)}, {}, {})

    def ask(whole: Source) -> Any:
        if not axes:
            return answer(whole)
        found = for_each(whole, axes, labelled)
        return found.get("answer", found)

    with shown(progress, "folding"), opened(client, workers) as crew:
        of = resolve_source(source)
        return run_query("fold", of, ask, **about)


def _share(
    source: Any, at: At, *, make: Callable[[], AnyFold], texts: Sequence[str], **about: Any
) -> AnyFold:
    """A fold that has seen a part of what is asked."""
    from sweeps.ask.spread import folded

    of = resolve_source(source)
    return run_query("fold", of, lambda whole: folded(whole, make, texts, at), texts=texts, **about)
