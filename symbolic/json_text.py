"""Read JSON from files, with limits on its length and nesting."""

import json
from typing import Any

from symbolic.errors import DseError

#: Maximum length of a JSON text, in bytes or characters. A text of this length is read in 0.8 s.
MAX_LENGTH = 8 << 20


def read_json(text: str | bytes, max_length: int = MAX_LENGTH) -> Any:
    """Return the value of a JSON text; ValueError if it is invalid, too long or nested too deep.

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
    """Raise an error if a text to be written is longer than :func:`read_json` accepts."""
    if len(text) > MAX_LENGTH:
        raise DseError(
            f"{what} cannot be written: its axes, weights and attributes take {len(text):,} "
            f"letters as JSON, and at most {MAX_LENGTH:,} are read: give fewer values with weights "
            "or shorter attributes"
        )
