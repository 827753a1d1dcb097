"""Where a case ends, along each axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.given import a_mapping
from dse.progress import Shown, shown
from dse.verbs.registry import verb
from dse.verbs.sources import Askable, one_answer

if TYPE_CHECKING:
    import xarray as xr


@verb
def borders(
    source: Askable,
    quantity: str | None = None,
    *,
    along: str | Sequence[str] | Mapping[str, Any] | None = None,
    at: Mapping[str, Any] | None = None,
    where: str | Sequence[str] = (),
    closed_form: bool = False,
    progress: Shown = False,
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
    from dse.inverse.crossing import borders_of
    from sweeps.grid.goals import texts_of

    given = quantity, along, a_mapping(at), texts_of(where, "where"), closed_form
    with shown(progress, "following every line"):
        return one_answer("borders", source, lambda study: borders_of(study, *given))
