"""Define the inverse verbs: borders between cases, boxes that meet targets, guaranteed ranges."""

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
    """Find the next borders between cases, below and above every configuration of a study.

    For real quantities, the border between two axis values is located exactly. For integers and
    tabulated values, the border is a value of the axis. Interval enclosures prove that there are no
    further borders between the values that were evaluated.

    Parameters:
        source (Study, Comparison, Dataset or path): Study to query. For a Dataset or store, this is
            its study; for a comparison, each study.
        quantity (str, optional): A case, bound, category or limiter; a quantity that is the minimum
            or maximum of several terms (its regimes); ``feasible``; or a condition, such as ``"time
            <= 2 ms"``. Default: the first case or bound among the outputs.
        along (str, list of str or mapping, optional): Quantities to vary, one at a time; default:
            all axes of numbers. An axis varies over its values. Any other quantity varies over its
            domain, from its value divided by up to 2**64 to its value times up to 2**64. A mapping
            gives the ends: ``{"mem_bandwidth": ("50 GB/s", "2 TB/s")}``.
        at (mapping, optional): Values at which axes are fixed; the answer then does not contain
            these axes.
        where (str or list of str): Constraints besides those of the study; infeasible points count
            as a separate case.
        closed_form (bool): Also solve for the borders that occur, if the model has closed forms,
            and store the expressions in the attribute ``closed_forms`` (JSON).
        progress (bool): Show progress on standard error after one second.

    Returns:
        xarray.Dataset: The case at each configuration. Three variables have the further dimensions
        ``along`` and ``side`` (below, above): ``border`` is the next border in the unit of the
        quantity (NaN for none; for integers, the first number beyond the border), ``beyond`` is the
        case beyond the border, and ``distance`` the distance to it. The attribute ``undecided`` is
        the number of intervals that could not be proven free of borders.

    Raises:
        DseError: The quantity has no cases, an axis has no order, or the answer is too large.

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

    Boxes are halved until interval enclosures prove that all points of a box meet the targets, or
    that none does. Few points are evaluated, so even 10**15 configurations can be described
    exactly.

    Parameters:
        targets (str or list of str): Conditions, such as ``["time <= 2 ms", "energy <= 1 J"]``.
        per (str or list of str, optional): Axes along which each box has a single value; counts are
            given for each value.
        boxes (int): Maximum number of boxes; boxes that are undecided when it is reached stay open.
        time_limit (float, optional): Seconds after which undecided boxes stay open. An interrupt
            has the same effect; see :func:`optimum`.
        source, where, progress: See :func:`borders`. Constraints and rules of the study must be
            met, too.

    Returns:
        xarray.Dataset: Along ``box``: the first and last value on each axis (``<axis>_first``,
        ``<axis>_last``); ``certain``, which is true if all configurations in the box meet the
        targets (otherwise the box is open); ``points``, the number of configurations in the box.
        Boxes do not overlap. Certain boxes come first, in order of decreasing size. ``inner`` is
        the number of configurations that certainly meet the targets, ``outer`` the number of those
        that may meet them, ``total`` the number of all. The attribute ``complete`` is 1 if no box
        is open.

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

    The bounds are guaranteed: they come from interval enclosures, not from samples. If an output is
    monotone in an input, the bounds are attained. Otherwise they are tightened until they are
    almost attained, or until a work limit is reached.

    Parameters:
        within (mapping): Tolerance of each uncertain input: relative, ``{"mem_bandwidth": "5 %"}``;
            absolute, ``"3 GB/s"``; or the ends, ``("110 GB/s", "120 GB/s")``. Values stay within
            their domain. If an equation computes a quantity, the quantity varies independently of
            the equation.
        outputs (str or list of str, optional): Quantities or formulas; default: the outputs of the
            study that are numbers.
        minimize, maximize (str, optional): Objective; the answer then says which configurations can
            be the best.
        source, where, progress: See :func:`borders`.

    Returns:
        xarray.Dataset: Each output along ``end``: its lower bound, its value with the given inputs,
        and its upper bound; NaN if a bound is unknown. With constraints, ``certainly_feasible`` is
        true if a configuration is feasible for all inputs, and ``possibly_feasible`` if it may be
        feasible for some. With an objective, ``can_be_best`` is False if, for all inputs, another
        configuration is better. Configurations are compared with each input at the same point
        between its lower and its upper end.

        If there are more than 2**20 configurations, at most three inputs and no ``outputs``, the
        result has boxes along ``box``, as from :func:`meets`. No configuration outside the boxes
        can be the best. A ``certain`` box is one configuration, which is the best for the middle
        values of the inputs, or for one combination of their ends. ``inner`` is the number of
        configurations that certainly can be the best, ``outer`` the number of those that may be.
        ``chance_lower`` and ``chance_upper`` bound the probability that a box contains the best
        configuration, if the inputs are uniform and independent; the lower bound is 0 if
        competitors are close.

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
