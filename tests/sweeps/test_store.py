"""The parts of a store: tiles that cover every point once, records, one writer, lazy arrays."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import threading
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
import sweeps.nest.run
import sweeps.store.layout
from dse import DseError, Study
from sweeps.grid.grid import FEASIBLE
from sweeps.store.backend import backend_of
from sweeps.store.compute import BoxProgram
from sweeps.store.layout import StoreLayout
from sweeps.store.lock import write_lock
from sweeps.store.records import RECORDS, checksum, decode_checked_json, encode_checked_json
from symbolic.errors import OtherProcessError
from tests.long import mostly_long
from tests.oracles.compare import identical
from tests.sweeps.test_run import STUDIES


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("tile", [1, 7, 60, 1 << 21])
@pytest.mark.parametrize("name", ["switches and a zip", "machines, rules broken in parts"])
def test_tiles_cover_every_point_once(
    name: str, tile: int, expand: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 0)
    monkeypatch.setattr(sweeps.store.layout, "TILE", tile)
    study = Study(**STUDIES[name])
    if name != "switches and a zip" and tile < 60:
        monkeypatch.setattr(sweeps.store.layout, "TILE", tile + 60)
    layout = StoreLayout(study.grid(), expand=expand)
    tiles = list(layout.tiles())
    assert len(tiles) == layout.count == len({one.name for one in tiles})
    for part in layout.parts:
        seen = np.zeros(part.shape, dtype=int)
        for one in (one for one in tiles if one.part == part.number):
            cut = tuple(slice(*ends) for ends in zip(one.low, one.high, strict=True))
            seen[cut] += 1
            assert one.points == seen[cut].size <= math.prod(part.shard)
        assert (seen == 1).all()


@pytest.mark.parametrize(
    ("name", "tile", "small", "expand"),
    mostly_long(
        product(
            ["switches and a zip", "machines, rules broken in parts"],
            *([9, 1 << 21], [0, 1 << 30], [False, True]),
        ),
        lambda _, case: case[1:] in ((9, 0, True), (1 << 21, 1 << 30, False)),
    ),
)
def test_nests_write_what_a_run_in_memory_gives(
    name: str, tile: int, small: int, expand: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", small)
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 0)
    monkeypatch.setattr(sweeps.store.layout, "TILE", tile)
    monkeypatch.setattr(sweeps.store.layout, "CHUNK", 4)
    monkeypatch.setattr(sweeps.nest.emit, "ROW_PIECE", 16)
    spec = STUDIES[name]
    if name != "switches and a zip":  # fewer files
        spec = {**spec, "axes": {**spec["axes"], "threads_per_block": [32, 480, 512]}}
    study = Study(**spec)
    expected = study.run(expand=expand)
    with study.run(store=tmp_path / "a.zarr", expand=expand) as result:
        labels = [n for n, c in expected.coords.items() if c.dtype.kind == "U"]
        identical(result.load().drop_vars(labels), expected.drop_vars(labels))
    check_records(study, expected, tmp_path / "a.zarr", expand=expand)


def check_records(study: Study, expected: xr.Dataset, path: Path, *, expand: bool) -> None:
    layout, backend = StoreLayout(study.grid(), expand=expand), backend_of(path)
    for tile in layout.tiles():
        part = layout.parts[tile.part]
        record = decode_checked_json(backend.get(f"{RECORDS}/{tile.name}"))
        assert record is not None
        assert record["identity"].startswith(expected.attrs["identity"].removesuffix("-expanded"))
        for name in part.outputs:
            shard = backend.get(part.key(name, tile))
            assert record["shards"][name] == [len(shard), checksum(shard)]
        known = FEASIBLE not in expected or set(expected.feasible.dims) <= set(part.dims)
        count = None if known is False else tile.points
        if known and FEASIBLE in expected:
            spread = xr.broadcast(expected.feasible, expected[part.outputs[0]])[0]
            cut = tuple(slice(*ends) for ends in zip(tile.low, tile.high, strict=True))
            count = int(spread.transpose(*part.dims).values[cut].sum())
        assert record["feasible"] == count


def test_a_seal_notices_every_flipped_bit() -> None:
    data = encode_checked_json(
        {"tile": "0.1", "shards": {"time": [9, "0123abcd"]}, "feasible": None}
    )
    assert decode_checked_json(data) is not None
    for place in range(8 * len(data)):
        bad = bytearray(data)
        bad[place // 8] ^= 1 << (place % 8)
        assert decode_checked_json(bytes(bad)) is None


def test_the_checksum_of_a_shard_depends_on_its_values(tmp_path: Path) -> None:
    """The CRC-32C of chunks that end in their CRC-32C is the same for all values."""
    spec: dict[str, Any] = {**STUDIES["switches and a zip"]}
    Study(**spec).run(store=tmp_path / "a.zarr", compression="none")
    backend = backend_of(tmp_path / "a.zarr")
    layout = StoreLayout(Study(**spec).grid())
    sums = [
        tuple(
            map(
                tuple,
                (decode_checked_json(backend.get(f"{RECORDS}/{tile.name}")) or {})[
                    "shards"
                ].values(),
            )
        )
        for tile in layout.tiles()
    ]
    shards = {
        backend.get(part.key(n, layout_tile))
        for layout_tile in layout.tiles()
        for part in [layout.parts[layout_tile.part]]
        for n in part.outputs
    }
    assert len({each for many in sums for each in many}) == len(shards) > 1


# --- one writer at a time


def test_many_threads_that_lock_one_place(tmp_path: Path) -> None:
    """One at a time has the lock, and each leaves nothing behind."""
    inside, most, done = [0], [0], [0]

    def work() -> None:
        for _ in range(30):
            try:
                with write_lock(backend_of(tmp_path / "a.zarr")):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    inside[0] -= 1
                    done[0] += 1
            except OtherProcessError:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1
    assert done[0] > 0
    assert list(tmp_path.iterdir()) == []


# --- lazy arrays


@pytest.mark.parametrize("small", [0, 1 << 30])
@pytest.mark.parametrize("name", ["switches and a zip", "machines, rules broken in parts"])
def test_lazy_arrays_are_those_of_a_run(
    name: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", small)
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 0)
    monkeypatch.setattr(sweeps.store.layout, "TILE", 9)
    study = Study(**STUDIES[name])
    expected, first = study.run(), next(iter(study.axes))
    for chunks in (None, 2, "auto", {first: 1}, {first: -1}):
        lazy = study.lazy(chunks)
        assert all(lazy[name].chunks is not None for name in lazy.data_vars)
        identical(pickle.loads(pickle.dumps(lazy)).compute(), expected)
    one = {str(axis): 0 for axis in list(expected.dims)[1:]}
    identical(study.lazy().isel(one).compute(), expected.isel(one))
    identical(study.lazy(expand=True).compute(), study.run(expand=True))


def test_a_block_of_all_outputs_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 1 << 30)
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 0)
    monkeypatch.setattr(sweeps.store.layout, "TILE", 9)
    study, count, inner = Study(**STUDIES["switches and a zip"]), [0], BoxProgram.compute

    def compute(self: BoxProgram, *box: Any) -> Any:
        count[0] += 1
        return inner(self, *box)

    monkeypatch.setattr(BoxProgram, "compute", compute)
    study.lazy().compute()
    assert count[0] == StoreLayout(study.grid()).count


def test_lazy_arrays_are_copied_and_refuse_wrong_chunks(tmp_path: Path) -> None:
    study = Study(**STUDIES["switches and a zip"])
    dse.export(study.lazy(), tmp_path / "a.zarr")
    with dse.open(tmp_path / "a.zarr") as copied:
        assert all(
            np.array_equal(copied[n].values, v.values, equal_nan=v.dtype.kind == "f")
            for n, v in study.run().data_vars.items()
        )
    with pytest.raises(DseError, match=r"chunks = 'some'.*give a mapping from axes"):
        study.lazy("some")


def test_dask_and_zarr_load_only_when_they_are_used() -> None:
    code = (
        "import sys, dse; study = dse.Study(model='transit', axes={'threads': [1, 2]},"
        " set={'intensity': 10, 'lanes_width': 32, 'ms_peak': 1, 'mem_latency': 600});"
        "assert not {'dask', 'zarr', 'filelock', 'distributed'} & set(sys.modules), sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
