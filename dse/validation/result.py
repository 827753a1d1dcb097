"""What a validation found, as values, as text and as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting.columns import Floats
from dse.validation.baselines import DRAWN
from dse.validation.scores import Score
from symbolic.answer import Answer, Report, Table


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
        return _losses(self.score, self.drawn, self.baselines)

    @property
    def losses_by(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each label of ``by``, the baselines that are better there, and in which measures."""
        found = {k: _losses(each, None, self.beside[k]) for k, each in self.by.items()}
        return {label: losses for label, losses in found.items() if losses}

    @property
    def table(self) -> dict[str, Score]:
        """The model, with its ties where there are any, and each baseline."""
        own = {} if self.drawn is None else {self.model + DRAWN: self.drawn}
        return {self.model: self.score, **own, **self.baselines}

    def _answer(self) -> Answer:
        every = self.table
        shown = heads([*every.values(), *self.by.values()])
        by = []
        for label, each in self.by.items():
            by.append([label, *cells(each, shown)])
            others = self.beside[label] if self.per else {}
            by += [[f"  {name}", *cells(other, shown)] for name, other in others.items()]
        parts = f"for each {' and '.join(self.per)}" if self.per else "each left out"
        losses = {"": self.losses, **(self.losses_by if self.per else {})}
        notes = [
            f"LOSES{f' at {label}' if label else ''} to {name}: {', '.join(_HEADS[m] for m in in_)}"
            for label, of in losses.items()
            for name, in_ in of.items()
        ]
        if self.score.missing:
            notes.append(f"NOT PREDICTED: {self.score.missing:,} rows")
        rows = [[name, *cells(score, shown)] for name, score in every.items()]
        return Answer(
            kind="Validation",
            title=f"{self.model} against {self.to} of {self.rows:,} rows, {self.how}",
            tables=[
                Table(columns=("", *shown.values()), rows=rows, opened=True),
                Table(
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
            "score": _plain(self.score),
            "drawn": None if self.drawn is None else _plain(self.drawn),
            "baselines": {name: _plain(each) for name, each in self.baselines.items()},
            "per": list(self.per),
            "by": {name: _plain(each) for name, each in self.by.items()},
            "beside": {
                label: {name: _plain(each) for name, each in others.items()}
                for label, others in self.beside.items()
            },
            "losses": {name: list(measures) for name, measures in self.losses.items()},
            "fitted": [dict(each) for each in self.fitted],
        }


def _losses(
    own: Score, drawn: Score | None, baselines: Mapping[str, Score]
) -> dict[str, tuple[str, ...]]:
    """Baselines that are better; ties are held against ties."""
    worse = {
        name: (drawn if drawn is not None and name.endswith(DRAWN) else own).worse_than(other)
        for name, other in baselines.items()
    }
    return {name: measures for name, measures in worse.items() if measures}


_HEADS = {
    "median": "median error",
    "mean": "mean error",
    "p90": "p90 error",
    "rank": "rank correlation",
    "slowdown_median": "median slowdown",
    "slowdown_p90": "p90 slowdown",
    "coverage": "within interval",
}


def heads(scores: Sequence[Score]) -> dict[str, str]:
    """The measures that apply to any of some scores, with their headings."""
    return {
        name: head
        for name, head in _HEADS.items()
        if any(not math.isnan(getattr(each, name)) for each in scores)
    }


def cells(score: Score, shown: Mapping[str, str]) -> list[str]:
    """A score in words, a measure a cell.

    >>> cells(Score(median=0.123, rank=0.9), {"median": "", "rank": "", "slowdown_p90": ""})
    ['12.3 %', '0.900', '-']
    """
    found = []
    for name in shown:
        value = getattr(score, name)
        share = name in ("median", "mean", "p90", "coverage")
        found.append(
            "-" if math.isnan(value) else f"{100 * value:.1f} %" if share else f"{value:.3f}"
        )
    return found


def _plain(score: Score) -> dict[str, float | int | None]:
    plain = asdict(score)
    return {name: None if plain[name] != plain[name] else plain[name] for name in plain}
