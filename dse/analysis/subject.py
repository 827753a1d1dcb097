"""The subject of an analysis: a kernel with its launches, or a workload, as variants."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.analysis.launch import (
    LaunchOptions,
    block_shapes,
    merge_launch,
    source_launch,
    varied_sizes,
)
from dse.analysis.prediction import MODELS, ROOFLINE_QUANTITIES, Prediction, entry_text, predict
from dse.analysis.report import AnswerOfVariant
from dse.answer_file import study_text
from dse.catalog.entries import Entry, machine, workload
from dse.cuda.instruction_counts import different_work
from dse.cuda.launch_shape import evaluate_sizes, source_macros
from dse.cuda.source import own_source
from dse.study.plan import unusual_number
from dse.uncertain import model_errors as errors
from sweeps.files.atomic_write import write_atomic
from sweeps.grid.axes import parse_numbers
from symbolic.errors import DseError
from symbolic.library import load_model
from symbolic.quantities import TABLE
from symbolic.quantity import Quantity

#: Maximum number of variants per machine for which moves are computed.
MAX_ADVISED = 3
#: Number of blocks of a kernel, the fastest ones, that the workload file of a study holds.
_STUDY_BLOCKS = 6
#: Oldest architecture that the compiler of the extra ``kernels`` knows.
_OLDEST_ARCH = 75
#: Architecture for which kernels are compiled if the machine has no compute capability.
_OTHER_ARCH = 80
#: Line of an error that names a missing value.
_MISSING = re.compile(r"^  (\w+): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Macros, sizes and axis values of one launch, with its counts or the reason why it has none.

    ``is_searched`` is True if the user gave no block and this shape is one of the shapes to try.
    """

    defines: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    block: tuple[int, ...] = ()
    grid: tuple[int, ...] = ()
    is_searched: bool = False
    counts: Mapping[str, Any] = field(default_factory=dict)
    status: str = ""

    @property
    def point(self) -> dict[str, Any]:
        """Values of the variant along the axes."""
        return {**self.arguments, **self.inputs}


