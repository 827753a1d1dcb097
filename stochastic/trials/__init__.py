"""Losses of groups drawn from a law, and what they tell of it."""
