"""Bytes that a kernel touches, by block and by launch, each once; and its requests to memory.

The threads of a block touch a set of bytes. Passes of loops and other blocks move it by constants,
where an address is linear in them; what the moved sets have in common is counted once.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dse.kernels.affine import ZERO, Atom, Whole, atom, constant, rebuilt
from dse.kernels.conditions import FALSE, TRUE, Condition, alone, known
from dse.kernels.launch_values import BLOCKS, Launch
from dse.kernels.memory_accesses import (
    SECTOR,
    Access,
    Accesses,
    Address,
    Moves,
    is_device_array,
    moved,
)
from dse.kernels.tally import GLOBAL, SHARED, Reading, Tally
from stochastic import sizes

#: Runs of bytes that are kept one by one, and addresses that are looked at for one access.
MOST, LOOKED = sizes.FOOTPRINT_RUNS, sizes.FOOTPRINT_LOOKED

_FOLLOWED = (
    *("special", "pass", "over", "scaled", "least", "most", "if"),
    *("exclusive or", "bitwise and", "bitwise or"),
)

Runs = npt.NDArray[np.int64]
#: Arrays, or an address without one; moves by passes and by blocks; what is touched unmoved.
Pattern = tuple[tuple[object, ...], Moves, Moves, Runs]
#: Whether loaded or stored, and what accesses must share to be one set.
Key = tuple[str, tuple[object, ...], Moves, Moves]


@dataclass(slots=True)
class Touched:
    """A set of bytes as runs from ``low`` to ``high``, of which ``times`` as many there are."""

    runs: Runs
    times: float = 1.0
    low: int = field(init=False)
    high: int = field(init=False)

    def __post_init__(self) -> None:
        self.low, self.high = int(self.runs[0, 0]), int(self.runs[-1, 1])

    def moved(self, step: int, many: int) -> Touched:
        """The union of the set with itself, moved ``many - 1`` times by ``step`` bytes.

        Moved further than the set is long it only repeats, so that its size grows by the same
        number with every step.
        """
        if step == 0 or many <= 1:
            return self
        reach = (many - 1) * abs(step)
        kept, long = many, int(self.runs[-1, 1]) - int(self.runs[0, 0])
        start = self.runs - (reach if step < 0 else 0)
        if len(self.runs) == 1 and abs(step) <= long:  # one run, which becomes longer
            return Touched(start + np.array([0, reach]), self.times)
        if len(self.runs) * many > MOST:
            apart = long // abs(step) + 3
            kept = min(many, apart, max(MOST // len(self.runs), 2))
        moves = np.arange(kept)[:, None, None] * abs(step)
        every = union((start + moves).reshape(-1, 2))
        found = Touched(every, self.times)
        if many > kept:
            last, before = size(every), size(union((start + moves[:-1]).reshape(-1, 2)))
            found.times *= (last + (many - kept) * (last - before)) / last
        found.low = self.low - (reach if step < 0 else 0)
        found.high = self.high + (reach if step > 0 else 0)
        return found

    def bytes(self) -> float:
        """Bytes of the sectors that it lies in."""
        ends = np.stack([self.runs[:, 0] // SECTOR, -(-self.runs[:, 1] // SECTOR)], axis=1)
        return min(size(union(ends * SECTOR)) * self.times, _between(self.low, self.high))


def size(runs: Runs) -> int:
    """Bytes of runs that do not meet."""
    return int((runs[:, 1] - runs[:, 0]).sum())


def _between(low: int, high: int) -> float:
    """Bytes of the sectors from one byte to another."""
    return float((-(-high // SECTOR) - low // SECTOR) * SECTOR)


def union(runs: Runs) -> Runs:
    """Runs in order that do not meet, of runs in any order.

    >>> union(np.array([[8, 12], [0, 4], [4, 6]])).tolist()
    [[0, 6], [8, 12]]
    """
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    reach = np.maximum.accumulate(runs[:, 1])
    apart = np.flatnonzero(runs[1:, 0] > reach[:-1])
    first, last = np.append(0, apart + 1), np.append(apart, len(runs) - 1)
    return np.stack([runs[first, 0], reach[last]], axis=1)


#: Bytes that are the same in every block or launch, and those that grow with it.
Bytes = npt.NDArray[np.float64]


class Footprints:
    """What the accesses of a kernel touch at a launch, by array."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self._sets: dict[Key, list[Runs]] = {}
        self._most: dict[Key, float] = {}
        self._by_thread: set[Key] = set()

    def add(self, where: Address, width: int, threads: float, way: str) -> bool:
        """One access, whether its address can be followed.

        ``threads`` is how many threads of a block make it, passes counted; ``way`` tells those
        apart that move bytes of their own, as loads and stores do.
        """
        moving, fixed = where
        pattern: Pattern | None = self.launch.once(
            moving, lambda: self._pattern(moving, width), "pattern", width
        )
        if pattern is None:
            return False
        arrays, passes, blocks, base = pattern
        key = (way, arrays, passes, blocks)
        self._sets.setdefault(key, []).append(base + fixed)
        if len(base) > 1 or base[0, 1] - base[0, 0] > width:
            self._by_thread.add(key)
        self._most[key] = self._most.get(key, 0.0) + threads * max(width, SECTOR)
        return True

    def _pattern(self, where: Whole, width: int) -> Pattern | None:
        """The arrays of an address, what moves it, and what a block's threads touch unmoved."""
        arrays = tuple(
            one.of[0]
            for product, times in where.terms.items()
            if times == 1 and len(product) == 1 and self._pointer(one := product[0])
        )
        offset = rebuilt(where, lambda one: constant(0) if self._pointer(one) else None)
        passes, blocks, rest = moved(self.launch, self.launch.numbered(offset))
        if any(one.kind not in _FOLLOWED for one in rest.atoms()):
            return None
        places = _places(self.launch, rest, LOOKED)
        if places is None:
            return None
        base = union(np.stack([places, places + width], axis=1))
        return arrays or (offset,), passes, blocks, base

    def block(self, way: str) -> Bytes:
        """What one block touches; what its threads touch one by one grows with it."""
        return self._held(way, every=False)

    def launched(self, way: str) -> Bytes:
        """What all blocks touch; what each touches of its own grows with their number."""
        return self._held(way, every=True)

    def _held(self, way: str, *, every: bool) -> Bytes:
        """The bytes of all arrays, of each no more than lie between the first and the last."""
        found: dict[object, list[tuple[Touched, float, bool]]] = {}
        grid = math.prod(self.launch.grid) if every else 1
        for key, runs in self._sets.items():
            of, arrays, passes, blocks = key
            if of != way:
                continue
            touched = Touched(union(np.concatenate(runs)))
            moves = (*passes, *blocks) if every else passes
            for step, many in sorted(moves, key=lambda one: abs(one[0])):
                touched = touched.moved(step, many)
            held = min(touched.bytes(), grid * self._most[key])
            grows = any(step for step, _ in blocks) if every else key in self._by_thread
            found.setdefault(arrays, []).append((touched, held, grows))
        total = np.zeros(2)
        for parts in found.values():
            low, high = min(one.low for one, *_ in parts), max(one.high for one, *_ in parts)
            every_part = sum(held for _, held, _ in parts)
            kept = min(every_part, _between(low, high)) / every_part
            for _, held, grows in parts:
                total[int(grows)] += held * kept
        return total

    # --- addresses
    def _pointer(self, one: Atom) -> bool:
        return is_device_array(one) or (
            one.kind == "argument" and one.of[0] in self.launch.pointers
        )


