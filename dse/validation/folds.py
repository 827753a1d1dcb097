"""Which rows are left out together, and in which spaces a configuration is chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.fitting.columns import Table
from symbolic.errors import DseError

Places = NDArray[np.int64]
#: The rows that are predicted together, and those that are known then.
Folds = Sequence[tuple[Places, Places]]


def keys_of(table: Table, columns: Sequence[str], places: Places) -> list[str]:
    """What some columns say together, for each row."""
    arrays = [np.asarray(table.columns[table.find(name)[0]])[places] for name in columns]
    return [", ".join(map(str, row)) for row in zip(*(a.tolist() for a in arrays), strict=True)]


def groups_of(keys: Sequence[str]) -> dict[str, Places]:
    """The rows of each key, in the order in which keys come."""
    found: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return {key: np.array(rows, dtype=np.int64) for key, rows in found.items()}


def deal(keys: Sequence[str], folds: int, seed: int = 0) -> list[Places]:
    """Rows to leave out together: all of a key at once, several keys where there are many.

    >>> [fold.tolist() for fold in deal(["a", "b", "a", "c"], 3)]
    [[0, 2], [1], [3]]
    """
    groups = list(groups_of(keys).values())
    if len(groups) < 2:
        raise DseError(
            f"all rows are of {keys[0]!r}: nothing is learnt where they are left out; name a "
            "column with two labels or more"
        )
    if len(groups) <= folds:
        return groups
    order = np.random.default_rng(seed).permutation(len(groups))
    return [np.sort(np.concatenate([groups[k] for k in order[n::folds]])) for n in range(folds)]


def subspaces(spaces: Sequence[Places], many: int, size: int, seed: int = 0) -> list[Places]:
    """Random parts of each space, drawn without replacement; a smaller space is taken whole."""
    rng = np.random.default_rng(seed)
    return [np.sort(rng.permutation(rows)[:size]) for rows in spaces for _ in range(many)]
