"""The command `dse quantities`: list or search the quantities."""

from typing import Any

import click

import dse
from dse.cli.command import command, input_errors
from dse.cli.models import catalog_answer
from dse.cli.options import option


@command("dse quantities", "dse quantities bandwidth", "dse quantities --model my.py")
@click.argument("words", metavar="[WORD]...", nargs=-1)
@option("--model NAME", "List only quantities of this model")
def quantities(words: tuple[str, ...], model: str | None) -> Any:
    """List the quantities, or search them by words.

    A WORD is part of a name, meaning, symbol or label. Each quantity shows its unit, symbol,
    default, meaning, and the models that compute it or need it.
    """
    with input_errors():
        return catalog_answer(dse.quantities(" ".join(words), model=model))
