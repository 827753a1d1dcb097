"""Points that fill a cube evenly: scrambled, shifted, and normal ones of which some come first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["settled_first", "shifted", "sobol"]

Floats = NDArray[np.float64]

#: Binary digits of a coordinate.
_DIGITS = 52


def sobol(width: int, count: int, rng: np.random.Generator) -> Floats:
    """Points of a Sobol sequence, scrambled anew (Owen 1997): shape (count, width)."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(width, scramble=True, rng=rng)
    return np.asarray(sequence.random_base2(count.bit_length() - 1))


def shifted(points: Floats, by: Floats) -> Floats:
    """Points, each shifted by each of some others, digit by digit: shape (by, points, width)."""
    one, other = ((2.0**_DIGITS * array).astype(np.int64) for array in (points, by))
    return (np.bitwise_xor(other[:, None, :], one[None]) + 0.5) / 2.0**_DIGITS


def settled_first(root: Floats, known: NDArray[np.bool_]) -> Floats:
    """Another root of the same correlations, by which the known depend on their own numbers alone.

    Their rows are zero in the columns of the others, so that given the known the others are drawn
    from their conditional law.
    """
    order = np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])
    found = np.zeros_like(root)
    found[np.ix_(order, order)] = np.linalg.qr(root[order].T)[1].T
    return found
