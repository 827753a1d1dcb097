"""Compiled functions, which take and return arrays without checks."""
