"""Weigh the cost of lanes that cooperate on one item against the imbalance that this avoids."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.aliases import old_names
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError, check_choice, check_integer
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
    """Choose the number of lanes that work on one item, from their overhead and the loss.

    A group of 32 lanes works on n items, with 32 / n lanes on each. The fewer items, the smaller is
    the loss by imbalance, but cooperation adds overhead to each item. Relative to one lane that
    never waits, the cost of an item is

    .. math:: \\mathrm{loss}(n) \\cdot \\mathrm{overhead}(\\mathrm{group} / n).

    Parameters:
        pmf, tol: As in :func:`stochastic.imbalance`.
        group (int): Lanes in lockstep; each of its divisors is a possible number of items.
        overhead (number, callable, mapping or sequence): Total work of the c lanes that share an
            item, divided by the work of one lane alone. If it is a number, the factor is 1 +
            overhead·(c - 1). A callable returns the factor for c; a mapping has the factor of each
            c; a sequence, that of each divisor of ``group``, ascending.
        objective ({"loss", "slowdown"}): The first factor of the cost: the mean loss of a group, or
            the slowdown of the whole workload, E[max] / E[W].
        correlation (float): Probability that a lane repeats its neighbour's work
            (:func:`stochastic.stickiness`).

    Returns:
        Dataset: ``loss``, ``slowdown``, ``overhead`` and ``cost`` along ``lanes``, the number of
        items in lockstep, with the coordinate ``lanes_per_item``. ``best_lanes`` is the number of
        items with the lowest cost, ``best_cost``; of equal costs, the largest number.

    Raises:
        LawError: The group is no whole number >= 1, or overheads are missing, not positive or not
            finite.

    Notes:
        This is the granularity of Swatman 2022, §II-B and §III-B: items have the same law, and the
        number of items in lockstep changes.

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
    """Return the variables, coordinates and attributes of the Dataset of :func:`granularity`."""
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
        "overhead": variable("lanes", factors, "work of an item, relative to that on one lane"),
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
