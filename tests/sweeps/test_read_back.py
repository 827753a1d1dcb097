"""Every chunk that is written is read by anybody's xarray: types, sizes, borders, any values."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from numcodecs import blosc

import dse
import sweeps.nest.run
import sweeps.store.packing
from sweeps.store.chunks import PackedChunk
from sweeps.store.earlier import mended
from sweeps.store.folder import Folder
from sweeps.store.packing import BLOCK, STREAM, Packer, block_of, codec
from sweeps.store.zarr_format import array_metadata, chunk_key, group_metadata, to_json
from symbolic.errors import DseError
from tests.long import mostly_long

#: Shapes of arrays and of their chunks, by the bytes of one value: below, at and above the borders
#: of blocks and streams, with blocks of whole trailing axes, with a last chunk that is cut short.
CUTS = [
    lambda n: ((1,), (1,)),
    lambda n: ((STREAM // n - 1,), (STREAM // n - 1,)),
    lambda n: ((STREAM // n + 1,), (STREAM // n + 1,)),
    lambda n: ((BLOCK // n,), (BLOCK // n,)),
    lambda n: ((BLOCK // n + 1,), (BLOCK // n + 1,)),
    lambda n: ((2 * BLOCK // n + 1,), (BLOCK // n + 7,)),
    lambda n: ((3, 300_000 // n), (3, 300_000 // n)),
    lambda n: ((2, 5, 40_000 // n), (1, 4, 40_000 // n)),
]


def values_of(kind: str, size: int, dtype: np.dtype[Any]) -> Any:
    draw = np.random.default_rng(size)
    if kind == "equal":
        return np.zeros(size, dtype)
    if kind == "few":
        return draw.integers(0, 2, size).astype(dtype)
    if dtype.kind == "b":
        return draw.random(size) < 0.5
    noise = draw.integers(-100, 100, size) + (draw.random(size) if dtype.kind == "f" else 0)
    if kind == "half":  # a block that cannot be compressed, before others that can
        noise[size // 2 :] = 0
    return noise.astype(dtype)


@pytest.mark.parametrize("dtype", mostly_long(["?", "i1", "<i2", "<f8"], lambda k, _: k % 3 == 0))
def test_plain_xarray_reads_what_is_written(dtype: str, tmp_path: Path) -> None:
    kind = np.dtype(dtype)
    folder, arrays, expected = Folder(tmp_path), {}, {}
    kinds = ["equal", "few", "half", "noise"]
    for number, (cut, values) in enumerate(itertools.product(CUTS, kinds)):
        shape, chunk = cut(kind.itemsize)
        name, array = f"a{number}", values_of(values, int(np.prod(shape)), kind).reshape(shape)
        shuffled = number % 3 != 0
        said = codec(block_of(chunk, kind.itemsize), kind.itemsize, shuffled=shuffled)
        dims = [f"d{number}{k}" for k in range(len(shape))]
        arrays[name] = array_metadata(shape, chunk, dims, kind, {}, [said])
        folder.put(f"{name}/zarr.json", to_json(arrays[name]))
        counts = [-(-n // step) for n, step in zip(shape, chunk, strict=True)]
        for place in itertools.product(*map(range, counts)):
            held = np.zeros(chunk, kind)
            low = [p * n for p, n in zip(place, chunk, strict=True)]
            piece = array[tuple(slice(a, a + n) for a, n in zip(low, chunk, strict=True))]
            held[tuple(map(slice, piece.shape))] = piece
            with folder.writing(f"{name}/{chunk_key(place)}", wait=False) as write:
                one = PackedChunk(write, chunk, kind, shuffled=shuffled)
                one.add(held.reshape(-1)[:1000])
                one.add(held.reshape(-1)[1000:])
                one.finish()
        expected[name] = array
    folder.put("zarr.json", to_json(group_metadata({}, arrays)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_zarr(tmp_path, chunks=None, mask_and_scale=False) as found:
            for name, array in expected.items():
                assert found[name].dtype == array.dtype
                np.testing.assert_array_equal(found[name].values, array)


def test_blocks_that_blosc_cuts_otherwise_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps.store.packing, "STREAM", 1 << 30)
    packer = Packer((4 * STREAM,), np.dtype(np.int8), shuffled=False)
    with pytest.raises(DseError, match=r"blocks of 262,144 bytes, not of 524,288"):
        packer.add(np.zeros(4 * STREAM, dtype=np.int8))


class _Earlier(Packer):
    """Packs as it was done before."""

    def _buffer(self, values: Any) -> bytes:
        found: bytes = self._compress(values, b"lz4", 5, self._shuffled, self._asked)
        return found


@pytest.mark.parametrize("shape", [(2 * STREAM + 5,), (5 * STREAM,), (3, 300_000), (4, 7, 40_001)])
@pytest.mark.parametrize("kind", ["equal", "few", "half", "noise"])
def test_chunks_as_they_were_packed_before(
    shape: tuple[int, ...], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = values_of(kind, int(np.prod(shape)), np.dtype(np.int8))
    monkeypatch.setattr(sweeps.store.packing, "STREAM", 1 << 30)
    packer = _Earlier(shape, values.dtype, shuffled=False)
    blocks = packer.add(values)
    before = np.frombuffer(packer.head() + b"".join(blocks), dtype=np.uint8)
    monkeypatch.undo()
    with pytest.raises(RuntimeError):
        blosc.decompress(before)
    now = mended(before)
    assert bytes(blosc.decompress(now)) == values.tobytes()
    assert mended(now) is now
    with pytest.raises(ValueError, match="cannot be unpacked"):
        mended(before[:-1])


def test_a_store_as_it_was_written_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions read it; `verify` says what nobody else can, and repairs it."""
    spec: dict[str, Any] = {
        "model": "transit",
        "axes": {"threads": list(range(1, 801)), "mem_latency": list(range(100, 1100))},
        "set": {"intensity": 10, "lanes_width": 32, "ms_peak": 0.7},
        "outputs": ["bound", "cs_transition"],
    }
    monkeypatch.setattr(sweeps.nest.run, "SMALL", 1 << 30)  # nothing is compiled
    monkeypatch.setattr(sweeps.nest.run, "SINGLE", 1 << 21)  # one tile
    study, asked = dse.Study(**spec), {"maximize": "threads", "where": "bound == 1"}
    study.run(store=tmp_path / "now.zarr").close()
    path = tmp_path / "a.zarr"
    with monkeypatch.context() as before:
        before.setattr(sweeps.store.packing, "STREAM", 1 << 30)
        before.setattr(Packer, "_buffer", _Earlier._buffer)
        study.run(store=path).close()
    with pytest.raises(RuntimeError), xr.open_zarr(path) as plain:
        plain.bound.load()
    expected = dse.best_config(dse.optimum(study.run(), **asked))
    assert dse.best_config(dse.optimum(path, **asked)) == expected
    found = dse.verify(path)
    assert "it cannot be unpacked" in [damage.problem for damage in found.damages]
    assert dse.verify(path, repair=True).repaired
    for file in (tmp_path / "now.zarr").rglob("*"):
        if file.is_file():
            assert (path / file.relative_to(tmp_path / "now.zarr")).read_bytes() == (
                file.read_bytes()
            )
