"""Where a case ends, what meets targets, and how far an output moves with its inputs."""

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


# --- Where a case ends, along each axis
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
    """Where one case gives way to the next, below and above every configuration of a study.

    Between two values of an axis whose quantity is a real one the border is located where it lies;
    of whole numbers and tabulated values only those on the axis count. Enclosures rule out borders
    that no value of the axis would tell of.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked; of a Dataset or store the study that it tells, of models compared each.
    quantity : str, optional
        A case, bound, category or limiter; a quantity that is the smallest or largest of several
        terms (its regimes); ``feasible``; or a condition, such as ``"time <= 2 ms"``. The first
        case or bound among the outputs where None.
    along : str, list of str or mapping, optional
        Which quantities are moved, one at a time: all axes of numbers where None. An axis is
        followed over the range of its values; any other quantity, from the value that it has, over
        its domain, by a factor of up to 2**64 either way. A mapping gives where to begin and end:
        ``{"mem_bandwidth": ("50 GB/s", "2 TB/s")}``.
    at : mapping, optional
        Values of axes, which the answer then does not range over.
    where : str or list of str
        Constraints besides those of the study; where one is broken is a case of its own.
    closed_form : bool
        Whether to solve for the borders that occur, where the model can: the attribute
        ``closed_forms`` (JSON) holds the expressions.
    progress : bool
        Tell on standard error, after a second, for how long the work goes on.

    Returns
    -------
    xarray.Dataset
        The case at each configuration; over ``along`` and ``side`` (below, above) besides:
        ``border``, the next border, in the unit of the quantity (NaN where none follows); of whole
        numbers the first beyond; ``beyond``, the case there; ``distance`` from here to the border.
        The attribute ``undecided`` counts the gaps of which the enclosures told too little to say
        that no further border lies within.

    Raises
    ------
    DseError
        What tells no cases, an axis without order, an answer too large.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024], "intensity": [10, 20]},
    ...               set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> found = study.borders("bound")
    >>> found.border.sel(along="threads", side="above", threads=256).values.tolist()
    [610.0, 620.0]
    """
    from dse.inverse.borders import borders_of
    from sweeps.grid.goals import texts_of

    given = quantity, along, require_mapping(at), texts_of(where, "where"), closed_form
    with show_progress(progress, "following every line"):
        return joined_answer("borders", source, lambda study: borders_of(study, *given))


# --- Which configurations meet every target
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
    """The configurations of a study that meet targets, as boxes of the design space.

    Boxes are halved until enclosures tell that all of a box meets the targets, or none of it; few
    points are looked at one by one. So a space of 10**15 configurations is described without
    looking at each, and run to its end the answer is exact.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked; of a Dataset or store the study that it tells, of models compared each.
        Its own constraints and rules are to be met, too.
    targets : str or list of str
        Conditions, such as ``["time <= 2 ms", "energy <= 1 J"]``.
    where : str or list of str
        Constraints besides those of the study, which are to be met as well.
    per : str or list of str, optional
        Axes of which no box holds several values; what is counted is counted for each of them.
    boxes : int
        How many there may be before what is still open stays open.
    time_limit : float, optional
        Seconds after which what is open stays open; so it is after an interrupt, which is told as
        by :func:`optimum`.
    progress : bool
        Tell on standard error, after a second, for how long the work goes on.

    Returns
    -------
    xarray.Dataset
        Along ``box``: the first and last value along each axis, in the order of the axis
        (``<axis>_first``, ``<axis>_last``); ``certain``, whether all of the box meets the targets
        (otherwise it is open); ``points``, how many configurations it holds. The certain boxes
        come first, the largest before the others; no two overlap. ``inner`` counts the
        configurations that certainly meet the targets, ``outer`` those that may, open boxes
        included, and ``total`` all. The attribute ``complete`` tells whether nothing is open.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": range(1, 2001), "intensity": range(1, 65)},
    ...               set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> found = study.meets("cs_throughput >= 31")
    >>> int(found.inner), int(found.outer), int(found.total)
    (53037, 53037, 128000)
    >>> int(found.threads_first.min()), int(found.intensity_first.min())
    (322, 31)
    """
    from dse.inverse.ranges import meets_of
    from sweeps.grid.goals import texts_of

    texts, axes = texts_of(targets, "targets"), texts_of(per, "per")
    conditions = texts_of(where, "where")
    given = texts, boxes, time_limit, conditions, axes
    with time_limited(time_limit), show_progress(progress, "halving boxes"):
        return joined_answer("meets", source, lambda study: meets_of(study, *given))


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
    """Between which values the outputs lie where some inputs are known only within ±.

    The ends are certain: enclosures of the equations tell them, not samples. Where an output goes
    one way along an input they are attained; otherwise they are drawn together until they all but
    are, or the work is enough.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked; of a Dataset or store the study that it tells, of models compared each.
    within : mapping
        How far quantities may be off from the values that the study gives them: a share,
        ``{"mem_bandwidth": "5 %"}``; an amount to either side, ``"3 GB/s"``; or the ends,
        ``("110 GB/s", "120 GB/s")``. They stay within their domains. A quantity that an equation
        yields is cut from it.
    outputs : str or list of str, optional
        Quantities or formulas; the outputs of the study that are numbers where None.
    minimize, maximize : str, optional
        What is to be best; asks which configurations can be.
    where : str or list of str
        Constraints besides those of the study.
    progress : bool
        Tell on standard error, after a second, for how long the work goes on.

    Returns
    -------
    xarray.Dataset
        Each output along ``end``: lower, given (with every input as the study gives it), upper;
        NaN where an end is not known. With constraints ``certainly_feasible``, whatever the
        inputs, and ``possibly_feasible``. With an objective ``can_be_best``: False where another
        configuration is better whatever the inputs, which are the same (or off by the same share)
        for all configurations. Of more than 2**20 configurations, where no outputs are asked, and
        at most three inputs: boxes along ``box``, as :func:`meets` gives them, outside of which
        none can be the best; a ``certain`` one is the best at the middle or a corner of the
        inputs; ``inner`` and ``outer`` count those that certainly can, and that may. Between
        ``chance_lower`` and ``chance_upper`` lies the chance that a box holds the best, the inputs
        being uniform within their ends and independent; the lower is 0 where rivals are near.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> found = study.ranges({"mem_latency": "10 %"}, outputs="cs_throughput",
    ...                maximize="cs_throughput")
    >>> found.cs_throughput.sel(end="upper").values.round(3).tolist()
    [4.655, 9.309, 10.0]
    >>> found.can_be_best.values.tolist()
    [False, False, True]
    """
    from dse.inverse.ranges import ranges_of
    from sweeps.grid.goals import read_goals, texts_of

    named = minimize is not None or maximize is not None
    goals = read_goals(minimize, maximize) if named else ()
    wanted = None if outputs is None else texts_of(outputs, "outputs")
    texts, goal = texts_of(where, "where"), goals[0] if goals else None
    given = within, wanted, goal, texts
    with show_progress(progress, "enclosing"):
        several = len(goals) > 1
        return joined_answer("ranges", source, lambda s: ranges_of(s, *given), objectives=several)
