"""How many threads to use, and times shared out to them."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from stochastic import sizes

_EACH = sizes.TIMES_EACH  # times that are worth a thread


def workers() -> int:
    """How many threads to use: the processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shared_out(
    times: npt.NDArray[np.int64],
    part: Callable[[npt.NDArray[np.int64], npt.NDArray[np.float64]], None],
) -> npt.NDArray[np.float64]:
    """What ``part`` writes for each of the times, some of them on each thread."""
    times = np.ascontiguousarray(times, dtype=np.int64)
    found = np.zeros(len(times))
    count = min(workers(), max(len(times) // _EACH, 1))

    def one(i: int) -> None:
        into = np.zeros(len(times[i::count]))
        part(times[i::count].copy(), into)
        found[i::count] = into

    if count == 1:
        one(0)
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(count) as pool:
            list(pool.map(one, range(count)))
    return found
