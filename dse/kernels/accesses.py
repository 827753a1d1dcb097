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

__all__ = ["SECTOR", "Access", "access", "in_flight"]

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


def access(
    one: Instruction, values: Values, block: int, place: int, launch: Launch, pointers: set[int]
) -> Access:
    """What an instruction asks memory for, in the first blocks of the grid."""
    width = next((_WIDTHS[each] for each in one.modifiers if each in _WIDTHS), 4)
    active = launch.active
    least = float(np.ceil(active.sum(axis=-1) * width / SECTOR).mean())
    where = _address(one, values, block, place)
    if where is None:
        return Access(bytes=width, sectors=None, least=least)

    def based(each: Atom) -> Whole | None:
        return ZERO if each.kind == "argument" and each.of[0] in pointers else None

    where = rebuilt(values.solved(where, block), based)
    if any(
        each.kind in _UNKNOWN or (each.kind == "argument" and each.of[0] not in launch.arguments)
        for each in where.atoms()
    ):
        return Access(bytes=width, sectors=None, least=least)
    places = np.asarray(launch.value(where))
    places = np.broadcast_to(places, np.broadcast_shapes(places.shape, (1, *active.shape)))
    counted = []
    for lanes, here in zip(places[0][:_WARPS], active[:_WARPS], strict=True):
        first = lanes[here].astype(np.int64)
        ends = [first // SECTOR, (first + width - 1) // SECTOR]
        counted.append(len(np.unique(np.concatenate(ends))))
    return Access(bytes=width, sectors=float(np.mean(counted)), least=least)


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
