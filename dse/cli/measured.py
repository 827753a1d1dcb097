"""The command `dse import`: measurements of tuners and tables as a dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.ends import reading
from dse.cli.frame import example, in_json, listed, pairs, put

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["import_measured"]


@click.command(
    "import",
    epilog=example(
        "dse import tuner.json.gz tuned.zarr",
        "dse import runs.csv runs.zarr --axes threads_per_block,core_clock --unit time=ms",
        "dse import tuner.json tuned.nc --shape grid",
    ),
)
@click.argument("measured", type=click.Path(exists=True, dir_okay=False))
@click.argument("out", metavar="OUT.zarr|.nc|.csv|.parquet", type=click.Path())
@click.option("--axes", multiple=True, metavar="Q,...", help="Of a table: what varies.")
@click.option("--unit", multiple=True, metavar="Q=UNIT", help="Of a column; may be repeated.")
@click.option(
    "--shape",
    type=click.Choice(["auto", "grid", "rows"]),
    default="auto",
    help="Over the axes, or row by row. [a grid where at least half of it was measured]",
)
@in_json
def import_measured(
    measured: str,
    out: str,
    axes: Sequence[str],
    unit: Sequence[str],
    shape: str,
    as_json: bool,
) -> None:
    """Make a dataset of what was measured elsewhere.

    MEASURED is a T4 file or a cache of Kernel Tuner (.json, .json.gz), or a CSV or Parquet file
    with named columns, whose headers may end in a unit, "time [ms]". Failed configurations are
    kept: their numbers are NaN, and a status says why.
    """
    from dse.cli.report import size_of
    from dse.files import export
    from dse.measured import open_measured

    with reading():
        ds = open_measured(
            Path(measured),
            axes=listed(axes) or None,
            units=pairs(unit, "unit"),
            shape=shape,
        )
    path = export(ds, Path(out))
    data = {"source": measured, "written": path, "bytes": size_of(path), **_told(ds)}
    put(as_json, data, lambda: _text(data))


def _told(ds: xr.Dataset) -> dict[str, Any]:
    return {
        "configurations": int(ds.attrs["configurations"]),
        "statuses": json.loads(ds.attrs["statuses"]),
        "sizes": {str(dim): size for dim, size in ds.sizes.items()},
        "axes": {str(name): len(set(c.values.tolist())) for name, c in ds.coords.items()},
        "measured": [str(n) for n in ds.data_vars if n not in ("feasible", "status")],
        "notes": json.loads(ds.attrs.get("notes", "[]")),
    }


def _text(data: Mapping[str, Any]) -> str:
    from dse.planning import bytes_text

    failed = {name: count for name, count in data["statuses"].items() if name != "correct"}
    why = "; failed: " + ", ".join(f"{count:,} {name}" for name, count in failed.items())
    lines = [f"{data['configurations']:,} configurations{why if failed else ''}"]
    axes = [f"{name} {n}" for name, n in data["axes"].items() if name != "configuration"]
    lines += [f"axes: {' x '.join(axes)}"] if axes else []
    lines.append(f"measured: {', '.join(data['measured'])}")
    lines += data["notes"]
    lines.append(f"dataset: {data['written']} ({bytes_text(data['bytes'])})")
    return "\n".join(lines)