class Subject:
    """A kernel or workload to analyze; subclasses define its variants."""

    title: str
    quantities: Mapping[str, Any]
    quantity_axes: dict[str, list[Any]]
    known_names: Collection[str] = ()
    workload: str | None = None
    advised: int = MAX_ADVISED
    why_one_block: str = ""

    def variants(self, entry: Entry) -> tuple[list[Variant], list[str]]:
        """Return the variants on a machine, and the assumptions that hold for all variants."""
        raise NotImplementedError

    def write_study(
        self, answers: Sequence[AnswerOfVariant], machines: Sequence[str], path: Path
    ) -> list[Path]:
        """Write a study of the fastest variant on the machines whose model is the same.

        A kernel is counted for the architecture of the fastest machine, at its fastest blocks.
        Returns the files that were written.
        """
        known = sorted((each for each in answers if not each.status), key=lambda each: each.time)
        best, blocks = known[0], dict[int, tuple[int, ...]]()
        for each in known:
            same = (each.machine, each.defines, [n > 1 for n in each.block])
            if same == (best.machine, best.defines, [n > 1 for n in best.block]):
                blocks.setdefault(math.prod(each.block), each.block)
        sizes = sorted([*blocks][:_STUDY_BLOCKS])
        file = path.with_suffix(".workload.toml")
        source = self.workload or self._count_blocks(best, [blocks[n] for n in sizes], file)
        same_model = {each.machine for each in known if each.model == best.model}
        axes = {"machine": [name for name in machines if machine(name).name in same_model]}
        axes |= ({"threads_per_block": sizes} if len(sizes) > 1 else {}) | self.quantity_axes
        tables = {"": {"model": best.model, "workload": source}, "axes": axes}
        tables |= {"set": self.quantities, "best": {"minimize": "time", "per": ["machine"]}}
        write_atomic(path, study_text(tables, path.parent).encode())
        return [path] if self.workload else [path, file]

    def _count_blocks(self, best: AnswerOfVariant, blocks: Sequence[Any], file: Path) -> str:
        """Count a kernel for blocks, write a workload file, and return its name."""
        raise NotImplementedError

    def check_quantities(self) -> None:
        """Raise an error if a quantity has no effect, or a number seems to lack its unit."""
        given = {**self.quantities, **self.quantity_axes}
        equations = [eq for name in MODELS for eq in load_model(f"{name} + roofline").equations]
        used = {n for eq in equations for n in (eq.name, *eq.inputs, *eq.when)}
        used |= {str(TABLE[n].default) for n in used if n in TABLE} | {*self.known_names}
        for name, values in given.items():
            if name not in used:
                own = f"kernel_{name}"
                hint = f"; did you mean {own}?" if own in used else ""
                raise DseError(f"{name} is no input of {self.title} nor of a model of time{hint}")
            for value in values if isinstance(values, list) else [values]:
                is_bare = isinstance(value, (int, float)) and name in TABLE
                if is_bare and (why := unusual_number(TABLE[name], value)):
                    raise DseError(f"{why}; give the value with its unit")

    def compare(self, profile: Path, row: int | None, entry: Entry) -> list[dict[str, Any]]:
        """Return the counted values and the measured values of a profile."""
        raise DseError(
            f"{profile} is compared with the counts of CUDA source, a cubin or PTX: {self.title} "
            "is a workload, whose counts are given"
        )

    def answers(self, name: str, level: float) -> list[AnswerOfVariant]:
        """Return the answers on one machine, fastest first, and variants without an answer last."""
        entry = machine(name)
        variants, assumed = self.variants(entry)
        able = [each for each in variants if not each.status]
        if not able:
            raise DseError(f"{self.title}: {variants[0].status}")
        inputs = [{**known_quantities(each.counts), **each.inputs} for each in able]
        prediction = predict(entry, inputs, workload=self.workload, given=self.quantities)
        order = np.argsort(prediction.times, kind="stable").tolist()  # NaN comes last
        problems: dict[Any, list[int]] = {}  # variants with other arguments do other work
        for at in sorted(order, key=lambda at: tuple(able[at].arguments.values())):
            if not prediction.status[at]:
                problems.setdefault(tuple(able[at].arguments.items()), []).append(at)
        answers = []
        for known in problems.values():
            fastest: dict[str, int] = {}  # of variants that differ only in the machine
            first = {at: fastest.setdefault(_same_error(able[at]), at) for at in known}
            racing = [at for at in known if prediction.times[at] == prediction.times[first[at]]]
            chances = dict(zip(racing, errors.best_chances(prediction.times[racing]), strict=True))
            for rank, at in enumerate(known):
                own = rank, chances.get(at, 0.0), prediction.shares(first[at])
                answers.append(self._answer(entry, able[at], prediction, at, assumed, level, own))
        failed = [(able[at], prediction.status[at]) for at in order if prediction.status[at]]
        failed += [(each, each.status) for each in variants if each.status]
        if not answers:
            raise DseError(f"{self.title} on {entry.name}: {failed[0][1]}")
        if len(answers) == 1:
            why = self.why_one_block
            for each, status in [pair for pair in failed if pair[0].is_searched][:1]:
                size, (reason, *_) = " x ".join(map(str, each.block)), status.splitlines()
                why = f"no other block is answered, such as {size}: {reason}"
            answers = [replace(answers[0], why_one_block=why)]
        about: dict[str, Any] = {"machine": entry.name, "machine_title": entry.title}
        about["model"] = prediction.model
        for each, status in failed:
            if not each.is_searched:
                about |= {"block": each.block, "grid": each.grid, "defines": each.defines}
                answers.append(AnswerOfVariant(**about, inputs=each.point, status=status))
        return answers

    def _answer(
        self,
        entry: Entry,
        variant: Variant,
        prediction: Prediction,
        at: int,
        assumed: Sequence[str],
        level: float,
        ranked: tuple[int, float, dict[str, float]],
    ) -> AnswerOfVariant:
        time, (rank, chance, causes) = float(prediction.times[at]), ranked
        limits = prediction.shares(at)
        # a power limit that is not reached has no effect
        bottleneck = next((n for n, share in limits.items() if n != "power" or share >= 1), "")
        interval = errors.learnt_interval(prediction.model, entry.name, causes, level)
        ends = errors.widen_interval(interval, prediction.draws.get(at, np.empty(0)))
        whys = {
            n: w for n, w in variant.counts.get("assumed", {}).items() if n not in self.quantities
        }
        of_counts = [f"{n}: {why}" for n, why in whys.items()]
        guessed = errors.LAUNCH_BYTES & {text.partition(":")[0] for text in (*assumed, *of_counts)}
        least = 0.0 if guessed else prediction.value("least_time", at)  # NaN does not limit below
        return AnswerOfVariant(
            machine=entry.name,
            machine_title=entry.title,
            architecture=architecture(entry)[0] if self.workload is None else "",
            model=prediction.model,
            why_model=prediction.why,
            time=time,
            time_expected=max(time * interval.median, least),
            time_low=max(time * ends[0], least),
            time_high=max(time * ends[1], least),
            interval=interval,
            chance=float(chance),
            rank=rank + 1,
            bottleneck=prediction.label("case", at) or bottleneck,
            limits=limits,
            occupancy=prediction.value("occupancy", at),
            occupancy_limiter=prediction.label("limiter", at),
            blocks_per_sm=prediction.value("active_blocks_per_sm", at),
            block=variant.block or _whole(prediction.value("threads_per_block", at)),
            grid=variant.grid or _whole(prediction.value("blocks", at)),
            defines=variant.defines,
            inputs=variant.point,
            moves=self._moves(entry, prediction.model, variant) if rank < self.advised else None,
            assumed=[*assumed, *of_counts, *prediction.assumed],
            roofline={
                name: prediction.value(name, at)
                for name in ROOFLINE_QUANTITIES
                if name in prediction.values
            },
        )

    def _moves(self, entry: Entry, model: str, variant: Variant) -> tuple[Any, ...] | None:
        """Return the moves that shorten the time, most helpful first; None without advice."""
        from dse.verbs.study import advise

        values = {**known_quantities(variant.counts), **variant.inputs, **self.quantities}
        try:
            advice = advise(
                model, machine=entry_text(entry), workload=self.workload, goal="time", **values
            )
        except DseError:
            return None
        return tuple(move for move in advice.moves if move.helps)


