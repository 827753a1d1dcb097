"""List the options that each verb supports on each source, and why others are unsupported."""

from collections.abc import Iterable, Mapping

from symbolic.errors import DseError

#: Kinds of sources, with their descriptions.
SOURCES = {
    "study": "a study with axes, or a finished store of a study",
    "Dataset": "a Dataset in memory, from another file, or from a store whose model is missing",
    "rows": "measured rows along the dimension `configuration`",
}
MODIFIERS = (
    *("where", "per", "top", "ties", "within", "objectives", "method", "time_limit", "gap"),
    "epsilon",
)

_SELECTION_MODIFIERS = "top ties within gap"
_WHY_ONE_OBJECTIVE = "it takes one objective"
_WHY_NO_PARTIAL_ANSWER = "it aggregates over all points, so a partial answer would be wrong"

#: A row has verbs, sources and modifiers (empty: all), and the reason why they cannot be combined
#: (empty: they can be). The first row that matches decides.
_RULES = (
    ("meets ranges borders information law rule", "rows", "", "measured rows have no equations"),
    ("sensitivity", "rows", "",
     "the columns of measured rows are no axes: make a grid of the measurements "
     "(dse.open(..., shape='grid'), dse import --shape grid)"),
    ("pareto", "", "epsilon", ""),
    ("", "", "epsilon", "only a Pareto front can be covered within a tolerance: use pareto"),
    ("pareto", "", _SELECTION_MODIFIERS, "the points of a front have no rank, and none is best"),
    ("optimum pareto", "Dataset rows", "method time_limit gap",
     "recorded values are scanned, which is exact"),
    ("law", "", " ".join(MODIFIERS),
     "a law is the distribution at one configuration: give the values of its axes (at=)"),
    ("chances information", "", "objectives", _WHY_ONE_OBJECTIVE),
    ("chances information", "", "method time_limit", _WHY_NO_PARTIAL_ANSWER),
    ("information", "", f"per {_SELECTION_MODIFIERS}",
     "it values one choice among all configurations: give the study fewer configurations"),
    ("chances", "", "ties within gap",
     "ties share the chance of a draw, and the regret says how near the best a configuration is"),
    ("chances", "rows", "per",
     "runs are compared as recorded: select from the Dataset before (ds.sel)"),
    ("rule", "", "where per top ties objectives method gap",
     "it proves a rule for one objective at all points of a study: change the study"),
    ("optimum pareto chances information law rule", "", "", ""),
    ("", "", _SELECTION_MODIFIERS,
     "it chooses no configurations, so none can be ranked, tied or near the best"),
    ("ranges", "", "objectives", _WHY_ONE_OBJECTIVE),
    ("", "", "objectives", "it has no objective: give minimize or maximize to optimum or pareto"),
    ("meets ranges borders", "", "method",
     "it always uses bounds over boxes: there is no other method"),
    ("meets", "", "time_limit", ""),
    ("", "", "method time_limit", _WHY_NO_PARTIAL_ANSWER),
    ("ranges borders", "", "per",
     "it answers for every configuration: select from its result (result.sel)"),
)  # fmt: skip

#: Reasons why a statistic cannot be bounded over boxes.
WHY_UNBOUNDED = {
    "moved": "it depends on an input that is varied, and covers more than 64 points",
    "many": "it has too many values to be computed in advance, and covers more than 64 points",
}
_WORKAROUNDS = {
    "moved": "take fewer points",
    "many": "ask method='scan', or take fewer points (fewer draws, values or discrete laws)",
}


def why_unsupported(verb: str, source: str, modifier: str = "") -> str:
    """Return why a verb does not support a source or a modifier; '' if it does.

    >>> why_unsupported("optimum", "study", "ties"), why_unsupported("count", "Dataset", "top")[:34]
    ('', 'it chooses no configurations, so n')
    """
    for *cells, why in _RULES:
        pairs = zip(cells, (verb, source, modifier), strict=True)
        if all(not cell or word in cell.split() for cell, word in pairs):
            return why
    return ""


def reject_statistic(name: str, why: str) -> None:
    """Raise DseError unless ``name`` is empty. ``why`` is the key of the reason."""
    if name:
        raise DseError(f"{name} cannot be bounded: {WHY_UNBOUNDED[why]}; {_WORKAROUNDS[why]}")


def check_supported(verb: str, source: str, modifiers: Mapping[str, bool]) -> None:
    """Raise an error unless a source supports a verb with the given modifiers."""
    if whole := why_unsupported(verb, source):
        raise DseError(f"{verb} does not work on {SOURCES[source]}: {whole}")
    for option, is_set in modifiers.items():
        if is_set and (why := why_unsupported(verb, source, option)):
            out = "several objectives" if option == "objectives" else option
            raise DseError(f"{verb} of {SOURCES[source]} takes no {option}: {why}; leave {out} out")


def support_table(verbs: Iterable[str]) -> str:
    """Return the table of supported modifiers in Markdown, with numbered reasons below it."""
    reasons: dict[str, int] = {}
    lines = [f"| verb | of | {' | '.join(MODIFIERS)} |", f"|---|---|{'---|' * len(MODIFIERS)}"]
    for verb in verbs:
        rows: dict[str, list[str]] = {}  # cells of a row -> the sources that have this row
        for source in SOURCES:
            cells = []
            for modifier in MODIFIERS:
                why = why_unsupported(verb, source) or why_unsupported(verb, source, modifier)
                cells.append(str(reasons.setdefault(why, len(reasons) + 1)) if why else "yes")
            rows.setdefault(" | ".join(cells), []).append(source)
        lines += [f"| `{verb}` | {', '.join(of)} | {cells} |" for cells, of in rows.items()]
    lines += ["", *(f"{number}. {why}." for why, number in reasons.items())]
    lines += ["", "Verbs that need bounds reject a statistic over axes if"]
    lines += ["", *(f"* {why}." for why in WHY_UNBOUNDED.values())]
    return "\n".join(lines)
