"""Count a kernel of a file at a launch: select it, compile source, read instructions."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

from dse.cuda.compile import compile_kernel, parse_arch, read_includes
from dse.cuda.cubin import KernelFunction, disassemble, read_functions, source_lines
from dse.cuda.formulas import quantity_names
from dse.cuda.instruction_counts import KernelCounts, count_kernel
from dse.cuda.instructions import SHARED, WORD, Instruction
from dse.cuda.integer_expressions import Atom, IntExpr, known_ranges
from dse.cuda.launch_shape import (
    AXES,
    deciding_check,
    derive_grid,
    describe_shape,
    evaluate_sizes,
    own_block,
    reads_size,
    source_macros,
)
from dse.cuda.launch_values import KernelLaunch
from dse.cuda.loop_counts import KernelAnalysis, KnownLaunch
from dse.cuda.ptx import PtxReader, find_entries, is_ptx
from dse.cuda.source import LineKinds, Signature, demangle, own_source, read_line_kinds, signatures
from symbolic.errors import DseError, check_name
from symbolic.expression import rewrite_formula

_Kernel = TypeVar("_Kernel")
Macros = Mapping[str, object]
#: The first instruction in listings of ``cuobjdump -sass`` and ``nvdisasm -c``.
_LISTING = re.compile(r"^\s*/\*0{4,}\*/\s", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCode:
    """A kernel's machine code and the names of its arguments; ``body`` is set for PTX only."""

    function: KernelFunction
    cubin: bytes
    origin: str
    argument_names: Sequence[str] = ()
    source: Sequence[str] = ()
    source_name: str = ""
    left_out: Sequence[str] = ()
    body: Sequence[Instruction] = ()
    lines: Mapping[int, int] = field(default_factory=dict)

    @property
    def arguments(self) -> dict[int, str]:
        """Names of the arguments, by offset in the constant bank."""
        names = dict(enumerate(self.argument_names))
        offsets = enumerate(offset for offset, _ in self.function.arguments)
        return {offset: names.get(number, f"arg{number}") for number, offset in offsets}

    @property
    def quantities(self) -> dict[int, str]:
        """Names of the quantities of arguments, by offset."""
        return dict(zip(self.arguments, quantity_names([*self.arguments.values()]), strict=True))

    @property
    def macros(self) -> dict[str, float]:
        """The macros of the source that are numbers."""
        return source_macros("\n".join(self.source)) if self.cubin else {}

    @property
    def line_kinds(self) -> LineKinds:
        """Lines of the source with loops, branches and mathematical functions."""
        return read_line_kinds("\n".join(self.source)) if self.cubin else LineKinds()

    @property
    def offsets(self) -> dict[str, int]:
        """Offsets of arguments, by their names in the source and by their quantities' names."""
        by_quantity = {name: offset for offset, name in self.quantities.items()}
        return by_quantity | {name: offset for offset, name in self.arguments.items()}


