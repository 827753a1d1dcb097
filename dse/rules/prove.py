"""Prove the worst regret of a rule by branch and bound over boxes of its inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dse.rules.problem import BoxCosts, RuleProblem, RuleTree, random_points
from stochastic import sizes
from sweeps.bounds.problem import Boxes, Floats, Indices, concatenate_boxes
from sweeps.runtime.progress import report_best
from sweeps.runtime.resources import run_in_threads
from sweeps.runtime.search_loop import SearchStats, run_search


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A certificate that the regret of a rule is at most ``bound``, and ``worst`` at one point.

    ``place`` has the indices of this point along the axes that the rule does not choose. ``above``
    has the points (columns) with a regret above the limit, if they stopped the search.
    """

    worst: float
    bound: float
    place: tuple[int, ...]
    above: Indices


class _RegretSearch:
    """A search over boxes whose regret may exceed both the limit and the worst known regret."""

    def __init__(
        self, problem: RuleProblem, tree: RuleTree, limit: float, gap: float, stop: bool, seed: int
    ) -> None:
        self.problem, self.tree, self.limit, self.gap = problem, tree, limit, gap
        self.stop_above = limit if stop else math.inf
        self.boxes, self.bounds = problem.whole_box.take(slice(0)), np.empty(0)
        self.above = self.boxes.lo
        self.closed, self.worst, self.place = 0.0, 0.0, tuple(0 for _ in self.above)
        self.batch = max(sizes.RULE_BATCH // problem.axis.size, 1)
        self.visit(random_points(problem, sizes.RULE_VISITED, seed))
        self.add(problem.whole_box)

    def regret(self, boxes: Boxes) -> Floats:
        count = boxes.lo.shape[1]
        parts = [slice(k, k + self.batch) for k in range(0, max(count, 1), self.batch)]

        def bound(number: int) -> Floats:
            return BoxCosts(self.problem, boxes.take(parts[number])).regret(self.tree)

        return np.concatenate(run_in_threads(bound, len(parts)))

    def visit(self, points: Indices) -> None:
        self.record(points, self.regret(Boxes(points, points)))

    def record(self, points: Indices, regret: Floats) -> None:
        """Update the worst point, and store the points above the limit."""
        if regret.max(initial=0.0) > self.worst:
            self.worst = float(regret.max())
            self.place = tuple(points[:, int(regret.argmax())].tolist())
        order = np.argsort(-regret)[: sizes.RULE_POINTS]
        self.above = np.append(self.above, points[:, order[regret[order] > self.stop_above]], 1)

    def has_open_pieces(self) -> bool:
        """Close boxes that cannot exceed the limit; return True if the search must go on."""
        is_within = self.worst <= self.limit
        is_open = self.bounds > (self.limit if is_within else self.worst * (1 + self.gap))
        self.closed = max(self.closed, float(self.bounds[~is_open].max(initial=0.0)))
        self.boxes, self.bounds = self.boxes.take(is_open), self.bounds[is_open]
        return bool(self.bounds.size) and not self.above.size

    def step(self) -> None:
        """Halve the boxes with the highest bounds, and evaluate some of their corners."""
        rank = -self.bounds if self.bounds.size < sizes.RULE_POOL else -np.arange(self.bounds.size)
        order = np.argsort(rank, kind="stable")
        count = min(max(order.size // 4, self.batch), 16 * self.batch)
        halves, rest = self._halves(self.boxes.take(order[:count])), order[count:]
        self.boxes, self.bounds = self.boxes.take(rest), self.bounds[rest]
        self.visit(halves.hi[:, ::8])
        self.add(halves)

    def add(self, boxes: Boxes) -> None:
        """Bound boxes; those with more than one point stay open."""
        bounds, single = self.regret(boxes), np.all(boxes.lo == boxes.hi, axis=0)
        self.record(boxes.lo[:, single], bounds[single])
        self.closed = max(self.closed, float(bounds[single].max(initial=0.0)))
        self.boxes = concatenate_boxes([self.boxes, boxes.take(~single)])
        self.bounds = np.append(self.bounds, bounds[~single])

    def _halves(self, boxes: Boxes) -> Boxes:
        """Halve boxes along the axis whose quantities have the widest relative range."""
        widths = np.where(boxes.hi > boxes.lo, 1e-9, -1.0)
        for leaf in self.problem.extremes.values():
            ends = leaf(list(boxes.lo), list(boxes.hi)).enclosure
            size = np.maximum(np.abs(ends.lo), np.abs(ends.hi))
            width = np.where(size > 0, (ends.hi - ends.lo) / size, 0.0)
            for number in leaf.axis_numbers:
                np.maximum(widths[number], width, out=widths[number], where=widths[number] > 0)
        return boxes.halves(widths.argmax(axis=0))

    def report(self) -> None:
        report_best(-self.worst, -max(self.closed, self.bounds.max(initial=self.worst)))


def prove(
    problem: RuleProblem,
    tree: RuleTree,
    stats: SearchStats,
    *,
    limit: float = 0.0,
    gap: float = 0.0,
    stop: bool = False,
    seed: int = 0,
) -> Proof:
    """Return a bound on the regret of a rule, proven by branch and bound.

    The search ends when the bound is at most ``limit``. If a point has more regret, the flag
    ``stop`` ends the search there; otherwise, it ends when the bound exceeds the worst regret by at
    most the share ``gap``. A time limit may end it earlier. ``seed`` draws the first points.
    """
    with np.errstate(all="ignore"):
        search = _RegretSearch(problem, tree, limit, gap, stop, seed)
        run_search(search, stats)
    bound = max(search.closed, search.worst, float(search.bounds.max(initial=0.0)))
    return Proof(worst=search.worst, bound=bound, place=search.place, above=search.above)
