"""TOML text as a tree, and values as TOML text.

What the parser itself does not refuse is refused here in its own words.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from typing import Any

__all__ = ["read_toml", "toml_key", "toml_value", "value_line"]

_DEPTH = 20


def read_toml(text: str) -> dict[str, Any]:
    """The tree of a TOML text.

    Raises
    ------
    tomllib.TOMLDecodeError
        No TOML; a whole number or a nesting that no study means; a NUL in a text.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError(f"values nested deeper than {_DEPTH} levels") from None
    except ValueError as error:  # of a whole number of thousands of digits
        raise tomllib.TOMLDecodeError(f"a value that cannot be read: {error}") from None
    level: list[Any] = [tree]
    for _ in range(_DEPTH):
        found: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                found += [*value, *value.values()]
            elif isinstance(value, list):
                found += value
            elif isinstance(value, str) and "\0" in value:
                raise tomllib.TOMLDecodeError(f"the text {value!r} holds the character NUL")
        level = found
        if not level:
            return tree
    raise tomllib.TOMLDecodeError(f"values nested deeper than {_DEPTH} levels")


def toml_value(value: Any) -> str:
    """A value as TOML has it, on one line.

    >>> toml_value({"zip": {"core clock": ["1 GHz", 2e9, math.inf]}})
    '{ zip = { "core clock" = ["1 GHz", 2000000000.0, inf] } }'
    """
    if isinstance(value, Mapping):
        told = (f"{toml_key(name)} = {toml_value(one)}" for name, one in value.items())
        return f"{{ {', '.join(told)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """A name as the key of a table."""
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else toml_value(name)


def value_line(name: str, value: str, origin: str, text: str) -> str:
    """A value of a machine or workload file, itself TOML text, with its origin.

    >>> value_line("blocks", "12", "source", "my notes")
    'blocks = { value = 12, source = "my notes" }'
    """
    return f"{name} = {{ value = {value}, {origin} = {toml_value(text)} }}"
