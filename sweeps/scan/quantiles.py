"""Below which values a share of the feasible configurations lies.

They are exact: whole numbers are counted, in passes over the grid or Dataset, so that neither the
order of the tiles nor the number of threads changes a digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.dataset import assemble
from sweeps.grid.goals import OBJECTIVE
from sweeps.scan.bins import WIDTH, Digits, key_of, value_of
from sweeps.scan.values import Values, nothing
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr


def quantiles(source: Values, q: float | Sequence[float]) -> xr.Dataset:
    """The values below which given shares of the feasible configurations lie, exactly.

    Of N values the quantile q is the least one that at least q N of them do not exceed: the inverse
    of their distribution function, never a mean of two neighbours; q = 0 is the least of all.
    Points where the formula is no number do not count. Four passes, each of which fixes 16 bits.

    Parameters
    ----------
    source : Values
        The formula.
    q : float or sequence of float
        From 0 to 1.

    Raises
    ------
    InfeasibleError
        No feasible configuration has a value.
    """
    shares = _shares(q)
    begins, before = [0] * len(shares), [0] * len(shares)
    ranks: list[int] = []
    rest = np.zeros(2, dtype=np.int64)
    lowest, highest = key_of(np.array([-math.inf, math.inf])).tolist()  # beyond them lies NaN
    for shift in range(64 - WIDTH, -1, -WIDTH):
        distinct = sorted(set(begins))
        wanted = np.array(distinct, dtype=np.uint64)
        open_ = 1 << (shift + WIDTH)
        ends = [(max(b * open_, lowest), min((b + 1) * open_ - 1, highest)) for b in distinct]
        within = [(value_of(low), value_of(high)) for low, high in ends]
        first = not ranks

        def make(wanted: NDArray[np.uint64] = wanted, shift: int = shift) -> Digits:
            return Digits(wanted, shift)

        found = source.gather(make, None if first else within)
        if first:
            rest = found.rest
            if not rest[0]:
                raise nothing(source)
            skipped = source.skipped.attributes(source.weight)
            ranks = [max(math.ceil(share * int(rest[0])), 1) for share in shares]
        sums = np.cumsum(found.counts, axis=1)
        for k, rank in enumerate(ranks):
            row = sums[distinct.index(begins[k])]
            digit = int(np.searchsorted(row, rank - before[k]))
            before[k] += int(row[digit - 1]) if digit else 0
            begins[k] = (begins[k] << WIDTH) + digit
    values = np.array([value_of(key) for key in begins])
    name = source.text if source.row is not None else OBJECTIVE
    attributes = {"definition": "inverse of the distribution function", **told_of(source, rest)}
    return assemble(
        {name: ("quantile", values, units_of(source))},
        {"quantile": ("quantile", np.array([float(s) for s in shares]), {"units": "1"})},
        {"question": f"quantiles of {source.text}", **attributes, **skipped},
    )


def told_of(source: Values, rest: NDArray[np.int64]) -> dict[str, Any]:
    """Of how many configurations it is told, under which conditions."""
    numbers, undefined = (int(n) * source.weight for n in rest)
    return {
        "conditions": "; ".join(source.conditions),
        "points": source.points,
        "feasible_points": numbers + undefined,
        "undefined": undefined,
    }


def units_of(source: Values) -> dict[str, Any]:
    """The unit and the meaning of the formula."""
    return {k: v for k, v in source.attributes.items() if k in ("units", "long_name")}


def _shares(q: Any) -> list[Fraction]:
    """Shares as the decimals that they are written as: 0.1 is a tenth."""
    given = q[()] if isinstance(q, np.ndarray) else [q] if isinstance(q, str) else q
    shares = []
    for share in given if isinstance(given, (Sequence, np.ndarray)) else [given]:
        number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
        if not number or not 0 <= float(share) <= 1:
            raise DseError(f"q = {share!r}: expected numbers from 0 to 1, such as [0.5, 0.9]")
        shares.append(Fraction(str(float(share))))
    if not shares:
        raise DseError("q is empty: give it at least one number from 0 to 1")
    return shares
