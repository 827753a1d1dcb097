"""The configurations that no other beats in every objective, of any source and for each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.goals import Goal
from symbolic.errors import InfeasibleError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Front", "FrontSource", "merged", "pareto"]

Indices = NDArray[np.int64]

#: What is told of all parts together: by default the sum.
_LEAST, _MOST = ("complete", "settled"), ("gap", "blocks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """The points of a front in axis order, an index along every axis, and how they were found.

    ``proven`` tells, where not all is known, which points nothing can beat.
    """

    places: Mapping[str, Indices]
    told: Mapping[str, Any]
    proven: NDArray[np.bool_] | None = None


class FrontSource(Protocol):
    """A space of configurations of which the front can be told."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The axes, in order, and how many values each has."""

    def only(self, at: Mapping[str, int]) -> Self:
        """The part at one index of some axes, of which places are told as of the whole."""

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
    shape = tuple(source.sizes[axis] for axis in per)
    fronts: list[Front] = []
    for cell in np.ndindex(*shape):
        try:
            part = source.only(dict(zip(per, cell, strict=True))) if per else source
            fronts.append(part.front(goals))
        except InfeasibleError as error:
            if not per or type(error) is not InfeasibleError:  # nothing at all, or out of time
                raise
            none = error
    if not fronts:
        raise none
    places = {
        axis: np.concatenate([np.asarray(one.places[axis]) for one in fronts])
        for axis in source.sizes
    }
    found = source.points(places, goals)
    if any(one.proven is not None for one in fronts):
        about = {"long_name": "whether no configuration beats this one"}
        proven = [_proven(one) for one in fronts]
        found = found.assign(proven=("point", np.concatenate(proven), about))
    return found.assign_attrs(merged([one.told for one in fronts]))


def _proven(one: Front) -> NDArray[np.bool_]:
    count = len(next(iter(one.places.values()), ()))
    return np.ones(count, dtype=bool) if one.proven is None else one.proven


def merged(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is told of several parts, as of one."""
    found: dict[str, Any] = {}
    for one in told:
        for key, value in one.items():
            if key not in found or isinstance(value, str):
                found[key] = value
            elif key in _LEAST:
                found[key] = min(found[key], value)
            else:
                found[key] = max(found[key], value) if key in _MOST else found[key] + value
    return found
