"""A rule with its certificate, as a report and as a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse.rules.problem import RuleProblem, RuleTree
from dse.rules.prove import Proof
from dse.rules.write import rule_rows, rule_text
from symbolic.answer import Answer, Report, Table


@dataclass(frozen=True, slots=True, repr=False)
class RuleReport(Report):
    """A rule for the values of an axis, with the certificate of its worst regret.

    ``front`` has the proofs of this rule and of shorter rules, by the number of leaves. ``mean`` is
    the mean regret, estimated from random points.
    """

    problem: RuleProblem
    tree: RuleTree
    within: float
    front: Mapping[int, Proof]
    mean: float

    @property
    def leaves(self) -> int:
        """Return the number of formulas that the rule may choose."""
        return max(self.front)

    @property
    def proof(self) -> Proof:
        """Return the certificate of the rule."""
        return self.front[self.leaves]

    @property
    def worst_point(self) -> dict[str, Any]:
        """Return the evaluated point that has the largest regret."""
        return self.problem.point(self.proof.place)

    @property
    def is_within(self) -> bool:
        """True if the worst regret is proven to be within the tolerance."""
        return self.proof.bound <= 1 + self.within

    @property
    def certificate(self) -> str:
        """Return a text that states what is proven."""
        problem, proof, study = self.problem, self.proof, self.problem.study
        spans = [
            f"{a.name} {a.coordinate[0]} to {a.coordinate[-1]} ({a.size:,} values)"
            if a.size > 1
            else f"{a.name} {a.coordinate[0]}"
            for a in problem.other_axes
        ]
        point = ", ".join(f"{name} = {value}" for name, value in self.worst_point.items())
        fixed = [f"{name} = {node.args[0]:g}" for name, node in problem.used_constants.items()]
        state = "" if self.is_within else f", which is not within {self.within:.3g}"
        lines = [
            f"Rule for {problem.axis.name}: it minimizes {problem.objective} of {study.model}.",
            f"Worst regret: proven to be at most {proof.bound:.9g} times the least value{state},",
            f"  for all of {'; '.join(spans)},",
            f"  and {problem.axis.name} among {problem.axis.size:,} values.",
            f"Largest regret that was evaluated: {proof.worst:.9g} at {point}.",
            f"Mean regret: {self.mean:.4f}, estimated from random points.",
            *([f"Machine: {study.machine}."] if study.machine else []),
            *([f"Values: {', '.join(fixed)}."] if fixed else []),
            "This is a proof about the model, not a measurement on a GPU.",
        ]
        return "\n".join(lines)

    def text(self, suffix: str) -> str:
        """Return the rule as Python (``.py``), C (``.c``) or a table (``.csv``)."""
        return rule_text(self.problem, self.tree, self.certificate, suffix)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        keys = ("leaves", "worst_regret", "bound")
        front = [(n, proof.worst, proof.bound) for n, proof in self.front.items()]
        return {
            "of": self.problem.axis.name,
            "minimize": self.problem.objective,
            "rule": self.text(".py"),
            "leaves": self.leaves,
            "within": self.within,
            "is_within": self.is_within,
            "worst_regret": self.proof.worst,
            "bound": self.proof.bound,
            "worst_point": self.worst_point,
            "mean_regret": self.mean,
            "front": [dict(zip(keys, row, strict=True)) for row in front],
        }

    def _answer(self) -> Answer:
        front = [[n, proof.worst, proof.bound] for n, proof in self.front.items()]
        leaves = "leaf" if self.leaves == 1 else "leaves"
        choices = Table(
            columns=("if", self.problem.axis.name), rows=rule_rows(self.tree), is_open=True
        )
        proofs = Table(
            title="certified rules", columns=("leaves", "worst regret", "at most"), rows=front
        )
        return Answer(
            kind="RuleReport",
            title=f"rule for {self.problem.axis.name} with {self.leaves} {leaves}",
            tables=[choices, proofs],
            certificate=self.certificate,
            data=self.to_dict(),
        )
