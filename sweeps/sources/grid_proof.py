"""A grid as a source with certificates: bounds over boxes prove that no configuration is better."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from sweeps.bounds.best_as_axis import InnerAxes, best_as_axes
from sweeps.bounds.checks import check_enclosable, check_grid
from sweeps.bounds.problem import Boxes, Key
from sweeps.bounds.search import prepare_search
from sweeps.bounds.statistics_as_formulas import expand_statistics, unexpanded_statistic
from sweeps.certify.certificate import certificate_text
from sweeps.certify.front import certified_front
from sweeps.certify.optimum import (
    NO_WINNER,
    SwitchCase,
    Winner,
    best_in_cell,
    ranked_winners,
    switch_cases,
)
from sweeps.certify.targets import certified_boxes
from sweeps.files.atomic_write import write_atomic
from sweeps.grid.dataset import preload_xarray
from sweeps.grid.goals import Goal, dims_of, objective_name, objective_node
from sweeps.grid.grid import Grid, subgrid
from sweeps.grid.lazy_statistics import LazyStatistic
from sweeps.query.optimum import optimum, pareto
from sweeps.query.source import (
    Front,
    ObjectiveStage,
    Query,
    QuerySource,
    RankedPoints,
    check_listable,
    describe_near_best,
    places_in_whole,
    points_in_whole,
    repeat_over_idle_axes,
    tolerance_limit,
)
from sweeps.query.support_table import reject_statistic
from sweeps.runtime.interrupts import is_interrupted, raise_if_out_of_time, time_limited
from sweeps.runtime.progress import gap_of
from sweeps.runtime.search_loop import SearchStats
from sweeps.sources.grid_scan import GridScan, GridSource, stage_node
from symbolic.errors import OutOfTimeError
from symbolic.ops import Node, constant, references

if TYPE_CHECKING:
    import xarray as xr

_MAX_BOXES = sizes.LISTED_BOXES
SCAN_FIRST_POINTS = sizes.SCANNED
MAX_SCAN_POINTS = sizes.SCANNABLE
#: Number of points per second that a scan for an optimum, and for a cover of a front, evaluates.
SCAN_POINTS_PER_SECOND, COVER_POINTS_PER_SECOND = 1e9, 5e7


@dataclass(slots=True, kw_only=True)
class _ProofState:
    """The state that all searches of one answer share.

    ``stages_left`` is the number of searches that share the time until ``final_deadline`` [s].
    ``winners`` has, for each objective, the certified winner of each search.
    """

    query: Query
    stats: SearchStats
    final_deadline: float
    stages_left: int
    winners: list[list[Winner]]

    def share_time(self) -> None:
        self.stats.share_time(self.final_deadline, self.stages_left)
        self.stages_left -= 1


def prepare_proof(
    grid: Grid, query: Query, *, front: bool = False, as_formulas: bool = False
) -> GridProof:
    """Return a source that certifies answers; raise DseError if a quantity has no enclosure.

    With ``as_formulas``, a statistic becomes a formula even if it is cheap to compute.
    """
    plain, tally = grid, SearchStats.start(query.time_limit)
    grid = expand_statistics(plain, inputs_move=as_formulas)
    if query.time_limit is not None:
        preload_xarray()
    if not front:  # `certified_front` checks this itself
        prepare_search(tally.deadline)
    over_best = {} if front else _searched_over_best(plain, grid, query)
    if over_best:
        inner = replace(grid, leaves={key: known.leaves for key, known in over_best.items()})
        check_enclosable(inner, {key: known.root for key, known in over_best.items()})
    for roots in () if over_best else _objective_roots(grid, query):
        reject_statistic(unexpanded_statistic(grid, roots), "many")
        if not front:
            check_enclosable(grid, roots)
    if not front:
        check_grid(grid, count_points=False, stats=tally)
    stages = (1 if front else len(query.goals)) * math.prod(grid.shape(query.per))
    winners: list[list[Winner]] = [[] for _ in query.goals]
    search = _ProofState(
        query=query, stats=tally, final_deadline=tally.deadline, stages_left=stages, winners=winners
    )
    return GridProof(grid=grid, state=search, over_best=over_best)


def _searched_over_best(plain: Grid, grid: Grid, query: Query) -> dict[Key, InnerAxes]:
    """Return the only objective with inner axes for best values, or {} if it needs others too."""
    if len(query.goals) > 1 or query.is_ranked:
        return {}
    result = {}
    for key, root in _objective_roots(plain, query)[0].items():
        sizes = {axis: plain.axes[axis].size for axis in plain.non_switch_axes(plain.axes)}
        known = best_as_axes(root, {**grid.leaves[key], **plain.leaves[key]}, sizes)
        if any(isinstance(known.leaves[name], LazyStatistic) for name in references(known.root)):
            return {}
        result[key] = known
    return result if any(known.sizes for known in result.values()) else {}


def _objective_roots(grid: Grid, query: Query) -> list[dict[tuple[str, ...], Node]]:
    return [{key: objective_node(grid, key, goal) for key in grid.graphs} for goal in query.goals]


@dataclass(frozen=True, slots=True, kw_only=True)
class GridProof(GridSource):
    """A grid as a source whose answers are certified by searches."""

    grid: Grid
    state: _ProofState
    over_best: Mapping[Key, InnerAxes] = field(default_factory=dict)
    fixed_indices: Mapping[str, int] = field(default_factory=dict)
    _cases: dict[Any, list[SwitchCase]] = field(default_factory=dict)

    def part_at(self, indices: Mapping[str, int]) -> GridProof:
        """Return the part at one index of some axes."""
        return replace(self, fixed_indices={**self.fixed_indices, **indices})

    def _stage_cases(self, stage: ObjectiveStage, extra_axes: Sequence[str]) -> list[SwitchCase]:
        """Return a case per set of switch labels: an objective under bounds on earlier ones."""
        if tuple(extra_axes) not in self._cases:
            self._cases[tuple(extra_axes)] = switch_cases(self.grid, stage.goals, extra_axes)
        if self.over_best:
            return [
                replace(part, root=known.root, leaves=known.leaves, inner_sizes=known.sizes)
                for part in self._cases[tuple(extra_axes)]
                for known in [self.over_best[part.key]]
            ]
        return [
            replace(part, root=stage_node(self.grid, part.key, stage))
            for part in self._cases[tuple(extra_axes)]
        ]

    def best(self, stage: ObjectiveStage, per: Sequence[str], top: int) -> RankedPoints:
        """Return the ``top`` best points by a stage's objective, with ties in axis order."""
        grid, search = self.grid, self.state
        shape = grid.shape(per)
        # several winners may differ only along axes without influence, so include these axes
        axes = tuple(grid.axes) if top > 1 else grid.sort_axes({*per, *self.fixed_indices})
        parts = self._stage_cases(stage, axes)
        lost, winners = False, []
        for number, cell in enumerate(np.ndindex(*shape)):
            raise_if_out_of_time(number, math.prod(shape))
            search.share_time()
            here = {**self.fixed_indices, **dict(zip(per, cell, strict=True))}
            winners.append(self._cell_winners(parts, here, stage, top))
            for result in winners[-1]:
                late = search.stats.is_late or result.bound < math.inf
                lost |= result.place is None and late
        # allocate the arrays only if all cells were searched in time
        places = {axis: np.full((*shape, top), -1, dtype=np.int64) for axis in grid.axes}
        scores = np.full((*shape, top), math.inf)
        for cell, ranked in zip(np.ndindex(*shape), winners, strict=True):
            for rank, result in enumerate(ranked):
                if result.place is not None:
                    scores[(*cell, rank)] = result.value
                    for axis in grid.axes:
                        places[axis][(*cell, rank)] = result.place[axis]
        if lost and np.all(np.isinf(scores)):
            limit = search.query.time_limit
            raise OutOfTimeError(
                f"no feasible point with a finite {stage.goal.text} was found"
                f"{'' if limit is None else f' in {limit:g} s'}, nor is it proven that there is "
                "none: give more time, or relax the constraints"
            )
        if not per:  # drop ranks without a point
            ranks = max(int(np.count_nonzero(scores < math.inf)), 1)
            places = {axis: index[:ranks] for axis, index in places.items()}
            scores = scores[:ranks]
        return RankedPoints(places=places, scores=scores)

    def _cell_winners(
        self, cases: Sequence[SwitchCase], cell: Mapping[str, int], stage: ObjectiveStage, top: int
    ) -> list[Winner]:
        grid, search = self.grid, self.state
        if top == 1:
            settle = stage.number == len(stage.goals) - 1 and not search.query.has_ties_or_within
            gap = search.query.gap or 0.0
            some = [best_in_cell(grid, cases, cell, gap, search.stats, break_ties=settle)]
        else:
            with np.errstate(all="ignore"):
                some = list(itertools.islice(ranked_winners(grid, cases, cell, search.stats), top))
        search.winners[stage.number].append((some or [NO_WINNER])[0])
        return some

    def write_certificate(self, path: str | Path, gap: float) -> None:
        """Write a proof that the optimum is best up to a gap, for a separate checker."""
        (goal,), ((winner,),) = self.state.query.goals, self.state.winners
        assert winner.place is not None
        cases = self._stage_cases(ObjectiveStage(goals=(goal,)), ())
        write_atomic(path, certificate_text(self.grid, cases, goal, winner.place, gap))

    def within_tolerance(
        self, stage: ObjectiveStage, best_score: float, tolerance: float
    ) -> RankedPoints:
        """Return all points within a tolerance of a value; raise OutOfTimeError if not proven."""
        tally, goal = self.state.stats, stage.goal
        best = self.state.winners[stage.number][-1]
        if best.bound < best.value:
            raise OutOfTimeError(
                f"the best, {goal.sign * best_score:.6g} so far, was not proven in time: give more "
                "time"
            )
        limit = tolerance_limit(best_score, tolerance)
        what = describe_near_best(goal, best_score, tolerance)
        grid = subgrid(self.grid, self.fixed_indices)
        dims = grid.sort_axes(dims_of(grid, stage.goals))
        near = {key: constant(stage_node(grid, key, stage) <= limit) for key in grid.graphs}
        tally.deadline = self.state.final_deadline
        met = certified_boxes(grid, near, dims, tally, max_boxes=_MAX_BOXES)
        sure = Boxes(met.lo, met.hi).take(met.certain)
        count = sum(math.prod(int(n) for n in row) for row in (sure.hi - sure.lo + 1).T)
        if not met.complete:
            late, full = "in time: give more time", f"with {_MAX_BOXES:,} boxes: use method='scan'"
            raise OutOfTimeError(
                f"at least {count:,} configurations {what}; not all could be listed "
                f"{late if tally.is_late else full}, ask for a smaller share, or fix some axes by "
                "constraints"
            )
        idle = [axis for axis in grid.axes if axis not in dims]
        check_listable(count * math.prod(grid.shape(idle)), what, idle)
        index = dict(zip(dims, sure.all_points(), strict=True))
        sizes = {axis: grid.axes[axis].size for axis in grid.axes}
        scores = np.full(count, best_score)
        if dims:
            places = {axis: index.get(axis, np.zeros(count, dtype=np.int64)) for axis in sizes}
            places = places_in_whole(places, self.fixed_indices)
            (scores,) = self.compute([goal.node(self.quantities)], places)
        return points_in_whole(repeat_over_idle_axes(index, scores, sizes), self.fixed_indices)

    def front(self, goals: Sequence[Goal], epsilon: float = 0.0) -> Front:
        """Return the Pareto front, without equal points. The parts share the remaining time."""
        search = self.state
        search.share_time()
        part = subgrid(self.grid, self.fixed_indices)
        stats = SearchStats(deadline=search.stats.deadline)
        index, attributes, proven = certified_front(part, goals, stats, epsilon)
        places = places_in_whole(dict(zip(part.axes, index.T, strict=True)), self.fixed_indices)
        return Front(places=places, attributes=attributes, proven_mask=proven, epsilon=epsilon)

    def result_attributes(self, goals: Sequence[Goal], answer: xr.Dataset) -> dict[str, Any]:
        """Return the certificate of each objective, and the work done, as attributes.

        No configuration is better than ``bound``. ``gap`` is the distance between the value and the
        bound, relative to the value. It is 0 if the value is the proven optimum. For several
        objectives, both are lists. ``settled`` is 1 if ties are broken by axis order.
        ``points_visited`` counts evaluations; ``points_excluded`` counts points that bounds exclude
        without an evaluation.
        """
        tally, bounds, gaps = self.state.stats, [], []
        for number, (goal, winners) in enumerate(zip(goals, self.state.winners, strict=True)):
            some = [winner for winner in winners if winner.place is not None]
            if not some:
                bounds.append(-goal.sign * math.inf)
                gaps.append(math.inf)
                continue
            values = [winner.value for winner in winners]
            if len(goals) > 1 and len(winners) == 1 and not answer.sizes:
                # a search for later objectives may improve a value that has a gap
                name = objective_name(goals, number, answer.variables)
                values = [min(values[0], goal.sign * float(answer[name]))]
            off = [gap_of(v, winner.bound) for v, winner in zip(values, winners, strict=True)]
            worst = max(range(len(some)), key=lambda k: gap_of(some[k].value, some[k].bound))
            bounds.append(float(goal.sign * some[worst].bound))
            gaps.append(float(max(off)))
        last = self.state.winners[-1]
        several, listed = len(goals) > 1, self.state.query.has_ties_or_within
        excluded = max(self.grid.points - max(tally.visited_points, len(last)), 0)
        return {
            "method": "certified",
            "bound": bounds if several else bounds[0],
            "gap": gaps if several else gaps[0],
            "settled": int(bool(last) and all(winner.is_settled or listed for winner in last)),
            "boxes": tally.boxes,
            "points_visited": tally.visited_points,
            "points_excluded": excluded if excluded < 2**63 else float(excluded),
        }


