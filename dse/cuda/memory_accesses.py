"""Count the memory requests of warps: addresses of lanes, sectors, wavefronts and footprints.

Shared memory has 32 banks of 4 bytes: a wavefront reads one word of each bank, for all lanes that
need it (CUDA C++ Programming Guide, shared memory). A wavefront carries 4 bytes per lane. So
accesses of 8 bytes per lane are served by half warps, and accesses of 16 bytes by quarter warps.
Two such parts share a wavefront if pairs of lanes (neighbours, or two apart) load the same bytes
(NVIDIA, developer forum 77228, for compute capability 7.0 to 7.5; assumed for later ones, too). The
L1 cache reads four sectors in a wavefront, each from a different quarter of a line (Khairy 2020,
Accel-Sim).

From one iteration or block to the next, the addresses of all lanes mostly move by the same
constant. Then only their offsets in a sector matter, whose distribution is computed exactly. If
the pattern of the lanes changes between iterations or blocks, these are sampled.

The footprint of a block is the set of bytes that its threads touch. If addresses are linear in
iterations and block indices, other iterations and blocks touch the same set moved by constants;
bytes in several of these sets count once. Loads and stores at the same addresses form one set.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
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

#: SECTOR: bytes of the unit that caches and DRAM transfer. WORD: bytes of a word of a bank.
SECTOR, WORD = 32, 4
#: BANKS: number of banks of shared memory. QUARTERS: number of sectors of a cache line.
BANKS, QUARTERS = 32, 4
#: Mean of the largest number of 32 lanes at one bank, if each lane has a random bank.
RANDOM_WAVEFRONTS = 3.533

Lanes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def sectors(addresses: Lanes, active: Mask, width: int, size: int = SECTOR) -> Any:
    """Return the number of sectors of each request, from the first bytes of its active lanes.

    Pieces of another ``size`` in bytes may be counted instead.

    >>> sectors(4 * np.arange(32)[None], np.ones((1, 32), bool), 4).tolist()
    [4]
    """
    return _sort_distinct(_touched_pieces(addresses, active, width, size))[1].sum(axis=-1)


def cache_wavefronts(addresses: Lanes, active: Mask, width: int, *, load: bool = True) -> Any:
    """Return the L1 wavefronts of each request to global memory."""

    def count(groups: int) -> Any:
        return active.reshape(len(active), groups, -1).any(axis=-1).sum(axis=-1)

    groups = _count_by_groups(count, addresses, active, width, load)
    pieces = _touched_pieces(addresses, active, width, SECTOR)
    return np.maximum(groups, _max_per_bank(pieces, QUARTERS))


def shared_wavefronts(addresses: Lanes, active: Mask, width: int, *, load: bool = True) -> Any:
    """Return the wavefronts of each request to shared memory.

    >>> first, every = 4 * np.arange(32)[None], np.ones((1, 32), bool)
    >>> [shared_wavefronts(stride * first, every, 4).item() for stride in (0, 1, 2, 32, 33)]
    [1, 1, 2, 32, 1]
    """
    count = functools.partial(_group_wavefronts, addresses, active, width)
    return _count_by_groups(count, addresses, active, width, load)


def _count_by_groups(
    count: Callable[[int], Any], addresses: Lanes, active: Mask, width: int, load: bool
) -> Any:
    words = max(width // WORD, 1)
    if load and words > 1:
        return np.where(_has_equal_pairs(addresses, active), count(words // 2), count(words))
    return count(words)


def _group_wavefronts(addresses: Lanes, active: Mask, width: int, groups: int) -> Any:
    """Return the wavefronts per request if groups of its lanes are served one after the other."""
    shape = (len(addresses) * groups, addresses.shape[-1] // groups)
    lanes = active.reshape(shape)
    most = _max_per_bank(_touched_pieces(addresses.reshape(shape), lanes, width, WORD), BANKS)
    return (most * lanes.any(axis=-1)).reshape(-1, groups).sum(axis=-1)


def _has_equal_pairs(addresses: Lanes, active: Mask) -> Any:
    """Return the mask of requests in which pairs of active lanes have equal addresses."""
    lanes = np.arange(addresses.shape[-1])
    return np.logical_or.reduce([
        ((addresses == addresses[:, lanes ^ by]) | ~active | ~active[:, lanes ^ by]).all(axis=-1)
        for by in (1, 2)
    ])  # fmt: skip


def _touched_pieces(addresses: Lanes, active: Mask, width: int, size: int) -> Any:
    """Return the pieces of memory that each request touches; a piece may be listed repeatedly."""
    begin = np.take_along_axis(addresses, active.argmax(axis=-1)[:, None], axis=-1)
    addresses = np.where(active, addresses, begin)
    more = np.arange((width - 1) // size + 2)
    last = (addresses + width - 1) // size
    pieces = np.minimum(addresses[..., None] // size + more, last[..., None])
    return pieces.reshape(len(addresses), -1)


def _sort_distinct(pieces: Lanes) -> tuple[Any, Any]:
    ordered = np.sort(pieces, axis=-1)
    return ordered, np.diff(ordered, axis=-1, prepend=ordered[:, :1] - 1) != 0


def _max_per_bank(pieces: Lanes, banks: int) -> Any:
    """Return, for each request, the largest number of distinct pieces in one bank."""
    ordered, new = _sort_distinct(pieces)
    at = np.arange(len(pieces))[:, None] * banks + ordered % banks
    return np.bincount(at[new], minlength=len(pieces) * banks).reshape(-1, banks).max(axis=-1)


#: For each stride: the number of bytes by which a step moves the address, and the number of steps.
Strides = tuple[tuple[int, int], ...]
#: Upper limits on the sampled blocks, and on the sampled requests of all warps and iterations.
_MAX_BLOCKS, _MAX_REQUESTS = sizes.REQUEST_BLOCKS, sizes.REQUESTS_LOOKED


@dataclass(frozen=True, slots=True)
class WarpRequests:
    """Requests of warps: the first byte of each lane, the mask of active lanes, and weights."""

    addresses: npt.NDArray[np.int64]
    active: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.float64]

    def min_sectors(self, width: int) -> float:
        """Return the smallest number of sectors that can hold the requested bytes."""
        return self.mean(-(-self.active.sum(axis=-1) * width // SECTOR))

    def mean(self, numbers: Any) -> float:
        """Return the weighted mean over the requests, given one number per request."""
        least = float(numbers.min())  # subtracted so that equal values stay exact
        return least + float(np.average(numbers - least, weights=self.weight))


def warp_requests(launch: KernelLaunch, address: IntExpr, guard: IntExpr) -> WarpRequests:
    """Return the requests of an instruction.

    If block indices occur in only one condition, that condition is dropped from the guard, because
    all blocks that satisfy the condition make the same requests.
    """
    ((product, _),) = guard.terms.items()
    others = (*address.atoms(), *_trip_count_atoms(launch, address, guard))
    used = Counter(name for one in (*product, *others) for name in _block_axes(one))
    factors = tuple(
        one
        for one in product
        if not _is_block_condition(one) or any(used[n] > 1 for n in _block_axes(one))
    )
    guard = IntExpr({factors: 1})
    return launch.compute_once(
        atom_expr("requests", address, guard), lambda: compute_requests(launch, address, guard)
    )


def _trip_count_atoms(launch: KernelLaunch, address: IntExpr, guard: IntExpr) -> list[Atom]:
    every = {
        **required_trip_counts(address, launch.trip_counts),
        **required_trip_counts(guard, launch.trip_counts),
    }
    return [one for many in every.values() for one in many.atoms()]


def _is_block_index(atom: Atom) -> bool:
    return atom.kind == "special" and atom.args[0] in BLOCKS


def _block_axes(atom: Atom) -> set[str]:
    return {each.args[0] for each in atom.atoms() if _is_block_index(each)}


def _is_block_condition(atom: Atom) -> bool:
    kinds = ("if", "over", "scaled", "least", "most")
    every = atom.atoms()
    return atom.kind == "if" and all(a.kind in kinds or _is_block_index(a) for a in every)


def compute_requests(launch: KernelLaunch, address: IntExpr, guard: IntExpr) -> WarpRequests:
    """Return the requests of an instruction, made by the lanes in which its guard is not 0."""
    atoms = dict.fromkeys((*address.atoms(), *guard.atoms()))
    axes = [name for name in BLOCKS if launch.grid[BLOCKS.index(name)] > 1]
    used = {*atoms, *_trip_count_atoms(launch, address, guard)}
    axes = [name for name in axes if Atom("special", (name,)) in used]
    blocks, weight = dict[str, Any](), np.ones((1, 1, 1, 1))
    for name in axes:
        at = BLOCKS.index(name)
        indices, weights = sample_axis(launch.grid[at], int(_MAX_BLOCKS ** (1 / len(axes)) + 1e-9))
        blocks[name] = np.expand_dims(indices, [each for each in range(5) if each != at])
        weight = weight * np.expand_dims(weights, [each for each in range(4) if each != at])
    shape = (*weight.shape[:3], *launch.active.shape)
    heads = [one.args[0] for one in atoms if one.kind == "pass"]
    most = max(_MAX_REQUESTS // math.prod(shape[:-1]), 2)
    each = int(most ** (1 / max(len(heads), 1)) + 1e-9)
    iterations = [
        sample_indices(max(launch.max_value(launch.trip_counts[head]), 1), max(each, 2)).tolist()
        for head in heads
    ]
    parts = []
    for now in itertools.product(*iterations):
        here = launch.restrict_to(dict(zip(heads, now, strict=True)), blocks)
        active = launch.active & (np.asarray(here.value(guard)) > 0)
        for head, iteration in zip(heads, now, strict=True):
            active = active & (iteration < np.asarray(here.value(launch.trip_counts[head])))
        first = np.broadcast_to(np.asarray(here.value(address)), shape)
        parts.append((first, np.broadcast_to(active, shape), np.broadcast_to(weight, shape[:-1])))
    first, active, weight = (np.concatenate([each[at] for each in parts]) for at in range(3))
    made = active.any(axis=-1)
    if not made.any():
        made, active = ~made, np.broadcast_to(launch.active, active.shape)
    return WarpRequests(first[made].astype(np.int64), active[made], weight[made])


def alignment_shares(strides: Strides, offset: int, unit: int) -> dict[int, float]:
    """Return the share of moved addresses at each offset within a unit of ``unit`` bytes.

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
    """Return the strides of an address per iteration and per block, and the remaining address."""
    iterations, blocks, rest = [], [], dict(address.terms)
    for product, times in address.terms.items():
        one = product[0] if len(product) == 1 else None
        if one is None or not (one.kind == "pass" or _is_block_index(one)):
            continue
        if any(one in each.atoms() for p in address.terms if p != product for each in p):
            continue
        del rest[product]
        if one.kind == "pass":
            iterations.append((times, launch.max_value(launch.trip_counts[one.args[0]])))
        else:
            blocks.append((times, launch.grid["xyz".index(one.args[0][-1])]))
    return tuple(sorted(iterations)), tuple(sorted(blocks)), IntExpr(rest)


