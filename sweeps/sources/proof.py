"""A grid as what is asked, with a proof: enclosures of whole boxes tell that nothing is better."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.ask.matrix import refuse_statistic
from sweeps.ask.optimum import optimum, pareto
from sweeps.ask.source import (
    Ask,
    Choice,
    Front,
    Stage,
    as_good,
    check_listed,
    everywhere,
    limit_of,
    placed_in,
    restored,
)
from sweeps.bounds.check import check, enclosed
from sweeps.bounds.expanding import expanded, waiting
from sweeps.bounds.problem import Boxes
from sweeps.bounds.search import ready
from sweeps.grid.dataset import prepared
from sweeps.grid.goals import Goal, dims_of, objective_name, objective_node
from sweeps.grid.grid import Grid, part_of
from sweeps.prove.fronts import certified_front
from sweeps.prove.parts import NOTHING, Part, Winner, best_within, in_rank, parts_of
from sweeps.prove.targets import meeting
from sweeps.runtime.loop import Tally
from sweeps.runtime.progress import gap_of
from sweeps.runtime.stopping import halt_between, stopped, time_limited
from sweeps.sources.grids import GridScan, OfGrid, stage_node
from symbolic.errors import OutOfTimeError
from symbolic.ops import Node, constant

if TYPE_CHECKING:
    import xarray as xr


Indices = NDArray[np.int64]

#: Most boxes that are held where all that is near the best is listed.
_BOXES = sizes.LISTED_BOXES


@dataclass(slots=True, kw_only=True)
class _Search:
    """What all searches of one answer share: the clock, and what was proven of each objective."""

    ask: Ask
    tally: Tally
    end: float
    stages: int
    winners: list[list[Winner]]

    def share(self) -> None:
        """The time that is left is shared by the searches that are left."""
        self.tally.share(self.end, self.stages)
        self.stages -= 1


def proof_of(grid: Grid, ask: Ask, *, front: bool = False) -> GridProof:
    """A grid of which a question is to be answered with a proof: the best, or the front.

    Raises
    ------
    DseError
        Something has no enclosure, or no value at some points.
    """
    grid, tally = expanded(grid), Tally.of(ask.time_limit)
    if ask.time_limit is not None:
        prepared()
    if not front:  # a front is checked where it is searched
        ready(tally.deadline)
    for roots in _roots(grid, ask):
        refuse_statistic(waiting(grid, roots), "many")
        if not front:
            enclosed(grid, roots)
    if not front:
        check(grid, counted=False, tally=tally)
    stages = (1 if front else len(ask.goals)) * math.prod(grid.shape(ask.per))
    winners: list[list[Winner]] = [[] for _ in ask.goals]
    search = _Search(ask=ask, tally=tally, end=tally.deadline, stages=stages, winners=winners)
    return GridProof(grid=grid, search=search)


def _roots(grid: Grid, ask: Ask) -> list[dict[tuple[str, ...], Node]]:
    """Return each objective over the leaves, by the labels of the switch axes."""
    return [{key: objective_node(grid, key, goal) for key in grid.graphs} for goal in ask.goals]


@dataclass(frozen=True, slots=True, kw_only=True)
class GridProof(OfGrid):
    """A grid, and the searches that prove what is best there."""

    grid: Grid
    search: _Search
    at: Mapping[str, int] = field(default_factory=dict)
    _parts: dict[Any, list[Part]] = field(default_factory=dict)

    def only(self, at: Mapping[str, int]) -> GridProof:
        """The part at one index of some axes."""
        return replace(self, at={**self.at, **at})

    def _of(self, stage: Stage, kept: Sequence[str]) -> list[Part]:
        """The next objective where the others hold, under each label of the switch axes."""
        if tuple(kept) not in self._parts:
            self._parts[tuple(kept)] = parts_of(self.grid, stage.goals, kept)
        return [
            replace(part, root=stage_node(self.grid, part.key, stage))
            for part in self._parts[tuple(kept)]
        ]

    def best(self, stage: Stage, per: Sequence[str], top: int) -> Choice:
        """See :class:`sweeps.ask.source.Source`."""
        grid, search = self.grid, self.search
        shape = grid.shape(per)
        # several winners may be equal along axes on which nothing depends
        kept = tuple(grid.axes) if top > 1 else grid.ordered({*per, *self.at})
        parts = self._of(stage, kept)
        lost, winners = False, []
        for number, cell in enumerate(np.ndindex(*shape)):
            halt_between(number, math.prod(shape))
            search.share()
            here = {**self.at, **dict(zip(per, cell, strict=True))}
            winners.append(self._winners(parts, here, stage, top))
            for found in winners[-1]:
                late = search.tally.late or found.bound < math.inf
                lost |= found.place is None and late
        # large arrays are not made where the time is up before all cells are searched
        places = {axis: np.full((*shape, top), -1, dtype=np.int64) for axis in grid.axes}
        scores = np.full((*shape, top), math.inf)
        for cell, ranked in zip(np.ndindex(*shape), winners, strict=True):
            for rank, found in enumerate(ranked):
                if found.place is not None:
                    scores[(*cell, rank)] = found.value
                    for axis in grid.axes:
                        places[axis][(*cell, rank)] = found.place[axis]
        if lost and np.all(np.isinf(scores)):
            limit = search.ask.time_limit
            raise OutOfTimeError(
                f"no feasible point with a finite {stage.goal.text} was found"
                f"{'' if limit is None else f' in {limit:g} s'}, nor is it proven that there is "
                "none: give more time, or relax the constraints"
            )
        if not per:  # without the ranks that no point takes
            ranks = max(int(np.count_nonzero(scores < math.inf)), 1)
            places = {axis: index[:ranks] for axis, index in places.items()}
            scores = scores[:ranks]
        return Choice(places=places, scores=scores)

    def _winners(
        self, parts: Sequence[Part], here: Mapping[str, int], stage: Stage, top: int
    ) -> list[Winner]:
        grid, search = self.grid, self.search
        if top == 1:
            settle = stage.number == len(stage.goals) - 1 and not search.ask.listed
            gap = search.ask.gap or 0.0
            some = [best_within(grid, parts, here, gap, search.tally, settle=settle)]
        else:
            with np.errstate(all="ignore"):
                some = list(itertools.islice(in_rank(grid, parts, here, search.tally), top))
        search.winners[stage.number].append((some or [NOTHING])[0])
        return some

    def upto(self, stage: Stage, least: float, within: float) -> Choice:
        """See :class:`sweeps.ask.source.Source`: all boxes throughout which values are as good.

        Raises
        ------
        OutOfTimeError
            The best, or not all that is near it, was proven in time.
        """
        tally, goal = self.search.tally, stage.goal
        best = self.search.winners[stage.number][-1]
        if best.bound < best.value:
            raise OutOfTimeError(
                f"the best, {goal.sign * least:.6g} so far, was not proven in time: give more time"
            )
        limit, what = limit_of(least, within), as_good(goal, least, within)
        grid = part_of(self.grid, self.at)
        dims = grid.ordered(dims_of(grid, stage.goals))
        near = {key: constant(stage_node(grid, key, stage) <= limit) for key in grid.graphs}
        tally.deadline = self.search.end
        met = meeting(grid, near, dims, tally, most=_BOXES)
        sure = Boxes(met.lo, met.hi).take(met.certain)
        count = sum(math.prod(int(n) for n in row) for row in (sure.hi - sure.lo + 1).T)
        if not met.complete:
            raise OutOfTimeError(
                f"at least {count:,} configurations {what}; not all could be told "
                + ("in time: give more time" if tally.late else f"with {_BOXES:,} boxes: scan them")
                + ", a smaller share, or fix some axes by constraints"
            )
        idle = [axis for axis in grid.axes if axis not in dims]
        check_listed(count * math.prod(grid.shape(idle)), what, idle)
        index = dict(zip(dims, sure.inside(), strict=True))
        sizes = {axis: grid.axes[axis].size for axis in grid.axes}
        scores = np.full(count, least)
        if dims:
            places = {axis: index.get(axis, np.zeros(count, dtype=np.int64)) for axis in sizes}
            (scores,) = self.compute([goal.node(self.quantities)], placed_in(places, self.at))
        return restored(everywhere(index, scores, sizes), self.at)

    def front(self, goals: Sequence[Goal]) -> Front:
        """See :class:`sweeps.ask.source.Source`; the time left is shared by the parts left."""
        search = self.search
        search.share()
        part, tally = part_of(self.grid, self.at), Tally(deadline=search.tally.deadline)
        index, told, proven = certified_front(part, goals, tally)
        places = dict(zip(part.axes, index.T, strict=True))
        return Front(places=placed_in(places, self.at), told=told, proven=proven)

    def told(self, goals: Sequence[Goal], found: xr.Dataset) -> dict[str, Any]:
        """The certificate: how far off every objective can be, and what was looked at.

        No configuration is better than ``bound``; ``gap`` is how far, in shares of the value found,
        that is from it: 0 where it is proven to be the optimum. Of several objectives in order of
        priority there are as many bounds and gaps. ``settled`` says that of equal ones it is the
        first in the order of the axes. ``points_visited`` counts the points looked at, some of them
        more than once; ``points_excluded`` those of which bounds over boxes told enough.
        """
        tally, bounds, gaps = self.search.tally, [], []
        for number, (goal, winners) in enumerate(zip(goals, self.search.winners, strict=True)):
            some = [winner for winner in winners if winner.place is not None]
            if not some:
                bounds.append(-goal.sign * math.inf)
                gaps.append(math.inf)
                continue
            values = [winner.value for winner in winners]
            if len(goals) > 1 and len(winners) == 1 and not found.sizes:
                # what was found later may be better by an objective proven to a share only
                name = objective_name(goals, number, found.variables)
                values = [min(values[0], goal.sign * float(found[name]))]
            off = [gap_of(v, winner.bound) for v, winner in zip(values, winners, strict=True)]
            worst = max(range(len(some)), key=lambda k: gap_of(some[k].value, some[k].bound))
            bounds.append(goal.sign * some[worst].bound)
            gaps.append(max(off))
        last = self.search.winners[-1]
        several, listed = len(goals) > 1, self.search.ask.listed
        excluded = max(self.grid.points - max(tally.scanned, len(last)), 0)
        return {
            "method": "certified",
            "bound": bounds if several else bounds[0],
            "gap": gaps if several else gaps[0],
            "settled": int(bool(last) and all(one.settled or listed for one in last)),
            "boxes": tally.boxes,
            "points_visited": tally.visited,
            "points_excluded": excluded if excluded < 2**63 else float(excluded),
        }


# --- By a scan, with a proof, or by whichever is quicker


#: Up to so many points a scan takes no longer than a proof; up to so many it is what remains where
#: no proof is found in the time of a scan, at so many points a second.
SCANNED, SCANNABLE, SCANNED_A_SECOND = sizes.SCANNED, sizes.SCANNABLE, 1e9


def best_of(source: Any, ask: Ask) -> xr.Dataset:
    """The best configurations of any source; of a grid the attribute ``method`` says how.

    ``"auto"`` scans small grids, for several ranks larger ones, too. Otherwise it looks for a
    proof, and scans where none is found in the time that a scan takes, if that is reasonable.
    """
    if not isinstance(source, GridScan) or ask.method == "scan":
        return optimum(source, ask)
    grid = source.grid
    if ask.method == "certified" or ask.limited:
        return optimum(proof_of(grid, ask), ask)
    points = math.prod(grid.shape({*dims_of(grid, ask.goals), *ask.per}))
    whole = expanded(grid) if points > SCANNED else grid
    if points > SCANNED and any(waiting(whole, roots) for roots in _roots(whole, ask)):
        return optimum(source, ask)
    if points > SCANNABLE:
        return optimum(proof_of(grid, ask), ask)
    if ask.top == 1 and points > SCANNED:
        bounded = replace(ask, time_limit=points / SCANNED_A_SECOND)
        try:
            with time_limited(bounded.time_limit):
                found = optimum(proof_of(grid, bounded), bounded)
        except OutOfTimeError:
            if stopped():
                raise
            return optimum(source, ask)
        gaps = found.attrs["gap"] if len(ask.goals) > 1 else [found.attrs["gap"]]
        if stopped() or (not any(gaps) and found.attrs["settled"]):
            return found
    return optimum(source, ask)


def front_of(source: Any, ask: Ask) -> xr.Dataset:
    """The front of any source; ``"auto"`` scans of a grid what a scan can pass over."""
    if isinstance(source, GridScan) and ask.method != "scan":
        grid = source.grid
        vast = math.prod(grid.shape(dims_of(grid, ask.goals))) > SCANNABLE
        if ask.method == "certified" or ask.limited or vast:
            source = proof_of(grid, ask, front=True)
    return pareto(source, ask.goals, ask.per)
