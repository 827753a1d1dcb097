"""The parts of a store: tiles that cover every point once, records that say what is in them."""

from __future__ import annotations

import errno
import itertools
import math
import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sweeps.nest.run
import sweeps.store.direct
import sweeps.store.layout
import sweeps.store.tiles
from dse import Study
from sweeps.grid.grid import FEASIBLE
from sweeps.store.direct import PAGE, Appender, room, within
from sweeps.store.folder import HIDDEN
from sweeps.store.held import Held
from sweeps.store.layout import Layout
from sweeps.store.medium import medium_of
from sweeps.store.records import EXTREMES, RECORDS, Summary, read_sealed, sealed
from sweeps.store.swap import begun, claimed
from sweeps.store.zarr_format import TRAILER, checksum, trailer
from tests.long import draws, mostly_long
from tests.oracles.compare import identical
from tests.sweeps.test_run import STUDIES

REAL = (0.0, -0.0, 1.0, 1.0, 2.5, -3.0, math.inf, -math.inf, math.nan)


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("tile", [1, 7, 60, 1 << 21])
@pytest.mark.parametrize("name", ["switches and a zip", "machines, rules broken in parts"])
def test_tiles_cover_every_point_once(
    name: str, tile: int, expand: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps.nest.run, "SINGLE", 0)
    monkeypatch.setattr(sweeps.store.layout, "TILE", tile)
    study = Study(**STUDIES[name])
    if name != "switches and a zip" and tile < 60:
        monkeypatch.setattr(sweeps.store.layout, "TILE", tile + 60)
    layout = Layout(study.grid(), expand=expand)
    tiles = list(layout.tiles())
    assert len(tiles) == layout.count == len({one.name for one in tiles})
    for part in layout.parts:
        seen = np.zeros(part.shape, dtype=int)
        for one in (one for one in tiles if one.part == part.number):
            cut = tuple(slice(*ends) for ends in zip(one.low, one.high, strict=True))
            seen[cut] += 1
            assert one.points == seen[cut].size <= math.prod(part.chunk)
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
    monkeypatch.setattr(sweeps.nest.run, "SMALL", small)
    monkeypatch.setattr(sweeps.nest.run, "SINGLE", 0)
    monkeypatch.setattr(sweeps.store.layout, "TILE", tile)
    monkeypatch.setattr(sweeps.store.tiles, "PIECE", 16)
    monkeypatch.setattr(sweeps.nest.emit, "ROW", 16)
    spec = STUDIES[name]
    if name != "switches and a zip":  # fewer files
        spec = {**spec, "axes": {**spec["axes"], "threads_per_block": [32, 480, 512]}}
    study = Study(**spec)
    expected = study.run(expand=expand)
    with study.run(store=tmp_path / "a.zarr", expand=expand) as found:
        labels = [n for n, c in expected.coords.items() if c.dtype.kind == "U"]
        identical(found.load().drop_vars(labels), expected.drop_vars(labels))
    check_records(study, expected, tmp_path / "a.zarr", expand=expand)


def check_records(study: Study, expected: xr.Dataset, path: Path, *, expand: bool) -> None:
    layout, medium = Layout(study.grid(), expand=expand), medium_of(path)
    everywhere = expected.feasible if FEASIBLE in expected else None
    for tile in layout.tiles():
        part = layout.parts[tile.part]
        record = read_sealed(medium.get(f"{RECORDS}/{tile.name}"))
        assert record is not None
        cut = tuple(slice(*ends) for ends in zip(tile.low, tile.high, strict=True))
        flat = np.arange(math.prod(part.shape)).reshape(part.shape)[cut].reshape(-1)
        known = everywhere is None or set(everywhere.dims) <= set(part.dims)
        allowed = np.ones(flat.size, dtype=bool)
        if everywhere is not None and known:
            spread = xr.broadcast(everywhere, expected[part.outputs[0]])[0].transpose(*part.dims)
            allowed = spread.values[cut].reshape(-1)
        assert record["feasible"] == (int(allowed.sum()) if known else None)
        for name in part.outputs:
            values = expected[name].values[cut].reshape(-1)
            said = record["outputs"][name]
            if name == FEASIBLE:
                assert said == {"true": int(values.sum())}
            elif values.dtype.kind == "i":
                kinds, counts = np.unique(values, return_counts=True)
                assert said["values"] == {
                    str(k): int(n) for k, n in zip(kinds, counts, strict=True)
                }
            else:
                obvious(said, values, allowed, flat)


def obvious(said: dict[str, Any], values: Any, allowed: Any, flat: Any) -> None:
    """A summary, by sorting everything."""
    counted = [
        (float(v), int(place))
        for v, ok, place in zip(values, allowed, flat, strict=True)
        if ok and math.isfinite(v)
    ]
    assert said["finite"] == len(counted)
    assert said["smallest"] == [list(pair) for pair in sorted(counted)[:EXTREMES]]
    largest = sorted(counted, key=lambda pair: (-pair[0], pair[1]))[:EXTREMES]
    assert said["largest"] == [list(pair) for pair in largest]


