"""Which configurations can be best when something is random, how often, and what they would cost.

Who may be best is found on the draws of a study; how often, on fresh ones: a configuration that was
lucky among many is not told to be as good as it was then (the winner's curse). What fresh draws
give to others is told as left over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.source import Parted, check_listed, of_parts, placed_in, winners
from sweeps.grid.at import part_of
from sweeps.grid.dataset import axis_coordinates
from sweeps.grid.flat_index import unravel
from sweeps.grid.goals import Goal, check_top, per_axes
from sweeps.grid.grid import Grid
from sweeps.scan.contest import (
    RIVALS,
    Contest,
    GridContest,
    TableContest,
    all_over,
    can_win,
    judged,
    regret_width,
)
from sweeps.scan.fused import Chosen
from sweeps.scan.values import Table
from symbolic.confidence import share_width
from symbolic.errors import DseError, InfeasibleError
from symbolic.statistic import DRAW, RUN

if TYPE_CHECKING:
    import xarray as xr


# --- What has draws: a grid with random inputs, a Dataset of values that repeat


Indices = NDArray[np.int64]

#: Parts of draws of which nothing is told, each taken for a sample by itself.
_PARTS = 16


class Draws(Parted, Protocol):
    """Configurations of which an objective has a value in each of some draws."""

    @property
    def exact(self) -> bool:
        """Whether all that may happen is looked at."""

    @property
    def quantities(self) -> Mapping[str, Any]:
        """What formulas may name."""

    @property
    def at(self) -> Mapping[str, int]:
        """The index along each axis that is fixed."""

    def rest(self, goal: Goal) -> tuple[str, ...]:
        """The axes, draws excluded, on which it depends."""

    def contests(self, goal: Goal) -> tuple[Contest, Contest]:
        """The objective over draws, and over fresh ones if there are."""

    def places(self, goal: Goal, flat: Indices) -> Mapping[str, Indices]:
        """An index along each of these axes for some configurations."""
        rest, sizes = self.rest(goal), self.sizes
        split = unravel(flat, [sizes[axis] for axis in rest])
        return placed_in(dict(zip(rest, split, strict=True)), self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridDraws(Draws):
    """See :class:`Draws`: of a grid, and of the same with ``fresh`` draws; ``at`` is a part."""

    grid: Grid
    fresh: Grid | None
    at: Mapping[str, int] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """See :class:`Draws`."""
        return self.fresh is None

    @property
    def quantities(self) -> Mapping[str, Any]:
        """See :class:`Draws`."""
        return self.grid.model.quantities

    @property
    def sizes(self) -> dict[str, int]:
        """See :class:`sweeps.ask.source.Parted`."""
        return {name: axis.size for name, axis in self.grid.axes.items() if name != DRAW}

    @property
    def coordinates(self) -> dict[str, tuple[str, NDArray[Any], dict[str, Any]]]:
        """See :class:`sweeps.ask.source.Parted`."""
        return {n: c for n, c in axis_coordinates(self.grid).items() if c[0] != DRAW}

    def only(self, at: Mapping[str, int]) -> Self:
        """See :class:`sweeps.ask.source.Parted`."""
        fresh = None if self.fresh is None else part_of(self.fresh, at)
        return replace(self, grid=part_of(self.grid, at), fresh=fresh, at={**self.at, **at})

    def rest(self, goal: Goal) -> tuple[str, ...]:
        """See :class:`Draws`."""
        return GridContest.of(self.grid, goal).rest

    def contests(self, goal: Goal) -> tuple[Contest, Contest]:
        """See :class:`Draws`."""
        first = GridContest.of(self.grid, goal)
        return first, first if self.fresh is None else GridContest.of(self.fresh, goal)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDraws(Draws):
    """See :class:`Draws`: of a Dataset along ``draw`` or ``run``; there are no fresh ones."""

    table: Table
    at: Mapping[str, int] = field(default_factory=dict)
    exact: bool = False

    @property
    def quantities(self) -> Mapping[str, Any]:
        """See :class:`Draws`."""
        return self.table.quantities

    @property
    def along(self) -> str:
        """The dimension of the draws."""
        found = [axis for axis in (DRAW, RUN) if axis in self.table.axes]
        if len(found) != 1:
            what = "neither" if not found else "both"
            raise DseError(
                f"the Dataset has {what} of the dimensions {DRAW} and {RUN}: chances are over one "
                "of them; rename the dimension of the repeated values (ds.rename), or ask a study "
                "whose inputs have laws (random=)"
            )
        return found[0]

    @property
    def sizes(self) -> dict[str, int]:
        """See :class:`sweeps.ask.source.Parted`."""
        return {axis: size for axis, size in self.table.axes.items() if axis != self.along}

    @property
    def coordinates(self) -> dict[str, tuple[str, NDArray[Any], dict[str, Any]]]:
        """See :class:`sweeps.ask.source.Parted`."""
        return {n: c for n, c in self.table.coordinates.items() if c[0] != self.along}

    def only(self, at: Mapping[str, int]) -> Self:
        """See :class:`sweeps.ask.source.Parted`."""
        return replace(self, table=self.table.part(at), at={**self.at, **at})

    def rest(self, goal: Goal) -> tuple[str, ...]:
        """See :class:`Draws`."""
        return tuple(axis for axis in self.table.values([goal])[1] if axis != self.along)

    def contests(self, goal: Goal) -> tuple[Contest, Contest]:
        """See :class:`Draws`; parts that follow each other are taken for samples."""
        values, dims = self.table.values([goal])
        along, size = self.along, self.table.axes[self.along]
        shape = [self.table.axes[axis] for axis in dims]
        whole = np.broadcast_to(values[0], shape)
        if along not in dims:
            whole = np.broadcast_to(whole[..., None], (*shape, size))
        else:
            whole = np.moveaxis(whole, dims.index(along), -1)
        parts = max(1, min(_PARTS, size // 2))
        groups = np.array_split(np.arange(size), parts)
        longest = max(group.size for group in groups)
        columns = [np.pad(group, (0, longest - group.size), constant_values=-1) for group in groups]
        order = np.concatenate(columns)
        rows = np.where(order >= 0, whole.reshape(-1, size)[:, order], np.inf)
        weights = np.where(order >= 0, 1 / size, 0.0)
        contest = TableContest(
            values=np.ascontiguousarray(rows), count=len(rows), weights=weights, replicates=parts
        )
        return contest, contest


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Won:
    """What the likeliest configurations of a part win: arrays of one length, and single numbers."""

    places: Mapping[str, Indices]
    lists: Mapping[str, Floats]
    alone: Mapping[str, float]
    count: int

    @property
    def length(self) -> int:
        """How many there are."""
        return len(self.lists["chance"])


def chances(
    source: Draws, goal: Goal, *, per: Sequence[str] = (), top: int | None = None
) -> xr.Dataset:
    """How often each configuration is best, and what it costs where it is not.

    Parameters
    ----------
    source : Draws
        A grid with draws, or a table.
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
    parts = of_parts(source, per, lambda part: _won(part, goal, top))
    told = [part for part in parts if isinstance(part, _Won)]
    if not told:
        raise next(part for part in parts if isinstance(part, InfeasibleError))
    shape, longest = tuple(source.sizes[axis] for axis in per), max(p.length for p in told)

    def side_by_side(which: str, name: str, nothing: float) -> NDArray[Any]:
        found = np.full((len(parts), longest), nothing)
        for row, part in zip(found, parts, strict=True):
            if isinstance(part, _Won):
                row[: part.length] = getattr(part, which)[name]
        return found.reshape(*shape, longest)

    first = told[0]
    places = {a: side_by_side("places", a, -1) for a in first.places}
    chosen = Chosen(
        per=per,
        places={axis: array.astype(np.int64) for axis, array in places.items()}
        or {"": np.zeros((*shape, longest), dtype=np.int64)},  # there is one configuration
    )
    lists = {n: side_by_side("lists", n, np.nan) for n in first.lists}
    alone = {
        name: np.array([p.alone[name] if isinstance(p, _Won) else np.nan for p in parts])
        for name in first.alone
    }
    kept = {*source.rest(goal), *per}
    coordinates = {n: c for n, c in source.coordinates.items() if c[0] in kept}
    about = _about(source, goal)
    found = {name: (array, about[name]) for name, array in lists.items()}
    ds = winners(coordinates, found, chosen, [goal], True)
    ds = ds.assign({n: (per, a.reshape(shape), about[n]) for n, a in alone.items()})
    return ds.assign_attrs(configurations=sum(part.count for part in told))


