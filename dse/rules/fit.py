"""Find a short rule whose worst regret is proven to be at most a limit."""

import math
import time
from collections.abc import Sequence

import numpy as np

from dse.rules.problem import BoxCosts, Choice, RuleProblem, RuleTree, random_points
from dse.rules.prove import Proof, prove
from stochastic import sizes
from sweeps.bounds.problem import Boxes, Floats
from sweeps.runtime.search_loop import SearchStats
from symbolic.errors import DseError
from symbolic.node import Node

#: Share of the tolerance that a rule may use at the points of the fit. The other share is left for
#: points that only the proof evaluates.
_SLACK = 0.65
_INFEASIBLE = 1e300
#: Share of the time limit for fits and their proofs. The other share is for the final certificates.
_FIT_TIME = 0.6
#: Relative gap of the proofs for shorter rules.
_FRONT_GAP = 0.01


def find_rule(
    problem: RuleProblem, within: float, leaves: int, more: Sequence[Node], stats: SearchStats
) -> dict[int, tuple[RuleTree, Proof]]:
    """Return rules and their certificates by the number of leaves; longer rules have less regret.

    A rule is fitted at some points. Points at which the proof finds too much regret join the points
    of the next fit. The last rule is within the tolerance, if such a rule was found.
    """
    limit, formulas = 1.0 + within, [*problem.candidates(), *more]
    now = time.monotonic()
    fits = SearchStats(deadline=now + _FIT_TIME * (stats.deadline - now))
    points = random_points(problem, sizes.RULE_SAMPLE, 0)
    for number in range(sizes.RULE_ROUNDS):
        costs = BoxCosts(problem, Boxes(points, points))
        if not costs.best.min(initial=math.inf) > 0:
            raise DseError(
                f"{problem.objective} is not positive everywhere, so the regret is undefined: "
                "choose a positive objective"
            )
        rules = fit_front(costs, formulas, leaves, 1.0 + _SLACK * within, stats)
        *shorter, size = rules
        proof = prove(problem, rules[size], fits, limit=limit, stop=True, seed=number)
        if not proof.above.size or fits.is_late or costs.regret(rules[size]).max() > limit:
            break
        points = np.append(points, proof.above, axis=1)
    if proof.bound > limit:  # the proof stopped early, or the time for fits is up
        proof = prove(problem, rules[size], stats, limit=limit, gap=_FRONT_GAP)
    front = dict[int, tuple[RuleTree, Proof]]()
    for n in shorter:
        other = prove(problem, rules[n], stats, limit=limit, gap=_FRONT_GAP)
        if other.bound < min((each.bound for _, each in front.values()), default=math.inf):
            front[n] = rules[n], other
        if other.bound <= limit:
            return front
    return {**front, size: (rules[size], proof)}


def mean_regret(problem: RuleProblem, tree: RuleTree) -> float:
    """Return the mean regret of a rule, estimated from uniformly distributed points."""
    ends = problem.whole_box.hi
    points = np.random.default_rng(1).integers(0, ends + 1, (len(ends), sizes.RULE_SAMPLE))
    costs = BoxCosts(problem, Boxes(points, points))
    regret = costs.regret(tree)[costs.best < math.inf]
    return float(np.mean(regret)) if regret.size else math.nan


def fit_front(
    costs: BoxCosts, formulas: Sequence[Node], leaves: int, limit: float, stats: SearchStats
) -> dict[int, RuleTree]:
    """Return rules by their number of leaves; each has a smaller worst regret than shorter rules.

    Only the points of ``costs`` count. The first rule with a worst regret of at most ``limit`` is
    the last one.
    """
    regrets = np.array([costs.regret(Choice(formulas=(formula,))) for formula in formulas])
    regrets = np.minimum(regrets, _INFEASIBLE)
    front: dict[int, RuleTree] = {}
    least = math.inf
    for size in range(1, leaves + 1):
        worst, chosen = _best_set(regrets, size)
        if worst < least:
            least, front[size] = worst, Choice(formulas=tuple(formulas[k] for k in chosen))
        if least <= limit or stats.is_late:
            break
    return front


def _best_set(regrets: Floats, size: int) -> tuple[float, list[int]]:
    """Return the worst regret of a good set of ``size`` formulas, and their indices.

    At each point, the best formula of the set counts. Formulas are exchanged one at a time.
    """
    chosen = list[int]()
    score = math.inf
    while True:
        before = score, len(chosen)
        for number in range(size):
            rest = [k for at, k in enumerate(chosen) if at != number]
            others = regrets[rest].min(axis=0, initial=_INFEASIBLE)
            left = np.minimum(regrets, others)  # the mean breaks ties
            scores = left.max(axis=1) + 1e-3 * np.minimum(left, 1e3).mean(axis=1)
            pick = int(np.argmin(scores))
            if number >= len(chosen) or scores[pick] < score - 1e-12:
                score, chosen[number : number + 1] = float(scores[pick]), [pick]
        if (score, len(chosen)) == before:
            return float(regrets[chosen].min(axis=0).max()), chosen
