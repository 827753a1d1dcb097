"""Score predictions by errors, ranks and slowdowns of choices; the result of a validation."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting.parameters import Floats
from dse.fitting.rows import ColumnTable
from symbolic.answer import Answer, Report, count_text
from symbolic.answer import Table as AnswerTable
from symbolic.errors import DseError

Places = NDArray[np.int64]
#: Pairs of the rows that are predicted together, and the known rows to which values are fitted.
Folds = Sequence[tuple[Places, Places]]
#: Suffix for the name of a baseline whose score is the mean over equally good choices.
TIES_SUFFIX = ", mean over its ties"
TIE_TOLERANCE = 1e-9  # Predictions with a smaller relative difference count as equal.
#: Measures that compare the model with baselines; True if a larger value is better.
MEASURES = {"median": False, "mean": False, "p90": False, "rank": True, "slowdown_p90": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Measures of the quality of predictions; NaN if a measure does not apply.

    Attributes:
        median, mean, p90: Median, mean and 90 % quantile of |predicted - measured| / |measured|
            over predicted rows.
        rank: Spearman's rank correlation: the mean over the spaces in which a choice is made, or,
            without spaces, the value for all rows.
        slowdown_median, slowdown_p90: Median and 90 % quantile over the spaces of the slowdown: the
            measured value of the row with the smallest prediction over the smallest measured value.
        coverage: Share of the rows whose measured value is within the prediction interval.
        missing: Rows without a prediction, because a rule is broken or no number results.
    """

    median: float = math.nan
    mean: float = math.nan
    p90: float = math.nan
    rank: float = math.nan
    slowdown_median: float = math.nan
    slowdown_p90: float = math.nan
    coverage: float = math.nan
    missing: int = 0


def score(
    measured: Floats,
    predicted: Floats,
    spaces: Sequence[Places] = (),
    *,
    errors: bool = True,
    is_in_interval: NDArray[np.bool_] | None = None,
) -> Score:
    """Return the score of predictions; if ``errors`` is False, only their order is scored.

    >>> result = score(np.array([1.0, 2.0, 4.0]), np.array([1.1, 1.8, 4.0]), [np.arange(3)])
    >>> round(result.median, 3), result.rank, result.slowdown_p90
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
    """Return, for each space, the slowdown of the row with the smallest prediction.

    The slowdown is the measured value of this row over the smallest measured value. Of equally good
    predictions, the first row is chosen; with ``over_ties``, the mean over these rows is taken. If
    all predictions are missing, the first row is chosen.

    >>> measured, predicted = np.array([2.0, 1.0, 3.0]), np.array([5.0, 5.0, 9.0])
    >>> [slowdowns(measured, predicted, [np.arange(3)], over_ties=t).item() for t in (False, True)]
    [2.0, 1.5]
    """
    result = []
    for rows in spaces:
        finite = np.where(np.isfinite(predicted[rows]), predicted[rows], math.inf)
        least = finite.min()
        ties = np.flatnonzero(finite <= least + TIE_TOLERANCE * abs(least))
        chosen = ties if over_ties else [np.argmin(finite)]
        result.append(measured[rows][chosen].mean() / measured[rows].min())
    return np.array(result)


def score_ties(measured: Floats, predicted: Floats, spaces: Sequence[Places]) -> Score | None:
    """Return the score of mean slowdowns over equally good choices; None if there are no ties."""
    slow = slowdowns(measured, predicted, spaces, over_ties=True)
    if np.array_equal(slow, slowdowns(measured, predicted, spaces)):
        return None
    return Score(slowdown_median=_quantile(slow, 0.5), slowdown_p90=_quantile(slow, 0.9))


def rank_correlation(measured: Floats, predicted: Floats, spaces: Sequence[Places] = ()) -> float:
    """Return Spearman's rank correlation, averaged over the spaces with at least three rows."""
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


def row_keys(table: ColumnTable, columns: Sequence[str], places: Places) -> list[str]:
    """Return a key for each row: the text of its values in the given columns."""
    arrays = [np.asarray(table.columns[table.find_column(name)[0]])[places] for name in columns]
    return [", ".join(map(str, row)) for row in zip(*(a.tolist() for a in arrays), strict=True)]


def group_rows(keys: Sequence[str]) -> dict[str, Places]:
    """Return the rows of each key, in the order of first occurrence."""
    result: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        result.setdefault(key, []).append(place)
    return {key: np.array(rows, dtype=np.int64) for key, rows in result.items()}


def make_folds(keys: Sequence[str], folds: int, seed: int = 0) -> list[Places]:
    """Return the sets of rows to leave out together: the rows of one key, or of several keys.

    There are at most ``folds`` sets. If there are more keys, the keys are distributed at random.

    >>> [fold.tolist() for fold in make_folds(["a", "b", "a", "c"], 3)]
    [[0, 2], [1], [3]]
    """
    groups = list(group_rows(keys).values())
    if len(groups) < 2:
        raise DseError(
            f"all rows have {keys[0]!r}: without them no row is left; name a column with two "
            "labels or more"
        )
    if len(groups) <= folds:
        return groups
    order = np.random.default_rng(seed).permutation(len(groups))
    return [np.sort(np.concatenate([groups[k] for k in order[n::folds]])) for n in range(folds)]


