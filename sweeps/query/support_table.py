"""Which options each verb supports on each kind of source, and why not others.

Used to refuse calls and to generate ``docs/asking.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from symbolic.errors import DseError

#: Sources by name: what they are.
SOURCES = {
    "study": "a study over values of its axes, or a finished store of it",
    "Dataset": "a Dataset in memory, of another file, or of a store whose model is not at hand",
    "rows": "measured rows along `configuration`",
}
MODIFIERS = (
    "where",
    "per",
    "top",
    "ties",
    "within",
    "objectives",
    "method",
    "time_limit",
    "gap",
)

_SELECTION_MODIFIERS = "top ties within gap"
_WHY_ONE_OBJECTIVE = "which configurations can be best is told for one objective"
_WHY_NO_PARTIAL_ANSWER = "its answer is of all points: a part of them would tell something else"

#: Verbs, sources and modifiers (any, where empty), and why these cannot be asked together; empty
#: where they can be. The first row that fits counts.
_RULES = (
    (
        *("meets ranges borders information law", "rows", ""),
        "measured rows have no equations that tell what lies between them",
    ),
    (
        *("sensitivity", "rows", ""),
        "the rows lie along configuration, and their columns are no axes: make a grid of the "
        "measurements (dse.open(..., shape='grid'), dse import --shape grid)",
    ),
    (
        *("pareto", "", _SELECTION_MODIFIERS),
        "every point of a front stands for itself: none is ranked, tied or near another",
    ),
    (
        *("optimum pareto", "Dataset rows", "method time_limit gap"),
        "what is recorded is looked at as it is, which is exact and takes no proof",
    ),
    (
        *("law", "", " ".join(MODIFIERS)),
        "a law is that of one configuration: give the values of its axes (at=)",
    ),
    ("chances information", "", "objectives", _WHY_ONE_OBJECTIVE),
    ("chances information", "", "method time_limit", _WHY_NO_PARTIAL_ANSWER),
    (
        *("information", "", f"per {_SELECTION_MODIFIERS}"),
        "it is the worth of one choice among all configurations: give the study fewer",
    ),
    (
        *("chances", "", "ties within gap"),
        "in each draw one is best, ties share it, and what another would miss is its regret: none "
        "stands beside the best by a share",
    ),
    (
        *("chances", "rows", "per"),
        "runs are compared as they stand: choose of the Dataset (ds.sel)",
    ),
    ("optimum pareto chances information law", "", "", ""),
    (
        "",
        "",
        _SELECTION_MODIFIERS,
        "it chooses no configurations, so none can be ranked, tied or near the best",
    ),
    ("ranges", "", "objectives", _WHY_ONE_OBJECTIVE),
    ("", "", "objectives", "it asks for no best: give minimize or maximize to optimum or pareto"),
    (
        *("meets ranges borders", "", "method"),
        "its boxes are found by bounds alone: there is no other method",
    ),
    ("meets", "", "time_limit", ""),
    ("", "", "method time_limit", _WHY_NO_PARTIAL_ANSWER),
    (
        *("ranges borders", "", "per"),
        "it answers at every configuration already: choose of its answer (found.sel)",
    ),
)

#: Statistics that bounds over boxes tell of only where they were computed before.
WHY_UNBOUNDED = {
    "moved": "what it goes over is more than 64 points, and moving a quantity would need them all",
    "many": "bounds carry one copy of the equations for each point of a statistic, of at most 64, "
    "and computing it first would take too many values",
}
_WORKAROUNDS = {
    "moved": "take fewer points",
    "many": "ask method='scan', or take fewer points (fewer draws, values or discrete laws)",
}


def why_unsupported(verb: str, source: str, modifier: str = "") -> str:
    """Why a verb cannot be asked of a source, with a modifier or at all; empty where it can be.

    >>> why_unsupported("optimum", "study", "ties"), why_unsupported("count", "Dataset", "top")[:34]
    ('', 'it chooses no configurations, so n')
    """
    for *cells, why in _RULES:
        asked = zip(cells, (verb, source, modifier), strict=True)
        if all(not cell or word in cell.split() for cell, word in asked):
            return why
    return ""


def reject_statistic(name: str, why: str) -> None:
    """Refuse a statistic of which nothing can be proven; nothing where it has no name.

    Raises
    ------
    DseError
        With one of the reasons :data:`WHY_UNBOUNDED`.
    """
    if name:
        raise DseError(f"{name} cannot be bounded: {WHY_UNBOUNDED[why]}; {_WORKAROUNDS[why]}")


def check_supported(verb: str, source: str, modifiers: Mapping[str, bool]) -> None:
    """Refuse what cannot be asked of a source; ``given`` tells which modifiers are.

    Raises
    ------
    DseError
        The first of them that cannot be, with the reason.
    """
    if whole := why_unsupported(verb, source):
        raise DseError(f"{verb} is not asked of {SOURCES[source]}: {whole}")
    for modifier, asked in modifiers.items():
        if asked and (why := why_unsupported(verb, source, modifier)):
            out = "several objectives" if modifier == "objectives" else modifier
            raise DseError(
                f"{verb} of {SOURCES[source]} takes no {modifier}: {why}; leave {out} out"
            )


def support_table(verbs: Iterable[str]) -> str:
    """What may be asked of what, in Markdown: where something cannot be, the number of the reason.

    The reasons are listed below the table.
    """
    reasons: dict[str, int] = {}
    lines = [f"| verb | of | {' | '.join(MODIFIERS)} |", f"|---|---|{'---|' * len(MODIFIERS)}"]
    for verb in verbs:
        rows: dict[str, list[str]] = {}  # sources of which the same may be asked stand together
        for source in SOURCES:
            cells = []
            for modifier in MODIFIERS:
                why = why_unsupported(verb, source) or why_unsupported(verb, source, modifier)
                cells.append(str(reasons.setdefault(why, len(reasons) + 1)) if why else "yes")
            rows.setdefault(" | ".join(cells), []).append(source)
        lines += [f"| `{verb}` | {', '.join(of)} | {cells} |" for cells, of in rows.items()]
    lines += ["", *(f"{number}. {why}." for why, number in reasons.items())]
    lines += ["", "A statistic over axes is refused where bounds are asked for and"]
    lines += ["", *(f"* {why}." for why in WHY_UNBOUNDED.values())]
    return "\n".join(lines)
