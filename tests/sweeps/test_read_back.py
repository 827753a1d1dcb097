"""Every shard that is written is read by anybody's xarray: types, sizes, borders, any values."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import sweeps.nest.run
import sweeps.store.layout
from dse import Study
from tests.long import mostly_long

#: Values of the two axes: numbers near every border, labels, whole numbers.
AXES: dict[str, Any] = {
    "machine": ["gtx280", "8800gt", "fx5600"],
    "threads_per_block": [1, 32, 64, 511, 512, 513, 1024],
    "core_clock": [0.0, 5e-324, 1e-300, 1.0, 2.0**53 + 2, 1e9, 1e300],
    "active_sms": list(range(1, 31)),
}


@pytest.mark.parametrize(
    ("tile", "chunk", "compression", "expand"),
    mostly_long(
        itertools.product(
            [1, 7, 30, 31, 1 << 20], [1, 4, 30, 1 << 20], ["lz4", "none"], [False, True]
        ),
        lambda k, _: k in (13, 22, 47, 79),
    ),
)
def test_plain_xarray_reads_every_type(
    tile: int,
    chunk: int,
    compression: str,
    expand: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Floats with NaN and infinity, cases, marks, labels, long and short axes."""
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 1 << 30)
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 0)
    monkeypatch.setattr(sweeps.store.layout, "TILE", tile)
    monkeypatch.setattr(sweeps.store.layout, "CHUNK", chunk)
    axes = {name: AXES[name] for name in ("machine", "threads_per_block", "active_sms")}
    if tile < 30:
        axes["active_sms"] = axes["active_sms"][:5]
    study = Study(
        model="occupancy + mwp_cwp",
        workload="svm",
        axes=axes,
        outputs=["time", "case", "occupancy"],
        where="time <= 1 s",
    )
    expected = study.run(expand=expand)
    study.run(store=tmp_path / "a.zarr", expand=expand, compression=compression).close()
    assert {v.dtype.kind for v in expected.data_vars.values()} == {"f", "i", "b"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_zarr(tmp_path / "a.zarr") as result:
            for name, variable in expected.variables.items():
                stored = result[name]
                assert (stored.dims, stored.shape) == (variable.dims, variable.shape)
                if variable.dtype.kind == "U":
                    assert stored.values.tolist() == variable.values.tolist()
                    continue
                assert stored.dtype == variable.dtype
                assert stored.values.tobytes() == np.ascontiguousarray(variable.values).tobytes()
                assert stored.attrs.keys() == variable.attrs.keys()
            assert result.attrs == expected.attrs
