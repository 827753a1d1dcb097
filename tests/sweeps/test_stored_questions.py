"""Questions of a store: its study answers; a scan does where its model is not at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dse
import sweeps.store.layout
from dse import DseError, Study
from sweeps.grid.dataset import source_store
from symbolic.errors import InfeasibleError
from tests.long import draws
from tests.sweeps.asking_stores import compare as compare_stores
from tests.sweeps.test_run import STUDIES
from tests.sweeps.without_model import without_model

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
    """Many tiles of many chunks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps.store.layout, "TILE", 40)
        patch.setattr(sweeps.store.layout, "CHUNK", 12)
        FOLDER.append(tmp_path_factory.mktemp("stores"))
        yield
        FOLDER.clear()
        make_source.cache_clear()


FOLDER: list[Path] = []


@cache
def make_source(name: str, expand: bool) -> tuple[Path, Study, xr.Dataset]:
    """A store, its study, and the same Dataset in memory."""
    path = FOLDER[0] / f"{len(name)}{expand}.zarr"
    study = Study(**SPECS[name])
    study.run(store=path, expand=expand)
    return path, study, study.run(expand=expand)


def compare(name: str, expand: bool, ask: Callable[[Any], Any]) -> None:
    """A store answers as its study does; as a Dataset in memory where its model is not at hand."""
    path, study, memory = make_source(name, expand)
    assert answer(ask, path) == answer(ask, study)
    with without_model():
        assert answer(ask, path) == answer(ask, memory)


def answer(ask: Callable[[Any], Any], source: Any) -> Any:
    """The answer as plain lists; a text where there is none."""
    try:
        result = ask(source)
    except InfeasibleError as error:
        return str(error)
    attrs = {k: str(v) for k, v in result.attrs.items() if not k.startswith("points_")}
    return attrs | {
        name: (
            variable.dims,
            "text" if variable.dtype.kind in "OUT" else variable.dtype.kind,
            repr(variable.values.tolist()),
            sorted(variable.attrs),
        )
        for name, variable in result.variables.items()
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
    max_examples=draws(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@SLOW
@given(questions())
def test_the_best_is_that_of_a_full_scan(place: tuple[str, bool, dict[str, Any]]) -> None:
    name, expand, question = place
    compare(name, expand, lambda source: dse.optimum(source, **question))


@SLOW
@given(st.data())
def test_the_front_is_that_of_a_full_scan(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SPECS)))
    expand = data.draw(st.booleans())
    some = st.lists(st.sampled_from(GOALS[name]), max_size=2, unique=True)
    question = {"minimize": data.draw(some), "maximize": data.draw(some)}
    if not any(question.values()):
        question["minimize"] = GOALS[name][:1]
    question["where"] = data.draw(st.lists(st.sampled_from(WHERE[name]), max_size=1))
    compare(name, expand, lambda source: dse.pareto(source, **question))


@SLOW
@given(st.data())
def test_counts_are_those_of_a_full_scan(data: st.DataObject) -> None:
    """Counts, histograms and quantiles."""
    name, expand = data.draw(st.sampled_from(sorted(SPECS))), data.draw(st.booleans())
    quantity = data.draw(st.sampled_from(GOALS[name]))
    where = data.draw(st.lists(st.sampled_from(WHERE[name]), max_size=2, unique=True))
    asks: list[tuple[Any, dict[str, Any]]] = [
        (dse.count, {}),
        (dse.histogram, {"quantity": quantity, "bins": data.draw(st.integers(1, 30))}),
        (dse.histogram, {"quantity": quantity, "bins": [-1, 0, 0.3, 1, 20, 700]}),
        (dse.quantiles, {"quantity": quantity, "q": data.draw(st.sampled_from(SHARES))}),
    ]
    for ask, given_ in asks:
        compare(name, expand, partial(ask, **given_, where=where))


# --- what is no finished store


