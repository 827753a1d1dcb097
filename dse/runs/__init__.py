"""Runs of a study in memory or into a store, and the files that they write."""
