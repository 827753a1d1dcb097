"""A model on measured rows: what it predicts at many values of its free quantities at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dse.fitting.columns import Floats
from dse.fitting.coordinates import Coordinate
from stochastic import sizes
from symbolic.ops import Node
from symbolic.parted import Parted

#: Numbers held at once while many candidates are looked at.
HELD = sizes.FIT_HELD


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Find the values at which ``scale`` × (predicted - measured) is smallest in squares.

    Attributes
    ----------
    nodes : tuple of Node
        Each measured quantity over the leaves; NaN where a rule is broken.
    leaves : mapping of str to array
        The leaves that are not free, of shape (rows,) or (1,).
    free : tuple of Coordinate
        What is fitted; a point has a value for each. Those of one name, one for each label, stand
        together in the order of the labels.
    labels : array
        The label of each row, as a number.
    measured, scale : array
        Of shape (measured quantities, rows). Let the measured values, scaled, be of length 1, so
        that no squares leave the range of numbers.
    """

    nodes: tuple[Node, ...]
    leaves: Mapping[str, Floats]
    free: tuple[Coordinate, ...]
    labels: NDArray[np.int64]
    measured: Floats
    scale: Floats
    _parted: list[Parted] = field(default_factory=list, repr=False, compare=False)

    @property
    def places(self) -> dict[str, list[int]]:
        """Where in a point the values of each quantity stand."""
        found: dict[str, list[int]] = {}
        for place, coordinate in enumerate(self.free):
            found.setdefault(coordinate.name, []).append(place)
        return found

    @property
    def size(self) -> float:
        """The length of what was measured, scaled; 1 where that is 0."""
        return math.sqrt(float(np.square(self.measured * self.scale).sum())) or 1.0

    def predict(self, points: Floats) -> Floats:
        """What is predicted at points, shape (points, free): (points, measured, rows)."""
        shape = (len(points), self.measured.shape[1])
        places = self.places
        if not self._parted:  # what only the rows tell is computed once
            values = {name: leaf[None, :] for name, leaf in self.leaves.items()}
            self._parted.append(Parted(self.nodes, places, values))
        moved = {}
        for name, own in places.items():
            shared = self.free[own[0]].label is None
            moved[name] = points[:, own] if shared else points[:, own][:, self.labels]
        found = self._parted[0].at(moved)
        return np.stack([np.broadcast_to(np.asarray(f, float), shape) for f in found], axis=1)

    def residuals(self, points: Floats) -> Floats:
        """Scaled residuals at points, shape (points, measured x rows)."""
        return self._scaled(self.predict(points) - self.measured)

    def scaled(self, points: Floats) -> Floats:
        """Scaled predictions at points: their differences do not drown in what was measured."""
        return self._scaled(self.predict(points))

    def _scaled(self, found: Floats) -> Floats:
        with np.errstate(all="ignore"):
            found = np.where(self.scale == 0, 0.0, found * self.scale)
        return found.reshape(len(found), -1)

    def costs(self, points: Floats) -> Floats:
        """Sums of squares at points; infinite where anything is not a number."""
        step = max(1, HELD // max(self.measured.size, 1))
        with np.errstate(over="ignore"):
            found = [
                np.square(self.residuals(points[low : low + step])).sum(axis=1)
                for low in range(0, len(points), step)
            ]
        costs = np.concatenate(found)
        return np.where(np.isfinite(costs), costs, math.inf)

    def slopes(self, point: Floats, steps: Floats, back: Floats | None = None) -> Floats:
        """Derivatives of the scaled residuals at a point: shape (residuals, free)."""
        slopes: Floats = self.around(point[None, :], steps, back)[1][0]
        return slopes

    def around(
        self, points: Floats, steps: Floats, back: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Scaled predictions at points and their derivatives by each free quantity, by differences.

        Steps ahead and ``back`` (the same by default) are those of central differences; one-sided
        at a bound and where the other side is not a number; 0 for what does not move. What has a
        value for each label is moved for all labels at once: rows know but their own. Shapes
        (points, residuals) and (points, residuals, free).
        """
        back = steps if back is None else back
        ahead = np.minimum(points + steps, [c.high for c in self.free])
        behind = np.maximum(points - back, [c.low for c in self.free])
        moving = [k for k in self.places.values() if steps[k].any() or back[k].any()]
        moved = np.repeat(points[:, None, :], 1 + 2 * len(moving), axis=1)
        for number, places in enumerate(moving):
            moved[:, 1 + 2 * number, places] = ahead[:, places]
            moved[:, 2 + 2 * number, places] = behind[:, places]
        found = self.scaled(moved.reshape(-1, len(self.free)))
        found = found.reshape(*moved.shape[:2], self.measured.size)
        here = found[:, 0]
        slopes = np.zeros((*here.shape, len(self.free)))
        for number, places in enumerate(moving):
            own = np.array(places)
            if self.free[places[0]].label is not None:  # of each residual, that of its label
                own = np.tile(own[self.labels], len(self.measured))
            up, down = found[:, 1 + 2 * number], found[:, 2 + 2 * number]
            each = _slope(here, up, down, points[:, own], ahead[:, own], behind[:, own])
            slopes[:, np.arange(here.shape[1]), own] = each
        return here, slopes

    def without(self, row: int) -> Problem:
        """The same problem in which one row does not count."""
        scale = self.scale.copy()
        scale[:, row] = 0
        return replace(self, scale=scale)

    def thinned(self, most: int) -> Problem:
        """The same problem on at most so many of its rows, drawn at random, always the same."""
        total = self.measured.shape[1]
        if total <= most:
            return self
        kept = np.sort(np.random.default_rng(0).permutation(total)[:most])
        return replace(
            self,
            _parted=[],
            leaves={
                n: leaf[kept] if leaf.size == total else leaf for n, leaf in self.leaves.items()
            },
            labels=self.labels[kept],
            measured=self.measured[:, kept],
            scale=self.scale[:, kept],
        )


def _slope(here: Floats, up: Floats, down: Floats, at: Floats, high: Floats, low: Floats) -> Floats:
    with np.errstate(all="ignore"):
        both = (up - down) / (high - low)
        right, left = (up - here) / (high - at), (here - down) / (at - low)
    slope = np.where(np.isfinite(both), both, np.where(np.isfinite(right), right, left))
    return np.where(np.isfinite(slope), slope, 0.0)