STORES = ("global_store", "atomic", "local_store")
_INSIDE = re.compile(r"\[([^\[\]]*)\]$")
_UNKNOWN_KINDS = ("unknown", "loaded", "entry", "reciprocal", "first", "total")
#: How often an instruction runs: an expression, the numbers per warp and per thread, the expression
#: of its active lanes, and whether its guard is known.
Frequency = tuple[IntExpr, float, float, IntExpr, bool]
#: The variable part of an address, and its constant offset.
Address = tuple[IntExpr, int]


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """The requests of a memory instruction, on average over warps.

    ``runs`` is the instruction's block and number of runs. ``sectors`` is None if the address
    depends on data; ``wavefronts`` then assumes contiguous addresses, or random ones in shared
    memory if they depend on loaded data. Active lanes request
    ``copied_bytes``; at least ``min_sectors`` sectors hold these bytes. Atomics change
    ``atomic_words`` words. The guard depends on the inputs ``lane_inputs``, the addresses depend on
    ``address_inputs``.
    """

    instruction: Instruction
    runs: tuple[int, IntExpr]
    requests_per_warp: float
    sectors: float | None
    wavefronts: float
    min_sectors: float
    copied_bytes: float
    atomic_words: float
    lane_inputs: frozenset[Atom]
    address_inputs: frozenset[Atom]
    is_guard_known: bool
    is_footprint_known: bool

    @property
    def bytes(self) -> float:
        """Bytes of the requested sectors."""
        return SECTOR * (self.min_sectors if self.sectors is None else self.sectors)

    @property
    def is_uncoalesced(self) -> bool:
        """True if a global access has at least two sectors more than the requested bytes need."""
        sectors = self.sectors if self.instruction.kind in GLOBAL else None
        return sectors is not None and sectors > self.min_sectors + 1


