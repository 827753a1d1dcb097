"""Exceptions and warnings of probability laws.

Each message names the value that was given, the value that was expected, and how to correct the
call.
"""

from __future__ import annotations


class LawError(ValueError):
    """An invalid argument of a probability law."""


class ToleranceWarning(UserWarning):
    """A warning that the error bound of a result exceeds the requested tolerance."""
