"""Probability laws of the work that threads in lockstep do."""
