"""Which configurations can be best when something is random, how often, and what they would cost.

Who may be best is found on the draws of a study; how often, on fresh ones: a configuration that was
lucky among many is not told to be as good as it was then (the winner's curse). What fresh draws
give to others is told as left over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.answers import winners
from sweeps.ask.draws import Draws
from sweeps.ask.source import check_listed, of_parts
from sweeps.grid.goals import Goal, check_top, per_axes
from sweeps.scan.choosing import Chosen
from sweeps.scan.contest import RIVALS, all_over, can_win, judged, regret_width
from symbolic.confidence import share_width
from symbolic.errors import InfeasibleError

if TYPE_CHECKING:
    import xarray as xr

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Won:
    """What the likeliest configurations of a part win: arrays of one length, and single numbers."""

    places: Mapping[str, Indices]
    lists: Mapping[str, Floats]
    alone: Mapping[str, float]
    count: int

    @property
    def length(self) -> int:
        """How many there are."""
        return len(self.lists["chance"])


def chances(
    source: Draws, goal: Goal, *, per: Sequence[str] = (), top: int | None = None
) -> xr.Dataset:
    """How often each configuration is best, and what it costs where it is not.

    Parameters
    ----------
    source : Draws
        A grid with draws, or a table.
    goal : Goal
        What should be small or large.
    per : sequence of str
        Axes for each value of which others compete.
    top : int, optional
        How many are told, the likeliest first; all that can win where None.

    Raises
    ------
    InfeasibleError
        In no draw anything counts.
    """
    if top is not None:
        check_top(top)
    per = per_axes(per, tuple(source.sizes))
    parts = of_parts(source, per, lambda part: _won(part, goal, top))
    told = [part for part in parts if isinstance(part, _Won)]
    if not told:
        raise next(part for part in parts if isinstance(part, InfeasibleError))
    shape, longest = tuple(source.sizes[axis] for axis in per), max(p.length for p in told)

    def side_by_side(which: str, name: str, nothing: float) -> NDArray[Any]:
        found = np.full((len(parts), longest), nothing)
        for row, part in zip(found, parts, strict=True):
            if isinstance(part, _Won):
                row[: part.length] = getattr(part, which)[name]
        return found.reshape(*shape, longest)

    first = told[0]
    places = {a: side_by_side("places", a, -1) for a in first.places}
    chosen = Chosen(
        per=per,
        places={axis: array.astype(np.int64) for axis, array in places.items()}
        or {"": np.zeros((*shape, longest), dtype=np.int64)},  # there is one configuration
    )
    lists = {n: side_by_side("lists", n, np.nan) for n in first.lists}
    alone = {
        name: np.array([p.alone[name] if isinstance(p, _Won) else np.nan for p in parts])
        for name in first.alone
    }
    kept = {*source.rest(goal), *per}
    coordinates = {n: c for n, c in source.coordinates.items() if c[0] in kept}
    about = _about(source, goal)
    found = {name: (array, about[name]) for name, array in lists.items()}
    ds = winners(coordinates, found, chosen, [goal], True)
    ds = ds.assign({n: (per, a.reshape(shape), about[n]) for n, a in alone.items()})
    return ds.assign_attrs(configurations=sum(part.count for part in told))


def _about(source: Draws, goal: Goal) -> dict[str, dict[str, str]]:
    row = source.quantities.get(goal.text)
    unit = (row.unit if row is not None else "") or "1"
    told = {
        "chance": ("1", "chance to be the best; ties share a draw equally"),
        "regret": (unit, f"expected loss of {goal.text} against the best of each draw"),
        "left": ("1", "chance that the best is none of those listed"),
    }
    found = {name: {"units": units, "long_name": words} for name, (units, words) in told.items()}
    found |= {
        f"{name}_error": {"units": units, "long_name": f"half the 95 % interval of {name}"}
        for name, (units, _) in told.items()
    }
    return {**found, "none": {"units": "1", "long_name": "chance that nothing is feasible"}}


def _won(source: Draws, goal: Goal, top: int | None) -> _Won:
    first, fresh = source.contests(goal)
    able = can_win(first)
    found = judged(first, able)
    able, chance = able[found.chance > 0], found.chance[found.chance > 0]
    if not able.size:
        raise InfeasibleError(
            f"{goal.text} is finite at no feasible point of any draw: relax the constraints, or "
            "change the axes"
        )
    if top is None:
        check_listed(able.size, "can be the best")
    if not source.exact and fresh is not first:
        rivals = np.union1d(able, can_win(fresh, able[np.argsort(-chance)[:RIVALS]]))
        rivals = np.union1d(rivals, all_over(fresh))  # so that it is known how far others are
        found = judged(fresh, rivals)
        of = np.searchsorted(rivals, able)
    else:
        of = np.flatnonzero(found.chance > 0)
    count = int(able.size)
    order = np.lexsort((able, found.regret[of], -found.chance[of]))[:top]
    of, able = of[order], able[order]
    left = np.delete(found.chance, of).sum()
    lists = {"chance": found.chance[of], "regret": found.regret[of]}
    alone = {"left": float(left), "none": found.none}
    if source.exact:
        lists |= {f"{name}_error": np.zeros(of.size) for name in ("chance", "regret")}
        alone["left_error"] = 0.0
    elif found.chances.shape[1] > 1:
        draws = int(np.count_nonzero(fresh.weights))
        lists["chance_error"] = share_width(found.chances[of], found.chance[of], draws)
        lists["regret_error"] = regret_width(found, of, draws)
        listed = found.chances[of].sum(axis=0), found.chance[of].sum()
        alone["left_error"] = float(share_width(*listed, draws))
    else:
        lists |= {f"{name}_error": np.full(of.size, np.nan) for name in ("chance", "regret")}
        alone["left_error"] = np.nan
    return _Won(places=source.places(goal, able), lists=lists, alone=alone, count=count)
