"""Files of Kernel Tuner: T4, which other tuners write too, and its own cache files.

T4 (schema 1.0.0 of the results): ``results`` is a list of configurations, each with ``times``,
``measurements`` and ``invalidity``. A cache (schemas 1.0 and 1.1, and those without a version):
``cache`` maps the values of ``tune_params_keys`` to what was measured; where a number should stand,
a failed configuration has the name of its error. A tuner that was interrupted leaves a cache
without its end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.delimited import normalize_time_unit, normalize_unit
from dse.importers.formats import MeasuredFile
from dse.importers.records import FAILED, Records, rows_to_columns
from symbolic.errors import DseError

# --- Results of the tuner KTT in JSON: configurations, their launches, sizes and counters


_COMPILED = ("RegistersCount", "LocalMemorySize", "PrivateMemorySize", "ConstantMemorySize")


def from_ktt(file: MeasuredFile) -> Records:
    """Return the records of a file of KTT, with ``Metadata`` and ``Results``.

    A row is a launch of a kernel function, or a configuration that has none since it failed. A
    configuration may be run several times; counters are of those runs that were profiled.
    """
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
        told = str(result["Status"])
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
            status.append("" if told == "Ok" else told)
    return Records(
        kind="ktt",
        axes=tuple(axes),
        columns=rows_to_columns(rows),
        units={"Duration": unit, **{n: "B" for n in _COMPILED if n.endswith("MemorySize")}},
        status=status,
    )


def _product(size: Mapping[str, Any]) -> int:
    return int(size["X"]) * int(size["Y"]) * int(size["Z"])


#: What Kernel Tuner writes in place of a number, in the words of T4.
_ERRORS = {
    "InvalidConfig": "constraints",
    "CompilationFailedConfig": "compile",
    "RuntimeFailedConfig": "runtime",
}
#: Times that tell of a configuration, by their names in T4; others tell of the tuner.
_TIMES = {"compilation": "compile_time", "compilation_time": "compile_time"}
#: What a cache holds of the tuner rather than of a configuration.
_TUNER_KEYS = {
    "benchmark_time",
    "framework_time",
    "strategy_time",
    "timestamp",
    "verification_time",
}
#: Units in which Kernel Tuner writes what it measures; all times are in ms.
_UNITS = {
    "nvml_power": "W",
    "ps_power": "W",
    "pwr_usage": "mW",
    "nvml_energy": "J",
    "ps_energy": "J",
    "core_freq": "MHz",
    "mem_freq": "MHz",
    "nvml_gr_clock": "MHz",
    "nvml_mem_clock": "MHz",
    "nvml_pwr_limit": "W",
    "temperature": "degC",
    "gr_voltage": "mV",
}
#: Relative rounding of a time that stands in a file twice.
_ROUNDING = 1e-6
#: Time that early versions gave to a configuration that failed.
_FAILURE_TIME = 1e20


def _run_times(times: Any) -> tuple[list[float], dict[str, float]]:
    """Return the times of the runs of a configuration; how many, and their standard deviation."""
    runs = [run for run in times or () if isinstance(run, (int, float))]
    told: dict[str, float] = {"runs": len(runs)} if runs else {}
    if len(runs) > 1:
        told["time_std"] = float(np.std(runs, ddof=1))
    return runs, told


def _value(value: Any) -> Any:
    """A measured value; None where it stands for a failure."""
    if isinstance(value, (int, float)) and (value >= _FAILURE_TIME or not math.isfinite(value)):
        return None
    return value


def from_t4(file: MeasuredFile) -> Records:
    """Return the records of a T4 file."""
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
            told = str(one.get("unit") or "")
            units.setdefault(name, normalize_unit(told) or told)
        times = dict(result.get("times") or {})
        runs = times.get("runtimes") or []
        if "time" not in row and runs:
            row["time"] = float(np.mean(runs))
        runs, counted = _run_times(runs)
        row |= counted
        known = {key: times.get(key) for key in _TIMES}
        row |= {_TIMES[k]: v for k, v in known.items() if isinstance(v, (int, float))}
        told = str(result.get("invalidity") or "correct")
        if told == "correct" and texts:
            told = _ERRORS.get(texts[0], texts[0])
        configurations.append(dict(result["configuration"]))
        rows.append(row)
        repeats.append(runs)
        status.append("" if told == "correct" else told)
    axes, columns = rows_to_columns(configurations), rows_to_columns(rows)
    columns = {name: column for name, column in columns.items() if name not in left_out}
    names = dict.fromkeys(str(o) for r in tree["results"] for o in r.get("objectives") or ())
    assumed: list[str] = []
    if not unit:
        alike = next((n for n in names if _is_time_of_runs(columns.get(n, ()), repeats)), "")
        unit = normalize_time_unit(units.get(alike, ""))
        why = f"as {alike}" if unit else "which Kernel Tuner writes"
        unit = unit or "ms"
        assumed.append(f"the file tells no unit of its times of runs: read in {unit}, {why}")
    # a measured column named as an axis is another thing
    apart = {n if n not in axes else f"{n} measured": c for n, c in columns.items()}
    return Records(
        kind="T4",
        axes=tuple(axes),
        columns={**axes, **apart},
        units=_column_units([*axes, *columns], units, unit),
        status=status,
        notes=tuple(f"left out, as it holds lists: {name}" for name in left_out),
        assumptions=tuple(assumed),
        attributes={"objectives": " ".join(names)} if names else {},
        repeats={"time": repeats} if any(repeats) else {},
    )


def _is_time_of_runs(values: Sequence[Any], repeats: Sequence[Sequence[float]]) -> bool:
    """True if each value lies among the times of its runs, so that both are in one unit."""
    pairs = [(v, runs) for v, runs in zip(values, repeats, strict=False) if v is not None and runs]
    return bool(pairs) and all(
        min(runs) * (1 - _ROUNDING) <= value <= max(runs) * (1 + _ROUNDING) for value, runs in pairs
    )


def _column_units(names: Sequence[str], file_units: Mapping[str, str], time: str) -> dict[str, str]:
    """Return the units told, ``time`` of times, else the tuner's own."""
    times = ("time", "time_std", *_TIMES.values())
    return {n: file_units.get(n) or (time if n in times else _UNITS.get(n, "")) for n in names}


def from_cache(file: MeasuredFile) -> Records:
    """Return the records of a cache of Kernel Tuner."""
    tree = file.tree
    entries = list(tree["cache"].values())
    axes = [str(name) for name in tree.get("tune_params_keys") or tree["tune_params"]]
    objective = str(tree.get("objective") or "time")
    rows, status, repeats = [], [], []
    left_out: dict[str, None] = {}
    for entry in entries:
        row, reason = {name: entry[name] for name in axes}, ""
        runs, counted = _run_times(entry.get("times"))
        for name, value in entry.items():
            if name in row or name in _TUNER_KEYS:
                continue
            if name == "times":
                row |= counted
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
    told = {
        key.replace("_name", ""): json.dumps(tree[key]) if key == "problem_size" else str(tree[key])
        for key in ("device_name", "kernel_name", "problem_size")
        if tree.get(key)
    }
    listed = {
        name: values
        for name, values in dict(tree.get("tune_params") or {}).items()
        if name in axes and isinstance(values, list)
    }
    return Records(
        kind="cache",
        axes=tuple(axes) if entries else (),
        columns=columns,
        units=_column_units(list(columns), {}, "ms"),
        status=status,
        order=listed,
        notes=tuple(f"left out, as it holds lists: {name}" for name in left_out),
        attributes={"objectives": objective, **told},
        repeats={"time": repeats} if any(repeats) else {},
    )
