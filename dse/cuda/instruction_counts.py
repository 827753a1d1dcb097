"""Count a kernel's instructions and requests: the quantities of models, and a workload file."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dse.cuda.formulas import FormulaWriter, NoFormulaError
from dse.cuda.instructions import GLOBAL, MEMORY, SHARED, WORD, Instruction, access_width
from dse.cuda.integer_expressions import ONE, Atom, IntExpr, common_atoms
from dse.cuda.launch_shape import AXES, LaunchSizes, required_sizes, size_atom
from dse.cuda.launch_values import KernelLaunch
from dse.cuda.loop_counts import KernelAnalysis, required_trip_counts, unused_name
from dse.cuda.memory_accesses import RANDOM_WAVEFRONTS, MemoryAccess, MemoryAccesses
from dse.cuda.source import demangle
from dse.cuda.tensor_instructions import tensor_flops
from dse.toml_text import printable_line, toml_key, toml_number, toml_value, value_line
from symbolic.answer import Answer, DisplayMixin, Table
from symbolic.errors import DseError
from symbolic.quantities import TABLE

#: For each quantity, the classes of instructions (:mod:`dse.cuda.instructions`) that it counts.
QUANTITY_CLASSES: Mapping[str, tuple[str, ...]] = {
    "fp_insts": ("fp32", "fp64", "fp16"),
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
    "tensor_insts": ("tensor",),
    "atomic_insts": ("atomic",),
    "shared_atomic_insts": ("shared_atomic",),
    "async_copy_insts": ("global_copy",),
}


#: Key of a sum: the index of a block, and how often the block (or one of its instructions) runs.
BlockRuns = tuple[int, IntExpr]
AtomNames = Mapping[Atom, str]
_Sums = dict[BlockRuns, float]
_FUSED = ("FFMA", "FFMA2", "DFMA", "HFMA2")
#: Operations of long latency (Hong 2012, Table 6); divisions are one instruction in PTX only.
_LONG_LATENCY = {
    **dict.fromkeys(("FDIV", "DDIV", "HDIV2"), "fp_div_insts"),
    **dict.fromkeys(("IMAD", "IMUL", "WIDE"), "int_mul_insts"),
    "IDIV": "int_div_insts",
    "IREM": "int_mod_insts",
}
#: Forms of IMAD without a multiplication.
_IMAD_MOVES = {"MOV", "IADD", "SHL"}
#: Classes of instructions that read and write no register (Hong 2012, Table 7).
_NO_REGISTER = ("control", "barrier", "wait")
_REGISTER = re.compile(r"U?R\d+")

_RANDOM_BANKS = (
    f"assumed random where they depend on loaded data ({RANDOM_WAVEFRONTS:.3g} wavefronts each, 1 "
    "without bank conflicts, at most 32), contiguous elsewhere"
)

#: Floating-point operations of one instruction in a thread, on 32-bit or 64-bit numbers.
FLOPS = {"FADD": 1, "FMUL": 1, "FFMA": 2, "DADD": 1, "DMUL": 1, "DFMA": 2}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KernelCounts(DisplayMixin, Mapping[str, float]):
    """Quantities of a kernel at a launch, by their names.

    Attributes:
        formulas (mapping): Formulas of quantities that depend on arguments of the launch.
        declared (mapping): Quantities of this kernel alone, with meaning and value or formula: its
            arguments, values that depend on data, and how often parts of it run.
        numbers (mapping): Average instructions of a warp by class and in total (``all``); memory
            requests, and sectors per request; ``flops`` of a thread; ``floating``: floating-point
            instructions including special functions, as profilers count. ``ilp``: instructions of a
            block divided by the length of its longest dependent chain.
        origin (str): File, kernel and architecture.
        assumed (mapping): Assumptions, by the quantities that they concern.
        left_out (sequence of str): Source code that was not compiled, as it is not for the device,
            and why.
        holds_for (mapping): Quantities that were enumerated for this launch, with the names of the
            arguments and sizes that they depend on. A study that changes one of these is refused.
        labels (mapping): Labels of the kernel: ``tensor_type``, the number type of its tensor
            instructions.
        counted_blocks (sequence of int): Numbers of threads of the blocks that were counted; empty
            for one block.
    """

    quantities: Mapping[str, float]
    formulas: Mapping[str, str]
    declared: Mapping[str, tuple[str, float | str]]
    numbers: Mapping[str, float]
    origin: str = ""
    assumed: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[str] = ()
    holds_for: Mapping[str, Sequence[str]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    counted_blocks: Sequence[int] = ()

    def __getitem__(self, name: str) -> float:
        return self.quantities[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.quantities)

    def __len__(self) -> int:
        return len(self.quantities)

    def _answer(self) -> Answer:
        formulas = self.formulas
        rows = [[name, value, formulas.get(name)] for name, value in self.quantities.items()]
        holds = [[name, ", ".join(inputs)] for name, inputs in self.holds_for.items()]
        return Answer(
            kind="Kernel",
            title=self.origin,
            tables=[
                Table(title="quantities", columns=("quantity", "value", "formula"), rows=rows),
                Table(title="assumed", rows=[*self.assumed.items()]),
                Table(title="valid only for these values", rows=holds),
                Table(title="left out", rows=[[each] for each in self.left_out]),
            ],
        )

    def toml(self) -> str:
        """Return the text of a workload file in which every number has its source."""
        lines = [f"# left out, not for the device: {printable_line(p)}" for p in self.left_out]
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
            origin = self.origin if isinstance(value, str) else "given with the launch"
            lines.append(value_line(name, toml_number(value), "source", origin))
        texts = {
            n: toml_number(self.formulas.get(n, value)) for n, value in self.quantities.items()
        }
        for name, text in {**texts, **{n: toml_value(v) for n, v in self.labels.items()}}.items():
            why = self.assumed.get(name)
            source = ("assumed", why) if why else ("source", self.origin)
            line = value_line(name, text, *source)
            if inputs := self.holds_for.get(name):
                line = f"{line[:-2]}, holds_for = {toml_value(list(inputs))} }}"
            if name == _BLOCK and self.counted_blocks:
                line = f"{line[:-2]}, counted = {toml_value(list(self.counted_blocks))} }}"
            lines.append(line)
        return "\n".join(lines) + "\n"


#: Two launches do different work if their bytes or FLOP differ by more than this factor.
_SAME_WORK = 1.1


def different_work(counts: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return how the work of a launch differs from that of another block; "" if it is equal.

    FLOP are compared only if they follow the threads: a sum in a block adds once per thread.
    """
    threads = counts.get(_BLOCK, 0) / other.get(_BLOCK, 1)
    for unit, names in (("B", ("launch_bytes",)), ("FLOP", ("flops", "blocks", _BLOCK))):
        mine, known = (math.prod(each.get(n, 0) for n in names) for each in (counts, other))
        ratios = [mine / known, known / mine] if mine and known else [1.0]
        follows = unit == "B" or 1 / _SAME_WORK <= ratios[0] / (threads or 1) <= _SAME_WORK
        if max(ratios) > _SAME_WORK and follows:
            return (
                f"does other work: {mine:,.0f} {unit}, and a block of {other[_BLOCK]:.0f} threads "
                f"{known:,.0f} {unit}; give the grid as formulas in block_x, block_y, block_z"
            )
    return ""


