"""TOML text as a tree: what the parser itself does not refuse is refused here in its own words."""

from __future__ import annotations

import tomllib
from typing import Any

__all__ = ["read_toml"]

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
