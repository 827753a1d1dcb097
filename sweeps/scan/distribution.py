"""How the values of a formula spread over the feasible configurations: histograms and quantiles.

Both are exact: whole numbers are counted, in passes over the grid or Dataset, so that neither the
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
from sweeps.scan.bins import WIDTH, Bins, Digits, Range, key_of, value_of
from sweeps.scan.values import Floats, Values, nothing
from symbolic.errors import DseError
from symbolic.expression import parse_value

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["edges_of", "histogram", "quantiles"]

#: Most bins.
_BINS = 1 << 20


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
    attributes = {"definition": "inverse of the distribution function", **_told(source, rest)}
    return assemble(
        {name: ("quantile", values, _units(source))},
        {"quantile": ("quantile", np.array([float(s) for s in shares]), {"units": "1"})},
        {"question": f"quantiles of {source.text}", **attributes, **skipped},
    )


def histogram(source: Values, edges: Floats) -> xr.Dataset:
    """How many feasible configurations have a value in each of some bins.

    Parameters
    ----------
    source : Values
        The formula.
    edges : array of float
        Of the bins, ascending. A bin holds its low edge; the last holds both.
    """
    found = source.gather(lambda: Bins(edges))
    skipped = source.skipped.attributes(source.weight)
    weight, units = source.weight, _units(source)
    below, above = (int(n) * weight for n in found.rest[:2])
    rest = np.array([found.counts.sum() + found.rest[:2].sum(), found.rest[2]])
    text = {k: v for k, v in units.items() if k == "units"}
    return assemble(
        {
            "configurations": (
                "bin",
                found.counts * weight,
                {"long_name": "feasible configurations in the bin"},
            )
        },
        {
            "low": ("bin", edges[:-1], {"long_name": f"low edge of {source.text}", **text}),
            "high": ("bin", edges[1:], {"long_name": f"high edge of {source.text}", **text}),
        },
        {
            "question": f"histogram of {source.text}",
            "definition": "a bin holds its low edge, the last one both of its edges",
            "below": below,
            "above": above,
            **_told(source, rest),
            **skipped,
        },
    )


def _told(source: Values, rest: NDArray[np.int64]) -> dict[str, Any]:
    numbers, undefined = (int(n) * source.weight for n in rest)
    return {
        "conditions": "; ".join(source.conditions),
        "points": source.points,
        "feasible_points": numbers + undefined,
        "undefined": undefined,
    }


def _units(source: Values) -> dict[str, Any]:
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


def edges_of(source: Values, bins: Any) -> Floats:
    """The edges of so many equal bins between the least and the largest finite value, or as given.

    Raises
    ------
    DseError
        What is no number of bins, and no ascending list of numbers, or of texts with units.
    InfeasibleError
        No feasible configuration has a finite value to put bins around.
    """
    bins = bins[()] if isinstance(bins, np.ndarray) else bins  # of no dimensions: a number
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        if not 1 <= bins <= _BINS:
            raise DseError(f"bins = {bins}: expected from 1 to {_BINS:,} bins, or their edges")
        found = source.gather(Range)
        if found.low > found.high:
            raise nothing(source)
        half = np.linspace(found.low / 2, found.high / 2, int(bins) + 1)  # the span may be infinite
        edges = np.linspace(found.low, found.high, int(bins) + 1)
        edges = edges if np.all(np.isfinite(edges)) else 2 * half
        edges = np.unique(np.clip(edges, found.low, found.high))
        return edges if edges.size > 1 else np.repeat(edges, 2)
    if isinstance(bins, str) or not isinstance(bins, (Sequence, np.ndarray)):
        raise DseError(f"bins = {bins!r}: expected their number, or a list of edges")
    edges = np.array([_edge(source, edge) for edge in bins], dtype=np.float64)
    if not 2 <= edges.size <= _BINS + 1 or not np.all(np.diff(edges) > 0):
        shown = ", ".join(f"{edge:g}" for edge in edges[:8]) or "none"
        raise DseError(f"bins with the edges {shown}: expected two or more, each above the last")
    return edges


def _edge(source: Values, edge: Any) -> float:
    if isinstance(edge, str) and source.row is not None:
        edge = parse_value(edge, source.row, {})
    if isinstance(edge, (int, float, np.number)) and math.isfinite(edge):
        return float(edge)
    raise DseError(
        f"{edge!r} is no edge of a bin: expected a finite number"
        + (", with or without a unit" if source.row is not None else "")
    )
