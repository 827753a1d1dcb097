"""What one kernel asks of a GPU, in quantities of models, and as a workload file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dse.cuda.formulas import FormulaWriter, NoFormulaError
from dse.cuda.instructions import GLOBAL, MEMORY, SHARED, WORD, Instruction, access_width
from dse.cuda.integer_expressions import (
    ONE,
    Atom,
    IntExpr,
    common_atoms,
    make_product,
)
from dse.cuda.launch_values import KernelLaunch
from dse.cuda.loop_counts import KernelAnalysis, required_trip_counts, unused_name
from dse.cuda.memory_accesses import MemoryAccess, MemoryAccesses
from dse.cuda.source import demangle
from dse.toml_text import printable_line, toml_key, toml_number, toml_value, value_line
from symbolic.answer import Answer, DisplayMixin, Table
from symbolic.quantities import TABLE

#: Classes of instructions (see :mod:`dse.cuda.instructions`) that each quantity counts.
QUANTITY_CLASSES: Mapping[str, tuple[str, ...]] = {
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
_Sums = dict[tuple[int, IntExpr], float]

#: Fused multiply-adds, each of two operations.
_FUSED = ("FFMA", "FFMA2", "DFMA", "HFMA2")
#: Hong 2012, Table 6: operations of long latency; machine code divides by many instructions.
_LONG_LATENCY = {
    **dict.fromkeys(("FDIV", "DDIV", "HDIV2"), "fp_div_insts"),
    **dict.fromkeys(("IMAD", "IMUL", "WIDE"), "int_mul_insts"),
    "IDIV": "int_div_insts",
    "IREM": "int_mod_insts",
}
#: Forms of IMAD that multiply nothing.
_IMAD_MOVES = {"MOV", "IADD", "SHL"}
#: Classes of instructions that read and write no register (Hong 2012, Table 7).
_NO_REGISTER = ("control", "barrier", "wait")
_REGISTER = re.compile(r"U?R\d+")

#: Operations on numbers of 32 or 64 bits of one thread's instruction.
FLOPS = {"FADD": 1, "FMUL": 1, "FFMA": 2, "DADD": 1, "DMUL": 1, "DFMA": 2}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KernelCounts(DisplayMixin, Mapping[str, float]):
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
        lines = [
            f"# left out, as not for the device: {printable_line(each)}" for each in self.left_out
        ]
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
_THREAD_REGISTERS = ("tid.x", "tid.y", "tid.z", "ctaid.x", "ctaid.y", "ctaid.z", "lane")


def _is_uniform(atom: Atom) -> bool:
    """Whether an atom is the same for every thread of a launch."""
    return not any(
        (each.kind == "special" and each.args[0] in _THREAD_REGISTERS)
        or each.kind in ("pass", "first", "total", "power", "power of", "scaled")
        for each in IntExpr({(atom,): 1}).atoms()
    )


class Tally:
    """Counts of one launch, as numbers and as formulas.

    A count is a sum over expressions of how often something runs. What differs between threads or
    passes is enumerated: such a count holds for this launch alone, and :meth:`rests_on` returns
    the arguments and sizes for which it does.
    """

    def __init__(
        self, analysis: KernelAnalysis, launch: KernelLaunch, names: Mapping[Atom, str]
    ) -> None:
        self.analysis, self.launch = analysis, launch
        self.formulas = FormulaWriter(names)
        self.run_names: dict[str, str] = {}  # formulas of how often blocks run, and their names
        self._formula_cache: dict[IntExpr, tuple[float, str, frozenset[Atom]]] = {}
        self._input_cache: dict[tuple[IntExpr, bool], frozenset[Atom]] = {}

    def mean_block_runs(self, block: int) -> float:
        """How often a warp runs a block, on average."""
        return self.launch.mean_per_warp(self.analysis.block_runs[block])

    def required_inputs(self, value: IntExpr, *, with_sizes: bool = True) -> frozenset[Atom]:
        """Return the arguments, answers and sizes that an enumerated expression rests on.

        Those of the passes of loops in it are among them. Sizes of the launch are left out
        without ``places``.
        """
        key = value, with_sizes
        if key not in self._input_cache:
            passes = required_trip_counts(value, self.analysis.trip_counts)
            result: set[Atom] = set()
            for each in (value, *passes.values()):
                result.update(one for one in each.atoms() if one.kind in ("argument", "asked"))
                if with_sizes:
                    result.update(Atom("special", (name,)) for name in _required_sizes(each))
            self._input_cache[key] = frozenset(result)
        return self._input_cache[key]

    def _split_uniform(self, runs: IntExpr, block: int) -> tuple[float, str, frozenset[Atom]]:
        """A factor, the name of a formula in quantities or nothing, what the factor rests on."""
        alike = [one for one in common_atoms(runs) if not _is_uniform(one)]
        rest = IntExpr(
            {tuple(one for one in p if one not in alike): t for p, t in runs.terms.items()}
        )
        try:
            if not all(map(_is_uniform, rest.atoms())):
                raise NoFormulaError
            told = self.formulas.write(rest)
        except NoFormulaError:
            return self.launch.mean_per_warp(runs), "", self.required_inputs(runs)
        product = ONE
        for one in alike:
            product = product * IntExpr({(one,): 1})
        fixed = self.required_inputs(product)
        share = self.launch.mean_per_warp(product)
        if rest.constant_value is not None:
            return share * rest.constant_value, "", fixed
        return share, self.run_names.setdefault(told, self._run_name(block)), fixed

    def _run_name(self, block: int) -> str:
        at = self.analysis.graph.blocks[block].body[0].index
        runs = self.run_names.values()
        return unused_name(
            "runs", self.analysis.lines, at, lambda name: name in runs or name in TABLE
        )

    def total(
        self, counts: Mapping[tuple[int, IntExpr], float]
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
            if runs not in self._formula_cache:
                self._formula_cache[runs] = self._split_uniform(runs, block)
            share, name, rests = self._formula_cache[runs]
            by_name[name] += share * many
            number += self.launch.mean_per_warp(runs) * many
            fixed |= rests
        plain = by_name.pop("", 0.0)
        parts = [f"{many:.10g} * {name}" for name, many in by_name.items() if many]
        if not parts:
            return number, "", frozenset(fixed)
        text = self.formulas.write_sum([*([f"{plain:.10g}"] if plain else []), *parts])
        return number, text, frozenset(fixed)


def _required_sizes(value: IntExpr) -> set[str]:
    """Return the sizes of the launch that a value rests on, as registers that hold them.

    A value that knows no more of a thread than its number in the launch is the same for blocks of
    other sizes: it rests on the number of threads alone (``nctaid.x``).
    """
    result: set[str] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        index, rest = _remove_thread_index(one)
        if index:
            result.add("nctaid.x")
        for product in rest.terms:
            for each in product:
                if each.kind != "special":
                    waiting += _values_in(each.args)
                elif each.args[0].startswith(("ctaid", "nctaid")):
                    result.add("nctaid.x")
                    result.update({"ntid.x"} if len(product) > 1 else ())
                elif each.args[0] != "lane":
                    result.add("ntid.x")
    return result


def _remove_thread_index(value: IntExpr) -> tuple[bool, IntExpr]:
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
            other = make_product([*rest, thread])
            if terms.get(other) == times:
                del terms[product], terms[other]
    gone = IntExpr({p: t for p, t in value.terms.items() if p not in terms})
    places = (block, size, thread, many)
    factors = {tuple(one for one in p if one not in places): 1 for p in gone.terms}
    return bool(gone.terms), IntExpr(terms) + IntExpr(factors)


def _values_in(part: Any) -> Iterator[IntExpr]:
    if isinstance(part, IntExpr):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _values_in(each)


def count_kernel(
    analysis: KernelAnalysis,
    launch: KernelLaunch,
    quantity_names: Mapping[Atom, str],
    input_names: Mapping[Atom, str],
    blocks: int | None,
) -> KernelCounts:
    """Return the quantities of a kernel at a launch, of so many blocks where that is known.

    ``names`` are the quantities of which formulas may be, ``sources`` the names of all that
    counts can rest on.
    """
    tally, function = Tally(analysis, launch, quantity_names), analysis.function
    classes: dict[str, _Sums] = defaultdict(lambda: defaultdict(float))
    groups: dict[str, _Sums] = {name: defaultdict(float) for name in _EXTRA_QUANTITIES}
    memory = MemoryAccesses(analysis, launch, tally.required_inputs)
    flops = floating = 0.0
    for number in analysis.block_runs:
        body, often = analysis.graph.blocks[number].body, tally.mean_block_runs(number)
        for (kind, name), many in Counter((one.kind, one.name) for one in body).items():
            classes[kind][number, analysis.block_runs[number]] += many
            if kind in QUANTITY_CLASSES["fp_insts"] or name == "MUFU":
                floating += often * many
        for of, many in Counter(each for one in body for each in _extra_quantities(one)).items():
            groups[of][number, analysis.block_runs[number]] += many
        for place, one in enumerate(body):
            if one.kind in MEMORY or one.kind in SHARED:
                memory.add(number, place)
            if one.name in FLOPS:
                held = memory.frequency(number, place)[1] if one.guard else often
                flops += held * FLOPS[one.name]
    counts = {
        name: _sum_classes(classes, kinds) for name, kinds in QUANTITY_CLASSES.items()
    } | groups
    every, asking = _sum_classes(classes, tuple(classes)), _sum_classes(classes, MEMORY)
    counts["comp_insts"] = {
        runs: many - asking.get(runs, 0.0) - counts["sync_insts"].get(runs, 0.0)
        for runs, many in every.items()
    }
    counts["global_insts"] = _sum_classes(classes, GLOBAL)
    made, shared, to_global = memory.select(MEMORY), memory.select(SHARED), memory.select(GLOBAL)
    for name, uncoalesced in (("coalesced_insts", False), ("uncoalesced_insts", True)):
        blocks_of = [each.runs[0] for each in made if each.is_uncoalesced == uncoalesced]
        counts[name] = _add_up(((number, analysis.block_runs[number]), 1.0) for number in blocks_of)
    counts["warp_bytes"] = _add_up(
        (each.runs, each.bytes) for each in made if each.requests_per_warp
    )
    counts["load_requests"] = _add_up(
        (each.runs, float(bool(each.instruction.results))) for each in made
    )
    counts["l1_wavefronts"] = _add_up((each.runs, each.wavefronts) for each in made)
    counts["shared_wavefronts"] = _add_up((each.runs, each.wavefronts) for each in shared)
    addresses = _union(each.address_inputs for each in made)
    runs_rest = _union(tally.required_inputs(each.runs[1]) for each in made)
    rests: dict[str, frozenset[Atom]] = defaultdict(frozenset)
    rests["shared_wavefronts"] = _union(each.address_inputs for each in shared)
    rests |= dict.fromkeys(("l1_wavefronts", "warp_bytes"), addresses)
    lanes = _union(each.lane_inputs for each in made)
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
    values["shared_mem_per_block"] = float(function.shared_bytes)
    bytes_of, by_size = memory.footprint_bytes(blocks, quantity_names.values())
    values |= bytes_of
    formulas |= by_size
    requests = sum(each.requests_per_warp for each in to_global)
    if requests:
        width = sum(each.requests_per_warp * access_width(each.instruction) for each in to_global)
        values["bytes_per_thread"] = round(width / requests, 6)
        if (
            len({access_width(each.instruction) for each in to_global}) == 1
        ):  # however often each is made
            del rests["bytes_per_thread"]
    strength, rests["mem_strength"] = _mean_over_blocks(analysis, tally, _loads_in_flight)
    if strength > 1:
        values["mem_strength"] = round(strength, 6)
    distance, rests["dependency_distance"] = _mean_over_blocks(
        analysis, tally, _dependency_distances
    )
    values["dependency_distance"] = round(distance, 6)
    numbers = {
        kind: sum(many * launch.mean_per_warp(runs) for (_, runs), many in by.items())
        for kind, by in classes.items()
    }
    numbers["all"] = sum(numbers.values())
    numbers |= {"flops": flops, "floating": floating}
    numbers["ilp"] = round(_mean_over_blocks(analysis, tally, _parallelism)[0], 6)
    by_kind: dict[str, float] = defaultdict(float)
    for each in memory.accesses:
        by_kind[each.instruction.kind] += each.requests_per_warp
    numbers |= {f"{kind}_requests": many for kind, many in by_kind.items()}
    loads, of_loads = _known_sectors(memory.select(("global_load",)))
    if loads and loads == by_kind["global_load"]:
        numbers["sectors_per_load_request"] = of_loads / loads
    followed, sectors = _known_sectors(to_global)
    if followed:
        numbers["sectors_per_request"] = sectors / followed
    assumed = {}
    for name, asked, taken in (
        ("coalesced_insts", to_global, "taken as coalesced"),
        ("shared_wavefronts", shared, "taken as in a row, without conflicts of banks"),
    ):
        all_asked, known_ones = (
            sum(each.requests_per_warp for each in asked),
            _known_sectors(asked)[0],
        )
        if all_asked > known_ones:
            lacking = f"{1 - known_ones / all_asked:.0%} of the accesses cannot be followed"
            assumed[name] = f"the addresses of {lacking}: {taken}"
    if requests > sum(each.requests_per_warp for each in to_global if each.is_footprint_known):
        why = "addresses that cannot be followed: taken as bytes that nothing else touches"
        assumed |= dict.fromkeys(bytes_of, why)
    if guarded := sum(
        each.requests_per_warp for each in memory.accesses if not each.is_guard_known
    ):
        share = guarded / sum(each.requests_per_warp for each in memory.accesses)
        assumed["load_requests"] = (
            f"guards of {share:.0%} of the accesses cannot be followed: taken to hold"
        )
    if launch.is_sampled:
        why = "of passes of loops within loops some are looked at, which stand for all"
        assumed.setdefault("load_requests", why)
    not_counted = [f"not taken: {what}" for what in analysis.assumptions]
    every_one = analysis.instructions()
    calls = [
        i for at, _, i in every_one if i.name in ("CALL", "JCAL") and tally.mean_block_runs(at)
    ]
    if calls:
        within = dict(function.callees)
        places = [(one.target or 0) - one.index + one.source_index for one in calls]
        called = dict.fromkeys(demangle(within.get(each * WORD, "")) for each in places)
        of = f" ({', '.join(filter(None, called))})" if any(called) else ""
        not_counted.append(f"what functions do that it calls{of} is not counted: inline them")
    if not_counted:
        assumed["comp_insts"] = "; ".join(not_counted)
    values["threads_per_block"] = float(launch.threads)
    if blocks is not None:
        values["blocks"] = float(blocks)
        values["elements"] = float(blocks * launch.threads)
        if launch.is_one_dimensional():  # of another block what it takes
            formulas["blocks"] = "ceil(elements / threads_per_block)"
    runs = {name: ("part of a formula", f) for f, name in tally.formulas.parts.items()}
    runs |= {
        name: ("how often a part of the kernel runs", f) for f, name in tally.run_names.items()
    }
    holds_for = {
        name: sorted({input_names[each] for each in rests[name] if each in input_names})
        for name in values
        if rests.get(name)
    }
    return KernelCounts(
        quantities=values,
        formulas=formulas,
        declared=runs,
        numbers=numbers,
        assumed=assumed,
        holds_for={name: of for name, of in holds_for.items() if of},
    )


def _union(parts: Iterable[frozenset[Atom]]) -> frozenset[Atom]:
    return frozenset().union(*parts)


def _add_up(parts: Iterable[tuple[tuple[int, IntExpr], float]]) -> _Sums:
    total: _Sums = defaultdict(float)
    for runs, many in parts:
        total[runs] += many
    return total


def _sum_classes(classes: Mapping[str, _Sums], kinds: Sequence[str]) -> _Sums:
    return _add_up(part for kind in kinds for part in classes.get(kind, {}).items())


def _known_sectors(requests: Sequence[MemoryAccess]) -> tuple[float, float]:
    """Return how many requests have sectors that are known, and how many sectors."""
    known = [(each.requests_per_warp, each.sectors) for each in requests]
    of = [(many, sectors) for many, sectors in known if sectors is not None]
    return sum(many for many, _ in of), sum(many * sectors for many, sectors in of)


def _extra_quantities(instruction: Instruction) -> Iterator[str]:
    """Yield the quantities besides those of units that count an instruction."""
    if instruction.kind not in _NO_REGISTER:
        yield "register_insts"
    if instruction.kind in QUANTITY_CLASSES["fp_insts"]:
        # HFMA2 of zeros loads a constant
        loads = instruction.name == "HFMA2" and any(
            "RZ" in each for each in instruction.operands[1:2]
        )
        yield "fp_fused_insts" if instruction.name in _FUSED and not loads else "narrow_fp_insts"
    if instruction.name in _LONG_LATENCY and _IMAD_MOVES.isdisjoint(instruction.modifiers):
        yield _LONG_LATENCY[instruction.name]


_EXTRA_QUANTITIES = (
    "fp_fused_insts",
    "narrow_fp_insts",
    *dict.fromkeys(_LONG_LATENCY.values()),
    "register_insts",
)


def _mean_over_blocks(
    analysis: KernelAnalysis,
    tally: Tally,
    measure: Callable[[Sequence[Instruction]], Iterable[tuple[float, float]]],
) -> tuple[float, frozenset[Atom]]:
    """Return the mean of a measure of blocks of code, as often as they run; what it rests on.

    ``measure`` gives values and their weights in one run of a block. The mean of no value is 1.
    """
    total = weight = 0.0
    rests: frozenset[Atom] = frozenset()
    values = set[float]()
    for number in analysis.block_runs:
        for value, share in measure(analysis.graph.blocks[number].body):
            total += value * share * tally.mean_block_runs(number)
            weight += share * tally.mean_block_runs(number)
            values.add(value)
            rests |= tally.required_inputs(analysis.block_runs[number])
    if len(values) < 2:  # the same however often each runs
        rests = frozenset()
    return (total / weight if weight else 1.0), rests


def _loads_in_flight(body: Sequence[Instruction]) -> Iterator[tuple[float, float]]:
    """Yield the global loads under way at each first use of one that is."""
    waiting: set[str] = set()
    many = 0
    for one in body:
        if waiting and not waiting.isdisjoint(_REGISTER.findall(one.text)):
            yield many, 1.0
            waiting, many = set(), 0
        if one.kind == "global_load":
            waiting |= set(one.results)
            many += 1
    if many:
        yield many, 1.0


def _dependency_distances(body: Sequence[Instruction]) -> Iterator[tuple[float, float]]:
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
