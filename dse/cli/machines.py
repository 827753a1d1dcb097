"""The command `dse machines`: list the machines, or show one."""

from typing import Any

import click

import dse
from dse.cli.command import command
from dse.cli.models import catalog_answer
from dse.cli.options import complete_machine


@command("dse machines", "dse machines a100_80", "dse machines cc8.0 --json")
@click.argument("name", required=False, shell_complete=complete_machine)
def machines(name: str | None) -> Any:
    """List the machines, or show one.

    NAME is a name in the list, a product name ("RTX 3080") or the path of a file (.toml). For one
    machine, the command shows every value with its source, and the models that cannot be used
    because values are missing.
    """
    return catalog_answer(dse.machines() if name is None else dse.machine(name))
