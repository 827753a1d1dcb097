"""Define the verbs on distributions of values: count, histogram, quantiles, fold, sensitivity."""

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
    """Count the feasible configurations, without storing the grid of a study.

    Conditions that share no axis are counted separately, and the counts are multiplied.

    The parameters are those of :func:`optimum`.

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
    """Count the feasible configurations in each bin of a quantity or formula.

    Parameters:
        quantity (str): A quantity or formula.
        bins (int or sequence): Number of bins of equal width between the smallest and largest
            finite value; or the edges of the bins, as numbers or texts with units. A bin includes
            its lower edge; the last bin also includes its upper edge.
        source, where, per, progress: See :func:`optimum`.

    Returns:
        xarray.Dataset: ``configurations`` along ``bin``, with the edges ``low`` and ``high``; the
        attributes ``below``, ``above`` and ``undefined`` count values outside the bins and NaN.
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
    """Compute exact quantiles of a quantity over all feasible configurations.

    The quantile q of N values is the smallest value x such that at least q N values are <= x (the
    inverse of the distribution function). It is the value of some configuration; q = 0 gives the
    minimum. The result has the dimension ``quantile``.

    Parameters:
        quantity (str): A quantity or formula.
        q (float or sequence of float): Levels from 0 to 1.
        source, where, per, progress: See :func:`optimum`.
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
    """Apply ``compute`` to the feasible configurations, separately for each value of ``per``."""
    from sweeps.grid.goals import texts_of

    texts, axes = texts_of(where, "where"), texts_of(per, "per")
    with show_progress(progress, "counting"):
        ask, data = partial(compute, per=axes), resolve_source(source)
        return run_query_with_identity(verb, data, ask, where=texts, per=axes, **about)


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
    """Aggregate all feasible configurations by a fold that you define.

    Nothing is stored. Each thread, or each worker of a cluster, has a separate fold and feeds it
    with a part of the longest axis; then the folds are merged in the order of the axis.

    Parameters:
        make (callable): Function that returns an empty fold: an object with ``feed(values,
            weight)``, ``merge(other)`` and ``answer()``; see
            :class:`sweeps.query.distribution.Fold`.
        formulas (str or list of str): Quantities or formulas. The array ``values`` has the shape
            (formulas, configurations); each of its columns represents ``weight`` configurations.
        source, where, per, progress: See :func:`optimum`; ``progress`` may be a callable.
        client (distributed.Client or str, optional): A dask.distributed cluster, or the address of
            its scheduler. Its workers feed the folds; they must see the files that the study names,
            and the store.
        workers (int, optional): Number of local processes that feed the folds; they end with the
            query. See :func:`run`.

    Returns:
        object: The result of ``answer()``. With ``per``, the results along these axes: a DataArray
        if they are numbers, a Dataset if they are Datasets.

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
        fixed = part.fixed_indices
        dims = [axis for axis in part.values(*names).dims if axis not in fixed]
        parts = [{**fixed, **cut} for cut in split_longest_axis(part.sizes, dims, crew)]
        for fed in map_parts(crew, partial(_partial_fold, make=make, **about), data, parts):
            whole.merge(fed)
        return whole.answer()

    def answer_dataset(part: ScanSource) -> xr.Dataset:
        value = answer(part)
        return value if hasattr(value, "data_vars") else assemble({"answer": ((), value)}, {}, {})

    def compute(whole: ScanSource) -> Any:
        if not axes:
            return answer(whole)
        result = stack_answers(whole, axes, answer_dataset)
        return result.get("answer", result)

    with show_progress(progress, "folding"), open_workers(client, workers) as crew:
        data = resolve_source(source)
        return run_query("fold", data, compute, **about)


def _partial_fold(
    source: Any, part: Indexers, *, make: Callable[[], AnyFold], texts: Sequence[str], **about: Any
) -> AnyFold:
    """Feed a new fold with one part of the grid, and return the fold."""
    from sweeps.query.distribution import run_fold

    def compute(whole: ScanSource) -> AnyFold:
        return run_fold(whole, make, texts, part)

    return run_query("fold", resolve_source(source), compute, texts=texts, **about)


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
    """Decompose the variance of outputs by axis (Sobol indices), and compute elasticities.

    The indices are exact for the grid: all feasible points with finite values are evaluated, with
    equal weights. They are evaluated in blocks, so the grid may exceed memory.

    Parameters:
        source (Study, Comparison, Dataset or path): A study, a run, or measurements over a grid.
        output (str or list of str, optional): Quantities or formulas; default: every output that is
            a number and varies.
        per (str or list of str, optional): Axes; the analysis over the other axes is made
            separately for each of their values.
        at (mapping, optional): The configuration at which elasticities are computed, one value for
            each axis; default: the middle value of each axis, or the nearest configuration that is
            feasible and finite.
        where, progress: See :func:`optimum`.

    Returns:
        xarray.Dataset: Over ``output`` and ``axis``: ``first`` is the share of the variance that
        the axis explains alone; ``total`` is the share that remains if all other axes are known,
        which includes interactions; ``low`` and ``high`` are the smallest and largest mean along
        the axis, and ``over_<axis>`` is the mean at each value. Over ``output``: ``mean``, ``std``,
        ``counted`` (of ``points``), and ``value`` at the configuration. Over ``output`` and
        ``input``: ``elasticity``, d log(output) / d log(input). It is computed by small steps of
        each input of the model, with its laws and tables; for a Dataset, between neighbours along
        each axis. ``elasticity_down`` and ``elasticity_up`` are one-sided. If they differ, at the
        border of a regime, ``elasticity`` is NaN.

    Raises:
        DseError: An output is unknown, is not a number, or is constant; or no point is feasible and
            finite.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024], "intensity": [10, 20]},
    ...               set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> shares = study.sensitivity(output="cs_throughput")
    >>> shares.total.sel(output="cs_throughput").values.round(3).tolist()
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
    with show_progress(progress, "evaluating every point"):
        data = resolve_source(source)

        def compute(part: ScanSource) -> xr.Dataset:
            fixed = dict(part.fixed_indices)
            result = analyse(read_analysis_source(data, texts, conditions, point, fixed))
            drop = [str(axis) for axis in result.axis.values if axis in fixed]
            return result.drop_sel(axis=drop).drop_vars([*drop, *(f"over_{a}" for a in drop)])

        about: dict[str, Any] = {"texts": texts or (), "where": conditions, "per": axes}
        return run_query_with_identity(
            "sensitivity", data, lambda whole: stack_answers(whole, axes, compute), **about
        )
