"""What would shorten a launch: each remedy by the law of the launch that it makes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from heapq import heapreplace
from operator import attrgetter

import numpy as np

from stochastic import sizes
from stochastic.arrays import Ints
from stochastic.errors import LawError
from stochastic.launch_time.dispatch import dispatch_law
from stochastic.launch_time.launch import launch
from stochastic.launch_time.law import TimeLaw
from stochastic.launch_time.settings import longest_item_law
from stochastic.launch_time.shared_rate import SharedLaunch
from stochastic.remedies.binning import partition
from stochastic.remedies.splitting import split
from stochastic.work.pmf import Pmf

#: Bins into which items are sorted, places where one may end, lengths of pieces that are tried.
_BINS, _PLACES, _LENGTHS = sizes.LAUNCH_BINS, sizes.LAUNCH_PLACES, sizes.LAUNCH_LENGTHS
_CUT = 1e-12
_ORDERS = sizes.LAUNCH_ORDERS  # at random


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What is done, and the law of the launch then; ``unit`` is how long a step takes, to before.

    Attributes
    ----------
    name : str
        Sorting, splitting, granularity, smaller blocks, persistence.
    what : str
        The setting that gains most, in words.
    """

    name: str
    description: str
    times: TimeLaw | SharedLaunch
    unit: float = 1.0

    @property
    def mean(self) -> float:
        """The mean time of the launch, in steps as they are now."""
        return float(self.times.mean()) * self.unit

    def quantile(self, q: float) -> float:
        """A quantile of that time."""
        return float(self.times.quantile(q)) * self.unit


def remedies(
    work: Pmf,
    *,
    blocks: int,
    slots: int,
    lanes: int = 32,
    warps: int = 1,
    cut_overhead: int = 0,
    share_overhead: float = 0.0,
    repeat_probability: float = 0.0,
) -> list[Remedy]:
    """What could be done about a launch, the shortest mean first; the best setting of each.

    Parameters
    ----------
    work, blocks, slots, lanes, warps
        As for :func:`stochastic.launch`.
    cut_overhead : int
        Steps that each further piece adds to an item.
    share_overhead : float
        Share of its work that each further lane on an item adds.
    alike : float
        Probability that a lane repeats its neighbour's work; pieces of items never do.

    Notes
    -----
    A remedy whose law is too large to be computed is left out. Sorted items go to blocks of alike
    items, which are launched in random order. Smaller blocks fill the slots with as many warps.

    >>> found = remedies(Pmf.geometric(0.05), blocks=100, slots=16, lanes=8, warps=2)
    >>> [one.name for one in found][-1]
    'smaller blocks'
    """
    items = lanes * warps

    def persistence_remedies() -> Iterator[Remedy]:
        words = {
            "loop": "as many blocks as slots, each loops over its share",
            "queue": "as many blocks as slots, whose warps take work from a queue",
        }
        for dispatch, what in words.items():
            times, _ = dispatch_law(work, blocks, slots, lanes, warps, dispatch, repeat_probability)
            yield Remedy(name="persistence", description=what, times=times)

    def sorting_remedies() -> Iterator[Remedy]:
        """Blocks of items of one bin, each block of any bin."""
        law = work.cut(_CUT / (blocks * items))
        result = partition(law, _BINS, items, places=_PLACES, alike=repeat_probability)
        bins = int(result["enough"])
        if bins < 2:
            return
        shares = result["weight"].sel(bins=bins).values[:bins]
        longest = [
            longest_item_law(one, items, _CUT / blocks, repeat_probability)[0]
            for one in result.laws(bins)
        ]
        block = Pmf.mixture(list(zip(shares / shares.sum(), longest, strict=True)))
        times = launch(block, blocks=blocks, slots=slots).times()
        yield Remedy(
            name="sorting", description=f"items into {bins} bins of alike work", times=times
        )

    def splitting_remedies() -> Iterator[Remedy]:
        law = work.cut(_CUT / (blocks * items))
        longest = int(law.high)
        if longest < 2:
            return
        ends = np.unique(np.geomspace(max(work.mean() / 4, 1), longest, _LENGTHS + 1).astype(int))
        lengths = [int(one) for one in ends if 0 < one < longest]
        result = split(law, lengths, cut_overhead, lanes)
        for length, pieces in zip(lengths, result["pieces"].values.tolist(), strict=True):
            many = math.ceil(blocks * pieces - 1e-9)
            times, _ = dispatch_law(result.law(length), many, slots, lanes, warps)
            yield Remedy(
                name="splitting", description=f"items into pieces of up to {length}", times=times
            )

    def granularity_remedies() -> Iterator[Remedy]:
        for each in (n for n in range(2, lanes + 1) if lanes % n == 0):
            times, _ = dispatch_law(
                work, blocks * each, slots, lanes // each, warps, correlation=repeat_probability
            )
            unit = (1 + (each - 1) * share_overhead) / each
            what = f"{each} lanes share an item, {each} times the blocks"
            yield Remedy(name="granularity", description=what, times=times, unit=unit)

    def small_block_remedies() -> Iterator[Remedy]:
        for each in (n for n in range(1, warps) if warps % n == 0):
            more = warps // each
            times, _ = dispatch_law(
                work, blocks * more, slots * more, lanes, each, correlation=repeat_probability
            )
            what = f"{more} times the blocks, of {each} warp{'s' * (each > 1)}"
            yield Remedy(name="smaller blocks", description=what, times=times)

    result, mean = [], attrgetter("mean")
    for part in (
        persistence_remedies(),
        sorting_remedies(),
        splitting_remedies(),
        granularity_remedies(),
        small_block_remedies(),
    ):
        with suppress(LawError):
            result += sorted(part, key=mean)[:1]
    return sorted(result, key=mean)


def order_makespans(lengths: Ints, *, slots: int, items: int) -> dict[str, float]:
    """The time of the items of a trace: each block of so many in a row, on the first free slot.

    ``given`` as they lie, ``longest first``, and ``shuffled``, the mean of some orders at random.

    >>> order_makespans(np.array([1, 1, 4, 4]), slots=2, items=1)["given"]
    5.0
    """
    rng = np.random.default_rng(0)
    drawn = [_makespan(rng.permutation(lengths), slots, items) for _ in range(_ORDERS)]
    return {
        "given": _makespan(lengths, slots, items),
        "longest first": _makespan(np.sort(lengths)[::-1], slots, items),
        "shuffled": float(np.mean(drawn)),
    }


def _makespan(lengths: Ints, slots: int, items: int) -> float:
    ends = [0] * slots
    for first in range(0, len(lengths), items):
        heapreplace(ends, ends[0] + int(lengths[first : first + items].max()))
    return float(max(ends))
