"""The command `dse verify`: find and repair damage in a store."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import (
    command,
    progress_from_option,
    read_study,
    set_exit_status,
)
from dse.cli.options import (
    progress_option,
    store_argument,
    study_option,
)
from symbolic.answer import Answer

if TYPE_CHECKING:
    pass


@command("dse verify merge.zarr", "dse verify merge.zarr --repair --study study.toml")
@store_argument
@click.option("--repair", is_flag=True, help="Compute the damaged tiles again, and no others.")
@study_option
@progress_option
def verify(store: str, repair: bool, study: str | None, progress: str) -> Any:
    """Find damage in the store of a run, and repair it.

    Every chunk, record and description is compared with its checksum. What is damaged is named,
    with the configurations of its tile. Exit status 1 says that there is damage left.
    """
    with progress_from_option(progress) as listener:
        result = dse.verify(
            store, repair=repair, study=read_study(study) if study else None, progress=listener
        )
    data = {
        "store": store,
        "tiles": result.tiles,
        "not_stored_yet": result.pending,
        "damages": [asdict(damage) for damage in result.damages],
        "repaired": result.is_repaired,
        "kept": result.moved_to,
    }
    lines = [f"{'repaired' if result.is_repaired else 'damaged'}: {d}" for d in result.damages]
    if result.moved_to:
        lines.append(f"what does not belong to the store is kept in {result.moved_to}")
    if result.pending:
        lines.append(f"{result.pending:,} tiles are not stored yet: dse run continues")
    if not result.damages:
        lines.append(f"{result.tiles - result.pending:,} tiles as they were written: no damage")
    if result.damages and not result.is_repaired:
        set_exit_status(1)
    return Answer(title="\n".join(lines), data=data)
