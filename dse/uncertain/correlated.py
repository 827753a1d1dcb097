"""Normal laws that are correlated, and draws that are made so by rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.uncertain.covariance import root_of
from symbolic.errors import DomainError, DseError, check_known
from symbolic.quantities import Quantity

__all__ = ["Normals", "correlated"]

#: The part of draws that may lie outside a domain.
_OUTSIDE = 1e-3

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Normals:
    """Quantities with a joint normal law, as a fit gives it."""

    names: tuple[str, ...]
    means: Floats
    root: Floats
    rows: Mapping[str, Quantity]
    where: str

    @property
    def dimensions(self) -> int:
        """How many coordinates of a point it takes."""
        return len(self.names)

    def ends(self, levels: Floats) -> dict[str, Floats]:
        """Return the values of each quantity at some levels, within its domain."""
        from scipy.special import ndtri

        widths = np.sqrt(np.square(self.root).sum(axis=1))
        found = {}
        for name, mean, width in zip(self.names, self.means, widths, strict=True):
            domain = self.rows[name].domain
            found[name] = np.clip(mean + width * ndtri(levels), domain.low, domain.high)
        return found

    def of(self, points: Floats) -> dict[str, Floats]:
        """The values at points between 0 and 1; what leaves a domain is drawn nearer to the mean.

        Raises
        ------
        DomainError
            More than a thousandth of them lie outside.
        """
        from scipy.special import ndtri

        steps = ndtri(points) @ self.root.T
        values = self.means + steps
        inside = np.ones(len(values), dtype=bool)
        for place, name in enumerate(self.names):
            inside &= self.rows[name].domain.holds(values[:, place])
        if np.count_nonzero(~inside) > max(_OUTSIDE * len(values), 0):
            share = np.count_nonzero(~inside) / len(values)
            raise DomainError(
                f"{self.where}: {share:.2%} of its draws leave the domain of a quantity among "
                f"{', '.join(self.names)}: the fit does not tell these well enough for a normal "
                "law; give them laws of their own"
            )
        for row in np.flatnonzero(~inside).tolist():
            step = steps[row]
            while not all(
                self.rows[name].domain.contains(self.means[k] + step[k])
                for k, name in enumerate(self.names)
            ):
                step = step / 2
            values[row] = self.means + step
        return {name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(self.names)}


def correlated(given: Any, names: Sequence[str]) -> Floats | None:
    """The root of the correlation matrix of quantities; None where none are correlated.

    Raises
    ------
    DseError
        A pair that is none of the random quantities with laws of their own, given twice, or a
        number beyond -1 and 1; or no laws can be correlated like that.
    """
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise DseError(f"correlation = {given!r}: expected [[name, name, number], ...]")
    matrix = np.eye(len(names))
    seen: set[frozenset[str]] = set()
    for entry in given:
        if isinstance(entry, str) or not isinstance(entry, Sequence) or len(entry) != 3:
            raise DseError(f"correlation holds {entry!r}: expected [name, name, number]")
        a, b, rho = entry
        for name in (a, b):
            said = f"correlation names {name!r}, which has no law of its own"
            check_known(name, names, said, "these have")
        pair = frozenset((a, b))
        if len(pair) < 2 or pair in seen:
            what = "with itself" if len(pair) < 2 else "twice"
            raise DseError(f"correlation gives {a} {what}: name each pair once")
        if isinstance(rho, bool) or not isinstance(rho, (int, float)) or not -1 <= rho <= 1:
            raise DseError(f"correlation of {a} and {b} = {rho!r}: expected a number from -1 to 1")
        seen.add(pair)
        matrix[names.index(a), names.index(b)] = matrix[names.index(b), names.index(a)] = rho
    return root_of(matrix, names, "correlation") if seen else None
