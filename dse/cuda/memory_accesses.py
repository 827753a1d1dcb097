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

from dse.cuda.instructions import GLOBAL, Instruction, access_width, split_operands
from dse.cuda.integer_expressions import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Atom,
    Condition,
    IntExpr,
    atom_expr,
    common_atoms,
    conjuncts,
    constant,
    is_known,
    substitute,
)
from dse.cuda.launch_values import BLOCKS, KernelLaunch, sample_axis, sample_indices
from dse.cuda.loop_counts import KernelAnalysis, required_trip_counts
from stochastic import sizes

#: Bytes of a sector, the piece in which caches and DRAM move data; of a word of a bank.
SECTOR, WORD = 32, 4
#: Banks of shared memory; quarters of a line, of each of which the first cache reads a sector.
BANKS, QUARTERS = 32, 4

LaneAddresses = npt.NDArray[np.int64]
LaneMask = npt.NDArray[np.bool_]


def sectors(addresses: LaneAddresses, active: LaneMask, width: int) -> Any:
    """The sectors of each request, by the first bytes of its lanes and which of these ask.

    >>> sectors(4 * np.arange(32)[None], np.ones((1, 32), bool), 4).tolist()
    [4]
    """
    return _sort_distinct(_touched_pieces(addresses, active, width, SECTOR))[1].sum(axis=-1)


def cache_wavefronts(
    addresses: LaneAddresses, active: LaneMask, width: int, *, load: bool = True
) -> Any:
    """The wavefronts of each request to global memory in the first cache."""
    held = _count_by_groups(
        lambda groups: _active_groups(active, groups), addresses, active, width, load
    )
    return np.maximum(
        held, _max_per_bank(_touched_pieces(addresses, active, width, SECTOR), QUARTERS)
    )


def shared_wavefronts(
    addresses: LaneAddresses, active: LaneMask, width: int, *, load: bool = True
) -> Any:
    """The wavefronts of each request to shared memory.

    >>> first, every = 4 * np.arange(32)[None], np.ones((1, 32), bool)
    >>> [shared_wavefronts(stride * first, every, 4).item() for stride in (0, 1, 2, 32, 33)]
    [1, 1, 2, 32, 1]
    """
    return _count_by_groups(
        lambda groups: _group_wavefronts(addresses, active, width, groups),
        addresses,
        active,
        width,
        load,
    )


