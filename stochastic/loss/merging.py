"""Equal fractions merged: the law of X = lanes · max / sum from the law of both.

Where most fractions that can occur do occur they are not sorted: sum / max in lowest terms runs
through the Farey fractions between any two whole numbers (see stochastic.kernels.merge). Where they
are few, their quotients are sorted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes

if TYPE_CHECKING:
    import numpy.typing as npt

    Fractions = tuple[
        npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]], npt.NDArray[np.float64]
    ]

__all__ = ["Rows"]

#: Of the table of ratios that is not sorted.
_MOST_BYTES = sizes.RATIOS_BYTES
#: Quotients of whole numbers are told apart as floats where the product of the largest is below.
_TOLD_APART = 2**51


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """P(max = values[p], sum = first[p] + i·step) at start[p] + i of ``atoms``."""

    values: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    step: int
    atoms: npt.NDArray[np.float64]
    lanes: int

    def merged(self) -> Fractions:
        """Numerator, denominator and probability of each loss in lowest terms, ascending.

        Groups without any work are left out.
        """
        common = math.gcd(int(np.gcd.reduce(self.values)), self.step)
        work = int(self.values[0] == 0)
        rows = Rows(
            values=self.values[work:] // common,
            first=self.first[work:] // common,
            start=self.start[work:],
            step=self.step // common,
            atoms=self.atoms,
            lanes=self.lanes,
        )
        if not len(rows.values):
            return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
        return rows._by_farey() if rows._are_dense() else rows._by_sorting()

    @property
    def _high(self) -> int:
        return int(self.values[-1])

    def _are_dense(self) -> bool:
        """Whether the fractions that can occur are so few that a table of all of them pays."""
        fractions = 0.304 * self._high**2 * self.lanes
        if 8 * fractions > _MOST_BYTES:
            return False
        table = 8e-9 * fractions + 3e-9 * self._high**2 + 5e-9 * len(self.atoms)
        return table < 1e-7 * int(np.count_nonzero(self.atoms))

    def _by_farey(self) -> Fractions:
        from stochastic.kernels.merge import farey, gather, losses, places

        above, below = farey(self._high)
        place = places(above, below, self._high, int(self.values[0]))
        ratios = gather(
            self.values,
            self.first,
            self.step,
            self.start,
            self.atoms,
            place,
            len(above),
            self.lanes,
        )
        count = np.count_nonzero(ratios)
        numerator, denominator = np.empty(count, np.int32), np.empty(count, np.int32)
        probability = np.empty(count)
        losses(ratios, above, below, self.lanes, numerator, denominator, probability)
        return numerator, denominator, probability

    def _by_sorting(self) -> Fractions:
        at = self.start[0] + np.flatnonzero(self.atoms[self.start[0] :])
        if not at.size:  # all are smaller than what rounding leaves
            return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
        row = np.searchsorted(self.start, at, side="right") - 1
        below = self.first[row] + self.step * (at - self.start[row])
        above = self.lanes * self.values[row]
        # X - 1, whose numerators are small where the values are large but close to each other
        more = above - below
        if int(more.max()) * int(below.max()) < _TOLD_APART:
            order, new = _groups(more / below)
        else:
            exact = map(Fraction, more.tolist(), below.tolist())
            order, new = _groups(np.array(list(exact), dtype=object))
        numerator, denominator = _lowest(above[order[new]], below[order[new]])
        return numerator, denominator, np.add.reduceat(self.atoms[at[order]], np.flatnonzero(new))


def _groups(keys: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """The order of the keys; in it, where another one begins."""
    order = np.argsort(keys)
    ordered = keys[order]
    return order, np.concatenate([[True], ordered[1:] != ordered[:-1]])


def _lowest(
    above: npt.NDArray[np.int64], below: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]]]:
    """Fractions in lowest terms, in 32 bits where they fit."""
    common = np.gcd(above, below)
    above, below = above // common, below // common
    if len(above) and max(above.max(), below.max()) < 2**31:
        return above.astype(np.int32), below.astype(np.int32)
    return above, below
