"""Scores of predictions: errors, ranks, the cost of choosing by them; results of validations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting.parameters import Floats
from dse.fitting.rows import ColumnTable
from symbolic.answer import Answer, Report
from symbolic.answer import Table as AnswerTable
from symbolic.errors import DseError

Places = NDArray[np.int64]
#: The rows that are predicted together, and those that are known then.
Folds = Sequence[tuple[Places, Places]]
#: Added to the name of a baseline where its choice is drawn of all that it calls equally good.
TIES_SUFFIX = ", mean over its ties"
#: Predictions that differ by a smaller share are equally good.
TIE_TOLERANCE = 1e-9
#: What is compared with baselines: each measure, and whether more of it is better.
MEASURES = {"median": False, "mean": False, "p90": False, "rank": True, "slowdown_p90": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Predictions against measured rows; NaN where a measure does not apply.

    Attributes
    ----------
    median, mean, p90 : float
        Of |predicted - measured| / |measured|, over the rows that are predicted.
    rank : float
        Spearman's rank correlation: the mean over the spaces in which a choice is made, where
        there are any, else of all rows.
    slowdown_median, slowdown_p90 : float
        Over these spaces: what was measured where the least is predicted, over the least measured.
    coverage : float
        Share of the rows that lie within their intervals.
    missing : int
        Rows that are not predicted, because a rule is broken or no number comes out.
    """

    median: float = math.nan
    mean: float = math.nan
    p90: float = math.nan
    rank: float = math.nan
    slowdown_median: float = math.nan
    slowdown_p90: float = math.nan
    coverage: float = math.nan
    missing: int = 0

    def worse_than(self, other: Score) -> tuple[str, ...]:
        """The measures in which another one is better."""
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in MEASURES}
        worse = {n: own < its if MEASURES[n] else own > its for n, (own, its) in pairs.items()}
        return tuple(name for name, is_worse in worse.items() if is_worse)


def score(
    measured: Floats,
    predicted: Floats,
    spaces: Sequence[Places] = (),
    *,
    errors: bool = True,
    is_in_interval: NDArray[np.bool_] | None = None,
) -> Score:
    """Score predictions, in the unit of what was measured unless ``errors`` is false.

    >>> found = score(np.array([1.0, 2.0, 4.0]), np.array([1.1, 1.8, 4.0]), [np.arange(3)])
    >>> round(found.median, 3), found.rank, found.slowdown_p90
    (0.1, 1.0, 1.0)
    """
    known = np.isfinite(predicted)
    off = np.abs(predicted[known] / measured[known] - 1) if errors else np.array([])
    slow = slowdowns(measured, predicted, spaces)
    return Score(
        median=_quantile(off, 0.5),
        mean=float(off.mean()) if off.size else math.nan,
        p90=_quantile(off, 0.9),
        rank=rank_correlation(measured, predicted, spaces),
        slowdown_median=_quantile(slow, 0.5),
        slowdown_p90=_quantile(slow, 0.9),
        coverage=math.nan if is_in_interval is None else float(is_in_interval[known].mean()),
        missing=int(np.count_nonzero(~known)),
    )


def _quantile(values: Floats, level: float) -> float:
    return float(np.quantile(values, level)) if values.size else math.nan


def slowdowns(
    measured: Floats, predicted: Floats, spaces: Sequence[Places], *, over_ties: bool = False
) -> Floats:
    """What was measured at the least prediction, over the least measured, for each space.

    Rows that are not predicted are not chosen; where none is, the first row is. Of equally good
    rows the first counts, or, as if one were ``drawn`` of them, their mean.

    >>> one, told = np.array([2.0, 1.0, 3.0]), np.array([5.0, 5.0, 9.0])
    >>> [slowdowns(one, told, [np.arange(3)], drawn=mean).item() for mean in (False, True)]
    [2.0, 1.5]
    """
    result = []
    for rows in spaces:
        hoped = np.where(np.isfinite(predicted[rows]), predicted[rows], math.inf)
        chosen = _best_rows(hoped) if over_ties else [np.argmin(hoped)]
        result.append(measured[rows][chosen].mean() / measured[rows].min())
    return np.array(result)


def _best_rows(predictions: Floats) -> NDArray[np.int64]:
    """The rows that are as good as the best."""
    least = predictions.min()
    return np.flatnonzero(predictions <= least + TIE_TOLERANCE * abs(least))


