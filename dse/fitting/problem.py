"""A model on measured rows: what it predicts at many values of its free quantities at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dse.fitting.columns import Floats
from dse.fitting.coordinates import Coordinate
from symbolic.ops import Node, interpret_arrays

__all__ = ["Problem"]

#: Numbers held at once while many candidates are looked at.
HELD = 1 << 21


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
        values = {name: leaf[None, :] for name, leaf in self.leaves.items()}
        for name, places in self.places.items():
            shared = self.free[places[0]].label is None
            values[name] = points[:, places] if shared else points[:, places][:, self.labels]
        found = interpret_arrays(self.nodes, values)
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
        """Derivatives of the scaled residuals by each free quantity, by differences.

        Steps ahead and ``back`` (the same by default) are those of central differences; one-sided
        at a bound and where the other side is not a number. What has a value for each label is
        moved for all labels at once: rows know but their own. Shape (residuals, free).
        """
        ahead = np.minimum(point + steps, [c.high for c in self.free])
        behind = np.maximum(point - (steps if back is None else back), [c.low for c in self.free])
        moved = [point]
        for places in self.places.values():
            for ends in (ahead, behind):
                moved.append(point.copy())
                moved[-1][places] = ends[places]
        here, *sides = self.scaled(np.array(moved))
        slopes = np.zeros((here.size, len(point)))
        for number, places in enumerate(self.places.values()):
            own = np.array(places)
            if self.free[places[0]].label is not None:  # of each residual, that of its label
                own = np.tile(own[self.labels], len(self.measured))
            up, down = sides[2 * number], sides[2 * number + 1]
            found = _slope(here, up, down, point[own], ahead[own], behind[own])
            slopes[np.arange(here.size), own] = found
        return slopes

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
