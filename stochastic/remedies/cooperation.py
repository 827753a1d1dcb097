"""Lanes that cooperate on one item: less imbalance, against the cost of cooperation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.aliases import old_names
from stochastic.arrays import Floats, Ints
from stochastic.checks import check_choice, check_integer
from stochastic.errors import LawError
from stochastic.labels import DatasetParts, make_dataset, variable
from stochastic.loss.moments import finite_law, mean_loss, slowdown
from stochastic.work.correlated_lanes import check_repeat_probability

if TYPE_CHECKING:
    import xarray as xr

    from stochastic.work.pmf import Pmf

Overhead = float | Callable[[int], float] | Mapping[int, float] | Sequence[float]


@old_names(alike="correlation")
def granularity(
    pmf: Pmf,
    group: int = 32,
    overhead: Overhead = 0.0,
    *,
    objective: str = "loss",
    correlation: float = 0.0,
    tol: float = 1e-9,
) -> xr.Dataset:
    """Compare the loss of ``group`` lanes when several work on one item with what that costs.

    A group of 32 lanes takes n items, 32 / n lanes each. Fewer items lose less to imbalance, while
    each takes more work in all: relative to one lane without any waiting an item costs

    .. math:: \\mathrm{loss}(n) \\cdot \\mathrm{overhead}(\\mathrm{group} / n).

    Parameters
    ----------
    pmf, tol
        As in :func:`stochastic.imbalance`.
    group : int
        Lanes in lockstep; each of its divisors is a possible number of items.
    overhead : number, callable, mapping or sequence
        Cost of an item that c lanes share, relative to one lane. A number is the share that each
        further lane adds, 1 + overhead·(c - 1); a callable takes c; a mapping has the factor of
        each c; a sequence has the factors of c = 1 up to c = group, for divisors alone.
    objective : {"loss", "slowdown"}
        The factor of the cost: the mean loss of a group, or the ratio of means E[max] / E[W] that a
        whole workload pays.
    correlation : float
        Probability that a lane repeats its neighbour's work (:func:`stochastic.stickiness`).
    Returns
    -------
    Dataset
        ``loss``, ``slowdown``, ``overhead`` and ``cost`` along ``lanes``, the number of items in
        lockstep, with the coordinate ``lanes_per_item``; the cheapest, ``best_lanes``, with its
        ``best_cost``. Ties go to the most items, so the least cooperation.

    Raises
    ------
    LawError
        The group is no whole number of 1 or more, or overheads are missing, not positive or not
        finite.

    Notes
    -----
    The granularity of Swatman 2022, §II-B and §III-B: the same law, another number of lanes.

    >>> from stochastic import Pmf
    >>> result = granularity(Pmf.geometric(0.05), overhead=0.15)
    >>> result["lanes"].values.tolist(), int(result["best_lanes"])
    ([1, 2, 4, 8, 16, 32], 16)
    """
    return make_dataset(*granularity_parts(pmf, group, overhead, objective, correlation, tol))


def granularity_parts(
    pmf: Pmf,
    group: int,
    overhead: Overhead,
    objective: str = "loss",
    correlation: float = 0.0,
    tol: float = 1e-9,
) -> DatasetParts:
    """Return variables, coordinates and attributes of :func:`granularity`."""
    group = check_integer("group", group, least=1, example=32)
    check_choice("objective", objective, ("loss", "slowdown"))
    rho = check_repeat_probability(correlation)
    work = finite_law(pmf, group, tol)
    small = [n for n in range(1, math.isqrt(group) + 1) if group % n == 0]
    lanes = np.array(sorted({*small, *(group // n for n in small)}))
    each = group // lanes
    factors = _overhead_factors(overhead, each)
    loss = np.array([mean_loss(work.low, work.weights, n, rho) for n in lanes.tolist()])
    ratio = np.array([slowdown(work.low, work.weights, n, rho) for n in lanes.tolist()])
    cost = (loss if objective == "loss" else ratio) * factors
    best = len(cost) - 1 - int(np.argmin(cost[::-1]))
    variables = {
        "loss": variable("lanes", loss, "mean loss of a group"),
        "slowdown": variable("lanes", ratio, "slowdown of the whole workload, E[max] / E[W]"),
        "overhead": variable("lanes", factors, "cost of an item shared by its lanes, to one lane"),
        "cost": variable("lanes", cost, f"{objective} times overhead"),
        "best_lanes": variable((), lanes[best], "items in lockstep at the lowest cost"),
        "best_cost": variable((), cost[best], "lowest cost"),
    }
    coords = {
        "lanes": variable("lanes", lanes, "items in lockstep"),
        "lanes_per_item": variable("lanes", each, "lanes that work on one item"),
    }
    attrs = {
        "work": repr(pmf),
        "group": group,
        "objective": objective,
        "missing": work.missing,
        "source": "Swatman et al., MASCOTS 2022, sections II-B and III-B",
    }
    return variables, coords, attrs


def _overhead_factors(overhead: Any, lanes_per_item: Ints) -> Floats:
    """Return the factor of each number of lanes on an item, which descend."""
    sharing = lanes_per_item.tolist()
    known = ", ".join(map(str, reversed(sharing)))
    if callable(overhead):
        given = [overhead(c) for c in sharing]
    elif isinstance(overhead, Mapping):
        absent = [c for c in sharing if c not in overhead]
        if absent:
            raise LawError(f"overhead has no factor for {absent} lanes on an item; give {known}")
        given = [overhead[c] for c in sharing]
    elif isinstance(overhead, str) or np.ndim(overhead) == 0:
        try:
            given = [1.0 + float(overhead) * (c - 1) for c in sharing]
        except (TypeError, ValueError):
            raise LawError(
                f"overhead = {overhead!r}: expected a number, a function of the lanes on an item, "
                f"a mapping, or a factor for each of {known}"
            ) from None
    else:
        given = list(overhead)[::-1]
        if len(given) != len(sharing):
            raise LawError(f"overhead has {len(given)} factors; expected one for each of {known}")
    try:
        factors = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise LawError(f"overhead {given!r}: expected a factor for each of {known}") from None
    if factors.shape != lanes_per_item.shape or not np.all(np.isfinite(factors) & (factors > 0)):
        raise LawError(
            f"overhead {given!r}: expected finite factors above 0 for {known} lanes on an item; "
            "1.0 is an item that costs what one lane would take"
        )
    return factors
