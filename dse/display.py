"""The Dataset that answers a question, as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symbolic.answer import TEXT_ROWS, Answer, Table
from symbolic.errors import DseError
from symbolic.json_text import read_json

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.grid.failures import Failure


#: Variables that JSON holds and people are not shown.
_JSON_ONLY = ("feasible", "point")


def dataset_answer(ds: xr.Dataset, order: Sequence[str] = ()) -> Answer:
    """The Dataset of an optimum or a front as rows: the configuration first, then the outputs.

    ``order`` lists axes and outputs as the study does; a store keeps them in an order of its own.
    """
    from sweeps.grid.dataset import arrays_of, read_flag_meanings

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
            kept["flags"] = {
                str(flag): word for flag, word in read_flag_meanings(attributes).items()
            }
        variables[name] = kept
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    question = str(ds.attrs.get("question", ""))
    result = {"question": question, "over": list(over), "variables": variables, "rows": rows}
    return rows_answer(result)


def rows_answer(
    answer: Answer | Mapping[str, Any], shown_rows: Sequence[Mapping[str, Any]] | None = None
) -> Answer:
    """Return the answer of rows of variables, of which people are ``shown`` only some."""
    data = answer.data if isinstance(answer, Answer) else answer
    variables = data["variables"]
    names = [name for name in variables if name not in _JSON_ONLY]
    flags = {name: variables[name]["flags"] for name in names if "flags" in variables[name]}
    cells = [
        [flags[n].get(str(row[n]), "-") if n in flags else row[n] for n in names]
        for row in (data["rows"] if shown_rows is None else shown_rows)
    ]
    units = {name: str(variables[name].get("units", "")) for name in names}
    table = Table(columns=units, rows=cells, max_rows=TEXT_ROWS, is_open=True, sortable=True)
    return Answer(title=data["question"], tables=[table], data=data)


def result_answer(result: Any, order: Sequence[str] = ()) -> Any:
    """Return what shows the answer of a verb: itself, or the tables of a Dataset.

    A Dataset whose variables lie along different axes has a table for each of these.
    """
    if not hasattr(result, "data_vars"):
        return result
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for name, array in result.data_vars.items():
        groups.setdefault(array.dims, []).append(name)
    parts = [
        dataset_answer(result[names].drop_dims({*result[names].dims} - {*d}), order)
        for d, names in groups.items()
    ]
    if len(parts) == 1:
        return parts[0]
    question = str(result.attrs.get("question", ""))
    data = {"question": question, "parts": [part.data for part in parts]}
    tables = [replace(table, sortable=False) for part in parts for table in part.tables]
    return Answer(title=question, tables=tables, data=data)


def column_order(source: Any) -> list[str]:
    """The axes and outputs in the order of the study, from a Study or from a Dataset of one."""
    if not hasattr(source, "attrs"):
        grid = source.grid()
        return [*grid.axes, *grid.outputs]
    try:
        outputs = [*map(str, read_json(source.attrs["study"])["outputs"])]
    except (KeyError, TypeError, ValueError):
        outputs = []
    return [*str(source.attrs.get("axes", "")).split(), *outputs]


def table(ds: xr.Dataset) -> Answer:
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
    maximize ms_throughput
    <BLANKLINE>
    rank  threads  ms_throughput
       1      512       0.839344
       2      256       0.419672
    """
    if not hasattr(ds, "data_vars"):
        raise DseError(f"{ds!r} is no Dataset: expected an answer, such as that of optimum")
    return dataset_answer(ds, column_order(ds))


# --- What could not be computed, in words
def failure_lines(failures: Sequence[Failure], limit: int = 5) -> list[str]:
    """What could not be computed, in a few lines, and how to go on; nothing where all was."""
    if not failures:
        return []
    points = sum(failure.points for failure in failures)
    lines = [f"failed: {points:,} points; the same command tries them again"]
    lines += [f"  {failure}" for failure in failures[:limit]]
    return lines + ([f"  and {len(failures) - limit:,} more"] if len(failures) > limit else [])


def warn_failures(failures: Sequence[Failure]) -> None:
    """Warn of what could not be computed, where the question was called."""
    import warnings

    warnings.warn("; ".join(failure_lines(failures)), stacklevel=3)
