"""Measure the GPU of this machine by microbenchmarks (the extra ``gpu``).

The functions measure Transit's curves, shortest paths, blocks and times of launches, latencies, the
loss of lockstep, clocks and power. Each function returns the columns of a table; :func:`dataset_of`
makes a Dataset of them, with the device and the method. All functions raise LawError if numba-cuda
or a GPU is missing, and DseError for impossible numbers or a wrong result of a kernel.
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
    "blocks", "dataset_of", "demand", "latency", "launches", "lockstep", "paths", "power",
    "shortest_paths", "supply",
]  # fmt: skip

#: Units of columns that are not in the table of quantities.
_UNITS = {
    "ring_bytes": "B", "load_cycles": "cycle", "block_start": "s", "block_end": "s",
    "block_time_mean": "s", "asked_clock": "Hz", "power_std": "W",
}  # fmt: skip


def dataset_of(what: str, columns: Mapping[str, Any], provenance: Mapping[str, Any]) -> xr.Dataset:
    """Return measured columns as a Dataset along ``configuration``, like that of :func:`dse.open`.

    Parameters:
        what (str): The kind of measurement, by its name in ``dse measure``.
        columns (mapping of str to array): The result of a function of this package.
        provenance (mapping): Device, driver, versions, date and method. They become the attribute
            ``provenance`` (JSON). Device and driver are also columns, so that rows of several GPUs
            can be in one table.
    """
    rows = len(next(iter(columns.values())))
    keys = {"gpu": "device", "driver": "driver"}
    origin = {name: [str(provenance[k])] * rows for name, k in keys.items() if k in provenance}
    records = Records(
        kind="table",
        axes=(),
        columns={**columns, **origin},
        units=_UNITS,
        labels=frozenset({"distribution", "kernel", "chosen_by", "gpu", "driver"}),
        attributes={"provenance": json.dumps(dict(provenance))},
    )
    return to_dataset(records, {}, "rows", f"the GPU at hand: {what}")
