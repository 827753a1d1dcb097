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

from sweeps.answers import OBJECTIVE
from sweeps.dataset import assemble
from sweeps.streaming.kernels import bin_counter, digit_counter
from sweeps.streaming.values import Floats, Truths, Values, nothing
from symbolic.errors import DseError
from symbolic.expression import parse_value

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["histogram", "quantiles"]

#: From so many values on they are counted by compiled code.
_MANY = 1 << 15
#: Fewest slots of the whole range of a histogram; most bins.
_SLOTS, _BINS = 1 << 12, 1 << 20
#: Bits of a digit; a number has 64.
_WIDTH = 16


class _Range:
    """The least and the largest finite value."""

    def __init__(self) -> None:
        self.low, self.high = math.inf, -math.inf

    def feed(self, values: Floats, allowed: Truths) -> None:
        """Some values, and which of them count."""
        counts = np.isfinite(values) & allowed
        self.low = min(self.low, float(np.min(values, where=counts, initial=math.inf)))
        self.high = max(self.high, float(np.max(values, where=counts, initial=-math.inf)))

    def add(self, other: _Range) -> None:
        """What another part keeps."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)


class Bins:
    """Counts of values between edges, and of those ``below``, ``above`` and ``undefined``."""

    def __init__(self, edges: Floats) -> None:
        self.edges, bins = edges, len(edges) - 1
        self.counts, self.rest = np.zeros(bins, dtype=np.int64), np.zeros(3, dtype=np.int64)
        slots, span = max(2 * bins, _SLOTS), float(edges[-1]) - float(edges[0])
        self.scale = slots / span if 0 < span < math.inf and slots / span < math.inf else 0.0
        starts = edges[0] + np.arange(slots) / self.scale if self.scale else edges[:1]
        self.first = np.clip(np.searchsorted(edges, starts, side="right") - 1, 0, bins - 1)
        self.first = np.append(self.first, bins - 1)

    def feed(self, values: Floats, allowed: Truths) -> None:
        """Some values, and which of them count."""
        edges, rest = self.edges, self.rest
        if values.size >= _MANY:
            given = (edges, self.first, self.scale, self.counts, rest)
            bin_counter()(values, allowed, *given)
            return
        known = values[allowed]
        inside = known[(known >= edges[0]) & (known <= edges[-1])]
        place = np.minimum(np.searchsorted(edges, inside, side="right") - 1, len(self.counts) - 1)
        self.counts += np.bincount(place, minlength=len(self.counts))
        outside = (known < edges[0], known > edges[-1], np.isnan(known))
        rest += [np.count_nonzero(chosen) for chosen in outside]

    def add(self, other: Bins) -> None:
        """What another part keeps."""
        self.counts += other.counts
        self.rest += other.rest


class Digits:
    """Counts of the next digit of those values whose order begins with one of some numbers.

    Floats are ordered as whole numbers are, once their bits are turned: see :func:`_key`.
    """

    def __init__(self, begins: NDArray[np.uint64], shift: int) -> None:
        self.begins, self.shift = begins, shift
        self.first = np.full(1 << _WIDTH if shift + _WIDTH < 64 else 0, -1)
        for k in range(len(begins) - 1 if self.first.size else -1, -1, -1):
            self.first[(int(begins[k]) << (shift + _WIDTH)) >> (64 - _WIDTH)] = k
        self.counts = np.zeros((len(begins), 1 << _WIDTH), dtype=np.int64)
        self.rest = np.zeros(2, dtype=np.int64)  # numbers, and what is none

    def feed(self, values: Floats, allowed: Truths) -> None:
        """Some values, and which of them count."""
        if values.size >= _MANY:
            given = (self.begins, self.first, self.shift, _WIDTH)
            digit_counter()(values, allowed, *given, self.counts, self.rest)
            return
        known = values[allowed & ~np.isnan(values)]
        self.rest += np.array([known.size, np.count_nonzero(allowed) - known.size])
        begin = _key(known) >> np.uint64(self.shift)
        digit = (begin & np.uint64((1 << _WIDTH) - 1)).astype(np.int64)
        begin >>= np.uint64(_WIDTH)
        for row, wanted in zip(self.counts, self.begins, strict=True):
            row += np.bincount(digit[begin == wanted], minlength=row.size)

    def add(self, other: Digits) -> None:
        """What another part keeps."""
        self.counts += other.counts
        self.rest += other.rest


def _key(values: Floats) -> NDArray[np.uint64]:
    """Whole numbers in the order of some floats; both zeros are the same one."""
    bits = (values + 0.0).view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def _value(key: int) -> float:
    """The float of a key."""
    bits = key ^ (1 << 63) if key >> 63 else key ^ ((1 << 64) - 1)
    return float(np.uint64(bits).view(np.float64))


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
    lowest, highest = _key(np.array([-math.inf, math.inf])).tolist()  # beyond them lies NaN
    for shift in range(64 - _WIDTH, -1, -_WIDTH):
        distinct = sorted(set(begins))
        wanted = np.array(distinct, dtype=np.uint64)
        open_ = 1 << (shift + _WIDTH)
        ends = [(max(b * open_, lowest), min((b + 1) * open_ - 1, highest)) for b in distinct]
        within = [(_value(low), _value(high)) for low, high in ends]
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
            begins[k] = (begins[k] << _WIDTH) + digit
    values = np.array([_value(key) for key in begins])
    name = source.text if source.row is not None else OBJECTIVE
    attributes = {"definition": "inverse of the distribution function", **_told(source, rest)}
    return assemble(
        {name: ("quantile", values, _units(source))},
        {"quantile": ("quantile", np.array([float(s) for s in shares]), {"units": "1"})},
        {"question": f"quantiles of {source.text}", **attributes, **skipped},
    )


def histogram(source: Values, bins: int | str | Sequence[Any] = 10) -> xr.Dataset:
    """How many feasible configurations have a value in each of some bins.

    Parameters
    ----------
    source : Values
        The formula.
    bins : int or sequence
        A number of equal bins between the least and the largest finite value, or the edges:
        ascending numbers, or texts with units. A bin holds its low edge; the last holds both.

    Raises
    ------
    InfeasibleError
        No feasible configuration has a finite value to put bins around.
    """
    edges = _edges(source, bins)
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


def _edges(source: Values, bins: Any) -> Floats:
    bins = bins[()] if isinstance(bins, np.ndarray) else bins  # of no dimensions: a number
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        if not 1 <= bins <= _BINS:
            raise DseError(f"bins = {bins}: expected from 1 to {_BINS:,} bins, or their edges")
        found = source.gather(_Range)
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
