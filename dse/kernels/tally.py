"""Counts of a kernel at one launch: as numbers, and as formulas of how often its parts run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.kernels.affine import ONE, Atom, Whole, atom, common, known
from dse.kernels.cubin import Function
from dse.kernels.flow import Flow, flow_of
from dse.kernels.formula import Formulas, UnwrittenError
from dse.kernels.instructions import Constants, Instruction
from dse.kernels.launch_values import Launch
from dse.kernels.loop_counts import Frequencies, free_name, frequencies, resting
from dse.kernels.registers import Values
from symbolic.quantities import TABLE

#: Classes of instructions that ask global memory, and those that ask memory of the device.
GLOBAL = ("global_load", "global_store", "global_copy", "atomic")
MEMORY = (*GLOBAL, "local_load", "local_store")
#: Those that ask shared memory.
SHARED = ("shared_load", "shared_store", "shared_atomic")
#: Registers that tell a thread its place.
_PLACES = ("tid.x", "tid.y", "tid.z", "ctaid.x", "ctaid.y", "ctaid.z", "lane")


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
    values = Values(flow, Constants(layout(function.arch), function.bank, upper, function.table))
    return Reading(function, flow, values, frequencies(flow, values, lines or {}))


def _uniform(one: Atom) -> bool:
    """Whether an atom is the same for every thread of a launch."""
    return not any(
        (each.kind == "special" and each.of[0] in _PLACES)
        or each.kind in ("pass", "first", "total", "power", "power of", "scaled")
        for each in Whole({(one,): 1}).atoms()
    )


class Tally:
    """Counts of one launch, as numbers and as formulas.

    A count is a sum over expressions of how often something runs. What differs between threads or
    passes is enumerated: such a count holds for this launch alone, and :meth:`rests_on` returns
    the arguments and sizes for which it does.
    """

    def __init__(
        self,
        reading: Reading,
        launch: Launch,
        names: Mapping[Atom, str],
        lines: Mapping[int, int],
    ) -> None:
        self.reading, self.launch, self.lines = reading, launch, lines
        self.formulas = Formulas(names)
        self.runs: dict[str, str] = {}  # formulas of how often blocks run, and their names
        self._texts: dict[Whole, tuple[float, str, frozenset[Atom]]] = {}
        self._rests: dict[tuple[Whole, bool], frozenset[Atom]] = {}

    def of(self, block: int) -> Whole:
        """Return how often a block runs, as an expression."""
        return self.reading.often.blocks[block]

    def number(self, block: int) -> float:
        """How often a warp runs a block, on average."""
        return self.launch.per_warp(self.of(block))

    def rests_on(self, value: Whole, *, places: bool = True) -> frozenset[Atom]:
        """Return the arguments, answers and sizes that an enumerated expression rests on.

        Those of the passes of loops in it are among them. Sizes of the launch are left out
        without ``places``.
        """
        key = value, places
        if key not in self._rests:
            passes = resting(value, self.reading.often.passes)
            found: set[Atom] = set()
            for each in (value, *passes.values()):
                found.update(one for one in each.atoms() if one.kind in ("argument", "asked"))
                if places:
                    found.update(Atom("special", (name,)) for name in _sizes(each))
            self._rests[key] = frozenset(found)
        return self._rests[key]

    def _written(self, runs: Whole, block: int) -> tuple[float, str, frozenset[Atom]]:
        """A factor, the name of a formula in quantities or nothing, what the factor rests on."""
        alike = [one for one in common(runs) if not _uniform(one)]
        rest = Whole(
            {tuple(one for one in p if one not in alike): t for p, t in runs.terms.items()}
        )
        try:
            if not all(map(_uniform, rest.atoms())):
                raise UnwrittenError
            told = self.formulas.text(rest)
        except UnwrittenError:
            return self.launch.per_warp(runs), "", self.rests_on(runs)
        product = ONE
        for one in alike:
            product = product * Whole({(one,): 1})
        fixed = self.rests_on(product)
        share = self.launch.per_warp(product)
        if rest.number is not None:
            return share * rest.number, "", fixed
        return share, self.runs.setdefault(told, self._name(block)), fixed

    def _name(self, block: int) -> str:
        at = self.reading.flow.blocks[block].body[0].at
        runs = self.runs.values()
        return free_name("runs", self.lines, at, lambda name: name in runs or name in TABLE)

    def total(
        self, counts: Mapping[tuple[int, Whole], float]
    ) -> tuple[float, str, frozenset[Atom]]:
        """Return a count over the launch, its formula where it has one, and what it holds for.

        It is a sum over how often blocks and instructions run.
        """
        number = 0.0
        by_name = defaultdict[str, float](float)
        fixed: set[Atom] = set()
        for (block, runs), many in counts.items():
            if not many:
                continue
            if runs not in self._texts:
                self._texts[runs] = self._written(runs, block)
            share, name, rests = self._texts[runs]
            by_name[name] += share * many
            number += self.launch.per_warp(runs) * many
            fixed |= rests
        plain = by_name.pop("", 0.0)
        parts = [f"{many:.10g} * {name}" for name, many in by_name.items() if many]
        if not parts:
            return number, "", frozenset(fixed)
        text = self.formulas.total([*([f"{plain:.10g}"] if plain else []), *parts])
        return number, text, frozenset(fixed)


def _sizes(value: Whole) -> set[str]:
    """Return the sizes of the launch that a value rests on, as registers that hold them.

    A value that knows no more of a thread than its number in the launch is the same for blocks of
    other sizes: it rests on the number of threads alone (``nctaid.x``).
    """
    found: set[str] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        index, rest = _index_removed(one)
        if index:
            found.add("nctaid.x")
        for product in rest.terms:
            for each in product:
                if each.kind != "special":
                    waiting += _values_in(each.of)
                elif each.of[0].startswith(("ctaid", "nctaid")):
                    found.add("nctaid.x")
                    found.update({"ntid.x"} if len(product) > 1 else ())
                elif each.of[0] != "lane":
                    found.add("ntid.x")
    return found


def _index_removed(value: Whole) -> tuple[bool, Whole]:
    """Return whether a value has a thread's number in the launch, and what else there is."""
    block, size, thread = (Atom("special", (n,)) for n in ("ctaid.x", "ntid.x", "tid.x"))
    many = Atom("special", ("nctaid.x",))
    terms = dict(value.terms)
    for product, times in value.terms.items():
        if product.count(size) != 1:
            continue
        rest = [one for one in product if one not in (size, block, many)]
        if product.count(many) == 1 and block not in product:  # the number of threads
            del terms[product]
        elif product.count(block) == 1 and many not in product:
            other = tuple(sorted([*rest, thread], key=id))
            if terms.get(other) == times:
                del terms[product], terms[other]
    gone = Whole({p: t for p, t in value.terms.items() if p not in terms})
    places = (block, size, thread, many)
    factors = {tuple(one for one in p if one not in places): 1 for p in gone.terms}
    return bool(gone.terms), Whole(terms) + Whole(factors)


def _values_in(part: Any) -> Iterator[Whole]:
    if isinstance(part, Whole):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _values_in(each)
