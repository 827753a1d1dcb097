"""What one kernel asks of a GPU, in quantities of models, and as a workload file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dse.kernels.affine import (
    ONE,
    Atom,
    Whole,
    common,
    product_of,
)
from dse.kernels.formula import Formulas, UnwrittenError
from dse.kernels.instructions import GLOBAL, MEMORY, SHARED, WORD, Instruction, width_of
from dse.kernels.launch_values import Launch
from dse.kernels.loop_counts import Reading, free_name, resting
from dse.kernels.memory_accesses import Memory, Request
from dse.kernels.source import plain
from dse.toml_text import printable, toml_key, toml_number, toml_value, value_line
from symbolic.answer import Answer, Table, Visible
from symbolic.quantities import TABLE

#: Classes of instructions (see :mod:`dse.kernels.instructions`) that each quantity counts.
UNITS: Mapping[str, tuple[str, ...]] = {
    "fp_insts": ("fp32", "fp64", "fp16", "tensor"),
    "fp64_insts": ("fp64",),
    "sfu_insts": ("special",),
    "int_insts": ("integer",),
    "alu_insts": ("move", "shuffle"),
    "shared_insts": SHARED,
    "texture_insts": ("texture",),
    "const_insts": ("constant",),
    "local_insts": ("local_load", "local_store"),
    "sync_insts": ("barrier",),
    "misc_insts": ("control", "wait", "other"),
}


#: Numbers by the block and how often it, or one of its instructions, runs.
_Sums = dict[tuple[int, Whole], float]

#: Fused multiply-adds, each of two operations.
_FUSED = ("FFMA", "FFMA2", "DFMA", "HFMA2")
#: Hong 2012, Table 6: operations of long latency; machine code divides by many instructions.
_LONG = {
    **dict.fromkeys(("FDIV", "DDIV", "HDIV2"), "fp_div_insts"),
    **dict.fromkeys(("IMAD", "IMUL", "WIDE"), "int_mul_insts"),
    "IDIV": "int_div_insts",
    "IREM": "int_mod_insts",
}
#: Forms of IMAD that multiply nothing.
_MOVES = {"MOV", "IADD", "SHL"}
#: Classes of instructions that read and write no register (Hong 2012, Table 7).
_NO_REGISTER = ("control", "barrier", "wait")
_ONLY = re.compile(r"U?R\d+")

#: Operations on numbers of 32 or 64 bits of one thread's instruction.
FLOPS = {"FADD": 1, "FMUL": 1, "FFMA": 2, "DADD": 1, "DMUL": 1, "DFMA": 2}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Counted(Visible, Mapping[str, float]):
    """Quantities of a kernel at a launch, by their names.

    Attributes
    ----------
    formulas : mapping
        Those that rest on arguments of the launch, as formulas in what is ``declared``.
    declared : mapping
        Quantities of this kernel alone, with their meaning and their value or formula: its
        arguments, what was told of its data, and how often its parts run.
    numbers : mapping
        What each warp executes on average, by class of instruction; ``all`` of them; requests to
        memory, sectors of one, the ``flops`` of a thread, and ``floating``: instructions on
        floating-point numbers, special functions among them, as profilers count them. ``ilp`` is
        how many instructions there are to each of the longest chain of dependent ones in a
        block of the code. It is no quantity of models, whose ``ilp`` hardware limits.
    origin : str
        What was counted.
    assumed : mapping
        Quantities of which something is not known, and what was taken.
    left_out : sequence of str
        What of the source was not compiled, as it is not for the device, and why.
    holds_for : mapping
        Quantities that were enumerated for this launch, with the names of the arguments and sizes
        for whose values alone they hold; a study that gives these another value is refused.
    """

    quantities: Mapping[str, float]
    formulas: Mapping[str, str]
    declared: Mapping[str, tuple[str, float | str]]
    numbers: Mapping[str, float]
    origin: str = ""
    assumed: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[str] = ()
    holds_for: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        return self.quantities[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.quantities)

    def __len__(self) -> int:
        return len(self.quantities)

    def _answer(self) -> Answer:
        formulas = self.formulas
        rows = [[name, value, formulas.get(name)] for name, value in self.quantities.items()]
        holds = [[name, ", ".join(of)] for name, of in self.holds_for.items()]
        return Answer(
            kind="Kernel",
            title=self.origin,
            tables=[
                Table(title="quantities", columns=("quantity", "value", "formula"), rows=rows),
                Table(title="assumed", rows=[*self.assumed.items()]),
                Table(title="holds for the values given alone", rows=holds),
                Table(title="left out", rows=[[each] for each in self.left_out]),
            ],
        )

    def toml(self) -> str:
        """A workload file, in which every number bears its source."""
        lines = [f"# left out, as not for the device: {printable(each)}" for each in self.left_out]
        lines += [f"title = {toml_value(self.origin)}", ""]
        if self.declared:
            lines.append("[quantities]")
            for name, (meaning, _) in self.declared.items():
                lines.append(f"{toml_key(name)} = {{ meaning = {toml_value(meaning)} }}")
            lines.append("")
        if self.holds_for:
            lines.append("# holds_for: counted for these values alone; count again for others")
        lines.append("[values]")
        for name, (_, value) in self.declared.items():
            source = self.origin if isinstance(value, str) else "given with the launch"
            lines.append(value_line(name, toml_number(value), "source", source))
        for name, value in self.quantities.items():
            why = self.assumed.get(name)
            said = ("assumed", why) if why else ("source", self.origin)
            line = value_line(name, toml_number(self.formulas.get(name, value)), *said)
            if of := self.holds_for.get(name):
                line = f"{line[:-2]}, holds_for = {toml_value(list(of))} }}"
            lines.append(line)
        return "\n".join(lines) + "\n"


#: Registers that tell a thread its place.
_PLACES = ("tid.x", "tid.y", "tid.z", "ctaid.x", "ctaid.y", "ctaid.z", "lane")


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

    def __init__(self, reading: Reading, launch: Launch, names: Mapping[Atom, str]) -> None:
        self.reading, self.launch = reading, launch
        self.formulas = Formulas(names)
        self.runs: dict[str, str] = {}  # formulas of how often blocks run, and their names
        self._texts: dict[Whole, tuple[float, str, frozenset[Atom]]] = {}
        self._rests: dict[tuple[Whole, bool], frozenset[Atom]] = {}

    def number(self, block: int) -> float:
        """How often a warp runs a block, on average."""
        return self.launch.per_warp(self.reading.blocks[block])

    def rests_on(self, value: Whole, *, places: bool = True) -> frozenset[Atom]:
        """Return the arguments, answers and sizes that an enumerated expression rests on.

        Those of the passes of loops in it are among them. Sizes of the launch are left out
        without ``places``.
        """
        key = value, places
        if key not in self._rests:
            passes = resting(value, self.reading.passes)
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
        return free_name("runs", self.reading.lines, at, lambda name: name in runs or name in TABLE)

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
            other = product_of([*rest, thread])
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


def told(
    reading: Reading,
    launch: Launch,
    names: Mapping[Atom, str],
    sources: Mapping[Atom, str],
    blocks: int | None,
) -> Counted:
    """Return the quantities of a kernel at a launch, of so many blocks where that is known.

    ``names`` are the quantities of which formulas may be, ``sources`` the names of all that
    counts can rest on.
    """
    tally, function = Tally(reading, launch, names), reading.function
    classes: dict[str, _Sums] = defaultdict(lambda: defaultdict(float))
    groups: dict[str, _Sums] = {name: defaultdict(float) for name in _GROUPS}
    memory = Memory(reading, launch, tally.rests_on)
    flops = floating = 0.0
    for number in reading.blocks:
        body, often = reading.flow.blocks[number].body, tally.number(number)
        for (kind, name), many in Counter((one.kind, one.name) for one in body).items():
            classes[kind][number, reading.blocks[number]] += many
            if kind in UNITS["fp_insts"] or name == "MUFU":
                floating += often * many
        for of, many in Counter(each for one in body for each in _groups(one)).items():
            groups[of][number, reading.blocks[number]] += many
        for place, one in enumerate(body):
            if one.kind in MEMORY or one.kind in SHARED:
                memory.add(number, place)
            if one.name in FLOPS:
                held = memory.how_often(number, place)[1] if one.guard else often
                flops += held * FLOPS[one.name]
    counts = {name: _summed(classes, kinds) for name, kinds in UNITS.items()} | groups
    every, asking = _summed(classes, tuple(classes)), _summed(classes, MEMORY)
    counts["comp_insts"] = {
        runs: many - asking.get(runs, 0.0) - counts["sync_insts"].get(runs, 0.0)
        for runs, many in every.items()
    }
    counts["global_insts"] = _summed(classes, GLOBAL)
    made, shared, to_global = memory.of(MEMORY), memory.of(SHARED), memory.of(GLOBAL)
    for name, uncoalesced in (("coalesced_insts", False), ("uncoalesced_insts", True)):
        blocks_of = [each.runs[0] for each in made if each.is_uncoalesced == uncoalesced]
        counts[name] = _sums(((number, reading.blocks[number]), 1.0) for number in blocks_of)
    counts["warp_bytes"] = _sums((each.runs, each.bytes) for each in made if each.many)
    counts["load_requests"] = _sums((each.runs, float(bool(each.one.results))) for each in made)
    counts["l1_wavefronts"] = _sums((each.runs, each.wavefronts) for each in made)
    counts["shared_wavefronts"] = _sums((each.runs, each.wavefronts) for each in shared)
    addresses = _union(each.addresses for each in made)
    runs_rest = _union(tally.rests_on(each.runs[1]) for each in made)
    rests: dict[str, frozenset[Atom]] = defaultdict(frozenset)
    rests["shared_wavefronts"] = _union(each.addresses for each in shared)
    rests |= dict.fromkeys(("l1_wavefronts", "warp_bytes"), addresses)
    lanes = _union(each.lanes for each in made)
    rests |= dict.fromkeys(("coalesced_insts", "uncoalesced_insts"), lanes)
    rests |= dict.fromkeys(("block_bytes", "launch_bytes"), addresses | runs_rest)
    rests["bytes_per_thread"] = runs_rest
    values, formulas = {}, {}
    for name, by_runs in counts.items():
        values[name], formula, resting_on = tally.total(by_runs)
        rests[name] |= resting_on
        if formula:
            formulas[name] = formula
    if function.registers:  # PTX has no number of them
        values["registers_per_thread"] = float(function.registers)
    values["shared_mem_per_block"] = float(function.shared)
    bytes_of, by_size = memory.touched(blocks, names.values())
    values |= bytes_of
    formulas |= by_size
    requests = sum(each.many for each in to_global)
    if requests:
        width = sum(each.many * width_of(each.one) for each in to_global)
        values["bytes_per_thread"] = round(width / requests, 6)
        if len({width_of(each.one) for each in to_global}) == 1:  # however often each is made
            del rests["bytes_per_thread"]
    strength, rests["mem_strength"] = _mean(reading, tally, _strengths)
    if strength > 1:
        values["mem_strength"] = round(strength, 6)
    distance, rests["dependency_distance"] = _mean(reading, tally, _distances)
    values["dependency_distance"] = round(distance, 6)
    numbers = {
        kind: sum(many * launch.per_warp(runs) for (_, runs), many in by.items())
        for kind, by in classes.items()
    }
    numbers["all"] = sum(numbers.values())
    numbers |= {"flops": flops, "floating": floating}
    numbers["ilp"] = round(_mean(reading, tally, _parallelism)[0], 6)
    by_kind: dict[str, float] = defaultdict(float)
    for each in memory.made:
        by_kind[each.one.kind] += each.many
    numbers |= {f"{kind}_requests": many for kind, many in by_kind.items()}
    loads, of_loads = _followed(memory.of(("global_load",)))
    if loads and loads == by_kind["global_load"]:
        numbers["sectors_per_load_request"] = of_loads / loads
    followed, sectors = _followed(to_global)
    if followed:
        numbers["sectors_per_request"] = sectors / followed
    assumed = {}
    for name, asked, taken in (
        ("coalesced_insts", to_global, "taken as coalesced"),
        ("shared_wavefronts", shared, "taken as in a row, without conflicts of banks"),
    ):
        all_asked, known_ones = sum(each.many for each in asked), _followed(asked)[0]
        if all_asked > known_ones:
            lacking = f"{1 - known_ones / all_asked:.0%} of the accesses cannot be followed"
            assumed[name] = f"the addresses of {lacking}: {taken}"
    if requests > sum(each.many for each in to_global if each.within):
        why = "addresses that cannot be followed: taken as bytes that nothing else touches"
        assumed |= dict.fromkeys(bytes_of, why)
    if guarded := sum(each.many for each in memory.made if not each.decided):
        share = guarded / sum(each.many for each in memory.made)
        assumed["load_requests"] = (
            f"guards of {share:.0%} of the accesses cannot be followed: taken to hold"
        )
    if launch.sampled:
        why = "of passes of loops within loops some are looked at, which stand for all"
        assumed.setdefault("load_requests", why)
    not_counted = [f"not taken: {what}" for what in reading.assumed]
    every_one = reading.instructions()
    calls = [i for at, _, i in every_one if i.name in ("CALL", "JCAL") and tally.number(at)]
    if calls:
        within = dict(function.called)
        places = [(one.target or 0) - one.at + one.of for one in calls]
        called = dict.fromkeys(plain(within.get(each * WORD, "")) for each in places)
        of = f" ({', '.join(filter(None, called))})" if any(called) else ""
        not_counted.append(f"what functions do that it calls{of} is not counted: inline them")
    if not_counted:
        assumed["comp_insts"] = "; ".join(not_counted)
    values["threads_per_block"] = float(launch.threads)
    if blocks is not None:
        values["blocks"] = float(blocks)
        values["elements"] = float(blocks * launch.threads)
        if launch.is_of_one_axis():  # of another block what it takes
            formulas["blocks"] = "ceil(elements / threads_per_block)"
    runs = {name: ("part of a formula", f) for f, name in tally.formulas.parts.items()}
    runs |= {name: ("how often a part of the kernel runs", f) for f, name in tally.runs.items()}
    holds_for = {
        name: sorted({sources[each] for each in rests[name] if each in sources})
        for name in values
        if rests.get(name)
    }
    return Counted(
        quantities=values,
        formulas=formulas,
        declared=runs,
        numbers=numbers,
        assumed=assumed,
        holds_for={name: of for name, of in holds_for.items() if of},
    )


def _union(parts: Iterable[frozenset[Atom]]) -> frozenset[Atom]:
    return frozenset().union(*parts)


def _sums(parts: Iterable[tuple[tuple[int, Whole], float]]) -> _Sums:
    total: _Sums = defaultdict(float)
    for runs, many in parts:
        total[runs] += many
    return total


def _summed(classes: Mapping[str, _Sums], kinds: Sequence[str]) -> _Sums:
    return _sums(part for kind in kinds for part in classes.get(kind, {}).items())


def _followed(requests: Sequence[Request]) -> tuple[float, float]:
    """Return how many requests have sectors that are known, and how many sectors."""
    known = [(each.many, each.sectors) for each in requests]
    of = [(many, sectors) for many, sectors in known if sectors is not None]
    return sum(many for many, _ in of), sum(many * sectors for many, sectors in of)


def _groups(one: Instruction) -> Iterator[str]:
    """Yield the quantities besides those of units that count an instruction."""
    if one.kind not in _NO_REGISTER:
        yield "register_insts"
    if one.kind in UNITS["fp_insts"]:
        # HFMA2 of zeros loads a constant
        loads = one.name == "HFMA2" and any("RZ" in each for each in one.operands[1:2])
        yield "fp_fused_insts" if one.name in _FUSED and not loads else "narrow_fp_insts"
    if one.name in _LONG and _MOVES.isdisjoint(one.modifiers):
        yield _LONG[one.name]


_GROUPS = ("fp_fused_insts", "narrow_fp_insts", *dict.fromkeys(_LONG.values()), "register_insts")


def _mean(
    reading: Reading,
    tally: Tally,
    measure: Callable[[Sequence[Instruction]], Iterable[tuple[float, float]]],
) -> tuple[float, frozenset[Atom]]:
    """Return the mean of a measure of blocks of code, as often as they run; what it rests on.

    ``measure`` gives values and their weights in one run of a block. The mean of no value is 1.
    """
    total = weight = 0.0
    rests: frozenset[Atom] = frozenset()
    values = set[float]()
    for number in reading.blocks:
        for value, share in measure(reading.flow.blocks[number].body):
            total += value * share * tally.number(number)
            weight += share * tally.number(number)
            values.add(value)
            rests |= tally.rests_on(reading.blocks[number])
    if len(values) < 2:  # the same however often each runs
        rests = frozenset()
    return (total / weight if weight else 1.0), rests


def _strengths(body: Sequence[Instruction]) -> Iterator[tuple[float, float]]:
    """Yield the global loads under way at each first use of one that is."""
    waiting: set[str] = set()
    many = 0
    for one in body:
        if waiting and not waiting.isdisjoint(_ONLY.findall(one.text)):
            yield many, 1.0
            waiting, many = set(), 0
        if one.kind == "global_load":
            waiting |= set(one.results)
            many += 1
    if many:
        yield many, 1.0


def _distances(body: Sequence[Instruction]) -> Iterator[tuple[float, float]]:
    """Yield the instructions from a result of computation to the next that reads it."""
    written: dict[str, int] = {}
    for place, one in enumerate(body):
        near = [written[name] for name in one.reads if name in written]
        if near:
            yield place - max(near), 1.0
        for name in one.results:
            written.pop(name, None)
            if one.kind not in MEMORY:
                written[name] = place


def _parallelism(body: Sequence[Instruction]) -> Iterator[tuple[float, float]]:
    """Yield the instructions of a block to each of its longest chain of dependent ones."""
    depth: dict[str, int] = {}
    longest = 0
    for one in body:
        at = 1 + max((depth.get(name, 0) for name in one.reads), default=0)
        depth |= dict.fromkeys(one.results, at)
        longest = max(longest, at)
    if longest:
        yield len(body) / longest, longest
