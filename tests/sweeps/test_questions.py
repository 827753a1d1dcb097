"""Questions of a Study, of its Dataset, and of a list of dictionaries have one answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
import sweeps.nest.emit
import sweeps.nest.run
import sweeps.nest.tiles
import sweeps.runtime.resources
import sweeps.scan.optimum
from dse import DseError, Study
from symbolic.errors import InfeasibleError, UnitError, UnknownNameError
from tests.long import draws, long, mostly_long
from tests.oracles import brute
from tests.oracles.brute import Record
from tests.oracles.compare import identical

SLOW = settings(max_examples=draws(40), deadline=None)
AXES: dict[str, Any] = {
    "active_sms": [4, 12, 16, 20, 31],
    "rounding": ["whole", "continuous"],
    "threads_per_block": [32, 64, 128, 640],
    "machine": ["8800gt", "gtx280"],
    "core_clock": ["1 GHz", "1.3 GHz"],
}
SPEC: dict[str, Any] = {
    "model": "mwp_cwp",
    "workload": "sepia",
    "axes": AXES,
    "set": {"active_blocks_per_sm": 2, "max_threads_per_block": 512},
    "outputs": ["time", "mwp", "case", "total_cycles"],
}


@cache
def _study() -> Study:
    return Study(**SPEC)


@cache
def _run() -> xr.Dataset:
    return _study().run()


@cache
def _records() -> list[Record]:
    return brute.records(_run(), list(AXES))


@pytest.fixture
def study() -> Study:
    return _study()


@pytest.fixture
def ds() -> xr.Dataset:
    return _run()


@pytest.fixture
def records() -> list[Record]:
    return _records()


@dataclass(frozen=True)
class Objective:
    """A formula, and the same in Python."""

    text: str
    of: Callable[[Record], float]

    def __repr__(self) -> str:
        return self.text


OBJECTIVES = [
    Objective("time", lambda r: r["time"]),
    Objective("mwp", lambda r: r["mwp"]),
    Objective("case", lambda r: r["case"]),  # few values: ties everywhere
    Objective("active_sms", lambda r: r["active_sms"]),  # an axis
    Objective("time * core_clock", lambda r: r["time"] * r["core_clock"]),
    Objective("case * 100 + 27", lambda r: r["case"] * 100.0 + 27),  # beyond a small integer
    Objective("log(mwp - 2)", lambda r: math.log(r["mwp"] - 2) if r["mwp"] > 2 else math.nan),
    Objective("1 / (case - 2)", lambda r: 1 / (r["case"] - 2) if r["case"] != 2 else math.inf),
    Objective("0 * case + 5", lambda r: 5.0),  # a tie of all
]
WHERE: list[tuple[list[str], Callable[[Record], bool]]] = [
    ([], lambda r: True),
    (["time <= 30 us"], lambda r: r["time"] <= 30 * 1e-6),
    (["core_clock > 1.2 GHz", "mwp < 9"], lambda r: r["core_clock"] > 1.2e9 and r["mwp"] < 9),
    (["active_sms >= 20 or case == 1"], lambda r: r["active_sms"] >= 20 or r["case"] == 1),
    (
        ["threads_per_block == 32 and active_sms == 16"],
        lambda r: r["threads_per_block"] == 32 and r["active_sms"] == 16,
    ),
]
PER = st.lists(st.sampled_from(list(AXES)), unique=True, max_size=5)


def comparable(best: xr.Dataset) -> xr.Dataset:
    return best.drop_attrs()


def ask(
    study: Study,
    ds: xr.Dataset,
    records: list[Record],
    objective: Objective,
    sense: str,
    where: tuple[list[str], Callable[[Record], bool]],
    per: list[str],
    top: int,
) -> None:
    sign = 1 if sense == "minimize" else -1
    axes_left = [axis for axis in AXES if axis in per]
    expected = brute.best(
        records, lambda r: sign * objective.of(r), allowed=where[1], per=axes_left, top=top
    )
    question: dict[str, Any] = {sense: objective.text, "where": where[0], "per": per, "top": top}
    if not expected:
        with pytest.raises(InfeasibleError):
            study.optimum(**question)
        with pytest.raises(InfeasibleError):
            dse.optimum(ds, **question)
        return
    for answer in (study.optimum(**question), dse.optimum(ds, **question)):
        brute.same_answer(answer, expected, ds, per=axes_left)
        assert ("rank" in answer.sizes) == (top > 1)
        if top > 1:
            most = max(map(len, expected.values()))
            assert answer.sizes["rank"] == (top if axes_left else most)
            assert answer["rank"].values.tolist() == list(range(1, answer.sizes["rank"] + 1))
        assert answer.attrs["question"] == f"{sense} {objective.text}"
        if objective.text not in ds.variables:
            for place, winners in expected.items():
                at: dict[Any, int] = dict(zip(axes_left, place, strict=True))
                first = answer["objective"].isel({**at, **({"rank": 0} if top > 1 else {})})
                assert float(first) == pytest.approx(objective.of(winners[0]), rel=1e-14)


@SLOW
@given(
    objective=st.sampled_from(OBJECTIVES),
    sense=st.sampled_from(["minimize", "maximize"]),
    where=st.sampled_from(WHERE),
    per=PER,
    top=st.sampled_from([1, 1, 2, 3, 500]),
)
def test_optimum(objective: Objective, sense: str, where: Any, per: list[str], top: int) -> None:
    ask(_study(), _run(), _records(), objective, sense, where, per, top)


@pytest.fixture
def scan_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions of a study by nests, in many tiles, in pieces of rows of 16."""
    monkeypatch.setattr(sweeps.nest.tiles, "NUMPY_POINTS", 0)
    monkeypatch.setattr(sweeps.scan.optimum, "REDUCED_TILE", 24)
    monkeypatch.setattr(sweeps.nest.tiles, "TILE_POINTS", 24)
    monkeypatch.setattr(sweeps.nest.tiles, "_MIN_TILES", 1)  # bounds are asked of all tiles
    monkeypatch.setattr(sweeps.nest.emit, "ROW_PIECE", 16)
    monkeypatch.setattr(sweeps.nest.emit, "_ACCEPTABLE_ROW", 4)
    monkeypatch.setattr(sweeps.runtime.resources, "cpu_count", lambda: 3)


