"""What the accesses of a kernel come to: requests, sectors, and the bytes that they touch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from dse.kernels.accesses import Access, Accesses, Address
from dse.kernels.conditions import FALSE, TRUE, Condition, alone, known
from dse.kernels.footprint import Bytes, Footprints
from dse.kernels.linear import ZERO, Atom, Whole, atom
from dse.kernels.tally import GLOBAL, SHARED, Reading, Tally
from dse.kernels.wavefronts import SECTOR

__all__ = ["Memory"]

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
        threads, alone = self.launch.threads, Bytes(0.0, self._alone)
        own = self._footprints.block("load") + self._footprints.block("store") + alone
        own += Bytes(0.0, self._local)
        found = {"block_bytes": (own, threads, "threads_per_block")}
        if grid is not None:
            every = self._footprints.launched("load") + self._footprints.launched("store")
            every += Bytes(0.0, self._alone * grid)
            found["launch_bytes"] = every, grid * threads, "elements"
        values, formulas = {}, {}
        for name, (each, of, by) in found.items():
            values[name] = each.fixed + each.growing
            if each.growing and "threads_per_block" in names:
                fixed = f"{each.fixed:.10g} + " if each.fixed else ""
                formulas[name] = f"{fixed}{each.growing / of:.10g} * {by}"
        return values, formulas
