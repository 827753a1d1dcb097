"""The command `dse pareto`: the Pareto front."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import (
    best_on_interrupt,
    command,
    read_source,
)
from dse.cli.optimum import (
    at_option,
    compile_search_in_background,
    method_option,
    search_limit_option,
    search_limits,
    set_unproven_status,
    with_certificate,
)
from dse.cli.options import (
    goal_options,
    names_option,
    source_argument,
)

if TYPE_CHECKING:
    pass


@command("dse pareto merge.zarr --minimize time,active_sms --where 'occupancy >= 0.5'")
@source_argument
@goal_options(several=True)
@names_option("--per", metavar="AXIS,...", help="A front for each value of some axes.")
@at_option
@method_option("prove each of the front; auto scans what it can")
@search_limit_option("the best points found are told, and which of them are proven")
def pareto(source: str, where: list[str], at: list[str], **options: Any) -> Any:
    """The configurations no other beats in every objective.

    Of configurations equal in every objective the first in the order of the axes stands for all.
    """
    from dse.display import column_order, dataset_answer

    if not options["minimize"] and not options["maximize"]:
        raise click.UsageError("give --minimize or --maximize quantities, with commas between")
    read = read_source(source)
    limits = search_limits(options) | {"progress": True}
    wanted = {name: options[name] for name in ("minimize", "maximize", "per")}
    wanted["where"] = [*where, *at]
    with compile_search_in_background():
        result = best_on_interrupt(lambda: dse.pareto(read, **wanted, **limits))
    set_unproven_status(result.attrs)
    told = with_certificate(dataset_answer(result, column_order(read)), result.attrs)
    return replace(told, title=f"{told.title}: {len(told.data['rows']):,} configurations")
