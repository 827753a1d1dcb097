"""The command `dse verify`: find and repair damage in a store."""

from dataclasses import asdict
from typing import Any

import dse
from dse.cli.command import command, progress_from_option, read_study, set_exit_status
from dse.cli.options import option, progress_option, store_argument, study_option
from symbolic.answer import Answer


@command("dse verify merge.zarr", "dse verify merge.zarr --repair --study study.toml")
@store_argument
@option("--repair", "Compute the values of damaged tiles again", is_flag=True)
@study_option
@progress_option
def verify(store: str, repair: bool, study: str | None, progress: str) -> Any:
    """Find damage in a store, and repair it.

    Every chunk, record and metadata file is compared with its checksum. The report lists each
    damage with the configurations of its tile. The exit status is 1 if damage remains.
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
        lines.append(f"files that do not belong to the store were moved to {result.moved_to}")
    if result.pending:
        lines.append(f"{result.pending:,} tiles are not stored yet: dse run continues")
    if not result.damages:
        lines.append(f"{result.tiles - result.pending:,} tiles checked: no damage")
    if result.damages and not result.is_repaired:
        set_exit_status(1)
    return Answer(title="\n".join(lines), data=data)
