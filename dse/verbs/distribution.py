"""How many configurations are feasible, what values a quantity takes how often, and own folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dse.arguments import require_mapping
from dse.progress import ProgressOption, show_progress
from dse.verbs.query import resolve_source, run_query, run_query_with_identity, verb
from dse.verbs.sources import SourceLike
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.verbs.query import ScanSource
    from sweeps.grid.grid import Indexers
    from sweeps.query.distribution import AnyFold


@verb
def count(
    source: SourceLike,
    *,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """How many configurations are feasible, of how many; the grid of a study is not stored.

    Conditions over different axes are counted apart, and multiplied.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked.
    where : str or list of str
        Constraints besides those of the study or Dataset.
    per : str or list of str, optional
        Axes, or columns of measured rows, for each value of which it is asked.
    progress : bool
        Tell on standard error, after a second, for how long the count goes on.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": range(1, 10**6), "intensity": [1, 2]},
    ...               set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> int(study.count(where=["threads <= 1024", "intensity > 1"]).feasible_points)
    1024
    """
    from sweeps.query.distribution import count as count_of

    return _query_feasible("count", source, count_of, where, per, progress)


@verb
def histogram(
    source: SourceLike,
    quantity: str,
    *,
    bins: int | Sequence[float | str] = 10,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """How many feasible configurations have a quantity or formula in each of some bins.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked.
    quantity : str
        A quantity or formula.
    bins : int or sequence
        A number of equal bins from the least to the largest finite value, or their edges, numbers
        or texts with units. A bin holds its low edge, the last one both.
    where : str or list of str
        Constraints besides those of the study or Dataset.
    per : str or list of str, optional
        Axes, or columns of measured rows, for each value of which it is asked.
    progress : bool
        Tell on standard error, after a second, for how long the count goes on.

    Returns
    -------
    xarray.Dataset
        ``configurations`` along ``bin``, with the edges ``low`` and ``high``; its attributes say
        how many lie ``below`` and ``above``, and how many are no number (``undefined``).
    """
    from sweeps.query.distribution import histogram as histogram_of

    ask = partial(histogram_of, text=quantity, bins=bins)
    return _query_feasible("histogram", source, ask, where, per, progress, texts=[quantity])


@verb
def quantiles(
    source: SourceLike,
    quantity: str,
    q: float | Sequence[float],
    *,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """The least values that given shares of the feasible configurations do not exceed; exact.

    Of N values the quantile q is the least that at least q N of them do not exceed (the inverse of
    the distribution function), so that it is the value of some configuration; q = 0 is the least
    of all. The result has the dimension ``quantile``.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked.
    quantity : str
        A quantity or formula.
    q : float or sequence of float
        Shares, from 0 to 1.
    where : str or list of str
        Constraints besides those of the study or Dataset.
    per : str or list of str, optional
        Axes, or columns of measured rows, for each value of which it is asked.
    progress : bool
        Tell on standard error, after a second, for how long the count goes on.
    """
    from sweeps.query.distribution import quantiles as quantiles_of

    ask = partial(quantiles_of, text=quantity, q=q)
    return _query_feasible("quantiles", source, ask, where, per, progress, texts=[quantity])


def _query_feasible(
    verb: str,
    source: SourceLike,
    compute: Callable[..., xr.Dataset],
    where: str | Sequence[str],
    per: str | Sequence[str] | None,
    progress: ProgressOption,
    **about: Any,
) -> xr.Dataset:
    """What is asked of the feasible configurations, for each of ``per``."""
    from sweeps.grid.goals import texts_of

    texts, axes = texts_of(where, "where"), texts_of(per, "per")
    with show_progress(progress, "counting"):
        of = resolve_source(source)
        return run_query_with_identity(
            verb, of, lambda part: compute(part, per=axes), where=texts, per=axes, **about
        )


@verb
def fold(
    source: SourceLike,
    make: Callable[[], AnyFold],
    formulas: str | Sequence[str],
    *,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    progress: ProgressOption = False,
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
        ``merge(other)`` and ``answer()``; see :class:`sweeps.query.distribution.Fold`.
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
    from sweeps.cluster.scheduler import open_workers
    from sweeps.grid.dataset import assemble
    from sweeps.grid.goals import texts_of
    from sweeps.query.distribution import make_checked_fold, run_fold
    from sweeps.query.source import stack_answers

    names, axes = texts_of(formulas, "formulas"), texts_of(per, "per")
    about: dict[str, Any] = {"texts": names, "where": texts_of(where, "where"), "per": axes}

    def answer(part: ScanSource) -> Any:
        if crew is None:
            return run_fold(part, make, names).answer()
        from sweeps.cluster.scheduler import map_parts, split_longest_axis

        whole = make_checked_fold(make, names)
        dims = [axis for axis in part.values(*names).dims if axis not in part.fixed_indices]
        parts = [
            {**part.fixed_indices, **one} for one in split_longest_axis(part.sizes, dims, crew)
        ]
        for one in map_parts(crew, partial(_partial_fold, make=make, **about), of, parts):
            whole.merge(one)
        return whole.answer()

    def answer_dataset(part: ScanSource) -> xr.Dataset:
        told = answer(part)
        return told if hasattr(told, "data_vars") else assemble({"answer": ((), told)}, {}, {})

    def compute(whole: ScanSource) -> Any:
        if not axes:
            return answer(whole)
        result = stack_answers(whole, axes, answer_dataset)
        return result.get("answer", result)

    with show_progress(progress, "folding"), open_workers(client, workers) as crew:
        of = resolve_source(source)
        return run_query("fold", of, compute, **about)


def _partial_fold(
    source: Any, part: Indexers, *, make: Callable[[], AnyFold], texts: Sequence[str], **about: Any
) -> AnyFold:
    """A fold that has seen a part of what is asked."""
    from sweeps.query.distribution import run_fold

    of = resolve_source(source)
    return run_query(
        "fold", of, lambda whole: run_fold(whole, make, texts, part), texts=texts, **about
    )


# --- What moves a quantity: the shares of its variance, or its slopes, by input
@verb
def sensitivity(
    source: SourceLike,
    output: str | Sequence[str] | None = None,
    *,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """How much of an output's variance each axis explains, curves of its mean, and elasticities.

    The indices of Sobol are exact for the grid: every point that counts weighs the same, and the
    whole grid is looked at, in blocks, so that it need not fit into memory. Points that break a
    rule or constraint or have no number do not count.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What was or is to be computed, or measurements over a grid.
    output : str or list of str, optional
        Quantities or formulas; every output that is a number and varies where None.
    where : str or list of str
        Constraints besides those of the study or Dataset.
    per : str or list of str, optional
        Axes for each value of which the others are looked at.
    at : mapping, optional
        The configuration of the elasticities, a value for each axis; axes left out stand at the
        middle one of their values, or at the nearest configuration that counts.
    progress : bool
        Tell on standard error, after a second, for how long the work goes on.

    Returns
    -------
    xarray.Dataset
        Over ``output`` and ``axis``: ``first``, the share of the variance that an axis explains
        alone; ``total``, the share left where all other axes are known, interactions included;
        ``low`` and ``high``, the least and the largest mean along the axis. ``over_<axis>``: that
        mean at each value. Over ``output``: ``mean``, ``std``, ``counted`` of ``points``, and
        ``value`` at the configuration. Over ``output`` and ``input``: ``elasticity``,
        d log(output) / d log(input), by steps on the graph for each number that the model uses, or
        between the neighbours on each axis for a Dataset; ``elasticity_down`` and
        ``elasticity_up`` to either side: at the border of a regime they differ, and there is no
        ``elasticity``.

    Raises
    ------
    DseError
        An unknown output, one that is no number, one that is the same at all points, no point that
        counts.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024], "intensity": [10, 20]},
    ...               set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> found = study.sensitivity(output="cs_throughput")
    >>> found.total.sel(output="cs_throughput").values.round(3).tolist()
    [0.525, 0.528]
    """
    from dse.sensitivity_analysis import analyse, read_analysis_source
    from sweeps.grid.goals import texts_of
    from sweeps.query.source import stack_answers

    point = require_mapping(at)
    texts = None if output is None else texts_of(output, "output")
    if texts == ():
        raise DseError("output is empty: name a quantity, or leave it out for all outputs")
    conditions, axes = texts_of(where, "where"), texts_of(per, "per")
    with show_progress(progress, "looking at every point"):
        of = resolve_source(source)

        def compute(part: ScanSource) -> xr.Dataset:
            place = dict(part.fixed_indices)
            result = analyse(read_analysis_source(of, texts, conditions, point, place))
            here = [str(axis) for axis in result.axis.values if axis in place]
            return result.drop_sel(axis=here).drop_vars([*here, *(f"over_{a}" for a in here)])

        about: dict[str, Any] = {"texts": texts or (), "where": conditions, "per": axes}
        return run_query_with_identity(
            "sensitivity", of, lambda whole: stack_answers(whole, axes, compute), **about
        )
