"""The command `dse cite`: print BibTeX of the references behind an answer."""

from __future__ import annotations

from typing import Any

import click

import dse
from dse.cli.command import command, input_errors
from dse.cli.options import SourcePath


@command("dse cite energy-gtx280", "dse cite transit gemm > papers.bib", "dse cite h100_sxm --json")
@click.argument("sources", metavar="SOURCE...", type=SourcePath(), nargs=-1, required=True)
def cite(sources: tuple[str, ...]) -> Any:
    """Print BibTeX of the references.

    A SOURCE is a study, store, model, machine or workload; several have one list of references.
    These are the references behind an answer, which the sources of equations, values and fits name.
    Comments name the first sources of each. --json lists all, also those that name no publication.
    """
    with input_errors():
        return dse.cite(*sources)
