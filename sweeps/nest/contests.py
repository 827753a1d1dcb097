"""Who is best in each draw, in machine code: rows are configurations, columns are draws."""

from __future__ import annotations

import math

import numpy as np

from stochastic.kept import compiled


@compiled(_nrt=False)
def winning(values, best, kept):
    """The rows that are as good as the best so far in some column, which becomes better by them.

    Their places stand first in ``kept``; how many they are is returned.
    """
    count = 0
    for i in range(values.shape[0]):
        row = values[i]
        hits = 0
        for j in range(row.size):
            hits += 1 if (row[j] <= best[j]) & (row[j] < np.inf) else 0
        if hits:
            kept[count] = i
            count += 1
            for j in range(row.size):
                best[j] = row[j] if row[j] < best[j] else best[j]
    return count


@compiled(_nrt=False)
def summed(values, weights, cells, sums) -> None:
    """The weighted sums of each row over cells of columns.

    ``cells`` of shape (partitions, columns) tells in which cell each column lies; ``sums``, of
    shape (rows, cells), is filled. A row that is not finite everywhere in a cell is not there.
    """
    sums[:] = 0.0
    for i in range(values.shape[0]):
        row, own = values[i], sums[i]
        for p in range(cells.shape[0]):
            for j in range(row.size):
                own[cells[p, j]] += weights[j] * row[j]


@compiled(_nrt=False)
def tallied(values, best, second, ties) -> None:
    """Keep the least of each column and the one after it, and how many rows have the least."""
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
def shared(values, best, second, ties, weights, won, lost, about) -> None:
    """Of each row what it wins, ties in equal shares, and by how much it misses the best.

    Both are weighted sums over the columns in which something is best, apart for each of as many
    equal parts of the columns as ``won`` and ``lost``, of shape (rows, parts), have. ``about``
    holds for each row in how many columns it is best, in how many another is better, and how far
    it is from the best other on the whole (root mean square).
    """
    parts = won.shape[1]
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
            won[i, part], lost[i, part] = gain, loss
        about[i, 0], about[i, 1] = wins, losses
        about[i, 2] = math.sqrt(apart / total) if total > 0 else 0.0
