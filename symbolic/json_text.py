"""JSON that a file holds, with limits: of its length, and of how deep its values are nested."""

from __future__ import annotations

import json
from typing import Any

from symbolic.errors import DseError

#: Bytes or letters of a text; at most 0.8 s to read.
MAX_LENGTH = 8 << 20


def read_json(text: str | bytes, max_length: int = MAX_LENGTH) -> Any:
    """Return the tree of a JSON text.

    Raises
    ------
    ValueError
        It is no JSON, too long, or nested too deep.

    >>> read_json("[" * 100_000)
    Traceback (most recent call last):
    ValueError: its values are nested too deep
    """
    if not isinstance(text, (str, bytes)):
        raise ValueError(f"expected JSON as text, not {type(text).__name__}")
    if len(text) > max_length:
        raise ValueError(
            f"its {len(text):,} letters are more than the {max_length:,} that are read"
        )
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deep") from None


def check_json_length(text: str | bytes, what: str) -> None:
    """Raise where a text that is to be written is longer than :func:`read_json` reads.

    Raises
    ------
    DseError
        It is too long.
    """
    if len(text) > MAX_LENGTH:
        raise DseError(
            f"{what} cannot be written: its axes, weights and attributes take {len(text):,} "
            f"letters as JSON, and at most {MAX_LENGTH:,} are read: give fewer values with weights, "
            "or shorter attributes"
        )
