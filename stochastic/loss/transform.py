"""Atoms by the fast Fourier transform: each good to about 1e-16 of the whole.

For each value a the generating function of the sum of items none above a, G_a(z)**lanes, is
evaluated at roots of unity; the differences from one value to the next go back to probabilities.
As many roots suffice as there are sums that are likely at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stochastic import sizes
from stochastic.loss.outcomes import LEFT_OUT, Outcomes

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["transformed"]

_EPS = 2.0**-52
_CHUNK = sizes.TRANSFORM_CHUNK  # probabilities computed at once


def transformed(law: Outcomes) -> tuple[npt.NDArray[np.float64], float]:
    """P(max, sum) in the rows and sums of ``law.reach``, and its absolute error.

    What rounding leaves where there is nothing is cleared; each row is scaled to P(max = a).
    """
    from scipy.fft import irfft, next_fast_len, rfft

    from stochastic.kernels.spectra import spectra

    first_row, first, last = law.reach
    weights = law.weights / (1.0 + law.excess)
    table = np.zeros((len(law.values) - first_row, last - first + 1))
    rows, error = max(_CHUNK // table.shape[1], 4), 0.0
    for at in range(first_row, len(law.values), rows):
        values = law.values[at : at + rows]
        sums = np.arange(first, min(last, law.lanes * int(values[-1])) + 1)
        if not len(sums):
            continue
        size = next_fast_len(len(sums), real=True)
        below = np.bincount(law.values[:at] % size, weights[:at], minlength=size)
        roots = np.exp(-2j * np.pi / size * np.arange(size))
        spectrum = np.empty((len(values), size // 2 + 1), dtype=np.complex128)
        spectra(values, weights[at : at + rows], law.lanes, roots, rfft(below), spectrum)
        found = irfft(spectrum, size, axis=1, overwrite_x=True)[:, sums % size]
        into = table[at - first_row :, : len(sums)]
        for row, a, mass, to in zip(found, values, law.masses[at:], into, strict=False):
            noise = max(-float(row.min()), 0.0)
            row[(row < 2 * noise) | (sums < a) | (sums > law.lanes * a)] = 0.0
            total = float(row.sum())
            if total > 0:
                to[:] = row * (mass / total)
            error = max(error, 16 * noise, 4 * law.lanes * _EPS * float(to.max()))
    return table, error + LEFT_OUT
