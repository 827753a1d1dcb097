"""Where blocks begin on a slot that never runs out of them: renewal sequences, many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["renewals", "summed"]

_WHOLE = (
    sizes.RENEWALS_WHOLE
)  # lengths of the law up to which the sequence is computed from its beginning


def renewals(
    z: npt.NDArray[Any], law: npt.NDArray[np.float64], low: int, high: int
) -> npt.NDArray[np.complex128]:
    """H(low), ..., H(high) of each row, H(u) = Σ_n z**n P(S_n = u), S_n a sum of n durations.

    ``z`` is of (rows), ``law`` of (rows or 1, K + 1), P(D = 0) = 0 first. H(u) is 0 before 0. Far
    out a place is reached from half of it, over the duration that crosses that half.
    """
    longest = law.shape[1] - 1
    if low <= _WHOLE * longest + (high - low):
        found = np.zeros((len(z), high - low + 1), dtype=np.complex128)
        if high >= 0:
            found[:, max(-low, 0) :] = _from_zero(z, law, high)[:, max(low, 0) :]
        return found
    half = (low - 1) // 2
    near = renewals(z, law, half - longest + 1, high - half - 1)
    # crossing(b): a duration begins at half - a, a = 0..K-1, and ends at half + b, b = 1..K
    crossing = z[:, None] * _convolved(near[:, :longest], law, 2 * longest)[:, longest:]
    # H(half + v) = Σ_b crossing(b) H(v - b)
    return _convolved(crossing, near, near.shape[1])[:, low - 2 * half + longest - 2 :]


def _from_zero(
    z: npt.NDArray[Any], law: npt.NDArray[np.float64], high: int
) -> npt.NDArray[np.complex128]:
    """1 / (1 - z·law) as a power series, by Newton's iteration: each step doubles its length.

    Only what is small goes through transforms, so that what they lose is smaller still.
    """
    from scipy.fft import fft, ifft, next_fast_len

    found = np.zeros((len(z), high + 1), dtype=np.complex128)
    sizes = [high + 1]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    for size, half in zip(sizes[-2::-1], sizes[:0:-1], strict=True):
        length = next_fast_len(size + half)  # what wraps around stays below half
        part = np.zeros((len(law), size))
        part[:, : law.shape[1]] = law[:, :size]
        ahead = fft(found[:, :half], length)  # without H(0) = 1
        left = ifft(fft(part, length) * ahead, overwrite_x=True)[:, half:size]
        left = z[:, None] * (part[:, half:] + left)
        both = ifft(fft(left, length) * ahead, overwrite_x=True)[:, : size - half]
        found[:, half:size] = left + both
    found[:, 0] = 1.0
    return found


def summed(starts: npt.NDArray[Any], tails: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Σ_j starts(s - j)·tails(j), j = 0..K-1, for s = K-1, K, ... counted from the first start."""
    width = tails.shape[1]
    return _convolved(starts, tails, starts.shape[1])[:, width - 1 :].real


def _convolved(a: npt.NDArray[Any], b: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The first entries of the product of rows of two power series."""
    from scipy.fft import fft, ifft, next_fast_len

    a, b = a[:, :size], b[:, :size]
    length = next_fast_len(a.shape[1] + b.shape[1] - 1)
    return np.asarray(ifft(fft(a, length) * fft(b, length), overwrite_x=True)[:, :size])
