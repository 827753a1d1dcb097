"""What a validation found, as values, as text and as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting.columns import Floats
from dse.validation.scores import Score
from symbolic.visible import Card, Fold, Visible

__all__ = ["Validation", "cells", "heads"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Validation(Visible):
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
    baselines : mapping of str to Score
        Of each baseline.
    by : mapping of str to Score
        Of the predictions again, for each label that was left out, where these are few.
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
    baselines: Mapping[str, Score]
    by: Mapping[str, Score]
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
        worse = {name: self.score.worse_than(other) for name, other in self.baselines.items()}
        return {name: measures for name, measures in worse.items() if measures}

    def _card(self) -> Card:
        every = {self.model: self.score, **self.baselines}
        shown = heads([*every.values(), *self.by.values()])

        def table(title: str, scores: Mapping[str, Any], opened: bool) -> Fold:
            rows: Sequence[Sequence[str]] = [[n, *cells(s, shown)] for n, s in scores.items()]
            return Fold(title=title, header=("", *shown.values()), rows=rows, opened=opened)

        return Card(
            kind="Validation",
            line=f"{self.model} against {self.to} of {self.rows:,} rows, {self.how}",
            facts={f"loses to {name}": ", ".join(in_) for name, in_ in self.losses.items()},
            folds=[table("errors", every, True), table("each left out", self.by, False)],
        )

    def to_dict(self) -> dict[str, Any]:
        """The validation as plain data, without its rows."""
        return {
            "model": self.model,
            "to": self.to,
            "rows": self.rows,
            "how": self.how,
            "score": _plain(self.score),
            "baselines": {name: _plain(each) for name, each in self.baselines.items()},
            "by": {name: _plain(each) for name, each in self.by.items()},
            "losses": {name: list(measures) for name, measures in self.losses.items()},
            "fitted": [dict(each) for each in self.fitted],
        }

    def __str__(self) -> str:
        every = {self.model: self.score, **self.baselines}
        shown = heads([*every.values(), *self.by.values()])
        table = [["", *shown.values()]]
        table += [[name, *cells(each, shown)] for name, each in every.items()]
        if len(self.by) > 1:
            table.append([f"{self.model}, each left out:", *("" for _ in shown)])
            table += [[f"  {name}", *cells(each, shown)] for name, each in self.by.items()]
        wide = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [f"{self.model} against {self.to} of {self.rows:,} rows, {self.how}"]
        for first, *rest in table:
            numbers = (cell.rjust(w) for cell, w in zip(rest, wide[1:], strict=True))
            lines.append(f"  {first:{wide[0]}}  {'  '.join(numbers)}".rstrip())
        for name, measures in self.losses.items():
            lines.append(f"LOSES to {name}: {', '.join(_HEADS[m] for m in measures)}")
        if self.score.missing:
            lines.append(f"NOT PREDICTED: {self.score.missing:,} rows")
        return "\n".join(lines)


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
