"""The command `dse ranges`: what ± on an input does to an output."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, read_study
from dse.cli.options import from_study, names, values, where

if TYPE_CHECKING:
    import xarray as xr

_where = where("A constraint besides; may be repeated.")


@command(
    "dse ranges examples/transit-tour.toml --within mem_latency=10%",
    'dse ranges study.toml --within "mem_bandwidth=5 GB/s" --within core_clock=2% --minimize time',
)
@from_study
@values("--within", metavar="Q=±", help="How far off an input may be.")
@names("--output", help="Quantities or formulas. [all]")
@click.option("--minimize", metavar="Q", help="Asks which configurations can have the least of it.")
@click.option("--maximize", metavar="Q", help="Asks which configurations can have the most of it.")
@_where
def ranges(study: str, within: dict[str, str], output: list[str], **options: Any) -> Any:
    """Outputs where inputs are known within ±: certain lower and upper ends.

    How far an input may be off is a share (5%) or an amount with its unit. With an objective,
    which configurations can be the best for some values of the inputs, shared by all.
    """
    import dse
    from dse.answers import answer, order_of, rows_answer

    if None not in (options["minimize"], options["maximize"]):
        raise click.UsageError("--minimize and --maximize are both given: ask one")
    read = read_study(study)
    found = dse.ranges(read, within, outputs=output or None, **options, progress=True)
    told = answer(_flattened(found), order_of(read))
    if "can_be_best" not in found:
        return told
    best, size = int(found.can_be_best.sum()), found.can_be_best.size
    objective = found.attrs["objective"]
    data = {**told.data, "objective": objective, "can_be_best": best, "of": size}
    shown = [row for row in data["rows"] if row["can_be_best"]]
    note = f"{best:,} of {size:,} configurations can be the best: {objective}"
    return replace(rows_answer(told, shown), notes=[note], data=data)


def _flattened(found: xr.Dataset) -> xr.Dataset:
    """The ends of each output side by side."""
    flat = found.drop_dims("end") if "end" in found.dims else found
    for name, array in found.data_vars.items():
        for end in found.end.values.tolist() if "end" in array.dims else ():
            flat[f"{name}_{end}"] = array.sel(end=end, drop=True).assign_attrs(array.attrs)
    dims = {dim: flat[dim] for dim in flat.dims}
    return flat.broadcast_like(flat[list(dims)]).assign_attrs(found.attrs) if dims else flat
