"""Check the arguments of probability laws, and raise errors that name the invalid argument.

Nothing here loads NumPy, because the command line loads this module.
"""

import math
from collections.abc import Callable
from typing import Any


class LawError(ValueError):
    """An invalid argument of a probability law."""


class ToleranceWarning(UserWarning):
    """A warning that the error bound of a result exceeds the requested tolerance."""


#: Treatments of a group without any work: its loss X is 1, the group is dropped, or X is 0.
ZERO_WORK = ("one", "drop", "zero")


def check_integer(
    name: str, value: Any, *, least: int, most: float = 1e15, example: int | None = None
) -> int:
    """Return the value as an int from ``least`` to ``most``; raise LawError for other values."""
    try:
        fits = not isinstance(value, bool) and value == int(value) and least <= value <= most
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        such = f", such as {example}" if example is not None else ""
        cap = f", at most {most:.15g}" if isinstance(value, int) and value > most else ""
        raise LawError(f"{name} = {value!r}: expected a whole number of {least} or more{cap}{such}")
    return int(value)


def check_real(name: str, value: Any, holds: Callable[[float], bool], expected: str) -> float:
    """Return the value as a float if it is finite and satisfies ``holds``; LawError otherwise."""
    try:
        number = float(value)
        is_number = not isinstance(value, bool | str | bytes) and math.isfinite(number)
    except (TypeError, ValueError, OverflowError):
        is_number = False
    if not is_number or not holds(number):
        raise LawError(f"{name} = {value!r:.60}: expected {expected}")
    return number


def check_fraction(name: str, value: Any, example: str) -> float:
    """Return the value as a float with 0 < value < 1; raise LawError for other values."""
    expected = f"a number above 0 and below 1, as {example}"
    return check_real(name, value, lambda x: 0 < x < 1, expected)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices, or raise an error that lists them."""
    if value not in choices:
        raise LawError(f"{name} = {value!r}: expected one of {', '.join(choices)}")
    return str(value)


def check_probability(name: str, value: Any) -> None:
    """Raise an error if the value is not a number from 0 to 1."""
    try:
        fits = 0 <= value <= 1
    except TypeError:
        fits = False
    if not fits:
        raise LawError(f"{name} = {value!r}: expected a probability from 0 to 1")
