"""Which configurations meet every target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.progress import Shown, shown
from dse.verbs.registry import verb
from dse.verbs.sources import Askable, one_answer
from sweeps.runtime.stopping import handing_back, time_limited

if TYPE_CHECKING:
    import xarray as xr


@verb
@handing_back
def meets(
    source: Askable,
    targets: str | Sequence[str],
    *,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    boxes: int = 10_000,
    time_limit: float | None = None,
    progress: Shown = False,
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
    from dse.inverse.within import met
    from sweeps.grid.goals import texts_of

    texts, axes = texts_of(targets, "targets"), texts_of(per, "per")
    conditions = texts_of(where, "where")
    given = texts, boxes, time_limit, conditions, axes
    with time_limited(time_limit), shown(progress, "halving boxes"):
        return one_answer("meets", source, lambda study: met(study, *given))
