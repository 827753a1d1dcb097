"""What objects show of themselves alike: lists of names, fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dse.wording import value_text
from symbolic.visible import Card, Fold

#: Names that a line tells before it counts the rest.
_NAMES = 6
#: Of the tree of a fit.
_COLUMNS = ("names", "values", "units", "standard_errors")


def some(names: Iterable[str], most: int = _NAMES) -> str:
    """The first of some names, and how many more there are.

    >>> some("abcd", 2)
    'a, b and 2 more'
    """
    every = list(names)
    shown = ", ".join(every[:most])
    return f"{shown} and {len(every) - most:,} more" if len(every) > most else shown


def listed_card(kind: str, rows: Mapping[str, str]) -> Card:
    """Of what is listed by name, with a line on each."""
    told = f"{len(rows):,}: {some(rows)}" if rows else "none"
    fold = Fold(title=f"all {len(rows):,}", rows=[*rows.items()], opened=len(rows) <= _NAMES)
    return Card(kind=kind, line=told, folds=[fold])


def fit_card(kind: str, fit: Mapping[str, Any]) -> Card:
    """Of the tree of a fit: each value with its error, and how far predictions are off."""
    rows = []
    for name, value, unit, error in zip(*map(fit.__getitem__, _COLUMNS), strict=True):
        told = "not known" if error is None else value_text(error, unit)
        told = "an end of its domain" if name in fit["at_end"] else told
        rows.append([name, value_text(value, unit), told])
    groups = fit["left_out"].get("groups", {})
    by = [[label, f"{each['mean']:.2%}", str(each["rows"])] for label, each in groups.items()]
    return Card(
        kind=kind,
        line=f"{fit['model']}, to {', '.join(fit['to'])} of {fit['rows'].get('used', 0):,} rows",
        facts={
            name: f"{fit['errors'][key]:.2%}"
            for name, key in (("mean error", "mean"), ("largest error", "largest"))
            if isinstance(fit["errors"].get(key), float)
        },
        folds=[
            Fold(
                title="values",
                header=("quantity", "value", "standard error"),
                rows=rows,
                opened=True,
            ),
            Fold(title="left out", header=("label", "mean error", "rows"), rows=by),
        ],
    )
