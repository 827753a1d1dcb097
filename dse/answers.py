"""The answer to a question as rows: in a table of text, and in one of a notebook to be sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.tables import ROWS
from dse.tables import table as text_table
from dse.wording import value_text
from symbolic.errors import DseError
from symbolic.json_text import read_json
from symbolic.visible import ROWS as MOST
from symbolic.visible import Card, Fold, Visible

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Answer", "answer", "order_of", "table"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer(Visible):
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

    @property
    def shown(self) -> list[str]:
        """The variables that people are shown."""
        return [name for name in self.variables if name not in ("feasible", "point")]

    def _card(self) -> Card:
        names, many = self.shown, f"{len(self.rows):,} configurations"
        shown = [[self.cell(name, row) for name in names] for row in self.rows[:MOST]]
        keys = [[row[name] for name in names] for row in self.rows[:MOST]]
        more = f"{many}, of which {MOST} are shown" if len(self.rows) > MOST else many
        fold = Fold(title=more, header=names, rows=shown, keys=keys, opened=True)
        return Card(kind="Table", line=f"{self.question}: {many}".lstrip(": "), folds=[fold])

    def __str__(self) -> str:
        names = self.shown
        shown = [[self.cell(name, row) for name in names] for row in self.rows[:ROWS]]
        return text_table(names, shown, of=len(self.rows))

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
    from sweeps.grid.dataset import arrays_of, meanings_of

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
    names = [*leading, *(name for name in coordinates if name not in leading), *outputs]
    columns, variables = {}, {}
    for name in names:
        dims, values, attributes = arrays[name]
        if not set(dims) <= set(over):
            raise DseError(
                f"{name} lies along {', '.join(dims)}, and the rows are along "
                f"{', '.join(over) or 'nothing'}: a table takes an answer, or a run whose "
                "variables lie along the same axes"
            )
        own = [dim for dim in over if dim in dims]
        values = values.transpose([dims.index(dim) for dim in own])
        values = values.reshape([sizes[dim] if dim in own else 1 for dim in over])
        columns[name] = np.broadcast_to(values, [sizes[d] for d in over]).reshape(-1).tolist()
        kept = {k: v for k, v in attributes.items() if k in ("units", "long_name")}
        if "flag_values" in attributes:
            kept["flags"] = {str(flag): word for flag, word in meanings_of(attributes).items()}
        variables[name] = kept
    rows = tuple(dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True))
    question = str(ds.attrs.get("question", ""))
    return Answer(question=question, over=over, variables=variables, rows=rows)


def order_of(source: Any) -> list[str]:
    """The axes and outputs in the order of the study, from a Study or from a Dataset of one."""
    if not hasattr(source, "attrs"):
        grid = source.grid()
        return [*grid.axes, *grid.outputs]
    try:
        outputs = [*map(str, read_json(source.attrs["study"])["outputs"])]
    except (KeyError, TypeError, ValueError):
        outputs = []
    return [*str(source.attrs.get("axes", "")).split(), *outputs]


def table(found: xr.Dataset) -> Answer:
    """Configurations as a table: one a row, with units and the names of cases.

    Printed it is text; a notebook shows a table that a click on a heading sorts.

    Parameters
    ----------
    found : Dataset
        What :func:`dse.optimum` or :func:`dse.pareto` gives, or a run of few points.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600},
    ...               outputs=["ms_throughput"])
    >>> print(table(study.optimum(maximize="ms_throughput", top=2)))
    rank  threads  ms_throughput
       1      512       0.839344
       2      256       0.419672
    """
    if not hasattr(found, "data_vars"):
        raise DseError(f"{found!r} is no Dataset: expected an answer, such as that of optimum")
    return answer(found, order_of(found))
