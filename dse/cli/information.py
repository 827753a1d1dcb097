"""The command `dse information`: what knowing random inputs would be worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from dse.cli.ends import handed_back
from dse.cli.frame import command
from dse.cli.options import from_study, goals, listed
from dse.cli.uncertain import read_question
from dse.tables import table
from dse.wording import value_text

if TYPE_CHECKING:
    import xarray as xr


@command(
    "dse information uncertain.toml --minimize time",
    "dse information uncertain.toml --minimize time --set-of mem_latency,mem_bandwidth",
)
@from_study
@goals(several=False)
@click.option(
    "--set-of", "sets", multiple=True, metavar="Q,...", help="Inputs known together; repeatable."
)
def information(study: str, sets: Sequence[str], **options: Any) -> Any:
    """What it would be worth to know random inputs, and which to measure next.

    Of all inputs (EVPI), of each (EVPPI) and of sets, in the unit of the objective: by how much the
    mean of what is chosen would be better. Where no objective is given, the study's [best] is
    asked.
    """
    from dse.verbs.information import information as information_of

    read, given = read_question(study, options)
    asked_of = ("minimize", "maximize", "where")
    wanted: dict[str, Any] = {name: given[name] for name in asked_of}
    wanted["sets"] = [listed([text]) for text in sets]
    found = handed_back(lambda: information_of(read, **wanted, progress=True))
    data = _information_data(found)
    return data, lambda: _information_text(found, data)


def _information_data(found: xr.Dataset) -> dict[str, Any]:
    now = [str(name) for name in found.coords if not found[name].dims]
    rows = []
    for place, name in enumerate(found["set"].values.tolist()):
        one = found.isel(set=place)
        row = {"set": name} | {n: one[n].item() for n in ("evppi", "evppi_error", "changes")}
        rows.append(row | {f"then_{axis}": one[f"then_{axis}"].item() for axis in now})
    return {
        "question": str(found.attrs["question"]),
        "unit": str(found.evpi.attrs["units"]),
        "now": {axis: found[axis].item() for axis in now},
        "evpi": found.evpi.item(),
        "evpi_error": found.evpi_error.item(),
        "sets": rows,
        "next": str(found.attrs["next"]),
    }


def _information_text(found: xr.Dataset, data: Mapping[str, Any]) -> str:
    unit = "" if data["unit"] == "1" else data["unit"]

    def worth(value: float, error: float) -> list[str]:
        return [value_text(value, unit), "exact" if not error else f"± {value_text(error, unit)}"]

    chosen = ", ".join(
        f"{name} = {value_text(value, str(found[name].attrs.get('units', '')))}"
        for name, value in data["now"].items()
    )
    then = list(data["now"])
    rows = [["everything", *worth(data["evpi"], data["evpi_error"]), "", *[""] * len(then)]]
    for row in data["sets"]:
        others = [row[f"then_{axis}"] for axis in then]
        shown = [
            "-" if one != one else f"{one:g}" if isinstance(one, float) else str(one)
            for one in others
        ]
        share = f"{row['changes']:.1%}"
        rows.append([row["set"], *worth(row["evppi"], row["evppi_error"]), share, *shown])
    heads = ["known", "is worth", "", "then another", *(f"mostly {axis}" for axis in then)]
    lines = [f"{data['question']}: best on average with {chosen or 'the only configuration'}", ""]
    lines += [table(heads, rows), "", f"to measure next: {data['next']}"]
    return "\n".join(lines)
