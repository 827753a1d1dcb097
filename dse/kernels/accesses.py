"""What the memory accesses of a kernel are: widths, sectors and wavefronts, requests in flight."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dse.kernels.assembly import Instruction, split
from dse.kernels.evaluate import Launch
from dse.kernels.linear import ONE, ZERO, Atom, Whole, atom, common
from dse.kernels.requests import Moves, Requests, moved, of_lanes, phases, sized
from dse.kernels.values import Values
from dse.kernels.wavefronts import SECTOR, WORD, cache_wavefronts, sectors, shared_wavefronts

__all__ = ["Access", "Accesses", "Address", "in_flight", "is_device_array", "width_of"]

_INSIDE = re.compile(r"\[([^\[\]]*)\]$")
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_UNKNOWN = ("unknown", "loaded", "entry", "reciprocal", "first", "total")
_ONLY = re.compile(r"U?R\d+")
#: What moves an address, and the constant bytes from there.
Address = tuple[Whole, int]


@dataclass(frozen=True, slots=True)
class Access:
    """One instruction that loads or stores: bytes a thread; of a warp's request the mean numbers.

    ``least`` is the sectors that as many bytes take at least. ``sectors`` is None where the address
    depends on data, and ``wavefronts`` then those of addresses in a row.
    """

    bytes: int
    sectors: float | None
    wavefronts: float
    least: float

    @property
    def coalesced(self) -> bool | None:
        """Whether a warp's request takes no more sectors than its bytes, and one at an edge."""
        return None if self.sectors is None else self.sectors <= self.least + 1


class Accesses:
    """The accesses of a kernel at a launch; what many have in common is worked out once."""

    def __init__(self, values: Values, launch: Launch) -> None:
        self.values, self.launch = values, launch
        #: Arrays begin at whole lines.
        self._bases = launch.pointers.difference(launch.arguments)
        self._solved: dict[tuple[Whole, int], Address] = {}
        self._told: dict[tuple[Whole | None, Whole, int, int, bool, bool], Access] = {}

    def of(self, one: Instruction, where: Address | None, asks: Whole) -> Access:
        """What an instruction asks memory for at its address, in the lanes that ask."""
        width = width_of(one)
        load, shared = one.kind.endswith("load"), one.kind.startswith("shared")
        moving, fixed = where or (None, 0)
        fixed %= WORD if shared else SECTOR  # whole ones on, it is the same
        key = (moving, asks, fixed, width, load, shared)
        if key not in self._told:
            of = self.launch.once(
                atom("requests", moving or ZERO, asks),
                lambda: self._numbers(moving, fixed, width, asks, load, shared),
                *(moving is None, *key[2:]),
            )
            sectors, wavefronts, least = of
            self._told[key] = Access(width, sectors, wavefronts, least)
        return self._told[key]

    def address(self, one: Instruction, block: int, place: int) -> Address | None:
        """The address that an instruction names, by arguments, threads, blocks and passes."""
        where = _address(one, self.values, block, place)
        if where is None:
            return None
        moving, fixed = _apart(where)
        if (moving, block) not in self._solved:
            solved = self.values.solved(moving, block)
            self._solved[moving, block] = _apart(self.launch.sized(solved))
        moving, more = self._solved[moving, block]
        return moving, fixed + more

    def asks(self, runs: Whole) -> Whole:
        """Which lanes ask of what runs: 1 where all conditions hold that can be followed."""
        found = ONE
        for one in common(runs):
            if one.kind == "if" and self._known(Whole({(one,): 1})):
                found = found * Whole({(one,): 1})
        return found

    def _known(self, value: Whole) -> bool:
        """Whether a value is known at each thread, and does not rest on data."""
        return not any(
            one.kind in _UNKNOWN
            or (one.kind == "argument" and one.of[0] not in self.launch.arguments)
            for one in value.atoms()
        )

    def _base(self, product: tuple[Atom, ...], shared: bool) -> bool:
        """Whether a part of an address is where an array begins; in shared memory a constant."""
        if len(product) != 1:
            return False
        (one,) = product
        if one.kind == "argument":
            return one.of[0] in self._bases
        return _constant(one) if shared else is_device_array(one)

    def _numbers(
        self, where: Whole | None, fixed: int, width: int, asks: Whole, load: bool, shared: bool
    ) -> tuple[float | None, float, float]:
        """Of a warp's request on average: sectors, wavefronts, and the least sectors."""
        moves: Moves = ()
        if where is not None:
            kept = {p: t for p, t in where.terms.items() if t != 1 or not self._base(p, shared)}
            passes, blocks, where = moved(self.launch, sized(self.launch, Whole(kept)))
            moves = (*passes, *blocks)
            where = where if self._known(where) else None
        every = of_lanes(self.launch, ZERO if where is None else where, asks)
        way = (width, load, shared)
        if where is None:
            wavefronts, least = every.once(("row", *way), lambda: _in_a_row(every, *way))
            return None, wavefronts, least
        found = through = least = 0.0
        for at, share in phases(moves, fixed, WORD if shared else SECTOR).items():
            told = every.once((at, *way), lambda at=at: _at(every, at, *way))  # type: ignore[misc]
            found, through, least = found + share * told[0], through + share * told[1], told[2]
        return found, through, least


def _at(every: Requests, at: int, width: int, load: bool, shared: bool) -> tuple[float, ...]:
    """Sectors, wavefronts and the least sectors of requests that are moved by some bytes."""
    first, active = every.first + at, every.active
    wavefronts = shared_wavefronts if shared else cache_wavefronts
    through = every.mean(wavefronts(first, active, width, load=load))
    return every.mean(sectors(first, active, width)), through, every.least(width)


def _in_a_row(every: Requests, width: int, load: bool, shared: bool) -> tuple[float, float]:
    """Wavefronts and the least sectors, where lanes are taken to ask for one after the other."""
    wavefronts = shared_wavefronts if shared else cache_wavefronts
    row = width * np.arange(every.active.shape[-1]) + 0 * every.first
    return every.mean(wavefronts(row, every.active, width, load=load)), every.least(width)


def width_of(one: Instruction) -> int:
    """The bytes that each thread loads or stores."""
    return next((_WIDTHS[each] for each in one.modifiers if each in _WIDTHS), 4)


def is_device_array(one: Atom) -> bool:
    """Whether it is where an array of the source begins, which bank 4 of the constants holds."""
    return _constant(one) and str(one.of[0][1]).startswith("c[0x4]")


def _constant(one: Atom) -> bool:
    return one.kind == "unknown" and one.of[0][0] == "constant"


def _address(one: Instruction, values: Values, block: int, place: int) -> Whole | None:
    """The address that an instruction names, in bytes."""
    if (parts := _parts(one.text, one.kind == "global_copy")) is None:
        return None
    total = ZERO
    for name, times in parts:
        total = total + values.operand(name, block, place).times(times)
    return total


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


def in_flight(body: Sequence[Instruction]) -> list[int]:
    """How many global loads are under way at each first use of one that is, in a block."""
    waiting: set[str] = set()
    many, found = 0, []
    for one in body:
        read = set(_ONLY.findall(one.text)) if waiting else set()
        if waiting & read:
            found.append(many)
            waiting, many = set(), 0
        if one.kind == "global_load":
            waiting |= set(one.results)
            many += 1
    return [*found, many] if many else found