def test_a_dataset_as_it_was_opened_is_asked_like_its_store() -> None:
    path, _, memory = make_source("ties everywhere", False)
    lazy = dse.open(path)
    part = lazy[["bound", "ms_throughput"]]
    for ds in (lazy, part):  # only a study can be asked for a proof
        result = dse.optimum(ds, maximize="ms_throughput", method="certified")
        assert result.attrs["method"] == "certified"
        assert list(result.data_vars) == list(ds.data_vars)
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
        assert source_store(ds) is None, what
        best = partial(dse.optimum, maximize="cs_throughput", top=3)
        assert answer(best, ds) == answer(best, ds.load()), what
    values = dse.optimum(changed["other values"], maximize="cs_throughput").cs_throughput
    assert float(values) == -float(memory.cs_throughput.min())


def test_an_unfinished_store_says_so(tmp_path: Path) -> None:
    study = Study(**SPECS["ties everywhere"])
    path = tmp_path / "a.zarr"
    study.run(store=path)
    lazy = dse.open(path)
    (path / ".simt-dse" / "finished").unlink()
    for place in (path, lazy, dse.open(path)):
        with pytest.raises(
            DseError, match=r"is not finished .*\(dse run STUDY --store|since it was opened"
        ):
            dse.optimum(place, minimize="threads")
    assert dse.optimum(dse.open(path).load(), minimize="threads").threads == 1
    assert study.run(store=path).threads.size == 5
    assert dse.optimum(path, minimize="threads").threads == 1


def damage(path: Path, name: str) -> Path:
    """A file of a store in which one bit is another one."""
    file = path / name
    whole = file.read_bytes()
    file.write_bytes(whole[:9] + bytes([whole[9] ^ 1]) + whole[10:])
    return file


def test_the_study_of_a_damaged_store_answers(tmp_path: Path) -> None:
    study = Study(**SPECS["ties everywhere"])
    path = tmp_path / "a.zarr"
    study.run(store=path)
    damage(path, "ms_throughput/c.0.0.0")
    (path / "cs_throughput" / "c.0.0.0").unlink()
    for name in ("ms_throughput", "cs_throughput"):
        result, wanted = (dse.optimum(s, minimize=name, ties=True) for s in (path, study))
        xr.testing.assert_identical(result, wanted)


def test_a_scan_of_a_damaged_store_names_the_chunk(tmp_path: Path) -> None:
    study = Study(**SPECS["ties everywhere"])
    path = tmp_path / "a.zarr"
    study.run(store=path)
    chunk = damage(path, "ms_throughput/c.0.0.0")
    with (
        without_model(),
        pytest.raises(DseError, match=r"damaged: ms_throughput/c.*dse verify --repair"),
    ):
        dse.optimum(path, minimize="ms_throughput")
    chunk.unlink()
    with without_model(), pytest.raises(DseError, match=r"ms_throughput/c.*it is missing"):
        dse.quantiles(path, "ms_throughput", 0.5)


def test_a_store_whose_model_is_not_at_hand_takes_no_proof() -> None:
    path, _, _ = make_source("ties everywhere", False)
    with without_model(), pytest.raises(DseError, match="takes no method"):
        dse.optimum(path, minimize="threads", method="certified")


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
    study.run(store=url)
    for where in ((), "mem_latency > 0"):
        best = partial(dse.optimum, maximize="cs_throughput", where=where)
        assert answer(best, url) == answer(best, study)
        with without_model():
            assert answer(best, url) == answer(best, study.run())


def test_ties_are_listed_on_request() -> None:
    path, _, memory = make_source("ties everywhere", False)
    for place in (path, memory):
        result = dse.optimum(place, maximize="ms_throughput", where="mem_latency > 0", ties=True)
        assert result.ms_throughput.dims == ("tie",)
        best = memory.ms_throughput.where(memory.mem_latency > 0)
        assert result.sizes["tie"] == int((best == best.max()).sum()) > 1
    for place in (path, memory):  # the second, and all that are as good
        result = dse.optimum(place, maximize="ms_throughput", ties=True, top=2)
        assert result.ms_throughput.dims == ("rank",)
        assert result.sizes["rank"] == int(
            (memory.ms_throughput == result.ms_throughput[1]).sum()
        ) + (float(result.ms_throughput[0]) > float(result.ms_throughput[1]))


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_drawn_study_and_its_store_answer_alike(seed: int, tmp_path: Path) -> None:
    assert compare_stores(seed, tmp_path)[1] == ""
