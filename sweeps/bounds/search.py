"""Branch and bound over boxes: take the boxes with the lowest bounds, and search each depth first.

A pool contains the open boxes. In each round, threads search the boxes with the lowest bounds depth
first within a budget. All threads start from the best value known when the round began. So neither
the answer nor the visited boxes depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stochastic import sizes
from sweeps.bounds.compiled.tape import encode_tape, pruning_bound
from sweeps.bounds.problem import BoxProblem, Floats, Indices
from sweeps.runtime.interrupts import run_with_deadline
from sweeps.runtime.progress import report_best
from sweeps.runtime.resources import run_in_threads
from sweeps.runtime.search_loop import SearchStats, run_search
from symbolic.ops import constant

Improve = Callable[[], None]

ROUND, BUDGET = sizes.SEARCH_ROUND, sizes.SEARCH_BUDGET
POOL, DEEP_BUDGET = sizes.SEARCH_POOL, sizes.SEARCH_DEEP
_load_done: list[bool] = []
_MAX_NEAR_POINTS = sizes.SEARCH_NEAR
_BOXES_BEFORE_DESCENT = sizes.SEARCH_QUICK


@dataclass(slots=True, kw_only=True)
class Incumbent:
    """The best point so far of a search that may miss the minimum by a relative gap."""

    gap: float = 0.0
    value: float = math.inf
    place: Indices | None = None
    #: The lowest bound of the boxes dropped because of the gap. They may contain a lower value.
    discarded_bound: float = math.inf
    #: The search ends when it finds a value of at most this target.
    target: float = -math.inf

    def offer(self, places: Indices, values: Floats) -> None:
        """Replace the incumbent by the best of some points if that point is better."""
        if values.size:
            best = int(np.argmin(values))
            if values[best] < self.value:
                self.value, self.place = float(values[best]), places[:, best].copy()

    def tighten(self, value: float) -> None:
        """Accept from now on only points below ``value``, which another search has reached."""
        if value < self.value:
            self.value, self.place = value, None


class _BoxStack(NamedTuple):
    """Boxes in rows: first and last index along each axis, assumptions about steps, and a bound."""

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
        improve: Improve | None = None,
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
        goal, bounds = self.incumbent, self.pool.bounds
        open_to = bounds < pruning_bound(goal.value, goal.gap)
        gone = bounds[~open_to]
        least = float(gone[gone < goal.value].min(initial=math.inf))
        goal.discarded_bound = min(goal.discarded_bound, least)
        self.pool = self.pool.take(open_to)
        return bool(self.pool.bounds.size) and goal.value > goal.target

    def step(self) -> None:
        """Search the boxes with the lowest bounds; after many boxes, run ``improve`` once."""
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
        left = some.take([number for number, part in enumerate(result) if part is None])
        self._collect(left, [part for part in result if part is not None])

    def report(self) -> None:
        goal = self.incumbent
        if goal.target == -math.inf:
            bound = float(self.pool.bounds.min(initial=goal.value))
            report_best(goal.value, min(bound, goal.discarded_bound))

    def _search_box(self, box: _BoxStack, limit: float, budget: int) -> tuple[Any, ...]:
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
        counters = np.zeros(4, dtype=np.int64)
        near = np.empty((_MAX_NEAR_POINTS, dims), dtype=np.int64)
        buffers = make_buffers(self.tape, dims)
        task = (limit, self.incumbent.gap, budget, best, counters, place, near, buffers)
        count = search_depth_first(self.tape, 1, *stack, *task)
        return stack.take(slice(0, count)), best, place, near[: counters[3]], counters

    def _collect(self, unsearched_boxes: _BoxStack, results: list[tuple[Any, ...]]) -> None:
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
    problem: BoxProblem, incumbent: Incumbent, stats: SearchStats, improve: Improve | None = None
) -> float:
    """Improve the incumbent until no box is open, and return infinity.

    If the time is up before, return the lowest bound of the open boxes. ``improve`` is a heuristic
    that is called once if the search takes many boxes.
    """
    boxes = _BoxSearch(problem, incumbent, stats, improve)
    return math.inf if run_search(boxes, stats, min_steps=1) else float(boxes.pool.bounds.min())


def prepare_search(deadline: float = math.inf) -> None:
    """Load or compile the compiled search; raise OutOfTimeError if the deadline passes first."""
    if not _load_done:
        run_with_deadline(_run_empty_search, deadline, "the search was compiled")
        _load_done.append(True)


def _run_empty_search() -> None:
    search(BoxProblem(constant(0.0), {}, {}), Incumbent(), SearchStats())


def compile_parts() -> None:
    """Compile those functions of the search that a separate process can compile."""
    from sweeps.bounds.compiled import depth_first

    tape = encode_tape(BoxProblem(constant(0.0), {}, {}))
    depth_first.compile_parts(tape, depth_first.make_buffers(tape, 0))
