"""The commands on a finished store: ``dse add``, ``dse verify`` and ``dse export``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dse.cli.command import command, end_with, listening, read_study, reading
from dse.cli.options import from_store, listed, of_study, telling
from symbolic.answer import Answer


@command("dse add merge.zarr occupancy", "dse add merge.zarr mwp,cwp --study study.toml")
@from_store
@click.argument("quantities", nargs=-1, required=True, metavar="QUANTITY...")
@of_study
@telling
def add(store: str, quantities: tuple[str, ...], study: str | None, progress: str) -> Any:
    """Add quantities of its model to the finished store of a run.

    They are computed from the axes; what is stored stays as it is. A command that was interrupted
    or killed leaves the store as it was, and the same command continues.
    """
    from dse.storing import add as add_to

    of = read_study(study) if study else None
    with listening(progress) as listener:
        ds = add_to(store, listed(quantities), study=of, progress=listener)
    outputs = [str(name) for name in ds.data_vars]
    data = {"store": store, "outputs": outputs}
    return Answer(title=f"{store} holds {', '.join(outputs)}", data=data)


@command("dse verify merge.zarr", "dse verify merge.zarr --repair --study study.toml")
@from_store
@click.option("--repair", is_flag=True, help="Compute the damaged tiles again, and no others.")
@of_study
@telling
def verify(store: str, repair: bool, study: str | None, progress: str) -> Any:
    """Find damage in the store of a run, and repair it.

    Every chunk, record and description is compared with its checksum. What is damaged is named,
    with the configurations of its tile. Exit status 1 says that there is damage left.
    """
    from dse.storing import verify as check

    with listening(progress) as listener:
        found = check(
            store, repair=repair, study=read_study(study) if study else None, progress=listener
        )
    data = {
        "store": store,
        "tiles": found.tiles,
        "not_stored_yet": found.pending,
        "damages": [asdict(damage) for damage in found.damages],
        "repaired": found.repaired,
        "kept": found.kept,
    }
    lines = [f"{'repaired' if found.repaired else 'damaged'}: {d}" for d in found.damages]
    if found.kept:
        lines.append(f"what does not belong to the store is kept in {found.kept}")
    if found.pending:
        lines.append(f"{found.pending:,} tiles are not stored yet: dse run continues")
    if not found.damages:
        lines.append(f"{found.tiles - found.pending:,} tiles as they were written: no damage")
    if found.damages and not found.repaired:
        end_with(1)
    return Answer(title="\n".join(lines), data=data)


@command("dse export merge.zarr merge.nc", "dse export merge.zarr merge.csv")
@from_store
@click.argument("out", metavar="OUT.nc|.csv|.parquet|.zarr", type=click.Path())
def export(store: str, out: str) -> Any:
    """Write a stored dataset in another format.

    The ending of the name chooses it. Values, units, flags and attributes are kept.
    """
    from dse.cli.run import size_of
    from dse.files import export as write
    from dse.planning import bytes_text
    from dse.progress import shown
    from sweeps.files.export import open_dataset

    with reading():
        ds = open_dataset(store)
    path = Path(out)
    with shown(True, f"writing {path}"):
        write(ds, path)
    size = size_of(path)
    data = {"source": store, "written": path, "bytes": size}
    return Answer(title=f"{path} ({bytes_text(size)})", data=data)
