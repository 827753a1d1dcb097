"""Count a kernel at many launches: over lists of macros, in parallel, or at the rows of a profile.

The effect of a macro on the machine code (above all on registers) has no formula, so each variant
is compiled and counted. Counts are cached by content.
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

from dse.cuda.instruction_counts import KernelCounts
from dse.cuda.instructions import Instruction
from dse.cuda.kernel_file import (
    KernelCode,
    branch_lines,
    count_launch,
    given_sizes,
    load_code,
    read_bodies,
)
from dse.cuda.launch_shape import AXES, follows_threads, reads_size
from dse.cuda.loop_counts import KernelAnalysis
from dse.cuda.source import demangle
from stochastic import sizes
from stochastic.compile_cache.cache import load, save
from symbolic.errors import DseError, nearest_hint
from symbolic.quantities import TABLE

if TYPE_CHECKING:
    import xarray as xr

_T = TypeVar("_T")
Variant = Mapping[str, object]
#: Name of the axis along which shapes of blocks vary; no macro may have this name.
BLOCK_AXIS = "block"
_TEXTS = ("assumed",)  # results that are neither numbers nor labels
_COUNTS_VERSION = "16"  # increased if counts or messages change, to discard older cache entries
_MAX_BATCH = sizes.VARIANTS_TAKEN  # upper limit on variants that are disassembled together
#: Additional columns of a table, with their keys in :attr:`KernelCounts.numbers`.
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
    """Return the counts of a kernel as a Dataset whose axes are macros with several values.

    Besides the quantities, the Dataset has averages per warp: ``instructions``, requests, sectors
    per load request, ``flops`` and ``floating_insts``. A variant that cannot be counted has NaN,
    and the reason in ``status``. If no variant can be counted, the first variant's error is raised.
    """
    import xarray as xr

    choices = itertools.product(*axes.values())
    variants = [dict(zip(axes, values, strict=True)) for values in choices]
    if BLOCK_AXIS in axes:
        shapes = [(*shape, 1, 1)[:3] for shape in axes[BLOCK_AXIS] if isinstance(shape, tuple)]
        moving = [len(set(sizes)) > 1 for sizes in zip(*shapes, strict=True)]
        settings = {**settings, "moving": "".join(itertools.compress(AXES, moving))}
        axes = {**axes, BLOCK_AXIS: ["x".join(map(str, shape)) for shape in shapes]}
    if not variants:
        raise DseError("define has a macro without values: give it one or more")
    counts = count_variants(file, variants, settings)
    counted = [each for each in counts if "status" not in each]
    if not counted:
        raise DseError(f"no variant of {file} can be counted; the first: {counts[0]['status']}")
    shape = [len(values) for values in axes.values()]
    data = {}
    for name in dict.fromkeys(name for each in counted for name in each if name not in _TEXTS):
        if any(isinstance(each.get(name), str) for each in counted):  # a label
            column = np.array([each.get(name, "") for each in counts], dtype=object)
        else:
            column = np.array([each.get(name, np.nan) for each in counts], dtype=float)
        row = TABLE.get(name)
        about = {"long_name": row.meaning, "units": row.unit} if row is not None else {}
        data[name] = (list(axes), column.reshape(shape), about)
    status = np.array([each.get("status", "") for each in counts], dtype=object)
    data["status"] = (list(axes), status.reshape(shape), {"long_name": "why nothing was counted"})
    coords = {name: _as_numbers(values) for name, values in axes.items()}
    return xr.Dataset(data, coords=coords, attrs={"kernel": str(file), "arch": settings["arch"]})


def _as_numbers(values: Sequence[object]) -> list[Any]:
    for kind in (int, float):
        with suppress(ValueError, TypeError):
            return [kind(str(value)) for value in values]
    return list(values)


def count_variants(
    file: Path,
    variants: Sequence[Variant],
    settings: Mapping[str, Any],
    *,
    processes: int | None = None,
    use_cache: bool = True,
) -> list[dict[str, Any]]:
    """Return the quantities of each variant, or its ``status`` if it cannot be counted.

    The entry ``assumed`` maps quantities to the assumptions about them.
    """
    source = file.read_bytes()
    about = (sorted(settings.items(), key=str), _versions())
    contents = [source + repr((sorted(each.items()), about)).encode() for each in variants]
    keys = [hashlib.sha256(each).hexdigest() for each in contents]
    counts: dict[str, dict[str, Any]] = {}
    if use_cache:
        for key in dict.fromkeys(keys):
            if (cached := load(key)) is not None:
                counts[key] = json.loads(cached)
    wanted = {key: each for key, each in zip(keys, variants, strict=True) if key not in counts}
    words = _source_words(source.decode(errors="replace"))
    items = sorted(wanted.items(), key=lambda item: str(_relevant_macros(item[1], words)))
    compiled = {str(_relevant_macros(each, words)) for each in wanted.values()}
    workers = max(min(processes or len(os.sched_getaffinity(0)), len(compiled)), 1)
    size = max(min(_MAX_BATCH, -(-len(items) // workers)), 1)
    batches = [items[at : at + size] for at in range(0, len(items), size)]
    workers = min(workers, len(batches))
    work = [(file, [each for _, each in batch], dict(settings)) for batch in batches]
    if workers > 1:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            answers = list(pool.map(_count_batch, work))
    else:
        answers = [_count_batch(each) for each in work]
    for batch, counted in zip(batches, answers, strict=True):
        for (key, _), each in zip(batch, counted, strict=True):
            counts[key] = each
            if use_cache:
                save(key, json.dumps(each).encode())
    return [counts[key] for key in keys]


def _source_words(source: str) -> set[str] | None:
    """Return the words of a source that may be macros; None if the list may be incomplete."""
    if "__global__" not in source:
        return set()  # machine code
    if "##" in source or re.search(r'^\s*#\s*include\s*"', source, re.MULTILINE):
        return None
    return set(re.findall(r"\w+", source))


def _relevant_macros(variant: Mapping[str, object], words: set[str] | None) -> dict[str, object]:
    return {
        key: each
        for key, each in variant.items()
        if key not in (BLOCK_AXIS, _BLOCK, _GRID) and (words is None or key in words)
    }


def _versions() -> tuple[str, ...]:
    result = [_COUNTS_VERSION, *_EXTRA_COLUMNS]
    for package in ("simt-dse", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"):
        try:
            result.append(metadata.version(package))
        except metadata.PackageNotFoundError:
            result.append("")
    return tuple(result)


def _count_batch(work: tuple[Path, list[Variant], dict[str, Any]]) -> list[dict[str, Any]]:
    was_enabled = gc.isenabled()
    gc.disable()
    file, variants, settings = work
    words = _source_words(file.read_bytes().decode(errors="replace"))
    options = {name: settings[name] for name in ("arch", "options", "entry")}
    try:
        defines = [_relevant_macros(each, words) for each in variants]
        keys = [str(sorted(define.items())) for define in defines]
        codes = {
            key: _result_or_error(load_code, file, define=define, **options)
            for key, define in dict(zip(keys, defines, strict=True)).items()
        }
        distinct = {code.function: code for code in codes.values() if isinstance(code, KernelCode)}
        given = frozenset(settings["times"])
        bodies = zip(distinct.values(), read_bodies(list(distinct.values()), given), strict=True)
        analyses = {
            code.function: _result_or_error(_analyze, code, body, given) for code, body in bodies
        }
        cache: dict[Any, dict[Any, Any]] = {}

        def count_variant(code: KernelCode | DseError, variant: Variant) -> dict[str, Any]:
            if isinstance(code, DseError):
                raise code
            if isinstance(analysis := analyses[code.function], DseError):
                raise analysis
            block: Any = variant.get(BLOCK_AXIS, settings["block"])
            grid = settings["grid"]
            given = settings["times"].items()
            times = {n: v for n, v in given if analysis.input_name(n) in analysis.data_inputs}
            about = {"macros": variant, "cache": cache, **given_sizes(settings)}
            values = settings["set"], times
            counts = count_launch(code, analysis, block, grid, *values, **about)
            if BLOCK_AXIS in variant:
                _check_work_stays(code, analysis, counts, grid, settings["moving"])
            numbers = counts.numbers
            extra = {name: numbers[key] for name, key in _EXTRA_COLUMNS.items() if key in numbers}
            return {**counts, **counts.labels, **extra, "assumed": counts.assumed}

        answers = [
            _result_or_error(count_variant, codes[key], each)
            for key, each in zip(keys, variants, strict=True)
        ]
        return [{"status": str(each)} if isinstance(each, DseError) else each for each in answers]
    finally:
        if was_enabled:
            gc.enable()


def _result_or_error(work: Callable[..., _T], *args: Any, **kwargs: Any) -> _T | DseError:
    try:
        return work(*args, **kwargs)
    except DseError as error:
        return error


def _analyze(
    code: KernelCode, body: Sequence[Instruction], given: frozenset[str]
) -> KernelAnalysis:
    analysis = KernelAnalysis(code.function, body)
    if analysis.data_inputs or analysis.assumptions or given:  # their names need lines (slow)
        lines = branch_lines(code, body)
        return KernelAnalysis(code.function, body, lines, code.line_kinds, given)
    return analysis


def _check_work_stays(
    code: KernelCode,
    analysis: KernelAnalysis,
    counts: KernelCounts,
    grid: Sequence[int | str],
    moving: str,
) -> None:
    """Raise an error if other block sizes along the axes in ``moving`` would change the work."""
    for axis, size in zip(AXES, (*grid, "", "", ""), strict=False):
        if axis not in moving:
            continue
        name = f"grid_{axis}" if f"grid_{axis}" in counts else "blocks"
        formula = counts.formulas.get(name, "")
        is_stride = reads_size(analysis, "nctaid", axis)  # blocks of any size take all elements
        if isinstance(size, int) and size > 1 and formula.startswith("ceil(") and not is_stride:
            raise DseError(
                f"grid = {','.join(map(str, grid))} is for one block, and threads take elements "
                f"along {axis}: give the grid as a formula of the block "
                f"(--grid 'ceil(THREADS / block_{axis})'), or none if the kernel checks its bounds"
            )
        fixed = reads_size(analysis, "tid", axis) and not reads_size(analysis, "ntid", axis)
        if fixed and not follows_threads(analysis, axis):
            raise DseError(
                f"{demangle(code.function.name)} has a block of its own: it reads threadIdx.{axis} "
                f"and not blockDim.{axis}. Vary the macros that set it, and give the block as a "
                "formula of these (--define TILE=32,64 --block TILE/4,TILE/4)"
            )


#: Counts, each with the quantity of a profile that the count should equal.
PROFILE_QUANTITIES: Mapping[str, str] = {
    **{each: each for each in ("threads_per_block", "blocks", "registers_per_thread")},
    "shared_mem_per_block": "shared_mem_per_block",
    "instructions": "total_insts",
    **{each: each for each in ("global_loads", "global_stores", "transactions_per_request")},
    "floating_insts": "fp_insts",
    **{each: each for each in ("shared_insts", "local_insts", "sync_insts")},
    "flops": "work_flops",
}
_BLOCK, _GRID = "DSE_BLOCK", "DSE_GRID"  # macros that stand for a profile's block and grid


def compare_profile(
    file: Path,
    profile: Path,
    define: Mapping[str, object],
    row: int | None,
    settings: Mapping[str, Any],
) -> xr.Dataset:
    """Return the counts of a kernel at each launch of a profile, with the measured values.

    Each row of the profile gives the values of macros, and of the sizes that are not in
    ``settings``. The Dataset has the counts ``NAME`` and the measured values ``NAME_measured``,
    both along ``configuration``; ``status`` is the reason why a launch is not counted.
    """
    import xarray as xr

    from dse.importers import open_measurements

    ds = open_measurements(profile, shape="rows")
    rows = _measured_rows(ds, settings["entry"], row, str(profile))
    names = {name: other for name, other in PROFILE_QUANTITIES.items() if other in ds.data_vars}
    if not set(names) - {"threads_per_block", "blocks"}:
        raise DseError(
            f"{profile} has no counts to compare with those of {file}: expected one of "
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
    for name, macro in (("block", _BLOCK), ("grid", _GRID)):
        if not settings[name] and not all(macro in each for each in variants):
            raise DseError(f"{profile} does not have the {name} of each launch: give --{name}")
        sizes[name] = settings[name] or (macro,)
    counts = count_variants(file, variants, {**settings, **sizes})
    status = np.array([each.get("status", "") for each in counts], object)
    data: dict[str, Any] = {"status": ("configuration", status)}
    for name, other in names.items():
        measured = ds[other].values[rows].astype(float)
        if other == "work_flops":
            measured = measured / (ds.threads_per_block.values * ds.blocks.values)[rows]
        counted = np.array([each.get(name, np.nan) for each in counts], dtype=float)
        source = {"long_name": str(ds[other].attrs.get("source", other))}
        data[name] = ("configuration", counted)
        data[f"{name}_measured"] = ("configuration", measured, source)
    coords = {name: ("configuration", ds[name].values[rows]) for name in macros}
    return xr.Dataset(
        data,
        coords={"configuration": np.asarray(rows), **coords},
        attrs={"kernel": str(file), "profile": str(profile), "arch": settings["arch"]},
    )


def _measured_rows(ds: xr.Dataset, entry: str, row: int | None, profile: str) -> list[int]:
    many = ds.sizes["configuration"]
    if row is not None and not 0 <= row < many:
        raise DseError(f"row {row} of {many:,}: expected 0 to {many - 1}")
    rows = [at for at in ([row] if row is not None else range(many)) if ds.feasible.values[at]]
    if not rows:
        raise DseError(f"{profile} has no measured launch")
    if "kernel" in ds:
        names = {at: _short_name(str(ds["kernel"].values[at])) for at in rows}
        wanted, several = _short_name(entry), sorted(set(names.values()))
        if entry and wanted not in several:
            raise DseError(
                f"{profile} has no launch of {wanted!r}, only of {', '.join(several)}"
                f"{nearest_hint(wanted, several)}"
            )
        if not entry and len(several) > 1:
            names_ = ", ".join(several)
            raise DseError(f"{profile} has launches of {names_}: name one by entry (--entry)")
        rows = [at for at in rows if not entry or names[at] == wanted]
    return rows


def _short_name(name: str) -> str:
    """Return the name of a kernel without type, namespace, template arguments and arguments."""
    return re.split(r"[<(]", name)[0].split()[-1].rpartition("::")[2] if name.strip() else ""


def agreement_rows(ds: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield, for each count, a row with medians, ratios and the number of agreeing launches."""
    for name in PROFILE_QUANTITIES:
        if f"{name}_measured" not in ds:
            continue
        counted, measured = ds[name].values, ds[f"{name}_measured"].values
        both = np.isfinite(counted) & np.isfinite(measured)
        if not both.any():
            continue
        counted, measured = counted[both], measured[both]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(counted == measured, 1.0, counted / measured)
        off = np.abs(ratio - 1)
        yield {
            "what": name,
            "counted": float(np.median(counted)),
            "measured": float(np.median(measured)),
            "ratio": float(np.median(ratio)),
            "furthest": float(ratio[np.argmax(off)]),
            "equal": int((off <= 1e-9).sum()),
            "within 5 %": int((off <= 0.05).sum()),
            "of": len(off),
        }
