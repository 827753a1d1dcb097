"""What moves a quantity: the shares of its variance, or its slopes, by input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.given import a_mapping
from dse.progress import Shown, shown
from dse.verbs.query import resolve_source, run_query_with_identity, verb
from dse.verbs.sources import Askable
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.verbs.query import Source


@verb
def sensitivity(
    source: Askable,
    output: str | Sequence[str] | None = None,
    *,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
    progress: Shown = False,
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
    from dse.effects.answer import analysed
    from dse.effects.sources import read_source
    from sweeps.ask.source import for_each
    from sweeps.grid.goals import texts_of

    point = a_mapping(at)
    texts = None if output is None else texts_of(output, "output")
    if texts == ():
        raise DseError("output is empty: name a quantity, or leave it out for all outputs")
    conditions, axes = texts_of(where, "where"), texts_of(per, "per")
    with shown(progress, "looking at every point"):
        of = resolve_source(source)

        def ask(part: Source) -> xr.Dataset:
            place = dict(part.at)
            found = analysed(read_source(of, texts, conditions, point, place))
            here = [str(axis) for axis in found.axis.values if axis in place]
            return found.drop_sel(axis=here).drop_vars([*here, *(f"over_{a}" for a in here)])

        about: dict[str, Any] = {"texts": texts or (), "where": conditions, "per": axes}
        return run_query_with_identity(
            "sensitivity", of, lambda whole: for_each(whole, axes, ask), **about
        )
