"""How many configurations are feasible: conditions over different axes are counted apart.

A condition lies over its own axes. Conditions that share none, each on its own or joined by "and",
are met independently: the feasible points of the grid are the product of what each group of them
leaves, times the values of the axes on which none depends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.bounds.check import check
from sweeps.grid.at import part_of
from sweeps.grid.awaited import portions
from sweeps.grid.dataset import assemble
from sweeps.grid.grid import FEASIBLE, Grid
from sweeps.nest.passes import Skipped, over_points
from sweeps.scan.values import Table, conditions_of, pieces
from symbolic.node import conjuncts
from symbolic.ops import Node, both, constant, interpret_arrays, reference, references

if TYPE_CHECKING:
    import xarray as xr


def grid_count(grid: Grid) -> xr.Dataset:
    """The number of feasible points of a grid, and of all.

    The attributes say under which conditions, and how much was left out: ``points_skipped`` counts
    points of those tiles of which bounds tell that none, or every one, is feasible.
    """
    check(grid, possible=False)
    skipped, total = Skipped(), 0
    dims = grid.dims(FEASIBLE)
    plain = {axis: grid.axes[axis].size for axis in grid.plain(grid.axes)}
    for _, key in grid.keys(dims):
        graph = grid.graphs[key]
        conditions = [graph.flat_condition(condition) for condition in graph.conditions]
        known = [(node, grid.node_dims(node, key) & set(plain)) for node in conjuncts(conditions)]

        def count(node: Node, own: Sequence[str], key: tuple[str, ...] = key) -> int:
            return _count(grid, key, node, own, skipped)

        total += product_of(known, plain, count)
    others = [axis for axis in grid.switch_axes if axis not in dims]
    total *= math.prod(grid.shape(others))
    texts = [condition.text for condition in grid.conditions]
    return told(total, grid.points, texts, skipped.attributes())


def dataset_count(ds: xr.Dataset, where: Sequence[str] = ()) -> xr.Dataset:
    """As :func:`grid_count`, of a Dataset: what it marks as feasible, and ``where`` allows."""
    table = Table(ds, where)
    ds = table.ds
    nodes = conjuncts([*table.conditions, *([reference(FEASIBLE) > 0] if FEASIBLE in ds else [])])
    known = [(n, {str(d) for name in references(n) for d in ds[name].dims}) for n in nodes]

    def count(node: Node, own: Sequence[str]) -> int:
        total = 0
        names = references(node)
        for part in pieces(ds[list(names)], own):
            arrays = {name: Table(part, ()).over(name, own) for name in names}
            total += int(np.count_nonzero(interpret_arrays((node,), arrays)[0]))
        return total

    total = product_of(known, table.axes, count)
    points = math.prod(table.axes.values())
    return told(total, points, conditions_of(ds, where), Skipped().attributes())


def product_of(
    conditions: Sequence[tuple[Node, set[str]]],
    sizes: Mapping[str, int],
    count: Callable[[Node, Sequence[str]], int],
) -> int:
    """The points that meet all conditions, those that share no axes counted apart."""
    groups: list[tuple[list[Node], set[str]]] = []
    for node, axes in conditions:
        meets = [group for group in groups if not group[1].isdisjoint(axes)]
        groups = [group for group in groups if group[1].isdisjoint(axes)]
        nodes = [n for group in meets for n in group[0]]
        groups.append(([*nodes, node], axes.union(*(group[1] for group in meets))))
    total = math.prod(n for axis, n in sizes.items() if not any(axis in g[1] for g in groups))
    for nodes, axes in groups:
        if total:
            total *= count(constant(both(*nodes)), [axis for axis in sizes if axis in axes])
    return total


def _count(
    grid: Grid, key: tuple[str, ...], node: Node, dims: Sequence[str], skipped: Skipped
) -> int:
    """The points of some switch-free axes where a condition holds."""
    certain = 0

    def keep(known: list[Any], points: NDArray[np.int64]) -> NDArray[np.bool_]:
        nonlocal certain
        certain += int(points[np.asarray(known[0].certain, dtype=bool)].sum())
        return np.asarray(known[0].possible & ~known[0].certain, dtype=bool)

    def feed(found: list[int], _: Any, holds: NDArray[np.bool_], __: int) -> None:
        found.append(int(np.count_nonzero(holds)))

    found = 0
    for cut in portions(grid, {key: [node]}):
        part = part_of(grid, cut)
        counts = over_points(part, key, dims, (), node, list[int], feed, keep, skipped)
        found += sum(map(sum, counts))
    return found + certain


def told(
    feasible: int, points: int, conditions: Sequence[str], skipped: Mapping[str, int]
) -> xr.Dataset:
    """The answer: how many points are feasible, of how many, under which conditions."""
    variables = {
        "feasible_points": ((), np.int64(feasible), {"long_name": "feasible configurations"}),
        "points": ((), np.int64(points), {"long_name": "configurations in all"}),
    }
    attributes = {"question": "count", "conditions": "; ".join(conditions), **skipped}
    return assemble(variables, {}, attributes)
