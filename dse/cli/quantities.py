"""The command `dse quantities`: list or search the quantities."""

from __future__ import annotations

from typing import Any

import click

import dse
from dse.cli.command import command, input_errors
from dse.cli.models import catalog_answer


@command("dse quantities", "dse quantities bandwidth", "dse quantities --model my.py")
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option("--model", metavar="NAME", help="Only those that this model yields or needs.")
def quantities(words: tuple[str, ...], model: str | None) -> Any:
    """The quantities, or those that a WORD finds in name, meaning, symbol or labels.

    Each with its unit, symbol, default and meaning, the models that yield it and that need it.
    """
    with input_errors():
        return catalog_answer(dse.quantities(" ".join(words), model=model))
