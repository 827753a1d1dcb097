"""Sums of independent durations, by products alone: nothing is lost by cancelling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stochastic import sizes
from stochastic.kept import compiled

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["AT_ONCE", "TILE", "convolved"]

#: Places that are looked at together, and weights.
TILE = sizes.STARTS_TILE
AT_ONCE = 8


@compiled(fastmath={"contract"}, _nrt=False)
def convolved(
    weights: npt.NDArray[np.float64],
    row: npt.NDArray[np.float64],
    begin: int,
    first: int,
    last: int,
    room: npt.NDArray[np.float64],
    into: npt.NDArray[np.float64],
) -> None:
    """``into[u - first]`` = Σ_k weights[k]·row[u - k] for u = first..last.

    ``row[u]`` is that of place u - (weights' length), 0 before place ``begin``, and a tile longer
    than last; ``into`` a tile longer. ``weights`` are a multiple of ``AT_ONCE``, ``room`` is of
    (2, TILE). Where nothing is negative, no sum is off by more than seven roundings: five of eight
    products in two rows of four, and two of Kahan's sum of such.
    """
    pad = len(weights)
    main, lost = room[0], room[1]
    for start in range(first, last + 1, TILE):
        for k in range(TILE):
            main[k] = lost[k] = 0.0
        for c in range(0, pad, AT_ONCE):
            if start + TILE - 1 - c < begin:
                break
            a, b, d, e = weights[c], weights[c + 1], weights[c + 2], weights[c + 3]
            f, g, h, i = weights[c + 4], weights[c + 5], weights[c + 6], weights[c + 7]
            if a + b + d + e + f + g + h + i == 0.0:
                continue
            near = row[pad + start - c - 7 : pad + start - c + TILE]
            for k in range(TILE):
                x = a * near[k + 7] + b * near[k + 6] + d * near[k + 5] + e * near[k + 4]
                y = f * near[k + 3] + g * near[k + 2] + h * near[k + 1] + i * near[k]
                more = (x + y) - lost[k]
                both = main[k] + more
                lost[k] = (both - main[k]) - more
                main[k] = both
        for k in range(TILE):
            into[start - first + k] = main[k]