@pytest.mark.usefixtures("scan_fused")
@pytest.mark.parametrize(
    ("objective", "sense", "where", "per", "top"),
    mostly_long(
        [
            (0, "minimize", 0, [], 1),
            (0, "minimize", 0, [], 500),
            (0, "maximize", 1, ["rounding"], 3),
            (2, "maximize", 3, ["machine", "active_sms"], 2),
            (2, "minimize", 3, [], 7),
            (6, "minimize", 0, ["threads_per_block"], 1),
            (7, "maximize", 0, [], 4),
            (8, "minimize", 2, list(AXES), 1),
            (8, "maximize", 2, [], 3),
            (4, "minimize", 4, ["core_clock"], 2),
        ],
        lambda k, _: k in (3, 7),
    ),
)
def test_optimum_by_a_fused_nest(
    study: Study,
    ds: xr.Dataset,
    records: list[Record],
    objective: int,
    sense: str,
    where: int,
    per: list[str],
    top: int,
) -> None:
    ask(study, ds, records, OBJECTIVES[objective], sense, WHERE[where], per, top)


@pytest.mark.parametrize("top", [1, 3])
@pytest.mark.parametrize("block", [1, 200])
@pytest.mark.parametrize("per", [["threads_per_block"], ["machine", "active_sms"], ["active_sms"]])
def test_many_short_rankings_in_blocks(
    monkeypatch: pytest.MonkeyPatch, per: list[str], block: int, top: int
) -> None:
    expected = Study(**SPEC).optimum(minimize="time", per=per, top=top)
    points = Study(**SPEC).plan().points
    monkeypatch.setattr(
        sweeps.nest.tiles, "NUMPY_POINTS", points - 1
    )  # more points, and fewer in a ranking
    monkeypatch.setattr(sweeps.scan.optimum, "BLOCK", block)
    calls = []
    whole = sweeps.scan.optimum._top_k_in_blocks
    monkeypatch.setattr(
        sweeps.scan.optimum, "_top_k_in_blocks", lambda *a: calls.append(a) or whole(*a)
    )
    identical(Study(**SPEC).optimum(minimize="time", per=per, top=top), expected)
    assert calls


