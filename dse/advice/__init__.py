"""What limits a configuration, what would help, and how far until something else limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dse.advice.words import Advice, Move, Suggestion

if TYPE_CHECKING:
    from dse.study import Study
    from symbolic.model import Model

__all__ = ["Advice", "Move", "Suggestion", "advise"]


def advise(
    what: str | Model | Study,
    /,
    *,
    machine: str | None = None,
    workload: str | None = None,
    prefer: str | None = None,
    **point: Any,
) -> Advice:
    """What limits a configuration, what would help, and how far until something else limits.

    Only inputs are advised: a quantity that an equation yields is moved through the inputs behind
    it, and a given value cuts its equation.

    Parameters
    ----------
    what : str, Model or Study
        A model, as for :func:`dse.evaluate`, or a study.
    machine, workload, prefer : str, optional
        As for :func:`dse.evaluate`; of a study, the label on its axis.
    **point
        Of a model, its quantities: numbers, texts with units, formulas, labels of switches. Of a
        study, a value for each axis; axes left out stand at their first value.

    Raises
    ------
    DseError
        A model without a guide, several configurations, whatever does not fit.
    InfeasibleError
        A configuration that breaks a rule or a constraint.

    >>> print(advise("transit", threads=1024, intensity=10, lanes_width=32, ms_peak=1,
    ...              mem_latency=600)["ms_peak"])  # doctest: +ELLIPSIS
    raise ms_peak from 1 to 1.67869: then thread; gain 1.67869   [thread_limit...
    """
    from dse.advice.follow import follow
    from dse.advice.site import open_site

    site = open_site(what, {"machine": machine, "workload": workload}, prefer, point)
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
