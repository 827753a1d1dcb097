"""Questions of a store: the answers of a full scan, though little is read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dse
import sweeps.nest.run
import sweeps.store.cuts
import sweeps.store.layout
import sweeps.store.tiles
import sweeps.stored.blocks
import sweeps.stored.question
import sweeps.stored.rounds
from dse import DseError, Study
from sweeps.grid.dataset import opened_from, placed, quantities_of
from sweeps.store.cuts import Cut, cut_of
from sweeps.store.reader import Stored
from sweeps.store.zones import Ranges
from sweeps.stored.blocks import Blocks, points_cut
from symbolic.errors import InfeasibleError
from tests.long import draws
from tests.sweeps.test_run import STUDIES

SPECS: dict[str, dict[str, Any]] = {
    **{name: STUDIES[name] for name in ("switches and a zip", "machines, rules broken in parts")},
    "ties everywhere": {
        "model": "transit",
        "axes": {
            "threads": [1, 64, 128, 512, 1024],
            "mem_latency": [0, 600, 601],
            "intensity": [4, 8],
        },
        "set": {"lanes_width": 32, "ms_peak": 0.25},
        "outputs": ["ms_throughput", "cs_throughput", "bound"],
    },
}
SPECS["an axis along which nothing varies"] = {
    **SPECS["ties everywhere"],
    "axes": {**SPECS["ties everywhere"]["axes"], "supply": ["smooth", "sharp"]},
    "outputs": ["ms_transition"],
}
GOALS: dict[str, list[str]] = {
    "switches and a zip": [
        "ms_throughput",
        "cs_throughput",
        "bound",
        "ms_peak",
        "2",
        "log(0 * ms_peak)",
        "ms_throughput / mem_latency",
        "cs_throughput * threads - mem_latency",
    ],
    "machines, rules broken in parts": [
        "time",
        "mwp",
        "occupancy",
        "case * active_sms",
        "time * occupancy",
        "floor(mwp) - active_sms",
    ],
    "ties everywhere": ["ms_throughput", "cs_throughput", "bound", "threads", "1 / mem_latency"],
    "an axis along which nothing varies": ["ms_transition", "threads", "ms_transition / threads"],
}
WHERE: dict[str, list[str]] = {
    "switches and a zip": [
        "ms_throughput <= 0.2",
        "mem_latency >= 800",
        "bound == 1",
        "cs_throughput * 2 > intensity",
        "threads != 32",
        "ms_throughput > 9",
        "ms_throughput / intensity < 0.03 and 400 <= mem_latency",
    ],
    "machines, rules broken in parts": [
        "time <= 20 ms",
        "occupancy >= 0.5",
        "active_sms <= 12",
        "case == 1",
        "mwp * 2 > occupancy",
        "4 <= active_sms and time * occupancy <= 5 ms",
    ],
    "ties everywhere": [
        "ms_throughput >= 0.25",
        "mem_latency > 0",
        "cs_throughput < 1.5",
        "bound != 0",
        "1 / mem_latency > 0.001",
    ],
    "an axis along which nothing varies": ["ms_transition > 0", "threads >= 128"],
}


@pytest.fixture(autouse=True, scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Many tiles of many zones, blocks of few points, read a few at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps.nest.run, "SINGLE", 0)
        patch.setattr(sweeps.store.layout, "TILE", 40)
        patch.setattr(sweeps.store.tiles, "PIECE", 16)
        patch.setattr(sweeps.store.cuts, "ZONE", 12)
        patch.setattr(sweeps.store.cuts, "LEAST", 3)
        patch.setattr(sweeps.store.cuts, "FEW", 20)
        patch.setattr(sweeps.stored.blocks, "ZONE", 10)
        patch.setattr(sweeps.stored.rounds, "_FIRST", 1)
        patch.setattr(sweeps.stored.rounds, "_ROUND", 3)
        patch.setattr(sweeps.stored.rounds, "_BATCH", 25)
        patch.setattr(sweeps.stored.question, "_PASS", 50)
        patch.setattr(sweeps.stored.question, "_MANY", 1)
        FOLDER.append(tmp_path_factory.mktemp("stores"))
        yield
        FOLDER.clear()
        made.cache_clear()


FOLDER: list[Path] = []


@cache
def made(name: str, expand: bool) -> tuple[Path, xr.Dataset]:
    """A store, and the same Dataset in memory."""
    path = FOLDER[0] / f"{len(name)}{expand}.zarr"
    study = Study(**SPECS[name])
    study.run(store=path, expand=expand)
    return path, study.run(expand=expand)


def answered(ask: Any, **question: Any) -> Any:
    """The answer as plain lists; a text where there is none."""
    try:
        found = ask(**question)
    except InfeasibleError as error:
        return str(error)
    return {
        name: (
            variable.dims,
            "text" if variable.dtype.kind in "OUT" else variable.dtype.kind,
            repr(variable.values.tolist()),
            sorted(variable.attrs),
        )
        for name, variable in found.variables.items()
    }


def names_of(name: str) -> list[str]:
    return list(SPECS[name]["axes"])


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, bool, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(SPECS)))
    question: dict[str, Any] = {
        draw(st.sampled_from(["minimize", "maximize"])): draw(st.sampled_from(GOALS[name])),
        "where": draw(st.lists(st.sampled_from(WHERE[name]), max_size=2, unique=True)),
    }
    if draw(st.booleans()):
        question["per"] = draw(st.lists(st.sampled_from(names_of(name)), max_size=2, unique=True))
    question["top"] = draw(st.sampled_from([1, 1, 2, 5, 40]))
    if question["top"] == 1 and not question.get("per"):
        question["ties"] = draw(st.booleans())
    return name, draw(st.booleans()), question


SHARES: list[Any] = [0, 0.5, [0.1, 0.5, 0.9, 1], [0.25, 0.25]]

SLOW = settings(
    max_examples=draws(50),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@SLOW
@given(questions())
def test_the_best_is_that_of_a_full_scan(asked: tuple[str, bool, dict[str, Any]]) -> None:
    name, expand, question = asked
    path, memory = made(name, expand)
    found = answered(lambda **q: dse.optimum(path, **q), **question)
    assert found == answered(lambda **q: dse.optimum(memory, **q), **question)


@SLOW
@given(st.data())
def test_the_front_is_that_of_a_full_scan(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SPECS)))
    path, memory = made(name, data.draw(st.booleans()))
    some = st.lists(st.sampled_from(GOALS[name]), max_size=2, unique=True)
    question = {"minimize": data.draw(some), "maximize": data.draw(some)}
    if not any(question.values()):
        question["minimize"] = GOALS[name][:1]
    question["where"] = data.draw(st.lists(st.sampled_from(WHERE[name]), max_size=1))
    found = answered(lambda **q: dse.pareto(path, **q), **question)
    assert found == answered(lambda **q: dse.pareto(memory, **q), **question)


@SLOW
@given(st.data())
def test_counts_are_those_of_a_full_scan(data: st.DataObject) -> None:
    """How many, in which bins, and quantiles: with fewer blocks read than there are."""
    name = data.draw(st.sampled_from(sorted(SPECS)))
    path, memory = made(name, data.draw(st.booleans()))
    quantity = data.draw(st.sampled_from(GOALS[name]))
    where = data.draw(st.lists(st.sampled_from(WHERE[name]), max_size=2, unique=True))
    asks: list[tuple[Any, dict[str, Any]]] = [
        (dse.count, {}),
        (dse.histogram, {"quantity": quantity, "bins": data.draw(st.integers(1, 30))}),
        (dse.histogram, {"quantity": quantity, "bins": [-1, 0, 0.3, 1, 20, 700]}),
        (dse.quantiles, {"quantity": quantity, "q": data.draw(st.sampled_from(SHARES))}),
    ]
    for ask, given_ in asks:
        question = {**given_, "where": where}
        found = answered(lambda ask=ask, **q: ask(path, **q), **question)
        assert found == answered(lambda ask=ask, **q: ask(memory, **q), **question), question


def test_counts_read_little() -> None:
    path, memory = made("machines, rules broken in parts", True)
    sizes = memory.sizes
    for ask, given_ in (
        (dse.histogram, {"quantity": "active_sms", "bins": [0, 6.5, 40]}),
        (dse.quantiles, {"quantity": "time", "q": 0.01}),
    ):
        found = ask(path, **given_)
        assert 0 < found.attrs["points_skipped"] <= np.prod(list(sizes.values())), ask
    assert int(dse.count(str(path)).points) == np.prod(list(sizes.values()))


@settings(max_examples=draws(30), deadline=None)
@given(st.data())
def test_zones_hold_what_they_say(data: st.DataObject) -> None:
    """Piece by piece, by either way, for any cut: the least and largest of each box."""
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    chunk = [data.draw(st.integers(1, n)) for n in shape]
    cut = cut_of(shape, chunk)
    assert all(a <= b for a, b in zip(cut.zone, cut.chunk, strict=True))
    some = st.sampled_from([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan])
    size = int(np.prod(chunk))
    values = np.array(data.draw(st.lists(some, min_size=size, max_size=size)))
    allowed = np.arange(size) % 3 > 0 if data.draw(st.booleans()) else None
    held = []
    for compiled in (False, True):
        ranges, step = Ranges(cut, values.dtype, compiled=compiled), data.draw(st.integers(1, 9))
        for start in range(0, size, step):
            piece = slice(start, start + step)
            ranges.add(values[piece], start, None if allowed is None else allowed[piece])
        held.append(ranges.text())
    assert held[0] == held[1]
    low, high, undefined = ranges.arrays()
    counted = np.where(allowed, values, 7e7) if allowed is not None else values
    boxes = itertools.product(*(range(n) for n in cut.cells))
    for place, box in enumerate(boxes):
        ends = tuple(slice(p * n, p * n + n) for p, n in zip(box, cut.zone, strict=True))
        inside = counted.reshape(chunk)[ends].reshape(-1)
        inside = inside[inside != 7e7]
        numbers = inside[~np.isnan(inside)]
        assert low[place] == numbers.min(initial=np.inf)
        assert high[place] == numbers.max(initial=-np.inf)
        assert undefined[place] == (numbers.size < inside.size)


@settings(max_examples=draws(60), deadline=None)
@given(st.data())
def test_blocks_are_bounded_by_the_zones_they_touch(data: st.DataObject) -> None:
    names = ["a", "b", "c"][: data.draw(st.integers(1, 3))]
    axes = {name: data.draw(st.integers(1, 9)) for name in names}
    dims = [name for name in names if data.draw(st.booleans())]
    shape = tuple(axes[name] for name in dims)
    chunk = [data.draw(st.integers(1, n)) for n in shape]
    zone = [data.draw(st.integers(1, n)) for n in chunk]
    cut = Cut(shape, tuple(chunk), tuple(zone))
    values = np.random.default_rng(1).random(shape)
    zones = np.full(cut.counts, -1.0)
    for place in np.ndindex(*shape):
        at = tuple(int(cut.along(k)[i]) for k, i in enumerate(place))
        zones[at] = max(zones[at], values[place])
    blocks = Blocks(axes)
    found = np.broadcast_to(blocks.reduced(zones, dims, cut, np.maximum, -1.0), blocks.grid)
    exact = blocks.reduced(values, dims, points_cut(shape), np.maximum, -1.0)
    whole = np.broadcast_to(
        values.reshape([axes[n] if n in dims else 1 for n in names]), tuple(axes.values())
    ).reshape(-1)
    numbers = np.arange(blocks.count)
    starts = blocks.starts(numbers, names)
    assert starts.tolist() == sorted(starts.tolist())
    for number, start, end in zip(numbers, starts, [*starts[1:], whole.size], strict=True):
        place = np.unravel_index(number, blocks.grid)
        assert np.broadcast_to(exact, blocks.grid)[place] == whole[start:end].max()
        assert found[place] >= whole[start:end].max()


# --- what is no finished store


def test_little_is_read(tmp_path: Path) -> None:
    path, memory = made("machines, rules broken in parts", True)
    found = dse.optimum(path, minimize="time", where="occupancy >= 0.5", top=3)
    assert found.attrs["method"] == "stored"
    assert found.attrs["blocks_read"] < found.attrs["blocks"] / 4
    assert (
        found.time.values.tolist()
        == dse.optimum(
            memory, minimize="time", where="occupancy >= 0.5", top=3
        ).time.values.tolist()
    )


def test_a_dataset_as_it_was_opened_is_asked_like_its_store() -> None:
    path, memory = made("ties everywhere", False)
    lazy = dse.open(path)
    assert dse.optimum(lazy, maximize="cs_throughput").attrs["method"] == "stored"
    assert dse.pareto(lazy, minimize="threads").attrs["method"] == "stored"
    part = lazy[["bound", "ms_throughput"]]
    found = dse.optimum(part, maximize="ms_throughput")
    assert found.attrs["method"] == "stored"
    assert list(found.data_vars) == ["bound", "ms_throughput"]
    changed = {
        "a part": lazy.isel(threads=slice(1, 3)),
        "one value": lazy.isel(threads=0),
        "the other way round": lazy.isel(threads=slice(None, None, -1)),
        "other values": lazy.assign(cs_throughput=-lazy.cs_throughput),
        "another name": lazy.rename(cs_throughput="ms_throughput", ms_throughput="cs_throughput"),
        "other coordinates": lazy.assign_coords(threads=[5, 4, 3, 2, 1]),
        "one more": lazy.assign(cost=lazy.threads * 2),
        "loaded": lazy.copy().load(),
    }
    for what, ds in changed.items():
        assert opened_from(ds) is None, what
        found = answered(lambda ds=ds, **q: dse.optimum(ds, **q), maximize="cs_throughput", top=3)
        expected = answered(
            lambda ds=ds, **q: dse.optimum(ds.load(), **q), maximize="cs_throughput", top=3
        )
        assert found == expected, what
    values = dse.optimum(changed["other values"], maximize="cs_throughput").cs_throughput
    assert float(values) == -float(memory.cs_throughput.min())


def test_an_unfinished_store_says_so(tmp_path: Path) -> None:
    study = Study(**SPECS["ties everywhere"])
    path = tmp_path / "a.zarr"
    study.run(store=path)
    lazy = dse.open(path)
    (path / ".simt-dse" / "zones").unlink()
    for asked in (path, lazy, dse.open(path)):
        with pytest.raises(DseError, match=r"is not finished .*\(dse run STUDY --store"):
            dse.optimum(asked, minimize="threads")
    assert dse.optimum(dse.open(path).load(), minimize="threads").threads == 1
    assert study.run(store=path).threads.size == 5
    assert dse.optimum(path, minimize="threads").attrs["method"] == "stored"


def test_damage_is_told(tmp_path: Path) -> None:
    study = Study(**SPECS["ties everywhere"])
    path = tmp_path / "a.zarr"
    study.run(store=path)
    zones, chunk = path / ".simt-dse" / "zones", path / "ms_throughput" / "c.0.0.0"
    for file, asked in ((chunk, "ms_throughput"), (zones, "threads")):
        whole = file.read_bytes()
        file.write_bytes(whole[:9] + bytes([whole[9] ^ 1]) + whole[10:])
        with pytest.raises(DseError, match=r"damaged.*dse verify --repair"):
            dse.optimum(path, minimize=asked)
        assert file.relative_to(path).as_posix() in {d.file for d in dse.verify(path).damages}
        assert dse.verify(path, repair=True).repaired
        assert file.read_bytes() == whole
        dse.optimum(path, minimize=asked)
    chunk.unlink()
    other = tmp_path / "b.zarr"
    path.rename(other)
    with pytest.raises(DseError, match="it is missing"):
        dse.optimum(other, minimize="ms_throughput")


def test_a_store_written_anew_is_read_anew(tmp_path: Path) -> None:
    spec = SPECS["ties everywhere"]
    Study(**spec).run(store=tmp_path / "a.zarr")
    first = dse.optimum(tmp_path / "a.zarr", maximize="threads")
    axes = {**spec["axes"], "threads": [1, 2]}
    Study(**{**spec, "axes": axes}).run(store=tmp_path / "a.zarr", fresh=True)
    second = dse.optimum(tmp_path / "a.zarr", maximize="threads")
    assert (int(first.threads), int(second.threads)) == (1024, 2)


def test_a_url() -> None:
    url = "memory://sweeps/questions.zarr"
    study = Study(**SPECS["ties everywhere"])
    memory = study.run()
    study.run(store=url)
    for where in ((), "mem_latency > 0"):
        found = answered(lambda **q: dse.optimum(url, **q), maximize="cs_throughput", where=where)
        assert found == answered(
            lambda **q: dse.optimum(memory, **q), maximize="cs_throughput", where=where
        )


def test_a_chunk_stays_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code holds addresses: threads that map a chunk at once must agree on one."""
    path, _ = made("ties everywhere", False)
    store, both = Stored(str(path))._chunks, Barrier(2)
    mapped = store._bytes

    def together(key: str) -> Any:
        both.wait(10)
        return mapped(key)

    monkeypatch.setattr(store, "_bytes", together)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: store.get("ms_throughput", 0), range(2))
    assert first is second is store.get("ms_throughput", 0)