def _count_by_groups(
    count: Callable[[int], Any], addresses: LaneAddresses, active: LaneMask, width: int, load: bool
) -> Any:
    """Return a count by groups of lanes served in turn; by half as many where pairs meet."""
    words = max(width // WORD, 1)
    if load and words > 1:
        return np.where(_has_equal_pairs(addresses, active), count(words // 2), count(words))
    return count(words)


def _group_wavefronts(addresses: LaneAddresses, active: LaneMask, width: int, groups: int) -> Any:
    """Wavefronts of requests whose lanes are served in groups, one after the other."""
    shape = (len(addresses) * groups, addresses.shape[-1] // groups)
    asks = active.reshape(shape)
    result = _max_per_bank(_touched_pieces(addresses.reshape(shape), asks, width, WORD), BANKS)
    return (result * asks.any(axis=-1)).reshape(-1, groups).sum(axis=-1)


def _active_groups(active: LaneMask, groups: int) -> Any:
    """How many groups of lanes have one that asks."""
    return active.reshape(len(active), groups, -1).any(axis=-1).sum(axis=-1)


def _has_equal_pairs(addresses: LaneAddresses, active: LaneMask) -> Any:
    """Whether all pairs of lanes that ask, one apart or two, ask for the same."""
    lanes = np.arange(addresses.shape[-1])
    return np.logical_or.reduce([
        ((addresses == addresses[:, lanes ^ by]) | ~active | ~active[:, lanes ^ by]).all(axis=-1)
        for by in (1, 2)
    ])  # fmt: skip


def _touched_pieces(addresses: LaneAddresses, active: LaneMask, width: int, size: int) -> Any:
    """The pieces of memory that each request touches, some more than once."""
    begin = np.take_along_axis(addresses, active.argmax(axis=-1)[:, None], axis=-1)
    addresses = np.where(active, addresses, begin)
    more = np.arange((width - 1) // size + 2)
    last = (addresses + width - 1) // size
    return np.minimum(addresses[..., None] // size + more, last[..., None]).reshape(
        len(addresses), -1
    )


def _sort_distinct(pieces: LaneAddresses) -> tuple[Any, Any]:
    """Pieces in order, and of each whether it is the first that is the same."""
    ordered = np.sort(pieces, axis=-1)
    return ordered, np.diff(ordered, axis=-1, prepend=ordered[:, :1] - 1) != 0


def _max_per_bank(pieces: LaneAddresses, banks: int) -> Any:
    """The most different pieces of a request that are of one bank."""
    ordered, new = _sort_distinct(pieces)
    at = np.arange(len(pieces))[:, None] * banks + ordered % banks
    return np.bincount(at[new], minlength=len(pieces) * banks).reshape(-1, banks).max(axis=-1)


#: How far a step moves an address in bytes, and how many steps there are.
Strides = tuple[tuple[int, int], ...]
#: Blocks, and requests of all warps there in all passes, that are looked at.
_MAX_BLOCKS, _MAX_REQUESTS = sizes.REQUEST_BLOCKS, sizes.REQUESTS_LOOKED


@dataclass(frozen=True, slots=True)
class WarpRequests:
    """Requests of warps: the first bytes of lanes, which lanes ask, how many each stands for."""

    addresses: npt.NDArray[np.int64]
    active: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.float64]

    def min_sectors(self, width: int) -> float:
        """The sectors that hold as many bytes a lane as are asked for."""
        return self.mean(-(-self.active.sum(axis=-1) * width // SECTOR))

    def mean(self, numbers: Any) -> float:
        """The mean of a number of each."""
        least = float(numbers.min())  # so that what is the same for all stays exact
        return least + float(np.average(numbers - least, weights=self.weight))


def warp_requests(launch: KernelLaunch, address: IntExpr, guard: IntExpr) -> WarpRequests:
    """The requests of an instruction; of conditions on blocks alone, of which nothing else rests
    on the place, all hold: whatever blocks ask, each asks alike.
    """
    ((product, _),) = guard.terms.items()
    others = (*address.atoms(), *_trip_count_atoms(launch, address, guard))
    used = Counter(name for one in (*product, *others) for name in _block_axes(one))
    kept = tuple(
        one
        for one in product
        if not _is_block_condition(one) or any(used[n] > 1 for n in _block_axes(one))
    )
    guard = IntExpr({kept: 1})
    return launch.compute_once(  # type: ignore[no-any-return]
        atom_expr("requests", address, guard), lambda: compute_requests(launch, address, guard)
    )


def _trip_count_atoms(launch: KernelLaunch, address: IntExpr, guard: IntExpr) -> list[Atom]:
    """What the passes rest on that are in an address, or in which lanes ask."""
    every = {
        **required_trip_counts(address, launch.trip_counts),
        **required_trip_counts(guard, launch.trip_counts),
    }
    return [one for many in every.values() for one in many.atoms()]


def _is_iteration_or_block(atom: Atom) -> bool:
    """True if an atom is a pass of a loop or a block's number in its grid."""
    return atom.kind == "pass" or (atom.kind == "special" and atom.args[0] in BLOCKS)


def _block_axes(atom: Atom) -> set[str]:
    return {
        each.args[0] for each in atom.atoms() if each.kind == "special" and each.args[0] in BLOCKS
    }


def _is_block_condition(atom: Atom) -> bool:
    """True if a condition rests on nothing but the numbers of blocks."""
    return atom.kind == "if" and all(
        each.kind in ("if", "over", "scaled", "least", "most")
        or (each.kind == "special" and each.args[0] in BLOCKS)
        for each in atom.atoms()
    )


def compute_requests(launch: KernelLaunch, address: IntExpr, guard: IntExpr) -> WarpRequests:
    """The requests of an instruction, of lanes where ``asks`` is not 0; those that no lane makes
    are left out."""
    atoms = dict.fromkeys((*address.atoms(), *guard.atoms()))
    axes = [name for name in BLOCKS if launch.grid[BLOCKS.index(name)] > 1]
    placed = {*atoms, *_trip_count_atoms(launch, address, guard)}
    axes = [name for name in axes if Atom("special", (name,)) in placed]
    blocks, weight = dict[str, Any](), np.ones((1, 1, 1, 1))
    for name in axes:
        at = BLOCKS.index(name)
        looked, stand_for = sample_axis(launch.grid[at], int(_MAX_BLOCKS ** (1 / len(axes)) + 1e-9))
        blocks[name] = np.expand_dims(looked, [each for each in range(5) if each != at])
        weight = weight * np.expand_dims(stand_for, [each for each in range(4) if each != at])
    shape = (*weight.shape[:3], *launch.active.shape)
    heads = [one.args[0] for one in atoms if one.kind == "pass"]
    most = max(_MAX_REQUESTS // math.prod(shape[:-1]), 2)
    each = int(most ** (1 / max(len(heads), 1)) + 1e-9)
    passes = [
        sample_indices(max(launch.max_value(launch.trip_counts[head]), 1), max(each, 2)).tolist()
        for head in heads
    ]
    result = []
    for now in itertools.product(*passes):
        here = launch.restrict_to(dict(zip(heads, now, strict=True)), blocks)
        active = launch.active & (np.asarray(here.value(guard)) > 0)
        for head, at_pass in zip(heads, now, strict=True):
            active = active & (at_pass < np.asarray(here.value(launch.trip_counts[head])))
        first = np.broadcast_to(np.asarray(here.value(address)), shape)
        result.append((first, np.broadcast_to(active, shape), np.broadcast_to(weight, shape[:-1])))
    first, active, of = (np.concatenate([each[at] for each in result]) for at in range(3))
    asking = active.any(axis=-1)
    if not asking.any():
        asking, active = ~asking, np.broadcast_to(launch.active, active.shape)
    return WarpRequests(first[asking].astype(np.int64), active[asking], of[asking])


def alignment_shares(strides: Strides, offset: int, unit: int) -> dict[int, float]:
    """Where in a unit of bytes moves leave an address, and the share of each such place.

    >>> alignment_shares(((4, 6), (32, 1000)), 0, 8)
    {0: 0.5, 4: 0.5}
    """
    shares = np.zeros(unit)
    shares[offset % unit] = 1.0
    for step, many in strides:
        period = unit // math.gcd(step, unit)
        at = np.arange(period)
        many = max(many, 1)
        times = many // period + (at < many % period)
        shares = sum(t / many * np.roll(shares, a * step) for a, t in zip(at, times, strict=True))
    return {int(at): float(shares[at]) for at in np.flatnonzero(shares)}


def split_strides(launch: KernelLaunch, address: IntExpr) -> tuple[Strides, Strides, IntExpr]:
    """The moves of an address by passes and by blocks, and what remains of it."""
    passes, blocks, rest = [], [], dict(address.terms)
    for product, times in address.terms.items():
        if len(product) != 1 or not _is_iteration_or_block(one := product[0]):
            continue
        if any(one in each.atoms() for p in address.terms if p != product for each in p):
            continue
        del rest[product]
        if one.kind == "pass":
            passes.append((times, launch.max_value(launch.trip_counts[one.args[0]])))
        else:
            blocks.append((times, launch.grid["xyz".index(one.args[0][-1])]))
    return tuple(passes), tuple(blocks), IntExpr(rest)


_STORES = ("global_store", "atomic", "local_store")
_INSIDE = re.compile(r"\[([^\[\]]*)\]$")
_UNKNOWN_KINDS = ("unknown", "loaded", "entry", "reciprocal", "first", "total")
#: What moves an address, and the constant bytes from there.
Address = tuple[IntExpr, int]


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """An instruction that asks memory, in ``many`` requests of each warp, and a mean one of these.

    ``runs`` is how often it runs, by its block. ``least`` is the sectors that as many bytes take at
    least; ``sectors`` is None where the address depends on data, and ``wavefronts`` then those of
    addresses in a row. ``lanes`` and ``addresses`` are what its lanes and its addresses rest on. It
    is ``decided`` where no guard is left out that rests on data, and ``within`` where its bytes
    over all of the launch are known.
    """

    instruction: Instruction
    runs: tuple[int, IntExpr]
    requests_per_warp: float
    sectors: float | None
    wavefronts: float
    min_sectors: float
    lane_inputs: frozenset[Atom]
    address_inputs: frozenset[Atom]
    is_guard_known: bool
    is_footprint_known: bool

    @property
    def bytes(self) -> float:
        """The bytes of the sectors that it asks for."""
        return SECTOR * (self.min_sectors if self.sectors is None else self.sectors)

    @property
    def is_uncoalesced(self) -> bool:
        """True if global memory is asked for more sectors than the bytes take, and one more."""
        sectors = self.sectors if self.instruction.kind in GLOBAL else None
        return sectors is not None and sectors > self.min_sectors + 1


class MemoryAccesses:
    """The requests of a launch to memory, added one by one.

    ``rests_on`` is :meth:`dse.cuda.instruction_counts.Tally.required_inputs`.
    A warp's requests ask for sectors. A block asks the second cache for what it loads, and gives it
    what it stores, each byte once. DRAM moves what all blocks touch, once, if the
    second cache keeps it; local memory is taken to stay in the caches.
    """

    def __init__(
        self,
        analysis: KernelAnalysis,
        launch: KernelLaunch,
        required_inputs: Callable[..., frozenset[Atom]],
    ) -> None:
        self.analysis, self.launch, self._required_inputs = analysis, launch, required_inputs
        self.accesses: list[MemoryAccess] = []
        self._footprints = Footprints(launch)
        self._frequencies: dict[
            tuple[int, Condition], tuple[IntExpr, float, float, IntExpr, bool]
        ] = {}
        self._unfollowed_bytes = self._local_bytes = 0.0
        #: Arrays begin at whole lines.
        self._bases = launch.pointers.difference(launch.arguments)
        self._address_cache: dict[tuple[IntExpr, int], Address] = {}

    def select(self, kinds: Collection[str]) -> list[MemoryAccess]:
        """Return the requests of some classes of instructions."""
        return [each for each in self.accesses if each.instruction.kind in kinds]

    def add(self, block: int, place: int) -> None:
        """Add an instruction, by the block it stands in and its place there."""
        one = self.analysis.graph.blocks[block].body[place]
        runs, many, each, asks, decided = self.frequency(block, place)
        where = self._address(one, block, place)
        lanes = addresses = self._required_inputs(asks)
        if where is not None:
            lanes |= self._required_inputs(_lane_part(where[0]), places=False)
            addresses |= self._required_inputs(where[0], places=False)
        sectors, wavefronts, least = self._request_cost(one, where, asks)
        within = False
        if many and one.kind in GLOBAL and where is not None:
            way = "store" if one.kind in _STORES else "load"
            within = self._footprints.add(where, access_width(one), each * self.launch.threads, way)
        request = MemoryAccess(
            instruction=one,
            runs=(block, runs),
            requests_per_warp=many,
            sectors=sectors,
            wavefronts=wavefronts,
            min_sectors=least,
            lane_inputs=lanes,
            address_inputs=addresses,
            is_guard_known=decided,
            is_footprint_known=within,
        )
        self.accesses.append(request)
        warps = len(self.launch.active)
        if one.kind in GLOBAL and not within:
            self._unfollowed_bytes += request.bytes * many * warps
        elif one.kind == "local_store":  # a place of the stack, however often it is written
            self._local_bytes += request.bytes * min(many, 1.0) * warps

    def frequency(self, block: int, place: int) -> tuple[IntExpr, float, float, IntExpr, bool]:
        """Return how often an instruction runs, as far as its guard is known.

        That is an expression, runs of a warp and of a thread, which lanes run it (1 where all), and
        whether no guard is left out that rests on data.
        """
        guarded = bool(self.analysis.graph.blocks[block].body[place].guard)
        when = self.analysis.values.solved_guard(block, place) if guarded else TRUE
        if (block, when) not in self._frequencies:
            runs, decided = self.analysis.block_runs[block], True
            if when != TRUE and is_known(when):
                runs = runs * atom_expr("if", when)
            else:
                for each in conjuncts(when):
                    if each == FALSE:
                        runs = ZERO
                    elif each != TRUE and is_known(each):
                        runs = runs * atom_expr("if", each)
                    else:
                        decided = decided and each == TRUE
            many, sized = self.launch.mean_per_warp(runs), self.launch.substitute(runs)
            of_thread = self.launch.mean_per_thread(sized)
            self._frequencies[block, when] = (
                runs,
                many,
                of_thread,
                self._known_guard(sized),
                decided,
            )
        return self._frequencies[block, when]

    def footprint_bytes(
        self, blocks: int | None, names: Collection[str]
    ) -> tuple[dict[str, float], dict[str, str]]:
        """Return bytes of a block and, where the grid is known, of the launch; and their formulas.

        Where a launch has one axis, of which ``names`` tells, they are formulas in its sizes.
        """
        threads, growing = self.launch.threads, np.array([0.0, 1.0])
        own = self._footprints.total_bytes(all_blocks=False) + growing * (
            self._unfollowed_bytes + self._local_bytes
        )
        result = {"block_bytes": (own, threads, "threads_per_block")}
        if blocks is not None:
            every = (
                self._footprints.total_bytes(all_blocks=True)
                + growing * self._unfollowed_bytes * blocks
            )
            result["launch_bytes"] = every, blocks * threads, "elements"
        values, formulas = {}, {}
        for name, (each, of, by) in result.items():
            fixed, grows = each.tolist()
            values[name] = fixed + grows
            if grows and "threads_per_block" in names:
                before = f"{fixed:.10g} + " if fixed else ""
                formulas[name] = f"{before}{grows / of:.10g} * {by}"
        return values, formulas

    # --- addresses
    def _address(self, instruction: Instruction, block: int, place: int) -> Address | None:
        """Return the address of an instruction, by arguments, threads, blocks and passes."""
        if (parts := _address_terms(instruction.text, instruction.kind == "global_copy")) is None:
            return None
        values, where = self.analysis.values, ZERO
        for name, times in parts:
            where = where + values.operand_value(name, block, place).scale(times)
        moving, fixed = _split_constant(where)
        if (moving, block) not in self._address_cache:
            solved = values.solve_loops(moving, block)
            self._address_cache[moving, block] = _split_constant(self.launch.substitute(solved))
        moving, more = self._address_cache[moving, block]
        return moving, fixed + more

    def _known_guard(self, runs: IntExpr) -> IntExpr:
        """Return which lanes ask of what runs: 1 where all conditions hold that can be followed."""
        result = ONE
        for one in common_atoms(runs):
            if one.kind == "if" and self._is_known(IntExpr({(one,): 1})):
                result = result * IntExpr({(one,): 1})
        return result

    def _is_known(self, value: IntExpr) -> bool:
        """True if a value is known at each thread, and does not rest on data."""
        return not any(
            one.kind in _UNKNOWN_KINDS
            or (one.kind == "argument" and one.args[0] not in self.launch.arguments)
            for one in value.atoms()
        )

    def _is_base_address(self, product: tuple[Atom, ...], shared: bool) -> bool:
        """True if a part of an address is where an array begins; in shared memory a constant."""
        if len(product) != 1:
            return False
        (one,) = product
        if one.kind == "argument":
            return one.args[0] in self._bases
        return _is_constant(one) if shared else is_device_array(one)

    def _request_cost(
        self, instruction: Instruction, address: Address | None, guard: IntExpr
    ) -> tuple[float | None, float, float]:
        """Return sectors, wavefronts and the least sectors of a warp's request on average."""
        load, shared = instruction.kind.endswith("load"), instruction.kind.startswith("shared")
        moving, fixed = address or (None, 0)
        unit = WORD if shared else SECTOR
        way, fixed = (
            (access_width(instruction), load, shared),
            fixed % unit,
        )  # whole ones on, it is the same

        def compute_cost() -> tuple[float | None, float, float]:
            moves, still = tuple[tuple[int, int], ...](), moving
            if moving is not None:
                kept = {
                    p: t
                    for p, t in moving.terms.items()
                    if t != 1 or not self._is_base_address(p, shared)
                }
                passes, blocks, still = split_strides(
                    self.launch, self.launch.substitute_pointers(IntExpr(kept))
                )
                moves, still = (*passes, *blocks), still if self._is_known(still) else None
            every = warp_requests(self.launch, ZERO if still is None else still, guard)
            if still is None:  # taken as one after the other
                row = way[0] * np.arange(every.active.shape[-1]) + 0 * every.addresses
                return None, *_mean_cost(every, row, *way)[1:]
            result = through = least = 0.0
            for at, share in alignment_shares(moves, fixed, unit).items():
                told = _mean_cost(every, every.addresses + at, *way)
                result, through, least = (
                    result + share * told[0],
                    through + share * told[1],
                    told[2],
                )
            return result, through, least

        key = atom_expr("requests", moving or ZERO, guard)
        return self.launch.compute_once(key, compute_cost, moving is None, fixed, *way)  # type: ignore[no-any-return]


def _lane_part(address: IntExpr) -> IntExpr:
    """Return the part of an address in which the lanes of a warp differ."""
    return IntExpr(
        {
            product: times
            for product, times in address.terms.items()
            if any(
                one.kind == "special" and one.args[0].startswith(("tid", "lane"))
                for one in IntExpr({product: 1}).atoms()
            )
        }
    )


def _mean_cost(
    requests: WarpRequests, addresses: LaneAddresses, width: int, load: bool, shared: bool
) -> tuple[float, float, float]:
    """Return sectors, wavefronts and the least sectors of requests that begin at some bytes."""
    wavefronts = shared_wavefronts if shared else cache_wavefronts
    through = requests.mean(wavefronts(addresses, requests.active, width, load=load))
    return (
        requests.mean(sectors(addresses, requests.active, width)),
        through,
        requests.min_sectors(width),
    )


def is_device_array(atom: Atom) -> bool:
    """Whether it is where an array of the source begins, which bank 4 of the constants holds."""
    return _is_constant(atom) and str(atom.args[0][1]).startswith("c[0x4]")


def _is_constant(atom: Atom) -> bool:
    return atom.kind == "unknown" and atom.args[0][0] == "constant"


def _split_constant(address: IntExpr) -> Address:
    """An address without its constant, and that."""
    fixed = address.terms.get((), 0)
    if not fixed:
        return address, 0
    return IntExpr({product: t for product, t in address.terms.items() if product}), fixed


@lru_cache(maxsize=1 << 14)
def _address_terms(text: str, use_last: bool) -> list[tuple[str, int]] | None:
    """The operands that the first or last address in a text of operands sums, and their factors."""
    inside = [m[1] for each in split_operands(text) if (m := _INSIDE.search(each.strip()))]
    if not inside:
        return None
    result = []
    for part in inside[-1 if use_last else 0].split("+"):
        name, _, times = part.partition(".X")
        result.append((name, int(times) if times.isdigit() else 1))
    return result


#: Runs of bytes that are kept one by one, and addresses that are looked at for one access.
_MAX_RANGES, _MAX_ADDRESSES = sizes.FOOTPRINT_RUNS, sizes.FOOTPRINT_LOOKED

_EVALUABLE_KINDS = (
    *("special", "pass", "over", "scaled", "least", "most", "if"),
    *("exclusive or", "bitwise and", "bitwise or"),
)

ByteRanges = npt.NDArray[np.int64]
#: Arrays, or an address without one; moves by passes and by blocks; what is touched unmoved.
AccessPattern = tuple[tuple[object, ...], Strides, Strides, ByteRanges]
#: Whether loaded or stored, and what accesses must share to be one set.
AccessKey = tuple[str, tuple[object, ...], Strides, Strides]


@dataclass(slots=True)
class ByteSet:
    """A set of bytes as runs from ``low`` to ``high``, of which ``times`` as many there are."""

    ranges: ByteRanges
    scale: float = 1.0
    low: int = field(init=False)
    high: int = field(init=False)

    def __post_init__(self) -> None:
        self.low, self.high = int(self.ranges[0, 0]), int(self.ranges[-1, 1])

    def repeat(self, stride: int, count: int) -> ByteSet:
        """The union of the set with itself, moved ``many - 1`` times by ``step`` bytes.

        Moved further than the set is long it only repeats, so that its size grows by the same
        number with every step.
        """
        if stride == 0 or count <= 1:
            return self
        reach = (count - 1) * abs(stride)
        kept, long = count, int(self.ranges[-1, 1]) - int(self.ranges[0, 0])
        start = self.ranges - (reach if stride < 0 else 0)
        if len(self.ranges) == 1 and abs(stride) <= long:  # one run, which becomes longer
            return ByteSet(start + np.array([0, reach]), self.scale)
        if len(self.ranges) * count > _MAX_RANGES:
            apart = long // abs(stride) + 3
            kept = min(count, apart, max(_MAX_RANGES // len(self.ranges), 2))
        moves = np.arange(kept)[:, None, None] * abs(stride)
        every = union_ranges((start + moves).reshape(-1, 2))
        result = ByteSet(every, self.scale)
        if count > kept:
            last, before = (
                byte_count(every),
                byte_count(union_ranges((start + moves[:-1]).reshape(-1, 2))),
            )
            result.scale *= (last + (count - kept) * (last - before)) / last
        result.low = self.low - (reach if stride < 0 else 0)
        result.high = self.high + (reach if stride > 0 else 0)
        return result

    def sector_bytes(self) -> float:
        """Bytes of the sectors that it lies in."""
        ends = np.stack([self.ranges[:, 0] // SECTOR, -(-self.ranges[:, 1] // SECTOR)], axis=1)
        return min(
            byte_count(union_ranges(ends * SECTOR)) * self.scale, _sector_span(self.low, self.high)
        )


def byte_count(ranges: ByteRanges) -> int:
    """Bytes of runs that do not meet."""
    return int((ranges[:, 1] - ranges[:, 0]).sum())


def _sector_span(low: int, high: int) -> float:
    """Bytes of the sectors from one byte to another."""
    return float((-(-high // SECTOR) - low // SECTOR) * SECTOR)


def union_ranges(ranges: ByteRanges) -> ByteRanges:
    """Runs in order that do not meet, of runs in any order.

    >>> union_ranges(np.array([[8, 12], [0, 4], [4, 6]])).tolist()
    [[0, 6], [8, 12]]
    """
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    reach = np.maximum.accumulate(ranges[:, 1])
    apart = np.flatnonzero(ranges[1:, 0] > reach[:-1])
    first, last = np.append(0, apart + 1), np.append(apart, len(ranges) - 1)
    return np.stack([ranges[first, 0], reach[last]], axis=1)


#: Bytes that are the same in every block or launch, and those that grow with it.
FixedAndGrowing = npt.NDArray[np.float64]


class Footprints:
    """What the accesses of a kernel touch at a launch, by array."""

    def __init__(self, launch: KernelLaunch) -> None:
        self.launch = launch
        self._sets: dict[AccessKey, list[ByteRanges]] = {}
        self._max_bytes: dict[AccessKey, float] = {}
        self._grows_with_threads: set[AccessKey] = set()

    def add(self, address: Address, width: int, threads: float, direction: str) -> bool:
        """One access, whether its address can be followed.

        ``threads`` is how many threads of a block make it, passes counted; ``way`` tells those
        apart that move bytes of their own, as loads and stores do.
        """
        moving, fixed = address
        pattern: AccessPattern | None = self.launch.compute_once(
            moving, lambda: self._access_pattern(moving, width), "pattern", width
        )
        if pattern is None:
            return False
        arrays, passes, blocks, base = pattern
        key = (direction, arrays, passes, blocks)
        self._sets.setdefault(key, []).append(base + fixed)
        if len(base) > 1 or base[0, 1] - base[0, 0] > width:
            self._grows_with_threads.add(key)
        self._max_bytes[key] = self._max_bytes.get(key, 0.0) + threads * max(width, SECTOR)
        return True

    def _access_pattern(self, address: IntExpr, width: int) -> AccessPattern | None:
        """The arrays of an address, what moves it, and what a block's threads touch unmoved."""
        arrays = tuple(
            one.args[0]
            for product, times in address.terms.items()
            if times == 1 and len(product) == 1 and self._is_pointer(one := product[0])
        )
        offset = substitute(address, lambda one: constant(0) if self._is_pointer(one) else None)
        passes, blocks, rest = split_strides(self.launch, self.launch.substitute_pointers(offset))
        if any(one.kind not in _EVALUABLE_KINDS for one in rest.atoms()):
            return None
        places = _distinct_values(self.launch, rest)
        if places is None:
            return None
        base = union_ranges(np.stack([places, places + width], axis=1))
        return arrays or (offset,), passes, blocks, base

    def total_bytes(self, *, all_blocks: bool) -> FixedAndGrowing:
        """Return the bytes that one block touches, or ``every`` block.

        What the threads of a block touch one by one grows with it, and what each block touches of
        its own with their number.
        """
        return self._direction_bytes("load", all_blocks) + self._direction_bytes(
            "store", all_blocks
        )

    def _direction_bytes(self, direction: str, all_blocks: bool) -> FixedAndGrowing:
        """The bytes of all arrays, of each no more than lie between the first and the last."""
        result: dict[object, list[tuple[ByteSet, float, bool]]] = {}
        grid = math.prod(self.launch.grid) if all_blocks else 1
        for key, runs in self._sets.items():
            of, arrays, passes, blocks = key
            if of != direction:
                continue
            touched = ByteSet(union_ranges(np.concatenate(runs)))
            moves = (*passes, *blocks) if all_blocks else passes
            for step, many in sorted(moves, key=lambda one: abs(one[0])):
                touched = touched.repeat(step, many)
            held = min(touched.sector_bytes(), grid * self._max_bytes[key])
            grows = (
                any(step for step, _ in blocks) if all_blocks else key in self._grows_with_threads
            )
            result.setdefault(arrays, []).append((touched, held, grows))
        total = np.zeros(2)
        for parts in result.values():
            low, high = min(one.low for one, *_ in parts), max(one.high for one, *_ in parts)
            every_part = sum(held for _, held, _ in parts)
            kept = min(every_part, _sector_span(low, high)) / every_part
            for _, held, grows in parts:
                total[int(grows)] += held * kept
        return total

    def _is_pointer(self, atom: Atom) -> bool:
        return is_device_array(atom) or (
            atom.kind == "argument" and atom.args[0] in self.launch.pointers
        )


def _distinct_values(launch: KernelLaunch, value: IntExpr) -> npt.NDArray[np.int64] | None:
    """Return the different numbers of an expression; None if there are too many."""
    inside = {(one.kind, one.args[0]) for one in value.atoms() if one.kind in ("pass", "special")}
    heads = [name for kind, name in inside if kind == "pass"]
    blocks = [name for kind, name in inside if kind == "special" and name in BLOCKS]
    sizes = [launch.max_value(launch.trip_counts[head]) for head in heads]
    sizes += [launch.grid[BLOCKS.index(name)] for name in blocks]
    if math.prod(sizes) * launch.active.size > _MAX_ADDRESSES:
        return None
    result = set[int]()
    for at in itertools.product(*map(range, sizes)):
        here = launch.restrict_to(
            dict(zip(heads, at, strict=False)), dict(zip(blocks, at[len(heads) :], strict=True))
        )
        every = np.broadcast_to(np.asarray(here.value(value)), (1, *launch.active.shape))
        result.update(np.unique(every[0][launch.active]).astype(np.int64).tolist())
    return np.array(sorted(result), dtype=np.int64) if result else None
