"""The command `dse meets`: find the configurations that meet targets, as boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import best_on_interrupt, command, read_study
from dse.cli.optimum import set_unproven_status
from dse.cli.options import option, study_argument, time_limit_option, where_option
from dse.signals import time_left
from symbolic.answer import TEXT_ROWS, Answer, Table, count_text, value_text

if TYPE_CHECKING:
    import xarray as xr


@command('dse meets examples/energy-gtx280.toml --where "time <= 60 ms" --where "power <= 120 W"')
@study_argument
@where_option('Target that must be met, such as "time <= 10 ms"; repeatable')
@option("--boxes", "Largest number of boxes", type=click.IntRange(min=1), default=10000)
@time_limit_option("Time limit in seconds, counted from the start of the command")
def meets(study: str, where: list[str], boxes: int, time_limit: float | None) -> Any:
    """Find what meets all targets, as boxes of configurations.

    All configurations in a certain box meet the targets; configurations in an open box may meet
    them. If there is no open box, the answer is exact, whatever the size of the space; otherwise
    the exit status is 3.
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
    many = f"between {inner:,} and {outer:,} of {count_text(total, 'configuration')}"
    if complete:
        many = f"{inner:,} of {count_text(total, 'configuration')}, {inner / total:.3%}, exactly"
    data = {"question": ds.attrs["question"], "complete": complete}
    data |= dict(zip(("inner", "outer", "total"), counts, strict=True))
    data |= {"units": units, "boxes": boxes}
    table = Table(columns=[*units, "", "configurations"], rows=rows, max_rows=TEXT_ROWS)
    return Answer(kind="Boxes", title=f"{data['question']}: {many}", tables=[table], data=data)
