"""Placement of active multiprocessors on few and distant clusters (Hong 2012, ch. 4).

A texture processing cluster (TPC) contains several SMs and shared units. The shared units draw
power if at least one SM of the TPC is active. ``lit_sms`` lists the active SMs as in Table 12,
``"0-7-1-8"``. If it is not given, ``placement_policy`` chooses them: ``compact`` uses the fewest
TPCs, ``scatter`` the most, ``apart`` the fewest TPCs with the largest distances between them.

The thesis determined which SMs share a TPC only for the 8800GT (§4.5.2): SM i is on TPC i mod 7.
For other machines the same order is assumed, unless ``tpc_map`` is given. The thesis shows the
floor plan only as a figure, so the user gives ``tpc_distances``, a matrix that only ``apart`` uses.
"""

import json
import math
import re
from collections import Counter
from functools import lru_cache
from itertools import combinations

from symbolic.equation import equation
from symbolic.errors import DseError
from symbolic.model import Guide, Validity
from symbolic.ops import equal, where

#: Differences between placements; the power of the system also needs ``placement_base_power``.
OUTPUTS = (
    "active_tpcs", "fewest_tpcs", "most_tpcs", "placements", "equal_placements",
    "placement_loss", "placement_fit",
)  # fmt: skip
VALIDITY = Validity(
    quantity="release_year",
    maximum=2008,
    statement="placement knows only which SMs of a GPU of 2007 (8800 GT) share a cluster",
)

#: The user may give both ``lit_sms`` and ``active_sms``.
RULES = ("lit_count == active_sms",)

#: Power is linear in the number of TPCs, so there are no competing terms. The state tells if the
#: line was fitted for this number of SMs.
ADVICE = Guide(
    state="placement_fit",
    goal="placement_power",
    limits="placement_power",
    helps="",
    show=("active_tpcs", "fewest_tpcs"),
    remedies={"suggested_placement_power": "suggested_placement"},
)

TABLE_12 = "Hong 2012, Table 12 and §4.6.2"
COMPACT, SCATTER, APART = ({"placement_policy": way} for way in ("compact", "scatter", "apart"))

#: Maximum number of sets of TPCs whose distances are compared one by one.
MAX_CHOICES = 1_000_000


@lru_cache(maxsize=4096)
def _parse_numbers(name, text):
    """Parse whole numbers that are joined by hyphens, as in Table 12."""
    parts = [part.strip() for part in re.split("[-,]", text)]
    if not all(part.isdecimal() for part in parts):
        raise DseError(
            f"{name} = {text!r}: expected numbers from 0 joined by hyphens, such as '0-7-1-8'"
        )
    return tuple(map(int, parts))


@lru_cache(maxsize=4096)
def _parse_lit_sms(text):
    sms = _parse_numbers("lit_sms", text)
    twice = [sm for sm, count in Counter(sms).items() if count > 1]
    if twice:
        raise DseError(f"lit_sms = {text!r} names SM {twice[0]} twice: name each once")
    return sms


def _lit_tpcs(text, tpc_map):
    tpc_of = _parse_numbers("tpc_map", tpc_map)
    for sm in _parse_lit_sms(text):
        if sm >= len(tpc_of):
            raise DseError(
                f"lit_sms = {text!r} names SM {sm}, and the machine has SMs 0 to {len(tpc_of) - 1}"
            )
    return sorted({tpc_of[sm] for sm in _parse_lit_sms(text)})


def _sms_by_tpc(tpc_map):
    result: dict[int, list[int]] = {}
    for sm, tpc in enumerate(_parse_numbers("tpc_map", tpc_map)):
        result.setdefault(tpc, []).append(sm)
    return dict(sorted(result.items()))


def _check_count(count, tpc_map):
    there = len(_parse_numbers("tpc_map", tpc_map))
    if not 1 <= count <= there or count != int(count):
        raise DseError(f"{count:g} SMs are to be lit: expected a whole number from 1 to {there}")
    return int(count)


def _fewest_tpcs(count, tpc_map):
    """Return the smallest number of TPCs that together have ``count`` SMs."""
    left, needed = _check_count(count, tpc_map), 0
    for size in sorted(map(len, _sms_by_tpc(tpc_map).values()), reverse=True):
        if left > 0:
            left, needed = left - size, needed + 1
    return needed


