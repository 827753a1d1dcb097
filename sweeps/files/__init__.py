"""Datasets as files: written whole or not at all, read again, with what was not stored."""
