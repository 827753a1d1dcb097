"""The command `dse import`: convert files of tuners, profilers and tables to a dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, input_errors
from dse.cli.options import choice_option, names_option, option, parse_pairs, values_option
from symbolic.answer import Answer, shorten
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

_SHAPE = "Shape of OUT: grid, rows (one per configuration), or auto (grid if half is measured)"
#: Maximum number of columns that the text names; a profile may have hundreds.
_MOST = 60


@command(
    "dse import tuner.json.gz tuned.zarr",
    "dse import runs.csv runs.zarr --axes threads_per_block,core_clock --unit time=ms",
    "dse import tuner.json tuned.nc --shape grid",
    "dse import tuner.json runs.nc --runs",
    "dse import profile.ncu-rep kernel.toml --row 0",
    "dse import table.csv table.zarr --map Latency=time:ms --set machine=v100",
    name="import",
)
@click.argument("measured", type=click.Path(exists=True, dir_okay=False))
@click.argument("out", metavar="OUT.zarr|.nc|.csv|.parquet|.toml", type=click.Path())
@names_option("--axes", "Columns of a table that are axes, separated by commas")
@values_option("--unit Q=UNIT", "Unit of the values of a column; repeatable", "units")
@choice_option("--shape", _SHAPE, "auto", "grid", "rows")
@option(
    "--map COLUMN=Q[:UNIT]|FILE",
    "Assign a quantity (and unit) to a column, or name a file of such assignments; repeatable",
    "maps",
    multiple=True,
)
@values_option("--set Q=VALUE", "Value that the file lacks, for all rows; repeatable", "set_values")
@option("--runs", "Keep each run of a repeated measurement separately", is_flag=True)
@option("--row N", "Row (from 0) for the workload file OUT.toml", type=click.IntRange(min=0))
def import_(
    measured: str,
    out: str,
    axes: list[str],
    maps: Sequence[str],
    set_values: dict[str, str],
    row: int | None,
    shape: str,
    **options: Any,
) -> Any:
    """Read measurements of other tools, and write a dataset or a workload.

    MEASURED is a T4 file, a cache of Kernel Tuner or results of KTT (.json, .json.gz), a profile
    (.ncu-rep, CSV of Nsight Compute, nvprof and rocprof, .cali of Caliper), or a CSV or Parquet
    file with named columns. A header may end with a unit: "time [ms]"; --map assigns quantities to
    columns. A configuration whose measurement failed is kept: its values are NaN, and its status is
    the reason. OUT.toml is a workload file made from one row.
    """
    from dse.cli.export import byte_size
    from dse.importers import open_measurements
    from dse.importers.workload import workload_text
    from dse.runs.files import export

    with input_errors():
        if row is not None and not out.endswith(".toml"):
            raise DseError("--row chooses the row of a workload file: give OUT.toml with it")
        ds = open_measurements(
            Path(measured),
            axes=axes or None,
            shape="rows" if out.endswith(".toml") else shape,
            columns=_columns(maps),
            given=_values(set_values),
            **options,
        )
        text = workload_text(ds, row) if out.endswith(".toml") else ""
    from dse.catalog.entry_file import write_entry_file

    path = write_entry_file(Path(out), text, "workload") if text else export(ds, Path(out))
    return _answer(ds, {"source": measured, "written": path, "bytes": byte_size(path)})


def _columns(maps: Sequence[str]) -> str | Mapping[str, str] | None:
    """Return the value of --map: the path of a map file, or a mapping of columns to quantities."""
    files = [text for text in maps if "=" not in text]
    if not files:
        return parse_pairs(maps, "--map") or None
    if len(maps) > 1:
        raise DseError(f"--map {files[0]} is a file: add further columns to it")
    return files[0]


def _values(texts: Mapping[str, str]) -> dict[str, float | str]:
    """Return the values of --set; numbers are converted to SI units, labels stay texts."""
    from symbolic.expression import parse_value
    from symbolic.quantities import TABLE

    values: dict[str, float | str] = {}
    for name, text in texts.items():
        row = TABLE.get(name)
        value: Any = text
        if row is not None and not row.is_label:
            value = parse_value(text, row, TABLE)
            if not isinstance(value, (int, float)):
                raise DseError(f"--set {name}={text}: expected a number, with a unit or without")
        elif row is None:
            with suppress(ValueError):
                value = float(text)
        values[name] = value
    return values


def _answer(ds: xr.Dataset, data: dict[str, Any]) -> Answer:
    from dse.study.plan import bytes_text

    many, statuses = int(ds.attrs["configurations"]), json.loads(ds.attrs["statuses"])
    axes = {str(name): len(set(c.values.tolist())) for name, c in ds.coords.items()}
    measured = [str(n) for n in ds.data_vars if n not in ("feasible", "status")]
    sources = {
        str(n): str(v.attrs["source"])
        for n, v in ds.data_vars.items()
        if "source" in v.attrs and not str(v.attrs["source"]).endswith(f": {v.attrs['long_name']}")
    }
    texts = {n: json.loads(ds.attrs.get(n, "[]")) for n in ("assumptions", "notes")}
    data |= {"configurations": many, "statuses": statuses}
    data |= {"sizes": {str(dim): size for dim, size in ds.sizes.items()}, "axes": axes}
    data |= {"measured": measured, "sources": sources, **texts}
    failed = ", ".join(f"{n:,} {name}" for name, n in statuses.items() if name != "correct")
    facts = {
        "axes": " x ".join(f"{name} {n}" for name, n in axes.items() if name != "configuration"),
        "measured": shorten(measured, _MOST),
    }
    notes = [f"{name} = {source}" for name, source in sources.items()]
    kind = "workload" if str(data["written"]).endswith(".toml") else "dataset"
    written = f"{kind}: {data['written']} ({bytes_text(data['bytes'])})"
    return Answer(
        kind="Measured",
        title=f"{many:,} configurations{f'; failed: {failed}' if failed else ''}",
        facts={name: text for name, text in facts.items() if text},
        notes=[*notes, *texts["assumptions"], *texts["notes"], written],
        data=data,
    )
