"""The advice on one configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.advice.follow import follow
from dse.advice.opening import open_site
from dse.advice.words import Advice
from dse.study.data import StudyData
from symbolic.model import Model


def advice(
    what: str | Model | StudyData,
    entries: Mapping[str, str | None],
    prefer: str | None,
    point: Mapping[str, Any],
    goal: str | None = None,
    levers: str = "all",
) -> Advice:
    """See :func:`dse.advise`; ``entries`` are its machine and workload."""
    site = open_site(what, entries, prefer, point, goal, levers)
    found = [move for names in site.candidates() for move in follow(site, names)]
    unique = {(move.quantity, move.together, move.direction): move for move in found}
    return Advice(
        state=site.guide.state,
        bound=site.label(site.flag),
        goal=site.guide.goal,
        limiter=site.limiters(),
        terms=site.term_values(),
        values=site.shown(),
        units={name: site.row(name).unit for name in site.shown()},
        moves=tuple(sorted(unique.values(), key=lambda move: (not move.helps, -move.gain))),
        suggestions=tuple(site.suggestions()),
        notes=site.notes(),
    )
