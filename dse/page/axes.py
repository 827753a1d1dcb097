"""The axes and the values of a study, as the page holds them: long axes thinned, and told so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sweeps.grid.grid import Grid, Leaf

#: Values of an axis, and of all quantities over several axes, that a page holds at most.
_VALUES, _TABLES = 1000, 10_000


Places = np.ndarray[Any, np.dtype[np.int64]]


def plain(value: Any) -> Any:
    """Numbers as JSON has them: what is not finite as text, what is whole without a point.

    >>> plain(np.array([1.0, 0.5, np.inf]))
    [1, 0.5, 'Infinity']
    """
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        listed = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else value
        return [plain(one) for one in listed]
    if isinstance(value, float):
        if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        whole = value.is_integer() and abs(value) < 2**53 and math.copysign(1, value) > 0
        return int(value) if whole else value
    return value


def thinned(grid: Grid) -> dict[str, Places]:
    """Return the places of the values that a page holds, of each axis of a grid."""
    counts = {name: min(axis.size, _VALUES) for name, axis in grid.axes.items()}
    each = [(n, leaf.axes) for known in grid.leaves.values() for n, leaf in known.items()]
    tables = [axes for _, axes in dict.fromkeys(each) if len(axes) > 1 and set(axes) <= set(counts)]
    halved(counts, tables, _TABLES)
    return {name: even(axis.size, counts[name]) for name, axis in grid.axes.items()}


def halved(counts: dict[str, int], tables: Sequence[Sequence[str]], most: int) -> None:
    """Halve the longest axis until tables over some of them hold no more than so many values."""
    names = dict.fromkeys(name for axes in tables for name in axes)
    while sum(math.prod(counts[name] for name in axes) for axes in tables) > most:
        longest = max(names, key=counts.__getitem__)
        if counts[longest] == 1:
            break
        counts[longest] = (counts[longest] + 1) // 2


def even(size: int, count: int) -> Places:
    """So many of the places along an axis, evenly spread."""
    return np.linspace(0, size - 1, count).round().astype(np.int64)


def axes_told(grid: Grid, kept: Mapping[str, Places]) -> list[dict[str, Any]]:
    """Each axis: its name, kind, values or labels, and how many there are in the study."""
    found = []
    for name, places in kept.items():
        axis = grid.axes[name]
        told: dict[str, Any] = {"name": name, "kind": axis.kind, "size": axis.size}
        if axis.labels:
            told["labels"] = [axis.labels[place] for place in places]
        else:
            told["values"] = plain(np.asarray(axis.coordinate, dtype=float)[places])
            told["columns"] = list(axis.columns)
        found.append(told)
    return found


def leaves_told(grid: Grid, kept: Mapping[str, Places]) -> dict[str, Any]:
    """The values of each quantity that is given or computed before: over which axes, and which.

    ``which`` says, where switches choose among several, the one of each of their keys.
    """
    found: dict[str, dict[str, Any]] = {}
    for place, leaves in enumerate(grid.leaves.values()):
        for name, leaf in leaves.items():
            if leaf.array.dtype.kind == "O" or not set(leaf.axes) <= set(grid.axes):
                continue
            one = _told(leaf, kept)
            known = found.setdefault(name, {"which": [0] * len(grid.leaves), "variants": []})
            if one not in known["variants"]:
                known["variants"].append(one)
            known["which"][place] = known["variants"].index(one)
    for told in found.values():
        if len(told["variants"]) == 1:
            del told["which"]
    return found


def _told(leaf: Leaf, kept: Mapping[str, Places]) -> dict[str, Any]:
    index = np.ix_(*(kept[name] for name in leaf.axes)) if leaf.axes else ()
    values = np.asarray(np.asarray(leaf.array, dtype=float)[index])
    told = {"axes": list(leaf.axes), "values": plain(values)}
    if leaf.switched:
        told["switched"] = list(leaf.switched)
    return told
