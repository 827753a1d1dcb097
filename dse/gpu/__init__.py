"""Kernels that measure a GPU (the extra ``gpu``).

Transit's curves, all-pairs shortest paths, where and when each block of a launch ran, times of
launches, latencies, what lockstep costs, clocks and power. Each function yields columns of a table;
:func:`dataset_of` joins them with what they were measured on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dse.gpu.measurements import (
    blocks,
    demand,
    latency,
    launches,
    lockstep,
    paths,
    power,
    shortest_paths,
    supply,
)
from dse.importers.records import Records, to_dataset

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "blocks",
    "dataset_of",
    "demand",
    "latency",
    "launches",
    "lockstep",
    "paths",
    "power",
    "shortest_paths",
    "supply",
]

#: The units of measured columns that are no quantities; those of quantities are in their table.
_UNITS = {
    "ring_bytes": "B",
    "load_cycles": "cycle",
    "block_start": "s",
    "block_end": "s",
    "block_time_mean": "s",
    "asked_clock": "Hz",
    "power_std": "W",
}
_LABELS = ("distribution", "kernel", "chosen_by", "gpu", "driver")


def dataset_of(what: str, columns: Mapping[str, Any], provenance: Mapping[str, Any]) -> xr.Dataset:
    """Measured columns along ``configuration``, as :func:`dse.open` gives files of others.

    Parameters
    ----------
    what : str
        What was measured, as ``dse measure`` calls it.
    columns : mapping of str to array
        As the functions of this package yield them.
    told : mapping
        Device, driver, versions, date, how: the attribute ``provenance``, as JSON. The device is
        also a column, ``gpu``, so that rows of several can lie in one table, and so is the driver.
    """
    rows = len(next(iter(columns.values())))
    named = {"gpu": "device", "driver": "driver"}
    said = {name: [str(provenance[key])] * rows for name, key in named.items() if key in provenance}
    records = Records(
        kind="table",
        axes=(),
        columns={**columns, **said},
        units=_UNITS,
        labels=frozenset(_LABELS),
        attributes={"provenance": json.dumps(dict(provenance))},
    )
    return to_dataset(records, {}, "rows", f"the GPU at hand: {what}")
