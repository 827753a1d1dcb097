"""The rows of the one table of quantities."""
