"""The command `dse add`: further quantities in a store."""

from __future__ import annotations

import click

from dse.cli.frame import example, from_store, in_json, listed, listening, put, read_study, telling

__all__ = ["add"]


@click.command(
    epilog=example("dse add merge.zarr occupancy", "dse add merge.zarr mwp,cwp --study study.toml")
)
@from_store
@click.argument("quantities", nargs=-1, required=True, metavar="QUANTITY...")
@click.option(
    "--study",
    type=click.Path(exists=True, dir_okay=False),
    help="The study file, where the store alone does not tell its study.",
)
@telling
@in_json
def add(
    store: str, quantities: tuple[str, ...], study: str | None, progress: str, as_json: bool
) -> None:
    """Add quantities of its model to the finished store of a run.

    They are computed from the axes; what is stored stays as it is. A command that was interrupted
    or killed leaves the store as it was, and the same command continues.
    """
    from dse.growth import add as add_to

    with listening(progress) as listener:
        ds = add_to(
            store, listed(quantities), study=read_study(study) if study else None, progress=listener
        )
    held = [str(name) for name in ds.data_vars]
    put(as_json, {"store": store, "outputs": held}, lambda: f"{store} holds {', '.join(held)}")
