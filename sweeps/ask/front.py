"""The configurations that no other beats in every objective, of any source and for each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.invariants import check_front
from sweeps.ask.source import Source, merged, of_parts, some_of
from sweeps.grid.goals import Goal

if TYPE_CHECKING:
    import xarray as xr

Indices = NDArray[np.int64]


def pareto(source: Source, goals: Sequence[Goal], per: Sequence[str] = ()) -> xr.Dataset:
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
