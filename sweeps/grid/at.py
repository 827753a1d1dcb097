"""A part of a store: at one index, or within a slice, of some axes."""

from __future__ import annotations

from collections.abc import Mapping

from symbolic.ops import Node, both, constant, equal, reference
from symbolic.quantities import place_of

__all__ = ["At", "labels", "sizes_at"]

#: Indices or slices by axis.
At = Mapping[str, int | slice]


def labels(at: At) -> list[Node]:
    """That a configuration lies in a part."""
    found = []
    for axis, index in at.items():
        place = reference(place_of(axis))
        if isinstance(index, slice):
            found.append(constant(both(place >= index.start, place < index.stop)))
        else:
            found.append(constant(equal(place, index)))
    return found


def sizes_at(axes: Mapping[str, int], at: At) -> dict[str, int]:
    """The axes, and how many values each has in a part."""
    held = {a: i.stop - i.start if isinstance(i, slice) else 1 for a, i in at.items()}
    return {**axes, **held}
