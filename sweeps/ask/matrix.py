"""What may be asked of what, and how: one table, which refuses and which the docs print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sweeps.ask.reasons import reason
from symbolic.errors import DseError

__all__ = ["MODIFIERS", "SOURCES", "refuse", "refuse_statistic", "table"]

#: Sources by name: what they are.
SOURCES = {
    "study": "a study over values of its axes",
    "store": "a finished store, or the Dataset opened from it",
    "Dataset": "a Dataset in memory, or of another file",
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

#: Statistics that bounds over boxes tell of only where they were computed before.
UNPROVEN = {
    "moved": "what it goes over is more than 64 points, and moving a quantity would need them all",
    "many": "bounds carry one copy of the equations for each point of a statistic, of at most 64, "
    "and computing it first would take too many values",
}
_WAYS = {
    "moved": "take fewer points",
    "many": "ask method='scan', or take fewer points (fewer draws, values or discrete laws)",
}


def refuse_statistic(name: str, why: str) -> None:
    """Refuse a statistic of which nothing can be proven; nothing where it has no name.

    Raises
    ------
    DseError
        With one of the reasons :data:`UNPROVEN`.
    """
    if name:
        raise DseError(f"{name} cannot be bounded: {UNPROVEN[why]}; {_WAYS[why]}")


def refuse(verb: str, source: str, given: Mapping[str, bool]) -> None:
    """Refuse what cannot be asked of a source; ``given`` tells which modifiers are.

    Raises
    ------
    DseError
        The first of them that cannot be, with the reason.
    """
    if whole := reason(verb, source):
        raise DseError(f"{verb} is not asked of {SOURCES[source]}: {whole}")
    for modifier, asked in given.items():
        if asked and (why := reason(verb, source, modifier)):
            out = "several objectives" if modifier == "objectives" else modifier
            raise DseError(
                f"{verb} of {SOURCES[source]} takes no {modifier}: {why}; leave {out} out"
            )


def table(verbs: Iterable[str]) -> str:
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
                why = reason(verb, source) or reason(verb, source, modifier)
                cells.append(str(reasons.setdefault(why, len(reasons) + 1)) if why else "yes")
            rows.setdefault(" | ".join(cells), []).append(source)
        lines += [f"| `{verb}` | {', '.join(of)} | {cells} |" for cells, of in rows.items()]
    lines += ["", *(f"{number}. {why}." for why, number in reasons.items())]
    lines += ["", "A statistic over axes is refused where bounds are asked for and"]
    lines += ["", *(f"* {why}." for why in UNPROVEN.values())]
    return "\n".join(lines)
