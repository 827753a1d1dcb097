"""Between which certain values an output lies where inputs are known within ±."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.progress import Shown, shown
from dse.verbs.query import with_reasons
from dse.verbs.sources import Askable, one_answer

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["ranges"]


@with_reasons
def ranges(
    source: Askable,
    within: Mapping[str, Any],
    *,
    outputs: str | Sequence[str] | None = None,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    progress: Shown = False,
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
    from dse.inverse.within import ranged
    from sweeps.grid.goals import read_goals, texts_of

    named = minimize is not None or maximize is not None
    goals = read_goals(minimize, maximize) if named else ()
    wanted = None if outputs is None else texts_of(outputs, "outputs")
    texts, goal = texts_of(where, "where"), goals[0] if goals else None
    given = within, wanted, goal, texts
    with shown(progress, "enclosing"):
        several = len(goals) > 1
        return one_answer("ranges", source, lambda s: ranged(s, *given), objectives=several)