def _count_sets(count, tpc_map, lit_tpcs):
    """Return the exact number of sets of ``count`` SMs on exactly ``lit_tpcs`` TPCs.

    Let T_c TPCs have c SMs each. The number for k SMs and t TPCs is the coefficient of x^k y^t in
    the product over c of (1 + y ((1 + x)^c - 1))^T_c. The product is expanded in powers of 1 + x.
    """
    terms = {(0, 0): 1}
    for size, there in Counter(map(len, _sms_by_tpc(tpc_map).values())).items():
        grown: Counter[tuple[int, int]] = Counter()
        for (tpcs, sms), factor in terms.items():
            for more in range(min(there, lit_tpcs - tpcs) + 1):
                for full in range(more + 1):
                    sign = -1 if (more - full) % 2 else 1
                    step = sign * math.comb(there, more) * math.comb(more, full)
                    grown[tpcs + more, sms + size * full] += factor * step
        terms = grown
    k = _check_count(count, tpc_map)
    return sum(f * math.comb(sms, k) for (tpcs, sms), f in terms.items() if tpcs == lit_tpcs)


def _join_sms(sms):
    return "-".join(map(str, sorted(sms)))


def _fill_tpcs(count, tpc_map, tpcs):
    of = _sms_by_tpc(tpc_map)
    return _join_sms([sm for tpc in tpcs for sm in of[tpc]][: _check_count(count, tpc_map)])


@lru_cache(maxsize=64)
def _parse_distances(text, tpcs):
    """Parse and check the JSON matrix of distances between TPCs; its rows are in order of TPCs."""
    try:
        rows = json.loads(text)
        square = len(rows) == tpcs and all(len(row) == tpcs for row in rows)
        table = [[float(value) for value in row] for row in rows]
    except (TypeError, ValueError):
        square, table = False, []
    paired = square and all(
        0 <= table[i][j] == table[j][i] < math.inf and (i != j or table[i][j] == 0)
        for i in range(tpcs)
        for j in range(tpcs)
    )
    if not paired:
        raise DseError(
            f"tpc_distances = {text!r}: expected a row for each of the {tpcs} TPCs, "
            "'[[0, 1], [1, 0]]', with 0 on the diagonal, the same distance both ways, none below 0"
        )
    return table


def _separation(places, distances):
    """Return the smallest distance between two TPCs of a set, and the sum of all distances."""
    pairs = [distances[i][j] for i, j in combinations(places, 2)]
    return min(pairs, default=math.inf), math.fsum(pairs)


@equation(source="Hong 2012, §4.5.2", table=True)
def tpc_map(n_sms, n_tpcs):
    """The TPC of each SM, joined by hyphens; SM i is on TPC i mod n_TPC.

    >>> tpc_map(14, 7)  # 8800GT
    '0-1-2-3-4-5-6-0-1-2-3-4-5-6'
    """
    return "-".join(str(sm % int(n_tpcs)) for sm in range(int(n_sms)))


@equation(
    name="lit_sms", source="Hong 2012, §4.7: as few TPCs as possible", table=True, when=COMPACT
)
def lit_sms_compact(sms_to_light, tpc_map):
    """A set of SMs on the fewest TPCs: the largest TPCs are filled first.

    >>> lit_sms_compact(4, "0-1-2-3-4-5-6-0-1-2-3-4-5-6")  # "0-7-1-8", the best of Table 12
    '0-1-7-8'
    """
    of = _sms_by_tpc(tpc_map)  # take TPCs with many SMs first
    return _fill_tpcs(sms_to_light, tpc_map, sorted(of, key=lambda tpc: -len(of[tpc])))


@equation(name="lit_sms", source="Hong 2012, §4.6.2: the worst", table=True, when=SCATTER)
def lit_sms_scatter(sms_to_light, tpc_map):
    """A set of SMs on the most TPCs.

    >>> lit_sms_scatter(4, "0-1-2-3-4-5-6-0-1-2-3-4-5-6")  # the worst of Table 12
    '0-1-2-3'
    """
    # first SM of each TPC, then second SM of each TPC, ...
    turns = [(turn, sm) for sms in _sms_by_tpc(tpc_map).values() for turn, sm in enumerate(sms)]
    return _join_sms([sm for _, sm in sorted(turns)[: _check_count(sms_to_light, tpc_map)]])


