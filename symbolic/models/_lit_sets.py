"""Sets of multiprocessors on their TPCs: read from text, chosen, counted exactly."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from functools import lru_cache
from itertools import combinations

from symbolic.errors import DseError

#: Most choices of TPCs that are tried one by one for the farthest apart.
TRIED = 1_000_000


@lru_cache(maxsize=4096)
def numbers(name, text):
    """Whole numbers joined by hyphens, as in Table 12.

    >>> numbers("lit_sms", "0-7-1-8")
    (0, 7, 1, 8)
    """
    parts = [part.strip() for part in re.split("[-,]", text)]
    if not all(part.isdecimal() for part in parts):
        raise DseError(
            f"{name} = {text!r}: expected numbers from 0 joined by hyphens, such as '0-7-1-8'"
        )
    return tuple(map(int, parts))


@lru_cache(maxsize=4096)
def lit(text):
    """The SMs of a set, each once."""
    sms = numbers("lit_sms", text)
    twice = [sm for sm, count in Counter(sms).items() if count > 1]
    if twice:
        raise DseError(f"lit_sms = {text!r} names SM {twice[0]} twice: name each once")
    return sms


def lit_tpcs(text, tpc_map):
    """The TPCs that a set of SMs lights, in rising order."""
    tpc_of = numbers("tpc_map", tpc_map)
    for sm in lit(text):
        if sm >= len(tpc_of):
            raise DseError(
                f"lit_sms = {text!r} names SM {sm}, and the machine has SMs 0 to {len(tpc_of) - 1}"
            )
    return sorted({tpc_of[sm] for sm in lit(text)})


def members(tpc_map):
    """The SMs of each TPC, by the TPC."""
    found: dict[int, list[int]] = {}
    for sm, tpc in enumerate(numbers("tpc_map", tpc_map)):
        found.setdefault(tpc, []).append(sm)
    return dict(sorted(found.items()))


def checked(count, tpc_map):
    """How many SMs are to be lit, as a whole number that the machine has."""
    there = len(numbers("tpc_map", tpc_map))
    if not 1 <= count <= there or count != int(count):
        raise DseError(f"{count:g} SMs are to be lit: expected a whole number from 1 to {there}")
    return int(count)


def fewest(count, tpc_map):
    """The fewest TPCs that hold so many SMs: those with the most SMs first."""
    left, needed = checked(count, tpc_map), 0
    for size in sorted(map(len, members(tpc_map).values()), reverse=True):
        if left > 0:
            left, needed = left - size, needed + 1
    return needed


def most(count, tpc_map):
    """The most TPCs that so many SMs light: one on each while there are any."""
    return min(checked(count, tpc_map), len(members(tpc_map)))


def ways(count, tpc_map, lit_tpcs):
    """How many sets of so many SMs light exactly so many TPCs: exact, a whole number.

    With T_c TPCs of c SMs it is the coefficient of x^k y^t in the product over c of
    (1 + y ((1 + x)^c - 1))^T_c. Expanded in powers of 1 + x it has as many terms as there are
    numbers of TPCs and of SMs in them, whatever the number of sets.
    """
    terms = {(0, 0): 1}
    for size, there in Counter(map(len, members(tpc_map).values())).items():
        grown: Counter[tuple[int, int]] = Counter()
        for (tpcs, sms), factor in terms.items():
            for more in range(min(there, lit_tpcs - tpcs) + 1):
                for kept in range(more + 1):
                    sign = -1 if (more - kept) % 2 else 1
                    step = sign * math.comb(there, more) * math.comb(more, kept)
                    grown[tpcs + more, sms + size * kept] += factor * step
        terms = grown
    k = checked(count, tpc_map)
    return sum(f * math.comb(sms, k) for (tpcs, sms), f in terms.items() if tpcs == lit_tpcs)


def joined(sms):
    """SMs as text, in rising order."""
    return "-".join(map(str, sorted(sms)))


def filled(count, tpc_map, tpcs):
    """So many SMs of some TPCs, one TPC after the other, as text."""
    of = members(tpc_map)
    return joined([sm for tpc in tpcs for sm in of[tpc]][: checked(count, tpc_map)])


def compact(count, tpc_map):
    """A set that lights the fewest TPCs: the fullest TPCs, the lowest where equal."""
    of = members(tpc_map)
    return filled(count, tpc_map, sorted(of, key=lambda tpc: -len(of[tpc])))


def scatter(count, tpc_map):
    """A set that lights the most TPCs: the first SM of each, then the second."""
    turns = [(turn, sm) for sms in members(tpc_map).values() for turn, sm in enumerate(sms)]
    return joined([sm for _, sm in sorted(turns)[: checked(count, tpc_map)]])


@lru_cache(maxsize=64)
def matrix(text, tpcs):
    """Distances between TPCs, numbered in rising order, from a list of rows as JSON."""
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


def separation(places, distances):
    """How far apart some TPCs are: the least distance of two, then the sum of all."""
    pairs = [distances[i][j] for i, j in combinations(places, 2)]
    return min(pairs, default=math.inf), math.fsum(pairs)


def apart(count, tpc_map, distances):
    """A set that lights the fewest TPCs, of these the farthest apart; the lowest where equal."""
    of = members(tpc_map)
    needed = fewest(count, tpc_map)
    if math.comb(len(of), needed) > TRIED:
        raise DseError(
            f"{needed} of {len(of)} TPCs can be chosen in {math.comb(len(of), needed):.3g} ways, "
            f"more than the {TRIED:,} that are tried: give lit_sms, or placement_policy 'compact'"
        )
    table, tpcs = matrix(distances, len(of)), list(of)
    best: tuple[float, float] = (-1.0, 0.0)
    found: tuple[int, ...] = ()
    for places in combinations(range(len(of)), needed):
        if sum(len(of[tpcs[place]]) for place in places) >= count:
            here = separation(places, table)
            if here > best:
                best, found = here, places
    return filled(count, tpc_map, [tpcs[place] for place in found])
