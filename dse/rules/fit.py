"""Find a short rule whose worst regret is proven to be at most a limit."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dse.rules.sample import Indices, RuleProblem, Sample, draw_points, join_points, near_points
from dse.rules.tree import (
    Choice,
    Floats,
    RuleTree,
    Threshold,
    objective_at_rule,
)
from symbolic.errors import DseError

#: Points at first; points that test a rule before a proof; the worst of these that are added.
_POINTS, _TESTED, _ADDED = 1200, 100_000, 60
_STARTS, _ROUNDS = 3, 40
#: Values of the objective up to which a proof evaluates all of them: minutes on two cores.
_MAX_SCANNED = 2e11
#: Shares of the tolerance that a rule may use at the points of the fit and at tested points. The
#: rest is for the points that only the proof evaluates: a proof takes longer than a fit.
_SLACK, _TESTED_SLACK = 0.55, 0.85
#: Formulas among which a tree of thresholds may choose at its leaves.
_TREE_FORMULAS = 24
#: Regret of an infeasible choice: the formula is proven to have a value where it is below this.
_INFEASIBLE = 1e300


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A certificate of a rule: its regret is at most ``bound`` and is ``worst`` at a point.

    ``worst`` is the largest regret that was evaluated, ``point`` the inputs there.
    """

    worst: float
    bound: float
    point: dict[str, Any]
    index: dict[str, int]


def prove(problem: RuleProblem, tree: RuleTree, limit: float, time_limit: float | None) -> Proof:
    """Return the worst regret of a rule, or the proof that it is at most ``limit``.

    If there are few enough points, all are evaluated. Otherwise branch and bound searches for a
    point above the limit.
    """
    import dse
    from sweeps.grid.goals import one_goal
    from sweeps.sources.grid_proof import search_above

    objective, axis = problem.objective, problem.axis.name
    chosen = objective_at_rule(tree, objective, axis)
    # a choice without a value counts as infinitely bad, not as a point to leave out
    text = f"where({chosen} > 0, {chosen}, {_INFEASIBLE!r}) / best_low({objective}, {axis})"
    axes = {name: each for name, each in problem.grid.axes.items() if name != axis}
    if math.prod(each.size for each in problem.grid.axes.values()) <= _MAX_SCANNED:
        worst = dse.optimum(problem.study, maximize=text, method="scan")
        value = worst.objective.item()
        at = {n: worst[n].item() for n in axes}
        index = {n: int(np.flatnonzero(each.coordinate == at[n])[0]) for n, each in axes.items()}
        return Proof(worst=value, bound=value, point=at, index=index)
    goal = one_goal(None, text)
    grid = problem.study._query_grid([goal], ())
    winner = search_above(grid, goal, limit, time_limit)
    if winner.place is None:
        return Proof(worst=math.nan, bound=winner.bound, point={}, index={})
    index = {n: int(winner.place[n]) for n in axes}
    return Proof(worst=winner.value, bound=winner.bound, point=_point(problem, index), index=index)


def _point(problem: RuleProblem, index: dict[str, int]) -> dict[str, Any]:
    return {n: problem.grid.axes[n].coordinate[at].item() for n, at in index.items()}


def mean_regret(problem: RuleProblem, tree: RuleTree) -> float:
    """Return the mean regret of a rule, estimated from uniformly distributed points."""
    rng = np.random.default_rng(1)
    axes = {n: each for n, each in problem.grid.axes.items() if n != problem.axis.name}
    places = {n: rng.integers(0, each.size, _TESTED) for n, each in axes.items()}
    return float(np.nanmean(Sample(problem, places).regret_of(tree)))


def fit_front(sample: Sample, formulas: Sequence[str], tests: Sequence[str], leaves: int,
              limit: float) -> dict[int, RuleTree]:  # fmt: skip
    """Return rules with 1, 2, ... leaves, of which each is better on the sample than shorter ones.

    The last rule is the first whose worst regret on the sample is at most ``limit``.
    """
    regrets = np.array([sample.regret(formula) for formula in formulas])
    regrets = np.where(np.isnan(sample.best), 1.0, np.minimum(regrets, _INFEASIBLE))
    values = {text: sample.value(text) for text in tests}
    front: dict[int, RuleTree] = {}
    least = math.inf
    for size in range(1, leaves + 1):
        options: list[tuple[float, RuleTree]] = []
        if size == 1 or sample.problem.is_free:
            worst, chosen = _best_set(regrets, size)
            options.append((worst, Choice(formulas=tuple(formulas[k] for k in chosen))))
        if size > 1:
            options.append(_threshold_tree(regrets, formulas, values, size))
        worst, tree = min(options, key=lambda each: each[0])
        if worst < least:
            least, front[size] = worst, tree
        if least <= limit:
            break
    return front


def _best_set(regrets: Floats, size: int) -> tuple[float, list[int]]:
    """Return formulas of which the best has the least worst regret (by exchange of formulas)."""
    rng = np.random.default_rng(size)
    best = math.inf, list[int]()
    for start in range(_STARTS if size > 1 else 1):
        chosen: list[int] = []
        least = np.full(regrets.shape[1], _INFEASIBLE)
        for _ in range(size):  # add the formula that helps most
            scores = _score(np.minimum(regrets, least))
            order = np.argsort(scores)
            pick = int(order[rng.integers(0, 4)] if start else order[0])
            chosen.append(pick)
            least = np.minimum(least, regrets[pick])
        score, improved = float(_score(least[None])[0]), True
        while improved:
            improved = False
            for number in range(size):
                rest = [regrets[k] for at, k in enumerate(chosen) if at != number]
                others = np.min(rest, axis=0) if rest else np.full_like(least, _INFEASIBLE)
                scores = _score(np.minimum(regrets, others))
                pick = int(np.argmin(scores))
                if scores[pick] < score - 1e-12:
                    score, chosen[number], improved = float(scores[pick]), pick, True
        worst = float(np.min(regrets[chosen], axis=0).max())
        if worst < best[0]:
            best = worst, chosen
    return best


