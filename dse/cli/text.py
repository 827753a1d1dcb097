"""What the command line prints: JSON documents, and tables for people."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.wording import value_text

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Answer",
    "answer",
    "order_of",
    "table",
    "to_json",
]

#: Rows of a table for people; JSON has them all.
ROWS = 60
#: The least room for the words of a last column.
_WORDS = 24


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return str(value) if isinstance(value, Path) else value


def to_json(value: Any) -> str:
    """One valid JSON document: NaN is null, infinity the text "inf".

    >>> to_json({"a": float("nan"), "b": [np.int8(1), -np.inf]}).split()
    ['{', '"a":', 'null,', '"b":', '[', '1,', '"-inf"', ']', '}']
    """
    return json.dumps(_plain(value), indent=2, allow_nan=False, ensure_ascii=False)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None) -> str:
    """Columns under their names; a column of numbers stands on the right.

    What is wider than ``width``, by default the terminal's where it is printed on one, goes on
    below: words of the last column, else whole columns, beside the first one again.

    >>> print(table(["name", "n"], [["one", "1"], ["ten", "10"]]))
    name   n
    one    1
    ten   10
    >>> print(table(["name", "n", "m"], [["one", "1", "2"]], width=9))
    name  n
    one   1
    <BLANKLINE>
    name  m
    one   2
    """
    if width is None and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    right = [
        bool(rows) and all(row[k][:1] in "-0123456789" for row in rows) for k in range(len(header))
    ]
    room = sum(widths) + 2 * len(widths) if width is None else width
    last = len(header) - 1
    least = [*widths[:-1], widths[-1] if right[-1] else min(widths[-1], _WORDS)]
    blocks: list[list[int]] = [[]]
    for k in range(len(header)):
        if len(blocks[-1]) > 1 and sum(least[j] + 2 for j in blocks[-1]) + least[k] > room:
            blocks.append([0])
        blocks[-1].append(k)

    def lines(cells: Sequence[str], columns: Sequence[int]) -> Iterator[str]:
        *before, end = columns
        parts = [
            cells[k].rjust(widths[k]) if right[k] else cells[k].ljust(widths[k]) for k in before
        ]
        shown = cells[end].rjust(widths[end]) if right[end] else cells[end]
        start = "".join(f"{part}  " for part in parts)
        wide = end == last and not right[end] and len(start) + len(shown) > room
        pieces = textwrap.wrap(shown, max(room - len(start), _WORDS)) if wide else [shown]
        yield (start + pieces[0]).rstrip()
        yield from (" " * len(start) + piece for piece in pieces[1:])

    return "\n\n".join(
        "\n".join(line for cells in [header, *rows] for line in lines(cells, columns))
        for columns in blocks
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The configurations that answer a question, as rows."""

    question: str
    over: tuple[str, ...]
    variables: Mapping[str, Mapping[str, Any]]
    rows: tuple[Mapping[str, Any], ...]

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "question": self.question,
            "over": list(self.over),
            "variables": self.variables,
            "rows": list(self.rows),
        }

    def __str__(self) -> str:
        names = [name for name in self.variables if name not in ("feasible", "point")]
        shown = [[self.cell(name, row) for name in names] for row in self.rows[:ROWS]]
        text = table(names, shown)
        more = len(self.rows) - ROWS
        return text + (f"\n... and {more:,} more (--json has them all)" if more > 0 else "")

    def cell(self, name: str, row: Mapping[str, Any]) -> str:
        """A value of a row for people, with its unit or what its flag means."""
        attributes, value = self.variables[name], row[name]
        if "flags" in attributes:
            return str(attributes["flags"].get(str(value), "-"))
        return value_text(value, str(attributes.get("units", "")))


def answer(ds: xr.Dataset, order: Sequence[str] = ()) -> Answer:
    """The Dataset of an optimum or a front as rows: the configuration first, then the outputs.

    ``order`` lists axes and outputs as the study does; a store keeps them in an order of its own.
    """
    from sweeps.grid.plain import arrays_of

    coords, variables_of = arrays_of(ds)
    arrays = {**coords, **variables_of}
    sizes = {
        d: n for dims, values, _ in arrays.values() for d, n in zip(dims, values.shape, strict=True)
    }
    first = next(iter(variables_of.values()), None)
    over = first[0] if first is not None else tuple(sizes)
    places = {name: place for place, name in enumerate(order)}
    coordinates = sorted(coords, key=lambda name: places.get(name, len(places)))
    outputs = sorted(variables_of, key=lambda name: places.get(name, len(places)))
    leading = [name for name in over if name in coordinates]
    names = [
        *leading,
        *(name for name in coordinates if name not in leading),
        *outputs,
    ]
    columns, variables = {}, {}
    for name in names:
        dims, values, attributes = arrays[name]
        own = [dim for dim in over if dim in dims]
        values = values.transpose([dims.index(dim) for dim in own])
        values = values.reshape([sizes[dim] if dim in own else 1 for dim in over])
        columns[name] = np.broadcast_to(values, [sizes[d] for d in over]).reshape(-1).tolist()
        kept = {k: v for k, v in attributes.items() if k in ("units", "long_name")}
        if "flag_values" in attributes:
            meanings = [m.replace("_", " ") for m in str(attributes["flag_meanings"]).split()]
            flags = np.atleast_1d(attributes["flag_values"]).tolist()
            kept["flags"] = dict(zip(map(str, flags), meanings, strict=True))
        variables[name] = kept
    rows = tuple(dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True))
    question = str(ds.attrs.get("question", ""))
    return Answer(question=question, over=over, variables=variables, rows=rows)


def order_of(source: Any) -> list[str]:
    """The axes and outputs in the order of the study, from a Study or from a Dataset of one."""
    if hasattr(source, "space"):
        grid = source.space()
        return [*grid.axes, *grid.outputs]
    try:
        outputs = json.loads(source.attrs["study"])["outputs"]
    except (KeyError, TypeError, ValueError):
        outputs = []
    return [*str(source.attrs.get("axes", "")).split(), *map(str, outputs)]
