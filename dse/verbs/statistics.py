"""How many configurations are feasible, and what values a quantity takes how often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dse.progress import Shown, shown
from dse.verbs.query import resolve_source, run_query_with_identity, with_reasons
from dse.verbs.sources import Askable

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["count", "histogram", "quantiles"]


@with_reasons
def count(
    source: Askable,
    *,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    progress: Shown = False,
) -> xr.Dataset:
    """How many configurations are feasible, of how many; the grid of a study is not stored.

    Conditions over different axes are counted apart, and multiplied.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked.
    where : str or list of str
        Constraints besides those of the study or Dataset.
    per : str or list of str, optional
        Axes, or columns of measured rows, for each value of which it is asked.
    progress : bool
        Tell on standard error, after a second, for how long the count goes on.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": range(1, 10**6), "intensity": [1, 2]},
    ...               set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> int(study.count(where=["threads <= 1024", "intensity > 1"]).feasible_points)
    1024
    """
    from sweeps.ask.spread import count as count_of

    return _counted("count", source, count_of, where, per, progress)


@with_reasons
def histogram(
    source: Askable,
    quantity: str,
    *,
    bins: int | Sequence[float | str] = 10,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    progress: Shown = False,
) -> xr.Dataset:
    """How many feasible configurations have a quantity or formula in each of some bins.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked.
    quantity : str
        A quantity or formula.
    bins : int or sequence
        A number of equal bins from the least to the largest finite value, or their edges, numbers
        or texts with units. A bin holds its low edge, the last one both.
    where : str or list of str
        Constraints besides those of the study or Dataset.
    per : str or list of str, optional
        Axes, or columns of measured rows, for each value of which it is asked.
    progress : bool
        Tell on standard error, after a second, for how long the count goes on.

    Returns
    -------
    xarray.Dataset
        ``configurations`` along ``bin``, with the edges ``low`` and ``high``; its attributes say
        how many lie ``below`` and ``above``, and how many are no number (``undefined``).
    """
    from sweeps.ask.spread import histogram as histogram_of

    ask = partial(histogram_of, text=quantity, bins=bins)
    return _counted("histogram", source, ask, where, per, progress, texts=[quantity])


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

    ask = partial(quantiles_of, text=quantity, q=q)
    return _counted("quantiles", source, ask, where, per, progress, texts=[quantity])


def _counted(
    verb: str,
    source: Askable,
    ask: Callable[..., xr.Dataset],
    where: str | Sequence[str],
    per: str | Sequence[str] | None,
    progress: Shown,
    **about: Any,
) -> xr.Dataset:
    """What is asked of the feasible configurations, for each of ``per``."""
    from sweeps.grid.goals import texts_of

    texts, axes = texts_of(where, "where"), texts_of(per, "per")
    with shown(progress, "counting"):
        of = resolve_source(source)
        return run_query_with_identity(
            verb, of, lambda part: ask(part, per=axes), where=texts, per=axes, **about
        )
