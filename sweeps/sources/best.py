"""The best, or the front, of a grid: by a scan, with a proof, or by whichever is quicker."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stochastic import sizes
from sweeps.ask.ask import Ask
from sweeps.ask.optimum import optimum, pareto
from sweeps.bounds.expanding import expanded, waiting
from sweeps.grid.goals import dims_of, objective_node
from sweeps.grid.grid import Grid
from sweeps.runtime.stopping import stopped, time_limited
from sweeps.sources.grids import GridScan
from sweeps.sources.proof import front_proof, proof_of
from symbolic.errors import OutOfTimeError

if TYPE_CHECKING:
    import xarray as xr

#: Up to so many points a scan takes no longer than a proof; up to so many it is what remains where
#: no proof is found in the time of a scan, at so many points a second.
SCANNED, SCANNABLE, SCANNED_A_SECOND = sizes.SCANNED, sizes.SCANNABLE, 1e9


def grid_optimum(grid: Grid, ask: Ask) -> xr.Dataset:
    """The best configurations of a grid; the attribute ``method`` says how they were found.

    ``"auto"`` scans small grids, for several ranks larger ones, too. Otherwise it looks for a
    proof, and scans where none is found in the time that a scan takes, if that is reasonable.
    """
    if ask.method == "certified" or (ask.method == "auto" and ask.limited):
        return optimum(proof_of(grid, ask), ask)
    points = math.prod(grid.shape({*dims_of(grid, ask.goals), *ask.per}))
    if ask.method == "auto" and points > SCANNED and _waiting(grid, ask):
        return optimum(GridScan(grid=grid), ask)
    if ask.method == "auto" and points > SCANNABLE:
        return optimum(proof_of(grid, ask), ask)
    if ask.method == "auto" and ask.top == 1 and points > SCANNED:
        bounded = replace(ask, time_limit=points / SCANNED_A_SECOND)
        try:
            with time_limited(bounded.time_limit):
                found = optimum(proof_of(grid, bounded), bounded)
        except OutOfTimeError:
            if stopped():
                raise
            return optimum(GridScan(grid=grid), ask)
        gaps = found.attrs["gap"] if len(ask.goals) > 1 else [found.attrs["gap"]]
        if stopped() or (not any(gaps) and found.attrs["settled"]):
            return found
    return optimum(GridScan(grid=grid), ask)


def _waiting(grid: Grid, ask: Ask) -> bool:
    """Whether a statistic stands in the way of a proof."""
    whole = expanded(grid)
    each = ({k: objective_node(whole, k, goal) for k in whole.graphs} for goal in ask.goals)
    return any(waiting(whole, roots) for roots in each)


def grid_pareto(grid: Grid, ask: Ask) -> xr.Dataset:
    """The front of a grid; ``"auto"`` scans what a scan can pass over."""
    method = ask.method
    if method == "auto":
        points = math.prod(grid.shape(dims_of(grid, ask.goals)))
        method = "certified" if ask.limited or points > SCANNABLE else "scan"
    if method == "scan":
        return pareto(GridScan(grid=grid), ask.goals, ask.per)
    return pareto(front_proof(grid, ask), ask.goals, ask.per)


def best_of(source: Any, ask: Ask) -> xr.Dataset:
    """The best configurations of any source: of a grid as ``method`` says."""
    return grid_optimum(source.grid, ask) if isinstance(source, GridScan) else optimum(source, ask)


def front_of(source: Any, ask: Ask) -> xr.Dataset:
    """The front of any source: of a grid as ``method`` says."""
    if isinstance(source, GridScan):
        return grid_pareto(source.grid, ask)
    return pareto(source, ask.goals, ask.per)
