"""The configurations that no other beats in every objective, of any source and for each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.invariants import check_front
from sweeps.ask.source import Checked, merged, of_parts, some_of
from sweeps.grid.goals import Goal

if TYPE_CHECKING:
    import xarray as xr

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """The points of a front in axis order, an index along every axis, and how they were found.

    ``proven`` tells, where not all is known, which points nothing can beat.
    """

    places: Mapping[str, Indices]
    told: Mapping[str, Any]
    proven: NDArray[np.bool_] | None = None

    def is_proven(self) -> NDArray[np.bool_]:
        """Return for each point whether nothing can beat it."""
        count = len(next(iter(self.places.values()), ()))
        return np.ones(count, dtype=bool) if self.proven is None else self.proven


class FrontSource(Checked, Protocol):
    """A space of configurations of which the front can be told."""

    def front(self, goals: Sequence[Goal]) -> Front:
        """The points that no other dominates; of equal ones the first stands for all.

        Raises
        ------
        InfeasibleError
            There is no point that counts.
        """

    def points(self, places: Mapping[str, Indices], goals: Sequence[Goal]) -> xr.Dataset:
        """The Dataset of some points, along ``point``."""


def pareto(source: FrontSource, goals: Sequence[Goal], per: Sequence[str] = ()) -> xr.Dataset:
    """The configurations that no other beats in every objective, for each value of some axes.

    They lie along ``point``, in axis order, those of each value of ``per`` together.
    """
    fronts = some_of(of_parts(source, per, lambda part: part.front(goals)))
    places = {
        axis: np.concatenate([np.asarray(one.places[axis]) for one in fronts])
        for axis in source.sizes
    }
    proven = np.concatenate([one.is_proven() for one in fronts])
    whole = all(one.told.get("complete", 1) and not one.told.get("points_left") for one in fronts)
    check_front(source, goals, per, places, proven, whole=whole)
    found = source.points(places, goals)
    if any(one.proven is not None for one in fronts):
        about = {"long_name": "whether no configuration beats this one"}
        found = found.assign(proven=("point", proven, about))
    return found.assign_attrs(merged([one.told for one in fronts]))