def _places(launch: Launch, value: Whole, most: int) -> npt.NDArray[np.int64] | None:
    """The different numbers of an expression over a block's threads, and the passes and blocks
    that are in it; None of more than ``most``."""
    inside = {(one.kind, one.of[0]) for one in value.atoms() if one.kind in ("pass", "special")}
    heads = [name for kind, name in inside if kind == "pass"]
    blocks = [name for kind, name in inside if kind == "special" and name in BLOCKS]
    sizes = [launch.most(launch.passes[head]) for head in heads]
    sizes += [launch.grid[BLOCKS.index(name)] for name in blocks]
    if math.prod(sizes) * launch.active.size > most:
        return None
    found = set[int]()
    for at in itertools.product(*map(range, sizes)):
        here = launch.at(
            dict(zip(heads, at, strict=False)), dict(zip(blocks, at[len(heads) :], strict=True))
        )
        every = np.broadcast_to(np.asarray(here.value(value)), (1, *launch.active.shape))
        found.update(np.unique(every[0][launch.active]).astype(np.int64).tolist())
    return np.array(sorted(found), dtype=np.int64) if found else None


_STORES = ("global_store", "atomic", "local_store")
_Sums = defaultdict[tuple[int, Whole], float]


@dataclass(frozen=True, slots=True)
class _Often:
    """How often a warp and a thread run an instruction, and which lanes do (1 where all).

    ``runs`` is that as an expression; ``decided`` where no guard is left out that rests on data.
    """

    runs: Whole
    warp: float
    thread: float
    asks: Whole
    decided: bool


