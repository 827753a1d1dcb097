"""What is random, draw by draw: of a study, of models compared, or of a Dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dse.study.comparison import ComparisonData, joined_answers
from dse.study.data import StudyData
from dse.study.uncertain import redrawn, uncertain_of
from dse.verbs.reading import asked_of, identified
from dse.verbs.sources import Askable, Table, with_file_read
from sweeps.runtime.stopping import handing_back
from symbolic.statistic import DRAW, RUN

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.ask.draws import Draws, GridDraws
    from sweeps.grid.goals import Goal


@handing_back
def asked_of_draws(
    source: Askable,
    goal: Goal,
    where: Sequence[str],
    per: Sequence[str],
    ask: Callable[[Draws], xr.Dataset],
) -> xr.Dataset:
    """What is asked of what is random: of each model compared, of a study, of a Dataset."""
    of = with_file_read(source)
    if isinstance(of, ComparisonData):
        each = {m: asked_of_draws(study, goal, where, per, ask) for m, study in of.each.items()}
        return joined_answers(each)
    told = of if isinstance(of, StudyData) else _random(asked_of(of, zones=False))
    if isinstance(told, StudyData):
        return identified(ask(drawn(told, goal, where)), told)
    from sweeps.ask.draws import TableDraws
    from sweeps.scan.arrays import Table as Arrays

    return identified(ask(TableDraws(table=Arrays(told.ds, where))), told)


def _random(of: StudyData | Table) -> StudyData | Table:
    """A Dataset with draws or runs as it is; else the study of which it tells."""
    from dse.derived import study_of

    if isinstance(of, Table) and not {DRAW, RUN} & set(of.ds.dims) and "study" in of.ds.attrs:
        return study_of(of.ds)
    return of


def drawn(study: StudyData, goal: Goal, where: Sequence[str]) -> GridDraws:
    """The draws of a study: all there are, or fresh ones beside those it was chosen by."""
    from sweeps.ask.draws import GridDraws

    about = uncertain_of(study)
    grid = study._question([goal], where, per=[DRAW])
    if about.exact:
        return GridDraws(grid=grid, fresh=None)
    fresh = redrawn(study, about.fresh())
    return GridDraws(grid=grid, fresh=fresh._question([goal], where, per=[DRAW]))
