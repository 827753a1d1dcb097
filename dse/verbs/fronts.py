"""The configurations that no other beats in every objective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dse.progress import Shown, shown
from dse.verbs.query import resolve_source, run_query_with_identity
from dse.verbs.registry import verb
from dse.verbs.sources import Askable
from sweeps.runtime.stopping import time_limited

if TYPE_CHECKING:
    import xarray as xr

    from dse.verbs.query import Source


@verb
def pareto(
    source: Askable,
    *,
    minimize: str | Sequence[str] | None = None,
    maximize: str | Sequence[str] | None = None,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    method: str = "auto",
    time_limit: float | None = None,
    progress: Shown = False,
) -> xr.Dataset:
    """The configurations that no other beats in every objective (dimension ``point``).

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked, as of :func:`optimum`; ``method`` and ``time_limit`` are of a study alone.
    minimize, maximize : str or list of str
        Quantities or formulas.
    where : str or list of str
        Constraints besides those of the study or Dataset.
    per : str or list of str, optional
        Axes, or columns of measured rows, for each value of which a front is wanted.
    method : {"auto", "scan", "certified"}
        A scan of the whole grid, or a search by bounds over boxes with a proof that nothing else
        is on the front: "auto" takes it where there are too many points to scan.
    time_limit : float, optional
        Of a certified front: seconds after which the best points found so far are given. The
        attribute ``complete`` is 0 then, ``boxes_left`` tells how many boxes may hold others, and
        the variable ``proven`` which points nothing can beat. An interrupt is told as by
        :func:`optimum`.
    progress : bool
        Tell on standard error, after a second, for how long the search goes on.
    """
    from sweeps.ask.source import ask_for
    from sweeps.grid.goals import read_goals, texts_of

    goals, texts = read_goals(minimize, maximize), texts_of(where, "where")
    axes = texts_of(per, "per")
    given = {"method": method not in ("auto", "scan"), "time_limit": time_limit is not None}

    def ask(source: Source) -> xr.Dataset:
        from sweeps.sources.proof import front_of

        limits: dict[str, Any] = {"method": method, "time_limit": time_limit}
        return front_of(source, ask_for(goals, tuple(source.sizes), per=axes, **limits))

    with time_limited(time_limit), shown(progress, "searching"):
        about: dict[str, Any] = {"texts": goals, "where": texts, "per": axes, "given": given}
        return run_query_with_identity("pareto", resolve_source(source), ask, **about)