def join_blocks(counts: Sequence[KernelCounts]) -> KernelCounts:
    """Return the counts of several blocks as formulas of ``threads_per_block``.

    A quantity that only some blocks have, such as ``longest_warp_insts``, has its default in the
    others. Raise a DseError if two blocks have equally many threads, or a quantity has no default.
    """
    threads, first = [int(each[_BLOCK]) for each in counts], counts[0]
    names = dict.fromkeys(name for each in counts for name in each)
    missing: dict[str, Any] = {
        n: TABLE[n].default for n in names if any(n not in each for each in counts)
    }
    unknown = [name for name, default in missing.items() if not isinstance(default, (int, float))]
    if unknown or len({*threads}) < len(threads):
        why = f" (only some have {', '.join(unknown)})" if unknown else ""
        raise DseError(
            f"blocks of {', '.join(map(str, threads))} threads{why}: a workload file holds blocks "
            "of different numbers of threads and equal dimensions; write a file for each of the "
            "others, or a table (--out OUT.csv)"
        )

    for size, each in zip(threads, counts, strict=True):
        if other := different_work({**each, **each.numbers}, {**first, **first.numbers}):
            raise DseError(f"a block of {size} threads {other}")

    def join(values: Sequence[float | str]) -> float | str:
        text = values[-1]
        for size, value in zip(threads[-2::-1], values[-2::-1], strict=True):
            text = f"where({_BLOCK} == {size}, {value}, {text})"
        return values[0] if len({*values}) == 1 else text

    values = {n: join([e.formulas.get(n, (missing | {**e})[n]) for e in counts]) for n in names}
    formulas = {n: v for n, v in values.items() if isinstance(v, str) and n != _BLOCK}
    inputs = {n: {i for each in counts for i in each.holds_for.get(n, ())} for n in values}
    return replace(
        first,
        quantities=missing | {**first},
        formulas=formulas,
        declared={
            n: (text, join([each.declared.get(n, (text, 0))[1] for each in counts]))
            for one in counts
            for n, (text, _) in one.declared.items()
        },
        assumed={n: why for each in reversed(counts) for n, why in each.assumed.items()},
        holds_for={
            n: sorted({*required, _BLOCK})
            for n, required in inputs.items()
            if n != _BLOCK
            and (required or any(formulas.get(n) != each.formulas.get(n) for each in counts))
        },
        counted_blocks=threads,
    )


