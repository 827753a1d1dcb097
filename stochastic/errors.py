"""Exceptions and warnings of probability laws.

Each message names the given value and the expected value, and says how to correct the call.
"""


class LawError(ValueError):
    """An invalid argument of a probability law."""


class ToleranceWarning(UserWarning):
    """A warning that the error bound of a result exceeds the requested tolerance."""
