"""Which configuration is best by runs that were measured again and again, and how sure that is.

Runs of one configuration follow each other and are not independent: the law of their mean is that
of means of blocks drawn again, which wrap around (the circular block bootstrap: Politis and Romano
1992, in Exploring the limits of bootstrap). A block is as long as the correlation of neighbours
asks for (Carlstein 1986, Annals of Statistics 14). Configurations are drawn independently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.given import a_dataset
from dse.measured.resampling import Runs
from dse.measured.winners import RESAMPLES, SURE, Won
from sweeps.ask.draws import TableDraws
from sweeps.grid.goals import check_top, one_goal, texts_of
from sweeps.scan.arrays import Table
from symbolic.errors import DseError, InfeasibleError

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.grid.goals import Goal

__all__ = ["chances_of_runs"]

Floats = NDArray[np.float64]


def chances_of_runs(
    ds: xr.Dataset,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    top: int | None = None,
    seed: int = 1,
) -> xr.Dataset:
    """How likely each measured configuration is the best on average, by its repeated runs.

    Parameters
    ----------
    ds : xarray.Dataset
        Values along ``run``, as ``dse.open(..., runs=True)`` gives them; a run without a number
        does not count.
    minimize, maximize : str
        A quantity or formula that has a value in each run.
    where : str or list of str
        Conditions on runs.
    top : int, optional
        How many are told, the likeliest first.
    seed : int
        Of what is drawn again.

    Returns
    -------
    xarray.Dataset
        As :func:`dse.chances` gives it: ``chance`` and ``regret`` with their errors along ``rank``,
        ``left`` and ``none``. Besides, for each: ``mean`` and ``mean_error`` (half the 95 %
        interval), ``runs``, ``block_runs``, ``lag1`` and ``drift`` (see :class:`Runs`), and
        ``gain``, by how much measuring it as often again is expected to better the choice (the
        knowledge gradient: Frazier, Powell and Dayanik 2008). The attributes tell whether the best
        is ``told_apart``, a ``verdict``, the rank to measure again (``run_again``), and of all
        configurations the median ``lag1`` and ``drift`` and the share that is ``drifting``.

    Raises
    ------
    DseError
        No dimension ``run``, or no configuration with two runs.
    """
    goal = one_goal(minimize, maximize)
    if top is not None:
        check_top(top)
    table = Table(a_dataset(ds), texts_of(where, "where"))
    source = TableDraws(table=table)
    rest = source.rest(goal)
    values, dims = table.values([goal])
    whole = np.broadcast_to(values[0], [table.axes[axis] for axis in dims])
    if source.along not in dims:
        raise DseError(f"{goal.text} is the same in all runs: ask optimum")
    rows = np.moveaxis(whole, dims.index(source.along), -1).reshape(-1, table.axes[source.along])
    some = {row: of[of < np.inf] for row, of in enumerate(rows)}
    runs = {row: Runs.of(of) for row, of in some.items() if of.size}
    if not runs:
        raise InfeasibleError(f"{goal.text} is a number in no run: relax the conditions")
    if all(one.values.size < 2 for one in runs.values()):
        raise DseError("no configuration has two runs: nothing tells how much they differ")
    won = Won.of(runs, np.random.default_rng(seed))
    return _labelled(source, goal, rest, runs, won, top)


def _labelled(
    source: TableDraws,
    goal: Goal,
    rest: tuple[str, ...],
    runs: dict[int, Runs],
    won: Won,
    top: int | None,
) -> xr.Dataset:
    from sweeps.ask.answers import winners
    from sweeps.scan.choosing import Chosen
    from symbolic.confidence import half_width

    chance = won.chances.mean(axis=1)
    kept = np.flatnonzero(chance > 0)[:top]
    rows = won.rows[kept]
    few = 3.0 / RESAMPLES
    alone = np.array([runs[row].values.size < 2 for row in rows.tolist()])
    of = [runs[row] for row in rows.tolist()]
    row = source.quantities.get(goal.text)
    unit = (row.unit if row is not None else "") or "1"
    low, high = np.quantile(won.means[kept], [0.025, 0.975], axis=1)
    width = np.where(alone, np.inf, (high - low) / 2)
    lists: dict[str, tuple[Any, str, str]] = {
        "chance": (chance[kept], "1", "chance to be the best on average; ties share it"),
        "chance_error": (np.hypot(half_width(won.chances[kept]), few), "1", "of drawing again"),
        "regret": (won.regrets[kept].mean(axis=1), unit, f"expected loss of {goal.text}"),
        "regret_error": (half_width(won.regrets[kept]), unit, "of drawing again"),
        "mean": (np.array([goal.sign * one.values.mean() for one in of]), unit, "of its runs"),
        "mean_error": (width, unit, "half the 95 % interval of the mean"),
        "runs": (np.array([one.values.size for one in of]), "1", "runs that count"),
        "block_runs": (np.array([one.block for one in of]), "1", "runs drawn together"),
        "lag1": (np.array([one.lag for one in of]), "1", "correlation of neighbouring runs"),
        "drift": (np.array([goal.sign * one.drift for one in of]), "1", "share, first to last run"),
        "gain": (won.gains[kept], unit, "expected gain of measuring it as often again"),
    }
    about = {n: (a, {"units": u, "long_name": said}) for n, (a, u, said) in lists.items()}
    places = dict(source.places(goal, rows)) or {"": np.zeros(rows.size, dtype=np.int64)}
    coordinates = {n: c for n, c in source.coordinates.items() if c[0] in rest}
    if taken := [name for name in coordinates if name in about]:
        raise DseError(f"the axis {taken[0]} has a name that the answer needs: call it otherwise")
    ds = winners(coordinates, about, Chosen(per=(), places=places), [goal], True)
    left = float(max(1 - chance[kept].sum(), 0.0))
    every = list(runs.values())
    return ds.assign(left=left, left_error=few if left else 0.0, none=0.0).assign_attrs(
        configurations=int(np.count_nonzero(chance)),
        told_apart=int(chance[0] >= SURE),
        verdict=_verdict(chance),
        run_again=1 + int(np.argmax(won.gains[chance > 0])),
        lag1=float(np.median([one.lag for one in every])),
        drift=float(np.median([goal.sign * one.drift for one in every])),
        drifting=float(np.mean([not one.steady for one in every])),
    )


def _verdict(chance: Floats) -> str:
    if chance.size == 1 or chance[0] >= SURE:
        return f"the best is told apart: its chance is {chance[0]:.3g}"
    return (
        f"the best and the runner-up cannot be told apart: their chances are {chance[0]:.3g} and "
        f"{chance[1]:.3g}; measure again"
    )
