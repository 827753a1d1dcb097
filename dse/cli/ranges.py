"""The command `dse ranges`: compute guaranteed ranges of outputs from tolerances of inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import command, read_study
from dse.cli.options import names_option, option, study_argument, values_option, where_option

if TYPE_CHECKING:
    import xarray as xr


@command(
    "dse ranges examples/transit-tour.toml --within mem_latency=10%",
    'dse ranges study.toml --within "mem_bandwidth=5 GB/s" --within core_clock=2% --minimize time',
)
@study_argument
@values_option(
    "--within Q=±", "Tolerance of an input: a percentage, or an amount with its unit; repeatable"
)
@names_option("--output", "Quantities or formulas, separated by commas; default: all outputs")
@option("--minimize Q", "List configurations that minimize Q for some inputs in tolerance")
@option("--maximize Q", "List configurations that maximize Q for some inputs in tolerance")
@where_option()
def ranges(study: str, within: dict[str, str], output: list[str], **options: Any) -> Any:
    """Compute guaranteed ranges, of outputs from tolerances of inputs.

    With an objective, the answer lists each configuration that is the best for some values of the
    inputs within the tolerances. It is compared with the others at the same values.
    """
    from dse.display import column_order, dataset_answer, select_rows

    if None not in (options["minimize"], options["maximize"]):
        raise click.UsageError("--minimize and --maximize are both given: keep one of them")
    read = read_study(study)
    result = dse.ranges(read, within, outputs=output or None, **options, progress=True)
    answer = dataset_answer(_flatten_ends(result), column_order(read))
    if "can_be_best" not in result:
        return answer
    best, size = int(result.can_be_best.sum()), result.can_be_best.size
    objective = result.attrs["objective"]
    data = {**answer.data, "objective": objective, "can_be_best": best, "of": size}
    shown = [row for row in data["rows"] if row["can_be_best"]]
    note = f"{best:,} of {size:,} configurations can be the best: {objective}"
    return replace(select_rows(answer, shown), notes=[note], data=data)


def _flatten_ends(ds: xr.Dataset) -> xr.Dataset:
    """Replace each output with a dimension ``end`` by one variable for each end."""
    flat = ds.drop_dims("end") if "end" in ds.dims else ds
    for name, array in ds.data_vars.items():
        for end in ds.end.values.tolist() if "end" in array.dims else ():
            flat[f"{name}_{end}"] = array.sel(end=end, drop=True).assign_attrs(array.attrs)
    dims = {dim: flat[dim] for dim in flat.dims}
    return flat.broadcast_like(flat[list(dims)]).assign_attrs(ds.attrs) if dims else flat
