"""The commands `dse count`, `dse histogram`, `dse quantiles`: what lies how in a design space."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import command, read_source
from dse.cli.options import names_option, parse_number, source_argument, split_list, where_option
from symbolic.answer import Answer, Table

if TYPE_CHECKING:
    import xarray as xr

#: Widest bar of a histogram for people.
_BAR = 40
#: Where values lie that are in no bin.
_OUTSIDE = ("below", "above", "undefined")

constraint_option = where_option('Constraint, such as "time <= 10 ms"; may be repeated.')
per_option = names_option("--per", metavar="AXIS,...", help="For each value of some axes.")
output_option = click.option("--output", required=True, metavar="Q", help="Quantity or formula.")


def count_answer(
    ds: xr.Dataset, per: list[str], names: Sequence[str], *tables: Table, **more: Any
) -> Answer:
    """Return what is told: ``names_option`` for each value of ``per``, tables, how many are feasible."""
    data = {k: v for k, v in ds.attrs.items() if k not in ("model", "study", "simt_dse_version")}
    said = str(data.pop("conditions"))
    conditions = said.split("; ") if said else []
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
        each = [
            Table(
                columns=[*rows[0]], rows=[[_number_text(v) for v in row.values()] for row in rows]
            )
        ]
    feasible, points = data["feasible_points"], data["points"]
    where = f", where {' and '.join(conditions)}" if conditions else ""
    notes = [f"{name}: {data[name]:,}" for name in _OUTSIDE if data.get(name)]
    share = f"{100 * feasible / points:.3g} %"
    notes.append(f"feasible: {feasible:,} of {points:,} configurations ({share}){where}")
    if data["points_skipped"]:
        skipped = f"of {data['points_skipped']:,} of them bounds over whole tiles told enough"
        notes.append(skipped)
    title = data["question"] if tables else ""
    return Answer(kind="Count", title=title, tables=[*each, *tables], notes=notes, data=data)


def _number_text(value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(map(_number_text, value))
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@command(
    'dse count examples/merge-four-gpus.toml --where "occupancy >= 0.5"',
    'dse count merge.zarr --where "time <= 10 ms" --where "active_sms <= 8"',
)
@source_argument
@constraint_option
@per_option
def count(source: str, where: list[str], per: list[str]) -> Any:
    """How many configurations are feasible.

    Of a study nothing is stored. Conditions over different axes are counted apart and multiplied,
    so that large spaces take no longer than small ones where all conditions are of that kind.
    """
    result = dse.count(read_source(source), where=where, per=per, progress=True)
    counts = {name: int(result[name].sum()) for name in ("feasible_points", "points")}
    return count_answer(result, per, tuple(counts), **counts)


@command(
    "dse histogram examples/merge-four-gpus.toml --output time --bins 20",
    'dse histogram merge.zarr --output time --bins "0, 1 ms, 10 ms, 100 ms"',
)
@source_argument
@output_option
@click.option(
    "--bins", default="10", metavar="N|EDGE,...", help="How many, or their edges, with units. [10]"
)
@constraint_option
@per_option
def histogram(source: str, output: str, bins: str, where: list[str], per: list[str]) -> Any:
    """How the values of a quantity spread over the feasible configurations.

    Of a study nothing is stored. A bin holds its low edge, the last one both of its edges.
    """
    edges = split_list([bins])
    asked = (
        int(bins) if bins.strip().isdecimal() else [parse_number(edge, [float]) for edge in edges]
    )
    options: dict[str, Any] = {"bins": asked, "where": where, "per": per}
    result = dse.histogram(read_source(source), output, **options, progress=True)
    unit = str(result["low"].attrs.get("units", ""))
    names = ("low", "high", "configurations")
    whole = result.sum(per) if per else result
    rows = [*zip(*(whole[name].values.tolist() for name in names), strict=True)]
    most = max(many for *_, many in rows) or 1
    shown = [[low, high, f"{many:,}", "#" * -(-many * _BAR // most)] for low, high, many in rows]
    table = Table(columns={"from": unit, "to": unit, "configurations": "", "": ""}, rows=shown)
    bars = [dict(zip(names, row, strict=True)) for row in rows]
    return count_answer(result, per, names[2:], table, units=unit, bins=bars)


@command(
    "dse quantiles examples/merge-four-gpus.toml --output time --q 0.5,0.9,0.99",
    'dse quantiles merge.zarr --output time --where "active_sms <= 8"',
)
@source_argument
@output_option
@click.option("--q", default="0,0.25,0.5,0.75,1", metavar="SHARE,...", show_default=True)
@constraint_option
@per_option
def quantiles(source: str, output: str, q: str, where: list[str], per: list[str]) -> Any:
    """The least values of a quantity that given shares of the configurations do not exceed.

    Exact, and of some configuration: never a mean of two neighbours. Of a study nothing is stored.
    """
    shares = [parse_number(share, [float]) for share in split_list([q])]
    options: dict[str, Any] = {"where": where, "per": per, "progress": True}
    result = dse.quantiles(read_source(source), output, shares, **options)
    (name,) = result.data_vars
    unit = str(result[name].attrs.get("units", ""))
    if per:
        return count_answer(result, per, (str(name),), units=unit, q=shares)
    pairs = [*zip(result["quantile"].values.tolist(), result[name].values.tolist(), strict=True)]
    rows = [{"quantile": share, "value": value} for share, value in pairs]
    table = Table(columns={"quantile": "", output: unit}, rows=pairs)
    return count_answer(result, per, (), table, units=unit, quantiles=rows)
