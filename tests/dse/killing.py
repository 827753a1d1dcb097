"""Kills a run again and again, at random moments, and compares what the last one leaves.

    python -m tests.dse.killing 200 1

kills 200 times (SIGKILL), with moments drawn from the seed 1: while a store is begun, while tiles
are computed, written and recorded, while it is ended. After each kill plain xarray must open what
is there, and read nothing but right values and the fill; each finished store must hold the same
files with the same bytes as one that nobody disturbed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array  # noqa: F401  what each process would load again
import numpy as np
import zarr  # noqa: F401

import dse.runs.store  # noqa: F401
import sweeps.nest.run
import sweeps.store.checked_store
import sweeps.store.fill
import sweeps.store.layout
from dse import Study
from stochastic.threads import cpu_count
from sweeps.store.compute import program_of
from sweeps.store.fill import TileWriter
from sweeps.store.layout import StoreLayout, Tile

STUDY: dict[str, Any] = {
    "model": "transit",
    "axes": {
        "threads": list(range(1, 41)),
        "supply": ["smooth", "sharp"],
        "mem_latency": list(range(100, 600)),
    },
    "set": {"intensity": 10, "lanes_width": 32, "ms_peak": 0.7},
    "outputs": ["ms_throughput", "bound", "cs_transition"],
    "where": "ms_throughput <= 0.5",
}


def cut_small(points: int = 1 << 12) -> None:
    """Tiles of few points, computed by nests and written as large ones are."""
    sweeps.nest.run.NUMPY_POINTS = 0
    sweeps.nest.run.SINGLE_TILE_POINTS = sweeps.store.layout.TILE = points
    sweeps.store.layout.CHUNK = max(points // 8, 1)


def files(folder: Path) -> dict[str, bytes]:
    result = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in result}


def fork(work: Callable[[], None]) -> int:
    """The number of a process that does some work and ends."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def exit_status(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def ready(study: Study) -> None:
    """Compile once what each process would compile again."""
    layout = StoreLayout(study.grid())
    programs = [program_of(layout, part) for part in layout.parts]
    for tile in layout.tiles():
        programs[tile.part].compile(tile)


def main(kills: int, seed: int) -> dict[str, Any]:
    cut_small()
    draw = random.Random(seed)
    folder = Path(tempfile.mkdtemp())
    log = folder / "log"
    study = Study(**STUDY)
    inner = TileWriter.store

    def log_tile(self: TileWriter, tile: Tile, *more: Any) -> Any:
        with log.open("a") as file:
            file.write(f"{tile.name}\n")
        return inner(self, tile, *more)

    TileWriter.store = log_tile  # type: ignore[method-assign]
    expected = study.run()
    ready(study)
    # in a process of its own, as all others: no thread may run where processes are forked
    began = time.monotonic()
    assert exit_status(fork(lambda: study.run(store=folder / "calm.zarr"))) == 0
    duration = time.monotonic() - began
    calm, tiles = files(folder / "calm.zarr"), len(log.read_text().split())

    def read(path: Path) -> None:
        import xarray as xr

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ds = xr.open_zarr(path)
            for name in expected.data_vars:
                values, right = ds[name].values, expected[name].values
                fill = {"f": np.nan, "i": -1, "b": False}[right.dtype.kind]
                same = (values == right) | np.isnan(right.astype(float))
                blank = np.isnan(values) if right.dtype.kind == "f" else values == fill
                assert np.all(same | blank), name

    done = stores = repeated = 0
    while done < kills:
        path = folder / f"{stores}.zarr"
        log.write_text("")
        here = 0
        while True:
            child = fork(lambda path=path: study.run(store=path))
            if done < kills:
                time.sleep(draw.random() * duration)
                os.kill(child, signal.SIGKILL)
            status = exit_status(child)
            if status == 0:
                break
            assert status == -signal.SIGKILL, status
            done, here = done + 1, here + 1
            if path.exists():
                assert exit_status(fork(lambda path=path: read(path))) == 0
        again = len(log.read_text().split()) - tiles
        assert again <= here * 2 * cpu_count(), (again, here)
        assert files(path) == calm
        left = [other for other in folder.iterdir() if other.name.startswith(".")]
        assert not left
        stores, repeated = stores + 1, repeated + again
    result = {"kills": done, "stores": stores, "tiles": tiles, "repeated": repeated}
    return result | {"seconds": duration}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
