"""The best configurations, and those that no other beats in every objective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dse.progress import ProgressOption, show_progress
from dse.study.study import StudyData
from dse.verbs.query import resolve_source, run_query_with_identity, verb
from dse.verbs.sources import SourceLike
from sweeps.runtime.interrupts import time_limited
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.verbs.query import ScanSource


# --- The best configurations
@verb
def optimum(
    source: SourceLike,
    *,
    minimize: str | Sequence[str] | None = None,
    maximize: str | Sequence[str] | None = None,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    top: int = 1,
    ties: bool = False,
    within: float | None = None,
    method: str = "auto",
    time_limit: float | None = None,
    gap: float | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """The best configurations: of a study, whose grid is not stored, or of a Dataset.

    Points that are not feasible, and NaN, are never an optimum. For a finished store, given by its
    path or as :func:`open` and :func:`run` give it, its study answers, and nothing is read; if its
    model is not at hand or has changed, the stored values are scanned.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked: ``method="certified"``, ``time_limit`` and ``gap`` are of a study alone, or
        of the store of one.
    minimize, maximize : str or list of str
        A quantity or formula; or several in one list, in order of priority: each decides among
        what is best by those before. A minus turns the direction of one (``"-throughput"``).
    where : str or list of str
        Constraints besides those of the study or Dataset.
    per : str or list of str, optional
        Axes, or columns of measured rows, for each value of which winners are wanted. Where one
        has fewer than another, NaN, -1, False or an empty label stands.
    top : int
        How many, best first (dimension ``rank``); ties go to the lowest index in axis order. Of
        several objectives only configurations count of which all are numbers.
    ties : bool
        Give all configurations that are as good as the best one (dimension ``tie``), or as the
        last of ``top``.
    within : float, optional
        Give all configurations that are off the best by at most this share of it, best first
        (dimension ``rank``): 0.01 for 1 %. The attribute ``configurations`` counts them. Of several
        objectives the last is meant, among what is best by those before; ``top`` gives the first
        of them.
    method : {"auto", "scan", "certified"}
        A scan of the whole grid, or a search with a proof that nothing is better; "auto" scans
        small grids. The attribute ``method`` says which, and a certified answer's attributes
        ``bound`` and ``gap`` what is proven (``sweeps.sources.grid_proof.GridProof.result_attributes``).
    time_limit, gap : float, optional
        Of a certified optimum: seconds, and the share by which the answer may miss the best (0).
    progress : bool
        Tell on standard error, after a second, for how long the search goes on.

    Raises
    ------
    sweeps.runtime.interrupts.Interrupted
        It was interrupted, once (a ``KeyboardInterrupt``): its attribute ``best`` is the answer so
        far, as if the time had been up.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 1024, 512]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> best_config(study.optimum(maximize="cs_throughput"))["threads"]
    1024
    >>> best_config(optimum(study.run(), maximize="cs_throughput"))["threads"]
    1024
    """
    from sweeps.grid.goals import goals_in_order, texts_of
    from sweeps.query.source import build_query

    goals, texts = goals_in_order(minimize, maximize), texts_of(where, "where")
    axes = texts_of(per, "per")
    asked: dict[str, Any] = {"top": top, "ties": ties, "within": within, "method": method}
    asked |= {"time_limit": time_limit, "gap": gap}
    given = {"top": top != 1, "ties": ties, "within": within is not None}
    given |= {"objectives": len(goals) > 1, "method": method not in ("auto", "scan")}
    given |= {"time_limit": time_limit is not None, "gap": gap is not None}

    def compute(source: ScanSource) -> xr.Dataset:
        from sweeps.sources.grid_proof import find_optimum

        return find_optimum(source, build_query(goals, tuple(source.sizes), per=axes, **asked))

    with time_limited(time_limit), show_progress(progress, "searching", goals[0].sign):
        about: dict[str, Any] = {"texts": goals, "where": texts, "per": axes, "modifiers": given}
        return run_query_with_identity("optimum", resolve_source(source), compute, **about)


def best_config(best: xr.Dataset) -> dict[str, Any]:
    """A single winner as a plain dict: its coordinates (the configuration) and outputs.

    A winner of rank 1 is taken where the Dataset ranks several.
    """
    from dse.arguments import require_dataset

    if "rank" in require_dataset(best, "best").sizes:
        best = best.isel(rank=0)
    if best.sizes:
        dims = ", ".join(map(str, best.sizes))
        raise DseError(f"there is a winner for each of {dims}: select one first (best.isel)")
    return {str(name): variable.values.item() for name, variable in best.variables.items()}


@verb
def pareto(
    source: SourceLike,
    *,
    minimize: str | Sequence[str] | None = None,
    maximize: str | Sequence[str] | None = None,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    method: str = "auto",
    time_limit: float | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """The configurations that no other beats in every objective (dimension ``point``).

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked, as of :func:`optimum`; ``method`` and ``time_limit`` are of a study alone.
    minimize, maximize : str or list of str
        Quantities or formulas.
    where : str or list of str
        Constraints besides those of the study or Dataset.
    per : str or list of str, optional
        Axes, or columns of measured rows, for each value of which a front is wanted.
    method : {"auto", "scan", "certified"}
        A scan of the whole grid, or a search by bounds over boxes with a proof that nothing else
        is on the front: "auto" takes it where there are too many points to scan.
    time_limit : float, optional
        Of a certified front: seconds after which the best points found so far are given. The
        attribute ``complete`` is 0 then, ``boxes_left`` tells how many boxes may hold others, and
        the variable ``proven`` which points nothing can beat. An interrupt is told as by
        :func:`optimum`.
    progress : bool
        Tell on standard error, after a second, for how long the search goes on.
    """
    from sweeps.grid.goals import read_goals, texts_of
    from sweeps.query.source import build_query

    goals, texts = read_goals(minimize, maximize), texts_of(where, "where")
    axes = texts_of(per, "per")
    given = {"method": method not in ("auto", "scan"), "time_limit": time_limit is not None}

    def compute(source: ScanSource) -> xr.Dataset:
        from sweeps.sources.grid_proof import find_front

        limits: dict[str, Any] = {"method": method, "time_limit": time_limit}
        return find_front(source, build_query(goals, tuple(source.sizes), per=axes, **limits))

    with time_limited(time_limit), show_progress(progress, "searching"):
        about: dict[str, Any] = {"texts": goals, "where": texts, "per": axes, "modifiers": given}
        return run_query_with_identity("pareto", resolve_source(source), compute, **about)


# --- Where models that are compared disagree, and what choosing by one costs
def disagreement(
    source: SourceLike,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """Where the models of a Dataset disagree, and what it costs to follow one if another is right.

    Parameters
    ----------
    source : Comparison, Dataset or path
        Of several models, along the dimension ``model``: ``dse.Study(model=[...], ...)``, or what
        its run gives.
    minimize, maximize : str, optional
        What decides which configuration is best; ``minimize="time"`` where there is a time, else
        only cases and bounds are compared.
    where : str or list of str
        Constraints besides those that the Dataset carries.
    per : str or list of str, optional
        Axes for each value of which the models are compared; all other axes are chosen freely.
    progress : bool
        Tell on standard error, after a second, for how long the work goes on.

    Returns
    -------
    xarray.Dataset
        For each case or bound ``x``: ``x_differs`` over the axes, where not all models say the same
        (by its meaning, whatever its number), and ``x_disagreement`` (model, under), the share of
        the configurations on which two models differ. ``best_<axis>`` and ``best_<objective>``
        (model), each model's optimum; ``ties``, how many configurations are as good: the first of
        them is taken. ``regret`` (model, under): the objective at the optimum of ``model``, as
        ``under`` has it, over the optimum of ``under``; the other way round where it is maximized,
        so that 1 is no loss; infinite where ``under`` does not allow it. ``optimum_differs``: where
        that is above 1. ``feasible_differs``: what some models allow and others do not.

    Raises
    ------
    DseError
        A Dataset of one model, a quantity that is not in it, an objective below 0.

    >>> from dse import Study
    >>> both = Study(model=["occupancy + mwp_cwp", "occupancy + transit + transit_time"],
    ...              machine="gtx280", workload="mat_tiled", axes={"active_sms": range(1, 31)},
    ...              set={"threads_per_block": 256})
    >>> found = both.disagreement()
    >>> found.best_active_sms.values.tolist(), float(found.regret.max())
    ([30, 30], 1.0)
    """
    from sweeps.grid.goals import one_goal, texts_of
    from sweeps.query.model_disagreement import dataset_disagreement, flag_names

    with show_progress(progress, "comparing"):
        of = resolve_source(source, values=True)
        if isinstance(of, StudyData):
            raise DseError("a study of one model disagrees with none: give a list, model=[...]")
        named = minimize is not None or maximize is not None
        if not named and "time" in of:
            minimize, named = "time", True
        if not named and not flag_names(of):
            raise DseError("nothing to compare: name an objective with minimize= or maximize=")
        goal = one_goal(minimize, maximize) if named else None
        return dataset_disagreement(of, goal, where=texts_of(where, "where"), per=per)
