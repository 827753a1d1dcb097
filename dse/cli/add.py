"""The command `dse add`: add outputs to a finished store."""

from typing import Any

import click

import dse
from dse.cli.command import command, progress_from_option, read_study
from dse.cli.options import progress_option, split_list, store_argument, study_option
from symbolic.answer import Answer


@command("dse add merge.zarr occupancy", "dse add merge.zarr mwp,cwp --study study.toml")
@store_argument
@click.argument("quantities", nargs=-1, required=True, metavar="QUANTITY...")
@study_option
@progress_option
def add(store: str, quantities: tuple[str, ...], study: str | None, progress: str) -> Any:
    """Add quantities to a finished store.

    The quantities are computed from the values of the axes; stored values do not change. If the
    command is interrupted or killed, the store stays as it was; the same command then continues.
    """
    of = read_study(study) if study else None
    with progress_from_option(progress) as listener:
        ds = dse.add(store, split_list(quantities), study=of, progress=listener)
    outputs = [str(name) for name in ds.data_vars]
    data = {"store": store, "outputs": outputs}
    return Answer(title=f"{store} holds {', '.join(outputs)}", data=data)
