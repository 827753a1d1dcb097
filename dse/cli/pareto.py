"""The command `dse pareto`: find the Pareto front."""

from dataclasses import replace
from typing import Any

import click

import dse
from dse.cli.command import best_on_interrupt, command, read_source
from dse.cli.optimum import (
    compile_search_in_background,
    fixed_axes_option,
    method_option,
    search_limit_option,
    search_limits,
    set_unproven_status,
    with_certificate,
)
from dse.cli.options import goal_options, names_option, source_argument


@command("dse pareto merge.zarr --minimize time,active_sms --where 'occupancy >= 0.5'")
@source_argument
@goal_options(several=True)
@names_option("--per AXIS,...", "Report a separate front for each value of these axes")
@fixed_axes_option
@method_option("prove the front (certified)")
@search_limit_option
def pareto(source: str, where: list[str], at: list[str], **options: Any) -> Any:
    """Find the Pareto front: the configurations that no other dominates.

    If several configurations are equal in every objective, the front contains the first in the
    order of the axes. If the time limit ends the search, the command says how many configurations
    are proven to be on the front, and exits with status 3.
    """
    from dse.display import column_order, dataset_answer

    if not options["minimize"] and not options["maximize"]:
        raise click.UsageError("give --minimize or --maximize quantities, separated by commas")
    read = read_source(source)
    limits = search_limits(options) | {"progress": True}
    wanted = {name: options[name] for name in ("minimize", "maximize", "per")}
    wanted["where"] = [*where, *at]
    with compile_search_in_background():
        result = best_on_interrupt(lambda: dse.pareto(read, **wanted, **limits))
    set_unproven_status(result.attrs)
    answer = with_certificate(dataset_answer(result, column_order(read)), result.attrs)
    return replace(answer, title=f"{answer.title}: {len(answer.data['rows']):,} configurations")