@equation(name="lit_sms", source="Hong 2012, §4.7: few TPCs, far apart", table=True, when=APART)
def lit_sms_apart(sms_to_light, tpc_map, tpc_distances):
    """A set of SMs on the fewest TPCs, with the largest distances between these TPCs.

    The search is exact: the set has the largest minimum distance between two TPCs, and among such
    sets the largest sum of distances. The thesis does not define distance.
    """
    of = _sms_by_tpc(tpc_map)
    needed = _fewest_tpcs(sms_to_light, tpc_map)
    if math.comb(len(of), needed) > MAX_CHOICES:
        raise DseError(
            f"{needed} of {len(of)} TPCs can be chosen in {math.comb(len(of), needed):.3g} ways, "
            f"more than the {MAX_CHOICES:,} that are tried: give lit_sms, or placement_policy "
            "'compact'"
        )
    table, tpcs = _parse_distances(tpc_distances, len(of)), list(of)
    best: tuple[float, float] = (-1.0, 0.0)
    result: tuple[int, ...] = ()
    for places in combinations(range(len(of)), needed):
        if sum(len(of[tpcs[place]]) for place in places) >= sms_to_light:
            here = _separation(places, table)
            if here > best:
                best, result = here, places
    return _fill_tpcs(sms_to_light, tpc_map, [tpcs[place] for place in result])


@equation(source="Hong 2012, Table 12", table=True)
def lit_count(lit_sms):
    """Number of SMs in ``lit_sms``. [SMs]"""
    return float(len(_parse_lit_sms(lit_sms)))


@equation(source="Hong 2012, Table 12")
def active_sms(lit_count):
    """Number of active SMs, which are those in ``lit_sms``. [SMs]"""
    return lit_count


@equation(source="Hong 2012, Table 12", table=True)
def active_tpcs(lit_sms, tpc_map):
    """Number of TPCs with at least one active SM. [TPCs]

    >>> shown = "0-1-2-3-4-5-6-0-1-2-3-4-5-6"  # 8800GT
    >>> [active_tpcs(sms, shown) for sms in ("0-7-1-8", "4-11-0-1", "0-1-2-3")]
    [2.0, 3.0, 4.0]
    """
    return float(len(_lit_tpcs(lit_sms, tpc_map)))


@equation(source="Hong 2012, §4.7", table=True)
def fewest_tpcs(active_sms, tpc_map):
    """Smallest number of TPCs for this number of active SMs. [TPCs]"""
    return float(_fewest_tpcs(active_sms, tpc_map))


@equation(source="Hong 2012, §4.6.2", table=True)
def most_tpcs(active_sms, tpc_map):
    """Largest number of TPCs for this number of active SMs. [TPCs]"""
    return float(min(_check_count(active_sms, tpc_map), len(_sms_by_tpc(tpc_map))))


@equation(source="Hong 2012, §4.6.2, all sets of Table 12's kind", table=True)
def placements(active_sms, tpc_map):
    """Number of sets with this number of active SMs. [sets]

    >>> placements(4, "0-1-2-3-4-5-6-0-1-2-3-4-5-6")
    1001.0
    """
    there = len(_parse_numbers("tpc_map", tpc_map))
    return float(math.comb(there, _check_count(active_sms, tpc_map)))


@equation(source="counted exactly, by the TPCs of Hong 2012, §4.5.2", table=True)
def equal_placements(active_sms, tpc_map, active_tpcs):
    r"""Number of sets with this number of active SMs and this number of active TPCs. [sets]

    For T TPCs of c SMs each, with k active SMs on t TPCs,

    .. math:: \binom{T}{t} \sum_j (-1)^j \binom{t}{j} \binom{c (t - j)}{k}

    >>> shown = "0-1-2-3-4-5-6-0-1-2-3-4-5-6"  # 8800GT
    >>> [equal_placements(4, shown, tpcs) for tpcs in (2, 3, 4)]
    [21.0, 420.0, 560.0]
    """
    return float(_count_sets(active_sms, tpc_map, int(active_tpcs)))


