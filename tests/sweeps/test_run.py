"""Filling arrays by tiles and threads: the same bits as NumPy, whatever the sizes."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import sweeps.nest.emit
import sweeps.nest.run
import sweeps.runtime.resources
from dse import DseError, Study
from sweeps.grid.grid import Tiling
from sweeps.nest.run import compute, output_groups, plan_rows
from sweeps.runtime.progress import Progress
from sweeps.runtime.resources import run_in_threads
from tests.long import draws, mostly_long
from tests.oracles.compare import identical, ulps

TOY = str(Path(__file__).parents[1] / "oracles" / "toy_model.py")
TRANSIT_SET: dict[str, Any] = {"intensity": 10, "lanes_width": 32, "ms_peak": 0.7}

STUDIES: dict[str, dict[str, Any]] = {
    "switches and a zip": {
        "model": "transit",
        "axes": {
            "ms_peak": [0.1, 1, 2],
            "supply": ["smooth", "sharp"],
            "pair": {"zip": {"threads": [1, 32, 512, 9000], "intensity": [4, 8, 5, 300]}},
            "mem_latency": [0, 400, 800, 1200, 1300],
        },
        "set": {
            "lanes_width": xr.DataArray(
                np.arange(12.0).reshape(4, 3) * 7 + 8, dims=("pair", "ms_peak")
            )
        },
        "where": "ms_throughput < 1",
    },
    "machines, rules broken in parts": {
        "model": "occupancy + mwp_cwp",
        "workload": "svm",
        "axes": {
            "machine": ["gtx280", "8800gt", "fx5600"],
            "threads_per_block": {"start": 32, "stop": 768, "step": 32},
            "active_sms": range(10, 32),
        },
        "outputs": ["time", "case", "mwp", "limiter", "occupancy"],
    },
    "a user's model": {
        "model": TOY,
        "axes": {
            "toy_shape": ["steep", "flat"],
            "toy_load": [0, 3.5, 7, 21, 60, 61],
            "toy_share": [0, 0.2, 0.25, 1],
            "toy_unit": [0.01, 1, 2.5, 9, 30],
        },
        "set": {"toy_kind": "abc"},
    },
}


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Every group by a nest, in many tiles, in pieces of rows of 16."""
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 0)
    monkeypatch.setattr(sweeps.nest.run, "TILE", 24)
    monkeypatch.setattr(sweeps.nest.emit, "ROW_PIECE", 16)
    monkeypatch.setattr(sweeps.nest.emit, "_ACCEPTABLE_ROW", 4)
    monkeypatch.setattr(sweeps.runtime.resources, "cpu_count", lambda: 4)
    return monkeypatch


def same(actual: xr.Dataset, expected: xr.Dataset, within: int = 0) -> None:
    if not within:
        identical(actual, expected)
    for name in expected.data_vars:
        assert actual[name].dims == expected[name].dims
        apart = ulps(actual[name].values.astype(float), expected[name].values.astype(float))
        assert apart.max() <= within, name


@pytest.mark.parametrize("name", mostly_long(STUDIES, lambda k, _: k != 1))
def test_nests_and_numpy_agree_to_the_bit(name: str, compiling: pytest.MonkeyPatch) -> None:
    within = 8 if STUDIES[name]["model"] == TOY else 0
    result = Study(**STUDIES[name]).run()
    compiling.setattr(sweeps.runtime.resources, "cpu_count", lambda: 1)
    again = Study(**STUDIES[name]).run()
    identical(result, again)  # many threads and one
    compiling.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 1 << 30)
    identical(result, Study(**STUDIES[name]).run())  # many tiles and one
    compiling.setattr(sweeps.nest.run, "NUMPY_POINTS", 1 << 30)
    same(result, Study(**STUDIES[name]).run(), within)


def test_expanded(compiling: pytest.MonkeyPatch) -> None:
    spec = STUDIES["switches and a zip"]
    result = Study(**spec).run(expand=True)
    compiling.setattr(sweeps.nest.run, "NUMPY_POINTS", 1 << 30)
    expected = Study(**spec).run(expand=True)
    same(result, expected)
    natural = Study(**spec).run()
    for name in natural.data_vars:
        assert result[name].dims == tuple(spec["axes"])
        assert np.array_equal(
            result[name].values,
            natural[name].broadcast_like(result[name]).transpose(*spec["axes"]).values,
        )


