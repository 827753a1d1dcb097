"""The command `dse count`: count the feasible configurations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dse
from dse.cli.command import Source, command, source_argument
from dse.cli.options import names_option, option, where_option
from symbolic.answer import Answer, Table, count_text, value_text

if TYPE_CHECKING:
    import xarray as xr

#: Keys of the numbers of values that lie in no bin of a histogram.
_OUTSIDE = ("below", "above", "undefined")

per_option = names_option("--per AXIS,...", "Answer separately for each value of these axes")
output_option = option("--output Q", "Quantity or formula to analyze", required=True)


def count_answer(
    ds: xr.Dataset, per: list[str], names: Sequence[str], *tables: Table, **more: Any
) -> Answer:
    """Return an answer with the variables ``names`` for each value of ``per``, and ``tables``."""
    data = {k: v for k, v in ds.attrs.items() if k not in ("model", "study", "simt_dse_version")}
    joined = str(data.pop("conditions"))
    conditions = joined.split("; ") if joined else []
    data |= {"conditions": conditions, **more}
    each = []
    if per:
        labels = itertools.product(*(ds[axis].values.tolist() for axis in per))
        cells = itertools.product(*(range(ds.sizes[axis]) for axis in per))
        values = {name: ds[name].transpose(*per, ...).values for name in names}
        rows = [
            dict(zip(per, label, strict=True)) | {n: v[cell].tolist() for n, v in values.items()}
            for label, cell in zip(labels, cells, strict=True)
        ]
        data |= {"per": per, "each": rows}
        units = {name: str(ds[name].attrs.get("units", "1")) for name in rows[0]}
        texts = [[_number_text(value, units[n]) for n, value in row.items()] for row in rows]
        each = [Table(columns=[*units], rows=texts)]
    feasible, points = data["feasible_points"], data["points"]
    where = f", where {' and '.join(conditions)}" if conditions else ""
    notes = [f"{name}: {data[name]:,}" for name in _OUTSIDE if data.get(name)]
    many, share = count_text(points, "configuration"), f"{100 * feasible / points:.3g} %"
    notes.append(f"feasible: {feasible:,} of {many} ({share}){where}")
    if data["points_skipped"]:
        notes.append(f"bounds over tiles decided {data['points_skipped']:,} of them")
    title = data["question"] if tables else ""
    return Answer(kind="Count", title=title, tables=[*each, *tables], notes=notes, data=data)


def _number_text(value: Any, unit: str) -> str:
    if isinstance(value, list):
        return "  ".join(_number_text(each, unit) for each in value)
    if unit != "1":
        return value_text(value, unit)
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@command(
    'dse count examples/merge-four-gpus.toml --where "occupancy >= 0.5"',
    'dse count merge.zarr --where "time <= 10 ms" --where "active_sms <= 8"',
)
@source_argument
@where_option()
@per_option
def count(source: Source, where: list[str], per: list[str]) -> Any:
    """Count the feasible configurations.

    Nothing is stored. Conditions that share no axis are counted separately, and the counts are
    multiplied. If all conditions are of this kind, a large space takes no longer than a small one.
    """
    result = dse.count(source, where=where, per=per, progress=True)
    counts = {name: int(result[name].sum()) for name in ("feasible_points", "points")}
    return count_answer(result, per, tuple(counts), **counts)
