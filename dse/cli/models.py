"""The commands that list what there is: models, machines, workloads, quantities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

import dse
from dse.cli.command import command, input_errors
from dse.cli.options import complete_machine, complete_model, complete_workload
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


@command("dse machines", "dse machines a100_80", "dse machines cc8.0 --json")
@click.argument("name", required=False, shell_complete=complete_machine)
def machines(name: str | None) -> Any:
    """The machines, or one of them.

    NAME is one of the list, a product's ("RTX 3080") or the path of a file (.toml). Of one: every
    value with its source, what is not known, and the models that this closes.
    """
    return catalog_answer(dse.machines() if name is None else dse.machine(name))


@command("dse workloads", "dse workloads svm")
@click.argument("name", required=False, shell_complete=complete_workload)
def workloads(name: str | None) -> Any:
    """The workloads, or one of them.

    NAME is one of the list or the path of a file (.toml). Of one: every value with its source.
    """
    return catalog_answer(dse.workloads() if name is None else dse.workload(name))


@command("dse quantities", "dse quantities bandwidth", "dse quantities --model my.py")
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option("--model", metavar="NAME", help="Only those that this model yields or needs.")
def quantities(words: tuple[str, ...], model: str | None) -> Any:
    """The quantities, or those that a WORD finds in name, meaning, symbol or labels.

    Each with its unit, symbol, default and meaning, the models that yield it and that need it.
    """
    with input_errors():
        return catalog_answer(dse.quantities(" ".join(words), model=model))
