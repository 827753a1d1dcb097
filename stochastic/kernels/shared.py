"""Launches on multiprocessors whose warps share a rate, one launch after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stochastic.kept import compiled

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["shared"]


@compiled
def shared(
    lengths: npt.NDArray[np.float64],
    resident: int,
    full: float,
    ends: npt.NDArray[np.float64],
    left: npt.NDArray[np.int64],
    clocks: npt.NDArray[np.float64],
    running: npt.NDArray[np.int64],
    found: npt.NDArray[np.float64],
) -> None:
    """The time of each launch: ``lengths`` is of (launches, blocks, warps), all above 0.

    Of n running warps each goes at the rate min(1, full / n), so that all that a multiprocessor
    keeps is how far a warp has come that has run from the start. ``ends`` (multiprocessors,
    resident, warps) is where that ends each warp, ``left`` (multiprocessors, resident) the warps
    of a block that still run; ``clocks`` (2, multiprocessors) how far, and at what time;
    ``running`` is of the multiprocessors.
    """
    blocks, warps = lengths.shape[1], lengths.shape[2]
    places = len(running)
    for i in range(lengths.shape[0]):
        begun = 0
        for p in range(places):
            clocks[0, p] = clocks[1, p] = 0.0
            running[p] = 0
            for r in range(resident):
                left[p, r] = 0
        for r in range(resident):  # dealt round the multiprocessors
            for p in range(places):
                if begun < blocks:
                    left[p, r] = warps
                    running[p] += warps
                    for w in range(warps):
                        ends[p, r, w] = lengths[i, begun, w]
                    begun += 1
        time = 0.0
        while True:
            best, at, slot, lane, first = 1e300, -1, 0, 0, 0.0
            for p in range(places):
                if running[p] == 0:
                    continue
                near, r_near, w_near = 1e300, 0, 0
                for r in range(resident):
                    if left[p, r] > 0:
                        for w in range(warps):
                            if ends[p, r, w] < near:
                                near, r_near, w_near = ends[p, r, w], r, w
                then = clocks[1, p] + (near - clocks[0, p]) * max(1.0, running[p] / full)
                if then < best:
                    best, at, slot, lane, first = then, p, r_near, w_near, near
            if at < 0:
                break
            time = best
            clocks[0, at], clocks[1, at] = first, best
            ends[at, slot, lane] = 1e300
            running[at] -= 1
            left[at, slot] -= 1
            if left[at, slot] == 0 and begun < blocks:
                left[at, slot] = warps
                running[at] += warps
                for w in range(warps):
                    ends[at, slot, w] = first + lengths[i, begun, w]
                begun += 1
        found[i] = time
