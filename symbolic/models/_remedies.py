"""What would help against imbalance: bins, pieces, shared items (Swatman 2022, §II and §III).

Bins cost nothing here. Pieces and sharing are told where what they cost is given: ``cut_overhead``,
``share_overhead``.
"""

from __future__ import annotations

from symbolic.equation import equation

BINS = "Swatman 2022, §III-B, by exact partition"
SHARES = "Swatman 2022, §II-B and §III-B"
CUTS = "E[pieces] E[longest piece] / E[W] of every length"


@equation(source=BINS, table=True)
def suggested_bins(distribution, lanes, most_bins):
    """Bins of similar work into which items are sorted: one more divides by less than 1.01."""
    return distribution.binned(lanes, most_bins)[0]


@equation(source=BINS, table=True)
def binned_slowdown(distribution, lanes, most_bins):
    """What a workload pays for lockstep with its items in these bins. [ratio]"""
    return distribution.binned(lanes, most_bins)[1]


@equation(source=CUTS, table=True)
def suggested_piece(distribution, lanes, cut_overhead):
    """Length into which longer items are cut for the least work in all. [iterations]"""
    return distribution.cut(lanes, cut_overhead)[0]


@equation(source=CUTS, table=True)
def cut_slowdown(distribution, lanes, cut_overhead):
    """What a workload pays for lockstep and cuts with its items in these pieces. [ratio]"""
    return distribution.cut(lanes, cut_overhead)[1]


@equation(source=SHARES, table=True)
def suggested_lanes(distribution, lanes, share_overhead):
    """Items in lockstep at the least cost, where the lanes left over share an item. [lanes]"""
    return distribution.shared(lanes, share_overhead)[0]


@equation(source=SHARES, table=True)
def shared_slowdown(distribution, lanes, share_overhead):
    """What a workload pays for lockstep and sharing with so many items in it. [ratio]"""
    return distribution.shared(lanes, share_overhead)[1]


EQUATIONS = (
    suggested_bins,
    binned_slowdown,
    suggested_piece,
    cut_slowdown,
    suggested_lanes,
    shared_slowdown,
)
