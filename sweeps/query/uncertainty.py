"""Which configurations can be best when something is random, how often, and what they would cost.

Who may be best is found on the draws of a study; how often, on fresh ones: a configuration that was
lucky among many is not told to be as good as it was then (the winner's curse). What fresh draws
give to others is told as left over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.dataset import assemble
from sweeps.grid.flat_index import unravel
from sweeps.grid.goals import Goal, check_top, describe_goals, per_axes
from sweeps.grid.grid import Grid
from sweeps.query.source import (
    QuerySource,
    Sliceable,
    answers_or_errors,
    check_listable,
    winners_dataset,
)
from sweeps.scan.winners_per_draw import (
    MAX_RIVALS,
    DrawScores,
    GridDrawScores,
    possible_cell_winners,
    possible_winners,
    regret_width,
    sample_configurations,
    widen_for_few_draws,
    win_statistics,
)
from symbolic.confidence import chance_half_width, half_width
from symbolic.errors import DseError, InfeasibleError
from symbolic.statistics import DRAW, RUN

if TYPE_CHECKING:
    import xarray as xr


# --- A source of which an objective has a value in each of some draws


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def draw_dimension(axes: Collection[str]) -> str:
    """Return the one of some dimensions of a Dataset that holds draws.

    Raises
    ------
    DseError
        There is none, or there are two.
    """
    result = [axis for axis in (DRAW, RUN) if axis in axes]
    if len(result) != 1:
        what = "neither" if not result else "both"
        raise DseError(
            f"the Dataset has {what} of the dimensions {DRAW} and {RUN}: chances are over one "
            "of them; rename the dimension of the repeated values (ds.rename), or ask a study "
            "whose inputs have laws (random=)"
        )
    return result[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOverDraws(Sliceable):
    """The configurations of a source, each with values ``along`` the axis of the draws.

    ``fresh`` is the same with other draws; ``exact``: all that may happen is looked at.
    """

    source: QuerySource
    fresh: QuerySource | None = None
    draw_axis: str = DRAW
    exact: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        """See :class:`sweeps.query.source.Sliceable`."""
        return {axis: size for axis, size in self.source.sizes.items() if axis != self.draw_axis}

    @property
    def coordinates(self) -> dict[str, tuple[str, Any, Any]]:
        """See :class:`sweeps.query.source.Sliceable`."""
        return {n: c for n, c in self.source.coordinates.items() if c[0] != self.draw_axis}

    def part_at(self, indices: Mapping[str, int]) -> Self:
        """See :class:`sweeps.query.source.Sliceable`."""
        fresh = None if self.fresh is None else self.fresh.part_at(indices)
        return replace(self, source=self.source.part_at(indices), fresh=fresh)

    def first_and_fresh_scores(self, goal: Goal) -> tuple[DrawScores, DrawScores]:
        """Return the objective over draws, and over fresh ones if there are."""
        first = self.source.draw_scores(goal, self.draw_axis)
        return first, first if self.fresh is None else self.fresh.draw_scores(goal, self.draw_axis)

    def places(self, rest: Sequence[str], flat: Indices) -> dict[str, Indices]:
        """Return an index along each axis for some flat indices over the axes ``rest``."""
        split = unravel(flat, [self.source.sizes[axis] for axis in rest])
        fixed = {
            axis: np.full_like(flat, index) for axis, index in self.source.fixed_indices.items()
        }
        return {**dict(zip(rest, split, strict=True)), **fixed}

    def unit(self, goal: Goal) -> str:
        """Return the unit of an objective."""
        row = self.source.quantities.get(goal.text)
        return (row.unit if row is not None else "") or "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class _PartChances:
    """What the likeliest configurations of a part win: arrays of one length, and single numbers."""

    places: Mapping[str, Indices]
    columns: Mapping[str, Floats]
    scalars: Mapping[str, float]
    count: int

    @property
    def length(self) -> int:
        """How many there are."""
        return len(self.columns["chance"])


def chances(
    source: SourceOverDraws, goal: Goal, *, per: Sequence[str] = (), top: int | None = None
) -> xr.Dataset:
    """How often each configuration is best, and what it costs where it is not.

    Parameters
    ----------
    source : Draws
        Of a grid, or of a table.
    goal : Goal
        What should be small or large.
    per : sequence of str
        Axes for each value of which others compete.
    top : int, optional
        How many are told, the likeliest first; all that can win where None.

    Raises
    ------
    InfeasibleError
        In no draw anything counts.
    """
    if top is not None:
        check_top(top)
    per = per_axes(per, tuple(source.sizes))
    parts = answers_or_errors(source, per, lambda part: _part_chances(part, goal, top))
    told = [part for part in parts if isinstance(part, _PartChances)]
    if not told:
        raise next(part for part in parts if isinstance(part, InfeasibleError))
    shape, longest = tuple(source.sizes[axis] for axis in per), max(p.length for p in told)

    def stack_parts(which: str, name: str, fill_value: float) -> NDArray[Any]:
        result = np.full((len(parts), longest), fill_value)
        for row, part in zip(result, parts, strict=True):
            if isinstance(part, _PartChances):
                row[: part.length] = getattr(part, which)[name]
        return result.reshape(*shape, longest)

    first = told[0]
    places = {a: stack_parts("places", a, -1).astype(np.int64) for a in first.places}
    if not places:  # there is one configuration
        places = {"": np.zeros((*shape, longest), dtype=np.int64)}
    lists = {n: stack_parts("lists", n, np.nan) for n in first.columns}
    alone = {
        name: np.array([p.scalars[name] if isinstance(p, _PartChances) else np.nan for p in parts])
        for name in first.scalars
    }
    coordinates = {n: c for n, c in source.coordinates.items() if c[0] in places}
    about = _output_attributes(source, goal)
    result = {name: (array, about[name]) for name, array in lists.items()}
    ds = winners_dataset(coordinates, result, per, places, [goal], True)
    ds = ds.assign({n: (per, a.reshape(shape), about[n]) for n, a in alone.items()})
    return ds.assign_attrs(configurations=sum(part.count for part in told))


def _output_attributes(source: SourceOverDraws, goal: Goal) -> dict[str, dict[str, str]]:
    unit = source.unit(goal)
    told = {
        "chance": ("1", "chance to be the best; ties share a draw equally"),
        "regret": (unit, f"expected loss of {goal.text} against the best of each draw"),
        "left": ("1", "chance that the best is none of those listed"),
    }
    result = {name: {"units": units, "long_name": words} for name, (units, words) in told.items()}
    result |= {
        f"{name}_error": {"units": units, "long_name": f"half the 95 % interval of {name}"}
        for name, (units, _) in told.items()
    }
    return {**result, "none": {"units": "1", "long_name": "chance that nothing is feasible"}}


def _part_chances(source: SourceOverDraws, goal: Goal, top: int | None) -> _PartChances:
    first, fresh = source.first_and_fresh_scores(goal)
    able = possible_winners(first)
    result = win_statistics(first, able)
    able, chance = able[result.chance > 0], result.chance[result.chance > 0]
    if not able.size:
        raise InfeasibleError(
            f"{goal.text} is finite at no feasible point of any draw: relax the constraints, or "
            "change the axes"
        )
    if top is None:
        check_listable(able.size, "can be the best")
    if not source.exact and fresh is not first:
        rivals = np.union1d(able, possible_winners(fresh, able[np.argsort(-chance)[:MAX_RIVALS]]))
        rivals = np.union1d(
            rivals, sample_configurations(fresh)
        )  # so that it is known how far others are
        result = win_statistics(fresh, rivals)
        of = np.searchsorted(rivals, able)
    else:
        of = np.flatnonzero(result.chance > 0)
    count = int(able.size)
    order = np.lexsort((able, result.regret[of], -result.chance[of]))[:top]
    of, able = of[order], able[order]
    left = np.delete(result.chance, of).sum()
    lists = {"chance": result.chance[of], "regret": result.regret[of]}
    alone = {"left": float(left), "none": result.no_winner_weight}
    if source.exact:
        lists |= {f"{name}_error": np.zeros(of.size) for name in ("chance", "regret")}
        alone["left_error"] = 0.0
    elif result.replicate_chances.shape[1] > 1:
        draws = int(np.count_nonzero(fresh.weights))
        lists["chance_error"] = chance_half_width(
            result.replicate_chances[of], result.chance[of], draws
        )
        lists["regret_error"] = regret_width(result, of, draws)
        listed = result.replicate_chances[of].sum(axis=0), result.chance[of].sum()
        alone["left_error"] = float(chance_half_width(*listed, draws))
    else:
        lists |= {f"{name}_error": np.full(of.size, np.nan) for name in ("chance", "regret")}
        alone["left_error"] = np.nan
    return _PartChances(
        places=source.places(first.axes, able), columns=lists, scalars=alone, count=count
    )


# --- What it would be worth to know random inputs before a configuration is chosen
# The choice that is best on average is made once; who knew some inputs would choose for each of
# their values what is best on average then. By how much that is better is the worth of knowing them
# (Raiffa and Schlaifer 1961: EVPI of all, EVPPI of some).


#: What to measure where nothing is worth it.
NOTHING_TO_MEASURE = "none"
#: Cells into which the draws are cut to find who may be best in one.
_CELLS = sizes.CELLS_OF_DRAWS
#: Most of the configurations that are best in some draw.
_MAX_LIKELY_WINNERS = sizes.LIKELY_WINNERS


@dataclass(frozen=True, slots=True, kw_only=True)
class _InformationValue:
    """What knowing a set is worth, how surely, and what share each configuration is then chosen."""

    value: float
    error: float
    choice_shares: Floats


def information(
    source: SourceOverDraws,
    goal: Goal,
    sets: Mapping[str, Sequence[str]],
    nested_grid: Callable[[str], tuple[Grid, int, int]],
) -> xr.Dataset:
    """What knowing all, and what knowing sets of inputs would be worth.

    Parameters
    ----------
    source : Draws
        Of a grid.
    goal : Goal
        What should be small or large on average.
    sets : mapping of str to sequence of str
        The random quantities of each set, by its name.
    nested : callable
        Of a set the grid with nested draws, and how many outer and inner ones each replicate has.
    """
    first, fresh = source.first_and_fresh_scores(goal)
    assert isinstance(first, GridDrawScores)
    columns = first.grid.axes[DRAW].columns
    whole = np.zeros(first.weights.size, dtype=np.int64)
    cells = {name: _draw_cells([columns[q] for q in of], source.exact) for name, of in sets.items()}
    rivals = _cell_winners(first, [whole, *cells.values()], _likely_winners(first))
    sums = _cell_sums(first, rivals, whole)[:, 0]
    if not np.isfinite(sums).any():
        raise InfeasibleError(
            f"no configuration has a finite {goal.text} in every draw, so that none can be chosen "
            "before the draw is known: relax the constraints, or change the axes"
        )
    now = int(np.argmin(sums))
    able = np.union1d(rivals[now : now + 1], possible_winners(first))
    if not source.exact:
        able = np.union1d(
            np.union1d(able, sample_configurations(first)),
            possible_winners(fresh, able[:MAX_RIVALS]),
        )
    place = int(np.searchsorted(able, rivals[now]))
    perfect = win_statistics(fresh, able)
    evpi = _InformationValue(
        value=float(perfect.regret[place]),
        error=0.0 if source.exact else float(regret_width(perfect, place, fresh.weights.size)),
        choice_shares=perfect.chance,
    )
    result = {}
    for name in sets:
        if source.exact:
            result[name] = _value_by_cells(
                _cell_sums(first, rivals, cells[name]), now, cells[name], first
            )
        elif len(sets[name]) == len(columns):
            result[name] = replace(
                evpi, choice_shares=_shares_of_rivals(able, evpi.choice_shares, rivals)
            )
        else:
            result[name] = _value_by_nested_draws(goal, rivals, now, *nested_grid(name))
    result = _make_monotone(result, sets, evpi.value)
    return _information_dataset(source, goal, sets, result, (rivals, now), first.axes, evpi)


def _draw_cells(columns: Sequence[Floats], exact: bool) -> Indices:
    """The cell of each draw: draws of the same values, or that are near in all of some columns."""
    parts = max(2, round(_CELLS ** (1 / len(columns))))
    keys = []
    for column in columns:
        if exact:
            keys.append(np.unique(column, return_inverse=True)[1])
        else:
            ranks = np.argsort(np.argsort(column, kind="stable"), kind="stable")
            keys.append(ranks * parts // column.size)
    _, result = np.unique(np.stack(keys), axis=1, return_inverse=True)
    return np.asarray(result, dtype=np.int64).reshape(-1)


def _likely_winners(scores: DrawScores) -> Indices:
    """The configurations that are best in the most draws, and a few others."""
    able = possible_winners(scores)
    first = able[
        np.argsort(-win_statistics(scores, able).chance, kind="stable")[:_MAX_LIKELY_WINNERS]
    ]
    return np.union1d(first, sample_configurations(scores, 4))


def _cell_winners(scores: DrawScores, cells: Sequence[Indices], known_winners: Indices) -> Indices:
    """The first configuration with the least mean in each cell, and those that are ``known``."""
    starts = np.cumsum([0, *(int(one.max()) + 1 for one in cells[:-1])])
    together = np.stack([one + start for one, start in zip(cells, starts, strict=True)])
    able = possible_cell_winners(scores, together)
    result = set(known_winners.tolist())
    for one in cells:
        sums = _cell_sums(scores, able, one)
        result |= set(able[np.argmin(sums, axis=0)].tolist())
    return np.array(sorted(result), dtype=np.int64)


def _cell_sums(scores: DrawScores, flat: Indices, cells: Indices) -> Floats:
    """The weighted sums of some configurations over cells of draws: (configurations, cells)."""
    result = np.empty((flat.size, int(cells.max()) + 1))
    order = np.argsort(cells, kind="stable")
    starts = np.searchsorted(cells[order], np.arange(result.shape[1]))
    weights = scores.weights[order]

    def add_sums(values: Floats, numbers: Indices) -> None:
        result[numbers] = np.add.reduceat(values[:, order] * weights, starts, axis=1)

    scores.visit_some(flat, add_sums)
    return result


def _shares_of_rivals(able: Indices, choice_shares: Floats, rivals: Indices) -> Floats:
    """What is chosen of some configurations, as of others, by which the likeliest are told."""
    shares = dict(zip(able.tolist(), choice_shares.tolist(), strict=True))
    return np.array([shares.get(one, 0.0) for one in rivals.tolist()])


def _value_by_cells(
    sums: Floats, current: int, cells: Indices, scores: DrawScores
) -> _InformationValue:
    """Of laws that are enumerated."""
    chosen = np.zeros(len(sums))
    np.add.at(chosen, sums.argmin(axis=0)[cells], scores.weights)
    return _InformationValue(
        value=float((sums[current] - sums.min(axis=0)).sum()), error=0.0, choice_shares=chosen
    )


def _value_by_nested_draws(
    goal: Goal, rivals: Indices, current: int, grid: Grid, outer: int, inner: int
) -> _InformationValue:
    """Of nested draws: the mean of the inner ones tells what would be chosen.

    The least of means with errors is too low by about their variance, so that the worth is too
    high; by how much more it is so with half of the inner draws tells how much. It falls with the
    number of draws, or with its square where they fill the cube evenly: so the difference once, or
    a third of it. Two thirds are taken off, a third is told as error besides that of replicates.
    """
    contest = GridDrawScores.from_grid(grid, goal)
    parts = contest.replicates
    halves = np.empty((rivals.size, parts, outer, 2))

    def store_halves(values: Floats, numbers: Indices) -> None:
        halves[numbers] = values.reshape(-1, parts, outer, 2, inner // 2).mean(axis=-1)

    contest.visit_some(rivals, store_halves)
    means = halves.mean(axis=-1)
    best = means.argmin(axis=0).reshape(-1)
    full = (means[current] - means.min(axis=0)).mean(axis=-1)
    half = (halves[current] - halves.min(axis=0)).mean(axis=(-2, -1))
    over = half - full
    each = full - 2 / 3 * over
    width = half_width(each)
    if len(means) > 1:
        gain = means[current] - np.delete(means, current, axis=0).min(axis=0)
        apart = float(np.sqrt(np.mean(gain**2)))
        width = widen_for_few_draws(
            width, np.count_nonzero(gain > 0), each.mean(), apart, gain.size
        )
    return _InformationValue(
        value=float(each.mean()),
        error=float(width + abs(over.mean()) / 3),
        choice_shares=np.array([np.mean(best == number) for number in range(rivals.size)]),
    )


def _make_monotone(
    set_values: Mapping[str, _InformationValue], sets: Mapping[str, Sequence[str]], maximum: float
) -> dict[str, _InformationValue]:
    """Nobody loses by knowing more: what errors say against that is taken back."""
    done: dict[str, _InformationValue] = {}
    for name in sorted(set_values, key=lambda name: len(sets[name])):
        within = [one.value for other, one in done.items() if set(sets[other]) <= set(sets[name])]
        worth = min(max([0.0, set_values[name].value, *within]), maximum)
        done[name] = replace(set_values[name], value=worth)
    return {name: done[name] for name in set_values}


def _information_dataset(
    source: SourceOverDraws,
    goal: Goal,
    sets: Mapping[str, Sequence[str]],
    set_values: Mapping[str, _InformationValue],
    rivals: tuple[Indices, int],
    rest: Sequence[str],
    perfect: _InformationValue,
) -> xr.Dataset:
    unit = source.unit(goal)
    flat, now = rivals
    others = [_most_frequent_alternative(one.choice_shares, now) for one in set_values.values()]
    coords: dict[str, Any] = {"set": ("set", np.array(list(set_values), dtype=object).astype(str))}
    variables: dict[str, Any] = {}
    places = source.places(rest, flat)
    for name, (axis, values, attrs) in source.coordinates.items():
        if axis not in places:
            continue
        own = values[places[axis]]
        about = {**attrs, "long_name": f"{attrs.get('long_name', name)} that is best on average"}
        coords[name] = ((), own[now], about)
        then = own[np.maximum(others, 0)]
        if min(others) < 0:
            empty = "" if then.dtype.kind == "U" else np.nan
            then = np.where(np.array(others) < 0, empty, then if empty == "" else then * 1.0)
        about = {**attrs, "long_name": f"{name} that is chosen most often instead"}
        variables[f"then_{name}"] = ("set", then, about)
    lists = {
        "evppi": (
            [one.value for one in set_values.values()],
            unit,
            "worth of knowing a set of inputs",
        ),
        "evppi_error": ([one.error for one in set_values.values()], unit, "half its 95 % interval"),
        "changes": (
            [1 - one.choice_shares[now] for one in set_values.values()],
            "1",
            "chance that another configuration is chosen then",
        ),
    }
    told: dict[str, Any] = {
        n: ("set", np.array(v), {"units": u, "long_name": w}) for n, (v, u, w) in lists.items()
    }
    told["evpi"] = ((), perfect.value, {"units": unit, "long_name": "worth of knowing all inputs"})
    about = {"units": unit, "long_name": "half its 95 % interval"}
    told["evpi_error"] = ((), perfect.error, about)
    attributes = {
        "question": describe_goals([goal]),
        "next": _next_to_measure(set_values, sets, perfect),
    }
    return assemble({**told, **variables}, coords, attributes)


def _most_frequent_alternative(choice_shares: Floats, current: int) -> int:
    """What is chosen most often but what is chosen now; -1 where nothing else is."""
    rest = choice_shares.copy()
    rest[current] = 0
    return int(np.argmax(rest)) if rest.any() else -1


def _next_to_measure(
    set_values: Mapping[str, _InformationValue],
    sets: Mapping[str, Sequence[str]],
    perfect: _InformationValue,
) -> str:
    """What to measure: the input, else the set, else all, worth most and more than its error."""
    worth = {name: one.value for name, one in set_values.items() if one.value > one.error}
    alone = [name for name in worth if len(sets[name]) == 1] or list(worth)
    if not alone and perfect.value > perfect.error:
        return ", ".join(dict.fromkeys(part for name in set_values for part in name.split(", ")))
    return max(alone, key=lambda name: worth[name], default=NOTHING_TO_MEASURE)