def sample_spaces(spaces: Sequence[Places], count: int, size: int, seed: int = 0) -> list[Places]:
    """Return ``count`` random samples of ``size`` rows from each space; small spaces stay whole."""
    rng = np.random.default_rng(seed)
    return [np.sort(rng.permutation(rows)[:size]) for rows in spaces for _ in range(count)]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Validation(Report):
    """Predictions of measured rows, compared with trivial baselines.

    Attributes:
        model, to, rows: The model, the measured quantity, and the number of rows.
        how: A description of what was left out and fitted when rows were predicted.
        score: Score of the model's predictions.
        drawn: Slowdowns of the model as means over equally good choices; None if there are no ties.
        baselines: Score of each baseline. If it has ties, the mean over them is another entry.
        per: The columns for whose labels separate scores were requested.
        by, baselines_by: Scores of the model, and of each baseline, for each of these labels.
            Default: for each label that was left out, if there are few.
        fitted: The fitted values of each fold.
        measured, predicted: The values of each row in the stored unit; NaN if there is no
            prediction.
        low, high: The prediction interval of each row; NaN if none was learnt.
        labels: The left-out label of each row.
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
    baselines_by: Mapping[str, Mapping[str, Score]]
    fitted: tuple[Mapping[str, float], ...]
    measured: Floats = field(repr=False)
    predicted: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    places: NDArray[np.int64] = field(repr=False)

    def __getattr__(self, name: str) -> Any:
        """Return ``baselines_by`` under its former name."""
        if name == "beside":
            return self.baselines_by
        raise AttributeError(name)

    @property
    def losses(self) -> dict[str, tuple[str, ...]]:
        """Mapping from each baseline that beats the model to the measures in which it does."""
        return _find_losses(self.score, self.drawn, self.baselines)

    @property
    def losses_by(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each label of ``by``, the baselines that beat the model, with the measures."""
        result = {k: _find_losses(each, None, self.baselines_by[k]) for k, each in self.by.items()}
        return {label: losses for label, losses in result.items() if losses}

    @property
    def table(self) -> dict[str, Score]:
        """Scores of the model, of its mean over ties (if it has ties), and of each baseline."""
        ties = {} if self.drawn is None else {self.model + TIES_SUFFIX: self.drawn}
        return {self.model: self.score, **ties, **self.baselines}

    def _answer(self) -> Answer:
        every = self.table
        shown = measure_headings([*every.values(), *self.by.values()])
        by = []
        for label, each in self.by.items():
            by.append([label, *score_cells(each, shown)])
            others = self.baselines_by[label] if self.per else {}
            by += [[f"  {name}", *score_cells(other, shown)] for name, other in others.items()]
        parts = f"for each {' and '.join(self.per)}" if self.per else "each left out"
        losses = {"": self.losses, **(self.losses_by if self.per else {})}
        notes = [
            f"LOSES{f' at {label}' if label else ''} to {name}: "
            + ", ".join(_MEASURE_HEADINGS[measure] for measure in measures)
            for label, by_name in losses.items()
            for name, measures in by_name.items()
        ]
        if self.score.missing:
            notes.append(f"NOT PREDICTED: {count_text(self.score.missing, 'row')}")
        rows = [[name, *score_cells(score, shown)] for name, score in every.items()]
        return Answer(
            kind="Validation",
            title=f"{self.model} against {self.to} of {count_text(self.rows, 'row')}, {self.how}",
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
        """Return the validation as plain data, without its rows."""
        return {
            **{key: getattr(self, key) for key in ("model", "to", "rows", "how")},
            "score": _to_dict(self.score),
            "drawn": None if self.drawn is None else _to_dict(self.drawn),
            "baselines": {name: _to_dict(each) for name, each in self.baselines.items()},
            "per": list(self.per),
            "by": {name: _to_dict(each) for name, each in self.by.items()},
            "beside": {
                label: {name: _to_dict(each) for name, each in others.items()}
                for label, others in self.baselines_by.items()
            },
            "losses": {name: list(measures) for name, measures in self.losses.items()},
            "fitted": [dict(each) for each in self.fitted],
        }


def _find_losses(
    model_score: Score, ties: Score | None, baselines: Mapping[str, Score]
) -> dict[str, tuple[str, ...]]:
    """Return the baselines that are better than the model, and in which measures.

    If the model has ties, a baseline's mean over ties is compared with the model's mean over ties.
    """
    result = {}
    for name, other in baselines.items():
        compared = ties if ties is not None and name.endswith(TIES_SUFFIX) else model_score
        pairs = {name: (getattr(compared, name), getattr(other, name)) for name in MEASURES}
        worse = {n: a < b if MEASURES[n] else a > b for n, (a, b) in pairs.items()}
        if measures := tuple(name for name, is_worse in worse.items() if is_worse):
            result[name] = measures
    return result


_MEASURE_HEADINGS = {
    "median": "median error", "mean": "mean error", "p90": "p90 error", "rank": "rank correlation",
    "slowdown_median": "median slowdown", "slowdown_p90": "p90 slowdown",
    "coverage": "within interval",
}  # fmt: skip


def measure_headings(scores: Sequence[Score]) -> dict[str, str]:
    """Return the measures that apply to at least one score, with their headings."""
    return {
        name: head
        for name, head in _MEASURE_HEADINGS.items()
        if any(not math.isnan(getattr(each, name)) for each in scores)
    }


def score_cells(score: Score, measures: Mapping[str, str]) -> list[str]:
    """Return the measures of a score as texts.

    >>> score_cells(Score(median=0.123, rank=0.9), {"median": "", "rank": "", "slowdown_p90": ""})
    ['12.3 %', '0.900', '-']
    """
    result = []
    for name in measures:
        value = getattr(score, name)
        share = name in ("median", "mean", "p90", "coverage")
        text = f"{100 * value:.1f} %" if share else f"{value:.3f}"
        result.append("-" if math.isnan(value) else text)
    return result


def _to_dict(score: Score) -> dict[str, float | int | None]:
    plain = asdict(score)
    return {name: None if plain[name] != plain[name] else plain[name] for name in plain}
