"""The command `dse export`: write a stored dataset in another format."""

from pathlib import Path
from typing import Any

import click

import dse
from dse.cli.command import command, input_errors
from dse.cli.options import store_argument
from symbolic.answer import Answer


def byte_size(path: str | Path) -> int:
    """Return the size of a file, folder or store in bytes."""
    from sweeps.store.backend import backend_of

    if isinstance(path, Path) and path.is_file():
        return path.stat().st_size
    return sum(backend_of(path).files().values())


@command("dse export merge.zarr merge.nc", "dse export merge.zarr merge.csv")
@store_argument
@click.argument("out", metavar="OUT.nc|.csv|.parquet|.zarr", type=click.Path())
def export(store: str, out: str) -> Any:
    """Write a dataset in another format.

    The suffix of OUT chooses the format. Values, units, flags and attributes are preserved. CSV and
    Parquet have the labels of cases and bounds; for more than a million rows, take Parquet.
    """
    from dse.progress import show_progress
    from dse.study.plan import bytes_text
    from sweeps.files.export import open_dataset

    with input_errors():
        ds = open_dataset(store)
    path = Path(out)
    with show_progress(True, f"writing {path}"):
        dse.export(ds, path)
    size = byte_size(path)
    data = {"source": store, "written": path, "bytes": size}
    return Answer(title=f"{path} ({bytes_text(size)})", data=data)