def find_optimum(source: Any, query: Query, certificate: str | Path | None = None) -> xr.Dataset:
    """Return the optimum of any source. The attribute ``method`` says how a grid was searched.

    ``"auto"`` scans small grids, and also larger grids if several ranks are wanted. In other grids
    it searches for a certificate for as long as a scan would take. If it finds none, it scans.
    """
    if not isinstance(source, GridScan) or query.method == "scan":
        return optimum(source, query)
    grid = source.grid
    if query.method == "certified" or query.has_limit:
        gap = query.gap or 0.0
        if certificate is not None:  # a better incumbent lets boxes of the proof be larger
            query = replace(query, gap=gap / 4)
        proof = prepare_proof(grid, query, as_formulas=certificate is not None)
        result = optimum(proof, query)
        if certificate is not None and not is_interrupted():
            proof.write_certificate(certificate, max(gap, result.attrs["gap"]))
        return result
    points = math.prod(grid.shape({*dims_of(grid, query.goals), *query.per}))
    whole = expand_statistics(grid) if points > SCAN_FIRST_POINTS else grid
    if points > SCAN_FIRST_POINTS and any(
        unexpanded_statistic(whole, roots) for roots in _objective_roots(whole, query)
    ):
        return optimum(source, query)
    if points > MAX_SCAN_POINTS:
        return optimum(prepare_proof(grid, query), query)
    if query.top == 1 and points > SCAN_FIRST_POINTS:
        bounded = replace(query, time_limit=points / SCAN_POINTS_PER_SECOND)
        best = _answer_in_time(bounded, lambda: optimum(prepare_proof(grid, bounded), bounded))
        if best is not None and (
            is_interrupted() or (not np.any(best.attrs["gap"]) and best.attrs["settled"])
        ):
            return best
    return optimum(source, query)


