"""The command `dse models`: list the models, or show one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

import dse
from dse.cli.command import command
from dse.cli.options import complete_model, option
from symbolic.answer import Answer


def catalog_answer(item: Any) -> Answer:
    """Return the answer that shows a catalogue entry or a model; omit the title of a list."""
    answer: Answer = item._answer()
    return replace(answer, title="") if isinstance(item, Mapping) else answer


@command("dse models", "dse models mwp_cwp", "dse models transit --latex")
@click.argument("name", required=False, shell_complete=complete_model)
@option("--latex", "Print the equations in LaTeX, one per line", is_flag=True)
def models(name: str | None, latex: bool) -> Any:
    """List the models, or show one.

    NAME is a model, the path of a file (.py), or several of these joined by +. For one model, the
    command shows its inputs, switches, outputs and equations with their sources.
    """
    if name is None:
        if latex:
            raise click.UsageError("--latex needs the NAME of a model")
        return catalog_answer(dse.models())
    model = dse.model(name)
    if not latex:
        return model._answer()
    equations = model.latex()
    return Answer(title=equations, data={"name": model.name, "latex": equations.splitlines()})