def load_code(
    file: Path, *, entry: str, arch: str, define: Mapping[str, object], options: Sequence[str]
) -> KernelCode:
    """Return the machine code of a kernel of a file."""
    data, title = file.read_bytes(), file.name.encode("utf-8", "replace").decode()
    is_code = data[:4] in (b"\x7fELF", b"\x50\xed\x55\xba") or file.suffix == ".cubin"
    try:
        text = "" if is_code else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DseError(
            f"{file} is neither text nor machine code: expected CUDA source (.cu), a .cubin "
            "or PTX (.ptx)"
        ) from None
    is_ptx_text = not is_code and (file.suffix == ".ptx" or is_ptx(text))
    if (is_code or is_ptx_text) and (define or options):
        raise DseError(
            f"{file} is compiled already: macros and options of the compiler (--define, --option) "
            "need CUDA source"
        )
    if is_code:
        function = _select_kernel(read_functions(data), entry, str(file))
        return KernelCode(function=function, cubin=data, origin=f"{title}, sm_{function.arch}")
    if is_ptx_text:
        heads = find_entries(text, str(file))
        chosen = _select_kernel({name: name for name in heads}, entry, str(file))
        function, names, body, lines = PtxReader(text, chosen, heads[chosen], str(file)).read()
        return KernelCode(
            function=function,
            cubin=b"",
            origin=f"{title}, PTX",
            argument_names=names,
            source=text.splitlines(),
            body=body,
            lines=lines,
        )
    if _LISTING.search(text):
        raise DseError(
            f"{file} is a listing of machine code: give the cubin itself (cuobjdump -xelf all, "
            "nvcc -cubin), its CUDA source, or PTX"
        )
    number, in_file = parse_arch(arch), dict(signatures(text))
    known: dict[str, Signature] = {}
    included = read_includes(text, file, options)
    for each in included.values():
        known |= signatures(each)
    known |= in_file
    name = entry.partition("<")[0].rpartition("::")[2]
    kernels = in_file if in_file and (not entry or name in in_file) else known
    if not kernels:
        raise DseError(
            f"neither {file} nor the headers found for it have a kernel: expected a function "
            "marked __global__ (--include FOLDER gives a folder of headers)"
        )
    wanted = _resolve_entry(entry, kernels, str(file))
    plain = wanted.partition("<")[0]
    qualified = "::".join(filter(None, (known[plain].namespace, wanted)))
    settings: dict[str, Any] = {"define": define, "options": options, "entry": qualified}
    cubin, lowered, left_out = compile_kernel(text, number, file, **settings)
    functions = read_functions(cubin)
    function = functions.get(lowered) or _select_kernel(functions, plain, str(file))
    return KernelCode(
        function=function,
        cubin=cubin,
        origin=f"{title} ({wanted}), compiled for sm_{function.arch}",
        argument_names=known[plain].arguments,
        source=kernels[plain].text.splitlines(),
        source_name=next(
            (Path(n).name for n, t in included.items() if t == kernels[plain].text), file.name
        ),
        left_out=left_out,
    )


def _resolve_entry(entry: str, kernels: Mapping[str, Signature], file: str) -> str:
    name = entry.partition("<")[0].rpartition("::")[2]
    entry = name + entry[len(entry.partition("<")[0]) :]
    if not entry:
        if len(kernels) > 1:
            raise DseError(
                f"{file} has {len(kernels)} kernels: {', '.join(kernels)}; name one by entry "
                "(--entry)"
            )
        (name,) = kernels
        entry = name
    check_name(name, kernels, f"{file} has no kernel {name!r}")
    if kernels[name].template and "<" not in entry:
        raise DseError(
            f"{name} is a template ({kernels[name].template}): name it with its arguments, such as "
            f"--entry '{name}<float>'"
        )
    return entry


def _select_kernel(kernels: Mapping[str, _Kernel], entry: str, file: str) -> _Kernel:
    fits = [name for name in kernels if not entry or entry == name or demangle(name) == entry]
    if len(fits) == 1:
        return kernels[fits[0]]
    if not kernels:
        raise DseError(f"{file} has no kernel")
    names = ", ".join(map(demangle, kernels))
    raise DseError(f"{file} has the kernels {names}: name one of them by entry (--entry)")


_MAX_SHOWN = 72  # characters of a source line that are shown in a message
#: Meaning and example value of data inputs, by the first word of their names.
_DATA_INPUTS = {
    "trips": ("mean trip count of the loop at {}", 16),
    "skip": ("share of threads (0 to 1) that skip {}", 0.25),
    "take": ("share of threads (0 to 1) that run {}", 0.25),
    "slow": ("share of threads (0 to 1) that take the slow path at {}", 0.25),
    "wait": ("mean number of polls of the wait at {}", 1),
    "loaded": ("mean value loaded at {}", 8),
}


def example_value(name: str) -> float:
    """Return an example value of a data input; later loads on a line get larger values."""
    kind, number = name.partition("_")[0], name.rpartition("_")[2]
    example = _DATA_INPUTS[kind][1] if kind in _DATA_INPUTS else 1
    is_later = kind == "loaded" and name.count("_") > 2 and number.isdigit()
    return example * int(number) if is_later else example