@settings(max_examples=draws(60), deadline=None)
@given(
    values=st.lists(st.sampled_from(REAL) | st.integers(-40, 40).map(float), max_size=120),
    cuts=st.lists(st.integers(1, 50), min_size=1, max_size=6),
    marked=st.booleans(),
    fast=st.booleans(),
)
def test_summaries_piece_by_piece(
    values: list[float], cuts: list[int], marked: bool, fast: bool
) -> None:
    array = np.array(values, dtype=float)
    allowed = (np.arange(array.size) % 3 > 0) if marked else None
    summary, start = Summary(np.dtype(float), compiled=fast), 0
    for size in itertools.cycle(cuts):
        if start >= array.size:
            break
        piece = slice(start, start + size)
        summary.add(array[piece], start, None if allowed is None else allowed[piece])
        start += size
    everything = np.ones(array.size, dtype=bool) if allowed is None else allowed
    obvious(summary.tree(lambda places: places), array, everything, range(array.size))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("fast", [False, True])
def test_summaries_of_many_values(sign: float, fast: bool) -> None:
    draw = np.random.default_rng(3)
    for values in (draw.integers(0, 900, 9000).astype(float), np.arange(9000.0)):
        summary = Summary(np.dtype(float), compiled=fast)
        for start in range(0, 9000, 2500):
            summary.add(sign * values[start : start + 2500], start, None)
        ones = np.ones(9000, dtype=bool)
        obvious(summary.tree(lambda places: places), sign * values, ones, range(9000))


def test_a_seal_notices_every_flipped_bit() -> None:
    data = sealed({"tile": "0.1", "outputs": {"time": {"smallest": [[0.1, 3]]}}, "feasible": None})
    assert read_sealed(data) is not None
    for place in range(8 * len(data)):
        bad = bytearray(data)
        bad[place // 8] ^= 1 << (place % 8)
        assert read_sealed(bytes(bad)) is None


def test_the_checksum_is_crc32c() -> None:
    assert checksum(b"123456789") == 0xE3069283  # RFC 3720, appendix B.4: the check value
    assert checksum(b"456789", checksum(b"123")) == 0xE3069283


@settings(
    max_examples=draws(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    sizes=st.lists(st.integers(0, 9000) | st.integers(1, 5).map(lambda n: n * PAGE), max_size=8),
    dtype=st.sampled_from(["f8", "i1", "?"]),
    misplaced=st.integers(0, 8),
)
def test_what_is_appended_past_the_cache(
    sizes: list[int], dtype: str, misplaced: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces of any length, of memory where it should be but for one: all that was appended."""
    monkeypatch.setattr(sweeps.store.direct, "LEAST", 1)
    values = np.random.default_rng(5).integers(0, 2, sum(sizes)).astype(dtype)
    memory, origin = room(max(sizes, default=0), values.dtype), 0
    with (tmp_path / "a").open("wb", buffering=0) as file:
        appender = Appender(file.fileno())
        for number, size in enumerate(sizes):
            piece = within(memory, origin + (number == misplaced), size)
            piece[:] = values[origin : origin + size]
            appender.write(piece)
            origin += size
            piece[:] = 0  # the memory is used again
        appender.write(b"end")
        appender.finish()
    assert (tmp_path / "a").read_bytes() == values.tobytes() + b"end"


def test_what_the_system_does_not_take_past_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes nothing, or a part only: then the file is written as any other."""
    values = room(1 << 15, np.dtype(float))[: 1 << 15]
    values[:] = np.arange(values.size)

    def refuse(*_: object) -> int:
        raise OSError(errno.EINVAL, "not so")

    for instead in (refuse, lambda *_: PAGE):
        with monkeypatch.context() as patch, (tmp_path / "a").open("wb", buffering=0) as file:
            patch.setattr(os, "pwritev", instead)
            appender = Appender(file.fileno())
            appender.write(values)
            appender.finish()
        assert (tmp_path / "a").read_bytes() == values.tobytes()


# --- what is damaged, and what another began


@pytest.mark.parametrize("place", [0, 7, -TRAILER, -1])
def test_a_byte_of_a_chunk_or_of_its_trailer(place: int) -> None:
    """What a chunk ends in is told apart by itself, whether or not the list knows the chunk."""
    values = bytes(range(40))
    data = bytearray(values + trailer(checksum(values)))
    known = Held(place="a.zarr", files={"x/c.0": checksum(values)}, chunks={})
    unknown = Held(place="a.zarr", files={}, chunks={})
    for held in (known, unknown):
        assert held.problem("x/c.0", bytes(data)) is None
    data[place] ^= 16
    for held in (known, unknown):
        assert held.problem("x/c.0", bytes(data)) == "its checksum is another one"


@pytest.mark.parametrize("when", ["whole", "between the names", "exchanged", "unmarked"])
def test_an_exchange_that_was_begun_comes_to_its_end(when: str, tmp_path: Path) -> None:
    """A store built beside another, killed at each step: who claims the place finds it there."""
    place = medium_of(tmp_path / "a.zarr")
    beside = medium_of(place.beside())
    for medium, text in ((place, b"old"), (beside, b"new")):
        medium.create({"zarr.json": text})
    if when != "unmarked":
        beside.put(f"{HIDDEN}/grown", sealed({}))
    if when == "between the names":
        place.remove()
    elif when == "exchanged":
        place.swap(beside)
    with claimed(place):
        assert place.get("zarr.json") == (b"old" if when == "unmarked" else b"new")
        assert not begun(place)
        assert beside.exists() == (when == "unmarked")