def test_a_store_is_described_without_xarray_as_with_it(tmp_path: Path) -> None:
    axes: dict[str, Any] = {
        "machine": ["gtx280", "8800gt"],
        "threads_per_block": [64, 128],
        "pair": {"zip": {"core_clock": ["1 GHz", "1.2 GHz"], "active_sms": [10, 20]}},
    }
    path = tmp_path / "out.zarr"
    ds = Study(model="occupancy + mwp_cwp", workload="svm", axes=axes).run(store=path)
    store = Stored(str(path))
    assert store.attrs == ds.attrs
    assert store.axes == {axis: ds.sizes[axis] for axis in ds.attrs["axes"].split()}
    assert store.quantities == quantities_of(placed(ds))
    assert store.outputs == {name: one.attrs for name, one in ds.data_vars.items()}
    assert store._types == {name: one.dtype for name, one in ds.data_vars.items()}
    assert store.coordinates.keys() == set(ds.coords)
    for name, (axis, values, attrs) in store.coordinates.items():
        assert ((axis,), attrs) == (ds[name].dims, ds[name].attrs)
        assert values.dtype == ds[name].dtype
        np.testing.assert_array_equal(values, ds[name].values)


def test_ties_are_listed_on_request() -> None:
    path, memory = made("ties everywhere", False)
    for asked in (path, memory):
        found = dse.optimum(asked, maximize="ms_throughput", where="mem_latency > 0", ties=True)
        assert found.ms_throughput.dims == ("tie",)
        best = memory.ms_throughput.where(memory.mem_latency > 0)
        assert found.sizes["tie"] == int((best == best.max()).sum()) > 1
    for asked in (path, memory):  # the second, and all that are as good
        found = dse.optimum(asked, maximize="ms_throughput", ties=True, top=2)
        assert found.ms_throughput.dims == ("rank",)
        assert found.sizes["rank"] == int(
            (memory.ms_throughput == found.ms_throughput[1]).sum()
        ) + (float(found.ms_throughput[0]) > float(found.ms_throughput[1]))
