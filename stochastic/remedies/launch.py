"""Compare the laws of the time of a launch after changes that may shorten it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from heapq import heapreplace
from operator import attrgetter

import numpy as np

from stochastic import sizes
from stochastic.aliases import old_names
from stochastic.arrays import Ints
from stochastic.checks import LawError
from stochastic.launch_time.dispatch import dispatch_law
from stochastic.launch_time.launch import launch
from stochastic.launch_time.law import TimeLaw
from stochastic.launch_time.settings import longest_item_law
from stochastic.launch_time.shared_rate import SharedLaunch
from stochastic.remedies.binning import partition
from stochastic.remedies.splitting import split
from stochastic.work.pmf import Pmf

_BINS, _PLACES, _LENGTHS = sizes.LAUNCH_BINS, sizes.LAUNCH_PLACES, sizes.LAUNCH_LENGTHS
_CUT = 1e-12  # Probability that some item of a launch is beyond the truncated law of work.
_ORDERS = sizes.LAUNCH_ORDERS  # Number of random orders, whose times are averaged.


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A change of a launch, described in words, and the law of the time of the changed launch.

    A step of this law lasts ``unit`` steps of the original launch.
    """

    name: str
    description: str
    times: TimeLaw | SharedLaunch
    unit: float = 1.0

    @property
    def mean(self) -> float:
        """Return the mean time of the changed launch, in steps of the original launch."""
        return float(self.times.mean()) * self.unit

    def quantile(self, q: float) -> float:
        """Return the q-quantile of the time, in steps of the original launch."""
        return float(self.times.quantile(q)) * self.unit


@old_names(alike="correlation")
def remedies(
    work: Pmf,
    *,
    blocks: int,
    slots: int,
    lanes: int = 32,
    warps: int = 1,
    cut_overhead: int = 0,
    share_overhead: float = 0.0,
    correlation: float = 0.0,
) -> list[Remedy]:
    """Return remedies of a launch, each with its best setting; the shortest mean time comes first.

    A remedy whose law is too large to compute is left out. We assume that blocks of sorted items
    are launched in random order, that smaller blocks do not change the number of resident warps,
    that pieces of items are independent, and that their number is its mean, so that the blocks are
    as many as on average (rounded up). Each further piece of an item adds ``cut_overhead``
    steps. Each further lane on an item adds the share ``share_overhead`` of the item's work.
    """
    items = lanes * warps

    def persistence() -> Iterator[Remedy]:
        words = {
            "loop": "as many blocks as slots, each loops over its share",
            "queue": "as many blocks as slots, whose warps take work from a queue",
        }
        for dispatch, what in words.items():
            times, _ = dispatch_law(work, blocks, slots, lanes, warps, dispatch, correlation)
            yield Remedy(name="persistence", description=what, times=times)

    def sorting() -> Iterator[Remedy]:
        law = work.cut(_CUT / (blocks * items))
        result = partition(law, _BINS, items, places=_PLACES, correlation=correlation)
        bins = int(result["enough"])
        if bins < 2:
            return
        shares = result["weight"].sel(bins=bins).values[:bins]
        tail, laws = _CUT / blocks, result.laws(bins)
        longest = [longest_item_law(one, items, tail, correlation)[0] for one in laws]
        block = Pmf.mixture(list(zip(shares / shares.sum(), longest, strict=True)))
        times = launch(block, blocks=blocks, slots=slots).times()
        yield Remedy(
            name="sorting", description=f"items into {bins} bins of similar work", times=times
        )

    def splitting() -> Iterator[Remedy]:
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
            what = f"items into pieces of up to {length}, assuming {many:,} independent blocks"
            yield Remedy(name="splitting", description=what, times=times)

    def granularity() -> Iterator[Remedy]:
        for each in (n for n in range(2, lanes + 1) if lanes % n == 0):
            shape = blocks * each, slots, lanes // each, warps
            times, _ = dispatch_law(work, *shape, correlation=correlation)
            unit = (1 + (each - 1) * share_overhead) / each
            what = f"{each} lanes share an item, {each} times the blocks"
            yield Remedy(name="granularity", description=what, times=times, unit=unit)

    def small_blocks() -> Iterator[Remedy]:
        for each in (n for n in range(1, warps) if warps % n == 0):
            more = warps // each
            shape = blocks * more, slots * more, lanes, each
            times, _ = dispatch_law(work, *shape, correlation=correlation)
            what = f"{more} times the blocks, of {each} warp{'s' * (each > 1)}"
            yield Remedy(name="smaller blocks", description=what, times=times)

    result, mean = [], attrgetter("mean")
    for find in (persistence, sorting, splitting, granularity, small_blocks):
        with suppress(LawError):
            result += sorted(find(), key=mean)[:1]
    return sorted(result, key=mean)


def order_makespans(lengths: Ints, *, slots: int, items: int) -> dict[str, float]:
    """Return the time that slots take for the items of a trace, for three orders of the items.

    Each block takes ``items`` consecutive items. The orders are ``given``, ``longest first`` and
    ``shuffled`` (the mean time over some random orders).
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
