"""The command `dse workloads`: list the workloads, or show one."""

from typing import Any

import click

import dse
from dse.cli.command import command
from dse.cli.models import catalog_answer
from dse.cli.options import complete_workload


@command("dse workloads", "dse workloads svm")
@click.argument("name", required=False, shell_complete=complete_workload)
def workloads(name: str | None) -> Any:
    """List the workloads, or show one.

    NAME is a name in the list or the path of a file (.toml). For one workload, the command shows
    every value with its source.
    """
    return catalog_answer(dse.workloads() if name is None else dse.workload(name))
