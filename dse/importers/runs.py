"""Which configuration is best by runs that were measured again and again, and how sure that is.

Runs of one configuration follow each other and are not independent: the law of their mean is that
of means of blocks drawn again, which wrap around (the circular block bootstrap: Politis and Romano
1992, in Exploring the limits of bootstrap). A block is as long as the correlation of neighbours
asks for (Carlstein 1986, Annals of Statistics 14). Configurations are drawn independently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.arguments import require_dataset
from sweeps.grid.goals import check_top, one_goal, texts_of
from sweeps.query.source import winners_dataset
from sweeps.query.uncertainty import SourceOverDraws, draw_dimension
from sweeps.scan.values import DatasetTable
from sweeps.sources.table import TableScan
from symbolic.confidence import half_width
from symbolic.errors import DseError, InfeasibleError

if TYPE_CHECKING:
    import xarray as xr


# --- The runs of one configuration, and means of blocks of them drawn again


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedRuns:
    """The runs of one configuration, and what they tell of themselves.

    ``lag`` is the correlation of neighbours; ``drift`` by which share of the mean a straight line
    through the runs rises from the first to the last, and ``steady`` whether that may be chance.
    """

    values: Floats
    lag: float
    drift: float
    is_steady: bool

    @classmethod
    def from_values(cls, values: Floats) -> RepeatedRuns:
        """Some runs, in their order."""
        count, off = values.size, values - values.mean()
        total = float(off @ off)
        if count < 3 or total == 0:
            return cls(values=values, lag=0.0, drift=0.0, is_steady=True)
        lag = float(off[1:] @ off[:-1]) / total
        along = np.arange(count) - (count - 1) / 2
        slope = float(along @ off) / float(along @ along)
        rest = off - slope * along
        own = float(rest[1:] @ rest[:-1]) / max(float(rest @ rest), 1e-300)
        spread = math.sqrt(float(rest @ rest) / (count - 2) / float(along @ along))
        spread *= math.sqrt((1 + max(own, 0.0)) / (1 - min(own, 0.9)))
        mean = float(values.mean())
        return cls(
            values=values,
            lag=lag,
            drift=slope * (count - 1) / abs(mean) if mean else 0.0,
            is_steady=abs(slope) <= 2 * spread,
        )

    @property
    def error(self) -> float:
        """The standard error of the mean, neighbours being alike."""
        if self.values.size < 2:
            return math.inf
        lag = min(max(self.lag, 0.0), 0.9)
        alone = float(self.values.std(ddof=1)) / math.sqrt(self.values.size)
        return alone * math.sqrt((1 + lag) / (1 - lag))

    @property
    def block_runs(self) -> int:
        """How many neighbours are drawn together."""
        return block_length(self.values.size, self.lag)


def block_length(count: int, lag: float) -> int:
    """The length of a block of so many runs with that correlation of neighbours (Carlstein 1986).

    >>> block_length(32, 0.6), block_length(32, 0.0)
    (5, 1)
    """
    if lag <= 0:
        return 1
    lag = min(lag, 0.9)
    best = (2 * lag / (1 - lag**2)) ** (2 / 3) * count ** (1 / 3)
    return int(min(max(round(best), 1), max(count // 3, 1)))


def resample_means(values: Floats, block: int, times: int, rng: np.random.Generator) -> Floats:
    """So many means of blocks drawn with replacement, as many runs as there are."""
    count = values.size
    starts = rng.integers(0, count, (times, -(-count // block)))
    index = (starts[:, :, None] + np.arange(block)).reshape(times, -1)[:, :count] % count
    return np.asarray(values[index].mean(axis=1))


# --- Which measured configurations can be the best, by drawing their runs again


#: Times that the runs are drawn again; errors of the mean by which who is behind cannot be best;
#: from which chance on the best is told apart from all others.
RESAMPLES, MAX_ERRORS_BEHIND, SURE_CHANCE = 4096, 6.0, 0.95
#: Parts of the resamples, each taken for a sample by itself.
_PARTS = 16


class BestCandidates(NamedTuple):
    """Who can be the best (rows), the likeliest first, and what the resamples tell of them."""

    rows: NDArray[np.int64]
    chances: Floats
    regrets: Floats
    means: Floats
    gains: Floats


def _find_candidates(runs: dict[int, RepeatedRuns], rng: np.random.Generator) -> BestCandidates:
    """Draw the runs again of all that are not too far behind."""
    known = [one.error / max(abs(one.values.mean()), 1e-300) for one in runs.values()]
    usual = float(np.median([share for share in known if share < math.inf]))
    means = np.array([one.values.mean() for one in runs.values()])
    errors = np.array([one.error for one in runs.values()])
    alone = errors == math.inf
    many = float(np.median([one.values.size for one in runs.values()]))
    errors[alone] = usual * np.abs(means[alone]) * math.sqrt(many)
    near = means - MAX_ERRORS_BEHIND * errors <= np.min(means + MAX_ERRORS_BEHIND * errors)
    rows = np.array(list(runs))[near]
    drawn = np.stack(
        [
            resample_means(runs[row].values, runs[row].block_runs, RESAMPLES, rng)
            if runs[row].values.size > 1
            else rng.normal(mean, error, RESAMPLES)
            for row, mean, error in zip(rows.tolist(), means[near], errors[near], strict=True)
        ]
    )
    least = drawn.min(axis=0)
    first = drawn == least
    chances = (first / first.sum(axis=0)).reshape(rows.size, _PARTS, -1).mean(axis=2)
    regrets = (drawn - least).reshape(rows.size, _PARTS, -1).mean(axis=2)
    order = np.lexsort((regrets.mean(axis=1), -chances.mean(axis=1)))
    others: tuple[Floats, ...] = (
        chances,
        regrets,
        drawn,
        _knowledge_gradients(means[near], errors[near]),
    )
    return BestCandidates(rows[order], *(array[order] for array in others))


def _knowledge_gradients(means: Floats, errors: Floats) -> Floats:
    """What measuring each as often again is expected to better the choice by."""
    from scipy.special import ndtr

    if means.size < 2:
        return np.zeros(means.size)
    order = np.argsort(means, kind="stable")
    other = np.full(means.size, means[order[0]])
    other[order[0]] = means[order[1]]
    moves = errors / math.sqrt(2)  # by how much the mean will move
    with np.errstate(all="ignore"):
        z = -np.abs(means - other) / moves
        result = moves * (z * ndtr(z) + np.exp(-z * z / 2) / math.sqrt(2 * math.pi))
    return np.where(moves > 0, result, 0.0)


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
        interval), ``runs``, ``block_runs``, ``lag1`` and ``drift`` (see :class:`RepeatedRuns`), and
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
    table = DatasetTable(require_dataset(ds), texts_of(where, "where"))
    source = SourceOverDraws(source=TableScan(table=table), draw_axis=draw_dimension(table.axes))
    values, dims = table.values([goal])
    rest = tuple(axis for axis in dims if axis != source.draw_axis)
    whole = np.broadcast_to(values[0], [table.axes[axis] for axis in dims])
    if source.draw_axis not in dims:
        raise DseError(f"{goal.text} is the same in all runs: ask optimum")
    lines = np.moveaxis(whole, dims.index(source.draw_axis), -1).reshape(
        -1, table.axes[source.draw_axis]
    )
    some = {row: of[of < np.inf] for row, of in enumerate(lines)}
    runs = {row: RepeatedRuns.from_values(of) for row, of in some.items() if of.size}
    if not runs:
        raise InfeasibleError(f"{goal.text} is a number in no run: relax the conditions")
    if all(one.values.size < 2 for one in runs.values()):
        raise DseError("no configuration has two runs: nothing tells how much they differ")
    won = _find_candidates(runs, np.random.default_rng(seed))
    chance = won.chances.mean(axis=1)
    kept = np.flatnonzero(chance > 0)[:top]
    rows = won.rows[kept]
    few = 3.0 / RESAMPLES
    alone = np.array([runs[row].values.size < 2 for row in rows.tolist()])
    of = [runs[row] for row in rows.tolist()]
    unit = source.unit(goal)
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
        "block_runs": (np.array([one.block_runs for one in of]), "1", "runs drawn together"),
        "lag1": (np.array([one.lag for one in of]), "1", "correlation of neighbouring runs"),
        "drift": (np.array([goal.sign * one.drift for one in of]), "1", "share, first to last run"),
        "gain": (won.gains[kept], unit, "expected gain of measuring it as often again"),
    }
    about = {n: (a, {"units": u, "long_name": said}) for n, (a, u, said) in lists.items()}
    places = source.places(rest, rows) or {"": np.zeros(rows.size, dtype=np.int64)}
    coordinates = {n: c for n, c in source.coordinates.items() if c[0] in rest}
    if taken := [name for name in coordinates if name in about]:
        raise DseError(f"the axis {taken[0]} has a name that the answer needs: call it otherwise")
    ds = winners_dataset(coordinates, about, (), places, [goal], True)
    left = float(max(1 - chance[kept].sum(), 0.0))
    every = list(runs.values())
    return ds.assign(left=left, left_error=few if left else 0.0, none=0.0).assign_attrs(
        configurations=int(np.count_nonzero(chance)),
        told_apart=int(chance[0] >= SURE_CHANCE),
        verdict=_verdict(chance),
        run_again=1 + int(np.argmax(won.gains[chance > 0])),
        lag1=float(np.median([one.lag for one in every])),
        drift=float(np.median([goal.sign * one.drift for one in every])),
        drifting=float(np.mean([not one.is_steady for one in every])),
    )


def _verdict(chance: Floats) -> str:
    if chance.size == 1 or chance[0] >= SURE_CHANCE:
        return f"the best is told apart: its chance is {chance[0]:.3g}"
    return (
        f"the best and the runner-up cannot be told apart: their chances are {chance[0]:.3g} and "
        f"{chance[1]:.3g}; measure again"
    )
