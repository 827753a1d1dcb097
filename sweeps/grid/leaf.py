"""The values of one quantity over the axes on which it depends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """The values of one quantity over some axes, in the order of the grid.

    ``switched`` are the switch axes on which it depends too; each of their labels has its own leaf.
    ``failed`` tells why there is no value at some flat indices.
    """

    axes: tuple[str, ...]
    array: NDArray[Any]
    switched: tuple[str, ...] = ()
    failed: Mapping[int, str] = field(default_factory=dict)

    @property
    def pending(self) -> Any:
        """Return what computes values that are not known yet (a Folding); None if they are."""
        return None

    def over(self, axes: Sequence[str]) -> NDArray[Any]:
        """The values shaped for broadcasting over the given axes."""
        sizes = dict(zip(self.axes, self.array.shape, strict=True))
        return self.array.reshape([sizes.get(axis, 1) for axis in axes])

    def cut(self, parts: Mapping[str, slice]) -> Leaf:
        """Its values within a part of some axes."""
        if not any(axis in parts for axis in self.axes):
            return self
        index = tuple(parts.get(axis, slice(None)) for axis in self.axes)
        array, failed = self.array[index], {}
        if self.failed:
            numbers = np.arange(self.array.size).reshape(self.array.shape)[index].reshape(-1)
            failed = {k: self.failed[n] for k, n in enumerate(numbers.tolist()) if n in self.failed}
        return replace(self, array=array, failed=failed)

    def taken(self, places: Mapping[str, NDArray[np.int64]]) -> Leaf:
        """Its values at some places of some axes, in that order."""
        if not any(axis in places for axis in self.axes):
            return self
        array = np.asarray(self.array)
        for at, axis in enumerate(self.axes):
            if axis in places:
                array = array.take(places[axis], axis=at)
        return replace(self, array=array)

    def pick(self, places: Mapping[str, Any]) -> NDArray[Any]:
        """Its values at points, given by indices along each axis."""
        return np.asarray(self.array[tuple(places[axis] for axis in self.axes)])

    def ordered(self, axes: Sequence[str]) -> Leaf:
        """Its values in another order of axes."""
        own = tuple(axis for axis in axes if axis in self.axes)
        if own == self.axes:
            return self
        array = self.array.transpose([self.axes.index(axis) for axis in own])
        return Leaf(axes=own, array=array, switched=self.switched)


def compute_pending(leaves: Iterable[Leaf]) -> None:
    """Compute the values of leaves that are not known yet, those of one group in one pass."""
    groups: dict[int, list[Any]] = {}
    for leaf in leaves:
        folding = leaf.pending
        if folding is not None:
            same = groups.setdefault(id(folding.group), [])
            if folding not in same:
                same.append(folding)
    for foldings in groups.values():
        foldings[0].compute(foldings)