_BLOCK = "threads_per_block"
_THREAD_REGISTERS = ("tid.x", "tid.y", "tid.z", "ctaid.x", "ctaid.y", "ctaid.z", "lane")


def _is_uniform(atom: Atom) -> bool:
    return not any(
        (each.kind == "special" and each.args[0] in _THREAD_REGISTERS)
        or each.kind in ("pass", "first", "total", "power", "power of", "scaled")
        for each in IntExpr({(atom,): 1}).atoms()
    )


class Tally:
    """Counts of one launch, as numbers and as formulas.

    A count is a sum of expressions for how often something runs. Expressions that differ between
    threads or iterations are enumerated; the count then holds only for this launch's inputs
    (:meth:`required_inputs`).
    """

    def __init__(self, analysis: KernelAnalysis, launch: KernelLaunch, names: AtomNames) -> None:
        self.analysis, self.launch = analysis, launch
        self.formulas = FormulaWriter(names)
        self.run_names: dict[str, str] = {}  # maps the formula of a block's runs to its name
        #: The sizes of the block that are above 1, as atoms; empty if the block has one row.
        self._block_sizes = {
            size_atom("ntid", axis)
            for axis, size in zip(AXES, launch.block, strict=True)
            if size > 1 and tuple(launch.block[1:]) != (1, 1)
        }
        self._formula_cache: dict[IntExpr, tuple[float, str, frozenset[Atom]]] = {}
        self._input_cache: dict[tuple[IntExpr, bool], frozenset[Atom]] = {}

    def mean_block_runs(self, block: int) -> float:
        """Return the average number of runs of a block by a warp."""
        return self.launch.mean_per_warp(self.analysis.block_runs[block])

    def required_inputs(self, value: IntExpr, *, with_sizes: bool = True) -> frozenset[Atom]:
        """Return the arguments, data inputs and launch sizes that an expression depends on."""
        key = value, with_sizes
        if key not in self._input_cache:
            trip_counts = required_trip_counts(value, self.analysis.trip_counts)
            inputs: set[Atom] = set()
            for each in (value, *trip_counts.values()):
                inputs.update(one for one in each.atoms() if one.kind in ("argument", "input"))
                sizes_ = required_sizes(each)
                if not with_sizes:  # blocks of one row have the same lanes
                    sizes_ &= self._block_sizes
                if self._block_sizes and sizes_:  # the rows of a block share warps
                    sizes_ |= self._block_sizes
                inputs |= sizes_ if with_sizes or self._block_sizes else set()
            if self.analysis.launch is not None:  # the analysis replaced these by numbers
                inputs.update(self.analysis.launch.numbers)
            self._input_cache[key] = frozenset(inputs)
        return self._input_cache[key]

    def _split_uniform(self, runs: IntExpr, block: int) -> tuple[float, str, frozenset[Atom]]:
        """Split a count into a number and a formula that is equal for all threads.

        Return the number, the name of the formula ("": none), and the inputs that the number
        depends on.
        """
        common = [one for one in common_atoms(runs) if not _is_uniform(one)]
        rest = IntExpr({tuple(a for a in p if a not in common): t for p, t in runs.terms.items()})
        try:
            if not all(map(_is_uniform, rest.atoms())):
                raise NoFormulaError
            formula = self.formulas.write(rest)
        except NoFormulaError:
            return self.launch.mean_per_warp(runs), "", self.required_inputs(runs)
        factor = ONE
        for one in common:
            factor = factor * IntExpr({(one,): 1})
        inputs = self.required_inputs(factor)
        share = self.launch.mean_per_warp(factor)
        if rest.constant_value is not None:
            return share * rest.constant_value, "", inputs
        return share, self.run_names.setdefault(formula, self._run_name(block)), inputs

    def _run_name(self, block: int) -> str:
        at = self.analysis.graph.blocks[block].body[0].index
        taken = {*self.run_names.values(), *TABLE}
        return unused_name("runs", self.analysis.lines, at, lambda name: name in taken)

    def total(self, counts: Mapping[BlockRuns, float]) -> tuple[float, str, frozenset[Atom]]:
        """Return a count over the launch, its formula ("": none), and the inputs that it needs."""
        number = 0.0
        by_name = defaultdict[str, float](float)
        inputs: set[Atom] = set()
        for (block, runs), many in counts.items():
            if not many:
                continue
            if runs not in self._formula_cache:
                self._formula_cache[runs] = self._split_uniform(runs, block)
            share, name, required = self._formula_cache[runs]
            by_name[name] += share * many
            number += self.launch.mean_per_warp(runs) * many
            inputs |= required
        constant = by_name.pop("", 0.0)
        terms = [f"{many:.10g} * {name}" for name, many in by_name.items() if many]
        if not terms:
            return number, "", frozenset(inputs)
        text = self.formulas.write_sum([*([f"{constant:.10g}"] if constant else []), *terms])
        return number, text, frozenset(inputs)


