"""Invariants that every answer holds before it leaves, whatever the source and the method.

The points that an answer names are evaluated once more, one by one, and so is a sample of the other
points. An answer that its own source contradicts is a fault of this program, never a result.

The check takes a few milliseconds, so it is bounded: of more than :data:`NAMED` named points some
are evaluated, evenly spread, and :data:`SAMPLE` other points are drawn. None is drawn where a point
takes long: of a lazy Dataset, and of statistics that are not computed yet; nor where
an answer is not proven.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.ask.ask import Ask
from sweeps.ask.source import Choice, Source, limit_of
from sweeps.grid.flat_index import unravel
from sweeps.grid.goals import Goal, in_words
from symbolic.errors import InternalError

#: Named points that are evaluated at most; points drawn to contradict an answer; points of a front
#: that are compared with all of it.
NAMED, SAMPLE = sizes.INVARIANT_NAMED, sizes.INVARIANT_SAMPLE
COMPARED = sizes.INVARIANT_COMPARED

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]
Places = Mapping[str, Indices]


def check_optimum(source: Source, ask: Ask, choice: Choice, told: Mapping[str, Any]) -> None:
    """Raise unless the named points have the scores of a search, in order, and none is better.

    Raises
    ------
    InternalError
        The answer breaks an invariant.
    """
    report = _Report(source, ask.goals, ask)
    named = choice.scores < math.inf
    flat = {axis: index[named] for axis, index in choice.places.items()}
    gaps, bounds = np.atleast_1d(told.get("gap", 0.0)), np.atleast_1d(told.get("bound", math.nan))
    proven = not np.any(gaps) and not told.get("points_left")
    some, places = _spread(int(np.count_nonzero(named))), {}
    if proven and source.is_cheap:
        places = _sample(source.sizes, flat)
    here = {axis: index[some] for axis, index in flat.items()}
    both = {axis: np.concatenate([here[axis], places[axis]]) for axis in places} or here
    all_values, all_feasible = source.evaluated(both, ask.goals)
    values, drawn = ([row[part] for row in all_values] for part in _halves(some.size))
    feasible, allowed = (all_feasible[part] for part in _halves(some.size))
    report.finite_and_feasible(here, values, feasible)
    best, whole = choice.scores[None], some.size == np.count_nonzero(named)
    if len(ask.goals) == 1:
        scores = choice.scores[named][some]
        if wrong := _first(scores != values[0]):
            report.fail("the search has another value than the point", here, values, wrong, scores)
    elif whole:
        best = np.full((len(values), *named.shape), math.inf)
        best[:, named] = values
    else:
        return
    report.in_order(best, choice.places, named)
    best = best[..., 0]
    if len(ask.goals) == 1 and not ask.per:
        bound = ask.goals[0].sign * float(bounds[0])
        if bound > best.item() or (gaps[0] == 0 and bound < best.item()):
            report.fail(f"the bound {bounds[0]!r} does not fit the value", here, values, [0])
    if not places:
        return
    against = [best[k][tuple(places[axis] for axis in ask.per)] for k in range(len(drawn))]
    counts = allowed & np.all(np.isfinite(drawn), axis=0)
    if len(drawn) > 1:  # later objectives may have no number where an earlier one is best
        counts &= np.all(np.isfinite(against), axis=0)
    better, equal = np.zeros(counts.shape, dtype=bool), np.ones(counts.shape, dtype=bool)
    for mine, theirs in zip(drawn, against, strict=True):
        better |= equal & (mine < theirs)
        equal &= mine == theirs
    if wrong := _first(counts & better):
        report.fail("a point that is not named is better", places, drawn, wrong)
    if ask.within is not None and ask.top == 1 and len(values) == 1 and not ask.per:
        for one in np.flatnonzero(counts & (drawn[0] <= limit_of(best.item(), ask.within)))[:4]:
            same = [flat[axis] == index[one] for axis, index in places.items()]
            if not np.any(np.logical_and.reduce(same)):
                report.fail("a point is as near the best and is not listed", places, drawn, [one])


def check_nothing(source: Source, ask: Ask) -> None:
    """Raise if a sampled point is feasible and finite where an answer says that none is.

    Raises
    ------
    InternalError
        There is such a point.
    """
    if len(ask.goals) > 1 or not source.is_cheap:
        return
    places = _sample(source.sizes, {})
    values, feasible = source.evaluated(places, ask.goals)
    if wrong := _first(feasible & np.isfinite(values[0])):
        report = _Report(source, ask.goals, ask)
        report.fail("the answer is that no point counts, and this one does", places, values, wrong)


def check_front(
    source: Source,
    goals: Sequence[Goal],
    per: Sequence[str],
    flat: Places,
    proven: Truth,
    *,
    whole: bool = True,
) -> None:
    """Raise unless the points of a front are feasible, finite, and none beats another.

    ``proven`` tells of which points it is certain that nothing beats them; ``whole``, that all
    points were looked at.

    Raises
    ------
    InternalError
        The answer breaks an invariant.
    """
    if not source.sizes:
        return
    report = _Report(source, goals, None, per)
    places: dict[str, Indices] = {}
    if source.is_cheap and whole and np.all(proven):
        places = _sample(source.sizes, flat)
    both = {axis: np.concatenate([flat[axis], places[axis]]) for axis in places} or flat
    all_values, all_feasible = source.evaluated(both, goals)
    values, drawn = ([row[part] for row in all_values] for part in _halves(proven.size))
    feasible, allowed = (all_feasible[part] for part in _halves(proven.size))
    report.finite_and_feasible(flat, values, feasible)
    rows, label = np.stack(values), _label(flat, per, source.sizes)
    some = np.unique(np.linspace(0, label.size - 1, min(label.size, COMPARED)).astype(np.int64))
    for k in some.tolist():
        others = rows[:, label == label[k]]
        if proven[k] and np.any(_beats(others, rows[:, k : k + 1])):
            report.fail("another point of the front beats this one", flat, values, [k])
    table, cell = np.stack(drawn), _label(places, per, source.sizes) if places else None
    for k in np.flatnonzero(allowed & np.all(np.isfinite(table), axis=0)).tolist():
        assert cell is not None
        own, point = rows[:, label == cell[k]], table[:, k : k + 1]
        if not np.any(np.all(own <= point, axis=0)):
            report.fail("no point of the front is as good as this one", places, drawn, [k])


def _beats(others: Floats, point: Floats) -> Truth:
    return np.asarray(np.all(others <= point, axis=0) & np.any(others < point, axis=0))


def _label(places: Places, per: Sequence[str], sizes: Mapping[str, int]) -> Indices:
    """Return one number for the values of the axes ``per`` at each point."""
    label = np.zeros(next((index.size for index in places.values()), 1), dtype=np.int64)
    for axis in per:
        label = label * sizes[axis] + places[axis]
    return label


def _spread(count: int) -> Indices:
    """Return the numbers of so many points, or of :data:`NAMED` of them from first to last."""
    return np.unique(np.linspace(0, count - 1, min(count, NAMED)).astype(np.int64))


def _halves(count: int) -> tuple[slice, slice]:
    return slice(count), slice(count, None)


def _first(wrong: Any) -> list[int]:
    """Return the first place where something is wrong, or nothing."""
    return [int(place) for place in np.flatnonzero(wrong)[:1]]


def _sample(sizes: Mapping[str, int], near: Places) -> dict[str, Indices]:
    """Return some points, the same each time: random ones, and neighbours of the first of some."""
    rng = np.random.default_rng(0)
    places = {axis: rng.integers(0, size, SAMPLE) for axis, size in sizes.items()}
    if not near or not next(iter(near.values())).size:
        return places
    first = {axis: int(index[0]) for axis, index in near.items()}
    moved = [
        {**first, axis: at}
        for axis, size in sizes.items()
        for at in (first[axis] - 1, first[axis] + 1)
        if 0 <= at < size
    ]
    return {
        axis: np.concatenate([index, np.array([one[axis] for one in moved], dtype=np.int64)])
        for axis, index in places.items()
    }


class _Report:
    """The question and the answer, as the report of an internal error names them."""

    def __init__(
        self, source: Source, goals: Sequence[Goal], ask: Ask | None, per: Sequence[str] = ()
    ) -> None:
        self.source, self.goals = source, goals
        given = {"per": list(ask.per if ask else per)}
        if ask is not None:
            names = ("top", "ties", "within", "method", "gap", "time_limit")
            given |= {name: getattr(ask, name) for name in names}
        where = " and ".join(source.asked_where)
        self.asked = (in_words(goals) if ask else " and ".join(in_words([g]) for g in goals)) + (
            f", where {where}" if where else ""
        )
        self.asked += "".join(f", {name}={value!r}" for name, value in given.items() if value)

    def finite_and_feasible(
        self, places: Places, values: Sequence[Floats], feasible: Truth
    ) -> None:
        """Raise unless all points are feasible and all their goals finite."""
        if wrong := _first(~feasible):
            self.fail("a named point is not feasible", places, values, wrong)
        if wrong := _first(~np.all(np.isfinite(values), axis=0)):
            self.fail("a named point has no finite value", places, values, wrong)

    def in_order(self, ranked: Floats, places: Places, named: Truth) -> None:
        """Raise unless each rank is no better than the one before, ties in axis order."""
        later, before = ranked[..., 1:], ranked[..., :-1]
        worse, equal = np.zeros(later.shape[1:], dtype=bool), np.ones(later.shape[1:], dtype=bool)
        for mine, theirs in zip(later, before, strict=True):
            worse |= equal & (mine < theirs)
            equal &= mine == theirs
        for index in (places[axis] for axis in self.source.sizes):
            worse |= equal & named[..., 1:] & (index[..., 1:] < index[..., :-1])
            equal &= index[..., 1:] == index[..., :-1]
        worse |= equal & named[..., 1:]
        if wrong := _first(worse.reshape(-1)):
            here = unravel(np.array(wrong[0]), worse.shape)
            at = {axis: index[..., 1:][here].reshape(1) for axis, index in places.items()}
            values = [row[..., 1:][here].reshape(1) for row in ranked]
            self.fail("a rank is better than the one before, or the same point", at, values, [0])

    def fail(
        self,
        what: str,
        places: Places,
        values: Sequence[Floats],
        at: Sequence[int],
        scores: Floats | None = None,
    ) -> None:
        """Raise with a report."""
        k = at[0] if at else 0
        point = {
            name: np.asarray(array)[places[axis][k]].item()
            for name, (axis, array, _) in self.source.coordinates.items()
            if places[axis].size
        }
        got = ", ".join(f"{name} = {value}" for name, value in point.items())
        for goal, row in zip(self.goals, values, strict=True):
            got += f"; {goal.text} = {goal.sign * float(row[k])!r} there" if row.size else ""
        if scores is not None:
            got += f", and {self.goals[0].sign * float(scores[k])!r} by the search"
        raise InternalError(what, asked=self.asked, got=got)
