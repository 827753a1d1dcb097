"""The commands `dse count`, `dse histogram`, `dse quantiles`: what lies how in a design space."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, read_source
from dse.cli.options import from_study_or_store, listed, names, number_of, where
from symbolic.answer import Answer, Table

if TYPE_CHECKING:
    import xarray as xr

#: Widest bar of a histogram for people.
_BAR = 40
#: Where values lie that are in no bin.
_OUTSIDE = ("below", "above", "undefined")

_where = where('Constraint, such as "time <= 10 ms"; may be repeated.')
_per = names("--per", metavar="AXIS,...", help="For each value of some axes.")
_output = click.option("--output", required=True, metavar="Q", help="Quantity or formula.")


def _data(found: xr.Dataset) -> dict[str, Any]:
    """What the attributes of an answer tell, for JSON."""
    attributes = dict(found.attrs)
    for identity in ("model", "study", "simt_dse_version"):
        attributes.pop(identity, None)
    said = str(attributes.pop("conditions"))
    return attributes | {"conditions": said.split("; ") if said else []}


def _counts(found: xr.Dataset) -> dict[str, int]:
    return {name: int(found[name].sum()) for name in ("feasible_points", "points")}


def _rows(found: xr.Dataset, axes: list[str], names: Sequence[str]) -> dict[str, Any]:
    """What is told for each value of some axes, a row each; nothing where there are none."""
    if not axes:
        return {}
    labels = itertools.product(*(found[axis].values.tolist() for axis in axes))
    cells = itertools.product(*(range(found.sizes[axis]) for axis in axes))
    rows = []
    for label, cell in zip(labels, cells, strict=True):
        told = {name: found[name].transpose(*axes, ...).values[cell].tolist() for name in names}
        rows.append(dict(zip(axes, label, strict=True)) | told)
    return {"per": axes, "each": rows}


def _answer(data: dict[str, Any], rows: dict[str, Any], *tables: Table) -> Answer:
    """Return the answer: a table of each part, the tables, and how many are feasible."""
    each = []
    if rows:
        cells = [[_shown(cell) for cell in row.values()] for row in rows["each"]]
        each = [Table(columns=list(rows["each"][0]), rows=cells)]
    outside = [f"{name}: {data[name]:,}" for name in _OUTSIDE if data.get(name)]
    share = f"{100 * data['feasible_points'] / data['points']:.3g} %"
    count = f"{data['feasible_points']:,} of {data['points']:,} configurations ({share})"
    where = f", where {' and '.join(data['conditions'])}" if data["conditions"] else ""
    notes = [*outside, f"feasible: {count}{where}"]
    if data["points_skipped"]:
        skipped = f"of {data['points_skipped']:,} of them bounds over whole tiles told enough"
        notes.append(skipped)
    title = data["question"] if tables else ""
    return Answer(kind="Count", title=title, tables=[*each, *tables], notes=notes, data=data | rows)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(map(_shown, value))
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@command(
    'dse count examples/merge-four-gpus.toml --where "occupancy >= 0.5"',
    'dse count merge.zarr --where "time <= 10 ms" --where "active_sms <= 8"',
)
@from_study_or_store
@_where
@_per
def count(source: str, where: list[str], per: list[str]) -> Any:
    """How many configurations are feasible.

    Of a study nothing is stored. Conditions over different axes are counted apart and multiplied,
    so that large spaces take no longer than small ones where all conditions are of that kind.
    """
    import dse

    found = dse.count(read_source(source), where=where, per=per, progress=True)
    data = {**_data(found), **_counts(found)}
    return _answer(data, _rows(found, per, ("feasible_points", "points")))


@command(
    "dse histogram examples/merge-four-gpus.toml --output time --bins 20",
    'dse histogram merge.zarr --output time --bins "0, 1 ms, 10 ms, 100 ms"',
)
@from_study_or_store
@_output
@click.option(
    "--bins", default="10", metavar="N|EDGE,...", help="How many, or their edges, with units. [10]"
)
@_where
@_per
def histogram(source: str, output: str, bins: str, where: list[str], per: list[str]) -> Any:
    """How the values of a quantity spread over the feasible configurations.

    Of a study nothing is stored. A bin holds its low edge, the last one both of its edges.
    """
    import dse

    edges = listed([bins])
    asked = int(bins) if bins.strip().isdecimal() else [number_of(edge, [float]) for edge in edges]
    options: dict[str, Any] = {"bins": asked, "where": where, "per": per}
    found = dse.histogram(read_source(source), output, **options, progress=True)
    unit = str(found["low"].attrs.get("units", ""))
    names = ("low", "high", "configurations")
    whole = found.sum(per) if per else found
    columns = [whole[name].values.tolist() for name in names]
    bars = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    data = {**_data(found), "units": unit, "bins": bars}
    most = max(row["configurations"] for row in bars) or 1
    shown = [
        [
            *(row["low"], row["high"], f"{row['configurations']:,}"),
            "#" * -(-row["configurations"] * _BAR // most),
        ]
        for row in bars
    ]
    table = Table(columns={"from": unit, "to": unit, "configurations": "", "": ""}, rows=shown)
    return _answer(data, _rows(found, per, ("configurations",)), table)


@command(
    "dse quantiles examples/merge-four-gpus.toml --output time --q 0.5,0.9,0.99",
    'dse quantiles merge.zarr --output time --where "active_sms <= 8"',
)
@from_study_or_store
@_output
@click.option("--q", default="0,0.25,0.5,0.75,1", metavar="SHARE,...", show_default=True)
@_where
@_per
def quantiles(source: str, output: str, q: str, where: list[str], per: list[str]) -> Any:
    """The least values of a quantity that given shares of the configurations do not exceed.

    Exact, and of some configuration: never a mean of two neighbours. Of a study nothing is stored.
    """
    import dse

    shares = [number_of(share, [float]) for share in listed([q])]
    options: dict[str, Any] = {"where": where, "per": per, "progress": True}
    found = dse.quantiles(read_source(source), output, shares, **options)
    (name,) = found.data_vars
    unit = str(found[name].attrs.get("units", ""))
    if per:
        each = _rows(found, per, (str(name),))
        return _answer({**_data(found), "units": unit, "q": shares}, each)
    pairs = [*zip(found["quantile"].values.tolist(), found[name].values.tolist(), strict=True)]
    rows = [{"quantile": share, "value": value} for share, value in pairs]
    data = {**_data(found), "units": unit, "quantiles": rows}
    return _answer(data, {}, Table(columns={"quantile": "", output: unit}, rows=pairs))