@equation(source="Hong 2012, §4.7, by a matrix of one's own", table=True)
def tpc_separation(lit_sms, tpc_map, tpc_distances):
    """Smallest distance between two active TPCs; infinite if there is only one."""
    tpcs = list(_sms_by_tpc(tpc_map))
    places = [tpcs.index(tpc) for tpc in _lit_tpcs(lit_sms, tpc_map)]
    return _separation(places, _parse_distances(tpc_distances, len(tpcs)))[0]


@equation(source=f"{TABLE_12}, least squares")
def placement_power(placement_base_power, power_per_tpc, active_tpcs):
    """Power of the system with these active SMs, by a line fitted to measurements. [W]

    The thesis measured four active SMs, so the coefficients of the 8800GT hold only for four SMs;
    see :func:`placement_fit`.

    >>> [round(placement_power(245.834, 3.9276, tpcs), 2) for tpcs in (2, 3, 4)]
    [253.69, 257.62, 261.54]
    """
    return placement_base_power + power_per_tpc * active_tpcs


@equation(source=f"{TABLE_12}, least squares")
def placement_temperature(placement_base_temperature, temperature_per_tpc, active_tpcs):
    """Temperature of the chip with these active SMs, by a line fitted to measurements. [°C]

    As :func:`placement_power`, the coefficients of the 8800GT hold only for four active SMs.

    >>> [round(placement_temperature(74.2261, 1.3134, tpcs), 2) for tpcs in (2, 3, 4)]
    [76.85, 78.17, 79.48]
    """
    return placement_base_temperature + temperature_per_tpc * active_tpcs


@equation(source=f"{TABLE_12}, least squares; §4.6.1")
def placement_loss(power_per_tpc, active_tpcs, fewest_tpcs, placement_fit):
    """Power that would be saved if the same number of SMs were on the fewest TPCs. [W]

    It is 0 if all placements were measured to draw the same power; see :func:`placement_fit`.
    """
    return where(equal(placement_fit, 2), 0.0, power_per_tpc * (active_tpcs - fewest_tpcs))


@equation(
    source="Hong 2012, §4.6.1",
    flags={
        0: "as many SMs lit as where the line was fitted",
        1: "beyond the fit",
        2: "no choice: one SM, two, or half of the chip were measured to draw the same",
    },
    table=True,
)
def placement_fit(active_sms, fitted_sms, tpc_map):
    """State of the fitted power line: 0 if it holds, 1 if not, 2 if placements do not differ.

    The thesis measured one, two, four and seven active SMs of the 14 of the 8800GT. Only for four
    did placements differ: fewer SMs make no hot spots, and half of the SMs heat the whole chip.

    >>> shown = "0-1-2-3-4-5-6-0-1-2-3-4-5-6"  # 8800GT
    >>> [placement_fit(sms, 4, shown) for sms in (1, 2, 3, 4, 7)]
    [2.0, 2.0, 1.0, 0.0, 2.0]
    """
    if active_sms == fitted_sms:
        return 0.0
    few, half = active_sms <= 2, 2 * active_sms >= len(_parse_numbers("tpc_map", tpc_map))
    return 2.0 if few or half else 1.0


@equation(source="Hong 2012, §4.7: as few TPCs as possible", table=True)
def suggested_placement(active_sms, tpc_map):
    """A set of the same number of active SMs on the fewest TPCs."""
    return lit_sms_compact(active_sms, tpc_map)


@equation(source="Hong 2012, Table 12", table=True)
def suggested_tpcs(suggested_placement, tpc_map):
    """Number of TPCs with active SMs in the suggested placement. [TPCs]"""
    return float(len(_lit_tpcs(suggested_placement, tpc_map)))


@equation(source=f"{TABLE_12}, least squares")
def suggested_placement_power(
    placement_power, power_per_tpc, active_tpcs, suggested_tpcs, placement_fit
):
    """Power of the system with the suggested placement. [W]"""
    return placement_power - placement_loss(
        power_per_tpc, active_tpcs, suggested_tpcs, placement_fit
    )
