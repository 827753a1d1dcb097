"""Compute which of several configurations with repeated runs is the best, with probabilities.

Successive runs of one configuration are correlated. Therefore the distribution of their mean is
estimated by resampling blocks of runs (circular block bootstrap: Politis and Romano 1992, in
Exploring the limits of bootstrap). The length of a block is computed from the correlation of
neighbouring runs (Carlstein 1986, Annals of Statistics 14). Configurations are independent.
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

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedRuns:
    """The measured values of the runs of one configuration, in order.

    ``lag`` is the correlation of neighbouring runs. ``drift`` is the rise of a fitted line from the
    first to the last run, as a fraction of the mean. ``is_steady`` is true if this rise is not
    significant.
    """

    values: Floats
    lag: float
    drift: float
    is_steady: bool

    @classmethod
    def from_values(cls, values: Floats) -> RepeatedRuns:
        """Compute the correlation and the drift of runs, given in order."""
        count, off = values.size, values - values.mean()
        total = float(off @ off)
        if count < 3 or total == 0:
            return cls(values=values, lag=0.0, drift=0.0, is_steady=True)
        lag = float(off[1:] @ off[:-1]) / total
        along = np.arange(count) - (count - 1) / 2
        slope = float(along @ off) / float(along @ along)
        rest = off - slope * along
        rest_lag = float(rest[1:] @ rest[:-1]) / max(float(rest @ rest), 1e-300)
        spread = math.sqrt(float(rest @ rest) / (count - 2) / float(along @ along))
        spread *= math.sqrt((1 + max(rest_lag, 0.0)) / (1 - min(rest_lag, 0.9)))
        mean = float(values.mean())
        return cls(
            values=values,
            lag=lag,
            drift=slope * (count - 1) / abs(mean) if mean else 0.0,
            is_steady=abs(slope) <= 2 * spread,
        )

    @property
    def error(self) -> float:
        """The standard error of the mean of correlated runs; infinite for a single run."""
        if self.values.size < 2:
            return math.inf
        lag = min(max(self.lag, 0.0), 0.9)
        alone = float(self.values.std(ddof=1)) / math.sqrt(self.values.size)
        return alone * math.sqrt((1 + lag) / (1 - lag))

    @property
    def block_runs(self) -> int:
        """The number of consecutive runs in each block of the block bootstrap."""
        return block_length(self.values.size, self.lag)


def block_length(count: int, lag: float) -> int:
    """Return the length of a block for ``count`` runs with correlation ``lag`` (Carlstein 1986).

    >>> block_length(32, 0.6), block_length(32, 0.0)
    (5, 1)
    """
    if lag <= 0:
        return 1
    lag = min(lag, 0.9)
    best = (2 * lag / (1 - lag**2)) ** (2 / 3) * count ** (1 / 3)
    return int(min(max(round(best), 1), max(count // 3, 1)))


def resample_means(values: Floats, block: int, times: int, rng: np.random.Generator) -> Floats:
    """Return the means of resamples; each has ``values.size`` runs in randomly drawn blocks."""
    count = values.size
    starts = rng.integers(0, count, (times, -(-count // block)))
    index = (starts[:, :, None] + np.arange(block)).reshape(times, -1)[:, :count] % count
    return np.asarray(values[index].mean(axis=1))


#: Number of resamples of each configuration.
RESAMPLES = 4096
#: Half-width of the intervals of means, in standard errors. A configuration is a candidate if its
#: interval overlaps that of the best mean.
MAX_ERRORS_BEHIND = 6.0
#: A configuration with at least this chance counts as the best.
SURE_CHANCE = 0.95
_PARTS = 16  # number of groups of resamples; differences between groups give the errors


class BestCandidates(NamedTuple):
    """Rows that can be the best, the likeliest first, with statistics of their resamples."""

    rows: NDArray[np.int64]
    chances: Floats
    regrets: Floats
    means: Floats
    gains: Floats


def _find_candidates(runs: dict[int, RepeatedRuns], rng: np.random.Generator) -> BestCandidates:
    """Resample the runs of configurations that can be the best, and rank these configurations."""
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
    gains = _knowledge_gradients(means[near], errors[near])
    ordered = (array[order] for array in (chances, regrets, drawn, gains))
    return BestCandidates(rows[order], *ordered)


def _knowledge_gradients(means: Floats, errors: Floats) -> Floats:
    """Return, for each configuration, the expected gain if its number of runs is doubled."""
    from scipy.special import ndtr

    if means.size < 2:
        return np.zeros(means.size)
    order = np.argsort(means, kind="stable")
    other = np.full(means.size, means[order[0]])
    other[order[0]] = means[order[1]]
    moves = errors / math.sqrt(2)  # standard deviation of the change that more runs cause
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
    """Return the probability that each measured configuration is the best on average.

    The result has the variables of :func:`dse.chances`. Additional variables along ``rank`` are
    ``mean`` and ``mean_error`` (half the 95 % interval), ``runs``, ``block_runs``, ``lag1`` and
    ``drift`` (see :class:`RepeatedRuns`), and ``gain``, the expected improvement of the choice if a
    configuration gets twice its runs (knowledge gradient: Frazier, Powell and Dayanik 2008).
    Attributes: ``told_apart`` and ``verdict`` say whether the best is certain; ``run_again`` is the
    rank to measure again; ``lag1`` and ``drift`` are medians over all configurations, and
    ``drifting`` is the fraction of configurations that drift.
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
        raise DseError(f"{goal.text} is the same in all runs: use optimum")
    draws = table.axes[source.draw_axis]
    lines = np.moveaxis(whole, dims.index(source.draw_axis), -1).reshape(-1, draws)
    finite = {row: line[line < np.inf] for row, line in enumerate(lines)}
    runs = {row: RepeatedRuns.from_values(line) for row, line in finite.items() if line.size}
    if not runs:
        raise InfeasibleError(f"{goal.text} is a number in no run: relax the conditions")
    if all(one.values.size < 2 for one in runs.values()):
        raise DseError("no configuration has two runs: their spread is unknown")
    best = _find_candidates(runs, np.random.default_rng(seed))
    chance = best.chances.mean(axis=1)
    shown = np.flatnonzero(chance > 0)[:top]
    rows = best.rows[shown]
    resolution = 3.0 / RESAMPLES
    ranked = [runs[row] for row in rows.tolist()]
    is_single = np.array([one.values.size < 2 for one in ranked])
    unit = source.unit(goal)
    low, high = np.quantile(best.means[shown], [0.025, 0.975], axis=1)
    width = np.where(is_single, np.inf, (high - low) / 2)
    chance_error = np.hypot(half_width(best.chances[shown]), resolution)
    means = np.array([goal.sign * one.values.mean() for one in ranked])
    drifts = np.array([goal.sign * one.drift for one in ranked])
    lists: dict[str, tuple[Any, str, str]] = {
        "chance": (chance[shown], "1", "chance to be the best on average; ties share it"),
        "chance_error": (chance_error, "1", "of resampling"),
        "regret": (best.regrets[shown].mean(axis=1), unit, f"expected loss of {goal.text}"),
        "regret_error": (half_width(best.regrets[shown]), unit, "of resampling"),
        "mean": (means, unit, "of its runs"),
        "mean_error": (width, unit, "half the 95 % interval of the mean"),
        "runs": (np.array([one.values.size for one in ranked]), "1", "runs that count"),
        "block_runs": (np.array([one.block_runs for one in ranked]), "1", "runs of a block"),
        "lag1": (np.array([one.lag for one in ranked]), "1", "correlation of neighbouring runs"),
        "drift": (drifts, "1", "share, first to last run"),
        "gain": (best.gains[shown], unit, "expected gain of measuring twice the runs"),
    }
    about = {n: (a, {"units": u, "long_name": name}) for n, (a, u, name) in lists.items()}
    places = source.places(rest, rows) or {"": np.zeros(rows.size, dtype=np.int64)}
    coordinates = {n: c for n, c in source.coordinates.items() if c[0] in rest}
    if taken := [name for name in coordinates if name in about]:
        raise DseError(f"the axis {taken[0]} has a name that the answer needs: rename it")
    ds = winners_dataset(coordinates, about, (), places, [goal], True)
    left = float(max(1 - chance[shown].sum(), 0.0))
    every = list(runs.values())
    left_error = resolution if left else 0.0
    return ds.assign(left=left, left_error=left_error, none=0.0).assign_attrs(
        configurations=int(np.count_nonzero(chance)),
        told_apart=int(chance[0] >= SURE_CHANCE),
        verdict=_verdict(chance),
        run_again=1 + int(np.argmax(best.gains[chance > 0])),
        lag1=float(np.median([one.lag for one in every])),
        drift=float(np.median([goal.sign * one.drift for one in every])),
        drifting=float(np.mean([not one.is_steady for one in every])),
    )


def _verdict(chance: Floats) -> str:
    if chance.size == 1 or chance[0] >= SURE_CHANCE:
        return f"the best is certain enough: its chance is {chance[0]:.3g}"
    return (
        f"the best and the runner-up cannot be distinguished: their chances are {chance[0]:.3g} "
        f"and {chance[1]:.3g}; measure again"
    )
