"""What is random, draw by draw: of a study, of models compared, or of a Dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dse.study.comparison import ComparisonData, joined_answers
from dse.study.data import StudyData
from dse.study.uncertain import redrawn, uncertain_of
from dse.verbs.query import identified, resolve_source
from dse.verbs.sources import Askable, with_file_read
from sweeps.runtime.stopping import handing_back
from symbolic.statistic import DRAW, RUN

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.ask.chances import Draws, GridDraws
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
    told = of if isinstance(of, StudyData) else _random(resolve_source(of))
    if isinstance(told, StudyData):
        return identified(ask(drawn(told, goal, where)), told)
    from sweeps.ask.chances import TableDraws
    from sweeps.scan.values import Table

    return identified(ask(TableDraws(table=Table(told, where))), told)


def _random(of: StudyData | xr.Dataset) -> StudyData | xr.Dataset:
    """A Dataset with draws or runs as it is; else the study of which it tells."""
    from dse.identity import study_of

    if not isinstance(of, StudyData) and not {DRAW, RUN} & set(of.dims) and "study" in of.attrs:
        return study_of(of)
    return of


def drawn(study: StudyData, goal: Goal, where: Sequence[str]) -> GridDraws:
    """The draws of a study: all there are, or fresh ones beside those it was chosen by."""
    from sweeps.ask.chances import GridDraws

    about = uncertain_of(study)
    grid = study._question([goal], where, per=[DRAW])
    if about.exact:
        return GridDraws(grid=grid, fresh=None)
    fresh = redrawn(study, about.fresh())
    return GridDraws(grid=grid, fresh=fresh._question([goal], where, per=[DRAW]))
