"""How many feasible configurations lie in which bin of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from sweeps.grid.dataset import assemble
from sweeps.scan.bins import Bins, Range
from sweeps.scan.quantiles import told_of, units_of
from sweeps.scan.values import Floats, Values, nothing
from symbolic.errors import DseError
from symbolic.expression import parse_value

if TYPE_CHECKING:
    import xarray as xr

#: Most bins.
_BINS = sizes.BINS_MOST


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
    weight, units = source.weight, units_of(source)
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
            **told_of(source, rest),
            **skipped,
        },
    )


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
