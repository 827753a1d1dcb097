"""Probability distributions (laws) of uncertain inputs: as text, jointly, and their draws."""
