"""Find the smallest values of an array, the Pareto front, and the best rows in each draw."""

import math
from bisect import bisect_right
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from stochastic.compile_cache import compiled

_ARCHIVE = sizes.REDUCE_ARCHIVE
_SAMPLE = sizes.REDUCE_SAMPLE
_BATCH_POINTS = sizes.REDUCE_TOGETHER


def smallest_indices(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the indices of the ``count`` smallest finite values, from the smallest upwards.

    >>> smallest_indices(np.array([3.0, 1.0, np.inf, 1.0]), 3).tolist()
    [1, 3, 0]
    """
    if count == 1:
        best = int(np.argmin(values)) if values.size else 0
        result = np.array([best] if values.size else [], dtype=np.int64)
    elif count >= values.size:
        result = np.argsort(values, kind="stable")
    else:
        limit = np.partition(values, count - 1)[count - 1]
        below = np.flatnonzero(values < limit)
        ties = np.flatnonzero(values == limit)[: count - below.size]
        both = np.concatenate([below, ties])
        result = both[np.lexsort((both, values[both]))]
    return result[values[result] < np.inf].astype(np.int64)


def non_dominated_by(
    values: NDArray[np.float64], strong: NDArray[np.float64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the indices of the points (columns of ``values``) that no strong point dominates.

    Points that equal a strong point with a lower index are left out too. ``places`` are the indices
    of the strong points, where -1 is below all other indices. The values of strong points must be
    finite.
    """
    result = np.empty(values.shape[1], dtype=np.int64)
    strong, places = np.ascontiguousarray(strong), places.astype(np.int64)
    count = _fill_non_dominated(np.ascontiguousarray(values), strong, places, result)
    return result[:count]


@compiled(_nrt=False)
def _fill_non_dominated(values, strong, places, indices):
    count = 0
    objectives, points = values.shape
    for i in range(points):
        beaten = False
        for a in range(places.size):
            no_worse = True
            better = places[a] < i
            for k in range(objectives):
                if strong[k, a] > values[k, i]:
                    no_worse = False
                    break
                if strong[k, a] < values[k, i]:
                    better = True
            if no_worse and better:
                beaten = True
                break
        if not beaten:
            indices[count] = i
            count += 1
    return count


def _strong_points(values: NDArray[np.float64], step: int) -> NDArray[np.int64]:
    """Return the indices of points that probably dominate many; try each ``step``-th point."""
    part = values[:, ::step]
    low = part.min(axis=1, keepdims=True)
    spread = part.max(axis=1, keepdims=True) - low
    scaled = (part - low) / np.where(spread > 0, spread, 1.0)
    mixed = max(_ARCHIVE - len(part), 0)  # number of random weights, besides one per objective
    weights = np.random.default_rng(0).dirichlet(np.ones(len(part)), mixed)
    weights = np.concatenate([np.eye(len(part)), weights])
    return np.unique([int(np.argmin(weight @ scaled)) for weight in weights]) * step


def non_dominated_in_order(
    values: NDArray[np.float64], check_interrupt: Callable[[], object] = bool
) -> NDArray[np.int64]:
    """Return the indices of the points that no earlier point dominates or equals.

    No point may be dominated by a later point. ``check_interrupt`` is called from time to time.
    """
    front, result = np.empty((len(values), 0)), [np.empty(0, dtype=np.int64)]
    for start in range(0, values.shape[1], _BATCH_POINTS):
        check_interrupt()
        part = values[:, start : start + _BATCH_POINTS]
        left = non_dominated_by(part, front, np.full(front.shape[1], -1))
        left = left[non_dominated_by(part[:, left], part[:, left], np.arange(left.size))]
        front = np.concatenate([front, part[:, left]], axis=1)
        result.append(start + left)
    return np.concatenate(result)


#: Bound on the relative difference between results of a compiled nest and of NumPy.
RELATIVE_ERROR = 1e-12


def lower_by_share(values: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Return, for each value v, a lower bound u with v <= u + epsilon * abs(u).

    So v is worse than u by at most the share ``epsilon``. This also holds for negative values, and
    if v has a relative error of RELATIVE_ERROR.

    >>> lower_by_share(np.array([101.0, -100.0, 0.0]), 0.01).round(6).tolist()
    [100.0, -100.990099, 0.0]
    """
    share = epsilon / (1.0 + epsilon) - RELATIVE_ERROR
    return values - share * np.abs(values) if share > 0 else values


def covering_indices(values: NDArray[np.float64], epsilon: float) -> NDArray[np.int64]:
    """Return the indices of points (columns) that cover all points, chosen greedily in order.

    A point covers each point that is better by at most the share ``epsilon`` in each objective.

    >>> covering_indices(np.array([[1.0, 1.005, 2.0], [3.0, 2.98, 1.0]]), 0.01).tolist()
    [0, 2]
    """
    result, rest = np.empty(0, dtype=np.int64), np.arange(values.shape[1])
    while rest.size:
        result = np.append(result, rest[0])
        judge = lower_by_share(values[:, rest[:1]], epsilon)
        rest = rest[~np.all(judge <= values[:, rest], axis=0)]
    return result


def rounding_share(epsilon: float) -> float:
    """Return a share within which to round objectives, for a cover within ``epsilon``.

    It is a power of two, at most a quarter of ``epsilon``; or 0 if it were too small to help.
    """
    share = 2.0 ** math.floor(math.log2(min(epsilon, 4.0) / 4.0)) if epsilon else 0.0
    return share if share > 1000 * RELATIVE_ERROR else 0.0


def round_to_cells(values: NDArray[np.float64], share: float) -> NDArray[np.int64]:
    """Round values down, in place, by at most ``share``; return the indices of the best points.

    Points (columns) with the same rounded objectives except the last are in a cell. In each cell,
    the first point with the least last objective is best. A point with an infinite objective is in
    no cell. If q is at most p after rounding, q is at most p + ``share`` * abs(p).

    >>> values = np.array([[1.0, 1.1, 2.0], [5.0, 3.0, 4.0]])
    >>> round_to_cells(values, 0.5).tolist(), values.tolist()
    ([1, 2], [[1.0, 1.0, 2.0], [4.0, 3.0, 4.0]])
    """
    if not share:
        return np.arange(values.shape[1])
    slots = np.full(1 << (2 * values.shape[1]).bit_length(), -1, dtype=np.int32)
    result = np.empty(values.shape[1], dtype=np.int64)
    mask = int(share * 2.0**52) - 1  # the bits of the mantissa that are below the share
    count = _fill_best_of_cells(values, values.view(np.int64), mask, slots, result)
    return np.sort(result[:count])


@compiled(_nrt=False)
def _fill_best_of_cells(values, bits, mask, slots, indices):
    objectives, points = values.shape
    count, slot, before = 0, 0, -1
    for i in range(points):
        is_finite, is_same = True, before >= 0  # neighbours are often in the same cell
        for k in range(objectives):
            number = bits[k, i]
            if number & 0x7FF0000000000000:  # subnormal numbers and zero stay as they are
                bits[k, i] = number | mask if number < 0 else number & ~mask
            is_finite = is_finite and -np.inf < values[k, i] < np.inf
            is_same = is_same and (k == objectives - 1 or bits[k, i] == bits[k, before])
        if not is_finite:
            continue
        if not is_same:
            slot = 0
            for k in range(objectives - 1):
                slot = (slot ^ (bits[k, i] >> 20)) * 0x9E3779B97F4A7C1
                slot ^= slot >> 32
            slot &= slots.size - 1
            while slots[slot] >= 0 and not is_same:
                is_same = True
                for k in range(objectives - 1):
                    is_same = is_same and bits[k, i] == bits[k, indices[slots[slot]]]
                slot = slot if is_same else (slot + 1) & (slots.size - 1)
        before = i
        if slots[slot] < 0:
            slots[slot] = count
            indices[count] = i
            count += 1
        elif values[objectives - 1, i] < values[objectives - 1, indices[slots[slot]]]:
            indices[slots[slot]] = i
    return count


def hypervolume(values: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
    """Return the volume between points (columns, two or three objectives) and a reference point.

    It is the volume of all vectors that a point dominates and that dominate the reference. The
    points are visited by their last objective. ``xs`` and ``ys`` are the corners of the area that
    the visited points dominate in the plane of the other two (Beume et al. 2009).

    >>> hypervolume(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 4.0]))
    5.0
    """
    inside = values[:, np.all(values < reference[:, None], axis=0)]
    if len(values) == 2:
        inside, reference = np.pad(inside, ((0, 1), (0, 0))), np.append(reference, 1.0)
    right, top, end = reference.tolist()
    xs, ys, area, volume, last = [-math.inf, right], [top, -math.inf], 0.0, 0.0, end
    for x, y, z in inside[:, np.argsort(inside[2], kind="stable")].T.tolist():
        volume += area * (z - last)
        last = z
        stop = bisect_right(xs, x)
        height, left = ys[stop - 1], x
        if height <= y:
            continue
        start = stop - (xs[stop - 1] == x)
        while ys[stop] >= y:
            area += (xs[stop] - left) * (height - y)
            left, height = xs[stop], ys[stop]
            stop += 1
        area += (xs[stop] - left) * (height - y)
        xs[start:stop], ys[start:stop] = [x], [y]
    return volume + area * (end - last)


def pareto_indices(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices of the non-dominated points, ascending; all objectives are minimized.

    ``values`` has shape (objectives, points). Points with NaN or infinity are ignored. Of equal
    points only the first is returned.

    >>> pareto_indices(np.array([[1.0, 2.0, 3.0, 1.0], [3.0, 2.0, 2.5, 3.0]])).tolist()
    [0, 1]
    """
    finite = np.flatnonzero(np.all(np.isfinite(values), axis=0))
    if finite.size < values.shape[1]:
        values = np.ascontiguousarray(values[:, finite])
    if not finite.size:
        return finite.astype(np.int64)
    rest = np.arange(finite.size)
    for sample in (_SAMPLE, finite.size):  # the strong points of a sample remove most points
        if rest.size > max(4 * _ARCHIVE, sample if sample == _SAMPLE else 0):
            part = values[:, rest]
            places = _strong_points(part, -(-rest.size // sample))
            rest = rest[non_dominated_by(part, part[:, places], places)]
    chosen = values[:, rest]
    order = np.lexsort((rest, *chosen[::-1]))
    if len(values) == 2:
        second = chosen[1, order]
        best_before = np.concatenate([[np.inf], np.minimum.accumulate(second)[:-1]])
        order = order[second < best_before]
    else:
        order = order[non_dominated_in_order(chosen[:, order])]
    return np.sort(finite[rest[order]]).astype(np.int64)


# --- The best configuration in each draw: rows are configurations, columns are draws


@compiled(_nrt=False)
def update_winners(values, best, winner_rows):
    """Update each column's minimum; store and count the rows that reach or lower a minimum."""
    count = 0
    for i in range(values.shape[0]):
        row = values[i]
        hits = 0
        for j in range(row.size):
            hits += 1 if (row[j] <= best[j]) & (row[j] < np.inf) else 0
        if hits:
            winner_rows[count] = i
            count += 1
            for j in range(row.size):
                best[j] = row[j] if row[j] < best[j] else best[j]
    return count


@compiled(_nrt=False)
def sum_cells(values, weights, cells, sums) -> None:
    """Fill ``sums`` (rows, cells) with the weighted sum of each row over each cell of columns.

    ``cells`` has the shape (partitions, columns). In each partition, a column lies in one cell.
    """
    sums[:] = 0.0
    for i in range(values.shape[0]):
        row, row_sums = values[i], sums[i]
        for p in range(cells.shape[0]):
            for j in range(row.size):
                row_sums[cells[p, j]] += weights[j] * row[j]


@compiled(_nrt=False)
def update_two_best(values, best, second, ties) -> None:
    """Update each column's two smallest values, and the number of rows that have the smallest."""
    for i in range(values.shape[0]):
        row = values[i]
        for j in range(row.size):
            if row[j] < best[j]:
                best[j], second[j] = row[j], best[j]
                ties[j] = 1
            elif row[j] == best[j]:
                ties[j] += 1
                second[j] = row[j]
            elif row[j] < second[j]:
                second[j] = row[j]


@compiled(_nrt=False)
def share_wins_and_regret(
    values, best, second, ties, weights, win_shares, regrets, counts_and_distance
) -> None:
    """Compute each row's regret, and the share of columns that it wins (ties share a column).

    Regrets and shares are weighted sums over the columns with a finite best value. The columns are
    divided into equal groups: ``win_shares`` and ``regrets``, of shape (rows, groups), have a sum
    per group. ``counts_and_distance`` has three values for each row: the number of columns where
    the row is best, the number where another row is better, and the root mean square distance to
    the best other row.
    """
    parts = win_shares.shape[1]
    size = values.shape[1] // parts
    for i in range(values.shape[0]):
        wins, losses, total, apart = 0, 0, 0.0, 0.0
        for part in range(parts):
            gain, loss = 0.0, 0.0
            for j in range(part * size, (part + 1) * size):
                if best[j] < np.inf and weights[j] > 0:
                    value = values[i, j]
                    wins += 1 if value == best[j] else 0
                    losses += 1 if value > best[j] else 0
                    gain += weights[j] / ties[j] if value == best[j] else 0.0
                    loss += weights[j] * (value - best[j])
                    step = value - (second[j] if value == best[j] else best[j])
                    if -np.inf < step < np.inf:
                        total += weights[j]
                        apart += weights[j] * step * step
            win_shares[i, part], regrets[i, part] = gain, loss
        counts_and_distance[i, 0], counts_and_distance[i, 1] = wins, losses
        counts_and_distance[i, 2] = math.sqrt(apart / total) if total > 0 else 0.0
