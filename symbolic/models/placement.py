"""Which multiprocessors to light: as few TPCs as possible, and those far apart (Hong 2012, ch. 4).

A texture processing cluster (TPC) holds several SMs and what they share, which draws power as soon
as one of them is lit. ``lit_sms`` names the lit SMs as Table 12 does, ``"0-7-1-8"``; where it is
not given, ``placement_policy`` chooses as many as ``active_sms``: ``compact`` lights the fewest
TPCs, ``scatter`` the most, ``apart`` the fewest and of these the farthest apart.

The thesis found which SMs share a TPC on the 8800GT alone (§4.5.2): SM i is on TPC i mod 7. For
other machines ``tpc_map`` assumes the same order, unless given. Its floor plan is but a figure:
``tpc_distances`` is a matrix of one's own, and only ``apart`` uses it.
"""

from __future__ import annotations

import math

from symbolic.equation import equation
from symbolic.model import Guide, Validity
from symbolic.models import _lit_sets
from symbolic.ops import equal, where

OUTPUTS = (
    "active_tpcs",
    "fewest_tpcs",
    "most_tpcs",
    "placements",
    "equal_placements",
    "placement_power",
    "placement_loss",
    "placement_fit",
)
VALIDITY = Validity(
    of="release_year",
    most=2008,
    says="placement knows which SMs share a cluster of a GPU of 2007 (8800 GT) alone",
)

#: Both may be given.
RULES = ("lit_count == active_sms",)

#: Power is a line on the TPCs: nothing competes. Where the line was not fitted, that is told.
ADVICE = Guide(
    state="placement_fit",
    goal="placement_power",
    limits="placement_power",
    helps="",
    show=("active_tpcs", "fewest_tpcs"),
    remedies={"suggested_placement_power": "suggested_placement"},
)

TABLE_12 = "Hong 2012, Table 12 and §4.6.2"


@equation(source="Hong 2012, §4.5.2", table=True)
def tpc_map(n_sms, n_tpcs):
    r"""The TPC of each SM, joined by hyphens, from SM 0 on.

    .. math:: i \bmod n_{TPC}

    >>> tpc_map(14, 7)  # 8800GT
    '0-1-2-3-4-5-6-0-1-2-3-4-5-6'
    """
    return "-".join(str(sm % int(n_tpcs)) for sm in range(int(n_sms)))


@equation(
    name="lit_sms",
    source="Hong 2012, §4.7: as few TPCs as possible",
    table=True,
    when={"placement_policy": "compact"},
)
def lit_sms_compact(sms_to_light, tpc_map):
    """A set that lights the fewest TPCs; exact, since TPCs are filled from the largest on.

    >>> lit_sms_compact(4, "0-1-2-3-4-5-6-0-1-2-3-4-5-6")  # "0-7-1-8", the best of Table 12
    '0-1-7-8'
    """
    return _lit_sets.compact(sms_to_light, tpc_map)


@equation(
    name="lit_sms",
    source="Hong 2012, §4.6.2: the worst",
    table=True,
    when={"placement_policy": "scatter"},
)
def lit_sms_scatter(sms_to_light, tpc_map):
    """A set that lights the most TPCs.

    >>> lit_sms_scatter(4, "0-1-2-3-4-5-6-0-1-2-3-4-5-6")  # the worst of Table 12
    '0-1-2-3'
    """
    return _lit_sets.scatter(sms_to_light, tpc_map)


@equation(
    name="lit_sms",
    source="Hong 2012, §4.7: few TPCs, far apart",
    table=True,
    when={"placement_policy": "apart"},
)
def lit_sms_apart(sms_to_light, tpc_map, tpc_distances):
    """A set that lights the fewest TPCs, and of these the farthest apart; exact.

    Far apart is decided by the least distance of two lit TPCs, then by the sum of all distances;
    the thesis does not say.

    >>> lit_sms_apart(4, "0-1-2-0-1-2", "[[0, 1, 2], [1, 0, 1], [2, 1, 0]]")
    '0-2-3-5'
    """
    return _lit_sets.apart(sms_to_light, tpc_map, tpc_distances)


@equation(source="Hong 2012, Table 12", table=True)
def lit_count(lit_sms):
    """How many SMs are lit. [SMs]

    >>> lit_count("0-7-1-8")
    4.0
    """
    return float(len(_lit_sets.lit(lit_sms)))


@equation(source="Hong 2012, Table 12")
def active_sms(lit_count):
    """Active SMs: those lit. [SMs]

    >>> active_sms(4.0)
    4.0
    """
    return lit_count


@equation(source="Hong 2012, Table 12", table=True)
def active_tpcs(lit_sms, tpc_map):
    """TPCs with a lit SM. [TPCs]

    >>> shown = "0-1-2-3-4-5-6-0-1-2-3-4-5-6"  # 8800GT
    >>> [active_tpcs(sms, shown) for sms in ("0-7-1-8", "4-11-0-1", "0-1-2-3")]
    [2.0, 3.0, 4.0]
    """
    return float(len(_lit_sets.lit_tpcs(lit_sms, tpc_map)))


@equation(source="Hong 2012, §4.7", table=True)
def fewest_tpcs(active_sms, tpc_map):
    """The fewest TPCs that as many SMs can light. [TPCs]

    >>> fewest_tpcs(4, "0-1-2-3-4-5-6-0-1-2-3-4-5-6")
    2.0
    """
    return float(_lit_sets.fewest(active_sms, tpc_map))


