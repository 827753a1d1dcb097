"""The command `dse borders`: find the values at which a case or bound changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dse
from dse.cli.command import command, read_study
from dse.cli.options import at_option, names_option, option, study_argument, where_option
from symbolic.answer import TEXT_ROWS, Answer, Table, count_text

if TYPE_CHECKING:
    import xarray as xr


@command(
    "dse borders examples/transit-tour.toml --quantity bound",
    "dse borders examples/energy-gtx280.toml --quantity case --along mem_bandwidth,n_sms "
    "--at workload=svm,active_sms=30,core_clock=1.3GHz",
    'dse borders study.toml --quantity "time <= 2 ms" --along mem_latency_dram',
)
@study_argument
@option("--quantity Q", "Case, bound, limiter or condition that changes at the borders")
@names_option("--along", "Quantities to vary, separated by commas; default: all axes of numbers")
@at_option
@where_option()
@option("--closed-form", "Also give each border as a formula if there is one", is_flag=True)
def borders(study: str, quantity: str | None, along: list[str], **options: Any) -> Any:
    """Find borders of the bottleneck: where a bound, case or category changes to the next.

    For every configuration, the search varies one numeric axis, or one quantity of --along, at a
    time. An axis varies over its values, any other quantity over its domain. For a real quantity,
    the border is located exactly; for an integer, it is the first value of the next case. Interval
    enclosures prove that no border lies between evaluated values.
    """
    read = read_study(study)
    result = dse.borders(read, quantity, along=along or None, **options, progress=True)
    answer = _borders_answer(result)
    if "next" not in answer.data:  # several configurations
        return answer
    from dse.advice.advise import moves_over_jumps

    moves = moves_over_jumps(read, options["at"])
    jumps = [str(move) for move in moves if move.quantity in result.along.values]
    return replace(answer, notes=[*answer.notes, *jumps], data=answer.data | {"jumps": jumps})


def _borders_answer(ds: xr.Dataset) -> Answer:
    from dse.inverse.borders import border_rows, case_name, next_rows
    from sweeps.grid.dataset import read_flag_meanings

    case, name = str(ds.attrs["question"]).removeprefix("borders of "), case_name(ds)
    units = {str(axis): str(ds[axis].attrs.get("units", "")) for axis in ds[name].dims}
    gaps, rows = int(ds.attrs["undecided"]), border_rows(ds)
    data: dict[str, Any] = {"question": ds.attrs["question"], "case": case, "undecided": gaps}
    data |= {"units": units, "borders": rows}
    if ds[name].dims:
        title = "" if rows else f"{case} does not change"
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
        notes.append(f"{count_text(gaps, 'interval')} could not be proven free of further borders")
    return Answer(kind="Borders", title=title, tables=tables, notes=notes, data=data)


def _borders_table(case: str, along: str, rows: Sequence[Any], units: Mapping[str, str]) -> Table:
    axes = [name for name in rows[0] if name not in ("along", "unit", "border", "from", "to")]
    cells = [
        [*((r[n], units.get(n, "")) for n in axes), (r["border"], r["unit"]), r["from"], r["to"]]
        for r in rows
    ]
    return Table(
        title=f"{case} along {along}, {count_text(len(rows), 'border')}:",
        columns=[*axes, "border", "from", "to"],
        rows=cells,
        max_rows=TEXT_ROWS,
        key_columns=len(axes) + 1,
    )
