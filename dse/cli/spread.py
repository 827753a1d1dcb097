"""The commands `dse count`, `dse histogram`, `dse quantiles`: what lies how in a design space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dse.cli.frame import example, from_study_or_store, in_json, listed, put, read_source

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["count", "histogram", "quantiles"]

_F = TypeVar("_F", bound=Callable[..., Any])
#: Widest bar of a histogram for people.
_BAR = 40

_where = click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help='Constraint, such as "time <= 10 ms"; may be repeated.',
)
_output = click.option("--output", required=True, metavar="Q", help="Quantity or formula.")


def _data(found: xr.Dataset) -> dict[str, Any]:
    """What the attributes of an answer tell, for JSON."""
    attributes = dict(found.attrs)
    for identity in ("model", "study", "simt_dse_version"):
        attributes.pop(identity, None)
    said = str(attributes.pop("conditions"))
    return attributes | {"conditions": said.split("; ") if said else []}


def _skipped(data: dict[str, Any]) -> str:
    if not data["points_skipped"]:
        return ""
    return f"\nof {data['points_skipped']:,} of them bounds over whole tiles told enough"


def _feasible(data: dict[str, Any]) -> str:
    """How many are feasible, as text."""
    share = f"{100 * data['feasible_points'] / data['points']:.3g} %"
    said = f"{data['feasible_points']:,} of {data['points']:,} configurations ({share})"
    where = f", where {' and '.join(data['conditions'])}" if data["conditions"] else ""
    return f"feasible: {said}{where}{_skipped(data)}"


@click.command(
    epilog=example(
        'dse count examples/merge-four-gpus.toml --where "occupancy >= 0.5"',
        'dse count merge.zarr --where "time <= 10 ms" --where "active_sms <= 8"',
    )
)
@from_study_or_store
@_where
@in_json
def count(source: str, where: Sequence[str], as_json: bool) -> None:
    """How many configurations are feasible.

    Of a study nothing is stored. Conditions over different axes are counted apart and multiplied,
    so that large spaces take no longer than small ones where all conditions are of that kind.
    """
    import dse

    found = dse.count(read_source(source), where=list(where), progress=True)
    counts = {name: int(found[name]) for name in ("feasible_points", "points")}
    data = {**_data(found), **counts}
    put(as_json, data, lambda: _feasible(data))


@click.command(
    epilog=example(
        "dse histogram examples/merge-four-gpus.toml --output time --bins 20",
        'dse histogram merge.zarr --output time --bins "0, 1 ms, 10 ms, 100 ms"',
    )
)
@from_study_or_store
@_output
@click.option(
    "--bins", default="10", metavar="N|EDGE,...", help="How many, or their edges, with units. [10]"
)
@_where
@in_json
def histogram(source: str, output: str, bins: str, where: Sequence[str], as_json: bool) -> None:
    """How the values of a quantity spread over the feasible configurations.

    Of a study nothing is stored. A bin holds its low edge, the last one both of its edges.
    """
    import dse

    edges = listed([bins])
    asked = int(bins) if bins.strip().isdecimal() else [_number(edge) for edge in edges]
    options: dict[str, Any] = {"bins": asked, "where": list(where), "progress": True}
    found = dse.histogram(read_source(source), output, **options)
    unit = str(found["low"].attrs.get("units", ""))
    names = ("low", "high", "configurations")
    columns = [found[name].values.tolist() for name in names]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    data = {**_data(found), "units": unit, "bins": rows}
    put(as_json, data, lambda: _bars(data, unit))


def _bars(data: dict[str, Any], unit: str) -> str:
    from dse.cli.text import table
    from dse.wording import value_text

    most = max(row["configurations"] for row in data["bins"]) or 1
    rows = [
        [
            value_text(row["low"], unit),
            value_text(row["high"], unit),
            f"{row['configurations']:,}",
            "#" * -(-row["configurations"] * _BAR // most),
        ]
        for row in data["bins"]
    ]
    outside = [f"{name}: {data[name]:,}" for name in ("below", "above", "undefined") if data[name]]
    lines = [data["question"], "", table(["from", "to", "configurations", ""], rows), ""]
    return "\n".join([*lines, *outside, _feasible(data)])


@click.command(
    epilog=example(
        "dse quantiles examples/merge-four-gpus.toml --output time --q 0.5,0.9,0.99",
        'dse quantiles merge.zarr --output time --where "active_sms <= 8"',
    )
)
@from_study_or_store
@_output
@click.option("--q", default="0,0.25,0.5,0.75,1", metavar="SHARE,...", show_default=True)
@_where
@in_json
def quantiles(source: str, output: str, q: str, where: Sequence[str], as_json: bool) -> None:
    """The least values of a quantity that given shares of the configurations do not exceed.

    Exact, and of some configuration: never a mean of two neighbours. Of a study nothing is stored.
    """
    import dse
    from dse.wording import value_text

    shares = [_number(share) for share in listed([q])]
    found = dse.quantiles(read_source(source), output, shares, where=list(where), progress=True)
    (name,) = found.data_vars
    unit = str(found[name].attrs.get("units", ""))
    pairs = zip(found["quantile"].values.tolist(), found[name].values.tolist(), strict=True)
    rows = [{"quantile": share, "value": value} for share, value in pairs]
    data = {**_data(found), "units": unit, "quantiles": rows}

    def text() -> str:
        from dse.cli.text import table

        shown = [[f"{row['quantile']:g}", value_text(row["value"], unit)] for row in rows]
        told = table(["quantile", output], shown)
        return f"{data['question']}\n\n{told}\n\n{_feasible(data)}"

    put(as_json, data, text)


def _number(text: str) -> Any:
    """A number where a text is one."""
    try:
        return float(text)
    except ValueError:
        return text
