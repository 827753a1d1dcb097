"""Read TOML text with additional checks, and write values as TOML."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from symbolic.errors import DseError

_DEPTH = 20
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def read_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text; raise ``tomllib.TOMLDecodeError`` for every kind of failure."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError(f"values nested deeper than {_DEPTH} levels") from None
    except ValueError as error:  # raised for an integer with thousands of digits
        raise tomllib.TOMLDecodeError(f"a value that cannot be read: {error}") from None
    level: list[Any] = [tree]
    for _ in range(_DEPTH):
        children: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                children += [*value, *value.values()]
            elif isinstance(value, list):
                children += value
            elif isinstance(value, str) and "\0" in value:
                raise tomllib.TOMLDecodeError(f"the text {value!r} contains the character NUL")
        level = children
        if not level:
            return tree
    raise tomllib.TOMLDecodeError(f"values nested deeper than {_DEPTH} levels")


def toml_value(value: Any) -> str:
    """Return a value as TOML text on one line; :func:`read_toml` reads it back.

    >>> toml_value({"zip": {"core clock": ["1 GHz", 2e9, math.inf]}})
    '{ zip = { "core clock" = ["1 GHz", 2000000000.0, inf] } }'
    """
    if isinstance(value, Mapping):
        items = (f"{toml_key(name)} = {toml_value(item)}" for name, item in value.items())
        return f"{{ {', '.join(items)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, str):
        return f'"{"".join(map(_escape, value))}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))  # the repr of a NumPy float would not be TOML
    raise DseError(
        f"a {type(value).__name__} cannot stand in a TOML file: expected text or numbers"
    )


def _escape(sign: str) -> str:
    if sign == "\0" or "\ud800" <= sign <= "\udfff":
        raise DseError(
            f"a text holds {sign!a}, which no TOML file can hold: remove it from the names, "
            "titles and sources"
        )
    if sign in '"\\':
        return f"\\{sign}"
    if sign.isprintable():
        return sign
    return _SHORT.get(sign) or (
        f"\\u{ord(sign):04x}" if sign <= "\uffff" else f"\\U{ord(sign):08x}"
    )


def toml_number(value: float | str) -> str:
    """Return a number as TOML text that reads back exactly, or a formula as quoted text."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return "-0.0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))
    return toml_value(value)


def printable_line(text: str) -> str:
    """Return a text as one line; characters that cannot be printed become spaces."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def toml_key(name: str) -> str:
    """Return a name as a TOML key, in quotes if TOML requires them."""
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else toml_value(name)


def value_line(name: str, value: str, origin: str, text: str) -> str:
    """Return the line of a machine or workload file for a value and its source or assumption.

    ``value`` is TOML text. ``text`` is the source of the value if ``origin`` is ``"source"``, or
    the assumption if ``origin`` is ``"assumed"``.
    """
    return f"{toml_key(name)} = {{ value = {value}, {origin} = {toml_value(text)} }}"
