"""Datasets as files: atomic writes, export, reading back; and lazy outputs."""
