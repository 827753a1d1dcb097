"""Blocks run on slots, one launch after the other: what the exact law is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stochastic.kept import compiled

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["schedules"]


@compiled
def schedules(
    durations: npt.NDArray[np.int64],
    kind: npt.NDArray[np.int64],
    heap: npt.NDArray[np.int64],
    found: npt.NDArray[np.int64],
) -> None:
    """Time of the launch, start of the last block, total work: ``found`` (3, launches).

    ``durations`` (kinds, launches, blocks): how long a block takes where it runs on such a slot, 0
    for no work. ``kind`` of each slot, ascending: slots free at once are taken in that order.
    ``heap`` is of the slots.
    """
    kinds = durations.shape[0]
    for i in range(durations.shape[1]):
        for j in range(len(kind)):
            heap[j] = kind[j]
        end = start = total = 0
        for block in range(durations.shape[2]):
            which = heap[0] % kinds
            longest = durations[which, i, block]
            if longest == 0:
                continue
            start = heap[0] // kinds
            total += longest
            end = max(end, start + longest)
            key, at = (start + longest) * kinds + which, 0
            while True:
                child = 2 * at + 1
                if child >= len(heap):
                    break
                if child + 1 < len(heap) and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= key:
                    break
                heap[at] = heap[child]
                at = child
            heap[at] = key
        found[0, i], found[1, i], found[2, i] = end, start, total
