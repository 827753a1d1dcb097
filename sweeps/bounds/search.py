"""Branch and bound over boxes: the most promising first, each dug into for a while in machine code.

The boxes still open are kept in a pool. A round takes the boxes with the lowest bounds, which
threads dig into one by one, all from the least value known when the round began: so the answer, and
what is looked at, does not depend on how many threads there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.compiled.tape import encode_tape, pruning_bound
from sweeps.bounds.problem import BoxProblem, Indices
from sweeps.runtime.interrupts import run_with_deadline
from sweeps.runtime.progress import report_best
from sweeps.runtime.resources import run_in_threads
from sweeps.runtime.search_loop import SearchStats, run_search
from symbolic.ops import constant

#: Boxes of a round; of the first, and boxes bounded in each before the next round.
ROUND, BUDGET = sizes.SEARCH_ROUND, sizes.SEARCH_BUDGET
#: Open boxes beyond which those nearest to their end come first, and boxes bounded in each then.
POOL, DEEP_BUDGET = sizes.SEARCH_POOL, sizes.SEARCH_DEEP
#: Not empty once the machine code is there.
_load_done: list[bool] = []
#: Points told of one dig that the library's functions leave in doubt.
_MAX_NEAR_POINTS = sizes.SEARCH_NEAR
#: Boxes bounded before a descent is thought worth its time.
_BOXES_BEFORE_DESCENT = sizes.SEARCH_QUICK


@dataclass(slots=True, kw_only=True)
class Incumbent:
    """The search for the least value, to within a share of it."""

    gap: float = 0.0
    value: float = math.inf
    place: Indices | None = None
    #: The least bound of what was set aside though it might hold a smaller value.
    discarded_bound: float = math.inf
    #: A value as low as which ends the search.
    target: float = -math.inf

    def offer(self, places: Indices, values: NDArray[np.float64]) -> None:
        """Keep the best of some points."""
        if values.size:
            best = int(np.argmin(values))
            if values[best] < self.value:
                self.value, self.place = float(values[best]), places[:, best].copy()

    def tighten(self, value: float) -> None:
        """Seek less than a value found elsewhere."""
        if value < self.value:
            self.value, self.place = value, None


class _BoxStack(NamedTuple):
    """Boxes: the first and last index along each axis, what is supposed, a bound."""

    firsts: Any
    lasts: Any
    assumptions: Any
    bounds: Any

    def take(self, selection: Any) -> _BoxStack:
        return _BoxStack(*(part[selection] for part in self))


class _BoxSearch:
    def __init__(
        self,
        problem: BoxProblem,
        incumbent: Incumbent,
        stats: SearchStats,
        improve: Callable[[], None] | None = None,
    ) -> None:
        self.problem, self.incumbent, self.stats, self.improve = problem, incumbent, stats, improve
        self.tape = encode_tape(problem)
        self.descent_at = stats.boxes + _BOXES_BEFORE_DESCENT
        sizes = problem.sizes
        depth = sum(int(size).bit_length() for size in sizes)
        self.capacity = 4 + depth + self.tape.branch_steps.size
        self.pool = _BoxStack(
            np.zeros((1, sizes.size), dtype=np.int64),
            (sizes - 1)[None],
            np.zeros((1, self.tape.branch_steps.size), dtype=np.int8),
            np.array([-math.inf]),
        )

    def has_open_pieces(self) -> bool:
        """Whether a box is left; those in which a value found since leaves no part are closed."""
        goal, bounds = self.incumbent, self.pool.bounds
        open_to = bounds < pruning_bound(goal.value, goal.gap)
        gone = bounds[~open_to]
        goal.discarded_bound = min(
            goal.discarded_bound, float(gone[gone < goal.value].min(initial=math.inf))
        )
        self.pool = self.pool.take(open_to)
        return bool(self.pool.bounds.size) and goal.value > goal.target

    def step(self) -> None:
        """Dig into the boxes with the lowest bounds; or improve the goal, once, where many are."""
        if self.improve is not None and self.stats.boxes > self.descent_at:
            self.improve()
            self.improve = None
            return
        rank, budget = self.pool.bounds, BUDGET
        if rank.size > POOL:
            rank, budget = -rank, DEEP_BUDGET
        order = np.argsort(rank, kind="stable")
        some, self.pool = self.pool.take(order[:ROUND]), self.pool.take(order[ROUND:])
        if self.improve is not None:
            budget = max(_BOXES_BEFORE_DESCENT // 4, 1)
        limit = self.incumbent.value

        def work(number: int) -> tuple[Any, ...] | None:
            if number and self.stats.is_late:
                return None
            return self._search_box(some.take([number]), limit, budget)

        result = run_in_threads(work, some.bounds.size)
        left = some.take([number for number, one in enumerate(result) if one is None])
        self._collect(left, [one for one in result if one is not None])

    def report(self) -> None:
        """The best so far, and below which nothing is; where any as good as one is sought, not."""
        goal = self.incumbent
        if goal.target == -math.inf:
            report_best(
                goal.value,
                min(float(self.pool.bounds.min(initial=goal.value)), goal.discarded_bound),
            )

    def _search_box(self, box: _BoxStack, limit: float, budget: int) -> tuple[Any, ...]:
        """What is left of a box, the best and where it is, what may be as good, what was done."""
        from sweeps.bounds.compiled.depth_first import make_buffers, search_depth_first

        dims, atoms = box.firsts.shape[1], box.assumptions.shape[1]
        stack = _BoxStack(
            np.empty((self.capacity, dims), dtype=np.int64),
            np.empty((self.capacity, dims), dtype=np.int64),
            np.empty((self.capacity, atoms), dtype=np.int8),
            np.empty(self.capacity),
        )
        for whole, part in zip(stack, box, strict=True):
            whole[:1] = part
        best, place = np.array([limit, math.inf]), np.full(dims, -1)
        counters, near = (
            np.zeros(4, dtype=np.int64),
            np.empty((_MAX_NEAR_POINTS, dims), dtype=np.int64),
        )
        room = make_buffers(self.tape, dims)
        task = (limit, self.incumbent.gap, budget, best, counters, place, near, room)
        count = search_depth_first(self.tape, 1, *stack, *task)
        return stack.take(slice(0, count)), best, place, near[: counters[3]], counters

    def _collect(self, unsearched_boxes: _BoxStack, results: list[tuple[Any, ...]]) -> None:
        """Join what is left; what was found is looked at again, as NumPy computes it."""
        goal, tally = self.incumbent, self.stats
        parts = [self.pool, unsearched_boxes, *(left for left, *_ in results)]
        self.pool = _BoxStack(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        places = [place[None] for _, best, place, *_ in results if best[0] < goal.value]
        places += [near for *_, near, _ in results if near.size or not near.shape[1]]
        if places:
            points = np.concatenate(places).T
            goal.offer(points, self.problem.values(points))
        for _, best, *_, counters in results:
            goal.discarded_bound = min(goal.discarded_bound, best[1])
            tally.boxes += int(counters[0])
            tally.visited_points += int(counters[1])
            tally.scanned_points += int(counters[2])


def search(
    problem: BoxProblem,
    incumbent: Incumbent,
    stats: SearchStats,
    improve: Callable[[], None] | None = None,
) -> float:
    """Improve the goal until no box is left; the least bound of those left when time is up.

    ``improve`` is called once, where many boxes are open.
    """
    one = _BoxSearch(problem, incumbent, stats, improve)
    return math.inf if run_search(one, stats, min_steps=1) else float(one.pool.bounds.min())


def prepare_search(deadline: float = math.inf) -> None:
    """Load the machine code, or compile it where that was never done; once a process.

    Raises
    ------
    OutOfTimeError
        The time is up before.
    """
    if not _load_done:
        run_with_deadline(_run_empty_search, deadline, "the search was compiled")
        _load_done.append(True)


def _run_empty_search() -> None:
    search(BoxProblem(constant(0.0), {}, {}), Incumbent(), SearchStats())


def compile_parts() -> None:
    """Compile those parts of the machine code that another process may compile beside the rest."""
    from sweeps.bounds.compiled import depth_first

    some = _BoxSearch(BoxProblem(constant(0.0), {}, {}), Incumbent(), SearchStats())
    depth_first.compile_parts(
        some.tape, depth_first.make_buffers(some.tape, some.pool.firsts.shape[1])
    )
