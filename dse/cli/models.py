"""The commands that list what there is: models, machines, workloads, quantities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

import dse
from dse.cli.command import command
from dse.cli.options import complete_model
from symbolic.answer import Answer


def catalog_answer(item: Any) -> Answer:
    """Return the answer that an entry or a model, or without its title a list, shows itself by."""
    result: Answer = item._answer()
    return replace(result, title="") if isinstance(item, Mapping) else result


@command("dse models", "dse models mwp_cwp", "dse models transit --latex")
@click.argument("name", required=False, shell_complete=complete_model)
@click.option("--latex", is_flag=True, help="The equations in LaTeX, one a line.")
def models(name: str | None, latex: bool) -> Any:
    """The models, or one of them.

    NAME is a model, the path of a file (.py), or several joined by +. Of one: its inputs, switches,
    outputs and equations with their sources.
    """
    if name is None:
        if latex:
            raise click.UsageError("--latex needs the NAME of a model")
        return catalog_answer(dse.models())
    result = dse.model(name)
    if latex:
        equations = result.latex()
        data = {"name": result.name, "latex": equations.splitlines()}
        return Answer(title=equations, data=data)
    return result._answer()