class MemoryAccesses:
    """The memory requests of a launch, added one by one.

    ``required_inputs`` is :meth:`dse.cuda.instruction_counts.Tally.required_inputs`. A warp's
    requests are counted in sectors. Each byte that a block touches counts once, and those that it
    both loads and stores also as updated: caches hold them once, but move them twice. The same
    holds for the bytes of a launch. Local memory is assumed to stay in caches.

    Bytes at unknown addresses are assumed to be touched by no access to another address. Their
    number is limited by ``array_bytes``: the sizes of arrays by the offsets of their arguments.
    """

    def __init__(
        self,
        analysis: KernelAnalysis,
        launch: KernelLaunch,
        required_inputs: Callable[..., frozenset[Atom]],
        array_bytes: Mapping[int, float] | None = None,
    ) -> None:
        self._array_bytes = array_bytes or {}
        self.analysis, self.launch, self._required_inputs = analysis, launch, required_inputs
        self.accesses: list[MemoryAccess] = []
        self._footprints = Footprints(launch, self._array_bytes)
        self._atomics = Footprints(launch, self._array_bytes)
        #: Loads of each outermost loop (None: outside).
        self._phases = defaultdict[int | None, Footprints](lambda: Footprints(launch, array_bytes))
        #: Sizes of the arrays with atomics at unknown addresses, by argument.
        self._atomic_limits: dict[int | None, float] = {}
        self._frequencies: dict[tuple[int, Condition], Frequency] = {}
        self._local_bytes = 0.0
        #: Bytes of a block at unknown addresses, by direction and argument (None: unknown).
        self._unknown_bytes: dict[tuple[str, int | None], float] = defaultdict(float)
        self._unknown_accesses: dict[tuple[str, Address | None], float] = {}
        #: Arguments that are addresses of arrays. An array begins at a whole cache line.
        self._bases = launch.pointers.difference(launch.arguments)
        self._address_cache: dict[tuple[IntExpr, int], Address] = {}

    def select(self, kinds: Collection[str]) -> list[MemoryAccess]:
        """Return the accesses of some classes of instructions."""
        return [each for each in self.accesses if each.instruction.kind in kinds]

    def add(self, block: int, place: int) -> None:
        """Add an instruction, given by its block and by its index in the block."""
        one = self.analysis.graph.blocks[block].body[place]
        runs, many, per_thread, guard, is_guard_known = self.frequency(block, place)
        address = self._address(one, block, place)
        lane_inputs = address_inputs = self._required_inputs(guard)
        if address is not None:
            lane_inputs |= self._required_inputs(_lane_part(address[0]), with_sizes=False)
            address_inputs |= self._required_inputs(address[0], with_sizes=False)
        sectors, wavefronts, least, lanes = self._request_cost(one, address, guard)
        wavefronts *= _matrix_share(one)
        width = access_width(one)
        if (copied := self._bulk_bytes(one, block, place)) is not None:
            width, least, wavefronts = int(copied), copied / SECTOR, copied / (QUARTERS * SECTOR)
            sectors = least if sectors is not None else None
        is_known, words = False, 0.0
        direction = "store" if one.kind in STORES else "load"
        if many and one.kind in GLOBAL and address is not None:
            most = per_thread * self.launch.threads * max(width, SECTOR)
            if sectors is not None:
                most = min(most, SECTOR * sectors * many * len(self.launch.active))
            is_known = self._footprints.add(address, width, most, direction)
            phase, outer = None, self.analysis.graph.innermost_loops.get(block)
            while outer is not None:
                phase, outer = outer, self.analysis.graph.loops[outer].parent
            self._phases[phase].add(address, width, most, direction)
            if one.kind == "atomic":
                self._atomics.add(address, width, most, direction)
        if one.kind == "atomic":
            changed = self._request_cost(one, address, guard, WORD)[0]
            words = lanes * width / WORD if changed is None else changed
        request = MemoryAccess(
            instruction=one,
            runs=(block, runs),
            requests_per_warp=many,
            sectors=sectors,
            wavefronts=wavefronts,
            min_sectors=least,
            copied_bytes=lanes * width,
            atomic_words=words,
            lane_inputs=lane_inputs,
            address_inputs=address_inputs,
            is_guard_known=is_guard_known,
            is_footprint_known=is_known,
        )
        self.accesses.append(request)
        warps = len(self.launch.active)
        if one.kind in GLOBAL and not is_known:
            array = None if address is None else self._argument_of(address)
            if one.kind == "atomic":
                size = math.inf if array is None else self._array_bytes.get(array, math.inf)
                self._atomic_limits[array] = size
            distinct = request.bytes * warps * many / self._repeated_iterations(block, address)
            for each in (direction, "touch"):
                # accesses that the compiler duplicated have equal addresses
                before = self._unknown_accesses.get((each, address), 0.0) if address else 0.0
                self._unknown_bytes[each, array] += max(distinct - before, 0.0)
                self._unknown_accesses[each, address] = max(distinct, before)
        elif one.kind == "local_store":  # counted once, however often it is written
            self._local_bytes += request.bytes * min(many, 1.0) * warps

    def _bulk_bytes(self, one: Instruction, block: int, place: int) -> float | None:
        """Return the number of bytes of a bulk copy (16 × its last operand); None if unknown."""
        if one.name != "UBLKCP":
            return None
        value = self.analysis.values.operand_value(one.operands[-1], block, place)
        number = self.launch.substitute(value).constant_value
        return None if number is None else 16.0 * number

    def _argument_of(self, address: Address) -> int | None:
        """Return the offset of the only pointer in an address; None if there is not exactly one."""
        offsets = [
            product[0].args[0]
            for product, times in address[0].terms.items()
            if times == 1 and len(product) == 1 and product[0].kind == "argument"
            if product[0].args[0] in self.launch.pointers
        ]
        return offsets[0] if len(offsets) == 1 else None

    def _repeated_iterations(self, block: int, address: Address | None) -> float:
        """Return the number of iterations, in loops around a block, that use the same address."""
        result, head = 1.0, self.analysis.graph.innermost_loops.get(block)
        while head is not None and address is not None:
            loop = self.analysis.graph.loops[head]
            if not self.analysis.values.is_loop_invariant(address[0], loop):
                break
            trips = self.launch.mean_per_warp(self.analysis.trip_counts[head])
            result, head = result * max(trips, 1.0), loop.parent
        return result

    def _unknown_total(self, direction: str, blocks: int) -> FixedAndGrowing:
        """Return the bytes touched at unknown addresses, limited by the sizes of the arrays."""
        total = np.zeros(2)
        for (its_direction, array), size in self._unknown_bytes.items():
            if its_direction == direction:
                limit = math.inf if array is None else self._array_bytes.get(array, math.inf)
                total[int(size * blocks < limit)] += min(size * blocks, limit)
        return total

    def _touched_and_updated(self, blocks: int | None) -> tuple[FixedAndGrowing, FixedAndGrowing]:
        """Return the bytes that one or all ``blocks`` touch, and those that they load and store."""
        loaded, stored, touched = (
            self._footprints.direction_bytes(each, blocks is not None)
            + self._unknown_total(each, blocks or 1)
            for each in ("load", "store", "touch")
        )
        updated = np.round(loaded + stored - touched)
        if updated.min() < 0:  # limits on loads and on stores may be narrower than on their union
            updated = np.array([max(updated.sum(), 0.0), 0.0])
        return loaded + stored - updated, updated

    def frequency(self, block: int, place: int) -> Frequency:
        """Return the runs of an instruction; unknown conditions of the guard count as true."""
        has_guard = bool(self.analysis.graph.blocks[block].body[place].guard)
        when = self.analysis.values.solved_guard(block, place) if has_guard else TRUE
        if (block, when) not in self._frequencies:
            runs, is_guard_known = self.analysis.block_runs[block], True
            if when != TRUE and is_known(when):
                runs = runs * atom_expr("if", when)
            else:
                for each in conjuncts(when):
                    if each == FALSE:
                        runs = ZERO
                    elif each != TRUE and is_known(each):
                        runs = runs * atom_expr("if", each)
                    else:
                        is_guard_known = is_guard_known and each == TRUE
            many, sized = self.launch.mean_per_warp(runs), self.launch.substitute(runs)
            per_thread, guard = self.launch.mean_per_thread(sized), self._known_guard(sized)
            self._frequencies[block, when] = runs, many, per_thread, guard, is_guard_known
        return self._frequencies[block, when]

    def footprint_bytes(
        self, blocks: int | None, names: Collection[str]
    ) -> tuple[dict[str, float], dict[str, str]]:
        """Return the bytes that a block and (if known) the grid touch, and their formulas."""
        threads, growing = self.launch.threads, np.array([0.0, 1.0])
        of_block, updated = self._touched_and_updated(None)
        of_block = of_block + growing * self._local_bytes
        footprints = {"block_bytes": (of_block, threads, "threads_per_block")}
        if updated.any():
            footprints["updated_bytes"] = updated, threads, "threads_per_block"
        reread = sum(each.direction_bytes("load", False) for each in self._phases.values())
        reread = reread - self._footprints.direction_bytes("load", False)
        if reread.sum() > SECTOR:
            footprints["reread_bytes"] = reread, threads, "threads_per_block"
        if blocks is not None:
            of_launch, updated = self._touched_and_updated(blocks)
            footprints["launch_bytes"] = of_launch, blocks * threads, "elements"
            if updated.any():
                footprints["launch_updated_bytes"] = updated, blocks * threads, "elements"
            of_atomics = self._atomics.direction_bytes("store", True)
            of_atomics[0] += min(sum(self._atomic_limits.values()), of_launch.sum())
            if of_atomics.any() and math.inf not in self._atomic_limits.values():
                footprints["atomic_bytes"] = of_atomics, blocks * threads, "elements"
        values, formulas = {}, {}
        for name, (parts, size, quantity) in footprints.items():
            fixed, grows = parts.tolist()
            values[name] = fixed + grows
            if grows and "threads_per_block" in names:
                before = f"{fixed:.10g} + " if fixed else ""
                formulas[name] = f"{before}{grows / size:.10g} * {quantity}"
        return values, formulas

    def _address(self, instruction: Instruction, block: int, place: int) -> Address | None:
        if (parts := address_terms(instruction.text, instruction.kind == "global_copy")) is None:
            return None
        values, total = self.analysis.values, ZERO
        for name, times in parts:
            total = total + values.operand_value(name, block, place).scale(times)
        variable, fixed = _split_constant(total)
        if (variable, block) not in self._address_cache:
            solved = values.solve_loops(variable, block)
            self._address_cache[variable, block] = _split_constant(self.launch.substitute(solved))
        variable, more = self._address_cache[variable, block]
        return variable, fixed + more

    def _known_guard(self, runs: IntExpr) -> IntExpr:
        """Return the product of the known conditions under which lanes run; 1 if none is known."""
        result = ONE
        for one in common_atoms(runs):
            if one.kind == "if" and self._is_known(IntExpr({(one,): 1})):
                result = result * IntExpr({(one,): 1})
        return result

    def _is_known(self, value: IntExpr) -> bool:
        return not any(
            one.kind in _UNKNOWN_KINDS
            or (one.kind == "argument" and one.args[0] not in self.launch.arguments)
            for one in value.atoms()
        )

    def _is_base_address(self, product: tuple[Atom, ...], shared: bool) -> bool:
        """True if a term of an address is an array's start (in shared memory: a constant)."""
        if len(product) != 1:
            return False
        (one,) = product
        if one.kind == "argument":
            return one.args[0] in self._bases
        return _is_constant(one) if shared else is_device_array(one)

    def _request_cost(
        self, instruction: Instruction, address: Address | None, guard: IntExpr, size: int = SECTOR
    ) -> tuple[float | None, float, float, float]:
        """Return means per request: sectors, wavefronts, minimum number of sectors, and lanes.

        Pieces of another ``size`` may be counted instead of sectors.
        """
        load, shared = instruction.kind.endswith("load"), instruction.kind.startswith("shared")
        variable, offset = address or (None, 0)
        unit = WORD if shared else SECTOR
        offset %= unit  # only the offset within a unit matters
        access = access_width(instruction), load, shared, size

        def compute_cost() -> tuple[float | None, float, float, float]:
            strides, rest = tuple[tuple[int, int], ...](), variable
            if variable is not None:
                terms = {
                    p: t
                    for p, t in variable.terms.items()
                    if t != 1 or not self._is_base_address(p, shared)
                }
                fixed = self.launch.substitute_pointers(IntExpr(terms))
                iterations, blocks, rest = split_strides(self.launch, fixed)
                strides, rest = (*iterations, *blocks), rest if self._is_known(rest) else None
            every = warp_requests(self.launch, ZERO if rest is None else rest, guard)
            lanes = every.mean(every.active.sum(axis=-1))
            if shared and variable and any(one.kind == "loaded" for one in variable.atoms()):
                return None, min(lanes, RANDOM_WAVEFRONTS), every.min_sectors(access[0]), lanes
            if rest is None:  # unknown addresses are assumed to be contiguous
                row = access[0] * np.arange(every.active.shape[-1]) + 0 * every.addresses
                return None, *_mean_cost(every, row, *access)[1:], lanes
            total = np.zeros(3)
            for at, share in alignment_shares(strides, offset, unit).items():
                total += share * np.array(_mean_cost(every, every.addresses + at, *access))
            sectors, wavefronts, _ = total.tolist()
            return sectors, wavefronts, every.min_sectors(access[0]), lanes

        key = atom_expr("requests", variable or ZERO, guard)
        return self.launch.compute_once(key, compute_cost, variable is None, offset, *access)


