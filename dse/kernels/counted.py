"""What one kernel asks of a GPU, in quantities of models, and as a workload file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dse.kernels.affine import Atom, Whole
from dse.kernels.footprint import Memory
from dse.kernels.instructions import WORD, Instruction
from dse.kernels.launch_values import Launch
from dse.kernels.source import plain
from dse.kernels.tally import GLOBAL, MEMORY, SHARED, Reading, Tally
from dse.toml_text import printable, toml_key, toml_number, toml_value, value_line
from symbolic.answer import Answer, Table, Visible

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
    origin: str
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


def told(
    reading: Reading,
    launch: Launch,
    names: Mapping[Atom, str],
    known: Mapping[Atom, str],
    *,
    origin: str,
    declared: Mapping[str, tuple[str, float | str]],
    left_out: Sequence[str],
    lines: Mapping[int, int] | None,
    blocks: int | None,
) -> Counted:
    """Return the quantities of a kernel at a launch, of so many blocks where that is known.

    ``names`` are the quantities of which formulas may be, ``known`` the names of all that counts
    can rest on, and ``declared`` are quantities of this kernel alone.
    """
    tally, function = Tally(reading, launch, names, lines or {}), reading.function
    classes: dict[str, _Sums] = defaultdict(lambda: defaultdict(float))
    groups: dict[str, _Sums] = {name: defaultdict(float) for name in _GROUPS}
    memory = Memory(reading, tally)
    flops = floating = 0.0
    for number in reading.often.blocks:
        body, often = reading.flow.blocks[number].body, tally.number(number)
        for (kind, name), many in Counter((one.kind, one.name) for one in body).items():
            classes[kind][number, tally.of(number)] += many
            if kind in UNITS["fp_insts"] or name == "MUFU":
                floating += often * many
        for of, many in Counter(each for one in body for each in _groups(one)).items():
            groups[of][number, tally.of(number)] += many
        for place, one in enumerate(body):
            if one.kind in MEMORY or one.kind in SHARED:
                memory.add(number, place)
            if one.name in FLOPS:
                held = memory.warps(number, place) if one.guard else often
                flops += held * FLOPS[one.name]
    counts = {name: _summed(classes, kinds) for name, kinds in UNITS.items()} | groups
    every, asking = _summed(classes, tuple(classes)), _summed(classes, MEMORY)
    counts["comp_insts"] = {
        runs: many - asking.get(runs, 0.0) - counts["sync_insts"].get(runs, 0.0)
        for runs, many in every.items()
    }
    counts["coalesced_insts"], counts["uncoalesced_insts"] = memory.coalesced, memory.uncoalesced
    counts["global_insts"] = _summed(classes, GLOBAL)
    counts["warp_bytes"], counts["load_requests"] = memory.asked, memory.waited
    counts["l1_wavefronts"], counts["shared_wavefronts"] = memory.through, memory.through_shared
    values, formulas = {}, {}
    rests = memory.rests
    for name, by_runs in counts.items():
        total = tally.total(by_runs)
        values[name] = total.number
        rests[name] |= total.rests
        if total.formula:
            formulas[name] = total.formula
    if function.registers:  # PTX has no number of them
        values["registers_per_thread"] = float(function.registers)
    values["shared_mem_per_block"] = float(function.shared)
    bytes_of, by_size = memory.touched(blocks, names.values())
    values |= bytes_of
    formulas |= by_size
    if memory.requests:
        values["bytes_per_thread"] = round(memory.width / memory.requests, 6)
        if len(memory.widths - {0}) == 1:  # the same however often each is made
            del rests["bytes_per_thread"]
    strength, rests["mem_strength"] = _mean(reading, tally, _strengths)
    if strength > 1:
        values["mem_strength"] = round(strength, 6)
    distance, rests["dependency_distance"] = _mean(reading, tally, _distances)
    values["dependency_distance"] = round(distance, 6)
    numbers = {
        kind: sum(many * tally.runs_of(runs) for (_, runs), many in by.items())
        for kind, by in classes.items()
    }
    numbers["all"] = sum(numbers.values())
    numbers |= {"flops": flops, "floating": floating}
    numbers["ilp"] = round(_mean(reading, tally, _parallelism)[0], 6)
    numbers |= {f"{kind}_requests": many for kind, many in memory.by_kind.items()}
    if memory.loads and memory.loads == memory.by_kind["global_load"]:
        numbers["sectors_per_load_request"] = memory.of_loads / memory.loads
    if memory.followed:
        numbers["sectors_per_request"] = memory.sectors / memory.followed
    assumed = {}
    if memory.requests > memory.followed:
        share = 1 - memory.followed / memory.requests
        assumed["coalesced_insts"] = (
            f"the addresses of {share:.0%} of the accesses cannot be followed: taken as coalesced"
        )
    if memory.in_shared > memory.shared_followed:
        share = 1 - memory.shared_followed / memory.in_shared
        assumed["shared_wavefronts"] = (
            f"the addresses of {share:.0%} of the accesses cannot be followed: taken as in a row, "
            "without conflicts of banks"
        )
    if memory.requests > memory.within:
        why = "addresses that cannot be followed: taken as bytes that nothing else touches"
        assumed |= dict.fromkeys(bytes_of, why)
    if memory.guarded:
        assumed["load_requests"] = (
            f"guards of {memory.guarded / memory.every:.0%} of the accesses cannot be followed: "
            "taken to hold"
        )
    if launch.sampled:
        why = "of passes of loops within loops some are looked at, which stand for all"
        assumed.setdefault("load_requests", why)
    not_counted = [f"not taken: {what}" for what in reading.often.assumed]
    calls = [
        one
        for at, _, one in reading.instructions()
        if one.name in ("CALL", "JCAL") and tally.number(at)
    ]
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
    holds_for = {name: sorted({known[each] for each in rests[name] if each in known})
                 for name in values if rests.get(name)}  # fmt: skip
    return Counted(
        quantities=values,
        formulas=formulas,
        declared={**declared, **runs},
        numbers=numbers,
        origin=origin,
        assumed=assumed,
        left_out=left_out,
        holds_for={name: of for name, of in holds_for.items() if of},
    )


def _summed(classes: Mapping[str, _Sums], kinds: Sequence[str]) -> _Sums:
    total: _Sums = defaultdict(float)
    for kind in kinds:
        for runs, many in classes.get(kind, {}).items():
            total[runs] += many
    return total


def _groups(one: Instruction) -> Iterator[str]:
    """Yield the quantities besides those of units that count an instruction."""
    if one.kind not in _NO_REGISTER:
        yield "register_insts"
    if one.kind in UNITS["fp_insts"]:
        loads = one.name == "HFMA2" and "RZ" in one.operands[1].lstrip("-")  # a constant
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
    for number in reading.often.blocks:
        for value, share in measure(reading.flow.blocks[number].body):
            total += value * share * tally.number(number)
            weight += share * tally.number(number)
            values.add(value)
            rests |= tally.rests_on(tally.of(number))
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
