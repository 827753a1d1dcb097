"""Losses of groups drawn from a law, and what they tell of it."""

__all__: list[str] = []
