"""Datasets as files: atomic writes, reading back, and lazy outputs."""
