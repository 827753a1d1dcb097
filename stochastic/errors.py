"""What a user of the laws can be told. Each says what was given, what was expected, a way out."""

from __future__ import annotations


class LawError(ValueError):
    """Something given does not fit; the message says what, and what would."""


class ToleranceWarning(UserWarning):
    """An answer whose error bound is above the tolerance that was asked for."""
