"""Counts of a kernel at one launch: as numbers, and as formulas of how often its parts run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dse.kernels.assembly import Instruction
from dse.kernels.conditions import known
from dse.kernels.counts import Frequencies, free_name, frequencies
from dse.kernels.cubin import Function
from dse.kernels.evaluate import Launch
from dse.kernels.flow import Flow, flow_of
from dse.kernels.formula import UnwrittenError, text
from dse.kernels.linear import ONE, Atom, Whole, atom, common
from dse.kernels.operands import Constants
from dse.kernels.values import Values
from symbolic.quantities import TABLE

__all__ = ["GLOBAL", "MEMORY", "SHARED", "Reading", "Tally", "read"]

#: Classes of instructions that ask global memory, and those that ask memory of the device.
GLOBAL = ("global_load", "global_store", "global_copy", "atomic")
MEMORY = (*GLOBAL, "local_load", "local_store")
#: Those that ask shared memory.
SHARED = ("shared_load", "shared_store", "shared_atomic")


def layout(arch: int) -> dict[int, str]:
    """Where the constants hold the sizes of block and grid, which compute capability 10 moved."""
    block, grid = (0x360, 0x370) if arch >= 100 else (0x0, 0xC)
    found = {block + 4 * at: f"ntid.{axis}" for at, axis in enumerate("xyz")}
    return found | {grid + 4 * at: f"nctaid.{axis}" for at, axis in enumerate("xyz")}


@dataclass(frozen=True, slots=True)
class Reading:
    """A kernel's machine code, read: its flow, its values, how often each block runs."""

    function: Function
    flow: Flow
    values: Values
    often: Frequencies

    def instructions(self) -> Iterator[tuple[int, int, Instruction]]:
        """Each instruction that can run, with its block and place."""
        for number in self.often.blocks:
            for place, one in enumerate(self.flow.blocks[number].body):
                yield number, place, one

    def needed(self) -> list[int]:
        """The offsets of the arguments that counts rest on, and guards of loads and stores."""
        every = [*self.often.blocks.values(), *self.often.passes.values()]
        for number, place, one in self.instructions():
            if one.guard and one.kind in MEMORY:
                when = self.values.holds(number, place)
                every += [atom("if", when)] if known(when) else []
        found = {one.of[0] for value in every for one in value.atoms() if one.kind == "argument"}
        return sorted(found)


def read(
    function: Function, body: Sequence[Instruction], lines: Mapping[int, int] | None = None
) -> Reading:
    """A kernel, read.

    Raises
    ------
    DseError
        A jump to a computed address, or a loop that is entered at two places.
    """
    flow = flow_of(body)
    upper = frozenset(offset + 4 for offset, size in function.arguments if size == 8)
    values = Values(flow, Constants(layout(function.arch), function.bank, upper))
    return Reading(function, flow, values, frequencies(flow, values, lines or {}))


def _uniform(one: Atom) -> bool:
    """Whether an atom is the same for every thread of a launch."""
    threads = ("tid.x", "tid.y", "tid.z", "ctaid.x", "ctaid.y", "ctaid.z", "lane")
    return not any(
        (each.kind == "special" and each.of[0] in threads)
        or each.kind in ("pass", "first", "power", "power of", "scaled")
        for each in Whole({(one,): 1}).atoms()
    )


class Tally:
    """Counts of one launch, as numbers and as formulas."""

    def __init__(
        self,
        reading: Reading,
        launch: Launch,
        names: Mapping[Atom, str],
        lines: Mapping[int, int],
    ) -> None:
        self.reading, self.launch, self.names, self.lines = reading, launch, names, lines
        self.runs: dict[str, str] = {}  # formulas of how often blocks run, and their names
        self._numbers: dict[int, float] = {}
        self._texts: dict[int, tuple[float, str]] = {}

    def number(self, block: int) -> float:
        """How often a warp runs a block, on average."""
        if block not in self._numbers:
            self._numbers[block] = self.launch.per_warp(self.reading.often.blocks[block])
        return self._numbers[block]

    def _written(self, block: int) -> tuple[float, str]:
        """A factor, and the name of a formula in quantities, or nothing."""
        often = self.reading.often.blocks[block]
        alike = [one for one in common(often) if not _uniform(one)]
        rest = Whole(
            {tuple(one for one in p if one not in alike): t for p, t in often.terms.items()}
        )
        try:
            if not all(map(_uniform, rest.atoms())):
                raise UnwrittenError
            told = text(rest, self.names)
        except UnwrittenError:
            return self.number(block), ""
        product = ONE
        for one in alike:
            product = product * Whole({(one,): 1})
        share = self.launch.per_warp(product)
        if rest.number is not None:
            return share * rest.number, ""
        return share, self.runs.setdefault(told, self._name(block))

    def _name(self, block: int) -> str:
        at = self.reading.flow.blocks[block].body[0].at
        runs = self.runs.values()
        return free_name("runs", self.lines, at, lambda name: name in runs or name in TABLE)

    def total(self, counts: Mapping[int, float]) -> tuple[float, str]:
        """A count by blocks over the launch: its number, and its formula where it has one."""
        number = 0.0
        by_name = defaultdict[str, float](float)
        for block, many in counts.items():
            if block not in self._texts:
                self._texts[block] = self._written(block)
            share, name = self._texts[block]
            by_name[name] += share * many
            number += self.number(block) * many
        fixed = by_name.pop("", 0.0)
        parts = [f"{many:.10g} * {name}" for name, many in by_name.items() if many]
        if not parts:
            return number, ""
        return number, " + ".join([*([f"{fixed:.10g}"] if fixed else []), *parts])
