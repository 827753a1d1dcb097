"""The commands `dse borders`, `dse meets` and `dse ranges`: questions from the outputs back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import best_on_interrupt, command, read_study
from dse.cli.optimum import set_unproven_status
from dse.cli.options import (
    names_option,
    study_argument,
    time_limit_option,
    values_option,
    where_option,
)
from dse.signals import time_left
from symbolic.answer import TEXT_ROWS, Answer, Table, value_text

if TYPE_CHECKING:
    import xarray as xr


_where = where_option("A constraint besides; may be repeated.")


@command(
    "dse borders examples/transit-tour.toml --quantity bound",
    "dse borders examples/energy-gtx280.toml --quantity case --along mem_bandwidth,n_sms "
    "--at workload=svm,active_sms=30,core_clock=1.3GHz",
    'dse borders study.toml --quantity "time <= 2 ms" --along mem_latency_dram',
)
@study_argument
@click.option("--quantity", metavar="Q", help="A case, bound or limiter, or a condition.")
@names_option("--along", help="What is moved. [the axes]")
@values_option("--at", commas=True, metavar="AXIS=VALUE,...", help="One value of an axis.")
@_where
@click.option("--closed-form", is_flag=True, help="Solve for the borders, where the model can.")
def borders(study: str, quantity: str | None, along: list[str], **options: Any) -> Any:
    """Where one bound, case or category gives way to the next.

    Along each axis of numbers, or each quantity named, from every configuration; of real quantities
    where it lies, of whole numbers the first beyond. A quantity that is no axis is followed through
    its domain. Enclosures rule out borders between the values that were looked at.
    """
    read = read_study(study)
    result = dse.borders(read, quantity, along=along or None, **options, progress=True)
    return _borders_answer(result)


def _borders_answer(ds: xr.Dataset) -> Answer:
    from dse.inverse.borders import border_rows, case_name, next_rows
    from sweeps.grid.dataset import read_flag_meanings

    case, name = str(ds.attrs["question"]).removeprefix("borders of "), case_name(ds)
    units = {str(axis): str(ds[axis].attrs.get("units", "")) for axis in ds[name].dims}
    gaps, rows = int(ds.attrs["undecided"]), border_rows(ds)
    data: dict[str, Any] = {"question": ds.attrs["question"], "case": case, "undecided": gaps}
    data |= {"units": units, "borders": rows}
    if ds[name].dims:
        title = "" if rows else f"{case} is the same all along"
        lines = dict.fromkeys(row["along"] for row in rows)
        tables = [
            _borders_table(case, line, [r for r in rows if r["along"] == line], units)
            for line in lines
        ]
    else:
        here, following = read_flag_meanings(ds.beyond.attrs)[int(ds[name])], next_rows(ds)
        data |= {"here": here, "next": following}
        title = f"{case}: {here}"
        cells = []
        for row in following:
            far = "-" if row["beyond"] == "none" else (row["distance"], row["unit"])
            border = row["border"], row["unit"]
            cells.append([row["along"], row["side"], border, far, row["beyond"]])
        tables = [Table(columns=("along", "side", "border", "distance", "then"), rows=cells)]
    if "closed_forms" in ds.attrs:
        data["closed_forms"] = json.loads(ds.attrs["closed_forms"])
    notes = [
        f"{pair}: {along} = {each}"
        for along, pairs in data.get("closed_forms", {}).items()
        for pair, forms in pairs.items()
        for each in forms
    ]
    if gaps:
        notes.append(f"of {gaps:,} gaps it is not certain that they hold no others")
    return Answer(kind="Borders", title=title, tables=tables, notes=notes, data=data)


def _borders_table(case: str, along: str, rows: Sequence[Any], units: Mapping[str, str]) -> Table:
    """Return the table of the borders along one quantity."""
    axes = [name for name in rows[0] if name not in ("along", "unit", "border", "from", "to")]
    cells = [
        [*((r[n], units.get(n, "")) for n in axes), (r["border"], r["unit"]), r["from"], r["to"]]
        for r in rows
    ]
    columns = [*axes, "border", "from", "to"]
    title = f"{case} along {along}, {len(rows):,} borders:"
    return Table(title=title, columns=columns, rows=cells, max_rows=TEXT_ROWS)


# --- which configurations meet every target
@command(
    'dse meets examples/energy-gtx280.toml --where "time <= 60 ms" --where "power <= 120 W"',
)
@study_argument
@where_option("A target; may be repeated.")
@click.option("--boxes", type=click.IntRange(min=1), default=10_000, help="At most. [10000]")
@time_limit_option("Seconds, at most.")
def meets(study: str, where: list[str], boxes: int, time_limit: float | None) -> Any:
    """The configurations that meet targets, as boxes of the design space.

    Certain boxes meet them wholly; what is open when the limits are reached may meet them. Run to
    its end the answer is exact, whatever the size of the space.
    """
    read, limits = read_study(study), dict[str, Any](boxes=boxes, time_limit=time_left(time_limit))
    result = best_on_interrupt(lambda: dse.meets(read, where, **limits, progress=True))
    set_unproven_status(result.attrs)
    return _meets_answer(result, list(read.grid().axes))


def _meets_answer(ds: xr.Dataset, axes: Sequence[str]) -> Answer:
    units = {axis: str(ds[f"{axis}_first"].attrs.get("units", "")) for axis in axes}
    inner, outer, total = counts = [ds[name].item() for name in ("inner", "outer", "total")]
    complete, boxes, rows = bool(ds.attrs["complete"]), [], []
    columns = {str(n): v.values.tolist() for n, v in ds.data_vars.items() if v.dims}
    for box in range(ds.sizes["box"]):
        ends = {axis: [columns[f"{axis}_{end}"][box] for end in ("first", "last")] for axis in axes}
        certain, points = (columns[name][box] for name in ("certain", "points"))
        boxes.append({**ends, "certain": certain, "points": points})
        texts = [dict.fromkeys(value_text(x, units[a]) for x in pair) for a, pair in ends.items()]
        state = "certain" if certain else "open"
        rows.append([*(" to ".join(text) for text in texts), state, f"{points:,}"])
    many = f"between {inner:,} and {outer:,} of {total:,} configurations"
    if complete:
        many = f"{inner:,} of {total:,} configurations, {inner / total:.3%}, exactly"
    data = {"question": ds.attrs["question"], "complete": complete}
    data |= dict(zip(("inner", "outer", "total"), counts, strict=True))
    data |= {"units": units, "boxes": boxes}
    table = Table(columns=[*units, "", "configurations"], rows=rows, max_rows=TEXT_ROWS)
    return Answer(kind="Boxes", title=f"{data['question']}: {many}", tables=[table], data=data)


@command(
    "dse ranges examples/transit-tour.toml --within mem_latency=10%",
    'dse ranges study.toml --within "mem_bandwidth=5 GB/s" --within core_clock=2% --minimize time',
)
@study_argument
@values_option("--within", metavar="Q=±", help="How far off an input may be.")
@names_option("--output", help="Quantities or formulas. [all]")
@click.option("--minimize", metavar="Q", help="Asks which configurations can have the least of it.")
@click.option("--maximize", metavar="Q", help="Asks which configurations can have the most of it.")
@_where
def ranges(study: str, within: dict[str, str], output: list[str], **options: Any) -> Any:
    """Outputs where inputs are known within ±: certain lower and upper ends.

    How far an input may be off is a share (5%) or an amount with its unit. With an objective,
    which configurations can be the best for some values of the inputs, shared by all.
    """
    from dse.display import column_order, dataset_answer, rows_answer

    if None not in (options["minimize"], options["maximize"]):
        raise click.UsageError("--minimize and --maximize are both given: ask one")
    read = read_study(study)
    result = dse.ranges(read, within, outputs=output or None, **options, progress=True)
    told = dataset_answer(_flatten_ends(result), column_order(read))
    if "can_be_best" not in result:
        return told
    best, size = int(result.can_be_best.sum()), result.can_be_best.size
    objective = result.attrs["objective"]
    data = {**told.data, "objective": objective, "can_be_best": best, "of": size}
    shown = [row for row in data["rows"] if row["can_be_best"]]
    note = f"{best:,} of {size:,} configurations can be the best: {objective}"
    return replace(rows_answer(told, shown), notes=[note], data=data)


def _flatten_ends(ds: xr.Dataset) -> xr.Dataset:
    """The ends of each output side by side."""
    flat = ds.drop_dims("end") if "end" in ds.dims else ds
    for name, array in ds.data_vars.items():
        for end in ds.end.values.tolist() if "end" in array.dims else ():
            flat[f"{name}_{end}"] = array.sel(end=end, drop=True).assign_attrs(array.attrs)
    dims = {dim: flat[dim] for dim in flat.dims}
    return flat.broadcast_like(flat[list(dims)]).assign_attrs(ds.attrs) if dims else flat
