"""Why something cannot be asked of a source: one sentence for each reason."""

from __future__ import annotations

__all__ = ["reason"]

_CHOOSING = ("top", "ties", "within", "gap")
_EQUATIONS = ("meets", "ranges", "borders", "information", "law")
_RECORDED = ("store", "Dataset", "rows")

_NO_CHOICE = "it chooses no configurations, so none can be ranked, tied or near the best"
_FRONT = "every point of a front stands for itself: none is ranked, tied or near another"
_ONE_ANSWER = "its answer is of all points: a part of them would tell something else"
_LOOKED_AT = "what is recorded is looked at as it is, which is exact and takes no proof"
_MEASURED = "measured rows have no equations that tell what lies between them"
_NO_AXES = (
    "the rows lie along configuration, and their columns are no axes: make a grid of the "
    "measurements (dse.open(..., shape='grid'), dse import --shape grid)"
)
_NO_GOAL = "it asks for no best: give minimize or maximize to optimum or pareto"
_ONE_GOAL = "which configurations can be best is told for one objective"
_EVERY = "it answers at every configuration already: choose of its answer (found.sel)"
_DRAWS = (
    "in each draw one is best, ties share it, and what another would miss is its regret: none "
    "stands beside the best by a share"
)
_RUNS = "runs are compared as they stand: choose of the Dataset (ds.sel)"
_ONE_CHOICE = "it is the worth of one choice among all configurations: give the study fewer"
_ONE_PLACE = "a law is that of one configuration: give the values of its axes (at=)"
_BOXES = "its boxes are found by bounds alone: there is no other method"


def reason(verb: str, source: str, modifier: str = "") -> str:
    """Why a verb cannot be asked of a source, with a modifier or at all; empty where it can be.

    >>> reason("optimum", "study", "ties"), reason("count", "store", "top")[:34]
    ('', 'it chooses no configurations, so n')
    """
    if source == "rows" and verb in _EQUATIONS:
        return _MEASURED
    if source == "rows" and verb == "sensitivity":
        return _NO_AXES
    if verb in ("optimum", "pareto"):
        return _of_best(verb, source, modifier)
    if verb in ("chances", "information", "law"):
        return _of_random(verb, source, modifier)
    return _of_others(verb, modifier)


def _of_best(verb: str, source: str, modifier: str) -> str:
    if verb == "pareto" and modifier in _CHOOSING:
        return _FRONT
    if source in _RECORDED and modifier in ("method", "time_limit", "gap"):
        return _LOOKED_AT
    return ""


def _of_random(verb: str, source: str, modifier: str) -> str:
    if verb == "law":
        return _ONE_PLACE if modifier else ""
    if modifier == "objectives":
        return _ONE_GOAL
    if modifier in ("method", "time_limit"):
        return _ONE_ANSWER
    if verb == "information":
        return _ONE_CHOICE if modifier in ("per", *_CHOOSING) else ""
    if modifier in ("ties", "within", "gap"):
        return _DRAWS
    return _RUNS if source == "rows" and modifier == "per" else ""


def _of_others(verb: str, modifier: str) -> str:
    if modifier in _CHOOSING:
        return _NO_CHOICE
    if modifier == "objectives":
        return _ONE_GOAL if verb == "ranges" else _NO_GOAL
    if modifier == "method":
        return _BOXES if verb in _EQUATIONS else _ONE_ANSWER
    if modifier == "time_limit" and verb != "meets":
        return _ONE_ANSWER
    if modifier == "per" and verb in ("ranges", "borders"):
        return _EVERY
    return ""
