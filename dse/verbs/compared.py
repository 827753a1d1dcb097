"""Where models that are compared disagree, and what choosing by one costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.progress import Shown, shown
from dse.study.data import StudyData
from dse.verbs.query import resolve_source
from dse.verbs.sources import Askable
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr


def disagreement(
    source: Askable,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    progress: Shown = False,
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
    from sweeps.ask.differences import dataset_disagreement, flag_names
    from sweeps.grid.goals import one_goal, texts_of

    with shown(progress, "comparing"):
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