def _matrix_share(instruction: Instruction) -> float:
    """Return the share of lanes whose addresses an access uses: LDSM uses 8 lanes per matrix."""
    if instruction.name not in ("LDSM", "STSM"):
        return 1.0
    return next((int(each) / 4 for each in instruction.modifiers if each in ("2", "4")), 0.25)


def _lane_part(address: IntExpr) -> IntExpr:
    """Return the part of an address in which the lanes of a warp differ."""

    def differs(product: tuple[Atom, ...]) -> bool:
        return any(
            one.kind == "special" and one.args[0].startswith(("tid", "lane"))
            for one in IntExpr({product: 1}).atoms()
        )

    return IntExpr({product: t for product, t in address.terms.items() if differs(product)})


def _mean_cost(
    requests: WarpRequests, addresses: Lanes, width: int, load: bool, shared: bool, size: int
) -> tuple[float, float, float]:
    count = shared_wavefronts if shared else cache_wavefronts
    wavefronts = requests.mean(count(addresses, requests.active, width, load=load))
    touched = requests.mean(sectors(addresses, requests.active, width, size))
    return touched, wavefronts, requests.min_sectors(width)


def is_device_array(atom: Atom) -> bool:
    """True if an atom is the address of an array of the source (in bank 4 of the constants)."""
    return _is_constant(atom) and str(atom.args[0][1]).startswith("c[0x4]")


