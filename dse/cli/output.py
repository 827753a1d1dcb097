"""What a command prints: the one place from which text goes to the terminal.

Labels, titles, sources and names come from files that may be somebody else's; characters that
steer a terminal are shown by their codes (:mod:`symbolic.plain_text`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from symbolic.plain_text import without_controls

#: Letters of an error that are shown; a file may hold a name of millions.
_LONGEST = 20_000


def echo(text: str, *, err: bool = False) -> None:
    """Print text, to standard error with ``err``."""
    click.echo(without_controls(text), err=err)


def error_text(text: str) -> str:
    """Return the message of an error as it is printed: no line of it passes for a new message."""
    text = without_controls(text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ...")
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" if line[:1].strip() else line for line in rest)])


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings as :func:`echo` prints text."""
    before = warnings.formatwarning

    def shown(*args: Any, **options: Any) -> str:
        return without_controls(before(*args, **options))

    warnings.formatwarning = shown
    try:
        yield
    finally:
        warnings.formatwarning = before
