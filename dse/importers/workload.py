"""A workload file of one row of a profile: every number with the counter that it is from."""

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

#: What is of a workload, and in a profile; not what a machine or the models say of it.
_WORKLOAD_QUANTITIES = (
    *("blocks", "threads_per_block", "registers_per_thread", "shared_mem_per_block"),
    *("comp_insts", "coalesced_insts", "uncoalesced_insts", "sync_insts", "bytes_per_thread"),
    "transactions_per_uncoalesced",
    *("fp_insts", "int_insts", "shared_insts", "local_insts", "work_flops"),
    *("issued_insts", "dram_reads", "dram_writes"),
)
_COALESCING_QUANTITIES = ("coalesced_insts", "uncoalesced_insts")


def workload_text(ds: xr.Dataset, row: int | None = None) -> str:
    """Return the workload file of a row of measurements, as :func:`dse.open` reads a profile.

    ``row`` is needed where there are several. It is an error if there is no such row, or if it
    tells nothing of a workload.
    """
    count = ds.sizes["configuration"]
    if row is None and count > 1:
        raise DseError(
            f"there are {count:,} rows, and a workload file is of one: choose it with --row, 0 to "
            f"{count - 1}; dse optimum tells the row of the least time as configuration"
        )
    at = row or 0
    if at >= count:
        raise DseError(f"row {at} of {count:,}: expected 0 to {count - 1}")
    if not bool(ds.feasible.values[at]):
        raise DseError(f"row {at} was not measured: choose another")
    names = (*_WORKLOAD_QUANTITIES, "mem_insts", "total_insts", "global_loads")
    result = {n: _value(ds, n, at) for n in names if n in ds.variables}
    told = {name: value for name, value in result.items() if value is not None}
    if not set(told) & set(_WORKLOAD_QUANTITIES):
        raise DseError("the file tells nothing of a workload: neither its launch nor instructions")
    place = f"{json.loads(ds.attrs['study'])['measured']}, row {at}"
    said = {label: str(ds[label].values[at]) for label in ("kernel", "machine") if label in ds}
    title = said.get("kernel") or place
    lines = [f"# Of {place}" + (f", measured on {said['machine']}" if "machine" in said else "")]
    lines += [f"# {note}" for note in json.loads(ds.attrs.get("notes", "[]"))]
    lines = [printable_line(line) for line in lines]
    title = printable_line(title).strip() or printable_line(place)
    lines += [f"title = {toml_value(title)}", "", "[values]"]
    for name in _WORKLOAD_QUANTITIES:
        if name in told:
            source = str(ds[name].attrs.get("source", name))
            lines.append(_line(name, told[name], "source", f"{place}: {source}"))
    lines += _assumed_lines(told)
    return "\n".join([*lines, ""])


def _value(ds: xr.Dataset, name: str, row: int) -> float | None:
    values = ds[name].values
    if values.dtype.kind not in "iuf" or not math.isfinite(values[row]):
        return None
    value = float(values[row])
    return value if name not in TABLE or TABLE[name].domain.contains(value) else None


def _assumed_lines(values: dict[str, float]) -> Iterator[str]:
    """What the models need and no counter tells."""
    if "mem_insts" not in values and {"total_insts", "global_loads"} <= values.keys():
        why = "the profile does not count stores: loads are taken as all accesses"
        yield _line("comp_insts", values["total_insts"] - values["global_loads"], "assumed", why)
        why += ", and all as coalesced"
        yield _line("coalesced_insts", values["global_loads"], "assumed", why)
        yield _line("uncoalesced_insts", 0.0, "assumed", why)
    elif "mem_insts" in values and "coalesced_insts" not in values:
        why = "the profile does not tell which accesses are coalesced: all are taken as such"
        for name, value in zip(_COALESCING_QUANTITIES, (values["mem_insts"], 0.0), strict=True):
            yield _line(name, value, "assumed", why)
    if "sync_insts" not in values and {"global_loads", "mem_insts"} & values.keys():
        yield _line("sync_insts", 0.0, "assumed", "the profile counts no barriers")


def _line(name: str, value: float, origin: str, text: str) -> str:
    return value_line(name, toml_number(value), origin, printable_line(text))
