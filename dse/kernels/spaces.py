"""A tuning space of a kernel: compiled for each choice of its macros, in parallel, into a table.

What a compiler does with a macro is no formula (registers above all), so that each variant is
compiled and counted; what was counted is kept by its content.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import json
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.kernels.cubin import Function
from dse.kernels.instructions import Instruction
from dse.kernels.launches import Code, bodies, code_of, counts_of, lines_wanted
from dse.kernels.tally import Reading, read
from stochastic import sizes
from stochastic.kept.folder import load, save
from symbolic.errors import DseError
from symbolic.expression import parse_value
from symbolic.interpreter import interpret_arrays
from symbolic.ops import Node
from symbolic.quantities import TABLE
from symbolic.quantity import Quantity

if TYPE_CHECKING:
    import xarray as xr

#: Variants that a process takes at once, at most: one start of the disassembler for all of them.
_TAKEN = sizes.VARIANTS_TAKEN
#: What a table has of a kernel besides its quantities; of loads and stores requests of a warp.
_MORE = {
    "instructions": "all",
    "global_loads": "global_load_requests",
    "global_stores": "global_store_requests",
    "transactions_per_request": "sectors_per_load_request",
    "floating_insts": "floating",
    "flops": "flops",
}


def kernel_space(
    path: str | os.PathLike[str],
    define: Mapping[str, Sequence[object]],
    *,
    entry: str = "",
    arch: str = "sm_80",
    options: Sequence[str] = (),
    block: Sequence[int | str] = (256,),
    grid: Sequence[int | str] = (),
    set: Mapping[str, float] | None = None,  # noqa: A002
    times: Mapping[str, float] | None = None,
    processes: int | None = None,
    keep: bool = True,
) -> xr.Dataset:
    """The quantities of a kernel over its macros.

    Parameters
    ----------
    path, entry, arch, options, set, times
        As for :func:`dse.kernel`; ``times`` may name what only some variants ask for.
    define : mapping of str to sequence
        Macros with the values of each: the axes of the answer.
    block, grid : sequence of int or str
        Sizes, or formulas in the macros: ``"BLOCK_X"``, ``"ceil(4096 / BLOCK_X)"``.
    processes : int, optional
        How many compile at once; as many as there are cores by default.
    keep : bool
        Take what was counted before of the same source, options and launch, and keep the rest.

    Returns
    -------
    Dataset
        The quantities over the macros, and of a warp ``instructions``, requests (``global_loads``,
        ``global_stores``), sectors a load's request (``transactions_per_request``), ``flops``
        and ``floating_insts``; where a variant does not compile or cannot be counted they are NaN,
        and ``status`` says why.

    Raises
    ------
    DseError
        As :func:`dse.kernel`, where no variant can be counted.
    """
    import xarray as xr

    file, axes = Path(os.fspath(path)), {name: list(values) for name, values in define.items()}
    variants = [
        dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
    ]
    if not variants or not axes:
        raise DseError("define names no macro with values: for one variant ask dse.kernel")
    told: dict[str, Any] = {
        "entry": entry,
        "arch": arch,
        "options": tuple(options),
        "block": tuple(block),
    }
    told |= {"grid": tuple(grid), "set": dict(set or {}), "times": dict(times or {})}
    found = tuned(file, variants, told, processes=processes, keep=keep)
    counted = [each for each in found if "status" not in each]
    if not counted:
        raise DseError(f"no variant of {file} can be counted; of the first: {found[0]['status']}")
    shape = [len(values) for values in axes.values()]
    data = {}
    for name in dict.fromkeys(name for each in counted for name in each):
        column = np.array([each.get(name, np.nan) for each in found], dtype=float)
        row = TABLE.get(name)
        about = {"long_name": row.meaning, "units": row.unit} if row is not None else {}
        data[name] = (list(axes), column.reshape(shape), about)
    status = np.array([each.get("status", "") for each in found], dtype=object)
    data["status"] = (list(axes), status.reshape(shape), {"long_name": "why nothing was counted"})
    return xr.Dataset(data, coords=axes, attrs={"kernel": str(file), "arch": arch})


def tuned(
    file: Path,
    variants: Sequence[Mapping[str, object]],
    told: Mapping[str, Any],
    *,
    processes: int | None = None,
    keep: bool = True,
) -> list[dict[str, Any]]:
    """The quantities of each variant, in order; ``status`` where there are none."""
    source = file.read_bytes()
    about = (sorted(told.items(), key=str), _versions())
    keys = [_identity(source, sorted(each.items()), about) for each in variants]
    found: dict[str, dict[str, Any]] = {}
    if keep:
        for key in dict.fromkeys(keys):
            if (kept := load(key)) is not None:
                found[key] = json.loads(kept)
    wanted = {key: each for key, each in zip(keys, variants, strict=True) if key not in found}
    of_text = _named_in(source.decode(errors="replace"))
    items = sorted(wanted.items(), key=lambda item: str(_compiled_as(item[1], of_text)))
    compiled = {str(_compiled_as(each, of_text)) for each in wanted.values()}
    many = max(min(processes or len(os.sched_getaffinity(0)), len(compiled)), 1)
    taken = max(min(_TAKEN, -(-len(items) // many)), 1)
    parts = [items[at : at + taken] for at in range(0, len(items), taken)]
    many = min(many, len(parts))
    work = [(file, [each for _, each in part], dict(told)) for part in parts]
    if many > 1:
        with ProcessPoolExecutor(many, mp_context=get_context("spawn")) as pool:
            answers = list(pool.map(_part, work))
    else:
        answers = [_part(each) for each in work]
    for part, counted in zip(parts, answers, strict=True):
        for (key, _), each in zip(part, counted, strict=True):
            found[key] = each
            if keep:
                save(key, json.dumps(each).encode())
    return [found[key] for key in keys]


def _identity(code: bytes, *given: object) -> str:
    """What a compiled kernel is kept under: its source and all that changes it."""
    return hashlib.sha256(code + repr(given).encode()).hexdigest()


def _named_in(source: str) -> set[str] | None:
    """The words of a source that macros can change; None where other files may hold more."""
    if "__global__" not in source:
        return set()  # machine code
    if "##" in source or re.search(r'^\s*#\s*include\s*"', source, re.MULTILINE):
        return None
    return set(re.findall(r"\w+", source))


def _compiled_as(variant: Mapping[str, object], words: set[str] | None) -> dict[str, object]:
    """A variant without the macros that its source does not name, such as a block's size alone."""
    return {key: each for key, each in variant.items() if words is None or key in words}


