"""Where inputs are random: who can be best, and how likely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dse.progress import Shown, shown
from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.verbs.draws import asked_of_draws
from dse.verbs.query import identified, resolve_source, with_reasons
from dse.verbs.sources import Askable, check_asked, with_file_read
from sweeps.ask.matrix import refuse
from symbolic.statistic import DRAW, RUN

if TYPE_CHECKING:
    import xarray as xr


__all__ = ["chances"]


@with_reasons
def chances(
    source: Askable,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    top: int | None = None,
    progress: Shown = False,
) -> xr.Dataset:
    """How likely each configuration is the best one, and what it costs where it is not.

    In each draw one configuration is best; those that tie share the draw in equal parts. Which can
    be best is found on the draws of the study; how likely, on fresh ones, so that luck among many
    is not told as merit. Where all laws are enumerated, everything is exact. Axes along which the
    objective is the same are left out.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        A study with random inputs; or values along ``draw``, of which errors are told by 16 parts
        of them that follow each other; or measurements along ``run``, as ``dse.open(...,
        runs=True)`` gives: the best on average (:func:`dse.measured.runs.chances_of_runs`).
    minimize, maximize : str
        A quantity or formula that has a value in each draw.
    where : str or list of str
        Constraints besides those of the study: a configuration competes in the draws in which
        it meets them.
    per : str or list of str, optional
        Axes for each value of which others compete.
    top : int, optional
        How many are told, the likeliest first; all that can be best where None.
    progress : bool
        Tell on standard error, after a second, for how long the work goes on.

    Returns
    -------
    xarray.Dataset
        Along ``rank``, the likeliest first: ``chance``, and ``regret``, by how much a configuration
        is expected to miss the best of each draw, in the unit of the objective (infinite where it
        may not be feasible). ``left``: the chance that none of these is the best; ``none``: that
        nothing is feasible. With ``chance_error``, ``regret_error`` and ``left_error``, half the
        widths of 95 % intervals. The attribute ``configurations`` tells how many can be best.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
    ...               random={"mem_latency": "discrete: 300: 1, 600: 1, 1200: 2"})
    >>> found = study.chances(maximize="cs_throughput - threads / 128")
    >>> found.threads.values.tolist(), found.chance.values.tolist()
    ([1024, 512, 256], [0.5, 0.25, 0.25])
    """
    from sweeps.ask.chances import chances as chances_of
    from sweeps.grid.goals import read_goals, texts_of

    goals = read_goals(minimize, maximize)
    texts, axes = texts_of(where, "where"), texts_of(per, "per")
    with shown(progress, "looking at every draw"):
        of = with_file_read(source)
        told: Any = of if isinstance(of, (StudyData, ComparisonData)) else resolve_source(of)
        for one in told.each.values() if isinstance(told, ComparisonData) else [told]:
            check_asked("chances", one, {"per": bool(axes), "objectives": len(goals) > 1})
        if hasattr(told, "dims") and RUN in told.dims and DRAW not in told.dims:
            refuse("chances", "rows", {"per": bool(axes)})
            from dse.measured.runs import chances_of_runs

            asked: dict[str, Any] = {"minimize": minimize, "maximize": maximize}
            return identified(chances_of_runs(told, **asked, where=texts, top=top), told)
        (goal,) = goals
        return asked_of_draws(
            told, goal, texts, axes, lambda draws: chances_of(draws, goal, per=axes, top=top)
        )
