"""How profilers lay out a CSV of launches: columns by which each is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["HINTS", "Layout", "layout_of"]

_OF_RUN = "Time(%)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A kind of header: columns it has; those of a metric's name, unit and value, if it is long."""

    kind: str
    has: frozenset[str]
    name: str = ""
    unit: str = ""
    value: str = ""
    key: tuple[str, ...] = ()
    units_below: bool = False
    refused: str = ""


def _layout(kind: str, has: str, **more: Any) -> Layout:
    return Layout(kind=kind, has=frozenset(has.split("|")), **more)


_IMPORT = ", which holds no counters: import pmc_perf.csv or the counters"
_NCU_METRIC = {"name": "Metric Name", "unit": "Metric Unit"}
_PER_KERNEL = {"value": "Avg", "key": ("Device", "Kernel")}
#: In the order in which they are tried.
_LAYOUTS = (
    _layout(
        "ncu", "Kernel Name|Invocations|Metric Name",
        refused="a summary of Nsight Compute over launches (--print-summary): print it without",
    ),
    _layout(
        "ncu", "ID|Kernel Name|Metric Name|Metric Unit|Metric Value",
        value="Metric Value", key=("Process ID", "ID"), **_NCU_METRIC,
    ),
    _layout("ncu", "ID|Kernel Name|Process ID", units_below=True),
    _layout("nvprof", "Kernel|Invocations|Metric Name|Avg", name="Metric Name", **_PER_KERNEL),
    _layout("nvprof", "Kernel|Invocations|Event Name|Avg", name="Event Name", **_PER_KERNEL),
    _layout("nvprof", "Start|Duration|Grid X|Registers Per Thread|Name", units_below=True),
    _layout("nvprof", f"{_OF_RUN}|Calls|Avg|Name", units_below=True),
    _layout("nvprof", "Device|Context|Stream|Kernel", units_below=True),
    _layout(
        "rocprof", "Dispatch_Id|Kernel_Name|Counter_Name|Counter_Value",
        name="Counter_Name", value="Counter_Value", key=("Process_Id", "Dispatch_Id"),
    ),
    _layout("rocprof", "Kernel_Name|Grid_Size|Workgroup_Size"),
    _layout("rocprof", "KernelName|grd|wgr"),
    *(
        _layout("", has, refused=refused) for has, refused in (
            ("Start|Duration|Name", "nvprof's trace of API calls: print --print-gpu-trace"),
            ("workload_name|gpu_model|gpu_arch", f"rocprof-compute on a machine{_IMPORT}"),
            ("device|HBMBw|FP32Flops", f"rocprof-compute's roofline of a machine{_IMPORT}"),
            ("Dispatch_ID|Kernel_Name|GPU_ID", f"rocprof-compute's list of dispatches{_IMPORT}"),
            ("Name|Calls|TotalDurationNs", f"rocprof's statistics of kernels{_IMPORT}"),
            ("Time (%)|Total Time (ns)|Instances", "Nsight Systems' summary: profile with ncu"),
        )
    ),
)  # fmt: skip


#: A line without any of these is no header.
HINTS = tuple({max(layout.has, key=lambda name: (len(name), name)) for layout in _LAYOUTS})


def layout_of(fields: Sequence[str]) -> Layout | None:
    """The layout that these columns are of."""
    names = {field.strip() for field in fields}
    return next((layout for layout in _LAYOUTS if layout.has <= names), None)
