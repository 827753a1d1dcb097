"""What the memory accesses of a kernel are: widths, sectors a request, requests in flight."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dse.kernels.assembly import Instruction, split
from dse.kernels.evaluate import BLOCKS, Launch
from dse.kernels.linear import ZERO, Atom, Whole
from dse.kernels.values import Values

__all__ = ["SECTOR", "Access", "Accesses", "Address", "in_flight"]

#: Bytes of a sector, the piece in which caches and DRAM move data.
SECTOR = 32
_INSIDE = re.compile(r"\[([^\[\]]*)\]$")
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_UNKNOWN = ("unknown", "loaded", "entry", "reciprocal", "first")
_ONLY = re.compile(r"U?R\d+")
#: What moves an address, and the constant bytes from there.
Address = tuple[Whole, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One instruction that loads or stores: bytes a thread; sectors of a warp's request.

    ``sectors`` is None where the address depends on data; ``least`` is what as many bytes take at
    least.
    """

    bytes: int
    sectors: float | None
    least: float

    @property
    def coalesced(self) -> bool | None:
        """Whether a warp's request takes no more sectors than its bytes, and one at an edge."""
        return None if self.sectors is None else self.sectors <= self.least + 1


class Accesses:
    """The accesses of a kernel at a launch; what many have in common is worked out once."""

    def __init__(self, values: Values, launch: Launch, pointers: set[int]) -> None:
        self.values, self.launch = values, launch
        #: Arrays begin at whole sectors.
        bases = pointers - launch.arguments.keys()
        self._bases = frozenset((Atom("argument", (each,)),) for each in bases)
        self._first = launch.at({}, dict.fromkeys(BLOCKS, 0))
        self._solved: dict[tuple[Whole, int], Address] = {}
        self._least: dict[int, float] = {}

    def of(self, one: Instruction, where: Address | None) -> Access:
        """What an instruction asks memory for at its address, in the first blocks of the grid."""
        width = next((_WIDTHS[each] for each in one.modifiers if each in _WIDTHS), 4)
        if width not in self._least:
            threads = self.launch.active.sum(axis=-1)
            self._least[width] = float(np.ceil(threads * width / SECTOR).mean())
        sectors = None
        if where is not None:
            moving, fixed = where[0], where[1] % SECTOR  # whole sectors on, as many
            sectors = self.launch.once(
                moving,
                lambda: self._touched(moving, fixed, width),
                "sectors",
                fixed,
                width,
                self._bases,
            )
        return Access(bytes=width, sectors=sectors, least=self._least[width])

    def address(self, one: Instruction, block: int, place: int) -> Address | None:
        """The address that an instruction names, by arguments, threads, blocks and passes."""
        where = _address(one, self.values, block, place)
        if where is None:
            return None
        moving, fixed = _apart(where)
        if (moving, block) not in self._solved:
            self._solved[moving, block] = _apart(self.values.solved(moving, block))
        moving, more = self._solved[moving, block]
        return moving, fixed + more

    def _touched(self, where: Whole, fixed: int, width: int) -> float | None:
        """The sectors that a warp's request touches, on average over the first warps."""
        bases = [each for each in self._bases if where.terms.get(each) == 1]
        where = Whole({product: t for product, t in where.terms.items() if product not in bases})
        lanes = self.launch.once(where, lambda: self._places(where), "lanes")
        if lanes is None:
            return None
        first = lanes + fixed
        ends = np.sort(np.hstack([first // SECTOR, (first + width - 1) // SECTOR]))
        return float((1 + (np.diff(ends) != 0).sum(axis=-1)).mean())

    def _places(self, where: Whole) -> Any:
        """An address at the threads of the first warps; None where it rests on data."""
        if any(
            one.kind in _UNKNOWN
            or (one.kind == "argument" and one.of[0] not in self._first.arguments)
            for one in where.atoms()
        ):
            return None
        active = self.launch.active
        lanes = np.asarray(self._first.value(where), dtype=np.int64)
        lanes = np.broadcast_to(lanes, (1, 1, 1, *active.shape))[0, 0, 0, :_WARPS]
        return np.where(active[:_WARPS], lanes, lanes[:, :1])


#: Warps of a block that are looked at.
_WARPS = 8


def _address(one: Instruction, values: Values, block: int, place: int) -> Whole | None:
    """The address that an instruction names, in bytes."""
    if (parts := _parts(one.text)) is None:
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
def _parts(text: str) -> list[tuple[str, int]] | None:
    """The operands that the address in a text of operands sums, and their factors."""
    inside = next((m[1] for each in split(text) if (m := _INSIDE.search(each.strip()))), None)
    if inside is None:
        return None
    found = []
    for part in inside.split("+"):
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
