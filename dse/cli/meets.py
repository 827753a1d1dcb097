"""The command `dse meets`: which configurations meet every target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, handed_back, read_study
from dse.cli.optimum import end_unproven
from dse.cli.options import from_study, time_limit, where
from dse.signals import left
from symbolic.answer import TEXT_ROWS, Answer, Table, value_text

if TYPE_CHECKING:
    import xarray as xr


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
    return _answer(_meets_data(found, list(read.grid().axes)))


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


def _answer(data: Mapping[str, Any]) -> Answer:
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
