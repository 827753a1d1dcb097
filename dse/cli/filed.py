"""The question that a study file asks under ``[best]``, or the options of ``dse run``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dse.cli.frame import question
from stochastic import sizes

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.best import Best
    from dse.study.data import StudyData
    from sweeps.store.fill import Watch

__all__ = ["checked", "looked_for", "looked_up", "watched"]

#: Below this many points no loop nest is compiled for the question.
_LOOKED_UP = sizes.LOOKED_UP


def checked(study: StudyData, given: Mapping[str, Any]) -> Best | None:
    """The question of the options, or of the study file, if the study can answer it."""
    best = question(given, study.best)
    if best is not None:
        study.check_best(best)
    return best


def watched(best: Best, study: StudyData) -> Watch | None:
    """What a run watches, where the objective is an output and nothing else constrains it."""
    from sweeps.store.fill import Watch

    (goal, *later), grid = best.goals, study.grid()
    if later or best.where or goal.text not in grid.outputs or grid.kind(goal.text) != "float":
        return None
    return Watch(output=goal.text, sign=goal.sign)


def looked_for(best: Best, study: StudyData) -> tuple[str, str] | None:
    """The name and unit of the objective where it is an output, whose best a run can tell."""
    from symbolic.expression import parse_output

    watch = watched(best, study)
    if watch is None:
        return None
    model = study.grid().model
    return watch.output, model.quantity(parse_output(watch.output, model.quantities)).unit


def looked_up(best: Best, study: StudyData, values: xr.Dataset | None) -> xr.Dataset:
    """Return the winners: of few values that a run has in memory, else of the study."""
    from dse.verbs.chosen import optimum

    if values is not None and study.grid().points <= _LOOKED_UP:
        from symbolic.expression import parse, parse_condition
        from symbolic.ops import references
        from symbolic.quantities import label_of

        quantities = study.grid().model.quantities
        nodes = [parse(goal.text, quantities) for goal in best.goals]
        nodes += [parse_condition(text, quantities) for text in best.where]
        if all(label_of(name) in values.variables for name in references(*nodes)):
            return optimum(values, **best.as_asked())
    return optimum(study, **best.as_asked())