def _is_constant(atom: Atom) -> bool:
    return atom.kind == "unknown" and atom.args[0][0] == "constant"


def _split_constant(address: IntExpr) -> Address:
    fixed = address.terms.get((), 0)
    if not fixed:
        return address, 0
    return IntExpr({product: t for product, t in address.terms.items() if product}), fixed


@functools.lru_cache(maxsize=1 << 14)
def address_terms(text: str, use_last: bool) -> list[tuple[str, int]] | None:
    """Return the operands, with factors, whose sum is the first or last address in a text."""
    inside = [m[1] for each in split_operands(text) if (m := _INSIDE.search(each.strip()))]
    if not inside:
        return None
    result = []
    for part in inside[-1 if use_last else 0].split("+"):
        name, _, times = part.partition(".X")
        result.append((name, int(times) if times.isdigit() else 1))
    return result


#: Upper limits on the ranges of a byte set, and on the enumerated addresses of one access.
_MAX_RANGES, _MAX_ADDRESSES = sizes.FOOTPRINT_RUNS, sizes.FOOTPRINT_LOOKED

_EVALUABLE_KINDS = (
    *("special", "pass", "over", "scaled", "least", "most", "if"),
    *("exclusive or", "bitwise and", "bitwise or", "logic"),
)

#: Addresses that this share of the threads clamps, or fewer, are left out of footprints.
_EDGE_SHARE = 0.05

