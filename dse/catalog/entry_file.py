"""Parser of one catalogue file (see :mod:`dse.catalog.entries`); its errors name lines."""

from __future__ import annotations

import datetime
import math
import re
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dse.toml_text import read_toml
from symbolic.errors import DomainError, DseError, UnitError, UnknownNameError, nearest_hint
from symbolic.file_access import TEXT_LIMIT, check_file
from symbolic.quantities import TABLE, Quantity
from symbolic.quantity import quantity

#: The search for the line of an error stops after this time [s], which matters in long files.
_SEARCH_SECONDS = 0.5
_EXAMPLE = '{ value = ..., source = "..." } or { value = ..., assumed = "why" }'
_KEYS = {
    "machine": ("title", "kind", "base", "values", "compute_capability", "unknown"),
    "workload": ("title", "kind", "base", "quantities", "values"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Value as written (a number, or text such as ``"1.3 GHz"``), with its origin.

    ``holds_for`` has the numbers for which the value was counted, by quantity (None for a quantity
    with a formula). With other numbers the value is invalid. ``spread`` is the share by
    which an assumed number may be too small or too large. ``fit`` is the name of the shipped fit
    that the value comes from.
    """

    value: float | str
    source: str = ""
    assumed: str = ""
    holds_for: tuple[tuple[str, tuple[float, ...] | None], ...] = ()
    spread: float = 0.0
    fit: str = ""

    def __post_init__(self) -> None:
        if bool(self.source.strip()) == bool(self.assumed.strip()):
            given = "has both" if self.source.strip() else "has neither"
            raise DseError(
                f"the value {self.value!r} {given} a source and an assumption: give its source, "
                "or say why it is assumed"
            )


class SourceText:
    """Text of a file, which makes errors with line numbers."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text

    def line(self, *keys: str) -> int:
        """Return the line on which a key first occurs; 0 if it is not known."""
        lines, start = self.text.split("\n"), 1
        deadline = time.monotonic() + _SEARCH_SECONDS
        for end in range(1, len(lines) + 1):
            if time.monotonic() > deadline:
                break
            try:
                node: Any = tomllib.loads("\n".join(lines[:end]))
            except (ValueError, RecursionError):
                continue  # in the middle of a value that spans lines
            for key in keys:
                node = node.get(key) if isinstance(node, dict) else None
            if node is not None:
                return start
            start = end + 1
        return 0

    def error(self, keys: tuple[str, ...], problem: str | DseError) -> DseError:
        """Return an error with the path and line of a key; it has the class of ``problem``."""
        kinds = (DomainError, UnitError, UnknownNameError, DseError)
        kind = next((kind for kind in kinds if isinstance(problem, kind)), DseError)
        number = self.line(*keys) if keys else 0
        place = f"{self.path}, line {number}" if number else str(self.path)
        return kind(f"{place}: {problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFile:
    """Checked content of one file, without its base."""

    source: SourceText
    title: str
    base: str
    compute_capability: str
    values: Mapping[str, Value]
    declared: tuple[Quantity, ...] = ()
    unknown: Mapping[str, str]


def _content(source: SourceText) -> dict[str, Any]:
    try:
        return read_toml(source.text)
    except tomllib.TOMLDecodeError as error:
        lines = source.text.split("\n")
        match = re.search(r"line (\d+)", str(error))
        number = int(match[1]) if match else len(lines)
        message = re.sub(r" \(at .*\)$", "", str(error))
        raise DseError(
            f"{source.path}, line {number}: this is not TOML: {message}; "
            f"the line is {lines[number - 1].strip()!r}"
        ) from None


def _value(
    source: SourceText,
    name: str,
    item: Any,
    quantities: Mapping[str, Quantity],
    values: Mapping[str, Any],
) -> Value:
    keys = ("values", name)
    row = quantities.get(name)
    if row is None:
        hint = nearest_hint(name, quantities)
        raise source.error(keys, UnknownNameError(f"{name!r} is no known quantity{hint}"))
    if not isinstance(item, dict):
        raise source.error(keys, f"{name} = {_toml(item)} has no source: write {name} = {_EXAMPLE}")
    known = ("value", "source", "assumed", "holds_for", "spread", "counted")
    _check_keys(source, keys, item, known)
    value, origins = item.get("value"), [key for key in ("source", "assumed") if key in item]
    if len(origins) != 1:
        given = "both source and assumed" if origins else "neither source nor assumed"
        raise source.error(keys, f"{name} has {given}: write {name} = {_EXAMPLE}")
    if not isinstance(item[origins[0]], str) or not item[origins[0]].strip():
        raise source.error(keys, f"{name}: {origins[0]} = {_toml(item[origins[0]])}, expected text")
    try:
        _check(row, value, quantities)
    except DseError as error:
        raise source.error(keys, error) from error
    assert isinstance(value, (int, float, str))
    holds_for = _parse_holds_for(source, name, item.get("holds_for", []), values)
    spread = _parse_spread(source, name, item)
    return Value(value=value, holds_for=holds_for, spread=spread, **{origins[0]: item[origins[0]]})


def _parse_spread(source: SourceText, name: str, item: Mapping[str, Any]) -> float:
    spread = item.get("spread", 0.0)
    is_number = isinstance(spread, (int, float)) and not isinstance(spread, bool)
    if not is_number or not 0 <= spread < 1:
        raise source.error(
            ("values", name, "spread"),
            f"{name}: spread = {_toml(spread)}, expected a share from 0 to below 1, such as 0.3",
        )
    if spread and "assumed" not in item:
        raise source.error(
            ("values", name, "spread"),
            f"{name} has a source and a spread: only what is assumed has one",
        )
    return float(spread)


def _check_keys(
    source: SourceText, place: tuple[str, ...], item: Mapping[str, Any], known: tuple[str, ...]
) -> None:
    for key in item:
        if key not in known:
            hint = f"{', '.join(known)}{nearest_hint(key, known)}"
            raise source.error((*place, key), f"{place[-1]} has {key!r}, expected {hint}")


def _parse_holds_for(
    source: SourceText, name: str, names: Any, values: Mapping[str, Any]
) -> tuple[tuple[str, tuple[float, ...] | None], ...]:
    """Return the quantities on which a value depends, with the numbers for which the value holds.

    These are the quantity's value, or all that it has under ``counted``; None for a formula.
    """
    keys = ("values", name, "holds_for")
    if not isinstance(names, list):
        raise source.error(keys, f"{name}: holds_for = {_toml(names)}, expected a list of names")
    pairs: list[tuple[str, tuple[float, ...] | None]] = []
    for each in names:
        item = values.get(each) if isinstance(each, str) else None
        number = item.get("value") if isinstance(item, dict) else None
        if isinstance(number, bool) or not isinstance(number, (int, float, str)):
            raise source.error(
                keys,
                f"{name} holds for a value of {_toml(each)}, to which this file gives no number: "
                "expected names of quantities with numbers or formulas under [values]",
            )
        if item is None or isinstance(number, str):
            pairs.append((each, None))
            continue
        counted = item.get("counted", [number])
        if not isinstance(counted, list) or not all(isinstance(x, (int, float)) for x in counted):
            wrong = f"{each}: counted = {_toml(counted)}, expected a list of numbers"
            raise source.error(("values", each, "counted"), wrong)
        pairs.append((each, tuple(map(float, counted))))
    return tuple(pairs)


def _toml(value: Any) -> str:
    if isinstance(value, (bool, datetime.date, datetime.time)):
        return str(value).lower()
    return repr(value)


def _check(row: Quantity, value: Any, quantities: Mapping[str, Quantity]) -> None:
    if row.labels is not None:
        if not isinstance(value, str) or (row.labels and value not in row.labels):
            known = f"one of {', '.join(row.labels)}" if row.labels else "a label"
            hint = nearest_hint(value, row.labels) if isinstance(value, str) else ""
            raise DseError(f"{row.name} = {_toml(value)}, expected {known} in quotes{hint}")
        return
    if isinstance(value, str):
        from symbolic.expression import parse_value

        parsed = parse_value(value, row, quantities)
        if not isinstance(parsed, (int, float)):
            return
        value = parsed
    unit = f" in {row.unit}" if row.unit else ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        given = "no value" if value is None else _toml(value)
        raise DseError(
            f"{row.name} has {given}, expected a number{unit}, or in quotes a number with its "
            "unit or a formula"
        )
    try:
        finite = math.isfinite(value)
    except OverflowError:
        finite, value = False, "a whole number beyond the range of floats"
    if not finite:
        raise DomainError(f"{row.name} = {value}, expected a finite number{unit}")
    row.check(value, "this file")


@lru_cache(maxsize=256)
def read_entry_file(
    path: Path, stamp: tuple[int, int], kind: str, extra: tuple[Quantity, ...]
) -> EntryFile:
    """Read and check a machine or workload file; cached until the time stamp ``stamp`` changes."""
    check_file(path, f"{kind} file", TEXT_LIMIT)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DseError(f"{path} cannot be read as text: {error}") from error
    return parse_entry(SourceText(path, text), kind, extra)


def write_entry_file(path: Path, text: str, kind: str, *, replace: bool = True) -> Path:
    """Write a machine or workload file after checking that it can be read back."""
    try:
        parse_entry(SourceText(path, text), kind)
    except DseError as error:
        raise type(error)(f"not written, as it could not be read back: {error}") from error
    from sweeps.files.atomic_write import write_atomic

    return write_atomic(path, text, replace=replace)


def parse_entry(source: SourceText, kind: str, extra: tuple[Quantity, ...] = ()) -> EntryFile:
    """Parse and check the text of a machine or workload file."""
    tree = _content(source)
    for key in tree:
        if key not in _KEYS[kind]:
            hint = nearest_hint(key, _KEYS[kind])
            hint = "; quantities stand under [values]" if key in TABLE else hint
            expected = ", ".join(_KEYS[kind])
            raise source.error((key,), f"{key!r} is no key of a {kind}: expected {expected}{hint}")
    for key in ("title", "kind", "base", "compute_capability"):
        if key in tree and (not isinstance(tree[key], str) or not tree[key].strip()):
            raise source.error(
                (key,), f'{key} = {_toml(tree[key])}, expected text: {key} = "{tree[key]}"'
            )
    if tree.get("kind", kind) != kind:
        raise source.error(("kind",), f"this is a {tree['kind']}, expected a {kind}")
    if "title" not in tree:
        raise source.error((), 'the title is missing: begin with title = "..."')
    values = tree.get("values", {})
    if not isinstance(values, dict):
        raise source.error(("values",), f"values = {_toml(values)}, expected a table of quantities")
    declared = _parse_declared(source, tree.get("quantities", {}))
    quantities = {**TABLE, **{row.name: row for row in (*extra, *declared)}}
    return EntryFile(
        source=source,
        title=tree["title"].strip(),
        base=tree.get("base", "").strip(),
        compute_capability=tree.get("compute_capability", "").strip(),
        values={
            name: _value(source, name, item, quantities, values) for name, item in values.items()
        },
        declared=declared,
        unknown=_parse_unknown(source, tree.get("unknown", {}), values, quantities),
    )


def _parse_unknown(
    source: SourceText, table: Any, values: Mapping[str, Any], quantities: Mapping[str, Quantity]
) -> dict[str, str]:
    if not isinstance(table, dict):
        raise source.error(
            ("unknown",), f"unknown = {_toml(table)}, expected a table of quantities"
        )
    for name, why in table.items():
        keys = ("unknown", name)
        if name not in quantities:
            hint = nearest_hint(name, quantities)
            raise source.error(keys, UnknownNameError(f"{name!r} is no known quantity{hint}"))
        if name in values:
            raise source.error(keys, f"{name} is unknown and has a value: keep one of them")
        if not isinstance(why, str) or not why.strip():
            raise source.error(keys, f"{name} = {_toml(why)}, expected the reason as text")
    return dict(table)


def _parse_declared(source: SourceText, table: Any) -> tuple[Quantity, ...]:
    """Return the quantities that a workload declares, such as the arguments of a kernel."""
    if not isinstance(table, dict):
        raise source.error(("quantities",), f"quantities = {_toml(table)}, expected a table")
    declared = []
    for name, item in table.items():
        keys = ("quantities", name)
        if name in TABLE or not name.isidentifier():
            why = "all models share it" if name in TABLE else "expected letters, digits and _"
            raise source.error(keys, f"{name!r} cannot be declared: {why}")
        if not isinstance(item, dict) or not item.get("meaning"):
            raise source.error(keys, f'{name}: expected {{ meaning = "...", unit = "..." }}')
        _check_keys(source, keys, item, ("meaning", "unit", "domain"))
        try:
            declared.append(quantity(name, direction="none", **item))
        except (DseError, TypeError) as error:
            raise source.error(keys, DseError(str(error))) from error
    return tuple(declared)