def _score(regrets: Floats) -> Floats:
    """Return the worst regret of each row; a small share of the mean decides between equals."""
    result: Floats = regrets.max(axis=1) + 1e-3 * np.minimum(regrets, 1e3).mean(axis=1)
    return result


def _threshold_tree(
    regrets: Floats, formulas: Sequence[str], values: dict[str, Floats], size: int
) -> tuple[float, RuleTree]:
    """Return a tree of thresholds: the worst leaf is split until there are ``size`` leaves."""
    some = np.argsort(_score(regrets))[: _TREE_FORMULAS // 2]
    best = np.unique(np.argmin(regrets, axis=0), return_counts=True)
    some = np.unique([*some, *best[0][np.argsort(-best[1])][: _TREE_FORMULAS // 2]])
    rows = regrets[some]

    def leaf(points: Indices) -> tuple[float, Indices, RuleTree]:
        worst = rows[:, points].max(axis=1)
        pick = int(np.argmin(worst))
        return float(worst[pick]), points, Choice(formulas=(formulas[some[pick]],))

    parts = [leaf(np.arange(regrets.shape[1]))]
    tree: RuleTree = parts[0][2]
    while len(parts) < size:
        number = max(range(len(parts)), key=lambda k: parts[k][0])
        _, points, old = parts.pop(number)
        cut = _best_cut(rows, values, points)
        if cut is None:
            return math.inf, old
        text, limit = cut
        below = values[text][points] <= limit
        yes, no = leaf(points[below]), leaf(points[~below])
        new = Threshold(formula=text, limit=limit, yes=yes[2], no=no[2])
        tree = _replace(tree, old, new)
        parts += [yes, no]
    return max(part[0] for part in parts), tree


def _replace(tree: RuleTree, old: RuleTree, new: RuleTree) -> RuleTree:
    if tree is old:
        return new
    if isinstance(tree, Choice):
        return tree
    return replace(tree, yes=_replace(tree.yes, old, new), no=_replace(tree.no, old, new))


def _best_cut(rows: Floats, values: dict[str, Floats], points: Indices) -> tuple[str, float] | None:
    """Return the threshold after which the two parts have the least worst regrets."""
    best, result = math.inf, None
    for text, value in values.items():
        order = points[np.argsort(value[points], kind="stable")]
        ends = value[order]
        places = np.flatnonzero(ends[1:] > ends[:-1])
        if not places.size:
            continue
        below = np.maximum.accumulate(rows[:, order], axis=1).min(axis=0)[places]
        above = np.maximum.accumulate(rows[:, order[::-1]], axis=1).min(axis=0)[::-1][places + 1]
        scores = np.maximum(below, above) + 0.1 * np.minimum(below, above)
        at = int(np.argmin(scores))
        if scores[at] < best:
            best, result = float(scores[at]), (text, float(ends[places[at]]))
    return result


def find_rule(
    problem: RuleProblem,
    within: float,
    leaves: int,
    tests: Sequence[str],
    time_limit: float | None,
) -> tuple[RuleTree, Proof, dict[int, float]]:
    """Return a short rule, its certificate, and the worst regrets of all sizes on the sample.

    Each point at which a rule has more regret than allowed joins the sample, and a new rule is
    fitted. If no rule is good enough, return the best one with its certificate.
    """
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    limit, rng = 1.0 + within, np.random.default_rng(0)
    formulas, texts = problem.formulas(), [*problem.inputs, *tests]
    texts += [f"{down} / {up}" for up, down in problem.terms()[0]]
    points = draw_points(problem, _POINTS, rng)
    for number in range(_ROUNDS):
        sample = Sample(problem, points)
        if not np.nanmin(sample.best, initial=math.inf) > 0:
            raise DseError(
                f"{problem.objective} is not positive everywhere, so a regret is no quotient: "
                "choose a positive objective"
            )
        rules = fit_front(sample, formulas, texts, leaves, 1.0 + _SLACK * within)
        tree = rules[max(rules)]
        front = {size: _worst_of(sample, each) for size, each in rules.items()}
        is_possible = front[max(front)] <= limit
        tested = Sample(problem, draw_points(problem, _TESTED, rng))
        regret = np.nan_to_num(tested.regret_of(tree), nan=1.0)
        worse = np.argsort(-regret)[:_ADDED]
        worse = worse[regret[worse] > 1.0 + _TESTED_SLACK * within]
        is_last = number == _ROUNDS - 1 or time.monotonic() >= deadline
        if is_possible and worse.size and not is_last:
            points = join_points(points, tested.select(worse))
            continue
        left = None if time_limit is None else max(deadline - time.monotonic(), 1.0)
        proof = prove(problem, tree, limit, left)
        worst = int(np.argmax(regret))
        if not proof.point:  # nothing above the limit: report the worst of the tested points
            index = {axis: int(at[worst]) for axis, at in tested.indices.items()}
            at = _point(problem, index)
            proof = replace(proof, worst=float(regret[worst]), point=at, index=index)
        if proof.worst <= limit or not is_possible or is_last:
            break
        points = join_points(points, *near_points(problem, proof.index))
    return tree, proof, front


def _worst_of(sample: Sample, tree: RuleTree) -> float:
    return float(np.nanmax(sample.regret_of(tree)))
