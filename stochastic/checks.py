"""Checks of what users give to the laws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from stochastic.errors import LawError

__all__ = ["ZERO_WORK", "choice", "fraction", "limit", "whole"]

#: What a group without any work loses: nothing (X = 1), 0, or it is not counted.
ZERO_WORK = ("one", "drop", "zero")
#: No loss is so large.
_BEYOND = 2**53


def whole(name: str, value: Any, *, least: int, example: int | None = None) -> int:
    """A whole number of at least ``least``, or an error that names it."""
    try:
        fits = not isinstance(value, bool) and value == int(value) and value >= least
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        such = f", such as {example}" if example is not None else ""
        raise LawError(f"{name} = {value!r}: expected a whole number of {least} or more{such}")
    return int(value)


def fraction(name: str, value: Any, example: str) -> float:
    """A number above 0 and below 1, or an error that names it."""
    try:
        fits = not isinstance(value, (bool, str)) and 0 < value < 1
    except TypeError:
        fits = False
    if not fits:
        raise LawError(f"{name} = {value!r}: expected a number above 0 and below 1, as {example}")
    return float(value)


def choice(name: str, value: Any, known: tuple[str, ...]) -> str:
    """One of the known names, or an error that lists them."""
    if value not in known:
        raise LawError(f"{name} = {value!r}: expected one of {', '.join(known)}")
    return str(value)


def limit(t: Any) -> Fraction:
    """Up to where losses count: a float stands for all numbers that round to it."""
    if t != t:
        raise LawError(f"t = {t!r} is no number: expected a loss to compare with")
    if not isinstance(t, float):
        return Fraction(t)
    if abs(t) >= _BEYOND:
        return Fraction(_BEYOND if t > 0 else -1)
    return (Fraction(t) + Fraction(math.nextafter(t, math.inf))) / 2
