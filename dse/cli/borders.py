"""The command `dse borders`: where a case gives way to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, read_study
from dse.cli.options import from_study, names, values, where
from symbolic.answer import TEXT_ROWS, Answer, Table

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
    return _answer(found)


def _answer(found: xr.Dataset) -> Answer:
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