def count_file(file: Path, define: Macros, settings: Mapping[str, Any]) -> KernelCounts:
    """Return the quantities of a kernel in a file, given the options of :func:`dse.kernel`."""
    code, analysis = _load_and_analyze(file, define, settings)
    block, grid = settings["block"], settings["grid"]
    values = settings["set"], settings["times"]
    return count_launch(
        code, analysis, block, grid, *values, macros=define, **given_sizes(settings)
    )


def _load_and_analyze(
    file: Path, define: Macros, settings: Mapping[str, Any]
) -> tuple[KernelCode, KernelAnalysis]:
    options = {name: settings[name] for name in ("entry", "arch", "options")}
    code = load_code(file, define=define, **options)
    given = frozenset(settings["times"])
    (body,) = read_bodies([code], given)
    lines = branch_lines(code, body)
    return code, KernelAnalysis(code.function, body, lines, code.line_kinds, given)


def example_grid(file: Path, define: Macros, settings: Mapping[str, Any]) -> str:
    """Return an example of a grid: formulas from a kernel's conditions on block indices.

    An axis without a condition has a placeholder. The text is empty if bounds checks give the grid.
    Arguments without a value are taken as 4096.
    """
    code, analysis = _load_and_analyze(file, define, settings)
    values = {at: int(settings["set"].get(name, 4096)) for at, name in code.arguments.items()}
    block, names = (*settings["block"], 1, 1)[:3], _argument_atoms(code)
    launch = KernelLaunch((1, 1, 1), block, values, {}, {}, code.function.pointers)
    example = derive_grid(analysis, launch, names, is_example=True)
    if example is None or derive_grid(analysis, launch, names) is not None:
        return ""
    return ",".join(example[2]).removesuffix(",1").removesuffix(",1")


def _coverage_note(
    analysis: KernelAnalysis, launch: KernelLaunch, names: Mapping[Atom, str]
) -> dict[str, str]:
    """Return a note if the given grid has fewer blocks than pass the kernel's bounds checks."""
    for axis, size in zip(AXES, launch.grid, strict=True):
        decided = deciding_check(analysis, axis, launch)
        if decided and size < decided[0] and not reads_size(analysis, "nctaid", axis):
            share = f"{size:,} of {math.ceil(decided[0]):,} blocks along {axis}"
            text = decided[1].formula(names)
            return {"blocks": f"the grid covers only {share} (bounds check: {text})"}
    return {}


def _argument_atoms(code: KernelCode) -> dict[Atom, str]:
    return {Atom("argument", (offset,)): name for offset, name in code.arguments.items()}


