"""What the memory accesses of a kernel are: widths, sectors a request, requests in flight."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.kernels.assembly import Instruction
from dse.kernels.evaluate import Launch
from dse.kernels.linear import ONE, ZERO, Atom, Whole, constant, rebuilt
from dse.kernels.values import Values

__all__ = ["SECTOR", "Access", "Accesses", "in_flight"]

#: Bytes of a sector, the piece in which caches and DRAM move data.
SECTOR = 32
_INSIDE = re.compile(r"\[([^\[\]]*)\]$")
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_UNKNOWN = ("unknown", "loaded", "entry", "reciprocal", "first")
_ONLY = re.compile(r"U?R\d+")


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
        self.values, self.launch, self.pointers = values, launch, pointers
        self._based: dict[Atom, Whole | None] = {}
        self._sectors: dict[tuple[Whole, int], float | None] = {}
        self._least: dict[int, float] = {}

    def of(self, one: Instruction, block: int, place: int) -> Access:
        """What an instruction asks memory for, in the first blocks of the grid."""
        width = next((_WIDTHS[each] for each in one.modifiers if each in _WIDTHS), 4)
        if width not in self._least:
            threads = self.launch.active.sum(axis=-1)
            self._least[width] = float(np.ceil(threads * width / SECTOR).mean())
        sectors = None
        if (where := self.address(one, block, place)) is not None:
            where = rebuilt(where, self._base, self._based)
            fixed = where.terms.get((), 0)
            where = where - constant(fixed - fixed % SECTOR)  # whole sectors on, as many
            if (where, width) not in self._sectors:
                self._sectors[where, width] = self._touched(where, width)
            sectors = self._sectors[where, width]
        return Access(bytes=width, sectors=sectors, least=self._least[width])

    def address(self, one: Instruction, block: int, place: int) -> Whole | None:
        """The address that an instruction names, by arguments, threads, blocks and passes."""
        where = _address(one, self.values, block, place)
        return None if where is None else self.values.solved(where, block)

    def _base(self, one: Atom) -> Whole | None:
        """Arrays begin at whole sectors."""
        return ZERO if one.kind == "argument" and one.of[0] in self.pointers else None

    def _touched(self, where: Whole, width: int) -> float | None:
        """The sectors that a warp's request touches, on average over the first warps."""
        if any(
            one.kind in _UNKNOWN
            or (one.kind == "argument" and one.of[0] not in self.launch.arguments)
            for one in where.atoms()
        ):
            return None
        places, active = np.asarray(self.launch.value(where)), self.launch.active
        places = np.broadcast_to(places, np.broadcast_shapes(places.shape, (1, *active.shape)))
        counted = []
        for lanes, here in zip(places[0][:_WARPS], active[:_WARPS], strict=True):
            first = lanes[here].astype(np.int64)
            ends = {*(first // SECTOR).tolist(), *((first + width - 1) // SECTOR).tolist()}
            counted.append(len(ends))
        return sum(counted) / len(counted)


#: Warps of a block that are looked at.
_WARPS = 8


def _address(one: Instruction, values: Values, block: int, place: int) -> Whole | None:
    """The address that an instruction names, in bytes."""
    inside = next((m[1] for each in one.operands if (m := _INSIDE.search(each))), None)
    if inside is None:
        return None
    total = ZERO
    for part in inside.split("+"):
        name, _, times = part.partition(".X")
        factor = constant(int(times)) if times.isdigit() else ONE
        total = total + values.operand(name, block, place) * factor
    return total


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
