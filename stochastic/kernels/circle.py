"""Coefficients on a circle: how many blocks have begun, at some nodes, for many times at once.

See stochastic.scheduling.inversion for the mathematics. Complex numbers are pairs of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stochastic import sizes
from stochastic.kept import compiled

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["TILE", "chances"]

#: Starts that are looked at together.
TILE = sizes.CIRCLE_TILE


@compiled(fastmath={"contract"}, _nrt=False, inline="always")
def _power(
    a: npt.NDArray[np.float64],
    b: npt.NDArray[np.float64],
    into: npt.NDArray[np.float64],
    across: npt.NDArray[np.float64],
    exponent: int,
) -> None:
    """``into`` + i·``across`` becomes the power of a tile of ``a`` + i·``b``, which are used up."""
    for k in range(TILE):
        into[k], across[k] = 1.0, 0.0
    while exponent:
        if exponent & 1:
            for k in range(TILE):
                x, y = into[k], across[k]
                into[k], across[k] = x * a[k] - y * b[k], x * b[k] + y * a[k]
        exponent >>= 1
        if exponent:
            for k in range(TILE):
                x, y = a[k], b[k]
                a[k], b[k] = (x - y) * (x + y), 2.0 * x * y


@compiled(fastmath={"contract", "reassoc"}, _nrt=False)
def chances(
    times: npt.NDArray[np.int64],
    first: int,
    last: int,
    slots: npt.NDArray[np.int64],
    starts: npt.NDArray[np.float64],
    lacking: npt.NDArray[np.float64],
    ratio: npt.NDArray[np.float64],
    begun: npt.NDArray[np.float64],
    powers: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    apart: int,
    room: npt.NDArray[np.float64],
    found: npt.NDArray[np.float64],
) -> None:
    """P(all blocks end by t, the last begins in first..last) of each of ``times``.

    A leading axis of 2 holds real and imaginary parts, ``kinds`` those of the slots, K the longest
    duration. ``starts`` is H (2, kinds, nodes, K + last - first + 1) from place first - K on;
    ``lacking`` 1 - x and ``ratio`` x / (x - 1) of durations 0..K (2, kinds, nodes, K + 1);
    ``begun`` A_s for t without end, ``powers`` that to the power of the slots, s = first-1..last;
    ``weights`` (2, nodes). ``room`` is of (6 + 6 · kinds, TILE). Kinds set ``apart`` are followed
    from first on, as their last ratios differ.
    """
    kinds, nodes, most = lacking.shape[1], lacking.shape[2], lacking.shape[3] - 1
    for i in range(len(times)):
        t, chance = times[i], 0.0
        for n in range(nodes):
            real = imag = 0.0
            s = first if apart else max(first, min(t - most + 1, last + 1))
            # what began so early that it surely ends by t
            if s > first:
                x, y, p, q = 1.0, 0.0, 1.0, 0.0
                for g in range(kinds):
                    a, b = powers[0, g, n, s - first], powers[1, g, n, s - first]
                    x, y = x * a - y * b, x * b + y * a
                    a, b = powers[0, g, n, 0], powers[1, g, n, 0]
                    p, q = p * a - q * b, p * b + q * a
                    room[6 + 6 * g, 0], room[7 + 6 * g, 0] = (
                        begun[0, g, n, s - first],
                        begun[1, g, n, s - first],
                    )
                    room[8 + 6 * g, 0], room[9 + 6 * g, 0] = (
                        powers[0, g, n, s - first],
                        powers[1, g, n, s - first],
                    )
                x, y = x - p, y - q
                a, b = ratio[0, 0, n, most], ratio[1, 0, n, most]
                real, imag = a * x - b * y, a * y + b * x
            else:
                for g in range(kinds):
                    x = y = 0.0
                    for k in range(most if first > 0 else 0):  # a block that began at first - 1 - k
                        a = lacking[0, g, n, k] - lacking[0, g, n, min(t - first + 1 + k, most)]
                        b = lacking[1, g, n, k] - lacking[1, g, n, min(t - first + 1 + k, most)]
                        p, q = starts[0, g, n, most - 1 - k], starts[1, g, n, most - 1 - k]
                        x += a * p - b * q
                        y += a * q + b * p
                    if first == 0:
                        x = 1.0
                    room[6 + 6 * g, 0], room[7 + 6 * g, 0] = x, y
                    for k in range(TILE):
                        room[0, k], room[1, k] = x, y
                    _power(room[0], room[1], room[2], room[3], slots[g])
                    room[8 + 6 * g, 0], room[9 + 6 * g, 0] = room[2, 0], room[3, 0]
            # rows of a kind: 6 and 7 A at first and what it has lost since, each its own column; 8
            # and 9 its power before the tile; 10 and 11 the powers in the tile
            for g in range(kinds):
                room[6 + 6 * g, 1] = room[7 + 6 * g, 1] = 0.0
            stop = min(last, t - 1) + 1
            while s < stop:
                count = min(TILE, stop - s)
                for g in range(kinds):
                    a, b = room[6 + 6 * g, 0], room[7 + 6 * g, 0]
                    x, y = room[6 + 6 * g, 1], room[7 + 6 * g, 1]
                    for k in range(TILE):
                        if k < count:
                            j = min(t - s - k, most)
                            p, q = lacking[0, g, n, j], lacking[1, g, n, j]
                            c = starts[0, g, n, most + s + k - first]
                            d = starts[1, g, n, most + s + k - first]
                            x += c * p - d * q
                            y += c * q + d * p
                        room[0, k], room[1, k] = a - x, b - y
                    room[6 + 6 * g, 1], room[7 + 6 * g, 1] = x, y
                    _power(room[0], room[1], room[10 + 6 * g], room[11 + 6 * g], slots[g])
                for g in range(kinds):
                    own, other = room[10 + 6 * g], room[11 + 6 * g]
                    for k in range(count):
                        a = own[k] - (own[k - 1] if k else room[8 + 6 * g, 0])
                        b = other[k] - (other[k - 1] if k else room[9 + 6 * g, 0])
                        j = min(t - s - k, most)
                        p, q = ratio[0, g, n, j], ratio[1, g, n, j]
                        room[4, k], room[5, k] = a * p - b * q, a * q + b * p
                    for h in range(kinds):
                        if h == g:
                            continue
                        for k in range(count):
                            if h < g:  # served before: it has got its block
                                a, b = room[10 + 6 * h, k], room[11 + 6 * h, k]
                            elif k:
                                a, b = room[10 + 6 * h, k - 1], room[11 + 6 * h, k - 1]
                            else:
                                a, b = room[8 + 6 * h, 0], room[9 + 6 * h, 0]
                            x, y = room[4, k], room[5, k]
                            room[4, k], room[5, k] = x * a - y * b, x * b + y * a
                    for k in range(count):
                        real += room[4, k]
                        imag += room[5, k]
                for g in range(kinds):
                    room[8 + 6 * g, 0] = room[10 + 6 * g, count - 1]
                    room[9 + 6 * g, 0] = room[11 + 6 * g, count - 1]
                s += count
            chance += real * weights[0, n] - imag * weights[1, n]
        found[i] = chance