def score_ties(measured: Floats, predicted: Floats, spaces: Sequence[Places]) -> Score | None:
    """What choosing costs if one of the equally good is drawn; None where nothing is as good."""
    drawn = slowdowns(measured, predicted, spaces, over_ties=True)
    if np.array_equal(drawn, slowdowns(measured, predicted, spaces)):
        return None
    return Score(slowdown_median=_quantile(drawn, 0.5), slowdown_p90=_quantile(drawn, 0.9))


def rank_correlation(measured: Floats, predicted: Floats, spaces: Sequence[Places] = ()) -> float:
    """Spearman's rank correlation, as a mean over spaces of at least three rows.

    A space in which all predictions are the same tells no order: it counts as 0.
    """
    known = np.isfinite(predicted)
    result = []
    for rows in spaces or [np.arange(len(measured))]:
        rows = rows[known[rows]]
        if rows.size < 3 or np.ptp(measured[rows]) == 0:
            continue
        import pandas as pd

        pair = pd.DataFrame({"measured": measured[rows], "predicted": predicted[rows]})
        one, other = (pair.rank() - (rows.size + 1) / 2).to_numpy().T
        length = math.sqrt(float((one @ one) * (other @ other)))
        result.append(float(one @ other) / length if length else 0.0)
    return float(np.mean(result)) if result else math.nan


# --- Which rows are left out together, and in which spaces a configuration is chosen


def row_keys(table: ColumnTable, columns: Sequence[str], places: Places) -> list[str]:
    """What some columns say together, for each row."""
    arrays = [np.asarray(table.columns[table.find_column(name)[0]])[places] for name in columns]
    return [", ".join(map(str, row)) for row in zip(*(a.tolist() for a in arrays), strict=True)]


def group_rows(keys: Sequence[str]) -> dict[str, Places]:
    """The rows of each key, in the order in which keys come."""
    result: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        result.setdefault(key, []).append(place)
    return {key: np.array(rows, dtype=np.int64) for key, rows in result.items()}


def make_folds(keys: Sequence[str], folds: int, seed: int = 0) -> list[Places]:
    """Rows to leave out together: all of a key at once, several keys where there are many.

    >>> [fold.tolist() for fold in make_folds(["a", "b", "a", "c"], 3)]
    [[0, 2], [1], [3]]
    """
    groups = list(group_rows(keys).values())
    if len(groups) < 2:
        raise DseError(
            f"all rows are of {keys[0]!r}: nothing is learnt where they are left out; name a "
            "column with two labels or more"
        )
    if len(groups) <= folds:
        return groups
    order = np.random.default_rng(seed).permutation(len(groups))
    return [np.sort(np.concatenate([groups[k] for k in order[n::folds]])) for n in range(folds)]


def sample_spaces(spaces: Sequence[Places], count: int, size: int, seed: int = 0) -> list[Places]:
    """Random parts of each space, drawn without replacement; a smaller space is taken whole."""
    rng = np.random.default_rng(seed)
    return [np.sort(rng.permutation(rows)[:size]) for rows in spaces for _ in range(count)]


