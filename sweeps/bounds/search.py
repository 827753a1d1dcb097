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
from sweeps.bounds.machine.tape import allowed, encoded
from sweeps.bounds.problem import Indices, Problem
from sweeps.runtime.loop import Tally, explore
from sweeps.runtime.memory import in_threads
from sweeps.runtime.progress import best_so_far
from sweeps.runtime.stopping import in_time
from symbolic.ops import constant

#: Boxes of a round; of the first, and boxes bounded in each before the next round.
ROUND, BUDGET = sizes.SEARCH_ROUND, sizes.SEARCH_BUDGET
#: Open boxes beyond which those nearest to their end come first, and boxes bounded in each then.
POOL, DEEP = sizes.SEARCH_POOL, sizes.SEARCH_DEEP
#: Not empty once the machine code is there.
_loaded: list[bool] = []
#: Points told of one dig that the library's functions leave in doubt.
_NEAR = sizes.SEARCH_NEAR
#: Boxes bounded before a descent is thought worth its time.
_QUICK = sizes.SEARCH_QUICK


@dataclass(slots=True, kw_only=True)
class Least:
    """The search for the least value, to within a share of it."""

    gap: float = 0.0
    value: float = math.inf
    place: Indices | None = None
    #: The least bound of what was set aside though it might hold a smaller value.
    aside: float = math.inf
    #: A value as low as which ends the search.
    enough: float = -math.inf

    def offer(self, places: Indices, values: NDArray[np.float64]) -> None:
        """Keep the best of some points."""
        if values.size:
            best = int(np.argmin(values))
            if values[best] < self.value:
                self.value, self.place = float(values[best]), places[:, best].copy()

    def heed(self, value: float) -> None:
        """Seek less than a value found elsewhere."""
        if value < self.value:
            self.value, self.place = value, None


class _Stack(NamedTuple):
    """Boxes: the first and last index along each axis, what is supposed, a bound."""

    firsts: Any
    lasts: Any
    facts: Any
    bounds: Any

    def take(self, chosen: Any) -> _Stack:
        return _Stack(*(part[chosen] for part in self))


class _Search:
    def __init__(
        self,
        problem: Problem,
        goal: Least,
        tally: Tally,
        improve: Callable[[], None] | None = None,
    ) -> None:
        self.problem, self.goal, self.tally, self.improve = problem, goal, tally, improve
        self.tape = encoded(problem)
        self.quick = tally.boxes + _QUICK
        sizes = problem.sizes
        depth = sum(int(size).bit_length() for size in sizes)
        self.capacity = 4 + depth + self.tape.atoms.size
        self.pool = _Stack(
            np.zeros((1, sizes.size), dtype=np.int64),
            (sizes - 1)[None],
            np.zeros((1, self.tape.atoms.size), dtype=np.int8),
            np.array([-math.inf]),
        )

    def open(self) -> bool:
        """Whether a box is left; those in which a value found since leaves no part are closed."""
        goal, bounds = self.goal, self.pool.bounds
        open_to = bounds < allowed(goal.value, goal.gap)
        gone = bounds[~open_to]
        goal.aside = min(goal.aside, float(gone[gone < goal.value].min(initial=math.inf)))
        self.pool = self.pool.take(open_to)
        return bool(self.pool.bounds.size) and goal.value > goal.enough

    def step(self) -> None:
        """Dig into the boxes with the lowest bounds; or improve the goal, once, where many are."""
        if self.improve is not None and self.tally.boxes > self.quick:
            self.improve()
            self.improve = None
            return
        rank, budget = self.pool.bounds, BUDGET
        if rank.size > POOL:
            rank, budget = -rank, DEEP
        order = np.argsort(rank, kind="stable")
        some, self.pool = self.pool.take(order[:ROUND]), self.pool.take(order[ROUND:])
        if self.improve is not None:
            budget = max(_QUICK // 4, 1)
        limit = self.goal.value

        def work(number: int) -> tuple[Any, ...] | None:
            if number and self.tally.late:
                return None
            return self._dig(some.take([number]), limit, budget)

        found = in_threads(work, some.bounds.size)
        left = some.take([number for number, one in enumerate(found) if one is None])
        self._gather(left, [one for one in found if one is not None])

    def tell(self) -> None:
        """The best so far, and below which nothing is; where any as good as one is sought, not."""
        goal = self.goal
        if goal.enough == -math.inf:
            best_so_far(
                goal.value, min(float(self.pool.bounds.min(initial=goal.value)), goal.aside)
            )

    def _dig(self, box: _Stack, limit: float, budget: int) -> tuple[Any, ...]:
        """What is left of a box, the best and where it is, what may be as good, what was done."""
        from sweeps.bounds.machine.dig import dig, rooms

        dims, atoms = box.firsts.shape[1], box.facts.shape[1]
        stack = _Stack(
            np.empty((self.capacity, dims), dtype=np.int64),
            np.empty((self.capacity, dims), dtype=np.int64),
            np.empty((self.capacity, atoms), dtype=np.int8),
            np.empty(self.capacity),
        )
        for whole, part in zip(stack, box, strict=True):
            whole[:1] = part
        best, place = np.array([limit, math.inf]), np.full(dims, -1)
        counters, near = np.zeros(4, dtype=np.int64), np.empty((_NEAR, dims), dtype=np.int64)
        room = rooms(self.tape, dims)
        task = (limit, self.goal.gap, budget, best, counters, place, near, room)
        count = dig(self.tape, 1, *stack, *task)
        return stack.take(slice(0, count)), best, place, near[: counters[3]], counters

    def _gather(self, unsearched: _Stack, found: list[tuple[Any, ...]]) -> None:
        """Join what is left; what was found is looked at again, as NumPy computes it."""
        goal, tally = self.goal, self.tally
        parts = [self.pool, unsearched, *(left for left, *_ in found)]
        self.pool = _Stack(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        places = [place[None] for _, best, place, *_ in found if best[0] < goal.value]
        places += [near for *_, near, _ in found if near.size or not near.shape[1]]
        if places:
            points = np.concatenate(places).T
            goal.offer(points, self.problem.values(points))
        for _, best, *_, counters in found:
            goal.aside = min(goal.aside, best[1])
            tally.boxes += int(counters[0])
            tally.visited += int(counters[1])
            tally.scanned += int(counters[2])


def search(
    problem: Problem, goal: Least, tally: Tally, improve: Callable[[], None] | None = None
) -> float:
    """Improve the goal until no box is left; the least bound of those left when time is up.

    ``improve`` is called once, where many boxes are open.
    """
    one = _Search(problem, goal, tally, improve)
    return math.inf if explore(one, tally, least=1) else float(one.pool.bounds.min())


def ready(deadline: float = math.inf) -> None:
    """Load the machine code, or compile it where that was never done; once a process.

    Raises
    ------
    OutOfTimeError
        The time is up before.
    """
    if not _loaded:
        in_time(_load, deadline, "the search was compiled")
        _loaded.append(True)


def _load() -> None:
    search(Problem(constant(0.0), {}, {}), Least(), Tally())


def parts() -> None:
    """Compile those parts of the machine code that another process may compile beside the rest."""
    from sweeps.bounds.machine import dig

    some = _Search(Problem(constant(0.0), {}, {}), Least(), Tally())
    dig.parts(some.tape, dig.rooms(some.tape, some.pool.firsts.shape[1]))
