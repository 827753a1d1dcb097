"""The command `dse machines`: list the machines, or show one."""

from __future__ import annotations

from typing import Any

import click

import dse
from dse.cli.command import command
from dse.cli.models import catalog_answer
from dse.cli.options import complete_machine


@command("dse machines", "dse machines a100_80", "dse machines cc8.0 --json")
@click.argument("name", required=False, shell_complete=complete_machine)
def machines(name: str | None) -> Any:
    """The machines, or one of them.

    NAME is one of the list, a product's ("RTX 3080") or the path of a file (.toml). Of one: every
    value with its source, what is not known, and the models that this closes.
    """
    return catalog_answer(dse.machines() if name is None else dse.machine(name))
