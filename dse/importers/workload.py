"""Write a workload file from one row of a profile; name the counter of each number."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dse.toml_text import printable_line, toml_number, toml_value, value_line
from symbolic.errors import DseError
from symbolic.quantities import TABLE

if TYPE_CHECKING:
    import xarray as xr

#: Quantities that a profile may contain and that the workload file gets.
_WORKLOAD_QUANTITIES = (
    *("blocks", "threads_per_block", "registers_per_thread", "shared_mem_per_block"),
    *("comp_insts", "coalesced_insts", "uncoalesced_insts", "sync_insts", "bytes_per_thread"),
    "transactions_per_uncoalesced",
    *("fp_insts", "fp64_insts", "int_insts", "shared_insts", "local_insts", "work_flops"),
    *("issued_warp_insts", "dram_read_bytes", "dram_write_bytes", "dram_bytes", "kernel_time"),
)
_COALESCING_QUANTITIES = ("coalesced_insts", "uncoalesced_insts")


def workload_text(ds: xr.Dataset, row: int | None = None) -> str:
    """Return the text of a workload file for a row of measurements (None: the only row)."""
    count = ds.sizes["configuration"]
    if row is None and count > 1:
        raise DseError(
            f"there are {count:,} rows, and a workload file needs one: choose it with --row, 0 to "
            f"{count - 1}; dse optimum shows the row of the least time as configuration"
        )
    at = row or 0
    if {"time", "issued_warp_insts"} <= set(ds.variables):
        ds = ds.assign(kernel_time=ds["time"])  # for Transit, which compares it with the counters
    if at >= count:
        raise DseError(f"row {at} of {count:,}: expected 0 to {count - 1}")
    if not bool(ds.feasible.values[at]):
        raise DseError(f"row {at} was not measured: choose another")
    names = (*_WORKLOAD_QUANTITIES, "mem_insts", "total_insts", "global_loads")
    every = {n: _value(ds, n, at) for n in names if n in ds.variables}
    values = {name: value for name, value in every.items() if value is not None}
    if not set(values) & set(_WORKLOAD_QUANTITIES):
        raise DseError("the file has nothing about a workload: neither its launch nor instructions")
    place = f"{json.loads(ds.attrs['study'])['measured']}, row {at}"
    labels = {label: str(ds[label].values[at]) for label in ("kernel", "machine") if label in ds}
    title = labels.get("kernel") or place
    machine = f", measured on {labels['machine']}" if "machine" in labels else ""
    lines = [f"# Of {place}{machine}"]
    lines += [f"# {note}" for note in json.loads(ds.attrs.get("notes", "[]"))]
    lines = [printable_line(line) for line in lines]
    title = printable_line(title).strip() or printable_line(place)
    lines += [f"title = {toml_value(title)}", "", "[values]"]
    for name in _WORKLOAD_QUANTITIES:
        if name in values:
            source = str(ds[name].attrs.get("source", name))
            lines.append(_line(name, values[name], "source", f"{place}: {source}"))
    if "total_insts" in values and not {"comp_insts", "global_loads"} & values.keys():
        source = str(ds["total_insts"].attrs.get("source", "total_insts"))
        lines.append(_line("total_insts", values["total_insts"], "source", f"{place}: {source}"))
    lines += _assumed_lines(values)
    return "\n".join([*lines, ""])


def _value(ds: xr.Dataset, name: str, row: int) -> float | None:
    values = ds[name].values
    if values.dtype.kind not in "iuf" or not math.isfinite(values[row]):
        return None
    value = float(values[row])
    return value if name not in TABLE or TABLE[name].domain.contains(value) else None


def _assumed_lines(values: dict[str, float]) -> Iterator[str]:
    """Yield lines with assumptions for quantities that models need and the profile lacks."""
    if "mem_insts" not in values and {"total_insts", "global_loads"} <= values.keys():
        why = "the profile does not count stores: loads are assumed to be all accesses"
        yield _line("comp_insts", values["total_insts"] - values["global_loads"], "assumed", why)
        why += ", all coalesced"
        yield _line("coalesced_insts", values["global_loads"], "assumed", why)
        yield _line("uncoalesced_insts", 0.0, "assumed", why)
    elif "mem_insts" in values and "coalesced_insts" not in values:
        why = "the profile does not say which accesses are coalesced: all are assumed to be"
        for name, value in zip(_COALESCING_QUANTITIES, (values["mem_insts"], 0.0), strict=True):
            yield _line(name, value, "assumed", why)
    if "sync_insts" not in values and {"global_loads", "mem_insts"} & values.keys():
        yield _line("sync_insts", 0.0, "assumed", "the profile counts no barriers")


def _line(name: str, value: float, origin: str, text: str) -> str:
    return value_line(name, toml_number(value), origin, printable_line(text))
