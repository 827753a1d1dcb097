"""Below which values a share of the feasible configurations lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dse.progress import Shown, shown
from dse.verbs.asking import answered
from dse.verbs.reading import asked_of
from dse.verbs.refusals import with_reasons
from dse.verbs.sources import Askable

if TYPE_CHECKING:
    import xarray as xr

    from dse.verbs.asking import Source

__all__ = ["quantiles"]


@with_reasons
def quantiles(
    source: Askable,
    quantity: str,
    q: float | Sequence[float],
    *,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    progress: Shown = False,
) -> xr.Dataset:
    """The least values that given shares of the feasible configurations do not exceed; exact.

    Of N values the quantile q is the least that at least q N of them do not exceed (the inverse of
    the distribution function), so that it is the value of some configuration; q = 0 is the least
    of all. The result has the dimension ``quantile``.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked.
    quantity : str
        A quantity or formula.
    q : float or sequence of float
        Shares, from 0 to 1.
    where : str or list of str
        Constraints besides those of the study or Dataset.
    per : str or list of str, optional
        Axes, or columns of measured rows, for each value of which it is asked.
    progress : bool
        Tell on standard error, after a second, for how long the count goes on.
    """
    from sweeps.ask.spread import quantiles as quantiles_of
    from sweeps.grid.goals import texts_of

    axes = texts_of(per, "per")
    about: dict[str, Any] = {"texts": [quantity], "where": texts_of(where, "where"), "per": axes}

    def ask(part: Source) -> xr.Dataset:
        return quantiles_of(part, quantity, q, axes)

    with shown(progress, "counting"):
        return answered("quantiles", asked_of(source), ask, **about)
