"""How many threads to use."""

from __future__ import annotations

import os


def cpu_count() -> int:
    """How many threads to use: the processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
