"""Errors of laws. Each message says what was given, what was expected, and a way out."""

from __future__ import annotations


class LawError(ValueError):
    """An argument of a law that does not fit."""


class ToleranceWarning(UserWarning):
    """An answer whose error bound exceeds the requested tolerance."""