@pytest.mark.usefixtures("scan_fused")
@pytest.mark.parametrize("top", [1, 4])
@pytest.mark.parametrize("tile", [24, 1 << 24])
def test_a_tie_goes_to_the_lowest_place_though_the_row_is_cut(
    top: int, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pieces of a row come one after another: a later piece holds lower places."""
    monkeypatch.setattr(sweeps.scan.optimum, "REDUCED_TILE", tile)
    study = Study(
        model="transit",
        axes={"intensity": [10, 30], "mem_latency": [600, 700], "threads": np.arange(1.0, 101)},
        set={"lanes_width": 32, "ms_peak": 1},
        outputs=["bound"],
    )
    question = {
        "minimize": "0 * mem_latency + 0 * intensity - min(threads, 12)",
        "where": "threads >= 50 or intensity >= 30",
        "top": top,
    }
    best = study.optimum(**question)
    stored = dse.optimum(study.run(), **question)
    for name in stored.variables:
        assert np.array_equal(best[name].values, stored[name].values), name
    first = best.isel(rank=0) if top > 1 else best
    assert (float(first.intensity), float(first.threads)) == (10.0, 50.0)


@long
@pytest.mark.usefixtures("scan_fused")
def test_fused_and_not_answer_alike_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    question: dict[str, Any] = {"minimize": "time / mwp", "per": ["machine"], "top": 3}
    fused_answer = Study(**SPEC).optimum(**question)
    monkeypatch.setattr(sweeps.runtime.resources, "cpu_count", lambda: 1)
    identical(fused_answer, Study(**SPEC).optimum(**question))
    monkeypatch.setattr(sweeps.nest.tiles, "NUMPY_POINTS", 1 << 30)
    assert fused_answer.attrs["points_skipped"] > 0
    unskipped = fused_answer.assign_attrs(tiles_skipped=0, points_skipped=0)
    identical(unskipped, Study(**SPEC).optimum(**question))


def test_the_whole_answer(study: Study) -> None:
    best = study.optimum(minimize="time")
    assert set(map(str, best.coords)) == set(AXES)
    assert list(map(str, best.data_vars)) == ["time", "mwp", "case", "total_cycles", "feasible"]
    assert best.time.attrs["units"] == "s"
    assert best.core_clock.attrs["units"] == "Hz"
    assert best.case.attrs["flag_meanings"].startswith("not_enough_warps")
    config = dse.best_config(best)
    assert config["machine"] == str(best.machine.values)
    assert isinstance(config["active_sms"], int)
    point = {name: config[name] for name in AXES}
    assert study.explain(**point)["time"].value == config["time"]


def test_an_objective_that_is_no_output_is_reported(study: Study) -> None:
    best = study.optimum(minimize="cwp")
    assert {"cwp", "time"} <= set(best.data_vars)
    again = study.optimum(minimize="time", where="cwp < 30")
    assert float(again.time) >= float(study.optimum(minimize="time").time)


def test_slices_without_a_feasible_point_hold_nothing(study: Study, ds: xr.Dataset) -> None:
    """31 SMs are more than these machines have; 640 threads more than a block may have."""
    for best in (
        study.optimum(minimize="time", per=["active_sms", "threads_per_block"]),
        dse.optimum(ds, minimize="time", per=["active_sms", "threads_per_block"]),
    ):
        assert best.time.dims == ("active_sms", "threads_per_block")
        assert np.isnan(best.time.sel(active_sms=31)).all()
        assert np.isnan(best.time.sel(threads_per_block=640)).all()
        assert (best.case.sel(active_sms=31) == -1).all()
        assert (best.machine.sel(active_sms=31) == "").all()
        assert np.isnan(best.core_clock.sel(active_sms=31)).all()
        assert not best.feasible.sel(active_sms=31).any()
        assert best.time.sel(active_sms=4, threads_per_block=32) > 0
        assert best.active_sms.values.tolist() == AXES["active_sms"]


def test_axes_that_do_not_matter_stand_at_their_first(study: Study, ds: xr.Dataset) -> None:
    for best in (study.optimum(minimize="mwp", where="time > 0"), dse.optimum(ds, minimize="mwp")):
        assert best.sizes == {}
    idle = Study(
        model="transit",
        axes={"lanes_width": [64, 8], "threads": [5, 500]},
        set={"intensity": 4, "ms_peak": 1, "mem_latency": 100},
    )
    best = idle.optimum(maximize="thread_limit")
    assert (int(best.lanes_width), int(best.threads)) == (64, 500)
    per = idle.optimum(maximize="thread_limit", per="lanes_width")
    assert per.threads.values.tolist() == [500, 500]


def test_without_axes() -> None:
    spec: dict[str, Any] = {"threads": 64, "intensity": 4, "ms_peak": 1, "lanes_width": 8}
    single = Study(model="transit", set={**spec, "mem_latency": 100})
    for top in (1, 3):
        best = single.optimum(maximize="ms_throughput", top=top)
        identical(
            comparable(best),
            comparable(dse.optimum(single.run(), maximize="ms_throughput", top=top)),
        )
        assert float(best.ms_throughput.item()) == 64 / 104
    assert single.pareto(minimize="ms_throughput").ms_throughput.values.tolist() == [64 / 104]
    with pytest.raises(UnknownNameError, match="per = 'threads' is no axis"):
        single.optimum(minimize="bound", per="threads")


def test_infinite_objectives_do_not_count() -> None:
    spec: dict[str, Any] = {
        "model": "mwp_cwp",
        "machine": "gtx280",
        "workload": "svm",
        "axes": {"coalesced_insts": [0, 10, 20], "uncoalesced_insts": [0, 1]},
        "set": {"threads_per_block": 128, "active_blocks_per_sm": 4},
        "outputs": ["mwp_without_bw_full"],
    }
    study = Study(**spec)
    values = study.run().mwp_without_bw_full
    assert np.isinf(values[0, 0])
    for answer in (
        study.optimum(maximize="mwp_without_bw_full"),
        dse.optimum(study.run(), maximize="mwp_without_bw_full"),
    ):
        assert float(answer.mwp_without_bw_full) == float(values.where(values < math.inf).max())


@long
def test_an_infinite_objective_does_not_count_in_a_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps.nest.tiles, "NUMPY_POINTS", 0)
    test_infinite_objectives_do_not_count()


# --- Pareto

FRONTS: list[dict[str, Any]] = [
    {"minimize": ["time", "active_sms"]},
    {"minimize": ["time"], "maximize": ["mwp"]},
    {"minimize": ["case", "active_sms"], "maximize": "threads_per_block"},
    {"minimize": ["time", "active_sms", "core_clock"], "where": "mwp < 9"},
    {"maximize": ["case", "0 * case + 5"]},
    {"minimize": ["log(mwp - 2)", "active_sms"]},
    {"minimize": "time"},
]


def front_of(records: list[Record], question: dict[str, Any]) -> list[Record]:
    named = {o.text: o.of for o in OBJECTIVES} | {
        "threads_per_block": lambda r: r["threads_per_block"],
        "core_clock": lambda r: r["core_clock"],
    }
    objectives: list[Callable[[Record], float]] = []
    for sense, sign in (("minimize", 1), ("maximize", -1)):
        texts = question.get(sense, [])
        listed = [texts] if isinstance(texts, str) else texts
        objectives += [lambda r, f=named[text], s=sign: s * f(r) for text in listed]
    allowed = (lambda r: r["mwp"] < 9) if "where" in question else (lambda r: True)
    rows = brute.counting(records, objectives, allowed)
    return [rows[i][1] for i in brute.pareto([scores for scores, _ in rows])]


@pytest.mark.parametrize("question", FRONTS, ids=str)
def test_pareto(
    question: dict[str, Any], study: Study, ds: xr.Dataset, records: list[Record]
) -> None:
    expected = front_of(records, question)
    for answer in (study.pareto(**question), dse.pareto(ds, **question)):
        assert answer.sizes == {"point": len(expected)}
        for name in [str(name) for name in ds.variables]:
            assert answer[name].dims == ("point",)
            assert answer[name].dtype == ds[name].dtype
            for place, record in enumerate(expected):
                assert brute.equal(answer[name].values[place].item(), record[name]), name


@long
@pytest.mark.usefixtures("scan_fused")
@pytest.mark.parametrize("question", [FRONTS[2], FRONTS[3]], ids=str)
def test_pareto_by_nests(
    question: dict[str, Any], study: Study, ds: xr.Dataset, records: list[Record]
) -> None:
    answer = Study(**SPEC).pareto(**question)
    identical(comparable(answer), comparable(dse.pareto(ds, **question)))
    assert answer.sizes["point"] == len(front_of(records, question))


def test_pareto_of_nothing(study: Study, ds: xr.Dataset) -> None:
    with pytest.raises(InfeasibleError, match="no feasible point has finite objectives"):
        study.pareto(minimize=["log(0 - mwp)", "time"])
    with pytest.raises(InfeasibleError, match=r"no point with a finite log\(0 - mwp\), time"):
        dse.pareto(ds, minimize=["log(0 - mwp)", "time"])
    with pytest.raises(InfeasibleError, match="satisfies 'time < 0 s': relax them"):
        dse.pareto(ds, minimize="time", where="time < 0 s")


# --- Datasets as they come


def test_stored_datasets(ds: xr.Dataset, tmp_path: Path) -> None:
    question: dict[str, Any] = {
        "minimize": "time * core_clock",
        "where": "case == 2",
        "per": "machine",
        "top": 4,
    }
    best = comparable(dse.optimum(ds, **question))
    front = comparable(dse.pareto(ds, minimize=["time", "active_sms"]))
    for ending in ("zarr", "nc", "csv", "parquet"):
        path = dse.export(ds, tmp_path / f"run.{ending}")
        stored = dse.open(path)
        again = comparable(dse.optimum(stored, **question))
        for name in best.variables:
            assert np.array_equal(again[name].values, best[name].values), (ending, name)
        again = comparable(dse.pareto(stored, minimize=["time", "active_sms"]))
        for name in front.variables:
            assert np.array_equal(again[name].values, front[name].values), (ending, name)
        stored.close()


def test_a_chunked_dataset(ds: xr.Dataset) -> None:
    chunked = ds.chunk({"active_sms": 2, "threads_per_block": 3})
    question: dict[str, Any] = {"maximize": "mwp", "per": ["core_clock"], "top": 3}
    identical(dse.optimum(chunked, **question), dse.optimum(ds, **question))


def test_the_order_of_the_axes_is_that_of_the_study(ds: xr.Dataset) -> None:
    """Whatever the order of dimensions in a variable or in the Dataset, ties go the same way."""
    turned = ds.transpose("core_clock", "machine", "threads_per_block", "rounding", "active_sms")
    turned = xr.Dataset(
        {name: turned[name] for name in reversed(list(turned.data_vars))},
        coords={name: turned[name] for name in reversed(list(turned.coords))},
        attrs=ds.attrs,
    )
    assert list(turned.sizes) != list(ds.sizes)
    question: dict[str, Any] = {"minimize": "case", "per": ["core_clock"], "top": 5}
    expected = dse.optimum(ds, **question)
    result = dse.optimum(turned, **question)
    for name in expected.variables:
        assert np.array_equal(result[name].values, expected[name].values), name
    mixed = ds.assign(time=ds.time.transpose(*reversed(ds.time.dims)))
    best = dse.optimum(mixed, minimize="time + 0 s * case")
    assert float(best.time) == float(ds.time.where(ds.feasible).min())
    front = dse.pareto(turned, minimize=["case", "active_sms"])
    for name, variable in dse.pareto(ds, minimize=["case", "active_sms"]).variables.items():
        assert np.array_equal(front[name].values, variable.values), name


def test_part_of_a_dataset(ds: xr.Dataset, records: list[Record]) -> None:
    part = ds.isel(active_sms=2, machine=[1]).sel(threads_per_block=[64, 32])
    best = dse.optimum(part, minimize="time", top=3)
    listed = brute.records(part, ["rounding", "threads_per_block", "machine", "core_clock"])
    expected = brute.best(listed, lambda r: r["time"], top=3)[()]
    assert best.time.values.tolist() == [r["time"] for r in expected]
    assert "threads_per_block" in best.coords


def test_a_dataset_of_anyone() -> None:
    """No attributes, no feasible, dimensions without coordinates, NaN."""
    other = xr.Dataset(
        {
            "loss": (("x", "y"), [[3.0, math.nan], [1.0, 1.0]]),
            "size": (("y",), np.array([200, 100], dtype=np.uint8)),
        }
    )
    best = dse.optimum(other, minimize="loss")
    assert (int(best.x), int(best.y), float(best.loss)) == (1, 0, 1.0)
    assert float(dse.optimum(other, maximize="size * 2 - loss").objective) == 399.0
    front = dse.pareto(other, minimize=["loss", "size"])
    assert list(zip(front.x.values, front.y.values, strict=True)) == [(1, 1)]


# --- refusals


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({}, "nothing to optimise: give minimize= or maximize= a quantity"),
        ({"minimize": "time", "maximize": "mwp"}, "have no order of priority, was given time, m"),
        ({"minimize": ["time", "time"]}, "time is given twice among the objectives time, time"),
        ({"minimize": [3]}, "minimize holds 3: expected text, or a list of texts"),
        ({"minimize": 3}, "minimize = 3: expected text"),
        ({"minimize": []}, "nothing to optimise"),
        ({"minimize": "time", "where": 3}, "where = 3: expected text"),
        ({"minimize": "time", "top": 0}, "top = 0: expected a whole number of at least 1"),
        ({"minimize": "time", "top": 2.0}, "top = 2.0: expected a whole number"),
        ({"minimize": "time", "top": True}, "top = True: expected"),
        ({"minimize": "time", "per": "activ_sms"}, "per = 'activ_sms' is no axis; did you mean"),
        ({"minimize": "time", "per": ["time"]}, "per = 'time' is no axis.*there are: active_sms"),
        ({"minimize": "tme"}, "'tme' is no quantity; did you mean 'time'"),
        ({"minimize": "time +"}, "time \\+\n"),
        ({"minimize": "time < 3 s"}, "is a condition where a number is expected"),
        ({"minimize": "time", "where": "time < 10 W"}, "time"),
        ({"minimize": "time", "where": "tme < 1"}, "'tme' is no quantity; did you mean 'time'"),
        ({"minimize": "time", "where": "time"}, "'time' is a number where a condition is expected"),
        ({"minimize": "machine"}, "machine"),
    ],
    ids=str,
)
def test_refused(question: dict[str, Any], message: str, study: Study, ds: xr.Dataset) -> None:
    with pytest.raises(DseError, match=message):
        study.optimum(**question)
    with pytest.raises(DseError, match=message):
        dse.optimum(ds, **question)


def test_units_in_questions(study: Study, ds: xr.Dataset) -> None:
    for find_best in (study.optimum, lambda **q: dse.optimum(ds, **q)):
        with pytest.raises(UnitError):
            find_best(minimize="time", where="core_clock < 3 GB/s")
        with pytest.raises(UnitError):
            find_best(minimize="time + core_clock")
        slow = find_best(minimize="time", where="core_clock <= 1000 MHz")
        assert float(slow.core_clock) == 1e9


def test_constraints_that_leave_nothing(study: Study, ds: xr.Dataset) -> None:
    with pytest.raises(InfeasibleError, match="the constraint 'time < 1 ns' is broken at every"):
        study.optimum(minimize="time", where="time < 1 ns")
    with pytest.raises(
        InfeasibleError, match="no point with a finite time satisfies 'time < 1 ns'"
    ):
        dse.optimum(ds, minimize="time", where="time < 1 ns")
    with pytest.raises(
        InfeasibleError, match=r"log\(0 - mwp\) is not finite at any feasible point"
    ):
        study.optimum(minimize="log(0 - mwp)")


def test_method(study: Study) -> None:
    identical(study.optimum(minimize="time", method="scan"), study.optimum(minimize="time"))
    with pytest.raises(DseError, match="method = 'guess': expected one of auto, scan, certified"):
        study.optimum(minimize="time", method="guess")


def test_one_winner_as_a_dict(study: Study) -> None:
    ranked = dse.best_config(study.optimum(minimize="time", top=3))
    assert ranked == {**dse.best_config(study.optimum(minimize="time")), "rank": 1}
    with pytest.raises(DseError, match=r"one winner for each machine: select one first"):
        dse.best_config(study.optimum(minimize="time", per="machine"))


def test_a_formula_without_names() -> None:
    ds = _run()
    for answer in (_study().optimum(minimize="5", top=3), dse.optimum(ds, minimize="5", top=3)):
        assert answer.objective.values.tolist() == [5.0, 5.0, 5.0]
        assert answer.core_clock.values.tolist() == [1e9, 1.3e9, 1e9]


def test_an_objective_where_nothing_wins() -> None:
    """No warning of a division by zero where a slice has no winner."""
    text = "1 / (case + 1)"
    for answer in (
        _study().optimum(minimize=text, per=["active_sms", "threads_per_block"]),
        dse.optimum(_run(), minimize=text, per=["active_sms", "threads_per_block"]),
    ):
        assert np.isnan(answer.objective.sel(active_sms=31)).all()
        assert answer.objective.sel(active_sms=4, threads_per_block=32) > 0


@pytest.mark.parametrize("text", ["active_sms", "mwp", "5", "threads_per_block + case"])
@pytest.mark.parametrize("per", [[], ["machine"], ["core_clock", "active_sms"]])
def test_the_form_of_the_dataset_does_not_matter(text: str, per: list[str]) -> None:
    """Configurations that tie along an idle axis are each one of the top."""
    expanded = _study().run(expand=True)
    question: dict[str, Any] = {"minimize": text, "per": per, "top": 7}
    answers = [_study().optimum(**question)]
    answers += [dse.optimum(form, **question) for form in (_run(), expanded)]
    for answer in answers[1:]:
        for name in answer.variables:
            assert np.array_equal(
                answer[name].values, answers[0][name].values, equal_nan=answer[name].dtype == float
            ), name
