"""Show Datasets as tables, and failed points as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symbolic.answer import TEXT_ROWS, Answer, Table
from symbolic.errors import DseError
from symbolic.json_text import read_json
from symbolic.quantities import text_unit

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.grid.failures import Failure
#: Variables that are in the JSON of an answer, but not in its table.
_JSON_ONLY = ("feasible", "point")


def dataset_answer(ds: xr.Dataset, order: Sequence[str] = ()) -> Answer:
    """Return the answer for a Dataset of configurations, one per row of its table.

    The columns are the axes, then the outputs; both follow the list ``order``.
    """
    from sweeps.grid.dataset import arrays_of, read_flag_meanings

    coords, variables_of = arrays_of(ds)
    arrays = {**coords, **variables_of}
    sizes = {d: n for dims, a, _ in arrays.values() for d, n in zip(dims, a.shape, strict=True)}
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
                f"{name} has the axes {', '.join(dims)}, and the rows have "
                f"{', '.join(over) or 'none'}: a table takes an answer, or a run whose variables "
                "have the same axes"
            )
        values = values.transpose([dims.index(dim) for dim in over if dim in dims])
        values = values.reshape([sizes[dim] if dim in dims else 1 for dim in over])
        columns[name] = np.broadcast_to(values, [sizes[d] for d in over]).reshape(-1).tolist()
        about = {k: v for k, v in attributes.items() if k in ("units", "long_name")}
        if "flag_values" in attributes:
            meanings = read_flag_meanings(attributes)
            about["flags"] = {str(flag): word for flag, word in meanings.items()}
        variables[name] = about
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    question = str(ds.attrs.get("question", ""))
    data = {"question": question, "over": list(over), "variables": variables, "rows": rows}
    keys = sum(name not in _JSON_ONLY for name in coordinates)
    table = Table(rows=(), max_rows=TEXT_ROWS, key_columns=keys, is_open=True, sortable=True)
    return select_rows(Answer(title=question, tables=[table], data=data), rows)


def select_rows(answer: Answer, rows: Sequence[Mapping[str, Any]]) -> Answer:
    """Return the answer of :func:`dataset_answer` with a table of the given rows."""
    variables = answer.data["variables"]
    heads = column_heads(variables, rows)
    names = [name for name in heads if name not in _JSON_ONLY]
    flags = {name: variables[name]["flags"] for name in names if "flags" in variables[name]}
    cells = [[flags[n].get(str(r[n]), "-") if n in flags else r[n] for n in names] for r in rows]
    units = {heads[n]: text_unit(n, str(variables[n].get("units", ""))) for n in names}
    return replace(answer, tables=[replace(answer.tables[0], columns=units, rows=cells)])


def column_heads(variables: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the headings of the columns of an answer, without statistics that are objectives."""
    values = {name: repr([row.get(name) for row in rows]) for name in variables}
    goals = [name for name in variables if re.fullmatch(r"objective(_\d+)?", name)]
    repeated = {n for n in variables for goal in goals if n != goal and values[n] == values[goal]}
    heads = {name: name for name in variables}
    heads |= {name: variables[name].get("long_name", name) for name in goals if "_" in name}
    return {n: head for n, head in heads.items() if n.isidentifier() or n not in repeated}


def result_answer(result: Any, order: Sequence[str] = ()) -> Any:
    """Return the answer for a result; variables of a Dataset with the same axes share a table."""
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
    """Return the axes and outputs of a study, or of the study of a Dataset, in their order."""
    if not hasattr(source, "attrs"):
        grid = source.grid()
        return [*grid.axes, *grid.outputs]
    try:
        outputs = [*map(str, read_json(source.attrs["study"])["outputs"])]
    except (KeyError, TypeError, ValueError):
        outputs = []
    return [*str(source.attrs.get("axes", "")).split(), *outputs]


def table(ds: xr.Dataset) -> Answer:
    """Return a table of configurations, one per row, with units and the names of cases.

    The table prints as text; in a notebook, a click on a heading sorts it.

    Parameters:
        ds (Dataset): Result of :func:`dse.optimum`, of :func:`dse.pareto`, or of a run with few
            points.

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


def failure_lines(failures: Sequence[Failure], limit: int = 5) -> list[str]:
    """Return lines that describe points that could not be computed; an empty list for none."""
    if not failures:
        return []
    points = sum(failure.points for failure in failures)
    lines = [f"failed: {points:,} points; the same command tries them again"]
    lines += [f"  {failure}" for failure in failures[:limit]]
    return lines + ([f"  and {len(failures) - limit:,} more"] if len(failures) > limit else [])


def warn_failures(failures: Sequence[Failure]) -> None:
    """Warn of points that could not be computed; the warning points to the caller of the verb."""
    import warnings

    warnings.warn("; ".join(failure_lines(failures)), stacklevel=4)