def _same_error(variant: Variant) -> str:
    """Return a text that is equal for variants that differ only in the machine, as its clock."""
    inputs = variant.inputs.items()
    own = [each for each in inputs if getattr(TABLE.get(each[0]), "lever", "") != "designer"]
    return repr((variant.defines, variant.block, own))


def known_quantities(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the quantities and labels in the counts of a kernel."""
    known = {n: v for n, v in counts.items() if n in TABLE and not isinstance(v, Mapping)}
    return {**known, **getattr(counts, "labels", {})}


def _whole(size: float) -> tuple[int, ...]:
    return () if np.isnan(size) else (int(size),)


def _combinations(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def _axis_values(name: str, values: Any) -> list[Any]:
    row = TABLE.get(name, Quantity(name=name))
    numbers: list[Any] = list(values) if row.is_label else parse_numbers(values, row, name).tolist()
    return numbers


def _macro_value(value: Any) -> Any:
    for kind in (int, float):
        try:
            return kind(value)
        except (TypeError, ValueError):
            continue
    return value


#: Options of a launch; for a workload, only the first option is allowed.
_LAUNCH_OPTIONS = (
    *("set", "define", "times", "grid", "entry", "options"),
    *("dynamic_shared", "array_bytes"),
)


class WorkloadSubject(Subject):
    """A workload of the catalogue, or of a file, with axes over its quantities."""

    def __init__(self, path: str, **given: Any) -> None:
        self.workload = path
        self.entry = workload(path)
        self.title, self.known_names = self.entry.title, self.entry.values.keys()
        for name in _LAUNCH_OPTIONS[1:]:
            if given[name]:
                raise DseError(
                    f"{path} is a workload, and {name} (--{name}) is for the source of a kernel: "
                    "give a .cu, .cubin or .ptx file, or leave it out"
                )
        self.quantities = given["set"]
        axes = {name: _axis_values(name, values) for name, values in given["axes"].items()}
        blocks = [evaluate_sizes(sizes, {}, "block") for sizes in given["blocks"]]
        self.is_searched = False
        if blocks:
            axes["threads_per_block"] = [int(np.prod(sizes)) for sizes in blocks]
        elif not {"threads_per_block", "blocks"} & {*axes, *self.quantities}:
            axes |= self._block_sizes()
            self.why_one_block = "the workload holds for this block only"
        self.quantity_axes = axes

    def _block_sizes(self) -> dict[str, list[int]]:
        """Return an axis of block sizes, the usual size first; empty if the counts fix the size."""
        values = self.entry.values
        holds = dict(pair for value in values.values() for pair in value.holds_for)
        counted = holds.get("threads_per_block") or ()
        blocks, usual = values.get("blocks"), values.get("threads_per_block")
        is_fixed = blocks is not None and not isinstance(blocks.value, str)
        is_fixed |= not _BLOCK_QUANTITIES.isdisjoint(holds)
        if usual is None or isinstance(usual.value, str) or (is_fixed and len(counted) < 2):
            return {}
        self.is_searched = True
        shapes = [shape[0] for shape in block_shapes("x", (256,))]
        sizes = map(int, (usual.value, *(counted or shapes)))
        return {"threads_per_block": list(dict.fromkeys(sizes))}

    def variants(self, entry: Entry) -> tuple[list[Variant], list[str]]:
        """Return a variant for each combination of the axes."""
        assumed = [f"{n}: {v.assumed}" for n, v in self.entry.values.items() if v.assumed]
        points = _combinations(self.quantity_axes)
        return [
            Variant(inputs=point, is_searched=self.is_searched and at > 0)
            for at, point in enumerate(points)
        ], assumed


_BLOCK_SIZES = ("block_x", "block_y", "block_z")
_BLOCK_QUANTITIES = {"threads_per_block", *_BLOCK_SIZES}
_GRID_QUANTITIES = ("grid_x", "grid_y", "grid_z")


class KernelSubject(Subject):
    """CUDA source, a cubin or PTX, with launches that are counted for a machine's architecture."""

    def __init__(self, path: Path, **given: Any) -> None:
        if not path.is_file():
            raise DseError(f"{path} is no file: expected CUDA source (.cu), a .cubin or PTX (.ptx)")
        self.path = path
        self.text = "" if path.suffix == ".cubin" else path.read_text("utf-8", errors="replace")
        own = {n: given[n] for n in _LAUNCH_OPTIONS}
        self.launch = merge_launch(LaunchOptions(**own), source_launch(self.text, str(path)))
        self.blocks = given["blocks"]
        entry = self.launch.entry
        self.kernel_text = own_source(self.text, self._kernel_name())
        self.title = f"{path.name} ({entry})" if entry else path.name
        names = self._argument_names()

        def is_argument(name: str) -> bool:
            return name in names or name not in TABLE

        sizes = {"blocks", *_GRID_QUANTITIES, *_BLOCK_QUANTITIES} - names
        if wrong := sizes & {*self.launch.set, *given["axes"]}:
            names_ = " and ".join(sorted(wrong))
            raise DseError(f"{names_} of {path.name}: use --block and --grid for sizes of a launch")
        self.arguments = {n: float(v) for n, v in self.launch.set.items() if is_argument(n)}
        self.quantities = {n: v for n, v in self.launch.set.items() if not is_argument(n)}
        axes = {n: _axis_values("" if is_argument(n) else n, v) for n, v in given["axes"].items()}
        if not self.blocks:
            self.why_one_block = "the block is fixed by the code; macros (--define) may vary it"
        self.argument_axes = {n: v for n, v in axes.items() if is_argument(n)}
        self.quantity_axes = {n: v for n, v in axes.items() if not is_argument(n)}
        self._counted: dict[str, list[Variant]] = {}

    def _kernel_name(self) -> str:
        return self.launch.entry.partition("<")[0].rpartition("::")[2]

    def _argument_names(self) -> set[str]:
        from dse.cuda.source import signatures

        kernels, entry = signatures(self.text), self._kernel_name()
        chosen = [kernels[entry]] if entry in kernels else kernels.values()
        return {name for kernel in chosen for name in kernel.arguments}

    def variants(self, entry: Entry) -> tuple[list[Variant], list[str]]:
        """Return the counted variants for the architecture of a machine."""
        arch, assumed = architecture(entry)
        if arch not in self._counted:
            self._counted[arch] = self._count(arch)
        return self._counted[arch], assumed

    def _launches(self) -> list[Variant]:
        several = {n: v if isinstance(v, list) else [v] for n, v in self.launch.define.items()}
        defined, result = source_macros(self.text), []
        for point in _combinations({**several, **self.argument_axes, **self.quantity_axes}):
            macros = {n: _macro_value(point[n]) for n in several}
            arguments = {n: point[n] for n in self.argument_axes}
            numbers = {**defined, **self.arguments, **arguments}
            numbers |= {n: v for n, v in macros.items() if not isinstance(v, str)}
            usual = self.launch.block or ((256,) if varied_sizes(self.kernel_text, ()) else ())
            given = self.blocks or [usual]
            blocks = [tuple(map(int, evaluate_sizes(each, numbers, "block"))) for each in given]
            varied = "" if self.blocks or not usual else varied_sizes(self.kernel_text, usual)
            blocks += block_shapes(varied, blocks[0], self.kernel_text) if varied else ()
            # the usual block first; it is empty if none is given and the source reads no blockDim
            distinct = {(*each, 1, 1)[:3]: each for each in blocks}.values()
            for number, block in enumerate(distinct):
                variant = Variant(
                    defines=macros,
                    arguments=arguments,
                    inputs={n: point[n] for n in self.quantity_axes},
                    block=block,
                    is_searched=number > 0 and not self.blocks,
                )
                result.append(variant)
        return result

    def _count(self, arch: str) -> list[Variant]:
        result = self._launches()
        groups: dict[Any, list[int]] = {}
        for at, each in enumerate(result):
            groups.setdefault((tuple(each.arguments.items()), each.is_searched), []).append(at)
        for places in groups.values():
            counts = self._counts(arch, [result[at] for at in places])
            for at, own in zip(places, counts, strict=True):
                grid = tuple(int(own[n]) for n in _GRID_QUANTITIES if n in own)
                status = str(own.get("status", "")) or self._no_work(result[at], own)
                sizes = _BLOCK_SIZES if "block_y" in own else ("threads_per_block",)
                block = result[at].block or tuple(int(own[n]) for n in sizes if n in own)
                result[at] = replace(result[at], counts=own, block=block, grid=grid, status=status)
        usual = [each for each in result if not each.is_searched]
        is_open = any("threads_per_block" in e.counts.get("assumed", {}) for e in usual)
        is_open |= not any("blocks" in e.counts for e in usual)
        if is_open or all(each.status for each in usual):
            self._ask(usual, arch)
        return _check_work(result)

    def _no_work(self, variant: Variant, counts: Mapping[str, Any]) -> str:
        """Return the sizes below 1 because of which a launch does no work; "" if it does work."""
        sizes = {**self.arguments, **variant.arguments}.items()
        small = ", ".join(f"{name} = {value:g}" for name, value in sizes if value < 1)
        is_idle = small and "blocks" in counts and not counts["global_insts"]
        return f"no thread reads or writes global memory: {small}" if is_idle else ""

    def _counts(self, arch: str, variants: Sequence[Variant]) -> list[dict[str, Any]]:
        from dse.cuda.tuning_space import BLOCK_AXIS, count_variants

        shapes = [(*each.block, 1, 1)[:3] if each.block else () for each in variants]
        is_axis = variants[0].is_searched or len(self.blocks) > 1
        varied = [len({*sizes}) > 1 for sizes in zip(*shapes, strict=True)]
        settings = {
            "arch": arch,
            "options": self.launch.options,
            "entry": self.launch.entry,
            "set": {**self.arguments, **variants[0].arguments},
            "times": dict(self.launch.times),
            "block": (),
            "dynamic_shared": self.launch.dynamic_shared,
            "array_bytes": dict(self.launch.array_bytes),
            # as text, because a number would be refused if blocks vary; see _check_work
            "grid": tuple(map(str, self.launch.grid)),
            "moving": "".join(itertools.compress("xyz", varied)) if is_axis else "",
        }
        macros = [
            {**each.defines, **({BLOCK_AXIS: shape} if shape else {})}
            for each, shape in zip(variants, shapes, strict=True)
        ]
        return count_variants(self.path, macros, settings)

    def _ask(self, variants: Sequence[Variant], arch: str) -> None:
        """Raise an error that names every value missing from both the source and the launch."""
        from dse.cuda.kernel_file import example_value

        text = variants[0].status
        missing = dict(_MISSING.findall(text)) if "does not determine" in text else {}
        if text and not missing:
            raise DseError(f"{self.title}: {text}")
        arguments = [name for name, why in missing.items() if "argument" in why]
        options = [f"--set {name}=4096" for name in arguments]
        options += [f"--times {n}={example_value(n)}" for n in missing if n not in arguments]
        lines = [f"  {name}: {why}" for name, why in missing.items()]
        if "threads_per_block" in variants[0].counts.get("assumed", {}):
            lines.append("  block: threads of a block in x, y and z; the kernel reads no blockDim")
            options.append("--block THREADS_X,THREADS_Y")
        if not self.launch.grid and (grid := self._example_grid(variants[0], arch)):
            lines.append("  grid: blocks of the launch in x, y and z, numbers or formulas")
            options.append(f'--grid "{grid}"')
        raise DseError(
            f"{self.title}: the source and the options do not say all of the launch:\n"
            + "\n".join(lines)
            + f"\nadd it to the command, for example: {' '.join(options)}"
            + f"\nor write it into the source, once: // dse: {' '.join(options)}"
        )

    def _example_grid(self, variant: Variant, arch: str) -> str:
        """Return an example of a grid for an error message; "" if bounds checks give the grid."""
        from dse.cuda.kernel_file import example_grid

        given = {**self.arguments, **variant.arguments}
        values = {name: value for name, value in given.items() if value >= 1}
        settings = {n: getattr(self.launch, n) for n in ("entry", "options", "times")}
        settings |= {"arch": arch, "block": variant.block or (256,), "set": values}
        grid = example_grid(self.path, variant.defines, settings)
        if not grid and values != given and not variant.status:
            names = " and ".join(name for name in given if name not in values)
            raise DseError(f"{self.title}: {names} must be at least 1: the grid has no blocks")
        return grid

    def _count_blocks(self, best: AnswerOfVariant, blocks: Sequence[Any], file: Path) -> str:
        from dse.cuda import kernel
        from dse.cuda.instruction_counts import join_blocks

        if file.exists():
            raise DseError(f"{file} exists already: name the study differently, or remove it")
        arguments = {n: float(v) for n, v in best.inputs.items() if n in self.argument_axes}
        about: dict[str, Any] = {n: getattr(self.launch, n) for n in _LAUNCH_OPTIONS}
        about |= {"set": {**self.arguments, **arguments}, "define": best.defines}
        about |= {"grid": tuple(map(str, self.launch.grid)), "arch": best.architecture}
        counts = [kernel(self.path, **{**about, "block": block}) for block in blocks]
        write_atomic(file, (counts[0] if len(counts) == 1 else join_blocks(counts)).toml().encode())
        return str(file)

    def compare(self, profile: Path, row: int | None, entry: Entry) -> list[dict[str, Any]]:
        """Return the counted and the measured values at each launch of a profile."""
        from dse.cuda import kernel
        from dse.cuda.tuning_space import agreement_rows

        single = {n: v for n, v in self.launch.define.items() if not isinstance(v, list)}
        ds = kernel(
            self.path,
            self.launch.times,
            self.launch.entry,
            arch=architecture(entry)[0],
            define=single,
            options=self.launch.options,
            set=self.arguments,
            profile=profile,
            row=row,
        )
        return list(agreement_rows(ds))


def _check_work(variants: Sequence[Variant]) -> list[Variant]:
    """Return the variants; if the work of one differs from its group's, its ``status`` is an error.

    Variants with equal macros and arguments are a group. The first variant has the expected work.
    """
    result: list[Variant] = []
    first: dict[Any, Variant] = {}
    for each in variants:
        known = first.setdefault(repr((each.defines, each.arguments)), each)
        reason = each.status or different_work(each.counts, known.counts)
        result.append(replace(each, status=reason))
    return result


def architecture(entry: Entry) -> tuple[str, list[str]]:
    """Return the architecture for which code is compiled, and the assumptions in this choice."""
    text = entry.compute_capability
    if not text:
        why = f"as {entry.name} has no compute capability"
        return f"sm_{_OTHER_ARCH}", [f"counts: those of code for sm_{_OTHER_ARCH}, {why}"]
    number = int(text.replace(".", ""))
    if number < _OLDEST_ARCH:
        why = f"the oldest of the compiler; {entry.name} has {text}"
        return f"sm_{_OLDEST_ARCH}", [f"counts: those of code for sm_{_OLDEST_ARCH}, {why}"]
    return f"sm_{number}", []
