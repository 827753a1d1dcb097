"""The best configurations of any source: objectives in order, ranks, ties, shares, labels.

A source answers one objective where others are as good as was found (`held`); that is all that is
needed. Of several objectives the first ranks, and whatever ties in it is asked the next; what is as
good as some value is listed; for each value of an axis the part of the source there is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.ask import Ask
from sweeps.ask.invariants import check_front, check_nothing, check_optimum
from sweeps.ask.source import Choice, Held, Source, Stage, merged, of_parts, some_of
from sweeps.grid.goals import Goal
from sweeps.runtime.stopping import stopped
from sweeps.scan.fused import Chosen
from symbolic.errors import InfeasibleError, OutOfTimeError

if TYPE_CHECKING:
    import xarray as xr


def optimum(source: Source, ask: Ask) -> xr.Dataset:
    """The best configurations of a source.

    Of several objectives each decides among what is best by those before it. With ``ties`` they lie
    along ``tie``, else ranked along ``rank`` where several are wanted; for each value of the axes
    ``per``, where fewer are found than elsewhere, NaN, -1, False or an empty label stands.

    Raises
    ------
    InfeasibleError
        No configuration satisfies the constraints, or none with finite objectives.
    InternalError
        The answer breaks an invariant (:mod:`sweeps.ask.invariants`).
    """
    goals = ask.goals
    try:
        choice = _choice(source, ask)
    except InfeasibleError as error:
        if type(error) is InfeasibleError and not stopped():  # an interrupt leaves points unseen
            check_nothing(source, ask)
        raise
    found = source.answer(Chosen(per=ask.per, places=choice.places), goals, ask.ranked)
    told = source.told(goals, found)
    check_optimum(source, ask, choice, told)
    if ask.within is not None:
        count = int(np.count_nonzero(choice.scores < math.inf))
        told |= {"within": ask.within, "configurations": count}
    if ask.ties and ask.within is None and ask.top == 1:
        found = found.drop_vars("rank").rename_dims(rank="tie")
    return found.assign_attrs(told)


def _choice(source: Source, ask: Ask) -> Choice:
    """Return the configurations that are wanted."""
    goals = ask.goals
    if len(goals) == 1 and not ask.listed:
        choice = source.best(Stage(goals=goals), ask.per, ask.top)
    else:
        # of several ranks one could be taken by what has no number in a later objective; within a
        # share of the last objective ``top`` only limits what is listed
        ranked = ask.top > 1 and ask.within is None
        known = tuple(Held(goal=goal) for goal in goals[1:]) if ranked else ()
        first = Stage(goals=goals, held=known)
        parts = of_parts(source, ask.per, lambda part: _in_order(part, ask, first))
        shape = tuple(source.sizes[axis] for axis in ask.per)
        choice = _side_by_side(parts, shape, tuple(source.sizes))
    if not choice.scores.size or not np.any(choice.scores < math.inf):
        raise source.nothing(Stage(goals=goals))
    return choice


def _in_order(source: Source, ask: Ask, stage: Stage) -> Choice:
    """The configurations wanted by the objectives from one on, those before being held."""
    first = source.best(stage, (), 1 if ask.within is not None else ask.top)
    if not first.scores.size or not first.scores[0] < math.inf:
        raise source.nothing(stage)
    if stopped() and not ask.listed:  # what was decided so far
        return first
    if stage.number < len(ask.goals) - 1:
        return Choice.joined(list(_groups(source, ask, stage, first)))
    if not ask.listed:
        return first
    found = source.upto(stage, float(first.scores[-1]), ask.within or 0.0)
    return found if ask.within is None or ask.top == 1 else found.take(slice(ask.top))


def _groups(source: Source, ask: Ask, stage: Stage, first: Choice) -> Iterator[Choice]:
    """What ties in an objective is asked the next one; what is alone with its value stands."""
    values, counts = np.unique(first.scores, return_counts=True)
    for place, (score, count) in enumerate(zip(values.tolist(), counts.tolist(), strict=True)):
        last = place == len(values) - 1
        if count == 1 and not last:  # better than the last, so all of its value are here
            yield first.take(first.scores == score)
            continue
        now = Held(goal=stage.goal, score=score, alone=place > 0)
        after = replace(stage, number=stage.number + 1, held=(*stage.held, now))
        among = ask
        if ask.within is None:
            among = replace(ask, top=count, ties=ask.ties and last)
        try:
            yield _in_order(source, among, after)
        except OutOfTimeError:
            if ask.listed or ask.top > 1:
                raise
            yield first  # what was decided so far


def _side_by_side(
    parts: Sequence[Choice | InfeasibleError], shape: tuple[int, ...], axes: Sequence[str]
) -> Choice:
    """The configurations of each cell, in arrays as long as the longest."""
    if isinstance(parts[0], Choice) and not shape:
        return parts[0]
    some = {row: part for row, part in enumerate(parts) if isinstance(part, Choice)}
    width = max((part.scores.size for part in some.values()), default=0)
    places = {axis: np.full((len(parts), width), -1, dtype=np.int64) for axis in axes}
    scores = np.full((len(parts), width), math.inf)
    for row, part in some.items():
        scores[row, : part.scores.size] = part.scores
        for axis in axes:
            places[axis][row, : part.scores.size] = part.places[axis]
    return Choice(
        places={axis: index.reshape(*shape, width) for axis, index in places.items()},
        scores=scores.reshape(*shape, width),
    )


# --- The configurations that no other beats in every objective, of any source and for each label


Indices = NDArray[np.int64]


def pareto(source: Source, goals: Sequence[Goal], per: Sequence[str] = ()) -> xr.Dataset:
    """The configurations that no other beats in every objective, for each value of some axes.

    They lie along ``point``, in axis order, those of each value of ``per`` together.
    """
    fronts = some_of(of_parts(source, per, lambda part: part.front(goals)))
    places = {
        axis: np.concatenate([np.asarray(one.places[axis]) for one in fronts])
        for axis in source.sizes
    }
    proven = np.concatenate([one.is_proven() for one in fronts])
    whole = all(one.told.get("complete", 1) and not one.told.get("points_left") for one in fronts)
    check_front(source, goals, per, places, proven, whole=whole)
    found = source.points(places, goals)
    if any(one.proven is not None for one in fronts):
        about = {"long_name": "whether no configuration beats this one"}
        found = found.assign(proven=("point", proven, about))
    return found.assign_attrs(merged([one.told for one in fronts]))
