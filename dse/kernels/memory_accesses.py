"""Requests of warps to memory: the addresses of lanes, widths, sectors and wavefronts.

Shared memory has 32 banks of 4 bytes: a wavefront reads one word of each, for all lanes that ask
for it (CUDA C++ Programming Guide, shared memory). It holds a register a lane, so that 8 bytes a
lane are asked for by half warps and 16 by quarters; two of these are one wavefront where the lanes
of every pair, next to each other or two apart, load the same (NVIDIA, developer forum 77228, of
compute capability 7.0 to 7.5; taken for later ones, too). The first cache reads four sectors a
wavefront, each of another quarter of a line (Khairy 2020, Accel-Sim).

What moves all lanes of a warp alike, as most passes of loops and blocks do, matters only by where
in a sector it leaves them; it is told apart, and its places are counted exactly. Where the pattern
of the lanes changes with passes and blocks, some of these are looked at.

The threads of a block touch a set of bytes. Passes of loops and other blocks move it by constants,
where an address is linear in them; what the moved sets have in common is counted once.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dse.kernels.affine import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Atom,
    Condition,
    Whole,
    alone,
    atom,
    common,
    constant,
    known,
    rebuilt,
)
from dse.kernels.instructions import GLOBAL, Instruction, split, width_of
from dse.kernels.launch_values import BLOCKS, Launch, along, spread_places
from dse.kernels.loop_counts import Reading, resting
from stochastic import sizes

#: Bytes of a sector, the piece in which caches and DRAM move data; of a word of a bank.
SECTOR, WORD = 32, 4
#: Banks of shared memory; quarters of a line, of each of which the first cache reads a sector.
BANKS, QUARTERS = 32, 4

Lanes = npt.NDArray[np.int64]
Active = npt.NDArray[np.bool_]


def sectors(first: Lanes, active: Active, width: int) -> Any:
    """The sectors of each request, by the first bytes of its lanes and which of these ask.

    >>> sectors(4 * np.arange(32)[None], np.ones((1, 32), bool), 4).tolist()
    [4]
    """
    return _new(_pieces(first, active, width, SECTOR))[1].sum(axis=-1)


def cache_wavefronts(first: Lanes, active: Active, width: int, *, load: bool = True) -> Any:
    """The wavefronts of each request to global memory in the first cache."""
    held = _count_by_groups(lambda groups: _asking(active, groups), first, active, width, load)
    return np.maximum(held, _fullest(_pieces(first, active, width, SECTOR), QUARTERS))


def shared_wavefronts(first: Lanes, active: Active, width: int, *, load: bool = True) -> Any:
    """The wavefronts of each request to shared memory.

    >>> first, every = 4 * np.arange(32)[None], np.ones((1, 32), bool)
    >>> [shared_wavefronts(stride * first, every, 4).item() for stride in (0, 1, 2, 32, 33)]
    [1, 1, 2, 32, 1]
    """
    return _count_by_groups(
        lambda groups: _in_groups(first, active, width, groups), first, active, width, load
    )


def _count_by_groups(
    count: Callable[[int], Any], first: Lanes, active: Active, width: int, load: bool
) -> Any:
    """Return a count by groups of lanes served in turn; by half as many where pairs meet."""
    words = max(width // WORD, 1)
    if load and words > 1:
        return np.where(_paired(first, active), count(words // 2), count(words))
    return count(words)


def _in_groups(first: Lanes, active: Active, width: int, groups: int) -> Any:
    """Wavefronts of requests whose lanes are served in groups, one after the other."""
    shape = (len(first) * groups, first.shape[-1] // groups)
    asks = active.reshape(shape)
    found = _fullest(_pieces(first.reshape(shape), asks, width, WORD), BANKS)
    return (found * asks.any(axis=-1)).reshape(-1, groups).sum(axis=-1)


def _asking(active: Active, groups: int) -> Any:
    """How many groups of lanes have one that asks."""
    return active.reshape(len(active), groups, -1).any(axis=-1).sum(axis=-1)


def _paired(first: Lanes, active: Active) -> Any:
    """Whether all pairs of lanes that ask, one apart or two, ask for the same."""
    lanes = np.arange(first.shape[-1])
    return np.logical_or.reduce([
        ((first == first[:, lanes ^ by]) | ~active | ~active[:, lanes ^ by]).all(axis=-1)
        for by in (1, 2)
    ])  # fmt: skip


def _pieces(first: Lanes, active: Active, width: int, size: int) -> Any:
    """The pieces of memory that each request touches, some more than once."""
    begin = np.take_along_axis(first, active.argmax(axis=-1)[:, None], axis=-1)
    first = np.where(active, first, begin)
    more = np.arange((width - 1) // size + 2)
    last = (first + width - 1) // size
    return np.minimum(first[..., None] // size + more, last[..., None]).reshape(len(first), -1)


def _new(pieces: Lanes) -> tuple[Any, Any]:
    """Pieces in order, and of each whether it is the first that is the same."""
    ordered = np.sort(pieces, axis=-1)
    return ordered, np.diff(ordered, axis=-1, prepend=ordered[:, :1] - 1) != 0


def _fullest(pieces: Lanes, banks: int) -> Any:
    """The most different pieces of a request that are of one bank."""
    ordered, new = _new(pieces)
    at = np.arange(len(pieces))[:, None] * banks + ordered % banks
    return np.bincount(at[new], minlength=len(pieces) * banks).reshape(-1, banks).max(axis=-1)


#: How far a step moves an address in bytes, and how many steps there are.
Moves = tuple[tuple[int, int], ...]
#: Blocks, and requests of all warps there in all passes, that are looked at.
_BLOCKS, _REQUESTS = sizes.REQUEST_BLOCKS, sizes.REQUESTS_LOOKED


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of warps: the first bytes of lanes, which lanes ask, how many each stands for."""

    first: npt.NDArray[np.int64]
    active: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.float64]

    def least(self, width: int) -> float:
        """The sectors that hold as many bytes a lane as are asked for."""
        return self.mean(-(-self.active.sum(axis=-1) * width // SECTOR))

    def mean(self, numbers: Any) -> float:
        """The mean of a number of each."""
        least = float(numbers.min())  # so that what is the same for all stays exact
        return least + float(np.average(numbers - least, weights=self.weight))


def of_lanes(launch: Launch, where: Whole, asks: Whole) -> Requests:
    """The requests of an instruction; of conditions on blocks alone, of which nothing else rests
    on the place, all hold: whatever blocks ask, each asks alike.
    """
    ((product, _),) = asks.terms.items()
    others = (*where.atoms(), *_of_passes(launch, where, asks))
    used = Counter(name for one in (*product, *others) for name in _blocks(one))
    kept = tuple(
        one for one in product if not _of_blocks(one) or any(used[n] > 1 for n in _blocks(one))
    )
    asks = Whole({kept: 1})
    return launch.once(  # type: ignore[no-any-return]
        atom("requests", where, asks), lambda: requests(launch, where, asks)
    )


def _of_passes(launch: Launch, where: Whole, asks: Whole) -> list[Atom]:
    """What the passes rest on that are in an address, or in which lanes ask."""
    every = {**resting(where, launch.passes), **resting(asks, launch.passes)}
    return [one for many in every.values() for one in many.atoms()]


def _is_place(one: Atom) -> bool:
    """True if an atom is a pass of a loop or a block's number in its grid."""
    return one.kind == "pass" or (one.kind == "special" and one.of[0] in BLOCKS)


def _blocks(one: Atom) -> set[str]:
    return {each.of[0] for each in one.atoms() if each.kind == "special" and each.of[0] in BLOCKS}


def _of_blocks(one: Atom) -> bool:
    """True if a condition rests on nothing but the numbers of blocks."""
    return one.kind == "if" and all(
        each.kind in ("if", "over", "scaled", "least", "most")
        or (each.kind == "special" and each.of[0] in BLOCKS)
        for each in one.atoms()
    )


def requests(launch: Launch, where: Whole, asks: Whole) -> Requests:
    """The requests of an instruction, of lanes where ``asks`` is not 0; those that no lane makes
    are left out."""
    atoms = dict.fromkeys((*where.atoms(), *asks.atoms()))
    axes = [name for name in BLOCKS if launch.grid[BLOCKS.index(name)] > 1]
    placed = {*atoms, *_of_passes(launch, where, asks)}
    axes = [name for name in axes if Atom("special", (name,)) in placed]
    blocks, weight = dict[str, Any](), np.ones((1, 1, 1, 1))
    for name in axes:
        at = BLOCKS.index(name)
        looked, stand_for = along(launch.grid[at], int(_BLOCKS ** (1 / len(axes)) + 1e-9))
        blocks[name] = np.expand_dims(looked, [each for each in range(5) if each != at])
        weight = weight * np.expand_dims(stand_for, [each for each in range(4) if each != at])
    shape = (*weight.shape[:3], *launch.active.shape)
    heads = [one.of[0] for one in atoms if one.kind == "pass"]
    most = max(_REQUESTS // math.prod(shape[:-1]), 2)
    each = int(most ** (1 / max(len(heads), 1)) + 1e-9)
    passes = [
        spread_places(max(launch.most(launch.passes[head]), 1), max(each, 2)).tolist()
        for head in heads
    ]
    found = []
    for now in itertools.product(*passes):
        here = launch.at(dict(zip(heads, now, strict=True)), blocks)
        active = launch.active & (np.asarray(here.value(asks)) > 0)
        for head, at_pass in zip(heads, now, strict=True):
            active = active & (at_pass < np.asarray(here.value(launch.passes[head])))
        first = np.broadcast_to(np.asarray(here.value(where)), shape)
        found.append((first, np.broadcast_to(active, shape), np.broadcast_to(weight, shape[:-1])))
    first, active, of = (np.concatenate([each[at] for each in found]) for at in range(3))
    asking = active.any(axis=-1)
    if not asking.any():
        asking, active = ~asking, np.broadcast_to(launch.active, active.shape)
    return Requests(first[asking].astype(np.int64), active[asking], of[asking])


def phases(moves: Moves, fixed: int, unit: int) -> dict[int, float]:
    """Where in a unit of bytes moves leave an address, and the share of each such place.

    >>> phases(((4, 6), (32, 1000)), 0, 8)
    {0: 0.5, 4: 0.5}
    """
    shares = np.zeros(unit)
    shares[fixed % unit] = 1.0
    for step, many in moves:
        period = unit // math.gcd(step, unit)
        at = np.arange(period)
        many = max(many, 1)
        times = many // period + (at < many % period)
        shares = sum(t / many * np.roll(shares, a * step) for a, t in zip(at, times, strict=True))
    return {int(at): float(shares[at]) for at in np.flatnonzero(shares)}


def moved(launch: Launch, where: Whole) -> tuple[Moves, Moves, Whole]:
    """The moves of an address by passes and by blocks, and what remains of it."""
    passes, blocks, rest = [], [], dict(where.terms)
    for product, times in where.terms.items():
        if len(product) != 1 or not _is_place(one := product[0]):
            continue
        if any(one in each.atoms() for p in where.terms if p != product for each in p):
            continue
        del rest[product]
        if one.kind == "pass":
            passes.append((times, launch.most(launch.passes[one.of[0]])))
        else:
            blocks.append((times, launch.grid["xyz".index(one.of[0][-1])]))
    return tuple(passes), tuple(blocks), Whole(rest)


_STORES = ("global_store", "atomic", "local_store")
_INSIDE = re.compile(r"\[([^\[\]]*)\]$")
_UNKNOWN = ("unknown", "loaded", "entry", "reciprocal", "first", "total")
#: What moves an address, and the constant bytes from there.
Address = tuple[Whole, int]


@dataclass(frozen=True, slots=True)
class Request:
    """An instruction that asks memory, in ``many`` requests of each warp, and a mean one of these.

    ``runs`` is how often it runs, by its block. ``least`` is the sectors that as many bytes take at
    least; ``sectors`` is None where the address depends on data, and ``wavefronts`` then those of
    addresses in a row. ``lanes`` and ``addresses`` are what its lanes and its addresses rest on. It
    is ``decided`` where no guard is left out that rests on data, and ``within`` where its bytes
    over all of the launch are known.
    """

    one: Instruction
    runs: tuple[int, Whole]
    many: float
    sectors: float | None
    wavefronts: float
    least: float
    lanes: frozenset[Atom]
    addresses: frozenset[Atom]
    decided: bool
    within: bool

    @property
    def bytes(self) -> float:
        """The bytes of the sectors that it asks for."""
        return SECTOR * (self.least if self.sectors is None else self.sectors)

    @property
    def is_uncoalesced(self) -> bool:
        """True if global memory is asked for more sectors than the bytes take, and one more."""
        sectors = self.sectors if self.one.kind in GLOBAL else None
        return sectors is not None and sectors > self.least + 1


class Memory:
    """The requests of a launch to memory, added one by one.

    ``rests_on`` is :meth:`dse.kernels.counted.Tally.rests_on`.
    A warp's requests ask for sectors. A block asks the second cache for what it loads, and gives it
    what it stores, each byte once. DRAM moves what all blocks touch, once, if the
    second cache keeps it; local memory is taken to stay in the caches.
    """

    def __init__(
        self, reading: Reading, launch: Launch, rests_on: Callable[..., frozenset[Atom]]
    ) -> None:
        self.reading, self.launch, self._rests_on = reading, launch, rests_on
        self.made: list[Request] = []
        self._footprints = Footprints(launch)
        self._often: dict[tuple[int, Condition], tuple[Whole, float, float, Whole, bool]] = {}
        self._alone = self._local = 0.0
        #: Arrays begin at whole lines.
        self._bases = launch.pointers.difference(launch.arguments)
        self._solved: dict[tuple[Whole, int], Address] = {}

    def of(self, kinds: Collection[str]) -> list[Request]:
        """Return the requests of some classes of instructions."""
        return [each for each in self.made if each.one.kind in kinds]

    def add(self, number: int, place: int) -> None:
        """Add an instruction, by the block it stands in and its place there."""
        one = self.reading.flow.blocks[number].body[place]
        runs, many, each, asks, decided = self.how_often(number, place)
        where = self._address(one, number, place)
        lanes = addresses = self._rests_on(asks)
        if where is not None:
            lanes |= self._rests_on(_of_lanes(where[0]), places=False)
            addresses |= self._rests_on(where[0], places=False)
        sectors, wavefronts, least = self._numbers(one, where, asks)
        within = False
        if many and one.kind in GLOBAL and where is not None:
            way = "store" if one.kind in _STORES else "load"
            within = self._footprints.add(where, width_of(one), each * self.launch.threads, way)
        request = Request(
            one=one,
            runs=(number, runs),
            many=many,
            sectors=sectors,
            wavefronts=wavefronts,
            least=least,
            lanes=lanes,
            addresses=addresses,
            decided=decided,
            within=within,
        )
        self.made.append(request)
        warps = len(self.launch.active)
        if one.kind in GLOBAL and not within:
            self._alone += request.bytes * many * warps
        elif one.kind == "local_store":  # a place of the stack, however often it is written
            self._local += request.bytes * min(many, 1.0) * warps

    def how_often(self, number: int, place: int) -> tuple[Whole, float, float, Whole, bool]:
        """Return how often an instruction runs, as far as its guard is known.

        That is an expression, runs of a warp and of a thread, which lanes run it (1 where all), and
        whether no guard is left out that rests on data.
        """
        guarded = bool(self.reading.flow.blocks[number].body[place].guard)
        when = self.reading.values.holds(number, place) if guarded else TRUE
        if (number, when) not in self._often:
            runs, decided = self.reading.blocks[number], True
            if when != TRUE and known(when):
                runs = runs * atom("if", when)
            else:
                for each in alone(when):
                    if each == FALSE:
                        runs = ZERO
                    elif each != TRUE and known(each):
                        runs = runs * atom("if", each)
                    else:
                        decided = decided and each == TRUE
            many, sized = self.launch.per_warp(runs), self.launch.sized(runs)
            of_thread = self.launch.per_thread(sized)
            self._often[number, when] = runs, many, of_thread, self._asks(sized), decided
        return self._often[number, when]

    def touched(
        self, grid: int | None, names: Collection[str]
    ) -> tuple[dict[str, float], dict[str, str]]:
        """Return bytes of a block and, where the grid is known, of the launch; and their formulas.

        Where a launch has one axis, of which ``names`` tells, they are formulas in its sizes.
        """
        threads, growing = self.launch.threads, np.array([0.0, 1.0])
        own = self._footprints.bytes(every=False) + growing * (self._alone + self._local)
        found = {"block_bytes": (own, threads, "threads_per_block")}
        if grid is not None:
            every = self._footprints.bytes(every=True) + growing * self._alone * grid
            found["launch_bytes"] = every, grid * threads, "elements"
        values, formulas = {}, {}
        for name, (each, of, by) in found.items():
            fixed, grows = each.tolist()
            values[name] = fixed + grows
            if grows and "threads_per_block" in names:
                before = f"{fixed:.10g} + " if fixed else ""
                formulas[name] = f"{before}{grows / of:.10g} * {by}"
        return values, formulas

    # --- addresses
    def _address(self, one: Instruction, block: int, place: int) -> Address | None:
        """Return the address of an instruction, by arguments, threads, blocks and passes."""
        if (parts := _parts(one.text, one.kind == "global_copy")) is None:
            return None
        values, where = self.reading.values, ZERO
        for name, times in parts:
            where = where + values.operand(name, block, place).times(times)
        moving, fixed = _apart(where)
        if (moving, block) not in self._solved:
            solved = values.solved(moving, block)
            self._solved[moving, block] = _apart(self.launch.sized(solved))
        moving, more = self._solved[moving, block]
        return moving, fixed + more

    def _asks(self, runs: Whole) -> Whole:
        """Return which lanes ask of what runs: 1 where all conditions hold that can be followed."""
        found = ONE
        for one in common(runs):
            if one.kind == "if" and self._known(Whole({(one,): 1})):
                found = found * Whole({(one,): 1})
        return found

    def _known(self, value: Whole) -> bool:
        """True if a value is known at each thread, and does not rest on data."""
        return not any(
            one.kind in _UNKNOWN
            or (one.kind == "argument" and one.of[0] not in self.launch.arguments)
            for one in value.atoms()
        )

    def _base(self, product: tuple[Atom, ...], shared: bool) -> bool:
        """True if a part of an address is where an array begins; in shared memory a constant."""
        if len(product) != 1:
            return False
        (one,) = product
        if one.kind == "argument":
            return one.of[0] in self._bases
        return _constant(one) if shared else is_device_array(one)

    def _numbers(
        self, one: Instruction, where: Address | None, asks: Whole
    ) -> tuple[float | None, float, float]:
        """Return sectors, wavefronts and the least sectors of a warp's request on average."""
        load, shared = one.kind.endswith("load"), one.kind.startswith("shared")
        moving, fixed = where or (None, 0)
        unit = WORD if shared else SECTOR
        way, fixed = (width_of(one), load, shared), fixed % unit  # whole ones on, it is the same

        def numbers() -> tuple[float | None, float, float]:
            moves, still = tuple[tuple[int, int], ...](), moving
            if moving is not None:
                kept = {
                    p: t for p, t in moving.terms.items() if t != 1 or not self._base(p, shared)
                }
                passes, blocks, still = moved(self.launch, self.launch.numbered(Whole(kept)))
                moves, still = (*passes, *blocks), still if self._known(still) else None
            every = of_lanes(self.launch, ZERO if still is None else still, asks)
            if still is None:  # taken as one after the other
                row = way[0] * np.arange(every.active.shape[-1]) + 0 * every.first
                return None, *_mean_request(every, row, *way)[1:]
            found = through = least = 0.0
            for at, share in phases(moves, fixed, unit).items():
                told = _mean_request(every, every.first + at, *way)
                found, through, least = found + share * told[0], through + share * told[1], told[2]
            return found, through, least

        key = atom("requests", moving or ZERO, asks)
        return self.launch.once(key, numbers, moving is None, fixed, *way)  # type: ignore[no-any-return]


def _of_lanes(where: Whole) -> Whole:
    """Return the part of an address in which the lanes of a warp differ."""
    return Whole(
        {
            product: times
            for product, times in where.terms.items()
            if any(
                one.kind == "special" and one.of[0].startswith(("tid", "lane"))
                for one in Whole({product: 1}).atoms()
            )
        }
    )


def _mean_request(
    every: Requests, first: Lanes, width: int, load: bool, shared: bool
) -> tuple[float, float, float]:
    """Return sectors, wavefronts and the least sectors of requests that begin at some bytes."""
    wavefronts = shared_wavefronts if shared else cache_wavefronts
    through = every.mean(wavefronts(first, every.active, width, load=load))
    return every.mean(sectors(first, every.active, width)), through, every.least(width)


def is_device_array(one: Atom) -> bool:
    """Whether it is where an array of the source begins, which bank 4 of the constants holds."""
    return _constant(one) and str(one.of[0][1]).startswith("c[0x4]")


def _constant(one: Atom) -> bool:
    return one.kind == "unknown" and one.of[0][0] == "constant"


def _apart(where: Whole) -> Address:
    """An address without its constant, and that."""
    fixed = where.terms.get((), 0)
    if not fixed:
        return where, 0
    return Whole({product: t for product, t in where.terms.items() if product}), fixed


@lru_cache(maxsize=1 << 14)
def _parts(text: str, last: bool) -> list[tuple[str, int]] | None:
    """The operands that the first or last address in a text of operands sums, and their factors."""
    inside = [m[1] for each in split(text) if (m := _INSIDE.search(each.strip()))]
    if not inside:
        return None
    found = []
    for part in inside[-1 if last else 0].split("+"):
        name, _, times = part.partition(".X")
        found.append((name, int(times) if times.isdigit() else 1))
    return found


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
        places = _places(self.launch, rest)
        if places is None:
            return None
        base = union(np.stack([places, places + width], axis=1))
        return arrays or (offset,), passes, blocks, base

    def bytes(self, *, every: bool) -> Bytes:
        """Return the bytes that one block touches, or ``every`` block.

        What the threads of a block touch one by one grows with it, and what each block touches of
        its own with their number.
        """
        return self._of("load", every) + self._of("store", every)

    def _of(self, way: str, every: bool) -> Bytes:
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

    def _pointer(self, one: Atom) -> bool:
        return is_device_array(one) or (
            one.kind == "argument" and one.of[0] in self.launch.pointers
        )


def _places(launch: Launch, value: Whole) -> npt.NDArray[np.int64] | None:
    """Return the different numbers of an expression; None if there are too many."""
    inside = {(one.kind, one.of[0]) for one in value.atoms() if one.kind in ("pass", "special")}
    heads = [name for kind, name in inside if kind == "pass"]
    blocks = [name for kind, name in inside if kind == "special" and name in BLOCKS]
    sizes = [launch.most(launch.passes[head]) for head in heads]
    sizes += [launch.grid[BLOCKS.index(name)] for name in blocks]
    if math.prod(sizes) * launch.active.size > LOOKED:
        return None
    found = set[int]()
    for at in itertools.product(*map(range, sizes)):
        here = launch.at(
            dict(zip(heads, at, strict=False)), dict(zip(blocks, at[len(heads) :], strict=True))
        )
        every = np.broadcast_to(np.asarray(here.value(value)), (1, *launch.active.shape))
        found.update(np.unique(every[0][launch.active]).astype(np.int64).tolist())
    return np.array(sorted(found), dtype=np.int64) if found else None
