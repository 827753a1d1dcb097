"""The command `dse pareto`: find the Pareto front."""

from dataclasses import replace
from itertools import groupby
from typing import Any

import click

import dse
from dse.cli.command import Source, best_on_interrupt, command, source_argument
from dse.cli.optimum import (
    axis_conditions_of,
    certified_answer,
    compile_search_in_background,
    method_option,
    parse_share,
    search_limit_option,
    search_limits,
)
from dse.cli.options import at_option, goal_options, names_option, option, parse_number
from symbolic.answer import count_text, value_text

_FORMULAS = ("objective", "objective_1")  # names of a first goal that is a formula


@command(
    "dse pareto merge.zarr --minimize time,active_sms --where 'occupancy >= 0.5'",
    "dse pareto examples/energy-gtx280.toml --minimize time,energy,active_sms --epsilon 1%",
)
@source_argument
@goal_options(several=True)
@names_option("--per AXIS,...", "Report a separate front for each value of these axes")
@at_option
@option(
    "--epsilon X%",
    "Report fewer configurations: every configuration is at most this fraction better, in each "
    "objective, than one of them",
    callback=parse_share,
)
@names_option(
    "--reference V,...",
    "Reference point of the hypervolume: a number for each objective, in its base unit; default: "
    "the worst values in the answer",
    parse=lambda texts: [parse_number(text) for text in texts],
)
@method_option("prove the front (certified)")
@search_limit_option
def pareto(source: Source, where: list[str], at: dict[str, str], **options: Any) -> Any:
    """Find the Pareto front: the configurations that no other dominates.

    If several configurations are equal in every objective, the front contains the first in the
    order of the axes. If the time limit ends the search, the command says how many configurations
    are proven to be on the front, and exits with status 3.
    """
    if not options["minimize"] and not options["maximize"]:
        raise click.UsageError("give --minimize or --maximize quantities, separated by commas")
    from dse.display import select_rows
    from sweeps.grid.goals import read_goals

    limits = search_limits(options) | {"progress": True}
    limits |= {"reference": options["reference"]} if options["reference"] else {}
    wanted = {name: options[name] for name in ("minimize", "maximize", "per")}
    wanted["where"] = [*where, *axis_conditions_of(source, at)]
    with compile_search_in_background():
        result = best_on_interrupt(lambda: dse.pareto(source, **wanted, **limits))
    answer = certified_answer(result, source)
    first, *_ = read_goals(wanted["minimize"], wanted["maximize"])
    name = next((n for n in (first.text, *_FORMULAS) if n in answer.data["variables"]), "")
    cells = groupby(answer.data["rows"], lambda row: [row[axis] for axis in options["per"]])
    fronts = (sorted(cell, key=lambda row: first.sign * row.get(name, 0)) for _, cell in cells)
    answer.data["rows"][:] = rows = [row for front in fronts for row in front]
    answer = select_rows(answer, rows)
    title, facts = f"{answer.title}: {count_text(len(answer.data['rows']), 'configuration')}", {}
    if "hypervolume" in result.attrs:
        names, size = [*options["minimize"], *options["maximize"]], result.attrs["hypervolume"]
        known = answer.data["variables"]
        known = {about.get("long_name"): about for about in known.values()} | known
        units = [known[name].get("units", "1") for name in names]
        point = zip(names, result.attrs["reference"], units, strict=True)
        end = ", ".join(f"{name} = {value_text(value, unit)}" for name, value, unit in point)
        unit = " ".join(f"({unit})" if "/" in unit else unit for unit in units if unit != "1")
        facts["hypervolume"] = f"{value_text(size, unit)}, up to the reference point {end}"
    return replace(answer, title=title, facts=facts)