@pytest.mark.parametrize(
    "sizes",
    [
        {"threads": 5000},
        {"threads": 3, "mem_latency": 1500},
        {"threads": 1500, "mem_latency": 3},
        {"threads": 1, "mem_latency": 1},
        {"threads": 1},
        {"mem_latency": 1, "threads": 40, "intensity": 1, "lanes_width": 40, "ms_peak": 1},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("tile", [7, 1 << 12])
def test_rows_of_every_length(
    sizes: dict[str, int], tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = {"threads": 64, "mem_latency": 300, **TRANSIT_SET}
    spec: dict[str, Any] = {
        "model": "transit",
        "axes": {name: np.linspace(1, 900, size) for name, size in sizes.items()},
        "set": {name: value for name, value in rest.items() if name not in sizes},
        "outputs": ["ms_throughput", "bound"],
        "where": "ms_throughput <= 0.5",
    }
    expected = Study(**spec).run()
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 0)
    monkeypatch.setattr(
        sweeps.nest.run, "TILE", tile if max(sizes.values(), default=1) < 99 else 512
    )
    identical(Study(**spec).run(), expected)


def test_a_grid_above_the_thresholds_as_they_are() -> None:
    """Several tiles of the real sizes in threads, against vectorised NumPy."""
    threads, latency = np.arange(1.0, 1801), np.linspace(100, 900, 2500)
    study = Study(
        model="transit",
        axes={"threads": threads, "mem_latency": latency},
        set=TRANSIT_SET,
        outputs=["ms_throughput", "bound"],
    )
    assert study.plan().tiles > 1
    ds = study.run()
    limit = threads[:, None] / (latency + 10.0)
    assert np.array_equal(ds.ms_throughput.values, np.minimum(np.minimum(limit, 0.7), 3.2))
    assert set(np.unique(ds.bound.values)) == {0, 1}


# --- tiles


@settings(max_examples=draws(100), deadline=None)
@given(
    outer=st.lists(st.integers(1, 6), max_size=4),
    row=st.integers(1, 40),
    target=st.integers(1, 300),
)
def test_tiles_cover_every_point_once_in_order(outer: list[int], row: int, target: int) -> None:
    tiling = Tiling(outer, row, target)
    sizes = [*outer, row]
    flat = np.arange(math.prod(sizes)).reshape(sizes)
    position = 0
    for number in range(tiling.count):
        bounds, origin, points = tiling.bounds(number)
        index = tuple(slice(low, high) for low, high in bounds.reshape(-1, 2))
        part = flat[index].reshape(-1)
        assert points == part.size <= target
        assert part.tolist() == list(range(position, position + part.size))
        assert origin == position
        position += part.size
    assert position == flat.size


def test_tiles_of_a_grid_beyond_memory_are_only_numbers() -> None:
    tiling = Tiling([10**5, 10**4, 10**4], 1000, 1 << 21)
    bounds, origin, points = tiling.bounds(tiling.count - 1)
    assert origin + points == 10**16
    assert bounds[-1] == 1000


# --- threads


def test_results_stay_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setattr(sweeps.runtime.resources, "cpu_count", lambda: 8)

    def task(number: int) -> tuple[str, int]:
        time.sleep(0.002 * (8 - number % 8))
        return ("inc", number)  # a tuple is a result, not something to call

    assert run_in_threads(task, 24) == [("inc", n) for n in range(24)]


def test_an_error_in_a_tile_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps.runtime.resources, "cpu_count", lambda: 3)

    def task(number: int) -> int:
        if number == 5:
            raise ZeroDivisionError("tile 5")
        return number

    with pytest.raises(ZeroDivisionError, match="tile 5"):
        run_in_threads(task, 9)


# --- progress


def test_progress_counts_every_value(compiling: pytest.MonkeyPatch) -> None:
    study = Study(**STUDIES["switches and a zip"])
    heard: list[Progress] = []
    study.run(progress=heard.append)
    total = sum(math.prod(study.grid().shape(group.dims)) for group in output_groups(study.grid()))
    assert heard[-1].done == heard[-1].total == total
    assert all(a.done < b.done for a, b in itertools.pairwise(heard))
    assert len(heard) >= total // 24


def test_progress_estimates() -> None:
    half = Progress(done=50, total=100, elapsed=2.0)
    assert (half.rate, half.remaining) == (25.0, 2.0)
    assert Progress(done=0, total=100, elapsed=0.0).remaining == math.inf


# --- what a run would do


def test_groups_and_plan() -> None:
    study = Study(**STUDIES["machines, rules broken in parts"])
    grid = study.grid()
    parts = output_groups(grid)
    assert sorted(name for part in parts for name in part.outputs) == sorted(
        [*grid.outputs, "feasible"]
    )
    for part in parts:
        assert all(grid.dims(name) == part.dims for name in part.outputs)
    (whole,) = output_groups(grid, expand=True)
    assert whole.dims == tuple(grid.axes)
    arrays = compute(grid)
    for row in plan_rows(grid):
        dims, array = arrays[row["name"]]
        assert (row["axes"], row["points"], row["bytes"]) == (dims, array.size, array.nbytes)


def test_more_than_memory_holds_is_told() -> None:
    names = ("threads", "mem_latency", "intensity", "ms_peak")
    axes = {name: {"linspace": [1, 2, 50_000]} for name in names}
    study = Study(model="transit", axes=axes, set={"lanes_width": 32})
    with pytest.raises(DseError, match=r"need 1\.92e\+11 GiB of memory, .* give run a store"):
        study.run()
