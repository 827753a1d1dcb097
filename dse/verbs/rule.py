"""Define the verb `rule`: a short decision rule with a certified worst regret."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.progress import ProgressOption, show_progress
from dse.study.study import StudyData
from dse.verbs.query import verb
from dse.verbs.sources import SourceLike, map_studies
from sweeps.runtime.interrupts import time_limited
from symbolic.errors import DseError

if TYPE_CHECKING:
    from dse.rules.report import RuleReport


@verb
def rule(
    source: SourceLike,
    *,
    of: str | None = None,
    minimize: str | None = None,
    within: float = 0.05,
    leaves: int = 8,
    formulas: str | Sequence[str] = (),
    out: str | Path | None = None,
    check: str | Path | None = None,
    time_limit: float | None = None,
    progress: ProgressOption = False,
) -> RuleReport:
    """Find a short decision rule for an axis, with a certificate of its worst regret.

    The regret of a value is the objective at this value, divided by the least objective over all
    values of the axis. A rule computes a few formulas (its leaves) and returns the value with the
    least predicted objective. No tree of thresholds with the same leaves has less regret. The
    formulas are chosen at some points. Branch and bound over all points then proves the worst
    regret, or finds points with too much regret, which join the points of the next choice.

    Parameters:
        source (Study or path): Study with the axis, and with the inputs of the rule as other axes.
        of (str): Numeric axis whose value the rule chooses; default: the checked function's name.
        minimize (str, optional): Positive quantity or formula; default: the study's ``best``, or
            ``time``.
        within (float): Share by which the worst regret may exceed 1: 0.05 allows 1.05.
        leaves (int): Largest number of formulas in the rule.
        formulas (str or list of str): Formulas that may be leaves, besides those derived from the
            objective.
        out (path, optional): File for the rule: a Python function (``.py``), a C function (``.c``)
            or a table (``.csv``).
        check (path, optional): Python file with a rule to certify, in place of a new rule. The rule
            is a function of the inputs that has the name of the axis.
        time_limit (float, optional): Seconds after which the proof stops, with a wider bound.
        progress (bool): Show progress on standard error after one second.

    Returns:
        RuleReport: The rule, its certificate, and the certificates of shorter rules.

    Raises:
        DseError: The study has no such axis, or the rule cannot be certified.
    """
    from dse.rules.fit import find_rule, mean_regret
    from dse.rules.problem import RuleProblem
    from dse.rules.prove import prove
    from dse.rules.read import read_rule, read_statements
    from dse.rules.report import RuleReport
    from dse.rules.write import SUFFIXES, rule_rows
    from sweeps.files.atomic_write import write_atomic
    from sweeps.grid.goals import texts_of
    from sweeps.runtime.search_loop import SearchStats

    if not 0 < within < math.inf or leaves < 1:
        raise DseError(f"within={within} and leaves={leaves}: expected a positive share, and >= 1")
    if out is not None and Path(out).suffix not in SUFFIXES:
        raise DseError(f"{out}: expected a name that ends in {', '.join(SUFFIXES)}")

    def certify(study: StudyData) -> RuleReport:
        best = study.best or {}
        goal = minimize or best.get("minimize", "" if "maximize" in best else "time")
        if not isinstance(goal, str) or not goal:
            raise DseError("a rule needs one objective to minimize: name it, minimize='time'")
        names = [getattr(each, "name", "") for each in read_statements(check)] if check else []
        axis = of or next((name for name in names if name in study.grid().axes), None)
        if axis is None:
            raise DseError("name the axis that the rule chooses: of='splits'")
        stats, problem = SearchStats.start(None), RuleProblem.from_study(study, goal, axis)
        if check is None:
            more = [problem.parse(text) for text in texts_of(formulas, "formulas")]
            front = find_rule(problem, within, leaves, more, stats)
        else:
            tree = read_rule(problem, check)
            proof = prove(problem, tree, stats, limit=1 + within, gap=0.01)
            front = {len(rule_rows(tree)): (tree, proof)}
        tree = front[max(front)][0]
        proofs = {size: proof for size, (_, proof) in front.items()}
        return RuleReport(problem, tree, within, proofs, mean_regret(problem, tree))

    with time_limited(time_limit), show_progress(progress, "proving", -1):
        report = map_studies(source, certify, "rule")
    if isinstance(report, dict):
        raise DseError("the study compares several models: name one model to make a rule for")
    if out is not None:
        write_atomic(out, report.text(Path(out).suffix))
    return report
