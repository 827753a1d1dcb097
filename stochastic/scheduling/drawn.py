"""Launches that are simulated: what the exact law is checked by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from stochastic.scheduling.setting import Setting

__all__ = ["schedules_of"]

_AT_ONCE = 1 << 21  # durations


def schedules_of(setting: Setting, size: int, seed: int) -> npt.NDArray[np.int64]:
    """Time, start of the last block, total work of each of ``size`` launches, (3, size)."""
    from stochastic.kernels.schedule import schedules

    rng = np.random.default_rng(seed)
    kind = np.repeat(np.arange(len(setting.kinds)), [one.slots for one in setting.kinds])
    found = np.zeros((3, size), dtype=np.int64)
    step = max(1, _AT_ONCE // setting.blocks)
    for first in range(0, size, step):
        count = min(step, size - first)
        drawn = rng.random((count, setting.blocks))
        busy = rng.random((count, setting.blocks)) >= setting.idle if setting.idle else 1
        durations = np.array(
            [np.searchsorted(one.chances, drawn, side="right") * busy for one in setting.kinds]
        )
        into = np.zeros((3, count), dtype=np.int64)
        schedules(durations, kind, np.empty(len(kind), dtype=np.int64), into)
        found[:, first : first + count] = into
    return found
