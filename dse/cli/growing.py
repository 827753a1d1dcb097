"""The command `dse add`: further quantities in a store."""

from __future__ import annotations

from typing import Any

import click

from dse.cli.frame import command, listening, read_study
from dse.cli.options import from_store, listed, of_study, telling


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
    from dse.growth import add as add_to

    of = read_study(study) if study else None
    with listening(progress) as listener:
        ds = add_to(store, listed(quantities), study=of, progress=listener)
    held = [str(name) for name in ds.data_vars]
    return {"store": store, "outputs": held}, f"{store} holds {', '.join(held)}"