def count_kernel(
    analysis: KernelAnalysis,
    launch: KernelLaunch,
    quantity_names: AtomNames,
    input_names: Mapping[Atom, Sequence[str]],
    shape: LaunchSizes,
    array_bytes: Mapping[int, float] | None = None,
) -> KernelCounts:
    """Return the quantities of a kernel at a launch.

    ``quantity_names`` are the quantities that formulas may use, ``input_names`` the names of all
    inputs that counts can depend on. ``array_bytes`` are sizes of arrays by offset of their
    arguments.
    """
    tally, function = Tally(analysis, launch, quantity_names), analysis.function
    classes: dict[str, _Sums] = defaultdict(lambda: defaultdict(float))
    groups: dict[str, _Sums] = {name: defaultdict(float) for name in _EXTRA_QUANTITIES}
    memory = MemoryAccesses(analysis, launch, tally.required_inputs, array_bytes)
    flops = floating = 0.0
    tensor_types: dict[str, float] = defaultdict(float)
    unshaped: dict[str, None] = {}
    for number in analysis.block_runs:
        body, often = analysis.graph.blocks[number].body, tally.mean_block_runs(number)
        for (kind, name), many in Counter((one.kind, one.name) for one in body).items():
            classes[kind][number, analysis.block_runs[number]] += many
            if kind in QUANTITY_CLASSES["fp_insts"] or name == "MUFU":
                floating += often * many
        for name, many in Counter(each for one in body for each in _extra_quantities(one)).items():
            groups[name][number, analysis.block_runs[number]] += many
        for place, one in enumerate(body):
            if one.kind == "tensor" and (typed := tensor_flops(one)) is not None:
                groups["warp_tensor_flops"][number, analysis.block_runs[number]] += typed[1]
                tensor_types[typed[0]] += often * typed[1]
            elif one.kind == "tensor" and "MMA" in one.name:
                unshaped[one.name] = None
            if one.kind in MEMORY or one.kind in SHARED:
                memory.add(number, place)
            if one.name in FLOPS:
                runs_here = memory.frequency(number, place)[1] if one.guard else often
                flops += runs_here * FLOPS[one.name]
    counts = {n: _sum_classes(classes, kinds) for n, kinds in QUANTITY_CLASSES.items()} | groups
    every, to_memory = _sum_classes(classes, tuple(classes)), _sum_classes(classes, MEMORY)
    counts["comp_insts"] = {
        runs: many - to_memory.get(runs, 0.0) - counts["sync_insts"].get(runs, 0.0)
        for runs, many in every.items()
    }
    counts["global_insts"] = _sum_classes(classes, GLOBAL)
    device, shared, in_global = memory.select(MEMORY), memory.select(SHARED), memory.select(GLOBAL)
    for name, uncoalesced in (("coalesced_insts", False), ("uncoalesced_insts", True)):
        numbers_of = [each.runs[0] for each in device if each.is_uncoalesced == uncoalesced]
        counts[name] = _add_up(((n, analysis.block_runs[n]), 1.0) for n in numbers_of)
    counts["warp_bytes"] = _add_up((a.runs, a.bytes) for a in device if a.requests_per_warp)
    copies = memory.select(("global_copy",))
    counts["async_copy_bytes"] = _add_up((a.runs, a.copied_bytes) for a in copies)
    counts["load_requests"] = _add_up((a.runs, float(bool(a.instruction.results))) for a in device)
    counts["atomic_words"] = _add_up((a.runs, a.atomic_words) for a in device)
    counts["l1_wavefronts"] = _add_up((a.runs, a.wavefronts) for a in device)
    counts["shared_wavefronts"] = _add_up((a.runs, a.wavefronts) for a in shared)
    address_inputs = _union(each.address_inputs for each in device)
    run_inputs = _union(tally.required_inputs(each.runs[1]) for each in device)
    inputs: dict[str, frozenset[Atom]] = defaultdict(frozenset)
    inputs["shared_wavefronts"] = _union(each.address_inputs for each in shared)
    inputs |= dict.fromkeys(("l1_wavefronts", "warp_bytes", "atomic_words"), address_inputs)
    lane_inputs = _union(each.lane_inputs for each in device)
    inputs |= dict.fromkeys(("coalesced_insts", "uncoalesced_insts"), lane_inputs)
    footprint_names = ["block_bytes", "launch_bytes", "atomic_bytes", "reread_bytes"]
    footprint_names += ["updated_bytes", "launch_updated_bytes"]
    inputs |= dict.fromkeys(footprint_names, address_inputs | run_inputs)
    inputs["bytes_per_thread"] = run_inputs
    values, formulas = {}, {}
    for name, by_runs in counts.items():
        values[name], formula, required = tally.total(by_runs)
        inputs[name] |= required
        if formula:
            formulas[name] = formula
    for name, of in (
        ("longest_warp_insts", every),
        ("longest_warp_loads", counts["load_requests"]),
    ):
        ratio = launch.longest_per_mean((runs, many) for (_, runs), many in of.items())
        if ratio > 1.05:  # a guard of bounds in some blocks is no uneven work
            values[name] = round(ratio, 6)
            inputs[name] = _union(tally.required_inputs(runs) for _, runs in of)
    if function.registers:  # PTX does not state the number of registers
        values["registers_per_thread"] = float(function.registers)
    values["shared_mem_per_block"] = float(function.shared_bytes)
    blocks = int(shape.quantities["blocks"]) if "blocks" in shape.quantities else None
    footprints, footprint_formulas = memory.footprint_bytes(blocks, quantity_names.values())
    values |= footprints
    formulas |= footprint_formulas
    requests = sum(each.requests_per_warp for each in in_global)
    if requests:
        width = sum(each.requests_per_warp * access_width(each.instruction) for each in in_global)
        values["bytes_per_thread"] = round(width / requests, 6)
        if len({access_width(each.instruction) for each in in_global}) == 1:  # all widths are equal
            del inputs["bytes_per_thread"]
    bodies = {number: analysis.graph.blocks[number].body for number in analysis.block_runs}
    waits = _loads_in_flight(analysis, tally)
    strength, inputs["mem_strength"] = _mean_over_blocks(analysis, tally, waits)
    if strength > 1:
        values["mem_strength"] = round(strength, 6)
    distance, required = _mean_over_blocks(
        analysis, tally, {n: _dependency_distances(body) for n, body in bodies.items()}
    )
    values["dependency_distance"], inputs["dependency_distance"] = round(distance, 6), required
    numbers = {
        kind: sum(many * launch.mean_per_warp(runs) for (_, runs), many in by.items())
        for kind, by in classes.items()
    }
    numbers["all"] = sum(numbers.values())
    numbers |= {"flops": flops, "floating": floating}
    parallel = {n: _parallelism(body) for n, body in bodies.items()}
    numbers["ilp"] = round(_mean_over_blocks(analysis, tally, parallel)[0], 6)
    by_kind: dict[str, float] = defaultdict(float)
    for each in memory.accesses:
        by_kind[each.instruction.kind] += each.requests_per_warp
    numbers |= {f"{kind}_requests": many for kind, many in by_kind.items()}
    loads, load_sectors = _known_sectors(memory.select(("global_load",)))
    if loads and loads == by_kind["global_load"]:
        numbers["sectors_per_load_request"] = load_sectors / loads
    known, sectors = _known_sectors(in_global)
    if known:
        numbers["sectors_per_request"] = sectors / known
    assumed = {}
    for name, accesses, assumption in (
        ("coalesced_insts", in_global, "assumed coalesced"),
        ("shared_wavefronts", shared, _RANDOM_BANKS),
    ):
        total, known = sum(a.requests_per_warp for a in accesses), _known_sectors(accesses)[0]
        if total > known:
            assumed[name] = (
                f"the addresses of {1 - known / total:.0%} of the accesses are unknown: "
                f"{assumption}"
            )
    if requests > sum(each.requests_per_warp for each in in_global if each.is_footprint_known):
        why = "some addresses are unknown: assumed to be bytes that nothing else touches"
        why += ", at most those of the arrays" if array_bytes else " (else --bytes ARRAY=BYTES)"
        assumed |= dict.fromkeys(footprints, why)
    if guarded := sum(a.requests_per_warp for a in memory.accesses if not a.is_guard_known):
        share = guarded / sum(each.requests_per_warp for each in memory.accesses)
        why = f"the guards of {share:.0%} of the accesses are unknown: assumed to hold"
        assumed["load_requests"] = why
    if launch.is_sampled:
        why = "the iterations of nested loops were sampled"
        assumed.setdefault("load_requests", why)
    not_counted = list(map(_describe_assumption, analysis.assumptions))
    calls = [
        one
        for number, _, one in analysis.instructions()
        if one.name in ("CALL", "JCAL") and tally.mean_block_runs(number)
    ]
    if calls:
        names = {offset // WORD: demangle(name) for offset, name in function.callees}
        places = [(one.target or 0) - one.index + one.source_index for one in calls]
        callees = ", ".join(dict.fromkeys(names[each] for each in places if each in names))
        listed = f" ({callees})" if callees else ""
        not_counted.append(f"called functions{listed} are not counted: inline them")
    if not_counted:
        assumed["comp_insts"] = "; ".join(not_counted)
    values |= shape.quantities
    formulas |= shape.formulas
    if unshaped:
        assumed["warp_tensor_flops"] = (
            f"the shape of {', '.join(unshaped)} is in a register: their operations are not "
            "counted; give warp_tensor_flops"
        )
    copies_ = {one.name for _, _, one in analysis.instructions() if one.name.startswith("UTMA")}
    if unsized := sorted(copies_ & {"UTMALDG", "UTMASTG", "UTMAREDG"}):
        assumed["async_copy_bytes"] = (
            f"the tile of {', '.join(unsized)} is in a descriptor: its bytes are not counted; give "
            "async_copy_bytes, warp_bytes, block_bytes and launch_bytes"
        )
    labels = dict[str, str]()
    if tensor_types:
        ordered = sorted(tensor_types.items(), key=lambda item: -item[1])
        (main_type, most), *others = ordered
        labels["tensor_type"] = main_type
        if others:
            share = most / sum(tensor_types.values()) if most else 0.0
            types = ", ".join(name for name, _ in others)
            assumed["tensor_type"] = (
                f"{share:.0%} of the operations; those of {types} are counted as if of this type"
            )
    runs = {name: ("part of a formula", f) for f, name in tally.formulas.parts.items()}
    runs |= {n: ("how often a part of the kernel runs", f) for f, n in tally.run_names.items()}
    holds_for = {
        name: sorted({one for each in inputs[name] for one in input_names.get(each, ())})
        for name in values
        if inputs.get(name)
    } | {name: list(names) for name, names in shape.holds_for.items()}
    return KernelCounts(
        quantities=values,
        formulas=formulas,
        declared=runs,
        labels=labels,
        numbers=numbers,
        assumed=assumed,
        holds_for={name: required for name, required in holds_for.items() if required},
    )


#: Assumptions about branches, by the first word of their names.
_ASSUMPTIONS = {
    "slow": "no thread takes the slow path for special values",
    "wait": "no thread polls twice in the wait",
    "leaves": "no thread leaves the loop before its end",
}


def _describe_assumption(name: str) -> str:
    """Return an assumption in words, with the option that replaces the assumption by a value.

    >>> _describe_assumption("slow_line_9")
    'no thread takes the slow path for special values at line 9 (else --times slow_line_9=SHARE)'
    """
    word, where, place = name.split("_", 2)
    where = "line" if where == "line" else "instruction"
    settable = "" if word == "leaves" else f" (else --times {name}=SHARE)"
    return f"{_ASSUMPTIONS[word]} at {where} {place.partition('_')[0]}{settable}"


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
    """Return the number of requests whose sectors are known, and the number of their sectors."""
    counts = [(each.requests_per_warp, each.sectors) for each in requests]
    known = [(many, sectors) for many, sectors in counts if sectors is not None]
    return sum(many for many, _ in known), sum(many * sectors for many, sectors in known)


def _extra_quantities(instruction: Instruction) -> Iterator[str]:
    """Yield the quantities that count an instruction in addition to the quantity of its class."""
    if instruction.kind not in _NO_REGISTER:
        yield "register_insts"
    if instruction.kind in QUANTITY_CLASSES["fp_insts"]:
        yield "fp_fused_insts" if instruction.name in _FUSED else "narrow_fp_insts"
    if instruction.name in _LONG_LATENCY and _IMAD_MOVES.isdisjoint(instruction.modifiers):
        yield _LONG_LATENCY[instruction.name]
    if instruction.opcode.startswith("IMAD"):  # UIMAD runs on the uniform datapath
        yield "imad_insts"


_EXTRA_QUANTITIES: tuple[str, ...] = ("fp_fused_insts", "narrow_fp_insts", "register_insts")
_EXTRA_QUANTITIES += ("warp_tensor_flops", "imad_insts")
_EXTRA_QUANTITIES += tuple(dict.fromkeys(_LONG_LATENCY.values()))


def _mean_over_blocks(
    analysis: KernelAnalysis, tally: Tally, measured: Mapping[int, Iterable[tuple[float, float]]]
) -> tuple[float, frozenset[Atom]]:
    """Return the mean of values of blocks, weighted by runs, and the inputs of the mean."""
    total = weight = 0.0
    inputs: frozenset[Atom] = frozenset()
    values = set[float]()
    for number, pairs in measured.items():
        for value, share in pairs:
            total += value * share * tally.mean_block_runs(number)
            weight += share * tally.mean_block_runs(number)
            values.add(value)
            inputs |= tally.required_inputs(analysis.block_runs[number])
    if len(values) < 2:  # equal values: the weights do not matter
        inputs = frozenset()
    return (total / weight if weight else 1.0), inputs


def _loads_in_flight(
    analysis: KernelAnalysis, tally: Tally
) -> dict[int, list[tuple[float, float]]]:
    """Return, by block, the loads in flight when a loaded value is first used, each with weight 1.

    Loads stay in flight across a branch that does not use them, but not into or out of a loop.
    """
    graph, loops = analysis.graph, analysis.graph.innermost_loops
    runs = {number: tally.mean_block_runs(number) for number in analysis.block_runs}
    result: dict[int, list[tuple[float, float]]] = {number: [] for number in runs}
    in_flight: dict[int, tuple[set[str], int]] = {}
    followed = set[int]()
    for number in filter(runs.get, graph.reverse_postorder):
        comes, waiting, many = graph.blocks[number].predecessors, set[str](), 0
        inside = all(loops.get(n) == loops.get(number) for n in comes)
        if inside and number not in graph.loops and (usual := [n for n in comes if n in in_flight]):
            before = max(usual, key=lambda n: runs[n] / len(graph.blocks[n].successors))
            waiting, many = in_flight[before]
            followed.add(before)
        for one in graph.blocks[number].body:
            if waiting and not waiting.isdisjoint(_REGISTER.findall(one.text)):
                result[number].append((many, 1.0))
                waiting, many = set(), 0
            if one.kind == "global_load":
                waiting, many = waiting | {*one.results}, many + 1
        in_flight[number] = waiting, many
    for number in in_flight.keys() - followed:
        result[number] += [(in_flight[number][1], 1.0)] * (in_flight[number][1] > 0)
    return result


def _dependency_distances(body: Sequence[Instruction]) -> Iterator[tuple[float, float]]:
    """Yield the distance from each instruction to the latest result that it reads, and weight 1."""
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
    """Yield a block's instructions / length of its longest dependent chain, and this length."""
    depth: dict[str, int] = {}
    longest = 0
    for one in body:
        at = 1 + max((depth.get(name, 0) for name in one.reads), default=0)
        depth |= dict.fromkeys(one.results, at)
        longest = max(longest, at)
    if longest:
        yield len(body) / longest, longest
