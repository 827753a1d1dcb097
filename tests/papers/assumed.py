"""Find the assumed values of machine and workload files that a command reads, and change them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from dse.catalog.entries import Entry
from dse.catalog.entry_file import Value
from dse.inputs import merge, provenance
from symbolic.expression import parse_value
from symbolic.quantities import TABLE


@contextmanager
def reads_assumed() -> Iterator[set[str]]:
    """Collect the assumed values of shipped files that a command reads.

    A Dataset lists the values on which its outputs may depend. A command without a Dataset, such as
    `dse advise`, counts as reading all values of its files.
    """
    names: set[str] = set()
    of_files: set[str] = set()
    datasets = []
    origin = provenance.provenance_attributes

    def collect(*args: Any) -> dict[str, Any]:
        made = origin(*args)
        datasets.append(made["identity"])
        names.update(text.partition(" of ")[0] for text in json.loads(made["assumptions"]))
        return made

    def note(entry: Entry) -> Entry:
        of_files.update(name for name, value in entry.values.items() if value.assumed)
        return entry

    with patch.object(provenance, "provenance_attributes", collect), _loaded_through(note):
        yield names
    if not datasets:
        names |= of_files


@contextmanager
def moved_assumed(name: str, factor: float = 2) -> Iterator[None]:
    """Multiply the assumed value of a quantity in machine and workload files by a factor."""

    def move(entry: Entry) -> Entry:
        values = dict(entry.values)
        if name in values:
            values[name] = _move(name, values[name], factor)
        return replace(entry, values=values)

    with _loaded_through(move):
        yield


@contextmanager
def _loaded_through(change: Callable[[Entry], Entry]) -> Iterator[None]:
    def load_changed(load: Callable[..., Entry]) -> Callable[..., Entry]:
        return lambda *args, **options: change(load(*args, **options))

    loaders = {kind: load_changed(load) for kind, load in merge._ENTRIES.items()}
    with patch.object(merge, "_ENTRIES", loaders):
        yield


def _move(name: str, value: Value, factor: float) -> Value:
    row = TABLE.get(name)
    fitted = "least squares" in value.source
    if not (value.assumed or fitted) or row is None or row.is_label:
        return value
    number = parse_value(value.value, row, TABLE) if isinstance(value.value, str) else value.value
    if isinstance(number, float | int):
        return replace(value, value=factor * number)
    return replace(value, value=f"{factor} * ({value.value})")
