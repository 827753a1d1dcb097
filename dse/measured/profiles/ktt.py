"""Results of the tuner KTT in JSON: configurations, their launches, sizes and counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.delimited import time_unit
from dse.measured.records import Records, gathered
from symbolic.errors import DseError

__all__ = ["from_ktt"]

_COMPILED = ("RegistersCount", "LocalMemorySize", "PrivateMemorySize", "ConstantMemorySize")


def from_ktt(tree: Mapping[str, Any]) -> Records:
    """The records of a tree with ``Metadata`` and ``Results``.

    A row is a launch of a kernel function, or a configuration that has none since it failed. A
    configuration may be run several times; counters are of those runs that were profiled.

    Raises
    ------
    DseError
        A unit of time that KTT does not write.
    """
    about = dict(tree.get("Metadata") or {})
    unit = time_unit(str(about.get("TimeUnit")))
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
        columns=gathered(rows),
        units={"Duration": unit, **{n: "B" for n in _COMPILED if n.endswith("MemorySize")}},
        status=status,
    )


def _product(size: Mapping[str, Any]) -> int:
    return int(size["X"]) * int(size["Y"]) * int(size["Z"])
