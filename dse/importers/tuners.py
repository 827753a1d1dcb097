"""Read results of tuners: T4 (written by several tools), caches of Kernel Tuner, and KTT's JSON.

In T4 (schema 1.0.0 of the results), ``results`` is a list of configurations, each with ``times``,
``measurements`` and ``invalidity``. In a cache (schemas 1.0 and 1.1, or no version), ``cache`` maps
the values of ``tune_params_keys`` to measurements; if a configuration failed, the name of the error
replaces a number. A tuner that is interrupted leaves an incomplete cache.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.delimited import normalize_time_unit, normalize_unit
from dse.importers.formats import MeasuredFile
from dse.importers.records import FAILED, Records, rows_to_columns
from symbolic.errors import DseError

_COMPILED = ("RegistersCount", "LocalMemorySize", "PrivateMemorySize", "ConstantMemorySize")


def from_ktt(file: MeasuredFile) -> Records:
    """Read a KTT file; each launch, and each failed configuration, is a row."""
    tree = file.tree
    about = dict(tree.get("Metadata") or {})
    unit = normalize_time_unit(str(about.get("TimeUnit")))
    if not unit:
        raise DseError(
            f"the file has TimeUnit {about.get('TimeUnit')!r}, expected one of Nanoseconds, "
            "Microseconds, Milliseconds, Seconds"
        )
    extent = "blocks" if about.get("GlobalSizeType") == "CUDA" else "threads"
    axes: dict[str, None] = {}
    rows: list[dict[str, Any]] = []
    status: list[str] = []
    for result in tree["Results"]:
        configuration = {str(p["Name"]): p["Value"] for p in result["Configuration"]}
        axes |= dict.fromkeys(configuration)
        outcome = str(result["Status"])
        launches = result["ComputationResults"] or [{}]
        for launch in launches:
            row = {**configuration, "Device": str(about.get("Device", ""))}
            row["KernelFunction"] = launch.get("KernelFunction") or result.get("KernelName")
            if launch:
                row["Duration"] = launch["Duration"]
                row[f"GlobalSize in {extent}"] = _product(launch["GlobalSize"])
                row["LocalSize"] = _product(launch["LocalSize"])
            compiled = dict(launch.get("CompilationData") or {})
            row |= {name: compiled[name] for name in _COMPILED if name in compiled}
            counters = dict(launch.get("ProfilingData") or {}).get("Counters") or ()
            row |= {str(c["Name"]): c["Value"] for c in counters}
            rows.append(row)
            status.append("" if outcome == "Ok" else outcome)
    return Records(
        kind="ktt",
        axes=tuple(axes),
        columns=rows_to_columns(rows),
        units={"Duration": unit, **{n: "B" for n in _COMPILED if n.endswith("MemorySize")}},
        status=status,
    )


def _product(size: Mapping[str, Any]) -> int:
    return int(size["X"]) * int(size["Y"]) * int(size["Z"])


#: Errors that Kernel Tuner writes in place of a number, and the corresponding words of T4.
_ERRORS = {
    "InvalidConfig": "constraints",
    "CompilationFailedConfig": "compile",
    "RuntimeFailedConfig": "runtime",
}
#: Columns of the times in T4 that are read in addition to run times. Other times describe the
#: tuner.
_TIMES = {"compilation": "compile_time", "compilation_time": "compile_time"}
#: Keys of a cache that describe the tuner and not the configuration.
_TUNER_KEYS = {"benchmark_time", "framework_time", "strategy_time", "timestamp"}
_TUNER_KEYS |= {"verification_time"}
#: Units of Kernel Tuner's measurements, except times, which are in ms.
_UNITS = {
    **dict.fromkeys(("nvml_power", "ps_power", "nvml_pwr_limit"), "W"),
    **dict.fromkeys(("nvml_energy", "ps_energy"), "J"),
    **dict.fromkeys(("core_freq", "mem_freq", "nvml_gr_clock", "nvml_mem_clock"), "MHz"),
    "pwr_usage": "mW",
    "temperature": "degC",
    "gr_voltage": "mV",
}
_ROUNDING = 1e-6  # relative tolerance for a mean that was rounded in the file
_FAILURE_TIME = 1e20  # early versions of Kernel Tuner write this time for a failed configuration


def _run_times(times: Any) -> tuple[list[float], dict[str, float]]:
    runs = [run for run in times or () if isinstance(run, (int, float))]
    statistics: dict[str, float] = {"runs": len(runs)} if runs else {}
    if len(runs) > 1:
        statistics["time_std"] = float(np.std(runs, ddof=1))
    return runs, statistics


def _value(value: Any) -> Any:
    if isinstance(value, (int, float)) and (value >= _FAILURE_TIME or not math.isfinite(value)):
        return None
    return value


def from_t4(file: MeasuredFile) -> Records:
    """Read a T4 file; each result is a row."""
    tree = file.tree
    configurations, rows, status, repeats = [], [], [], []
    units: dict[str, str] = {}
    left_out: dict[str, None] = {}
    unit = normalize_time_unit(str(dict(tree.get("metadata") or {}).get("timeunit", "")))
    for result in tree["results"]:
        row: dict[str, Any] = {}
        texts = []
        for one in result.get("measurements") or ():
            name, value = str(one["name"]), _value(one.get("value"))
            if isinstance(value, (list, dict)):
                left_out[name] = None
                continue
            if isinstance(value, str):
                texts.append(value)
            row[name] = None if isinstance(value, str) else value
            text = str(one.get("unit") or "")
            units.setdefault(name, normalize_unit(text) or text)
        times = dict(result.get("times") or {})
        runs = times.get("runtimes") or []
        if "time" not in row and runs:
            row["time"] = float(np.mean(runs))
        runs, statistics = _run_times(runs)
        row |= statistics
        known = {key: times.get(key) for key in _TIMES}
        row |= {_TIMES[k]: v for k, v in known.items() if isinstance(v, (int, float))}
        reason = str(result.get("invalidity") or "correct")
        if reason == "correct" and texts:
            reason = _ERRORS.get(texts[0], texts[0])
        configurations.append(dict(result["configuration"]))
        rows.append(row)
        repeats.append(runs)
        status.append("" if reason == "correct" else reason)
    axes, columns = rows_to_columns(configurations), rows_to_columns(rows)
    columns = {name: column for name, column in columns.items() if name not in left_out}
    names = dict.fromkeys(str(o) for r in tree["results"] for o in r.get("objectives") or ())
    assumed: list[str] = []
    if not unit:
        same = next((n for n in names if _is_time_of_runs(columns.get(n, ()), repeats)), "")
        unit = normalize_time_unit(units.get(same, ""))
        why = f"as {same}" if unit else "as Kernel Tuner writes"
        unit = unit or "ms"
        assumed.append(f"the file has no unit for its run times: assumed in {unit}, {why}")
    # a measured column may have the same name as an axis
    measured = {n if n not in axes else f"{n} measured": c for n, c in columns.items()}
    return Records(
        kind="T4",
        axes=tuple(axes),
        columns={**axes, **measured},
        units=_column_units([*axes, *columns], units, unit),
        status=status,
        notes=tuple(f"left out, as it holds lists: {name}" for name in left_out),
        assumptions=tuple(assumed),
        attributes={"objectives": " ".join(names)} if names else {},
        repeats={"time": repeats} if any(repeats) else {},
    )


def _is_time_of_runs(values: Sequence[Any], repeats: Sequence[Sequence[float]]) -> bool:
    pairs = [(v, runs) for v, runs in zip(values, repeats, strict=False) if v is not None and runs]
    return bool(pairs) and all(
        min(runs) * (1 - _ROUNDING) <= value <= max(runs) * (1 + _ROUNDING) for value, runs in pairs
    )


def _column_units(names: Sequence[str], file_units: Mapping[str, str], time: str) -> dict[str, str]:
    """Return the unit of each column; defaults: ``time`` for times, ``_UNITS`` for others."""
    times = ("time", "time_std", *_TIMES.values())
    return {n: file_units.get(n) or (time if n in times else _UNITS.get(n, "")) for n in names}


def from_cache(file: MeasuredFile) -> Records:
    """Read a cache of Kernel Tuner; each entry is a row."""
    tree = file.tree
    entries = list(tree["cache"].values())
    axes = [str(name) for name in tree.get("tune_params_keys") or tree["tune_params"]]
    objective = str(tree.get("objective") or "time")
    rows, status, repeats = [], [], []
    left_out: dict[str, None] = {}
    for entry in entries:
        row, reason = {name: entry[name] for name in axes}, ""
        runs, statistics = _run_times(entry.get("times"))
        for name, value in entry.items():
            if name in row or name in _TUNER_KEYS:
                continue
            if name == "times":
                row |= statistics
            elif isinstance(value, str):
                reason = reason or _ERRORS.get(value, value)
                row[name] = None
            elif isinstance(value, (list, dict)):
                left_out[name] = None
            else:
                row[name] = _value(value)
        if not reason and row.get(objective) is None:
            reason = FAILED
        rows.append(row)
        repeats.append(runs)
        status.append(reason)
    columns = rows_to_columns(rows)
    about = {
        key.replace("_name", ""): json.dumps(tree[key]) if key == "problem_size" else str(tree[key])
        for key in ("device_name", "kernel_name", "problem_size")
        if tree.get(key)
    }
    listed = dict(tree.get("tune_params") or {})
    return Records(
        kind="cache",
        axes=tuple(axes) if entries else (),
        columns=columns,
        units=_column_units(list(columns), {}, "ms"),
        status=status,
        order={n: v for n, v in listed.items() if n in axes and isinstance(v, list)},
        notes=tuple(f"left out, as it holds lists: {name}" for name in left_out),
        attributes={"objectives": objective, **about},
        repeats={"time": repeats} if any(repeats) else {},
    )