@equation(source="Hong 2012, §4.6.2", table=True)
def most_tpcs(active_sms, tpc_map):
    """The most TPCs that as many SMs can light. [TPCs]

    >>> most_tpcs(4, "0-1-2-3-4-5-6-0-1-2-3-4-5-6")
    4.0
    """
    return float(_lit_sets.most(active_sms, tpc_map))


@equation(source="Hong 2012, §4.6.2, all sets of Table 12's kind", table=True)
def placements(active_sms, tpc_map):
    r"""Sets of as many SMs. [sets]

    .. math:: \binom{n}{k}

    >>> placements(4, "0-1-2-3-4-5-6-0-1-2-3-4-5-6")
    1001.0
    """
    there = len(_lit_sets.numbers("tpc_map", tpc_map))
    return float(math.comb(there, _lit_sets.checked(active_sms, tpc_map)))


@equation(source="counted exactly, by the TPCs of Hong 2012, §4.5.2", table=True)
def equal_placements(active_sms, tpc_map, active_tpcs):
    r"""Sets of as many SMs that light as many TPCs. [sets]

    For T TPCs of c SMs each, t of them lit by k SMs,

    .. math:: \binom{T}{t} \sum_j (-1)^j \binom{t}{j} \binom{c (t - j)}{k}

    >>> shown = "0-1-2-3-4-5-6-0-1-2-3-4-5-6"  # 8800GT
    >>> [equal_placements(4, shown, tpcs) for tpcs in (2, 3, 4)]
    [21.0, 420.0, 560.0]
    """
    return float(_lit_sets.ways(active_sms, tpc_map, int(active_tpcs)))


@equation(source="Hong 2012, §4.7, by a matrix of one's own", table=True)
def tpc_separation(lit_sms, tpc_map, tpc_distances):
    """The least distance of two lit TPCs, infinite where one is lit.

    >>> tpc_separation("0-2", "0-1-2-0-1-2", "[[0, 1, 2], [1, 0, 1], [2, 1, 0]]")
    2.0
    """
    tpcs = list(_lit_sets.members(tpc_map))
    places = [tpcs.index(tpc) for tpc in _lit_sets.lit_tpcs(lit_sms, tpc_map)]
    return _lit_sets.separation(places, _lit_sets.matrix(tpc_distances, len(tpcs)))[0]


@equation(source=f"{TABLE_12}, least squares")
def placement_power(placement_base_power, power_per_tpc, active_tpcs):
    r"""Power of the system with these SMs lit, by a line through measurements. [W]

    The measurements of the thesis are of four SMs, and so are the coefficients of the 8800GT: it
    holds for these alone, see :func:`placement_fit`. Without a base power it is the power of the
    TPCs alone.

    .. math:: P = P_0 + p \cdot \#TPC

    >>> [round(placement_power(245.834, 3.9276, tpcs), 2) for tpcs in (2, 3, 4)]
    [253.69, 257.62, 261.54]
    """
    return placement_base_power + power_per_tpc * active_tpcs


@equation(source=f"{TABLE_12}, least squares")
def placement_loss(power_per_tpc, active_tpcs, fewest_tpcs):
    """Power that fewer TPCs would save with as many SMs lit, see :func:`placement_fit`. [W]

    >>> round(placement_loss(3.9276, 4.0, 2.0), 4)
    7.8552
    """
    return power_per_tpc * (active_tpcs - fewest_tpcs)


@equation(
    source="Hong 2012, §4.6.1",
    flags={
        0: "as many SMs lit as where the line was fitted",
        1: "beyond the fit: one, two or seven SMs were measured to draw the same wherever they lie",
    },
)
def placement_fit(active_sms, fitted_sms):
    """Whether the line of power on TPCs was fitted to as many lit SMs.

    The thesis lit one, two, four and seven SMs of the 8800GT and found a difference with four
    alone: fewer make no hot spots, and seven heat the whole chip.

    >>> placement_fit(4.0, 4.0), placement_fit(7.0, 4.0)
    (0.0, 1.0)
    """
    return where(equal(active_sms, fitted_sms), 0.0, 1.0)


@equation(source="Hong 2012, §4.7: as few TPCs as possible", table=True)
def suggested_placement(active_sms, tpc_map):
    """As many SMs as are lit, on the fewest TPCs.

    >>> suggested_placement(4, "0-1-2-3-4-5-6-0-1-2-3-4-5-6")
    '0-1-7-8'
    """
    return _lit_sets.compact(active_sms, tpc_map)


@equation(source="Hong 2012, Table 12", table=True)
def suggested_tpcs(suggested_placement, tpc_map):
    """TPCs that these light. [TPCs]

    >>> suggested_tpcs("0-1-7-8", "0-1-2-3-4-5-6-0-1-2-3-4-5-6")
    2.0
    """
    return float(len(_lit_sets.lit_tpcs(suggested_placement, tpc_map)))


@equation(source=f"{TABLE_12}, least squares")
def suggested_placement_power(placement_power, power_per_tpc, active_tpcs, suggested_tpcs):
    """Power of the system with these lit instead. [W]

    >>> round(suggested_placement_power(261.54, 3.9276, 4.0, 2.0), 2)
    253.68
    """
    return placement_power - power_per_tpc * (active_tpcs - suggested_tpcs)
