"""A kernel at many launches: over its macros, compiled in parallel, or beside a profile's rows.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dse.cuda.instructions import Instruction
from dse.cuda.kernel_file import KernelCode, branch_lines, count_launch, load_code, read_bodies
from dse.cuda.loop_counts import KernelAnalysis
from stochastic import sizes
from stochastic.compile_cache.cache import load, save
from symbolic.errors import DseError, nearest_hint
from symbolic.expression import parse_value
from symbolic.ops import Node, interpret_arrays
from symbolic.quantities import TABLE
from symbolic.quantity import Quantity

if TYPE_CHECKING:
    import xarray as xr

_T = TypeVar("_T")
#: Variants that a process takes at once, at most: one start of the disassembler for all of them.
_MAX_BATCH = sizes.VARIANTS_TAKEN
#: What a table has of a kernel besides its quantities; of loads and stores requests of a warp.
_EXTRA_COLUMNS = {
    "instructions": "all",
    "global_loads": "global_load_requests",
    "global_stores": "global_store_requests",
    "transactions_per_request": "sectors_per_load_request",
    "floating_insts": "floating",
    "flops": "flops",
}


def count_macro_grid(
    file: Path, axes: Mapping[str, Sequence[object]], settings: Mapping[str, Any]
) -> xr.Dataset:
    """Return the quantities of a kernel over macros with several values (``axes``).

    Of a warp there are ``instructions``, requests, sectors of a load's request, ``flops`` and
    ``floating_insts``, too. All are NaN where a variant does not compile or cannot be counted, and
    ``status`` holds the reason. Where none can be counted, that of the first is raised.
    """
    import xarray as xr

    choices = itertools.product(*axes.values())
    variants = [dict(zip(axes, values, strict=True)) for values in choices]
    if not variants:
        raise DseError("define names a macro without values: for one variant give it one value")
    result = count_variants(file, variants, settings)
    counted = [each for each in result if "status" not in each]
    if not counted:
        raise DseError(f"no variant of {file} can be counted; of the first: {result[0]['status']}")
    shape = [len(values) for values in axes.values()]
    data = {}
    for name in dict.fromkeys(name for each in counted for name in each):
        column = np.array([each.get(name, np.nan) for each in result], dtype=float)
        row = TABLE.get(name)
        about = {"long_name": row.meaning, "units": row.unit} if row is not None else {}
        data[name] = (list(axes), column.reshape(shape), about)
    status = np.array([each.get("status", "") for each in result], dtype=object)
    data["status"] = (list(axes), status.reshape(shape), {"long_name": "why nothing was counted"})
    return xr.Dataset(data, coords=axes, attrs={"kernel": str(file), "arch": settings["arch"]})


def count_variants(
    file: Path,
    variants: Sequence[Mapping[str, object]],
    settings: Mapping[str, Any],
    *,
    processes: int | None = None,
    use_cache: bool = True,
) -> list[dict[str, Any]]:
    """The quantities of each variant, in order; ``status`` where there are none."""
    source = file.read_bytes()
    about = (sorted(settings.items(), key=str), _versions())
    rests_on = [repr((sorted(each.items()), about)).encode() for each in variants]
    keys = [hashlib.sha256(source + each).hexdigest() for each in rests_on]
    result: dict[str, dict[str, Any]] = {}
    if use_cache:
        for key in dict.fromkeys(keys):
            if (kept := load(key)) is not None:
                result[key] = json.loads(kept)
    wanted = {key: each for key, each in zip(keys, variants, strict=True) if key not in result}
    of_text = _source_words(source.decode(errors="replace"))
    items = sorted(wanted.items(), key=lambda item: str(_relevant_macros(item[1], of_text)))
    compiled = {str(_relevant_macros(each, of_text)) for each in wanted.values()}
    many = max(min(processes or len(os.sched_getaffinity(0)), len(compiled)), 1)
    taken = max(min(_MAX_BATCH, -(-len(items) // many)), 1)
    parts = [items[at : at + taken] for at in range(0, len(items), taken)]
    many = min(many, len(parts))
    work = [(file, [each for _, each in part], dict(settings)) for part in parts]
    if many > 1:
        with ProcessPoolExecutor(many, mp_context=get_context("spawn")) as pool:
            answers = list(pool.map(_count_batch, work))
    else:
        answers = [_count_batch(each) for each in work]
    for part, counted in zip(parts, answers, strict=True):
        for (key, _), each in zip(part, counted, strict=True):
            result[key] = each
            if use_cache:
                save(key, json.dumps(each).encode())
    return [result[key] for key in keys]


def _source_words(source: str) -> set[str] | None:
    """The words of a source that macros can change; None where other files may hold more."""
    if "__global__" not in source:
        return set()  # machine code
    if "##" in source or re.search(r'^\s*#\s*include\s*"', source, re.MULTILINE):
        return None
    return set(re.findall(r"\w+", source))


def _relevant_macros(variant: Mapping[str, object], words: set[str] | None) -> dict[str, object]:
    """A variant without the macros that its source does not name, such as a block's size alone."""
    return {key: each for key, each in variant.items() if words is None or key in words}


