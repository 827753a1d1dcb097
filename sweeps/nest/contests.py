"""Who is best in each draw, in machine code: rows are configurations, columns are draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from stochastic.kept import compiled

__all__ = ["leading", "shared", "tallied", "winning"]


@compiled
def winning(values: Any, best: Any, kept: Any) -> Any:
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


@compiled
def leading(values: Any, weights: Any, cells: Any, best: Any, sums: Any, kept: Any) -> Any:
    """As :func:`winning`, of the weighted sums over cells of columns.

    ``cells`` of shape (partitions, columns) tells in which cell each column lies; ``sums``, of as
    many numbers as there are cells, is room. A row that is not finite everywhere in a cell is not
    best there.
    """
    count = 0
    for i in range(values.shape[0]):
        row = values[i]
        sums[:] = 0.0
        for p in range(cells.shape[0]):
            for j in range(row.size):
                sums[cells[p, j]] += weights[j] * row[j]
        hits = 0
        for c in range(sums.size):
            hits += 1 if (sums[c] <= best[c]) & (sums[c] < np.inf) else 0
        if hits:
            kept[count] = i
            count += 1
            for c in range(sums.size):
                best[c] = sums[c] if sums[c] < best[c] else best[c]
    return count


@compiled
def tallied(values: Any, best: Any, ties: Any) -> None:
    """Keep the least of each column, and how many rows have it."""
    for i in range(values.shape[0]):
        row = values[i]
        for j in range(row.size):
            if row[j] < best[j]:
                best[j] = row[j]
                ties[j] = 1
            elif row[j] == best[j]:
                ties[j] += 1


@compiled
def shared(values: Any, best: Any, ties: Any, weights: Any, won: Any, lost: Any) -> None:
    """Of each row what it wins, ties in equal shares, and by how much it misses the best.

    Both are weighted sums over the columns in which something is best, apart for each of as many
    equal parts of the columns as ``won`` and ``lost``, of shape (rows, parts), have.
    """
    parts = won.shape[1]
    size = values.shape[1] // parts
    for i in range(values.shape[0]):
        for part in range(parts):
            gain, loss = 0.0, 0.0
            for j in range(part * size, (part + 1) * size):
                if best[j] < np.inf and weights[j] > 0:
                    value = values[i, j]
                    gain += weights[j] / ties[j] if value == best[j] else 0.0
                    loss += weights[j] * (value - best[j])
            won[i, part], lost[i, part] = gain, loss