def _versions() -> tuple[str, ...]:
    """What counting rests on besides the source; what a table holds among it."""
    found = list(_MORE)
    for package in ("simt-dse", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"):
        try:
            found.append(metadata.version(package))
        except metadata.PackageNotFoundError:
            found.append("")
    return tuple(found)


def _part(
    work: tuple[Path, Sequence[Mapping[str, object]], Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Some variants: compiled one by one, disassembled together, counted.

    No garbage is looked for meanwhile, which takes a fifth of counting and finds next to none.
    """
    collecting, times = gc.isenabled(), work[2]["times"]
    gc.disable()
    try:
        found = _counted_all(*work, lines=bool(times)) or _counted_all(*work, lines=True)
        return found or []
    finally:
        if collecting:
            gc.enable()


def _counted_all(
    file: Path, variants: Sequence[Mapping[str, object]], told: Mapping[str, Any], *, lines: bool
) -> list[dict[str, Any]] | None:
    """None where something is asked for, which lines name that were left out."""
    words = _named_in(file.read_bytes().decode(errors="replace"))
    options = {"arch": told["arch"], "options": told["options"], "entry": told["entry"]}
    codes: dict[str, Code | DseError] = {}
    keys = []
    for each in variants:
        define = _compiled_as(each, words)
        keys.append(str(sorted(define.items())))
        if keys[-1] not in codes:
            try:
                codes[keys[-1]] = code_of(file, define=define, lines=lines, **options)
            except DseError as error:
                codes[keys[-1]] = error
    alike = {code.function: code for code in codes.values() if isinstance(code, Code)}
    readings: dict[Function, Reading | DseError] = {}
    for code, body in zip(alike.values(), bodies(list(alike.values())), strict=True):
        readings[code.function] = _read(code, body)
    if not lines and any(isinstance(r, Reading) and r.often.asked for r in readings.values()):
        return None
    kept: dict[Any, dict[Any, Any]] = {}
    return [
        _counted(codes[key], readings, each, told, kept)
        for key, each in zip(keys, variants, strict=True)
    ]


def _read(code: Code, body: Sequence[Instruction]) -> Reading | DseError:
    try:
        reading = read(code.function, body)
        if reading.often.asked:  # by lines
            return read(code.function, body, lines_wanted(code, body))
    except DseError as error:
        return error
    return reading


def _counted(
    code: Code | DseError,
    readings: Mapping[Function, Reading | DseError],
    variant: Mapping[str, object],
    told: Mapping[str, Any],
    kept: dict[Any, dict[Any, Any]],
) -> dict[str, Any]:
    try:
        if isinstance(code, DseError):
            raise code
        reading = readings[code.function]
        if isinstance(reading, DseError):
            raise reading
        sizes = [[_size(each, variant) for each in told[name]] for name in ("block", "grid")]
        times = {
            name: value for name, value in told["times"].items() if name in reading.often.asked
        }
        found = counts_of(code, reading, sizes[0], sizes[1], told["set"], times, kept=kept)
    except DseError as error:
        return {"status": str(error)}
    numbers = found.numbers
    more = {name: numbers[told] for name, told in _MORE.items() if told in numbers}
    return {**found, **more}


def _size(given: int | str, variant: Mapping[str, object]) -> int:
    """A size of a block or grid: a number, or a formula in macros."""
    if not isinstance(given, str):
        return given
    names = {name: Quantity(name=name) for name in variant}
    value = parse_value(given, Quantity(name="size"), names)
    if isinstance(value, Node):
        numbers = {name: float(str(number)) for name, number in variant.items() if _numeric(number)}
        value = interpret_arrays([value], numbers)[0]
    return int(value)


def _numeric(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True
