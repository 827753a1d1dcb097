"""A machine or workload to start from, as commented text: each number with its unit and origin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dse.toml_text import printable, toml_value, value_line

if TYPE_CHECKING:
    from dse.catalog import Entry
    from dse.entry_file import Value
    from symbolic.quantity import Quantity


def opened(entry: Entry, other: Entry) -> dict[str, tuple[str, ...]]:
    """The models that the numbers of another machine would open, each with what is lacking.

    What holds for both stands already.
    """
    from dataclasses import replace

    from dse.gaps import closed_models

    still = closed_models(other)
    closed = closed_models(replace(entry, values={**_standing(other), **entry.values}))
    return {name: names for name, names in closed.items() if name not in still}


def _standing(other: Entry) -> dict[str, Value]:
    """What holds for other machines as well: formulas, and what is said of workloads."""
    from dse.gaps import formula_of
    from symbolic.quantities import TABLE

    return {
        name: value
        for name, value in other.values.items()
        if formula_of(name, value.value) or TABLE[name].lever == "programmer"
    }


def entry_lines(kind: str, path: Path, entry: Entry, named: str, other: Entry) -> Iterator[str]:
    """The lines of the file of a machine or workload that has all values of another."""
    from symbolic.quantities import TABLE

    known = {**TABLE, **{row.name: row for row in entry.declared}}
    yield from (
        f"# A {kind} that starts from {printable(entry.name)}: what is not said here is as there.",
        "# Take the mark away before a line and give your own value, with its source, or with",
        '# assumed = "why". dse quantities NAME tells of a quantity; dse '
        f"{kind}s {printable(str(path))} shows all.",
        "",
        f"title = {toml_value(f'{path.stem}, from {entry.title}')}",
        f'kind = "{kind}"',
        f"base = {toml_value(named)}",
        "",
        "[values]",
    )
    lacking = {name: value for name, value in other.values.items() if name not in entry.values}
    if lacking:
        told = f"not told by {printable(entry.name)}; beside each, what {other.name} has"
        yield f"# --- to fill in: {told}"
        for model, names in opened(entry, other).items():
            yield f"# {model} asks for {', '.join(names)}"
    standing = [name for name in _standing(other) if name in lacking]
    for name in [name for name in lacking if name not in standing]:
        value = lacking[name]
        yield f"# {_told(known[name])}"
        line = value_line(name, toml_value(value.value), "source", "WHERE YOURS IS FROM")
        yield f"# {line}  # {other.name}: {printable(value.source or value.assumed)}"
    if standing:
        yield f"# --- formulas in those and what is usual, as {other.name} has them"
    for name in standing:
        yield f"# {_told(known[name])}"
        yield _line(name, lacking[name])
    if lacking:
        yield f"# --- as {printable(entry.name)} has it"
    for name, value in entry.values.items():
        yield f"# {_told(known[name])}"
        yield f"# {_line(name, value)}"


def _line(name: str, value: Value) -> str:
    """A value of a file, with its origin."""
    origin = "source" if value.source else "assumed"
    return value_line(name, toml_value(value.value), origin, value.source or value.assumed)


def _told(row: Quantity) -> str:
    return printable(row.meaning) + (f" [{row.unit}]" if row.unit not in ("", "1") else "")
