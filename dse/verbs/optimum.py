"""Define the verbs on best configurations: optimum, Pareto front, disagreement of models."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.progress import ProgressOption, show_progress
from dse.study.study import StudyData
from dse.verbs.query import resolve_source, run_query_with_identity, verb
from dse.verbs.sources import SourceLike, with_quantity_names
from sweeps.runtime.interrupts import time_limited
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.verbs.query import ScanSource
    from sweeps.grid.goals import Goal


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
    certificate: str | Path | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """Find the best configurations of a study or a Dataset, without storing the grid of a study.

    Infeasible points and NaN are never optimal. For a finished store, its study is queried and the
    stored values are not read; if its model is missing or has changed, these values are scanned.

    Parameters:
        source (Study, Comparison, Dataset or path): Data to query. ``method="certified"``,
            ``time_limit`` and ``gap`` need a study, or the store of one.
        minimize, maximize (str or list of str): A quantity or formula, or several in order of
            priority: later objectives break ties. A minus sign reverses the direction of an
            objective (``"-throughput"``).
        where (str or list of str): Constraints besides those of the study or Dataset.
        per (str or list of str, optional): Axes, or columns of measured rows; the optimum is found
            separately for each of their values. If there is none, the result is NaN, -1, False or
            an empty label.
        top (int): Number of configurations to return, the best first (dimension ``rank``); ties go
            to the lowest index in axis order. With several objectives, configurations in which one
            of them is undefined do not count.
        ties (bool): Return all configurations that are as good as the best one (dimension ``tie``),
            or as the last of ``top``.
        within (float, optional): Return all configurations within this relative tolerance of the
            best, the best first (dimension ``rank``): 0.01 for 1 %. The attribute
            ``configurations`` is their number. With several objectives, the tolerance applies to
            the last. ``top`` limits the number that is returned.
        method ({"auto", "scan", "certified"}): Scan the whole grid, or search by branch and bound
            with a certificate; "auto" scans small grids. The attribute ``method`` names the method
            that was used; ``bound`` and ``gap`` give the certificate
            (``sweeps.sources.grid_proof.GridProof.result_attributes``).
        time_limit, gap (float, optional): Limits of a certified search: time in seconds, and
            relative gap to the optimum (default 0).
        certificate (path, optional): File for a proof of the optimum by ``method="certified"``,
            which ``examples/check_certificate.py`` checks. It takes one objective, and neither
            ``per``, ``top``, ``ties`` nor ``within``. The time limit does not count its writing.
        progress (bool): Show progress on standard error after one second.

    Raises:
        sweeps.runtime.interrupts.Interrupted: The query was interrupted (a ``KeyboardInterrupt``);
            its attribute ``best`` is the best answer so far.

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
    options: dict[str, Any] = {"top": top, "ties": ties, "within": within, "method": method}
    options |= {"time_limit": time_limit, "gap": gap}
    modifiers = {"top": top != 1, "ties": ties, "within": within is not None}
    modifiers |= {"objectives": len(goals) > 1, "method": method not in ("auto", "scan")}
    modifiers |= {"time_limit": time_limit is not None, "gap": gap is not None}
    plain = (
        method == "certified"
        and not axes
        and not any(modifiers[name] for name in ("top", "ties", "within", "objectives"))
    )
    if certificate is not None and not plain:
        raise DseError(
            "a certificate is a proof of one optimum: give one objective and method='certified' "
            "(--method certified), and leave out per, top, ties and within"
        )

    def compute(source: ScanSource) -> xr.Dataset:
        from sweeps.sources.grid_proof import find_optimum

        query = build_query(goals, tuple(source.sizes), per=axes, **options)
        return _with_gaps(find_optimum(source, query, certificate), source, goals)

    about: dict[str, Any] = {"texts": goals, "where": texts, "per": axes, "modifiers": modifiers}
    with time_limited(time_limit), show_progress(progress, "searching", goals[0].sign):
        return run_query_with_identity("optimum", resolve_source(source), compute, **about)


def _with_gaps(answer: xr.Dataset, source: ScanSource, goals: Sequence[Goal]) -> xr.Dataset:
    """Add the attribute ``no_value`` if an objective has no value at some labels."""
    from sweeps.sources.grid_scan import GridScan

    texts = source.labels_without_value(goals) if isinstance(source, GridScan) else []
    return answer.assign_attrs(no_value=dumps(texts)) if texts else answer


def best_config(best: xr.Dataset) -> dict[str, Any]:
    """Return the best configuration of an answer (rank 1) as a dict of coordinates and outputs."""
    from dse.arguments import require_dataset

    if "rank" in require_dataset(best, "best").sizes:
        best = best.isel(rank=0)
    if best.sizes:
        dims = ", ".join(map(str, best.sizes))
        raise DseError(f"there is one winner for each {dims}: select one first (best.isel)")
    return {str(name): variable.values.item() for name, variable in best.variables.items()}


