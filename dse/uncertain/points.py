"""Points that fill a cube evenly: scrambled, shifted, and normal ones of which some come first."""

from __future__ import annotations

import hashlib
import importlib.metadata
import math

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from stochastic.kept import load, save

__all__ = ["replicates", "settled_first", "shifted", "sobol"]

Floats = NDArray[np.float64]

#: Binary digits of a coordinate.
_DIGITS = 52
#: Bytes up to which points are kept for the next process: SciPy's module of Sobol sequences
#: takes longer to import than most studies take to run.
_KEPT = sizes.POINTS_KEPT


def sobol(width: int, count: int, rng: np.random.Generator) -> Floats:
    """Points of a Sobol sequence, scrambled anew (Owen 1997): shape (count, width)."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(width, scramble=True, rng=rng)
    return np.asarray(sequence.random_base2(count.bit_length() - 1))


def replicates(width: int, count: int, seed: int, number: int) -> Floats:
    """Return independently scrambled Sobol points, of shape (number, count, width)."""
    shape = (number, count, width)
    small = 8 * math.prod(shape) <= _KEPT
    version = importlib.metadata.version("scipy")
    text = f"Sobol points of SciPy {version}: {shape}, seed {seed}"
    key = hashlib.sha256(text.encode()).hexdigest()
    data = load(key) if small else None
    if data is not None and len(data) == 8 * math.prod(shape):
        return np.frombuffer(data).reshape(shape)
    rngs = (np.random.default_rng((seed, k)) for k in range(number))
    points = np.stack([sobol(width, count, rng) for rng in rngs])
    if small:
        save(key, points.tobytes())
    return points


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
