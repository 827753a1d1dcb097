"""Compute chances to be the best configuration over draws, regrets, and the value of information.

Candidates are chosen on the draws of a study and assessed on fresh draws. This avoids the optimism
of selection (winner's curse). The result ``left`` is the chance that no candidate is the best.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.dataset import assemble
from sweeps.grid.goals import Goal, check_top, describe_goals, per_axes
from sweeps.grid.grid import Grid, unravel
from sweeps.query.source import (
    QuerySource,
    Sliceable,
    answers_or_errors,
    check_listable,
    successful_answers,
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
from symbolic.expression import formula_unit
from symbolic.statistics import DRAW, RUN

if TYPE_CHECKING:
    import xarray as xr

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def draw_dimension(axes: Collection[str]) -> str:
    """Return the dimension of the draws of a Dataset; raise DseError if it has none or two."""
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
    """The configurations of a source, each with one value per draw.

    ``fresh`` is the same source with other draws. ``exact`` is True if the draws are all possible
    outcomes.
    """

    source: QuerySource
    fresh: QuerySource | None = None
    draw_axis: str = DRAW
    exact: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        """Return the length of each axis, in order."""
        return {axis: size for axis, size in self.source.sizes.items() if axis != self.draw_axis}

    @property
    def coordinates(self) -> dict[str, tuple[str, Any, Any]]:
        """Return, for each coordinate, its axis, its values and its attributes."""
        return {n: c for n, c in self.source.coordinates.items() if c[0] != self.draw_axis}

    def part_at(self, indices: Mapping[str, int]) -> Self:
        """Return the part at one index of some axes; its answers have indices into the whole."""
        fresh = None if self.fresh is None else self.fresh.part_at(indices)
        return replace(self, source=self.source.part_at(indices), fresh=fresh)

    def first_and_fresh_scores(self, goal: Goal) -> tuple[DrawScores, DrawScores]:
        """Return scores over the draws and over fresh draws; equal if there are no fresh draws."""
        first = self.source.draw_scores(goal, self.draw_axis)
        return first, first if self.fresh is None else self.fresh.draw_scores(goal, self.draw_axis)

    def places(self, rest: Sequence[str], flat: Indices) -> dict[str, Indices]:
        """Convert flat indices over the axes ``rest`` into an index along each axis."""
        split = unravel(flat, [self.source.sizes[axis] for axis in rest])
        fixed = self.source.fixed_indices.items()
        whole = {axis: np.full_like(flat, index) for axis, index in fixed}
        return {**dict(zip(rest, split, strict=True)), **whole}

    def unit(self, goal: Goal) -> str:
        """Return the unit of an objective."""
        return formula_unit(goal.text, self.source.quantities) or "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class _PartChances:
    """The most likely winners of a part of a source: their chances to be best, and their regrets.

    ``columns`` are results by configuration. ``scalars`` are results for the part. ``count`` is the
    number of configurations that can be the best.
    """

    places: Mapping[str, Indices]
    columns: Mapping[str, Floats]
    scalars: Mapping[str, float]
    count: int

    @property
    def length(self) -> int:
        return len(self.columns["chance"])


def chances(
    source: SourceOverDraws, goal: Goal, *, per: Sequence[str] = (), top: int | None = None
) -> xr.Dataset:
    """Return the ``top`` configurations with the largest chances to be best, and their regrets."""
    if top is not None:
        check_top(top)
    per = per_axes(per, tuple(source.sizes))
    parts = answers_or_errors(source, per, lambda part: _part_chances(part, goal, top))
    successes = successful_answers(parts)
    shape, longest = tuple(source.sizes[axis] for axis in per), max(p.length for p in successes)

    def stack_parts(which: str, name: str, fill_value: float) -> NDArray[Any]:
        result = np.full((len(parts), longest), fill_value)
        for row, part in zip(result, parts, strict=True):
            if isinstance(part, _PartChances):
                row[: part.length] = getattr(part, which)[name]
        return result.reshape(*shape, longest)

    first = successes[0]
    places = {a: stack_parts("places", a, -1).astype(np.int64) for a in first.places}
    if not places:  # the source has a single configuration
        places = {"": np.zeros((*shape, longest), dtype=np.int64)}
    lists = {n: stack_parts("columns", n, np.nan) for n in first.columns}
    alone = {
        name: np.array([p.scalars[name] if isinstance(p, _PartChances) else np.nan for p in parts])
        for name in first.scalars
    }
    coordinates = {n: c for n, c in source.coordinates.items() if c[0] in places}
    about = _output_attributes(source, goal)
    result = {name: (array, about[name]) for name, array in lists.items()}
    ds = winners_dataset(coordinates, result, per, places, [goal], True)
    ds = ds.assign({n: (per, a.reshape(shape), about[n]) for n, a in alone.items()})
    return ds.assign_attrs(configurations=sum(part.count for part in successes))


def _output_attributes(source: SourceOverDraws, goal: Goal) -> dict[str, dict[str, str]]:
    unit = source.unit(goal)
    columns = {
        "chance": ("1", "chance to be the best; ties share a draw equally"),
        "regret": (unit, f"expected loss of {goal.text} against the best of each draw"),
        "left": ("1", "chance that the best is none of those listed"),
    }
    result = {name: {"units": unit, "long_name": text} for name, (unit, text) in columns.items()}
    result |= {
        f"{name}_error": {"units": units, "long_name": f"half the 95 % interval of {name}"}
        for name, (units, _) in columns.items()
    }
    return {**result, "none": {"units": "1", "long_name": "chance that nothing is feasible"}}


def _part_chances(source: SourceOverDraws, goal: Goal, top: int | None) -> _PartChances:
    first, fresh = source.first_and_fresh_scores(goal)
    able = possible_winners(first)
    result = win_statistics(first, able)
    able, chance = able[result.chance > 0], result.chance[result.chance > 0]
    if not able.size:
        raise InfeasibleError(
            f"{goal.text} is not finite at any feasible point of any draw: relax the constraints, "
            "or change the axes"
        )
    if top is None:
        check_listable(able.size, "can be the best")
    if not source.exact and fresh is not first:
        rivals = np.union1d(able, possible_winners(fresh, able[np.argsort(-chance)[:MAX_RIVALS]]))
        # evenly spaced configurations show how far others are from the best
        rivals = np.union1d(rivals, sample_configurations(fresh))
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
        replicates = result.replicate_chances[of]
        lists["chance_error"] = chance_half_width(replicates, result.chance[of], draws)
        lists["regret_error"] = regret_width(result, of, draws)
        listed = replicates.sum(axis=0), result.chance[of].sum()
        alone["left_error"] = float(chance_half_width(*listed, draws))
    else:
        lists |= {f"{name}_error": np.full(of.size, np.nan) for name in ("chance", "regret")}
        alone["left_error"] = np.nan
    places = source.places(first.axes, able)
    return _PartChances(places=places, columns=lists, scalars=alone, count=count)


# --- Value of information
# One configuration is the best on average over all draws. If some inputs were known, one could
# choose the configuration that is best on average for each of their values. The expected gain is
# the value of knowing these inputs (Raiffa and Schlaifer 1961: EVPI for all, EVPPI for some).


#: Answer of :func:`_next_to_measure` if the value of every input is within its error.
NOTHING_TO_MEASURE = "none"


class _InformationValue(NamedTuple):
    """The value of knowing a set of inputs, its error, and how often each rival is then chosen."""

    value: float
    error: float
    choice_shares: Floats


def information(
    source: SourceOverDraws,
    goal: Goal,
    sets: Mapping[str, Sequence[str]],
    nested_grid: Callable[[str], tuple[Grid, int, int]],
) -> xr.Dataset:
    """Return the expected value of perfect information on all inputs and on each set of inputs.

    ``nested_grid`` takes the name of a set. It returns the grid with nested draws for this set, the
    number of outer draws and the number of inner draws in each replicate.
    """
    first, fresh = source.first_and_fresh_scores(goal)
    assert isinstance(first, GridDrawScores)
    columns = first.grid.axes[DRAW].columns
    whole = np.zeros(first.weights.size, dtype=np.int64)
    cells = {name: _draw_cells([columns[q] for q in of], source.exact) for name, of in sets.items()}
    able = possible_winners(first)
    order = np.argsort(-win_statistics(first, able).chance, kind="stable")
    likely = np.union1d(able[order[: sizes.LIKELY_WINNERS]], sample_configurations(first, 4))
    rivals = _cell_winners(first, [whole, *cells.values()], likely)
    sums = _cell_sums(first, rivals, whole)[:, 0]
    if not np.isfinite(sums).any():
        raise InfeasibleError(
            f"no configuration has a finite {goal.text} in every draw, so that none can be chosen "
            "before the draw is known: relax the constraints, or change the axes"
        )
    now = int(np.argmin(sums))
    able = np.union1d(rivals[now : now + 1], able)
    if not source.exact:
        fresh_able = possible_winners(fresh, able[:MAX_RIVALS])
        able = np.union1d(np.union1d(able, sample_configurations(first)), fresh_able)
    place = int(np.searchsorted(able, rivals[now]))
    perfect = win_statistics(fresh, able)
    error = 0.0 if source.exact else float(regret_width(perfect, place, fresh.weights.size))
    evpi = _InformationValue(float(perfect.regret[place]), error, perfect.chance)
    result = {}
    for name in sets:
        if source.exact:
            sums = _cell_sums(first, rivals, cells[name])
            chosen = np.zeros(len(sums))
            np.add.at(chosen, sums.argmin(axis=0)[cells[name]], first.weights)
            gain = float((sums[now] - sums.min(axis=0)).sum())
            result[name] = _InformationValue(gain, 0.0, chosen)
        elif len(sets[name]) == len(columns):
            known = dict(zip(able.tolist(), evpi.choice_shares.tolist(), strict=True))
            shares = np.array([known.get(rival, 0.0) for rival in rivals.tolist()])
            result[name] = evpi._replace(choice_shares=shares)
        else:
            result[name] = _value_by_nested_draws(goal, rivals, now, *nested_grid(name))
    done: list[str] = []
    for name in sorted(sets, key=lambda name: len(sets[name])):
        # no set is worth more than all inputs, or less than a part of it
        within = [result[other].value for other in done if set(sets[other]) <= set(sets[name])]
        worth = min(max([0.0, result[name].value, *within]), evpi.value)
        result[name] = result[name]._replace(value=worth)
        done.append(name)
    return _information_dataset(source, goal, sets, result, (rivals, now), first.axes, evpi)


def _draw_cells(columns: Sequence[Floats], exact: bool) -> Indices:
    """Return the cell of each draw; draws in a cell have similar or equal values in all columns."""
    parts = max(2, round(sizes.CELLS_OF_DRAWS ** (1 / len(columns))))
    keys = []
    for column in columns:
        if exact:
            keys.append(np.unique(column, return_inverse=True)[1])
        else:
            ranks = np.argsort(np.argsort(column, kind="stable"), kind="stable")
            keys.append(ranks * parts // column.size)
    _, result = np.unique(np.stack(keys), axis=1, return_inverse=True)
    return np.asarray(result, dtype=np.int64).reshape(-1)


def _cell_winners(scores: DrawScores, cells: Sequence[Indices], known_winners: Indices) -> Indices:
    """Return ``known_winners`` and the configurations with the smallest mean in some cell.

    ``cells`` has the cell of each draw, for several partitions of the draws. The result ascends.
    """
    starts = np.cumsum([0, *(int(numbers.max()) + 1 for numbers in cells[:-1])])
    together = np.stack([numbers + low for numbers, low in zip(cells, starts, strict=True)])
    able = possible_cell_winners(scores, together)
    result = set(known_winners.tolist())
    for numbers in cells:
        sums = _cell_sums(scores, able, numbers)
        result |= set(able[np.argmin(sums, axis=0)].tolist())
    return np.array(sorted(result), dtype=np.int64)


def _cell_sums(scores: DrawScores, flat: Indices, cells: Indices) -> Floats:
    result = np.empty((flat.size, int(cells.max()) + 1))
    order = np.argsort(cells, kind="stable")
    starts = np.searchsorted(cells[order], np.arange(result.shape[1]))
    weights = scores.weights[order]

    def add_sums(values: Floats, numbers: Indices) -> None:
        result[numbers] = np.add.reduceat(values[:, order] * weights, starts, axis=1)

    scores.visit_some(flat, add_sums)
    return result


def _value_by_nested_draws(
    goal: Goal, rivals: Indices, current: int, grid: Grid, outer: int, inner: int
) -> _InformationValue:
    """Return the value of information if means of the inner draws decide the choice.

    The minimum of noisy means is too low by about their variance, so the value is too high. With
    half of the n inner draws the value is higher still. This excess measures the bias: it equals
    the bias if the bias falls as 1/n, and is three times the bias if the bias falls as 1/n**2
    (evenly spread draws). So we subtract two thirds of the excess, and add one third to the error.
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
        count = np.count_nonzero(gain > 0)
        width = widen_for_few_draws(width, count, each.mean(), apart, gain.size)
    shares = np.array([np.mean(best == number) for number in range(rivals.size)])
    return _InformationValue(float(each.mean()), float(width + abs(over.mean()) / 3), shares)


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
    values = list(set_values.values())
    others = [_most_frequent_alternative(each.choice_shares, now) for each in values]
    coords: dict[str, Any] = {"set": ("set", np.array(list(set_values), dtype=object).astype(str))}
    variables: dict[str, Any] = {}
    places = source.places(rest, flat)
    for name, (axis, array, attrs) in source.coordinates.items():
        if axis not in places:
            continue
        labels = array[places[axis]]
        about = {**attrs, "long_name": f"{attrs.get('long_name', name)} that is best on average"}
        coords[name] = ((), labels[now], about)
        then = labels[np.maximum(others, 0)]
        if min(others) < 0:
            empty = "" if then.dtype.kind == "U" else np.nan
            then = np.where(np.array(others) < 0, empty, then if empty == "" else then * 1.0)
        about = {**attrs, "long_name": f"{name} that is chosen most often instead"}
        variables[f"then_{name}"] = ("set", then, about)
    half = {"units": unit, "long_name": "half its 95 % interval"}
    about = {"units": unit, "long_name": "worth of knowing a set of inputs"}
    changes = {"units": "1", "long_name": "chance that another configuration is chosen then"}
    whole = {"units": unit, "long_name": "worth of knowing all inputs"}
    result: dict[str, Any] = {
        "evppi": ("set", np.array([each.value for each in values]), about),
        "evppi_error": ("set", np.array([each.error for each in values]), half),
        "changes": ("set", np.array([1 - each.choice_shares[now] for each in values]), changes),
        "evpi": ((), perfect.value, whole),
        "evpi_error": ((), perfect.error, half),
    }
    attributes = {
        "question": describe_goals([goal]),
        "next": _next_to_measure(set_values, sets, perfect),
    }
    return assemble({**result, **variables}, coords, attributes)


def _most_frequent_alternative(choice_shares: Floats, current: int) -> int:
    rest = choice_shares.copy()
    rest[current] = 0
    return int(np.argmax(rest)) if rest.any() else -1


def _next_to_measure(
    set_values: Mapping[str, _InformationValue],
    sets: Mapping[str, Sequence[str]],
    perfect: _InformationValue,
) -> str:
    """Return the input that is most worth measuring.

    If no single input has a value above its error, return the best set of inputs or all inputs.
    """
    worth = {name: each.value for name, each in set_values.items() if each.value > each.error}
    alone = [name for name in worth if len(sets[name]) == 1] or list(worth)
    if not alone and perfect.value > perfect.error:
        return ", ".join(dict.fromkeys(part for name in set_values for part in name.split(", ")))
    return max(alone, key=lambda name: worth[name], default=NOTHING_TO_MEASURE)
