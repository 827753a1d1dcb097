"""Fits that leave out whole groups of rows, and alternatives chosen by what that says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dse.fitting import fit
from dse.fitting.checks import FewRowsError
from dse.fitting.columns import Floats, Table, read_columns, read_table
from dse.fitting.result import Fit
from symbolic.errors import DseError
from symbolic.library import load_model
from symbolic.model import Model


def columns_read(table: Table, model: Model, to: str, apart: Sequence[str]) -> list[str]:
    """The columns that the model takes, and what is measured; profiles hold many others."""
    found = [n for n in table.columns if n in model.inputs and n not in apart]
    return [*found, to] if to in table.columns else found


def some_rows(table: Table, kept: Sequence[int] | Any) -> dict[str, Any]:
    """Some rows of a table, with units in the headers as they are read."""
    units = table.units
    return {
        (f"{name} [{units[name]}]" if units[name] else name): np.asarray(column)[kept]
        for name, column in table.columns.items()
    }


def left_out_of(
    table: Table, model: str | Model, by: str, to: str, said: Mapping[str, Any]
) -> dict[str, Floats]:
    """Of each label of a column, how far its rows are from what a fit to all others predicts.

    (predicted - measured) / measured, NaN where no number comes out.
    """
    from dse.evaluation import evaluate

    labels = np.asarray(table.columns[table.find(by)[0]]).astype(str)
    if len(set(labels)) < 2:
        raise DseError(f"the column {by} has one label: nothing is known of what is left out")
    loaded = load_model(model, prefer=said.get("prefer"))
    inputs = [name for name in said["columns"] if name != to]
    found = {}
    for label in dict.fromkeys(labels.tolist()):
        out = labels == label
        fitted = fit(model, some_rows(table, ~out), to=to, left_out="hat", **said)
        rows = read_table(some_rows(table, out))
        values = read_columns(rows, loaded, [*inputs, to])
        measured = values.pop(to)
        entries = {key: said.get(key) for key in ("machine", "workload")}
        given = {**values, **(said.get("set") or {}), **fitted.set}
        predicted = evaluate(model, outputs=[to], **entries, **given)[to].values
        found[label] = np.broadcast_to(predicted, measured.shape) / measured - 1
    return found


def best_of(
    model: str | Model,
    table: Table,
    choose: Mapping[str, Sequence[str]],
    by: str | None,
    to: str,
    said: Mapping[str, Any],
) -> tuple[Fit, dict[str, Floats], list[dict[str, Any]]]:
    """The fit of the alternative with the smallest error left out, and what all of them came to.

    One that the rows do not determine is told with its reason; where none is determined, that is
    an error.
    """
    found: list[tuple[float, Fit, dict[str, Floats]]] = []
    tried: list[dict[str, Any]] = []
    for own in _alternatives(choose):
        asked = {**said, "set": {**(said.get("set") or {}), **own}}
        try:
            whole = some_rows(table, slice(None))
            fitted = fit(model, whole, to=to, left_out="hat" if by else "auto", **asked)
            groups = left_out_of(table, model, by, to, asked) if by else {}
        except FewRowsError as error:
            if not own:
                raise
            tried.append({"set": own, "reason": str(error), "chosen": False})
            continue
        rest = np.concatenate(list(groups.values())) if groups else fitted.left_out[to]
        known = rest[np.isfinite(rest)]
        off = math.sqrt(float(np.square(known).mean())) if known.size else math.inf
        found.append((off, fitted, groups))
        told = {"set": own, "error": off, "unknown": int(rest.size - known.size)}
        tried.append({**told, "chosen": False})
    if not found:
        why = "; ".join(f"{one['set']}: {one['reason']}" for one in tried)
        raise FewRowsError(f"the rows determine none of the alternatives: {why}")
    best = min(found, key=lambda one: one[0])
    for one in tried:
        one["chosen"] = one.get("error") == best[0]
    return best[1], best[2], tried if choose else []


def _alternatives(choose: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    for name, labels in choose.items():
        if isinstance(labels, str) or len(labels) < 2:
            raise DseError(f"choose of {name} is {labels!r}: expected a list of two labels or more")
    for several in itertools.product(*choose.values()):
        yield dict(zip(choose, several, strict=True))