def _versions() -> tuple[str, ...]:
    """What counting rests on besides the source; what a table holds among it."""
    result = list(_EXTRA_COLUMNS)
    for package in ("simt-dse", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"):
        try:
            result.append(metadata.version(package))
        except metadata.PackageNotFoundError:
            result.append("")
    return tuple(result)


def _count_batch(
    work: tuple[Path, Sequence[Mapping[str, object]], Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the counts of some variants: compiled one by one, disassembled together.

    Garbage collection is off meanwhile: it takes a fifth of counting and finds next to none.
    """
    collecting = gc.isenabled()
    gc.disable()
    file, variants, told = work
    words = _source_words(file.read_bytes().decode(errors="replace"))
    options = {name: told[name] for name in ("arch", "options", "entry")}
    try:
        defines = [_relevant_macros(each, words) for each in variants]
        keys = [str(sorted(define.items())) for define in defines]
        codes = {
            key: _result_or_error(load_code, file, define=define, **options)
            for key, define in dict(zip(keys, defines, strict=True)).items()
        }
        alike = {code.function: code for code in codes.values() if isinstance(code, KernelCode)}
        of_body = zip(alike.values(), read_bodies(list(alike.values())), strict=True)
        readings = {code.function: _result_or_error(_analyze, code, body) for code, body in of_body}
        kept: dict[Any, dict[Any, Any]] = {}

        def count_variant(
            code: KernelCode | DseError, variant: Mapping[str, object]
        ) -> dict[str, Any]:
            if isinstance(code, DseError):
                raise code
            if isinstance(reading := readings[code.function], DseError):
                raise reading
            block, grid = (
                [_evaluate_size(s, variant) for s in told[name]] for name in ("block", "grid")
            )
            times = {
                name: value for name, value in told["times"].items() if name in reading.data_inputs
            }
            result = count_launch(code, reading, block, grid, told["set"], times, cache=kept)
            numbers = result.numbers
            return {
                **result,
                **{n: numbers[own] for n, own in _EXTRA_COLUMNS.items() if own in numbers},
            }

        answers = [
            _result_or_error(count_variant, codes[key], each)
            for key, each in zip(keys, variants, strict=True)
        ]
        return [{"status": str(each)} if isinstance(each, DseError) else each for each in answers]
    finally:
        if collecting:
            gc.enable()


def _result_or_error(work: Callable[..., _T], *args: Any, **kwargs: Any) -> _T | DseError:
    """Return what work yields, or the error that it raises."""
    try:
        return work(*args, **kwargs)
    except DseError as error:
        return error


def _analyze(code: KernelCode, body: Sequence[Instruction]) -> KernelAnalysis:
    reading = KernelAnalysis(code.function, body)
    if reading.data_inputs:  # by lines
        return KernelAnalysis(code.function, body, branch_lines(code, body))
    return reading


def _evaluate_size(size: int | str, variant: Mapping[str, object]) -> int:
    """A size of a block or grid: a number, or a formula in macros."""
    if not isinstance(size, str):
        return size
    value = parse_value(size, Quantity(name="size"), {n: Quantity(name=n) for n in variant})
    if isinstance(value, Node):
        numbers = {}
        for name, number in variant.items():
            with suppress(ValueError):
                numbers[name] = float(str(number))
        value = interpret_arrays([value], numbers)[0]
    return int(value)


#: What is counted, and the quantity of a profile that it should equal.
PROFILE_QUANTITIES: Mapping[str, str] = {
    **{each: each for each in ("threads_per_block", "blocks", "registers_per_thread")},
    "shared_mem_per_block": "shared_mem_per_block",
    "instructions": "total_insts",
    **{each: each for each in ("global_loads", "global_stores", "transactions_per_request")},
    "floating_insts": "fp_insts",
    **{each: each for each in ("shared_insts", "local_insts", "sync_insts")},
    "flops": "work_flops",
}
_BLOCK, _GRID = "DSE_BLOCK", "DSE_GRID"  # sizes that a profile tells, as macros of no source


def compare_profile(
    file: Path,
    profile: Path,
    define: Mapping[str, object],
    row: int | None,
    settings: Mapping[str, Any],
) -> xr.Dataset:
    """Return the counts of a kernel at each launch of a profile, beside those measured.

    Macros that the profile has are those of each row, and so are sizes that ``told`` lacks. Along
    ``configuration`` each count that the profile has, too, is ``NAME`` (counted) and
    ``NAME_measured``; ``status`` is why a launch is not counted.

    Raises
    ------
    DseError
        The profile has nothing to compare, another kernel, or several and none named.
    """
    import xarray as xr

    from dse.importers import open_measurements

    ds = open_measurements(profile, shape="rows")
    rows = _measured_rows(ds, settings["entry"], row, str(profile))
    names = {mine: theirs for mine, theirs in PROFILE_QUANTITIES.items() if theirs in ds.data_vars}
    if not set(names) - {"threads_per_block", "blocks"}:
        raise DseError(
            f"{profile} has no counts that could stand beside those of {file}: expected one of "
            f"{', '.join(PROFILE_QUANTITIES.values())}"
        )
    macros = [str(each) for each in ds.attrs["axes"].split() if each != "configuration"]
    variants = []
    for at in rows:
        variant = {**{name: ds[name].values[at].item() for name in macros}, **define}
        for name, size in ((_BLOCK, "threads_per_block"), (_GRID, "blocks")):
            if size in ds.data_vars and np.isfinite(ds[size].values[at]):
                variant[name] = int(ds[size].values[at])
        variants.append(variant)
    sizes = {}
    for name, own in (("block", _BLOCK), ("grid", _GRID)):
        if not settings[name] and not all(own in each for each in variants):
            raise DseError(f"{profile} does not tell the {name} of each launch: give --{name}")
        sizes[name] = settings[name] or (own,)
    result = count_variants(file, variants, {**settings, **sizes})
    data: dict[str, Any] = {
        "status": ("configuration", np.array([each.get("status", "") for each in result], object))
    }
    for mine, theirs in names.items():
        measured = ds[theirs].values[rows].astype(float)
        if theirs == "work_flops":
            measured = measured / (ds.threads_per_block.values * ds.blocks.values)[rows]
        counted = np.array([each.get(mine, np.nan) for each in result], dtype=float)
        about_it = {"long_name": str(ds[theirs].attrs.get("source", theirs))}
        data |= {mine: ("configuration", counted), f"{mine}_measured": (
            "configuration", measured, about_it)}  # fmt: skip
    kept = {name: ("configuration", ds[name].values[rows]) for name in macros}
    return xr.Dataset(
        data,
        coords={"configuration": np.asarray(rows), **kept},
        attrs={"kernel": str(file), "profile": str(profile), "arch": settings["arch"]},
    )


def _measured_rows(ds: xr.Dataset, entry: str, row: int | None, profile: str) -> list[int]:
    """The rows that were measured, of one kernel."""
    many = ds.sizes["configuration"]
    if row is not None and not 0 <= row < many:
        raise DseError(f"row {row} of {many:,}: expected 0 to {many - 1}")
    rows = [at for at in ([row] if row is not None else range(many)) if ds.feasible.values[at]]
    if not rows:
        raise DseError(f"{profile} has no launch that was measured")
    if "kernel" in ds:
        names = {at: _short_name(str(ds["kernel"].values[at])) for at in rows}
        wanted, several = _short_name(entry), sorted(set(names.values()))
        if entry and wanted not in several:
            raise DseError(
                f"{profile} has no launch of {wanted!r}, but of {', '.join(several)}"
                f"{nearest_hint(wanted, several)}"
            )
        if not entry and len(several) > 1:
            raise DseError(
                f"{profile} has launches of {', '.join(several)}: name one by entry (--entry)"
            )
        rows = [at for at in rows if not entry or names[at] == wanted]
    return rows


def _short_name(name: str) -> str:
    """The name of a kernel without type, namespace, arguments of its template and arguments."""
    return re.split(r"[<(]", name)[0].split()[-1].rpartition("::")[2] if name.strip() else ""


def agreement_rows(ds: xr.Dataset) -> Iterator[dict[str, Any]]:
    """How near each count comes to the measured one: how many launches, the ratios' median."""
    for name in PROFILE_QUANTITIES:
        if f"{name}_measured" not in ds:
            continue
        ours, theirs = ds[name].values, ds[f"{name}_measured"].values
        both = np.isfinite(ours) & np.isfinite(theirs)
        if not both.any():
            continue
        ours, theirs = ours[both], theirs[both]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(ours == theirs, 1.0, ours / theirs)
        off = np.abs(ratio - 1)
        yield {
            "what": name,
            "counted": float(np.median(ours)),
            "measured": float(np.median(theirs)),
            "ratio": float(np.median(ratio)),
            "furthest": float(ratio[np.argmax(off)]),
            "equal": int((off <= 1e-9).sum()),
            "within 5 %": int((off <= 0.05).sum()),
            "of": len(off),
        }
