"""Inverse queries: borders between cases, boxes that meet targets, ranges under tolerances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.arguments import require_mapping
from dse.progress import ProgressOption, show_progress
from dse.verbs.query import verb
from dse.verbs.sources import SourceLike, joined_answer
from sweeps.runtime.interrupts import return_best_on_interrupt, time_limited

if TYPE_CHECKING:
    import xarray as xr


@verb
def borders(
    source: SourceLike,
    quantity: str | None = None,
    *,
    along: str | Sequence[str] | Mapping[str, Any] | None = None,
    at: Mapping[str, Any] | None = None,
    where: str | Sequence[str] = (),
    closed_form: bool = False,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """Find the borders between cases, below and above every configuration of a study.

    Between two values of a real axis the border is located exactly; on axes of whole numbers or
    tabulated values the values of the axis count. Interval enclosures exclude borders between
    sampled values.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        Study to query: of a Dataset or store its study, of a comparison each study.
    quantity : str, optional
        A case, bound, category or limiter; a quantity that is the minimum or maximum of several
        terms (its regimes); ``feasible``; or a condition, such as ``"time <= 2 ms"``. Default:
        the first case or bound among the outputs.
    along : str, list of str or mapping, optional
        Quantities to move, one at a time; default: all axes of numbers. An axis is followed over
        its values; any other quantity over its domain, from its value by a factor of up to 2**64
        either way. A mapping gives the ends: ``{"mem_bandwidth": ("50 GB/s", "2 TB/s")}``.
    at : mapping, optional
        Values of axes; the answer then does not contain these axes.
    where : str or list of str
        Constraints besides those of the study; infeasible points are a case of their own.
    closed_form : bool
        Solve for the borders that occur, where the model can, and store the expressions in the
        attribute ``closed_forms`` (JSON).
    progress : bool
        Show progress on standard error after one second.

    Returns
    -------
    xarray.Dataset
        The case at each configuration. Over ``along`` and ``side`` (below, above) too:
        ``border``, the next border in the unit of the quantity (NaN if none; for whole numbers
        the first number beyond); ``beyond``, the case there; ``distance`` to the border.
        The attribute ``undecided`` counts intervals that could not be proven free of borders.

    Raises
    ------
    DseError
        The quantity has no cases, an axis has no order, or the answer is too large.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024], "intensity": [10, 20]},
    ...               set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> table = study.borders("bound")
    >>> table.border.sel(along="threads", side="above", threads=256).values.tolist()
    [610.0, 620.0]
    """
    from dse.inverse.borders import borders_of
    from sweeps.grid.goals import texts_of

    options = quantity, along, require_mapping(at), texts_of(where, "where"), closed_form
    with show_progress(progress, "searching along every line"):
        return joined_answer("borders", source, lambda study: borders_of(study, *options))


@verb
@return_best_on_interrupt
def meets(
    source: SourceLike,
    targets: str | Sequence[str],
    *,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    boxes: int = 10_000,
    time_limit: float | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """Find all configurations of a study that meet targets, as boxes of the design space.

    Boxes are halved until interval enclosures prove that all or none of a box meets the targets;
    few points are evaluated. A space of 10**15 configurations is thus described exactly without
    evaluating each.

    Parameters
    ----------
    targets : str or list of str
        Conditions, such as ``["time <= 2 ms", "energy <= 1 J"]``.
    per : str or list of str, optional
        Axes of which each box holds one value; counts are given for each value.
    boxes : int
        Maximum number of boxes; what is undecided then stays open.
    time_limit : float, optional
        Seconds after which undecided boxes stay open; an interrupt does the same, see
        :func:`optimum`.
    source, where, progress
        See :func:`borders`. Constraints and rules of the study must be met, too.

    Returns
    -------
    xarray.Dataset
        Along ``box``: the first and last value along each axis (``<axis>_first``,
        ``<axis>_last``); ``certain``, true if all of the box meets the targets (else it is open);
        ``points``, the number of configurations in it. Certain boxes come first, the largest
        before others; boxes do not overlap. ``inner`` counts configurations that certainly meet
        the targets, ``outer`` those that may, ``total`` all. The attribute ``complete`` is 1 if
        no box is open.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": range(1, 2001), "intensity": range(1, 65)},
    ...               set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> table = study.meets("cs_throughput >= 31")
    >>> int(table.inner), int(table.outer), int(table.total)
    (53037, 53037, 128000)
    >>> int(table.threads_first.min()), int(table.intensity_first.min())
    (322, 31)
    """
    from dse.inverse.ranges import meets_of
    from sweeps.grid.goals import texts_of

    texts, conditions = texts_of(targets, "targets"), texts_of(where, "where")
    options = texts, boxes, time_limit, conditions, texts_of(per, "per")
    with time_limited(time_limit), show_progress(progress, "halving boxes"):
        return joined_answer("meets", source, lambda study: meets_of(study, *options))


@verb
def ranges(
    source: SourceLike,
    within: Mapping[str, Any],
    *,
    outputs: str | Sequence[str] | None = None,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    progress: ProgressOption = False,
) -> xr.Dataset:
    """Bound the outputs of a study whose inputs are known only within a tolerance.

    The bounds are certain: they come from interval enclosures, not from samples. They are
    attained where an output is monotone in an input; elsewhere they are tightened until they
    almost are, or a work limit is reached.

    Parameters
    ----------
    within : mapping
        Tolerance of each uncertain input: relative, ``{"mem_bandwidth": "5 %"}``; absolute,
        ``"3 GB/s"``; or the ends, ``("110 GB/s", "120 GB/s")``. Values stay within their domain.
        A quantity that an equation computes is varied independently of it.
    outputs : str or list of str, optional
        Quantities or formulas; default: the outputs of the study that are numbers.
    minimize, maximize : str, optional
        Objective; the answer then says which configurations can be optimal.
    source, where, progress
        See :func:`borders`.

    Returns
    -------
    xarray.Dataset
        Each output along ``end``: lower, given (all inputs as in the study), upper; NaN where an
        end is unknown. With constraints ``certainly_feasible``, whatever the inputs, and
        ``possibly_feasible``. With an objective ``can_be_best``: False if another configuration
        is better for all inputs, which have the same value (or relative error) in all
        configurations. Above 2**20 configurations, without ``outputs`` and for at most three
        inputs, boxes along ``box`` as :func:`meets` gives them: no configuration outside them can
        be the best, and a ``certain`` one is the best at the middle or a corner of the inputs;
        ``inner`` and ``outer`` count those that certainly can, and that may. ``chance_lower`` and
        ``chance_upper`` bound the probability that a box holds the best, if the inputs are
        uniform and independent; the lower bound is 0 where competitors are close.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> table = study.ranges({"mem_latency": "10 %"}, outputs="cs_throughput",
    ...                maximize="cs_throughput")
    >>> table.cs_throughput.sel(end="upper").values.round(3).tolist()
    [4.655, 9.309, 10.0]
    >>> table.can_be_best.values.tolist()
    [False, False, True]
    """
    from dse.inverse.ranges import ranges_of
    from sweeps.grid.goals import read_goals, texts_of

    named = minimize is not None or maximize is not None
    goals = read_goals(minimize, maximize) if named else ()
    names = None if outputs is None else texts_of(outputs, "outputs")
    options = within, names, goals[0] if goals else None, texts_of(where, "where")
    with show_progress(progress, "enclosing"):
        modifiers = {"objectives": len(goals) > 1}
        return joined_answer("ranges", source, lambda s: ranges_of(s, *options), **modifiers)