def _answer_in_time(query: Query, search: Callable[[], xr.Dataset]) -> xr.Dataset | None:
    """Return the answer of a search that a scan may follow; None if it had no result in time."""
    try:
        with time_limited(query.time_limit):
            return search()
    except OutOfTimeError:
        if is_interrupted():
            raise
        return None


def find_front(source: Any, query: Query) -> xr.Dataset:
    """Return the front of any source.

    ``"auto"`` scans grids of at most MAX_SCAN_POINTS points. With a tolerance, a grid of more than
    SCAN_FIRST_POINTS points is first searched for as long as a scan would take, if bounds exist.
    With a time limit, a grid is scanned only for a cover, and if this takes half of the time.
    """

    def answer(source: QuerySource) -> xr.Dataset:
        return pareto(source, query.goals, query.per, query.epsilon, query.reference)

    if not isinstance(source, GridScan) or query.method == "scan":
        return answer(source)
    grid, limit = source.grid, query.time_limit
    points = math.prod(grid.shape(dims_of(grid, query.goals)))
    seconds = points / COVER_POINTS_PER_SECOND
    can_scan = points <= MAX_SCAN_POINTS if limit is None else query.epsilon and seconds < limit / 2
    if query.method == "certified" or not can_scan:
        return answer(prepare_proof(grid, query, front=True))
    if query.epsilon and points > SCAN_FIRST_POINTS:
        whole = expand_statistics(grid)
        if not any(unexpanded_statistic(whole, r) for r in _objective_roots(whole, query)):
            bounded = replace(query, time_limit=seconds)
            proof = prepare_proof(grid, bounded, front=True)
            result = _answer_in_time(bounded, lambda: answer(proof))
            if result is not None and (is_interrupted() or result.attrs["complete"]):
                return result
    return answer(source)
