"""Bytes that a kernel touches: those of one block, and those of all together, each once.

The threads of a block touch a set of bytes. Passes of loops and other blocks move it by constants,
where an address is linear in them; what the moved sets have in common is counted once.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dse.kernels.accesses import Address, is_device_array
from dse.kernels.evaluate import Launch
from dse.kernels.linear import Atom, Whole, constant
from dse.kernels.places import BLOCKS
from dse.kernels.rebuilding import rebuilt
from dse.kernels.requests import Moves, moved, sized
from dse.kernels.wavefronts import SECTOR
from stochastic import sizes

__all__ = ["Bytes", "Footprints", "Touched", "union"]

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


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes that are the same in every block or launch, and those that grow with it."""

    fixed: float
    growing: float

    def __add__(self, other: Bytes) -> Bytes:
        return Bytes(self.fixed + other.fixed, self.growing + other.growing)


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
        offset = sized(self.launch, offset)
        passes, blocks, rest = moved(self.launch, offset)
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
        total = Bytes(0.0, 0.0)
        for parts in found.values():
            low, high = min(one.low for one, *_ in parts), max(one.high for one, *_ in parts)
            every_part = sum(held for _, held, _ in parts)
            kept = min(every_part, _between(low, high)) / every_part
            for _, held, grows in parts:
                total += Bytes(0.0, held * kept) if grows else Bytes(held * kept, 0.0)
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