def _about(source: Draws, goal: Goal) -> dict[str, dict[str, str]]:
    row = source.quantities.get(goal.text)
    unit = (row.unit if row is not None else "") or "1"
    told = {
        "chance": ("1", "chance to be the best; ties share a draw equally"),
        "regret": (unit, f"expected loss of {goal.text} against the best of each draw"),
        "left": ("1", "chance that the best is none of those listed"),
    }
    found = {name: {"units": units, "long_name": words} for name, (units, words) in told.items()}
    found |= {
        f"{name}_error": {"units": units, "long_name": f"half the 95 % interval of {name}"}
        for name, (units, _) in told.items()
    }
    return {**found, "none": {"units": "1", "long_name": "chance that nothing is feasible"}}


def _won(source: Draws, goal: Goal, top: int | None) -> _Won:
    first, fresh = source.contests(goal)
    able = can_win(first)
    found = judged(first, able)
    able, chance = able[found.chance > 0], found.chance[found.chance > 0]
    if not able.size:
        raise InfeasibleError(
            f"{goal.text} is finite at no feasible point of any draw: relax the constraints, or "
            "change the axes"
        )
    if top is None:
        check_listed(able.size, "can be the best")
    if not source.exact and fresh is not first:
        rivals = np.union1d(able, can_win(fresh, able[np.argsort(-chance)[:RIVALS]]))
        rivals = np.union1d(rivals, all_over(fresh))  # so that it is known how far others are
        found = judged(fresh, rivals)
        of = np.searchsorted(rivals, able)
    else:
        of = np.flatnonzero(found.chance > 0)
    count = int(able.size)
    order = np.lexsort((able, found.regret[of], -found.chance[of]))[:top]
    of, able = of[order], able[order]
    left = np.delete(found.chance, of).sum()
    lists = {"chance": found.chance[of], "regret": found.regret[of]}
    alone = {"left": float(left), "none": found.none}
    if source.exact:
        lists |= {f"{name}_error": np.zeros(of.size) for name in ("chance", "regret")}
        alone["left_error"] = 0.0
    elif found.chances.shape[1] > 1:
        draws = int(np.count_nonzero(fresh.weights))
        lists["chance_error"] = share_width(found.chances[of], found.chance[of], draws)
        lists["regret_error"] = regret_width(found, of, draws)
        listed = found.chances[of].sum(axis=0), found.chance[of].sum()
        alone["left_error"] = float(share_width(*listed, draws))
    else:
        lists |= {f"{name}_error": np.full(of.size, np.nan) for name in ("chance", "regret")}
        alone["left_error"] = np.nan
    return _Won(places=source.places(goal, able), lists=lists, alone=alone, count=count)
