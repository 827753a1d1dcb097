"""A rule with its certificate, as a report and as a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.rules.fit import Proof, find_rule, mean_regret, prove
from dse.rules.sample import RuleProblem
from dse.rules.tree import RuleTree, choices, count_leaves, tree_to_json
from dse.rules.write import SUFFIXES, check_same_code, read_rule, rule_text
from dse.study.study import StudyData
from sweeps.files.atomic_write import write_atomic
from symbolic.answer import Answer, Report, Table
from symbolic.errors import DseError


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RuleReport(Report):
    """A rule, its certificate, and the worst regret of shorter rules at the points of the fit.

    ``is_within`` is True if the worst regret is proven to be at most ``1 + within``.
    """

    problem: RuleProblem
    tree: RuleTree
    proof: Proof
    mean: float
    within: float
    front: dict[int, float]

    @property
    def is_within(self) -> bool:
        """True if the worst regret is proven to be within the tolerance."""
        return self.proof.bound <= 1 + self.within

    @property
    def leaves(self) -> int:
        """Return the number of formulas of the rule."""
        return count_leaves(self.tree)

    def comment(self) -> str:
        """Return the certificate as text."""
        problem, proof = self.problem, self.proof
        axes = [axis for name, axis in problem.grid.axes.items() if name != problem.axis.name]
        spans = [
            f"{a.name} {a.coordinate[0]} to {a.coordinate[-1]} ({a.size} values)" for a in axes
        ]
        point = ", ".join(f"{name} = {value}" for name, value in proof.point.items())
        fixed = ", ".join(f"{name} = {value}" for name, value in problem.constants.items())
        study = problem.study
        lines = [
            f"Rule for {problem.axis.name}, which minimizes {problem.objective} of {study.model}.",
            f"Worst regret: at most {proof.bound:.9g} times the least value, proven for",
            f"  {'; '.join(spans)}; {problem.axis.name} among {problem.axis.size} values.",
            f"Largest regret that was evaluated: {proof.worst:.9g} at {point}."
            if proof.point
            else "",
            f"Mean regret: {self.mean:.6f} (estimated from random points).",
            f"Machine: {study.machine}." if study.machine else "",
            f"Fixed values: {fixed}." if fixed else "",
            "This is a statement about the model, not a measurement.",
        ]
        return "\n".join(line for line in lines if line)

    def text(self, suffix: str) -> str:
        """Return the rule as Python (``.py``), C (``.c``) or a table (``.csv``)."""
        return rule_text(self.problem, self.tree, self.comment(), suffix)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        proof = self.proof
        return {
            "of": self.problem.axis.name,
            "minimize": self.problem.objective,
            "rule": tree_to_json(self.tree),
            "leaves": self.leaves,
            "within": self.within,
            "is_within": self.is_within,
            "worst_regret": None if math.isnan(proof.worst) else proof.worst,
            "bound": proof.bound,
            "worst_point": proof.point,
            "mean_regret": self.mean,
            "front": [{"leaves": n, "worst_regret": worst} for n, worst in self.front.items()],
        }

    def _answer(self) -> Answer:
        rows = [[n, worst] for n, worst in self.front.items()]
        formulas = [[text] for leaf in choices(self.tree) for text in leaf.formulas]
        state = "at most" if self.is_within else "NOT proven to be within the tolerance: at most"
        return Answer(
            kind="RuleReport",
            title=f"rule for {self.problem.axis.name} with {self.leaves} leaves",
            facts={"mean regret": f"{self.mean:.4f}"},
            tables=[
                Table(title="formulas", rows=formulas, is_open=True),
                Table(
                    title="worst regret at the points of the fit",
                    columns=("leaves", "worst regret"),
                    rows=rows,
                ),
            ],
            certificate=f"{self.comment()}\nworst regret {state} {self.proof.bound:.6g}",
            data=self.to_dict(),
        )


def certified_rule(
    study: StudyData,
    *,
    of: str | None,
    minimize: str | None,
    within: float,
    leaves: int,
    features: Sequence[str],
    out: str | Path | None,
    check: str | Path | None,
    time_limit: float | None,
) -> RuleReport:
    """Return a short rule within a tolerance, or the certificate of a given one."""
    if not 0 < within < math.inf or leaves < 1:
        raise DseError(f"within={within} and leaves={leaves}: expected a positive share, and >= 1")
    if out is not None and Path(out).suffix not in SUFFIXES:
        raise DseError(f"{out}: expected a name that ends in {', '.join(SUFFIXES)}")
    record = {} if check is None else read_rule(check)
    of = of or record.get("of")
    goal = minimize or record.get("minimize") or _default_objective(study)
    if of is None:
        raise DseError("name the axis that the rule chooses: of='splits'")
    problem = RuleProblem.from_study(study, goal, of)
    if check is None:
        tree, proof, front = find_rule(problem, within, leaves, features, time_limit)
    else:
        tree, front = record["rule"], {}
        check_same_code(problem, tree, check)
        proof = prove(problem, tree, 1 + within, time_limit)
    mean = mean_regret(problem, tree)
    report = RuleReport(
        problem=problem, tree=tree, proof=proof, mean=mean, within=within, front=front
    )
    if out is not None:
        write_atomic(out, report.text(Path(out).suffix))
    return report


def _default_objective(study: StudyData) -> str:
    best = study.best or {}
    if best.get("maximize"):
        raise DseError("a rule needs an objective to minimize: name it, minimize='time'")
    goal = best.get("minimize", "time")
    return goal if isinstance(goal, str) else str(goal[0])