ByteRanges = npt.NDArray[np.int64]
#: Arrays (or the address if there is none), strides per iteration, strides per block, and the bytes
#: touched at iteration and block 0.
AccessPattern = tuple[tuple[object, ...], Strides, Strides, ByteRanges]
#: Direction, arrays and strides: accesses with equal keys form one set.
AccessKey = tuple[str, tuple[object, ...], Strides, Strides]


@dataclass(slots=True)
class ByteSet:
    """Ranges of bytes from ``low`` to ``high``, which stand for ``scale`` times as many bytes."""

    ranges: ByteRanges
    scale: float = 1.0
    low: int = field(init=False)
    high: int = field(init=False)

    def __post_init__(self) -> None:
        self.low, self.high = int(self.ranges[0, 0]), int(self.ranges[-1, 1])

    def repeat(self, stride: int, count: int) -> ByteSet:
        """Return the union of the set with its copies, which are ``stride`` bytes apart.

        Only the first copies are computed if there are too many. Once copies are farther from the
        first than the length of the set, each copy adds the same number of bytes.
        """
        if stride == 0 or count <= 1:
            return self
        reach = (count - 1) * abs(stride)
        copies, length = count, int(self.ranges[-1, 1]) - int(self.ranges[0, 0])
        start = self.ranges - (reach if stride < 0 else 0)
        if len(self.ranges) == 1 and abs(stride) <= length:  # the copies form one range
            return ByteSet(start + np.array([0, reach]), self.scale)
        if len(self.ranges) * count > _MAX_RANGES:
            needed = length // abs(stride) + 3
            copies = min(count, needed, max(_MAX_RANGES // len(self.ranges), 2))
        moves = np.arange(copies)[:, None, None] * abs(stride)
        every = union_ranges((start + moves).reshape(-1, 2))
        result = ByteSet(every, self.scale)
        if count > copies:
            last = byte_count(every)
            before = byte_count(union_ranges((start + moves[:-1]).reshape(-1, 2)))
            result.scale *= (last + (count - copies) * (last - before)) / last
        result.low = self.low - (reach if stride < 0 else 0)
        result.high = self.high + (reach if stride > 0 else 0)
        return result

    def sector_bytes(self) -> float:
        """Return the total size in bytes of the sectors that the set touches."""
        ends = np.stack([self.ranges[:, 0] // SECTOR, -(-self.ranges[:, 1] // SECTOR)], axis=1)
        size = byte_count(union_ranges(ends * SECTOR)) * self.scale
        return min(size, _sector_span(self.low, self.high))


def byte_count(ranges: ByteRanges) -> int:
    """Return the total number of bytes in disjoint ranges."""
    return int((ranges[:, 1] - ranges[:, 0]).sum())


def _sector_span(low: int, high: int) -> float:
    return float((-(-high // SECTOR) - low // SECTOR) * SECTOR)


def union_ranges(ranges: ByteRanges) -> ByteRanges:
    """Return the union of ranges [first, end) as sorted, disjoint ranges.

    >>> union_ranges(np.array([[8, 12], [0, 4], [4, 6]])).tolist()
    [[0, 6], [8, 12]]
    """
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    reach = np.maximum.accumulate(ranges[:, 1])
    apart = np.flatnonzero(ranges[1:, 0] > reach[:-1])
    first, last = np.append(0, apart + 1), np.append(apart, len(ranges) - 1)
    return np.stack([ranges[first, 0], reach[last]], axis=1)


#: Bytes that do not depend on the size of the block or launch, and bytes that grow with that size.
FixedAndGrowing = npt.NDArray[np.float64]


class Footprints:
    """The bytes that the accesses of a kernel touch during a launch, by array."""

    def __init__(
        self, launch: KernelLaunch, array_bytes: Mapping[int, float] | None = None
    ) -> None:
        self.launch, self._array_bytes = launch, array_bytes or {}
        self._sets: dict[AccessKey, list[ByteRanges]] = {}
        self._max_bytes: dict[AccessKey, float] = {}
        self._grows_with_threads: set[AccessKey] = set()

    def add(self, address: Address, width: int, most: float, direction: str) -> bool:
        """Add an access that touches at most ``most`` bytes of a block; return True if known."""
        moving, fixed = address
        pattern: AccessPattern | None = self.launch.compute_once(
            moving, lambda: self._access_pattern(moving, width), "pattern", width
        )
        if pattern is None:
            return False
        arrays, passes, blocks, base = pattern
        for each in (direction, "touch"):
            key = (each, arrays, passes, blocks)
            self._sets.setdefault(key, []).append(base + fixed)
            if len(base) > 1 or base[0, 1] - base[0, 0] > width:
                self._grows_with_threads.add(key)
            self._max_bytes[key] = self._max_bytes.get(key, 0.0) + most
        return True

    def _access_pattern(self, address: IntExpr, width: int) -> AccessPattern | None:
        """Return the pattern of an access; None if its bytes cannot be enumerated."""
        arrays = tuple(
            one.args[0]
            for product, times in address.terms.items()
            if times == 1 and len(product) == 1 and self._is_pointer(one := product[0])
        )
        offset = substitute(address, lambda one: constant(0) if self._is_pointer(one) else None)
        inner = substitute(self.launch.substitute_pointers(offset), self._drop_edges)
        passes, blocks, rest = split_strides(self.launch, inner)
        if any(one.kind not in _EVALUABLE_KINDS for one in rest.atoms()):
            return None
        places = _distinct_values(self.launch, rest)
        if places is None:
            return None
        base = union_ranges(np.stack([places, places + width], axis=1))
        return arrays or (offset,), passes, blocks, base

    def _drop_edges(self, one: Atom) -> IntExpr | None:
        """Return what a clamp or choice in an address is at nearly all threads; None if mixed."""
        is_known = all(each.kind in _EVALUABLE_KINDS for each in one.atoms())
        if one.kind not in ("if", "least", "most") or not is_known:
            return None
        first, second = (ONE, ZERO) if one.kind == "if" else one.args
        least: Condition = (">=", first - second if one.kind == "most" else second - first)
        when = one.args[0] if one.kind == "if" else least
        share = self.launch.mean_per_thread(atom_expr("if", when))
        if _EDGE_SHARE < share < 1 - _EDGE_SHARE:
            return None
        return substitute(first if share > _EDGE_SHARE else second, self._drop_edges)

    def direction_bytes(self, direction: str, all_blocks: bool) -> FixedAndGrowing:
        """Return the bytes that one or all blocks load, store or touch.

        Sets with different strides in the same array count in full, up to their union if all their
        ranges are known, and otherwise up to the range from the first to the last byte.
        """
        by_array: dict[object, list[tuple[ByteSet, float, bool]]] = {}
        grid = math.prod(self.launch.grid) if all_blocks else 1
        for key, ranges in self._sets.items():
            its_direction, arrays, iterations, blocks = key
            if its_direction != direction:
                continue
            touched = ByteSet(union_ranges(np.concatenate(ranges)))
            strides = (*iterations, *blocks) if all_blocks else iterations
            for step, many in sorted(strides, key=lambda stride: abs(stride[0])):
                touched = touched.repeat(step, many)
            moves = any(step for step, _ in blocks)
            size = min(touched.sector_bytes(), (grid if moves else 1) * self._max_bytes[key])
            grows = moves if all_blocks else key in self._grows_with_threads
            by_array.setdefault(arrays, []).append((touched, size, grows))
        total = np.zeros(2)
        for its_arrays, parts in by_array.items():
            most = _sector_span(min(s.low for s, *_ in parts), max(s.high for s, *_ in parts))
            if all(s.scale == 1 for s, *_ in parts):
                union = union_ranges(np.concatenate([s.ranges for s, *_ in parts]))
                most = ByteSet(union).sector_bytes()
            every_part = sum(size for _, size, _ in parts)
            offsets = its_arrays if isinstance(its_arrays, tuple) else ()
            limits = [self._array_bytes[each] for each in offsets if each in self._array_bytes]
            share = min(every_part, most, *limits) / every_part
            for _, size, grows in parts:
                total[int(grows)] += size * share
        return total

    def _is_pointer(self, atom: Atom) -> bool:
        is_argument = atom.kind == "argument" and atom.args[0] in self.launch.pointers
        return is_argument or is_device_array(atom)


def _distinct_values(launch: KernelLaunch, value: IntExpr) -> npt.NDArray[np.int64] | None:
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
