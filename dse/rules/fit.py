"""Find a short rule whose worst regret is proven to be at most a limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dse.rules.problem import BoxCosts, RuleProblem, random_points
from dse.rules.prove import Proof, prove
from dse.rules.tree import Choice, RuleTree, Threshold
from stochastic import sizes
from sweeps.bounds.problem import Boxes, Floats, Indices
from sweeps.runtime.search_loop import SearchStats
from symbolic.errors import DseError
from symbolic.node import Node, constant

#: Points of the first fit.
_POINTS = sizes.RULE_SAMPLE
_ROUNDS = 100
#: Share of the tolerance that a rule may use at the points of the fit. The rest is for points that
#: only the proof evaluates: a proof takes longer than a fit.
_SLACK = 0.85
#: Half of the formulas among which a tree of thresholds may choose: the best, and the most used.
_HALF = 12
#: Regret of an infeasible choice in the fit.
_INFEASIBLE = 1e300
#: Relative gap of the proofs for shorter rules.
_FRONT_GAP = 0.01


def find_rule(
    problem: RuleProblem, within: float, leaves: int, tests: Sequence[Node], stats: SearchStats
) -> dict[int, tuple[RuleTree, Proof]]:
    """Return the rules of a front, each with its certificate, by their number of leaves.

    Points at which a rule has more regret than allowed join the points of the fit, and a new rule
    is fitted. The last rule is within the tolerance; if none is, it is the best one.
    """
    limit, (caps, _) = 1.0 + within, problem.rounded_terms()
    formulas = problem.candidates()
    tests = [
        *(problem.parse(f"({name})") for name in problem.inputs),
        *(1.0 / cap for cap in caps),
        *tests,
    ]
    points = random_points(problem, _POINTS, 0)
    for number in range(_ROUNDS):
        costs = BoxCosts(problem, Boxes(points, points))
        if not costs.best.min(initial=math.inf) > 0:
            raise DseError(
                f"{problem.objective} is not positive everywhere, so a regret is no quotient: "
                "choose a positive objective"
            )
        rules = fit_front(costs, formulas, tests, leaves, 1.0 + _SLACK * within, stats)
        *shorter, size = rules
        proof = prove(problem, rules[size], stats, limit=limit, stop=True)
        is_possible = costs.regret(rules[size]).max() <= limit
        if not proof.above.size or stats.is_late or not is_possible or number == _ROUNDS - 1:
            break
        points = np.append(points, proof.above, axis=1)
    if proof.above.size:  # there is no rule within the tolerance
        proof = prove(problem, rules[size], stats, gap=_FRONT_GAP)
    front = dict[int, tuple[RuleTree, Proof]]()
    for n in shorter:
        other = prove(problem, rules[n], stats, gap=_FRONT_GAP)
        if other.bound < min((each.bound for _, each in front.values()), default=math.inf):
            front[n] = rules[n], other
    return {**front, size: (rules[size], proof)}


def mean_regret(problem: RuleProblem, tree: RuleTree) -> float:
    """Return the mean regret of a rule, estimated from uniformly distributed points."""
    ends = problem.whole_box.hi
    points = np.random.default_rng(1).integers(0, ends + 1, (len(ends), _POINTS))
    costs = BoxCosts(problem, Boxes(points, points))
    regret = costs.regret(tree)[costs.best < math.inf]
    return float(np.mean(regret)) if regret.size else math.nan


def fit_front(
    costs: BoxCosts,
    formulas: Sequence[Node],
    tests: Sequence[Node],
    leaves: int,
    limit: float,
    stats: SearchStats,
) -> dict[int, RuleTree]:
    """Return rules with 1, 2, ... leaves, each better at the points of ``costs`` than shorter ones.

    The last rule is the first whose worst regret is at most ``limit``.
    """
    regrets = np.array([costs.regret(Choice(formulas=(formula,))) for formula in formulas])
    regrets = np.minimum(regrets, _INFEASIBLE)
    values = {test: costs.enclose(test).lo for test in tests}
    often = np.bincount(np.argmin(regrets, axis=0), minlength=len(formulas))
    some = np.unique([*np.argsort(_score(regrets))[:_HALF], *np.argsort(-often)[:_HALF]])
    front: dict[int, RuleTree] = {}
    least = math.inf
    for size in range(1, leaves + 1):
        options: list[tuple[float, RuleTree]] = []
        if size == 1 or costs.problem.is_free:
            worst, chosen = _best_set(regrets, size)
            options.append((worst, Choice(formulas=tuple(formulas[k] for k in chosen))))
        if size > 1:
            rows, few = regrets[some], [formulas[k] for k in some]
            options.append(_threshold_tree(rows, few, values, size, np.arange(regrets.shape[1])))
        worst, tree = min(options, key=lambda each: each[0])
        if worst < least:
            least, front[size] = worst, tree
        if least <= limit or stats.is_late:
            break
    return front


def _best_set(regrets: Floats, size: int) -> tuple[float, list[int]]:
    """Return formulas of which the best has the least worst regret, by exchange of formulas."""
    chosen = list[int]()
    score = math.inf
    while True:
        before = score, len(chosen)
        for number in range(size):
            rest = [k for at, k in enumerate(chosen) if at != number]
            others = regrets[rest].min(axis=0, initial=_INFEASIBLE)
            scores = _score(np.minimum(regrets, others))
            pick = int(np.argmin(scores))
            if number >= len(chosen) or scores[pick] < score - 1e-12:
                score, chosen[number : number + 1] = float(scores[pick]), [pick]
        if (score, len(chosen)) == before:
            return float(regrets[chosen].min(axis=0).max()), chosen


def _score(regrets: Floats) -> Floats:
    """Return the worst regret of each row; a small share of the mean decides between equals."""
    result: Floats = regrets.max(axis=1) + 1e-3 * np.minimum(regrets, 1e3).mean(axis=1)
    return result


def _threshold_tree(
    regrets: Floats,
    formulas: Sequence[Node],
    values: Mapping[Node, Floats],
    size: int,
    points: Indices,
) -> tuple[float, RuleTree]:
    """Return a tree of thresholds for some points, and its worst regret.

    After each cut, the part with more regret has more of the leaves.
    """
    worst = regrets[:, points].max(axis=1)
    pick = int(np.argmin(worst))
    cut = _best_cut(regrets, values, points) if size > 1 else None
    if cut is None:
        return float(worst[pick]), Choice(formulas=(formulas[pick],))
    test, limit = cut
    parts = [points[mask] for mask in (values[test][points] <= limit, values[test][points] > limit)]
    hard = int(np.argmax([regrets[:, part].max(axis=1).min() for part in parts]))
    sizes = [size // 2, size // 2]
    sizes[hard] = size - size // 2
    (low, yes), (high, no) = (
        _threshold_tree(regrets, formulas, values, n, part)
        for n, part in zip(sizes, parts, strict=True)
    )
    return max(low, high), Threshold(test=constant(test <= limit), yes=yes, no=no)


def _best_cut(
    rows: Floats, values: Mapping[Node, Floats], points: Indices
) -> tuple[Node, float] | None:
    """Return the threshold after which the two parts have the least worst regrets."""
    best, result = math.inf, None
    for test, value in values.items():
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
            best, result = float(scores[at]), (test, float(ends[places[at]]))
    return result
