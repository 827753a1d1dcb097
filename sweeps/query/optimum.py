"""Find the best configurations or the Pareto front of any source.

A source answers for one objective at a time, under bounds on earlier objectives. With several
objectives, the first ranks the configurations, and the next decides among the ties. To answer at
each value of an axis, each part of the source is asked separately.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from sweeps.bounds.problem import Floats, Indices, Mask, Places, evenly_spaced
from sweeps.grid.goals import Goal, describe_goals
from sweeps.grid.grid import unravel
from sweeps.nest.reduce import RELATIVE_ERROR, covering_indices, hypervolume
from sweeps.query.source import (
    Front,
    ObjectiveBound,
    ObjectiveStage,
    Query,
    QuerySource,
    RankedPoints,
    answers_or_errors,
    merge_attributes,
    successful_answers,
    tolerance_limit,
)
from sweeps.runtime.interrupts import is_interrupted
from symbolic.errors import InfeasibleError, InternalError, OutOfTimeError

if TYPE_CHECKING:
    import xarray as xr


# --- Checks of every answer, for all sources and methods
# The named points (the points of the answer) and some random points are evaluated again one by one.
# If their values contradict the answer, this program has an error. To limit the check to
# milliseconds, at most MAX_NAMED_POINTS and SAMPLE_POINTS are evaluated. Random points are left out
# if evaluation takes long (lazy Dataset, pending statistics) or if the answer is not proven.


MAX_NAMED_POINTS, SAMPLE_POINTS = sizes.INVARIANT_NAMED, sizes.INVARIANT_SAMPLE


def check_optimum(
    source: QuerySource, query: Query, points: RankedPoints, attributes: Mapping[str, Any]
) -> None:
    """Evaluate the answer again; raise an error if scores or ranks differ, or a point is better."""
    report = _FailureReport(source, query.goals, query, ())
    named = points.scores < math.inf
    flat = {axis: index[named] for axis, index in points.places.items()}
    gaps = np.atleast_1d(attributes.get("gap", 0.0))
    bounds = np.atleast_1d(attributes.get("bound", math.nan))
    proven = not np.any(gaps) and not attributes.get("points_left")
    some, places = evenly_spaced(int(np.count_nonzero(named)), MAX_NAMED_POINTS), {}
    if proven and source.is_cheap:
        places = _sample(source.sizes, flat)
    here = {axis: index[some] for axis, index in flat.items()}
    (values, feasible), (drawn, allowed) = _evaluate_both(
        source, query.goals, here, places, some.size
    )
    report.check_finite_and_feasible(here, values, feasible)
    best, whole = points.scores[None], some.size == np.count_nonzero(named)
    if len(query.goals) == 1:
        scores = points.scores[named][some]
        if wrong := _first_index(scores != values[0]):
            report.fail("the search has another value than the point", here, values, wrong, scores)
    elif whole:
        best = np.full((len(values), *named.shape), math.inf)
        best[:, named] = values
    else:
        return
    report.check_order(best, points.places, named)
    best = best[..., 0]
    if len(query.goals) == 1 and not query.per:
        bound = query.goals[0].sign * float(bounds[0])
        if bound > best.item() or (gaps[0] == 0 and bound < best.item()):
            report.fail(f"the bound {bounds[0]!r} does not fit the value", here, values, [0])
    if not places:
        return
    against = [best[k][tuple(places[axis] for axis in query.per)] for k in range(len(drawn))]
    counts = allowed & np.all(np.isfinite(drawn), axis=0)
    if len(drawn) > 1:  # where the first objective is best, a later one may be NaN
        counts &= np.all(np.isfinite(against), axis=0)
    better, equal = np.zeros(counts.shape, dtype=bool), np.ones(counts.shape, dtype=bool)
    for mine, theirs in zip(drawn, against, strict=True):
        better |= equal & (mine < theirs)
        equal &= mine == theirs
    if wrong := _first_index(counts & better):
        report.fail("a point that is not named is better", places, drawn, wrong)
    if query.within is not None and query.top == 1 and len(values) == 1 and not query.per:
        near = drawn[0] <= tolerance_limit(best.item(), query.within)
        for number in np.flatnonzero(counts & near)[:4]:
            same = [flat[axis] == index[number] for axis, index in places.items()]
            if not np.any(np.logical_and.reduce(same)):
                what = "a point is as near the best and is not listed"
                report.fail(what, places, drawn, [number])


def check_no_feasible_point(source: QuerySource, query: Query) -> None:
    """Raise an error if a random point is feasible and finite, although the answer says none is."""
    if len(query.goals) > 1 or not source.is_cheap:
        return
    places = _sample(source.sizes, {})
    values, feasible = source.evaluate(places, query.goals)
    if wrong := _first_index(feasible & np.isfinite(values[0])):
        report = _FailureReport(source, query.goals, query, ())
        report.fail("the answer is that no point counts, and this one does", places, values, wrong)


def check_front(
    source: QuerySource,
    goals: Sequence[Goal],
    per: Sequence[str],
    flat: Places,
    proven_mask: Mask,
    *,
    complete: bool = True,
    epsilon: float = 0.0,
) -> Floats | None:
    """Raise an error unless the points of a front are feasible, finite and non-dominated.

    Return their signed objectives (rows), or None if the source has no axes.

    ``proven_mask`` marks the proven points. ``complete`` is True if no point is missing, except
    points that the front covers within the share ``epsilon``.
    """
    if not source.sizes:
        return None
    report = _FailureReport(source, goals, None, per)
    places: dict[str, Indices] = {}
    if source.is_cheap and complete and np.all(proven_mask):
        places = _sample(source.sizes, flat)
    (values, feasible), (drawn, allowed) = _evaluate_both(
        source, goals, flat, places, proven_mask.size
    )
    report.check_finite_and_feasible(flat, values, feasible)
    rows, label = np.stack(values), _cell_numbers(flat, per, source.sizes)
    for k in evenly_spaced(label.size, sizes.INVARIANT_COMPARED).tolist():
        others = rows[:, label == label[k]]
        point = rows[:, k : k + 1]
        dominates = np.all(others <= point, axis=0) & np.any(others < point, axis=0)
        if proven_mask[k] and np.any(dominates):
            report.fail("another point of the front beats this one", flat, values, [k])
    table, cell = np.stack(drawn), _cell_numbers(places, per, source.sizes) if places else None
    for k in np.flatnonzero(allowed & np.all(np.isfinite(table), axis=0)).tolist():
        assert cell is not None
        front, point = rows[:, label == cell[k]], table[:, k : k + 1]
        if not np.any(np.all(front <= point + epsilon * np.abs(point), axis=0)):
            report.fail("no point of the front is as good as this one", places, drawn, [k])
    return rows


def _cell_numbers(places: Places, per: Sequence[str], sizes: Mapping[str, int]) -> Indices:
    """Return the cell number of each point. A cell is a combination of values along ``per``."""
    label = np.zeros(next((index.size for index in places.values()), 1), dtype=np.int64)
    for axis in per:
        label = label * sizes[axis] + places[axis]
    return label


def _evaluate_both(
    source: QuerySource, goals: Sequence[Goal], answer_places: Places, sample: Places, count: int
) -> Iterator[tuple[list[Floats], Mask]]:
    both = {a: np.concatenate([answer_places[a], sample[a]]) for a in sample} or answer_places
    values, feasible = source.evaluate(both, goals)
    for part in (slice(count), slice(count, None)):
        yield [row[part] for row in values], feasible[part]


def _first_index(wrong: Any) -> list[int]:
    return [int(place) for place in np.flatnonzero(wrong)[:1]]


def _sample(sizes: Mapping[str, int], near_places: Places) -> dict[str, Indices]:
    rng = np.random.default_rng(0)
    places = {axis: rng.integers(0, size, SAMPLE_POINTS) for axis, size in sizes.items()}
    if not near_places or not next(iter(near_places.values())).size:
        return places
    first = {axis: int(index[0]) for axis, index in near_places.items()}
    moved = [
        {**first, axis: at}
        for axis, size in sizes.items()
        for at in (first[axis] - 1, first[axis] + 1)
        if 0 <= at < size
    ]
    return {
        axis: np.concatenate([index, np.array([place[axis] for place in moved], dtype=np.int64)])
        for axis, index in places.items()
    }


class _FailureReport:
    def __init__(
        self, source: QuerySource, goals: Sequence[Goal], query: Query | None, per: Sequence[str]
    ) -> None:
        self.source, self.goals = source, goals
        options = {"per": list(query.per if query else per)}
        if query is not None:
            names = ("top", "ties", "within", "method", "gap", "time_limit")
            options |= {name: getattr(query, name) for name in names}
        where = " and ".join(source.condition_texts)
        self.query_text = (
            describe_goals(goals) if query else " and ".join(describe_goals([g]) for g in goals)
        ) + (f", where {where}" if where else "")
        self.query_text += "".join(f", {name}={val!r}" for name, val in options.items() if val)

    def check_finite_and_feasible(
        self, places: Places, values: Sequence[Floats], feasible: Mask
    ) -> None:
        if wrong := _first_index(~feasible):
            self.fail("a named point is not feasible", places, values, wrong)
        if wrong := _first_index(~np.all(np.isfinite(values), axis=0)):
            self.fail("a named point has no finite value", places, values, wrong)

    def check_order(self, ranked: Floats, places: Places, named_mask: Mask) -> None:
        """Raise an error if a rank is better than the rank before, or ties are out of order."""
        later, before = ranked[..., 1:], ranked[..., :-1]
        worse, equal = np.zeros(later.shape[1:], dtype=bool), np.ones(later.shape[1:], dtype=bool)
        for mine, theirs in zip(later, before, strict=True):
            worse |= equal & (mine < theirs)
            equal &= mine == theirs
        for index in (places[axis] for axis in self.source.sizes):
            worse |= equal & named_mask[..., 1:] & (index[..., 1:] < index[..., :-1])
            equal &= index[..., 1:] == index[..., :-1]
        worse |= equal & named_mask[..., 1:]
        if wrong := _first_index(worse.reshape(-1)):
            here = unravel(np.array(wrong[0]), worse.shape)
            at = {axis: index[..., 1:][here].reshape(1) for axis, index in places.items()}
            values = [row[..., 1:][here].reshape(1) for row in ranked]
            self.fail("a rank is better than the one before, or the same point", at, values, [0])

    def fail(
        self,
        what: str,
        places: Places,
        values: Sequence[Floats],
        numbers: Sequence[int],
        scores: Floats | None = None,
    ) -> None:
        k = numbers[0] if numbers else 0
        point = {
            name: np.asarray(array)[places[axis][k]].item()
            for name, (axis, array, _) in self.source.coordinates.items()
            if places[axis].size
        }
        text = ", ".join(f"{name} = {value}" for name, value in point.items())
        for goal, row in zip(self.goals, values, strict=True):
            text += f"; {goal.text} = {goal.sign * float(row[k])!r} there" if row.size else ""
        if scores is not None:
            text += f", and {self.goals[0].sign * float(scores[k])!r} by the search"
        raise InternalError(what, query=self.query_text, result=text)


def optimum(source: QuerySource, query: Query) -> xr.Dataset:
    """Return the best configurations of a source.

    Each objective decides among the ties of the objectives before it. Several configurations lie
    along ``tie`` if the query asks only for ties, otherwise along ``rank``. Lists for different
    values of ``per`` may differ in length. Shorter lists are padded with NaN, -1, False or an empty
    label.
    """
    goals = query.goals
    try:
        choice = _find_points(source, query)
    except InfeasibleError as error:
        # after an interrupt, points that were not visited may be feasible
        if type(error) is InfeasibleError and not is_interrupted():
            check_no_feasible_point(source, query)
        raise
    result = source.answer(choice.places, query)
    attributes = source.result_attributes(goals, result)
    check_optimum(source, query, choice, attributes)
    if query.within is not None:
        count = int(np.count_nonzero(choice.scores < math.inf))
        attributes |= {"within": query.within, "configurations": count}
    if query.ties and query.within is None and query.top == 1:
        result = result.drop_vars("rank").rename_dims(rank="tie")
    return result.assign_attrs(attributes)


def _find_points(source: QuerySource, query: Query) -> RankedPoints:
    goals = query.goals
    if len(goals) == 1 and not query.has_ties_or_within:
        choice = source.best(ObjectiveStage(goals=goals), query.per, query.top)
    else:
        # a point where a later objective is not finite must not get a rank; if ``within`` is given,
        # ``top`` only limits the length of the list
        ranked = query.top > 1 and query.within is None
        known = tuple(ObjectiveBound(goal=goal) for goal in goals[1:]) if ranked else ()
        first = ObjectiveStage(goals=goals, earlier_bounds=known)
        parts = answers_or_errors(
            source, query.per, lambda part: _optimize_from_stage(part, query, first)
        )
        shape = tuple(source.sizes[axis] for axis in query.per)
        choice = _stack_points(parts, shape, tuple(source.sizes))
    if not choice.scores.size or not np.any(choice.scores < math.inf):
        raise source.no_point_error(ObjectiveStage(goals=goals))
    return choice


def _optimize_from_stage(source: QuerySource, query: Query, stage: ObjectiveStage) -> RankedPoints:
    first = source.best(stage, (), 1 if query.within is not None else query.top)
    if not first.scores.size or not first.scores[0] < math.inf:
        raise source.no_point_error(stage)
    if is_interrupted() and not query.has_ties_or_within:  # best by this and earlier objectives
        return first
    if stage.number < len(query.goals) - 1:
        return RankedPoints.concatenate(list(_optimize_ties(source, query, stage, first)))
    if not query.has_ties_or_within:
        return first
    result = source.within_tolerance(stage, float(first.scores[-1]), query.within or 0.0)
    return result if query.within is None or query.top == 1 else result.take(slice(query.top))


def _optimize_ties(
    source: QuerySource, query: Query, stage: ObjectiveStage, first: RankedPoints
) -> Iterator[RankedPoints]:
    """Yield, for each value of an objective, the ties that later objectives prefer."""
    values, counts = np.unique(first.scores, return_counts=True)
    for place, (score, count) in enumerate(zip(values.tolist(), counts.tolist(), strict=True)):
        last = place == len(values) - 1
        # only the last value can have further ties, which the source did not return
        if count == 1 and not last:
            yield first.take(first.scores == score)
            continue
        now = ObjectiveBound(goal=stage.goal, score=score, exact=place > 0)
        after = replace(stage, number=stage.number + 1, earlier_bounds=(*stage.earlier_bounds, now))
        among = query
        if query.within is None:
            among = replace(query, top=count, ties=query.ties and last)
        try:
            yield _optimize_from_stage(source, among, after)
        except OutOfTimeError:
            if query.has_ties_or_within or query.top > 1:
                raise
            yield first  # best by this and all earlier objectives


def _stack_points(
    parts: Sequence[RankedPoints | InfeasibleError], shape: tuple[int, ...], axes: Sequence[str]
) -> RankedPoints:
    if isinstance(parts[0], RankedPoints) and not shape:
        return parts[0]
    some = {row: part for row, part in enumerate(parts) if isinstance(part, RankedPoints)}
    width = max((part.scores.size for part in some.values()), default=0)
    places = {axis: np.full((len(parts), width), -1, dtype=np.int64) for axis in axes}
    scores = np.full((len(parts), width), math.inf)
    for row, part in some.items():
        scores[row, : part.scores.size] = part.scores
        for axis in axes:
            places[axis][row, : part.scores.size] = part.places[axis]
    return RankedPoints(
        places={axis: index.reshape(*shape, width) for axis, index in places.items()},
        scores=scores.reshape(*shape, width),
    )


def _cover(source: QuerySource, goals: Sequence[Goal], front: Front, epsilon: float) -> Front:
    """Return the points of a front that cover the front within the share ``epsilon``.

    The points that were found already cover it within a smaller share, so the rest is left here.
    """
    if front.epsilon == epsilon:
        return front
    rest = (1.0 + epsilon) / (1.0 + front.epsilon) - 1.0 - 4.0 * RELATIVE_ERROR
    values = np.stack(source.evaluate(front.places, goals)[0])
    order = np.lexsort(values[::-1])
    some = np.sort(order[covering_indices(values[:, order], rest)])
    places = {axis: index[some] for axis, index in front.places.items()}
    return Front(places=places, attributes=front.attributes, epsilon=epsilon)


def pareto(
    source: QuerySource,
    goals: Sequence[Goal],
    per: Sequence[str] = (),
    epsilon: float = 0.0,
    reference: Sequence[float] = (),
) -> xr.Dataset:
    """Return the Pareto front for each value of the axes ``per``, along the dimension ``point``.

    With ``epsilon``, return points that cover the front within this share of each objective. For
    two or three objectives without ``per``, the attribute ``hypervolume`` is the volume between the
    points and the reference point (default: the worst value of each objective on the front).
    """
    parts = answers_or_errors(
        source, per, lambda part: _cover(part, goals, part.front(goals, epsilon), epsilon)
    )
    fronts = successful_answers(parts)
    places = {a: np.concatenate([np.asarray(f.places[a]) for f in fronts]) for a in source.sizes}
    proven = np.concatenate([front.full_proven_mask() for front in fronts])
    attributes = [front.attributes for front in fronts]
    whole = all(each.get("complete", 1) and not each.get("points_left") for each in attributes)
    values = check_front(source, goals, per, places, proven, complete=whole, epsilon=epsilon)
    result = source.points_dataset(places, goals)
    if any(front.proven_mask is not None for front in fronts):
        about = {"long_name": "whether no configuration beats this one"}
        result = result.assign(proven=("point", proven, about))
    more: dict[str, Any] = {"epsilon": epsilon} if epsilon else {}
    if len(goals) in (2, 3) and not per and values is not None:
        signs = np.array([goal.sign for goal in goals])
        end = signs * reference if reference else values.max(axis=1)
        more |= {"hypervolume": hypervolume(values, end), "reference": (signs * end).tolist()}
    return result.assign_attrs(merge_attributes(attributes) | more)
