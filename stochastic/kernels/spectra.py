"""Spectra of the laws of the sum, one for each largest value, at roots of unity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.kept import compiled

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["spectra"]

_TILE = sizes.SPECTRA_TILE
_FUSED: dict[str, Any] = {"fastmath": {"contract"}}


@compiled(**_FUSED)
def _square(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> None:
    for k in range(_TILE):
        a[k], b[k] = (a[k] - b[k]) * (a[k] + b[k]), 2.0 * a[k] * b[k]


@compiled(**_FUSED)
def _multiply(
    a: npt.NDArray[np.float64],
    b: npt.NDArray[np.float64],
    c: npt.NDArray[np.float64],
    d: npt.NDArray[np.float64],
) -> None:
    for k in range(_TILE):
        a[k], b[k] = a[k] * c[k] - b[k] * d[k], a[k] * d[k] + b[k] * c[k]


@compiled
def _power(
    real: npt.NDArray[np.float64],
    imaginary: npt.NDArray[np.float64],
    exponent: int,
    a: npt.NDArray[np.float64],
    b: npt.NDArray[np.float64],
    c: npt.NDArray[np.float64],
    d: npt.NDArray[np.float64],
) -> None:
    """``a`` + i·``b`` becomes the power of a tile; ``c`` and ``d`` are scratch."""
    for k in range(_TILE):
        a[k], b[k], c[k], d[k] = 1.0, 0.0, real[k], imaginary[k]
    while exponent:
        if exponent & 1:
            _multiply(a, b, c, d)
        exponent >>= 1
        if exponent:
            _square(c, d)


@compiled(**_FUSED)
def spectra(
    values: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    lanes: int,
    roots: npt.NDArray[np.complex128],
    before: npt.NDArray[np.complex128],
    found: npt.NDArray[np.complex128],
) -> None:
    """G_a**lanes - G_before**lanes at the first half of the roots of unity, a row for each value.

    ``roots`` are exp(-2πi·k/len(roots)), ``before`` is the transform of all that is below the first
    value, ``found`` has shape (values, len(before)).
    """
    size, half = len(roots), len(before)
    real, imaginary = np.zeros(_TILE), np.zeros(_TILE)
    a, b, c, d = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    past, past_i = np.empty(_TILE), np.empty(_TILE)
    for k in range(0, half, _TILE):
        count = min(_TILE, half - k)
        for i in range(count):
            real[i], imaginary[i] = before[k + i].real, before[k + i].imag
        _power(real, imaginary, lanes, past, past_i, c, d)
        for p in range(len(values)):
            step = values[p] % size
            at = k * step % size
            for i in range(count):
                real[i] += weights[p] * roots[at].real
                imaginary[i] += weights[p] * roots[at].imag
                at += step
                if at >= size:
                    at -= size
            _power(real, imaginary, lanes, a, b, c, d)
            for i in range(count):
                found[p, k + i] = complex(a[i] - past[i], b[i] - past_i[i])
                past[i], past_i[i] = a[i], b[i]
