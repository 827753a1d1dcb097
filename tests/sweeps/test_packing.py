"""Compressed chunks: what any reader of Blosc reads, the same bytes however the values come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from numcodecs import blosc

import dse
import sweeps.store.decoded
import sweeps.store.layout
import sweeps.store.packing
from dse.cli import main
from sweeps.store.decoded import Packed
from sweeps.store.packing import Packer
from sweeps.store.reader import Stored
from symbolic.errors import DseError
from tests.long import draws, mostly_long
from tests.oracles.compare import identical

#: Twice the least bytes of a block of Blosc that is split.
SMALL = 1 << 17
SPEC: dict[str, Any] = {
    "model": "transit",
    "axes": {
        "threads": list(range(1, 41)),
        "mem_latency": list(range(100, 130)),
        "intensity": [1.0, 3.0, 20.0],
        "ms_peak": list(np.linspace(0.5, 2, 25)),
    },
    "set": {"lanes_width": 32},
    "where": ["threads * intensity >= 4"],
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sweeps.store.packing, "BLOCK", SMALL)
    sweeps.store.packing._flags.cache_clear()
    yield
    sweeps.store.packing._flags.cache_clear()


def values_of(kind: str, count: int, dtype: str) -> Any:
    """Values that repeat, that do not, that LZ4 makes longer."""
    draw = np.random.default_rng(count)
    width = np.dtype(dtype).itemsize
    if kind == "noise":
        return np.frombuffer(draw.bytes(count * width), dtype="i1" if width == 1 else dtype)
    if kind == "runs":
        return np.repeat(draw.integers(0, 2, count // 7 + 1), 7)[:count].astype(dtype)
    return draw.random(count).round(2).astype(dtype)


@settings(max_examples=draws(40), deadline=None)
@given(
    kind=st.sampled_from(["noise", "runs", "rounded"]),
    dtype=st.sampled_from(["<f8", "i1", "?"]),
    shuffled=st.booleans(),
    blocks=st.integers(0, 3),
    more=st.integers(1, 5000) | st.sampled_from([1, 15, SMALL]),
    cuts=st.lists(st.integers(1, 200_000), min_size=1, max_size=4),
    asked=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=4),
)
def test_packed_and_unpacked(
    kind: str,
    dtype: str,
    shuffled: bool,
    blocks: int,
    more: int,
    cuts: Sequence[int],
    asked: Sequence[tuple[float, float]],
) -> None:
    count = (blocks * SMALL + more) // np.dtype(dtype).itemsize + 1
    values = values_of(kind, count, dtype)
    whole = packed(values, [count], shuffled=shuffled)
    assert packed(values, cuts, shuffled=shuffled) == whole
    assert bytes(blosc.decompress(whole)) == values.tobytes()
    found = Packed(np.frombuffer(whole, dtype=np.uint8), values.dtype)
    for ends in asked:
        low, high = (int(end * (count - 1)) for end in sorted(ends))
        found.need(low, high + 1)
        assert found.values[low : high + 1].tobytes() == values[low : high + 1].tobytes()
    places = np.array([[int(end * (count - 1)) for end in sorted(ends)] for ends in asked])
    if places.size:
        found = Packed(np.frombuffer(whole, dtype=np.uint8), values.dtype)
        found.need(places[:, 0], places[:, 1] + 1)
        for low, high in places.tolist():
            assert found.values[low : high + 1].tobytes() == values[low : high + 1].tobytes()
    found.need(0, count)
    assert found.values.tobytes() == values.tobytes()


def packed(values: Any, cuts: Sequence[int], *, shuffled: bool) -> bytes:
    packer, start, number = Packer((values.size,), values.dtype, shuffled=shuffled), 0, 0
    parts: list[bytes] = []
    while start < values.size:
        size = cuts[number % len(cuts)]
        parts += packer.add(values[start : start + size])
        start, number = start + size, number + 1
    head = packer.head()
    assert len(head) == packer.ahead
    assert packer.length == len(head) + sum(map(len, parts))
    return head + b"".join(parts)


@pytest.mark.parametrize("expand", mostly_long([False, True], lambda k, _: k == 0))
def test_the_same_store_compressed_or_not(
    expand: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values, questions and growth, with chunks of several blocks of which few are kept."""
    monkeypatch.setattr(sweeps.store.decoded, "_memory", lambda: 1 << 21)
    study = dse.Study(**SPEC)
    memory = study.run(expand=expand)
    asked = {"maximize": "ms_throughput", "where": "cs_throughput <= 20", "top": 20}
    best = dse.optimum(memory, **asked)
    goals = {"minimize": "threads", "maximize": "ms_throughput"}
    front = dse.pareto(memory, **goals)
    sizes = {}
    for kind in ("lz4", "none"):
        path = tmp_path / f"{kind}.zarr"
        study.run(store=path, expand=expand, compression=kind).close()
        with xr.open_zarr(path, chunks=None) as plain:
            for name in memory.data_vars:
                np.testing.assert_array_equal(plain[name].values, memory[name].values)
        found = dse.optimum(path, **asked)
        identical(found.drop_attrs(), best.drop_attrs())
        identical(dse.pareto(path, **goals).drop_attrs(), front.drop_attrs())
        sizes[kind] = sum(file.stat().st_size for file in path.rglob("c.*") if file.is_file())
        assert not dse.verify(path).damages
        axes = {**SPEC["axes"], "threads": [*range(1, 41), 64]}
        larger = dse.Study(**{**SPEC, "axes": axes})
        larger.run(store=path, expand=expand, extend=True).close()
        larger.run(store=tmp_path / "calm.zarr", expand=expand, compression=kind, fresh=True)
        assert contents(path) == contents(tmp_path / "calm.zarr")
    assert sizes["lz4"] < sizes["none"] / 3
    store = Stored(str(tmp_path / "lz4.zarr"))
    assert store._chunks.packed
    whole = memory.ms_throughput.shape
    store.box("ms_throughput", [0] * len(whole), whole)
    assert store._chunks._weight <= 1 << 22


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_the_compression_of_a_store_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = {**SPEC, "axes": {"threads": [1, 2, 4], "mem_latency": [300.0, 600.0]}}
    study = dse.Study(**{**spec, "set": {"lanes_width": 32, "ms_peak": 1, "intensity": 8}})
    path = tmp_path / "a.zarr"
    study.run(store=path, compression="none")
    before = contents(path)
    study.run(store=path)
    assert contents(path) == before
    with pytest.raises(DseError, match="compressed by 'none', not 'lz4': give no compression"):
        study.run(store=path, compression="lz4")
    study.run(store=path, compression="lz4", fresh=True)
    assert contents(path) != before
    (path / ".simt-dse" / "identity").write_bytes(b"{}")
    next((path / ".simt-dse" / "tiles").iterdir()).unlink()
    assert dse.verify(path, repair=True).repaired
    assert not dse.verify(path).damages
    with pytest.raises(DseError, match="expected 'lz4' or 'none'"):
        study.run(store=path, compression="gzip")
    with pytest.raises(DseError, match="only a store is compressed"):
        study.run(compression="lz4")


def test_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(
        'model = "transit"\n[axes]\nthreads = [1, 2]\n[set]\nintensity = 10\nlanes_width = 32\n'
        "ms_peak = 1\nmem_latency = 600\n"
    )
    command = ["run", "study.toml", "--store", "a.zarr", "--compression"]
    assert CliRunner().invoke(main, [*command, "none"]).exit_code == 0
    said = CliRunner().invoke(main, [*command, "lz4"])
    assert (said.exit_code, "compressed by 'none'" in said.output) == (2, True)