def given_sizes(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of :func:`count_launch` except sizes and values."""
    return {name: settings.get(name) for name in ("dynamic_shared", "array_bytes", "flops")}


def read_bodies(
    codes: Sequence[KernelCode], given: Collection[str] = ()
) -> list[list[Instruction]]:
    """Return the instructions of several kernels, which are disassembled together."""
    slow_paths = any(name.startswith("slow") for name in given)
    functions = [each.function for each in codes if not each.body]
    bodies = iter(disassemble(functions, slow_paths=slow_paths))
    return [list(each.body) or next(bodies) for each in codes]


def branch_lines(code: KernelCode, body: Sequence[Instruction]) -> dict[int, int]:
    """Return the source line of each instruction; empty if no loop or branch needs a name."""
    lines = code.lines
    if code.cubin and code.source and any(one.guards for one in body):
        lines = source_lines(code.cubin, code.function.name, code.source_name)
    return {one.index: lines[one.source_index] for one in body if one.source_index in lines}


def count_launch(
    code: KernelCode,
    analysis: KernelAnalysis,
    block: Sequence[int | str],
    grid: Sequence[int | str],
    arguments: Mapping[str, float],
    data_values: Mapping[str, float],
    *,
    macros: Macros | None = None,
    dynamic_shared: int | str | None = None,
    array_bytes: Mapping[str, float | str] | None = None,
    flops: float | str | None = None,
    cache: dict[Any, dict[Any, Any]] | None = None,
) -> KernelCounts:
    """Return the quantities of a kernel at a launch.

    Sizes of block and grid may be formulas in arguments, in ``macros`` and in macros of the source.
    Formulas of the grid may also contain ``block_x``, ``block_y``, ``block_z``. Without a grid, the
    grid is derived from the kernel's bounds checks. ``dynamic_shared`` and ``array_bytes`` [B] may
    also be formulas. ``flops`` is the number of operations that the problem needs: another count is
    an error. Kernels of a batch share the ``cache``.
    """
    offsets, quantity = code.offsets, code.quantities
    for name in arguments:
        check_name(name, offsets, f"the kernel has no argument {name!r}")
    if len({offsets[name] for name in arguments}) < len(arguments):
        raise DseError(
            f"{', '.join(arguments)}: an argument is given twice, by its own name and by that of "
            "its quantity; give it once"
        )
    values = {offsets[name]: _check_argument(name, value) for name, value in arguments.items()}
    formulas = [*block, *grid, dynamic_shared, flops, *(array_bytes or {}).values()]
    has_formula = any(isinstance(each, str) for each in formulas)
    in_source = code.macros if has_formula else {}
    numbers = in_source | _as_numbers(macros or {})
    numbers |= {name: float(values[at]) for name, at in offsets.items() if at in values}
    assumed: dict[str, str] = {}
    if not block:
        block = own_block(analysis) or (256,)
        has_own = reads_size(analysis, "tid", "x") and len(block) == 1
        if has_own and not any(reads_size(analysis, "ntid", axis) for axis in AXES):
            assumed["threads_per_block"] = "256, as the kernel reads no blockDim (--block)"
    block_size = _check_sizes(evaluate_sizes(block, numbers, "block"), "block")
    own = {f"block_{axis}": float(n) for axis, n in zip("xyz", block_size, strict=True)}
    own["threads_per_block"] = float(math.prod(block_size))
    grid_size = _check_sizes(evaluate_sizes(grid or (1,), numbers | own, "grid"), "grid")
    texts, atoms = list[str](), _argument_atoms(code)
    pointers = code.function.pointers
    data_values = {analysis.input_name(name): value for name, value in data_values.items()}
    general, bounds = analysis, list[IntExpr | None]()

    def launch_at(trip_counts: Mapping[int, IntExpr]) -> KernelLaunch:
        sizes = block_size, grid_size
        key = (*sizes, pointers, *(frozenset(each.items()) for each in (values, data_values)))
        common = {} if cache is None else cache.setdefault(key, {})
        return KernelLaunch(
            grid_size, block_size, values, data_values, trip_counts, pointers, common
        )

    has_grid = bool(grid)
    if grid:
        texts = [size if isinstance(size, str) else "" for size in grid]
        assumed |= _coverage_note(general, launch_at({}), atoms)
    elif (derived := derive_grid(general, launch_at({}), atoms)) is not None:
        (grid_size, bounds, texts), has_grid = derived, True
        texts = ["" if bound else text for bound, text in zip(bounds, texts, strict=True)]
    is_answered = analysis.data_inputs.keys() <= data_values.keys()
    if not is_answered or (analysis.open_choices() and not data_values):
        known = {offset: value for offset, value in values.items() if offset not in pointers}
        decided = analysis.at_launch(
            KnownLaunch.from_sizes(block_size, grid_size if has_grid else None, known)
        )
        if decided.open_choices() < analysis.open_choices():
            analysis = decided
            data_values = {
                name: value
                for name, value in data_values.items()
                if name in decided.data_inputs or name not in general.data_inputs
            }
    for name in data_values:
        unknown = f"the kernel needs no value {name!r}"
        unknown += " (trip counts are derived or given by line)" if code.body else ""
        check_name(name, analysis.data_inputs, unknown, "it needs")
    _check_complete(code, analysis, arguments, data_values)
    launch = launch_at(analysis.trip_counts)
    names = {Atom("argument", (offset,)): name for offset, name in quantity.items()}
    declared: dict[str, tuple[str, float | str]] = {
        quantity[at]: (f"argument {code.arguments[at]} of the kernel", float(value))
        for at, value in ((offsets[name], value) for name, value in arguments.items())
    }
    declared |= {name: ("depends on the data", value) for name, value in data_values.items()}
    constants = in_source | _as_numbers(macros or {})
    renamed = {name: f"{value:.15g}" for name, value in constants.items()}
    renamed |= {n: quantity[at] for n, at in offsets.items() if at in values}
    if block_size[1:] == (1, 1):
        renamed |= {"block_x": "threads_per_block", "block_y": "1", "block_z": "1"}
    shape = describe_shape(
        general,
        launch,
        has_grid=has_grid,
        grid_texts=[rewrite_formula(text, renamed) for text in texts],
        bounds=bounds,
        argument_names={atom: name for atom, name in names.items() if name in declared},
    )
    inputs: dict[Atom, tuple[str, ...]] = {
        atom: (name,) for atom, name in names.items() if name in declared
    }
    inputs |= {Atom("input", (name,)): (name,) for name in data_values}
    offset_of = {name: at for name, at in code.offsets.items() if at in code.function.pointers}
    arrays: dict[int, float] = {}
    for name, size in (array_bytes or {}).items():
        check_name(name, offset_of, f"the kernel has no array {name!r}")
        (arrays[offset_of[name]],) = evaluate_sizes((size,), numbers | own, f"bytes of {name}")  # type: ignore[arg-type]
    with known_ranges(None if analysis.launch is None else analysis.launch.ranges):
        result = count_kernel(
            analysis, launch, names | shape.names, inputs | shape.inputs, shape, arrays
        )
    declared |= result.declared
    if bounds and any(reads_size(general, "nctaid", axis) for axis in "xyz"):
        why = "the kernel takes any grid: assumed to have a thread for each element (else --grid)"
        assumed["blocks"] = why
    if warnings := [each for each in code.left_out if each.startswith("ptxas")]:
        assumed["registers_per_thread"] = "; ".join(warnings)
    left_out = [each for each in code.left_out if each not in warnings]
    about: dict[str, Any] = {"origin": code.origin, "left_out": left_out, "declared": declared}
    result = replace(result, assumed={**result.assumed, **assumed}, **about)
    if flops is not None:
        _check_flops(result, flops, numbers | own)
    if dynamic_shared is None:
        return _note_dynamic_shared(code, analysis, result)
    (dynamic,) = evaluate_sizes((dynamic_shared,), numbers | own, "dynamic_shared")
    static = result["shared_mem_per_block"]
    values_ = {**result.quantities, "shared_mem_per_block": static + dynamic}
    formula = {}
    if isinstance(dynamic_shared, str):
        text = rewrite_formula(dynamic_shared, renamed)
        formula["shared_mem_per_block"] = f"{static:.0f} + {text}" if static else text
    return replace(result, quantities=values_, formulas={**result.formulas, **formula})


def _check_flops(counts: KernelCounts, flops: float | str, numbers: Mapping[str, float]) -> None:
    (expected,) = evaluate_sizes((flops,), numbers, "flops")  # type: ignore[arg-type]
    if "blocks" not in counts:
        raise DseError("flops need the grid of the launch: give it (--grid)")
    threads = counts["blocks"] * counts["threads_per_block"]
    counted = counts.numbers["flops"] * threads
    if abs(counted - expected) > 0.01 * abs(expected):
        raise DseError(
            f"{counted:.6g} operations are counted, and flops = {flops} is {expected:.6g}: a trip "
            "count may be that of another loop, or block and grid may not fit the problem"
        )


_EXTERN_SHARED = re.compile(
    r"\bextern\s+(?:\w+\s*\([^)]*\)\s*|\w+\s+)*?__shared__|\.extern\s+\.shared"
)


def _note_dynamic_shared(
    code: KernelCode, analysis: KernelAnalysis, counts: KernelCounts
) -> KernelCounts:
    uses_shared = any(one.kind in SHARED for _, _, one in analysis.instructions())
    text = own_source("\n".join(code.source), demangle(code.function.name))
    named = _EXTERN_SHARED.search(text) is not None
    unnamed = code.function.has_shared_section and not counts["shared_mem_per_block"]
    if not (uses_shared and (named if code.source else unnamed)):
        return counts
    why = (
        "the size of its dynamic shared memory is not given: counted as 0 (--dynamic-shared BYTES)"
    )
    return replace(counts, assumed={**counts.assumed, "shared_mem_per_block": why})


def _as_numbers(macros: Macros) -> dict[str, float]:
    result = {}
    for name, value in macros.items():
        with suppress(ValueError):
            result[name] = float(str(value))
    return result


def _check_sizes(values: Sequence[Any], name: str) -> tuple[int, int, int]:
    # the largest sizes along x, y and z (CUDA Programming Guide, technical specifications)
    limits = (1024, 1024, 64) if name == "block" else (2**31 - 1, 65535, 65535)
    for axis, size, most in zip("xyz", values, limits, strict=False):
        number = float(size) if isinstance(size, Real) else 0.0
        if not (number >= 1 and number == number // 1):
            raise DseError(
                f"{name} = {tuple(values)}: expected one to three whole numbers from 1 on"
            )
        if number > most:
            several = " (repeat --block for several blocks)" if name == "block" else ""
            raise DseError(f"{name} = {number:.0f} along {axis}: expected at most {most}{several}")
    x, y, z = (*map(int, values), 1, 1)[:3]
    return x, y, z


def _check_argument(name: str, value: float) -> int:
    if not math.isfinite(value) or abs(value) >= 2**63:
        raise DseError(f"the argument {name} = {value}: expected a number of 64 bits")
    return int(value)


def _check_complete(
    code: KernelCode,
    analysis: KernelAnalysis,
    arguments: Mapping[str, float],
    data_values: Mapping[str, float],
) -> None:
    missing, examples = [], []
    for name in analysis.data_inputs:
        if name in data_values:
            continue
        meaning, _ = _DATA_INPUTS[name.partition("_")[0]]
        missing.append(f"  {name}: {meaning.format(_describe_place(code, analysis, name))}")
        examples.append(f"{name}={example_value(name)}")
    needed = analysis.needed_arguments()
    for name, value in arguments.items():
        if value != int(value) and code.offsets[name] in needed:
            raise DseError(
                f"the argument {name} = {value}: expected a whole number, because counts depend "
                "on it"
            )
    have = {code.offsets[name] for name in arguments}
    wanted = [offset for offset in needed if offset not in have]
    names = [code.arguments.get(offset, f"bytes {offset}") for offset in wanted]
    missing += [f"  {name}: argument of the kernel" for name in names]
    if missing:
        raise DseError(
            f"{demangle(code.function.name)}: the code alone does not determine these values:\n"
            + "\n".join(missing)
            + "\ngive each a value: arguments by set (--set NAME=VALUE), the others by times "
            f"(--times {','.join(examples[:2]) or 'NAME=VALUE'})"
        )


def _describe_place(code: KernelCode, analysis: KernelAnalysis, name: str) -> str:
    """Describe a loop, a guarded piece of code or a load, with its source line."""
    index = analysis.data_inputs[name]
    place = f"instruction {index * WORD:#x}"
    match = re.search(r"_line_(\d+)", name)
    line = int(match[1]) if match else 0
    text = code.source[line - 1].strip() if 0 < line <= len(code.source) else ""
    text = f"{text[:_MAX_SHOWN]}..." if len(text) > _MAX_SHOWN + 3 else text
    at = f"line {line}: {text}" if text else f"line {line}, {place}" if line else place
    body = analysis.guarded_lines(name)
    is_one_line = body in ("", f"line {line}")
    if name.startswith(("skip", "take")):
        at = f"code of {at}" if is_one_line else f"{body}, at {at}"
    elif name.startswith("trips") and not is_one_line:
        at += f" ({body})"
    return at