def _is_of_thread(one: Atom) -> bool:
    return one.kind == "special" and one.of[0].startswith(("tid", "lane"))


class Memory:
    """The accesses of a launch, added one by one.

    A warp's requests ask for sectors. A block asks the second cache for what it loads, and gives it
    what it stores, each byte once. DRAM moves what all blocks touch, once, if the
    second cache keeps it; local memory is taken to stay in the caches.

    Attributes
    ----------
    coalesced, uncoalesced : dict
        Accesses by block of the code.
    by_kind : dict
        Requests of a warp by class of instruction.
    requests, followed, within : float
        Requests of a warp to global memory; those whose sectors are known; those whose bytes over
        all of the launch are.
    sectors, width : float
        Sectors of the followed, and bytes a thread of all, summed over the requests.
    loads, of_loads : float
        Requests of loads whose sectors are known, and their sectors.
    asked, waited, through, through_shared : dict
        Of each time that a block of the code runs: bytes of the sectors that are asked for,
        requests whose answer is waited for, wavefronts in the first cache and in shared memory.
    every, guarded : float
        Requests of a warp to all memory; those under a guard that rests on data, taken to hold.
    rests : dict
        What the counts of addresses rest on, by quantity: they hold for this launch alone.
    widths : set
        Bytes of a thread's accesses to global memory.
    in_shared, shared_followed : float
        Requests of a warp to shared memory; those whose addresses are known.
    """

    def __init__(self, reading: Reading, tally: Tally) -> None:
        self.reading, self.tally, self.launch = reading, tally, tally.launch
        self.accesses = Accesses(reading.values, tally.launch)
        self.coalesced, self.uncoalesced = _Sums(float), _Sums(float)
        self.by_kind = defaultdict[str, float](float)
        self.asked, self.waited = _Sums(float), _Sums(float)
        self.through, self.through_shared = _Sums(float), _Sums(float)
        self.every = self.guarded = 0.0
        self.rests: dict[str, frozenset[Atom]] = defaultdict(frozenset)
        self.widths: set[int] = set()
        self.in_shared = self.shared_followed = 0.0
        self.requests = self.followed = self.within = self.sectors = self.width = 0.0
        self._footprints = Footprints(tally.launch)
        self._often: dict[tuple[int, Condition], _Often] = {}
        self._alone = self._local = self.loads = self.of_loads = 0.0

    def add(self, number: int, place: int) -> None:
        """One instruction, by the block it stands in and its place there."""
        one = self.reading.flow.blocks[number].body[place]
        often = self._how_often(number, place)
        many, runs = often.warp, (number, often.runs)
        self.by_kind[one.kind] += many
        self.every += many
        self.guarded += 0.0 if often.decided else many
        where = self.accesses.address(one, number, place)
        told = self.accesses.of(one, where, often.asks)
        lanes = self.tally.rests_on(often.asks)
        every = lanes
        if where is not None:
            lanes |= self.tally.rests_on(self._of_lanes(where[0]), places=False)
            every |= self.tally.rests_on(where[0], places=False)
        if one.kind in SHARED:
            self.rests["shared_wavefronts"] |= every
            self.through_shared[runs] += told.wavefronts
            self.in_shared += many
            self.shared_followed += many if told.sectors is not None else 0.0
            return
        for name in ("l1_wavefronts", "warp_bytes"):
            self.rests[name] |= every
        for name in ("coalesced_insts", "uncoalesced_insts"):
            self.rests[name] |= lanes
        for name in ("block_bytes", "launch_bytes"):
            self.rests[name] |= every | self.tally.rests_on(runs[1])
        self.rests["bytes_per_thread"] |= self.tally.rests_on(runs[1])
        self.widths.add(told.bytes if one.kind in GLOBAL else 0)
        self.through[runs] += told.wavefronts
        self.waited[runs] += 1.0 if one.results else 0.0
        into = self.coalesced
        if one.kind in GLOBAL:
            into = self.uncoalesced if told.coalesced is False else self.coalesced
            self.requests += many
            self.width += many * told.bytes
            if told.sectors is not None:
                self.followed += many
                self.sectors += many * told.sectors
                if one.kind == "global_load":
                    self.loads += many
                    self.of_loads += many * told.sectors
        into[number, self.tally.of(number)] += 1.0
        if many:
            self._touch(one.kind, told, runs, many, where, often.thread)

    def _touch(
        self,
        kind: str,
        told: Access,
        runs: tuple[int, Whole],
        many: float,
        where: Address | None,
        each: float,
    ) -> None:
        """The bytes of an instruction that a warp runs so often, and each of its threads."""
        bytes_asked = SECTOR * (told.least if told.sectors is None else told.sectors)
        self.asked[runs] += bytes_asked
        if kind in GLOBAL:
            way = "store" if kind in _STORES else "load"
            threads = self.launch.threads
            if where is None or not self._footprints.add(where, told.bytes, each * threads, way):
                self._alone += bytes_asked * many * len(self.launch.active)
                return
            self.within += many
        elif kind in _STORES:  # a place of the stack, however often it is written
            self._local += bytes_asked * min(many, 1.0) * len(self.launch.active)

    def _of_lanes(self, where: Whole) -> Whole:
        """Return the part of an address in which the lanes of a warp differ."""
        return Whole(
            {
                product: times
                for product, times in where.terms.items()
                if any(_is_of_thread(one) for one in Whole({product: 1}).atoms())
            }
        )

    def warps(self, number: int, place: int) -> float:
        """How often a warp runs an instruction, as far as its guard is known."""
        return self._how_often(number, place).warp

    def _how_often(self, number: int, place: int) -> _Often:
        guarded = bool(self.reading.flow.blocks[number].body[place].guard)
        when = self.reading.values.holds(number, place) if guarded else TRUE
        if (number, when) not in self._often:
            runs = self.reading.often.blocks[number]
            decided = True
            for each in alone(when):
                if each == FALSE:
                    runs = ZERO
                elif each != TRUE and known(each):
                    runs = runs * atom("if", each)
                else:
                    decided = decided and each == TRUE
            if when != TRUE and known(when):
                runs, decided = self.reading.often.blocks[number] * atom("if", when), True
            many = self.tally.runs_of(runs)
            sized = self.launch.sized(runs)
            of_thread = self.launch.per_thread(sized)
            self._often[number, when] = _Often(
                runs, many, of_thread, self.accesses.asks(sized), decided
            )
        return self._often[number, when]

    def touched(
        self, grid: int | None, names: Collection[str]
    ) -> tuple[dict[str, float], dict[str, str]]:
        """Bytes of a block and, where the grid is known, of the launch: numbers and formulas.

        Where a launch has one axis, of which ``names`` tells, they are formulas in its sizes.
        """
        threads, growing = self.launch.threads, np.array([0.0, 1.0])
        own = self._footprints.block("load") + self._footprints.block("store")
        own += growing * (self._alone + self._local)
        found = {"block_bytes": (own, threads, "threads_per_block")}
        if grid is not None:
            every = self._footprints.launched("load") + self._footprints.launched("store")
            every += growing * self._alone * grid
            found["launch_bytes"] = every, grid * threads, "elements"
        values, formulas = {}, {}
        for name, (each, of, by) in found.items():
            fixed, grows = each.tolist()
            values[name] = fixed + grows
            if grows and "threads_per_block" in names:
                before = f"{fixed:.10g} + " if fixed else ""
                formulas[name] = f"{before}{grows / of:.10g} * {by}"
        return values, formulas
