"""Chosen configurations as indices along every axis, those included along which nothing varies."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.ask.source import Choice
from sweeps.grid.flat_index import unravel
from sweeps.grid.goals import Goal
from sweeps.scan.choosing import spread, trimmed, with_idle_axes
from symbolic.errors import DseError

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Most configurations that are listed as ties, or as near the best.
MOST_LISTED = sizes.LISTED_MOST


def as_good(goal: Goal, least: float, within: float) -> str:
    """What is said of configurations that are as good as some value, or near it."""
    value = f"{goal.sign * least:.6g}"
    if within:
        return f"are within {within:.6g} of the best {goal.text}, {value}"
    return f"are equally good: {goal.text} is {value}"


def limit_of(least: float, within: float) -> float:
    """Return the largest signed objective within a share of the least; always a finite number.

    A point that does not count has an infinite objective, so an infinite limit would admit it.
    """
    if not within:
        return least
    limit = least + within * abs(least)
    if limit == math.inf:  # the product may overflow where the sum does not
        limit = 2.0 * (0.5 * least + within * (0.5 * abs(least)))
    return min(limit, sys.float_info.max)


def check_listed(count: int, what: str, idle: Sequence[str] = (), *, counted: bool = True) -> None:
    """Refuse to list more configurations than can be listed.

    ``idle`` are axes of no influence; without ``counted`` there may be more than ``count``.
    """
    if count > MOST_LISTED:
        along = f"; along {', '.join(idle)} nothing varies" if idle else ""
        raise DseError(
            f"{'' if counted else 'at least '}{count:,} configurations {what}, of which "
            f"{MOST_LISTED:,} can be listed: fix some axes by constraints, ask for a smaller "
            f"share, or for the first of them by top{along}"
        )


def placed(
    flat: Indices,
    scores: Floats,
    rest: Sequence[str],
    per: Sequence[str],
    sizes: Mapping[str, int],
) -> Choice:
    """Winners by their flat indices over some axes, shape (*per, top), as a choice."""
    flat, scores, rest = with_idle_axes(flat, scores, rest, per, sizes)
    flat = trimmed(flat, per)
    scores = np.where(flat < 0, math.inf, scores[..., : flat.shape[-1]])
    return Choice(places=spread(flat, rest, per, sizes), scores=scores)


def listed(
    flat: Indices,
    scores: Floats,
    dims: Sequence[str],
    sizes: Mapping[str, int],
    what: str,
) -> Choice:
    """All configurations with flat indices over some axes, the best first."""
    idle = [axis for axis in sizes if axis not in dims]
    count = flat.size * math.prod(sizes[axis] for axis in idle)
    check_listed(count, what, idle)
    split = unravel(flat, [sizes[axis] for axis in dims])
    return everywhere(dict(zip(dims, split, strict=True)), scores, sizes)


def everywhere(index: Mapping[str, Indices], scores: Floats, sizes: Mapping[str, int]) -> Choice:
    """Configurations, given along some axes, at every value of the others: the best first."""
    idle = [axis for axis in sizes if axis not in index]
    copies = math.prod(sizes[axis] for axis in idle)
    places = {axis: np.repeat(each, copies) for axis, each in index.items()}
    whole = np.indices([sizes[axis] for axis in idle]).reshape(len(idle), copies)
    places |= {axis: np.tile(row, scores.size) for axis, row in zip(idle, whole, strict=True)}
    scores = np.repeat(scores, copies)
    order = np.lexsort([*(places[axis] for axis in reversed(tuple(sizes))), scores])
    return Choice(
        places={axis: places[axis][order].astype(np.int64) for axis in sizes}, scores=scores[order]
    )


def first_of(parts: Sequence[Choice], top: int | None = None) -> Choice:
    """The best of several choices over the same axes, ties in their order; all where no ``top``."""
    every = Choice.joined(parts)
    order = np.lexsort([*reversed(list(every.places.values())), every.scores], axis=-1)[..., :top]
    found = np.take_along_axis(every.scores, order, axis=-1)
    ranks = max(int(np.count_nonzero(found < math.inf, axis=-1).max(initial=0)), 1)
    order = order[..., :ranks]
    return Choice(
        places={a: np.take_along_axis(index, order, axis=-1) for a, index in every.places.items()},
        scores=found[..., :ranks],
    )


def restored(choice: Choice, at: Mapping[str, int]) -> Choice:
    """The choice of a part at one index of some axes, as one of the whole."""
    return replace(choice, places=placed_in(choice.places, at))


def placed_in(places: Mapping[str, Indices], at: Mapping[str, int]) -> dict[str, Indices]:
    """Places in a part at one index of some axes, as of the whole."""
    held = {axis: np.where(places[axis] < 0, -1, index) for axis, index in at.items()}
    return {**places, **held}
