"""Decompose the variance of an output over a grid by its axes, exactly and in blocks.

Every feasible point has the same weight. The first-order part of an axis (Sobol's index times the
variance) is the variance of the means along the axis. The total part of an axis is the mean of the
variance along this axis at fixed indices of all other axes. If all points are feasible, this is the
usual analysis of variance.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes

#: If the range of values divided by their magnitude is below this, it is due to rounding.
_ROUNDING = 16 * np.finfo(np.float64).eps

Floats = NDArray[np.float64]
ReadBlock = Callable[[tuple[slice, ...]], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceDecomposition:
    """The parts of a variance by axis, and the means along each axis.

    ``first[k]`` and ``total[k]`` are variances. At each value of axis ``k``, ``means[k]`` is the
    mean of the feasible points (NaN if there are none), and ``counts[k]`` counts these points.
    """

    count: int
    mean: float
    variance: float
    low: float
    high: float
    first: tuple[float, ...]
    total: tuple[float, ...]
    means: tuple[Floats, ...]
    counts: tuple[NDArray[np.int64], ...]

    @property
    def is_constant(self) -> bool:
        """True if there is no variance to decompose."""
        return bool(self.high - self.low <= _ROUNDING * max(abs(self.low), abs(self.high)))


def decompose_variance(
    shape: Sequence[int], block: ReadBlock, *, limit: int = sizes.DECOMPOSE_BLOCK
) -> VarianceDecomposition:
    """Return the variance of a grid, and its first-order and total parts by axis.

    ``block`` returns the values within one slice of each axis, NaN at infeasible points. A block
    has at most ``limit`` points, if this is enough for all values along some axis. The total part
    of an axis needs all values along it together, so a grid above ``limit`` is read repeatedly.

    >>> values = np.add.outer([0.0, 1.0], [0.0, 2.0, 4.0])
    >>> result = decompose_variance((2, 3), values.__getitem__)
    >>> result.variance == sum(result.first), [round(v, 6) for v in result.total]
    (True, [0.25, 2.666667])
    """
    dims = len(shape)
    sums = [np.zeros(size) for size in shape]
    counts = [np.zeros(size, dtype=np.int64) for size in shape]
    within = [0.0] * dims
    count, mean, squares, low, high = 0, 0.0, 0.0, math.inf, -math.inf
    shift: float | None = None
    for number, (whole, split) in enumerate(_axis_passes(shape, limit)):
        for place in _blocks(shape, split, limit):
            values = block(place)
            known = ~np.isnan(values)
            size = int(np.count_nonzero(known))
            if not size:
                continue
            values = np.where(known, values, 0.0)
            if shift is None:
                shift = float(values.sum() / size)
            values = np.where(known, values - shift, 0.0)
            for k in whole:
                within[k] += _squares_along(values, known, k)
            if number:
                continue
            low = min(low, float(values.min(where=known, initial=math.inf)))
            high = max(high, float(values.max(where=known, initial=-math.inf)))
            here = float(values.sum()) / size
            rest = np.where(known, values - here, 0.0)
            apart = here - mean
            squares += float((rest * rest).sum()) + apart * apart * count * size / (count + size)
            mean += apart * size / (count + size)
            count += size
            for k in range(dims):
                others = tuple(axis for axis in range(dims) if axis != k)
                sums[k][place[k]] += values.sum(axis=others)
                counts[k][place[k]] += known.sum(axis=others)
    shift = shift or 0.0
    if not count:
        low = high = mean = math.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        means = [s / n for s, n in zip(sums, counts, strict=True)]
    first = [
        float(np.nansum(n * (m - mean) ** 2)) / count if count else math.nan
        for n, m in zip(counts, means, strict=True)
    ]
    return VarianceDecomposition(
        count=count,
        mean=mean + shift,
        variance=squares / count if count else math.nan,
        low=low + shift,
        high=high + shift,
        first=tuple(first),
        total=tuple(w / count if count else math.nan for w in within),
        means=tuple(m + shift for m in means),
        counts=tuple(counts),
    )


def _squares_along(values: Floats, counts: NDArray[np.bool_], axis: int) -> float:
    size = counts.sum(axis=axis, keepdims=True)
    means = values.sum(axis=axis, keepdims=True) / np.maximum(size, 1)
    rest = np.where(counts, values - means, 0.0)
    return float((rest * rest).sum())


def _axis_passes(shape: Sequence[int], limit: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield for each pass the axes that become whole, and the axes that are split."""
    left = list(range(len(shape)))
    first = True
    while left or first:
        split: list[int] = []
        points = math.prod(shape)
        done = [axis for axis in range(len(shape)) if axis not in left]
        for axis in [*done, *left[:-1]]:  # the last remaining axis stays whole
            if points <= limit:
                break
            split.append(axis)
            points = -(-points // shape[axis])
        whole = [axis for axis in left if axis not in split]
        left = [axis for axis in left if axis in split]
        first = False
        yield whole, split


def _blocks(shape: Sequence[int], split: Sequence[int], limit: int) -> Iterator[tuple[slice, ...]]:
    rest = math.prod(size for axis, size in enumerate(shape) if axis not in split)
    steps = dict.fromkeys(split, 1)
    if split:
        steps[split[-1]] = max(1, min(shape[split[-1]], limit // max(rest, 1)))
    place = [slice(0, size) for size in shape]
    for at in np.ndindex(*(-(-shape[axis] // steps[axis]) for axis in split)):
        for axis, number in zip(split, at, strict=True):
            low = number * steps[axis]
            place[axis] = slice(low, min(low + steps[axis], shape[axis]))
        yield tuple(place)
