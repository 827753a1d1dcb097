"""Errors of laws. Each message names the given value, the expected one, and an alternative."""

from __future__ import annotations


class LawError(ValueError):
    """An argument of a law that does not fit."""


class ToleranceWarning(UserWarning):
    """An answer whose error bound exceeds the requested tolerance."""
