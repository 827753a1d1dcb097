"""The command `dse verify`: whether a store still holds what was written."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from dse.cli.ends import end_with
from dse.cli.frame import command, listening, read_study
from dse.cli.options import from_store, of_study, telling


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
    from dse.checking import verify as check

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
    return data, "\n".join(lines)
