"""Define the verb `rule`: a short decision rule with a certified worst regret."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.study.study import StudyData
from dse.verbs.sources import SourceLike, load_if_study_file
from symbolic.errors import DseError

if TYPE_CHECKING:
    from dse.rules.report import RuleReport


def rule(
    source: SourceLike,
    *,
    of: str | None = None,
    minimize: str | None = None,
    within: float = 0.05,
    leaves: int = 8,
    features: str | Sequence[str] = (),
    out: str | Path | None = None,
    check: str | Path | None = None,
    time_limit: float | None = None,
) -> RuleReport:
    """Find a short decision rule for an axis, with a certificate of its worst regret.

    The regret of a value is the objective at this value, divided by the least objective over all
    values of the axis. A rule compares formulas with thresholds, or compares the predicted
    objective at several formulas. Its leaves are the formulas that it can choose. A rule is fitted
    to points; a scan of all points, or branch and bound, then proves its worst regret or finds a
    worse point, which is added to the points.

    Parameters:
        source (Study or path): Study with the axis, and with the inputs of the rule as other axes.
        of (str): Axis of numbers that the rule chooses.
        minimize (str, optional): Positive quantity or formula; default: the study's ``best``, or
            ``time``.
        within (float): Largest allowed worst regret, as a share: 0.05 for 5 %.
        leaves (int): Largest number of formulas.
        features (str or list of str): Formulas that thresholds may test, besides the inputs.
        out (path, optional): File for the rule: a Python function (``.py``), a C function (``.c``)
            or a table (``.csv``).
        check (path, optional): File that ``out`` wrote. Its rule is certified, and none is fitted.
        time_limit (float, optional): Seconds for the search.

    Returns:
        RuleReport: The rule, its certificate, and the worst regret on the sample of shorter rules.

    Raises:
        DseError: The study has no such axis, or the rule cannot be written.
    """
    from dse.rules.report import certified_rule
    from sweeps.grid.goals import texts_of

    data = load_if_study_file(source)
    if not isinstance(data, StudyData):
        raise DseError("a rule needs a study with one model: give a Study, or its file")
    return certified_rule(
        data,
        of=of,
        minimize=minimize,
        within=within,
        leaves=leaves,
        features=texts_of(features, "features"),
        out=out,
        check=check,
        time_limit=time_limit,
    )