# --- What a validation found, as values, as text and as plain data


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Validation(Report):
    """Predictions of measured rows, beside what anybody would predict without a model.

    Attributes
    ----------
    model, to : str
        The model, and the measured quantity.
    rows : int
        Rows that were predicted.
    how : str
        What was known of the rows that are predicted.
    score : Score
        Of the predictions.
    drawn : Score or None
        What choosing costs if one of the equally good is drawn; None where there are no ties.
    baselines : mapping of str to Score
        Of each baseline; ties of a baseline are a row of their own.
    per : tuple of str
        The columns whose labels were asked for.
    by : mapping of str to Score
        Of the predictions again, for each label asked for; by default for each label that was left
        out, where these are few.
    beside : mapping of str to mappings of str to Score
        Of each baseline, for each of these labels.
    fitted : tuple of mappings
        What was fitted, once for each group of rows left out.
    measured, predicted : array
        Of each row, in the stored unit; NaN where nothing is predicted.
    low, high : array
        Between which values a row was expected; NaN where no interval was learnt.
    labels : tuple of str
        What was left out with each row.
    """

    model: str
    to: str
    rows: int
    how: str
    score: Score
    drawn: Score | None
    baselines: Mapping[str, Score]
    per: tuple[str, ...]
    by: Mapping[str, Score]
    beside: Mapping[str, Mapping[str, Score]]
    fitted: tuple[Mapping[str, float], ...]
    measured: Floats = field(repr=False)
    predicted: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    places: NDArray[np.int64] = field(repr=False)

    @property
    def losses(self) -> dict[str, tuple[str, ...]]:
        """Baselines that are better, and in which measures."""
        return _find_losses(self.score, self.drawn, self.baselines)

    @property
    def losses_by(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each label of ``by``, the baselines that are better there, and in which measures."""
        result = {k: _find_losses(each, None, self.beside[k]) for k, each in self.by.items()}
        return {label: losses for label, losses in result.items() if losses}

    @property
    def table(self) -> dict[str, Score]:
        """The model, with its ties where there are any, and each baseline."""
        own = {} if self.drawn is None else {self.model + TIES_SUFFIX: self.drawn}
        return {self.model: self.score, **own, **self.baselines}

    def _answer(self) -> Answer:
        every = self.table
        shown = measure_headings([*every.values(), *self.by.values()])
        by = []
        for label, each in self.by.items():
            by.append([label, *score_cells(each, shown)])
            others = self.beside[label] if self.per else {}
            by += [[f"  {name}", *score_cells(other, shown)] for name, other in others.items()]
        parts = f"for each {' and '.join(self.per)}" if self.per else "each left out"
        losses = {"": self.losses, **(self.losses_by if self.per else {})}
        notes = [
            f"LOSES{f' at {label}' if label else ''} to {name}: {', '.join(_MEASURE_HEADINGS[m] for m in in_)}"
            for label, of in losses.items()
            for name, in_ in of.items()
        ]
        if self.score.missing:
            notes.append(f"NOT PREDICTED: {self.score.missing:,} rows")
        rows = [[name, *score_cells(score, shown)] for name, score in every.items()]
        return Answer(
            kind="Validation",
            title=f"{self.model} against {self.to} of {self.rows:,} rows, {self.how}",
            tables=[
                AnswerTable(columns=("", *shown.values()), rows=rows, is_open=True),
                AnswerTable(
                    title=f"{self.model}, {parts}:",
                    columns=("", *shown.values()),
                    rows=by if len(self.by) > 1 else (),
                ),
            ],
            notes=notes,
        )

    def to_dict(self) -> dict[str, Any]:
        """The validation as plain data, without its rows."""
        return {
            "model": self.model,
            "to": self.to,
            "rows": self.rows,
            "how": self.how,
            "score": _to_dict(self.score),
            "drawn": None if self.drawn is None else _to_dict(self.drawn),
            "baselines": {name: _to_dict(each) for name, each in self.baselines.items()},
            "per": list(self.per),
            "by": {name: _to_dict(each) for name, each in self.by.items()},
            "beside": {
                label: {name: _to_dict(each) for name, each in others.items()}
                for label, others in self.beside.items()
            },
            "losses": {name: list(measures) for name, measures in self.losses.items()},
            "fitted": [dict(each) for each in self.fitted],
        }


def _find_losses(
    model_score: Score, ties: Score | None, baselines: Mapping[str, Score]
) -> dict[str, tuple[str, ...]]:
    """Baselines that are better; ties are held against ties."""
    worse = {
        name: (ties if ties is not None and name.endswith(TIES_SUFFIX) else model_score).worse_than(
            other
        )
        for name, other in baselines.items()
    }
    return {name: measures for name, measures in worse.items() if measures}


_MEASURE_HEADINGS = {
    "median": "median error",
    "mean": "mean error",
    "p90": "p90 error",
    "rank": "rank correlation",
    "slowdown_median": "median slowdown",
    "slowdown_p90": "p90 slowdown",
    "coverage": "within interval",
}


def measure_headings(scores: Sequence[Score]) -> dict[str, str]:
    """The measures that apply to any of some scores, with their headings."""
    return {
        name: head
        for name, head in _MEASURE_HEADINGS.items()
        if any(not math.isnan(getattr(each, name)) for each in scores)
    }


def score_cells(score: Score, measures: Mapping[str, str]) -> list[str]:
    """A score in words, a measure a cell.

    >>> score_cells(Score(median=0.123, rank=0.9), {"median": "", "rank": "", "slowdown_p90": ""})
    ['12.3 %', '0.900', '-']
    """
    result = []
    for name in measures:
        value = getattr(score, name)
        share = name in ("median", "mean", "p90", "coverage")
        result.append(
            "-" if math.isnan(value) else f"{100 * value:.1f} %" if share else f"{value:.3f}"
        )
    return result


def _to_dict(score: Score) -> dict[str, float | int | None]:
    plain = asdict(score)
    return {name: None if plain[name] != plain[name] else plain[name] for name in plain}