@verb
def pareto(
    source: SourceLike,
    *,
    minimize: str | Sequence[str] | None = None,
    maximize: str | Sequence[str] | None = None,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    epsilon: float | None = None,
    reference: Sequence[float] | None = None,
    method: str = "auto",
    time_limit: float | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """Find the Pareto front: the configurations that no other dominates (dimension ``point``).

    Parameters:
        minimize, maximize (str or list of str): Quantities or formulas.
        source, where, per, method, progress: See :func:`optimum`.
        epsilon (float, optional): Return configurations that cover the front within this share
            (0.01 for 1 %): no configuration is better than all of them by more than ``epsilon``
            times the absolute value of an objective. With "auto", large grids are searched with
            bounds, which prove this cover.
        reference (list of float, optional): A value for each objective, those to minimize first;
            default: the worst values in the answer. For two or three objectives without ``per``,
            the attribute ``hypervolume`` is the volume between the answer and this point.
        time_limit (float, optional): Seconds after which a certified search returns the best points
            so far. Then the attribute ``complete`` is 0, ``boxes_left`` is the number of boxes that
            may contain further points, and the variable ``proven`` marks the points that no
            configuration can dominate. For interrupts see :func:`optimum`.
    """
    from sweeps.grid.goals import read_goals, texts_of
    from sweeps.query.source import build_query

    goals, texts = read_goals(minimize, maximize), texts_of(where, "where")
    axes = texts_of(per, "per")
    modifiers = {"method": method not in ("auto", "scan"), "time_limit": time_limit is not None}
    modifiers["epsilon"] = epsilon is not None

    def compute(source: ScanSource) -> xr.Dataset:
        from sweeps.sources.grid_proof import find_front

        limits: dict[str, Any] = {"method": method, "time_limit": time_limit}
        limits |= {"epsilon": epsilon or 0.0, "reference": reference}
        query = build_query(goals, tuple(source.sizes), per=axes, **limits)
        return _with_gaps(find_front(source, query), source, goals)

    about: dict[str, Any] = {"texts": goals, "where": texts, "per": axes, "modifiers": modifiers}
    with time_limited(time_limit), show_progress(progress, "searching"):
        return run_query_with_identity("pareto", resolve_source(source), compute, **about)


def disagreement(
    source: SourceLike,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """Find where the models of a Dataset disagree, and the regret of using the wrong model.

    Parameters:
        source (Comparison, Dataset or path): Several models along the dimension ``model``:
            ``dse.Study(model=[...], ...)``, or its run.
        minimize, maximize (str, optional): Objective; default: ``minimize="time"`` if ``time`` is
            an output; otherwise only cases and bounds are compared.
        per (str or list of str, optional): Axes; the models are compared separately for each of
            their values, and optimized over all other axes.
        where, progress: See :func:`optimum`.

    Returns:
        xarray.Dataset: For each case or bound ``x``: ``x_differs`` over the axes is true where the
        models disagree (meanings are compared, not numbers); ``x_disagreement`` (model, under) is
        the fraction of the configurations at which two models differ. ``best_<axis>`` and
        ``best_<objective>`` (model) are the optimum of each model, the first of ``ties``
        configurations. ``regret`` (model, under) is the objective, computed by ``under``, at the
        optimum of ``model``, divided by the optimum of ``under`` (the inverse if maximized). 1
        means no loss; it is infinite if the configuration is infeasible for ``under``.
        ``optimum_differs`` is true where the regret is above 1; ``feasible_differs`` where a
        configuration is feasible for some models only.

    Raises:
        DseError: The Dataset has one model, a quantity is missing, or an objective is negative.

    >>> from dse import Study
    >>> both = Study(model=["occupancy + mwp_cwp", "occupancy + transit + transit_time"],
    ...              machine="gtx280", workload="mat_tiled", axes={"active_sms": range(1, 31)},
    ...              set={"threads_per_block": 256})
    >>> table = both.disagreement()
    >>> table.best_active_sms.values.tolist(), float(table.regret.max())
    ([30, 30], 1.0)
    """
    from sweeps.grid.goals import one_goal, texts_of
    from sweeps.query.model_disagreement import dataset_disagreement, flag_names

    with show_progress(progress, "comparing"):
        data = resolve_source(source, values=True)
        if isinstance(data, StudyData):
            raise DseError("the study has one model: give a list to compare, model=[...]")
        named = minimize is not None or maximize is not None
        if not named and "time" in data:
            minimize, named = "time", True
        if not named and not flag_names(data):
            raise DseError("nothing to compare: name an objective with minimize= or maximize=")
        goals = with_quantity_names(data, {"minimize": minimize, "maximize": maximize})
        about = with_quantity_names(data, {"where": texts_of(where, "where"), "per": per})
        return dataset_disagreement(data, one_goal(**goals) if named else None, **about)
