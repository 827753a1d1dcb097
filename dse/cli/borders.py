"""The commands `dse borders`, `dse meets` and `dse ranges`: questions from the outputs back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, handed_back, read_study
from dse.cli.optimum import end_unproven
from dse.cli.options import from_study, names, time_limit, values, where
from dse.signals import left
from symbolic.answer import TEXT_ROWS, Answer, Table, value_text

if TYPE_CHECKING:
    import xarray as xr


_where = where("A constraint besides; may be repeated.")


@command(
    "dse borders examples/transit-tour.toml --quantity bound",
    "dse borders examples/energy-gtx280.toml --quantity case --along mem_bandwidth,n_sms "
    "--at workload=svm,active_sms=30,core_clock=1.3GHz",
    'dse borders study.toml --quantity "time <= 2 ms" --along mem_latency_dram',
)
@from_study
@click.option("--quantity", metavar="Q", help="A case, bound or limiter, or a condition.")
@names("--along", help="What is moved. [the axes]")
@values("--at", commas=True, metavar="AXIS=VALUE,...", help="One value of an axis.")
@_where
@click.option("--closed-form", is_flag=True, help="Solve for the borders, where the model can.")
def borders(study: str, quantity: str | None, along: list[str], **options: Any) -> Any:
    """Where one bound, case or category gives way to the next.

    Along each axis of numbers, or each quantity named, from every configuration; of real quantities
    where it lies, of whole numbers the first beyond. A quantity that is no axis is followed through
    its domain. Enclosures rule out borders between the values that were looked at.
    """
    import dse

    read = read_study(study)
    found = dse.borders(read, quantity, along=along or None, **options, progress=True)
    return _borders_answer(found)


def _borders_answer(found: xr.Dataset) -> Answer:
    from dse.inverse.crossing import border_rows, case_of, next_rows
    from sweeps.grid.dataset import meanings_of

    case = str(found.attrs["question"]).removeprefix("borders of ")
    name = case_of(found)
    data: dict[str, Any] = {
        "question": found.attrs["question"],
        "case": case,
        "undecided": int(found.attrs["undecided"]),
        "units": {str(axis): str(found[axis].attrs.get("units", "")) for axis in found[name].dims},
    }
    data["borders"] = border_rows(found)
    if not found[name].dims:
        data["here"] = meanings_of(found.beyond.attrs)[int(found[name])]
        data["next"] = next_rows(found)
    if "closed_forms" in found.attrs:
        import json

        data["closed_forms"] = json.loads(found.attrs["closed_forms"])
    tables = []
    if "next" in data:
        title = f"{case}: {data['here']}"
        rows = [
            [
                *(row["along"], row["side"], (row["border"], row["unit"])),
                "-" if row["beyond"] == "none" else (row["distance"], row["unit"]),
                row["beyond"],
            ]
            for row in data["next"]
        ]
        tables.append(Table(columns=("along", "side", "border", "distance", "then"), rows=rows))
    else:
        title = "" if data["borders"] else f"{case} is the same all along"
        lines = dict.fromkeys(row["along"] for row in data["borders"])
        tables += [_along(case, along, data) for along in lines]
    notes = [
        f"{pair}: {along} = {each}"
        for along, pairs in data.get("closed_forms", {}).items()
        for pair, forms in pairs.items()
        for each in forms
    ]
    if gaps := data["undecided"]:
        notes.append(f"of {gaps:,} gaps it is not certain that they hold no others")
    return Answer(kind="Borders", title=title, tables=tables, notes=notes, data=data)


def _along(case: str, along: str, data: Mapping[str, Any]) -> Table:
    rows = [row for row in data["borders"] if row["along"] == along]
    axes = [name for name in rows[0] if name not in ("along", "unit", "border", "from", "to")]
    cells = [
        [
            *((row[name], data["units"].get(name, "")) for name in axes),
            *((row["border"], row["unit"]), row["from"], row["to"]),
        ]
        for row in rows
    ]
    return Table(
        title=f"{case} along {along}, {len(rows):,} borders:",
        columns=[*axes, "border", "from", "to"],
        rows=cells,
        most=TEXT_ROWS,
    )


# --- which configurations meet every target
@command(
    'dse meets examples/energy-gtx280.toml --where "time <= 60 ms" --where "power <= 120 W"',
)
@from_study
@where("A target; may be repeated.")
@click.option("--boxes", type=click.IntRange(min=1), default=10_000, help="At most. [10000]")
@time_limit("Seconds, at most.")
def meets(study: str, where: list[str], boxes: int, time_limit: float | None) -> Any:
    """The configurations that meet targets, as boxes of the design space.

    Certain boxes meet them wholly; what is open when the limits are reached may meet them. Run to
    its end the answer is exact, whatever the size of the space.
    """
    import dse

    read, limits = read_study(study), dict[str, Any](boxes=boxes, time_limit=left(time_limit))
    found = handed_back(lambda: dse.meets(read, where, **limits, progress=True))
    end_unproven(found.attrs)
    return _meets_answer(_meets_data(found, list(read.grid().axes)))


def _meets_data(found: xr.Dataset, axes: Sequence[str]) -> dict[str, Any]:
    rows = []
    columns = {
        name: found[name].values.tolist() for name in map(str, found.data_vars) if found[name].dims
    }
    for box in range(found.sizes["box"]):
        ends = {axis: [columns[f"{axis}_{end}"][box] for end in ("first", "last")] for axis in axes}
        rows.append({**ends, **{name: columns[name][box] for name in ("certain", "points")}})
    return {
        "question": found.attrs["question"],
        "complete": bool(found.attrs["complete"]),
        **{name: found[name].item() for name in ("inner", "outer", "total")},
        "units": {axis: str(found[f"{axis}_first"].attrs.get("units", "")) for axis in axes},
        "boxes": rows,
    }


def _meets_answer(data: Mapping[str, Any]) -> Answer:
    inner, outer, total = data["inner"], data["outer"], data["total"]
    if data["complete"]:
        count = f"{inner:,} of {total:,} configurations, {inner / total:.3%}, exactly"
    else:
        count = f"between {inner:,} and {outer:,} of {total:,} configurations"
    units, boxes = data["units"], data["boxes"]

    def ends(axis: str, pair: Sequence[Any]) -> str:
        return " to ".join(dict.fromkeys(value_text(end, units[axis]) for end in pair))

    rows = [
        [
            *(ends(axis, row[axis]) for axis in units),
            *("certain" if row["certain"] else "open", f"{row['points']:,}"),
        ]
        for row in boxes
    ]
    table = Table(columns=[*units, "", "configurations"], rows=rows, most=TEXT_ROWS)
    return Answer(kind="Boxes", title=f"{data['question']}: {count}", tables=[table], data=data)


@command(
    "dse ranges examples/transit-tour.toml --within mem_latency=10%",
    'dse ranges study.toml --within "mem_bandwidth=5 GB/s" --within core_clock=2% --minimize time',
)
@from_study
@values("--within", metavar="Q=±", help="How far off an input may be.")
@names("--output", help="Quantities or formulas. [all]")
@click.option("--minimize", metavar="Q", help="Asks which configurations can have the least of it.")
@click.option("--maximize", metavar="Q", help="Asks which configurations can have the most of it.")
@_where
def ranges(study: str, within: dict[str, str], output: list[str], **options: Any) -> Any:
    """Outputs where inputs are known within ±: certain lower and upper ends.

    How far an input may be off is a share (5%) or an amount with its unit. With an objective,
    which configurations can be the best for some values of the inputs, shared by all.
    """
    import dse
    from dse.answers import answer, order_of, rows_answer

    if None not in (options["minimize"], options["maximize"]):
        raise click.UsageError("--minimize and --maximize are both given: ask one")
    read = read_study(study)
    found = dse.ranges(read, within, outputs=output or None, **options, progress=True)
    told = answer(_flattened(found), order_of(read))
    if "can_be_best" not in found:
        return told
    best, size = int(found.can_be_best.sum()), found.can_be_best.size
    objective = found.attrs["objective"]
    data = {**told.data, "objective": objective, "can_be_best": best, "of": size}
    shown = [row for row in data["rows"] if row["can_be_best"]]
    note = f"{best:,} of {size:,} configurations can be the best: {objective}"
    return replace(rows_answer(told, shown), notes=[note], data=data)


def _flattened(found: xr.Dataset) -> xr.Dataset:
    """The ends of each output side by side."""
    flat = found.drop_dims("end") if "end" in found.dims else found
    for name, array in found.data_vars.items():
        for end in found.end.values.tolist() if "end" in array.dims else ():
            flat[f"{name}_{end}"] = array.sel(end=end, drop=True).assign_attrs(array.attrs)
    dims = {dim: flat[dim] for dim in flat.dims}
    return flat.broadcast_like(flat[list(dims)]).assign_attrs(found.attrs) if dims else flat
