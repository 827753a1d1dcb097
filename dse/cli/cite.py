"""The command `dse cite`: print BibTeX of the references behind an answer."""

from __future__ import annotations

from typing import Any

import click

import dse
from dse.cli.command import command, input_errors
from dse.cli.options import SourcePath


@command("dse cite energy-gtx280", "dse cite gemm > references.bib", "dse cite h100_sxm --json")
@click.argument("source", metavar="STUDY|STORE|MODEL|MACHINE|WORKLOAD", type=SourcePath())
def cite(source: str) -> Any:
    """Print BibTeX of the references, behind an answer.

    The references are the papers, data sheets and data sets that are named by the sources of the
    equations, of the values of machine and workload, and of fits. Comments say which sources name
    each. --json also lists the sources that name no publication.
    """
    with input_errors():
        return dse.cite(source)
