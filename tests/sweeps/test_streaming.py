"""Counts, histograms, quantiles, and what is skipped, against NumPy over the whole grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
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
import sweeps.query.distribution
import sweeps.scan.optimum
import sweeps.scan.values
import sweeps.store.layout
from dse import DseError, Study
from sweeps.bounds.problem import Enclosures, tile_boxes
from sweeps.grid.grid import Tiling
from sweeps.query.distribution import BinCounts, DigitCounts
from symbolic.errors import InfeasibleError
from symbolic.ops import reference
from symbolic.primitives import elementary
from tests.long import draws, long

#: What is said of a question that no configuration answers.
NOWHERE = r"is not a number at any configuration|is broken at every point|no point satisfies"
TOY = str(Path(__file__).parents[1] / "oracles" / "toy_model.py")
FORMULAS = ("toy_waste", "toy_cost", "toy_state", "toy_share", "log(toy_load - 3)", "1 / toy_load")
WHERE = (
    "toy_waste <= 20",
    "toy_share < 0.6",
    "toy_load * toy_share > 2",
    "toy_cost <= 40",
    "toy_unit > 0.1 and toy_share > 0.1",
    "toy_load > 1000",
)


NUMBERS: dict[str, Any] = {
    "toy_load": st.integers(0, 70).map(float),
    "toy_share": st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 0.3, 0.6]),
    "toy_unit": st.sampled_from([0.01, 0.1, 0.5, 1.0, 2.0, 3.0]),
}


@st.composite
def questions(draw: st.DrawFn, text: bool = True) -> tuple[Study, str, list[str]]:
    """Toy studies with switches, idle axes, ties, points that break a rule, and no numbers."""
    axes: dict[str, Any] = {}
    for name in draw(st.permutations([*NUMBERS, "toy_shape"])):
        if name == "toy_shape":
            axes[name] = draw(st.sampled_from([["flat"], ["steep", "flat"]]))
        else:
            axes[name] = draw(st.lists(NUMBERS[name], min_size=1, max_size=5, unique=True))
    given_: dict[str, Any] = {"toy_kind": "x"}
    if draw(st.booleans()):
        given_["toy_limit"] = draw(st.sampled_from([5, 40, 100]))
    where = draw(st.lists(st.sampled_from(WHERE[:5]), max_size=2, unique=True))
    study = Study(model=TOY, axes=axes, set=given_, where=where)
    more = draw(st.lists(st.sampled_from(WHERE), max_size=3))
    return study, draw(st.sampled_from(FORMULAS)) if text else "0.0", more


@st.composite
def tiled_questions(draw: st.DrawFn, text: bool = True) -> tuple[Study, str, list[str]]:
    """Draw as :func:`questions`, with few nests to compile."""
    sizes = {"toy_load": 6, "toy_share": 4, "toy_unit": 3}
    axes = {
        name: draw(st.lists(NUMBERS[name], min_size=size, max_size=size, unique=True))
        for name, size in sizes.items()
    }
    study = Study(model=TOY, axes=axes, set={"toy_kind": "x", "toy_shape": "steep"})
    where = draw(st.sampled_from([["toy_load * toy_share > 2"], list(WHERE[3:5])]))
    return study, draw(st.sampled_from(["toy_cost", "1 / toy_load"])) if text else "0.0", where


def evaluate_all(study: Study, text: str, where: Sequence[str] = ()) -> tuple[Any, Any]:
    """Values of a formula, and whether each configuration counts, one by one over the grid."""
    study = Study(
        model=study.model,
        axes=study.axes,
        set=study.set,
        where=[*study.where, *where],
        outputs=["toy_waste", "toy_cost", "toy_state"],
    )
    grid = study.grid()
    sizes = [axis.size for axis in grid.axes.values()]
    values, counts = [], []
    for place in itertools.product(*map(range, sizes)):
        point = dict(zip(study.axes, place, strict=True))
        names = ["toy_waste", "toy_cost", "toy_state", "toy_share", "toy_load", "toy_unit"]
        at = {k: float(v) for k, v in grid.evaluate_point(point, [*names, "feasible"]).items()}
        with np.errstate(all="ignore"):
            given_ = {"log": elementary.log, **{k: np.float64(v) for k, v in at.items()}}
            values.append(float(eval(text, given_)))
        counts.append(bool(at["feasible"]))
    return np.array(values), np.array(counts)


@pytest.fixture
def small_tiles() -> Iterator[None]:
    """Use nests in many small tiles with bounds, and Datasets in small pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps.nest.tiles, "NUMPY_POINTS", 0)
        patch.setattr(sweeps.nest.tiles, "TILE_POINTS", 3)
        patch.setattr(sweeps.scan.values, "BLOCK", 5)
        patch.setattr(sweeps.nest.tiles, "_MIN_TILES", 1)
        patch.setattr(sweeps.query.distribution, "_COMPILED_MIN_VALUES", 2)
        patch.setattr(sweeps.nest.emit, "_ACCEPTABLE_ROW", 2)
        yield


def same_count(study: Study, where: list[str]) -> None:
    _, counts = evaluate_all(study, "0.0", where)
    result = study.count(where=where)
    assert int(result["points"]) == counts.size
    assert int(result["feasible_points"]) == counts.sum()
    assert result.attrs["points_skipped"] <= counts.size
    if counts.any():
        again = dse.count(study.run(), where=where)
        assert again.drop_attrs().identical(result.drop_attrs())


def same_histogram(study: Study, text: str, where: list[str], bins: Any) -> None:
    values, counts = evaluate_all(study, text, where)
    known = values[counts]
    finite = known[np.isfinite(known)]
    if isinstance(bins, int) and not finite.size:
        with pytest.raises(InfeasibleError, match=NOWHERE):
            study.histogram(text, bins=bins, where=where)
        return
    result = study.histogram(text, bins=bins, where=where)
    low, high = result["low"].values, result["high"].values
    inside = result["configurations"].values
    for k in range(low.size):
        last = k == low.size - 1
        chosen = (known >= low[k]) & ((known <= high[k]) if last else (known < high[k]))
        assert inside[k] == chosen.sum()
    assert result.attrs["undefined"] == np.isnan(known).sum()
    assert result.attrs["feasible_points"] == counts.sum()
    assert result.attrs["below"] == (known < low[0]).sum()
    assert result.attrs["above"] == (known > high[-1]).sum()
    if isinstance(bins, int):
        assert (low[0], high[-1]) == (finite.min(), finite.max())
        assert low.size == bins or finite.min() == finite.max()
    else:
        assert [*low, high[-1]] == bins
    if counts.any():
        again = dse.histogram(study.run(), text, bins=bins, where=where)
        assert again.drop_attrs().identical(result.drop_attrs())


def same_quantiles(study: Study, text: str, where: list[str], q: list[float]) -> None:
    values, counts = evaluate_all(study, text, where)
    known = np.sort(values[counts & ~np.isnan(values)])
    if not known.size:
        with pytest.raises(InfeasibleError, match=NOWHERE):
            study.quantiles(text, q, where=where)
        return
    ranks = [max(math.ceil(Fraction(str(share)) * known.size), 1) for share in q]
    result = study.quantiles(text, q, where=where)
    name = text if text.startswith("toy") else "objective"
    assert result[name].values.tolist() == [known[rank - 1] + 0.0 for rank in ranks]
    assert result["quantile"].values.tolist() == q
    assert result.attrs["feasible_points"] == counts.sum()
    again = dse.quantiles(study.run(), text, q, where=where)
    assert again.drop_attrs().identical(result.drop_attrs())


BINS = st.one_of(
    st.integers(1, 9),
    st.lists(st.sampled_from([-5.0, 0.0, 0.5, 2.0, 7.0, 50.0]), min_size=2, unique=True).map(
        sorted
    ),
)
SHARES = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 2 / 3, 0.9, 1.0]), min_size=1)
SOME = settings(max_examples=draws(25), deadline=None)
FEW = settings(max_examples=draws(10), deadline=None)


@SOME
@given(questions(text=False))
def test_count(given_query: tuple[Study, str, list[str]]) -> None:
    same_count(given_query[0], given_query[2])


@SOME
@given(questions(), BINS)
def test_histogram(given_query: tuple[Study, str, list[str]], bins: Any) -> None:
    same_histogram(*given_query, bins)


@SOME
@given(questions(), SHARES)
def test_quantiles(given_query: tuple[Study, str, list[str]], q: list[float]) -> None:
    same_quantiles(*given_query, q)


@pytest.mark.usefixtures("small_tiles")
@FEW
@given(tiled_questions(text=False))
def test_count_in_tiles(given_query: tuple[Study, str, list[str]]) -> None:
    same_count(given_query[0], given_query[2])


@long
@pytest.mark.usefixtures("small_tiles")
@FEW
@given(tiled_questions(), BINS, SHARES)
def test_spread_in_tiles(
    given_query: tuple[Study, str, list[str]], bins: Any, q: list[float]
) -> None:
    same_histogram(*given_query, bins)
    same_quantiles(*given_query, q)


# --- what is skipped


@st.composite
def draw_box(draw: st.DrawFn) -> tuple[list[int], int, int]:
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    return sizes, draw(st.integers(1, len(sizes))), draw(st.integers(1, 40))


@given(draw_box())
def test_boxes_hold_the_points_of_their_tiles(case: tuple[list[int], int, int]) -> None:
    sizes, row, target = case
    outer, inner = sizes[: len(sizes) - row], sizes[len(sizes) - row :]
    tiling = Tiling(outer, math.prod(inner), target)
    low, high, points = tile_boxes(tiling, inner, np.arange(tiling.count))
    assert points.sum() == math.prod(sizes)
    for number in range(tiling.count):
        _, origin, size = tiling.bounds(number)
        assert points[number] == size
        places = np.array(np.unravel_index(np.arange(origin, origin + size), sizes))
        assert np.all(places.min(axis=1) >= low[:, number])
        assert np.all(places.max(axis=1) <= high[:, number])


TILE = 400
LARGE: dict[str, Any] = {
    "model": TOY,
    "axes": {
        "toy_load": {"linspace": [0, 100, 100]},
        "toy_share": {"linspace": [0, 1, 50]},
        "toy_unit": {"linspace": [0.1, 10, 40]},
    },
    "set": {"toy_kind": "x"},
}


FEW_VALUES = {name: {"linspace": [*ax["linspace"][:2], 12]} for name, ax in LARGE["axes"].items()}
SMALL: dict[str, Any] = {**LARGE, "axes": FEW_VALUES}


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of four hundred points, so that a grid of 200,000 has five hundred."""
    for module, name in (
        (sweeps.scan.optimum, "REDUCED_TILE"),
        (sweeps.nest.tiles, "TILE_POINTS"),
    ):
        monkeypatch.setattr(module, name, TILE)


@pytest.mark.usefixtures("pieces")
def test_tiles_that_cannot_be_feasible_are_skipped_and_counted() -> None:
    """The first 60 % of toy_load keep the rule; toy_load * toy_share > 30 leaves a corner of it."""
    where = ["toy_load * toy_share > 30 and toy_unit < 9"]
    study = Study(**LARGE)
    ds = study.run()
    load, share, unit = np.meshgrid(
        *(ds[name].values for name in LARGE["axes"]), indexing="ij", sparse=True
    )
    counts = np.broadcast_to((load <= 60) & (load * share > 30) & (unit < 9), (100, 50, 40))
    cost = np.broadcast_to(ds["toy_cost"].transpose(*LARGE["axes"]).values, counts.shape)
    waste = ds["toy_waste"].broadcast_like(ds["toy_cost"]).transpose(*LARGE["axes"]).values
    result = study.count(where=where)
    assert int(result["feasible_points"]) == counts.sum()
    histogram = study.histogram("toy_cost", bins=7, where=where)
    assert histogram["configurations"].values.sum() == counts.sum()
    quantile = study.quantiles("toy_cost", [0.5], where=where)
    assert float(quantile["toy_cost"][0]) == np.sort(cost[counts])[(counts.sum() + 1) // 2 - 1]
    best = study.optimum(maximize="toy_waste", where=where, top=3, method="scan")
    largest = np.sort(waste[counts])[::-1][:3]
    assert best["toy_waste"].values.tolist() == largest.tolist()
    front = study.pareto(minimize=["toy_cost", "toy_waste"], where=where)
    assert front["toy_cost"].values.min() == cost[counts].min()
    impossible = counts.size - TILE * np.any(counts.reshape(-1, TILE), axis=1).sum()
    for answer in (histogram, quantile, best, front):
        assert 0.5 * impossible < answer.attrs["points_skipped"]
        assert answer.attrs["points_skipped"] == TILE * answer.attrs["tiles_skipped"]
    for answer in (histogram, quantile):  # for no other reason than that nothing is feasible there
        assert answer.attrs["points_skipped"] <= impossible


@pytest.mark.usefixtures("pieces")
def test_tiles_that_are_feasible_throughout_are_counted_without_a_look() -> None:
    study = Study(**LARGE)
    result = study.count(where="toy_load + toy_share * toy_unit / (1 s) <= 20")
    assert result.attrs["points_skipped"] > 0.6 * 200_000
    load, share, unit = np.meshgrid(
        *(np.linspace(*axis["linspace"]) for axis in LARGE["axes"].values()), indexing="ij"
    )
    assert int(result["feasible_points"]) == ((load <= 60) & (load + share * unit <= 20)).sum()


def test_enclosures_of_a_primitive_that_has_none_are_not_asked() -> None:
    grid = Study(**LARGE).grid()
    assert Enclosures.from_grid(grid, (), [reference("toy_load")], tuple(grid.axes)) is not None


# --- parts


@settings(deadline=None)  # the first call compiles
@given(
    values=st.lists(st.floats(), max_size=30),
    allowed=st.lists(st.booleans(), min_size=30, max_size=30),
    edges=st.lists(
        st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=9, unique=True
    ),
)
def test_bins_by_compiled_code(values: list[float], allowed: list[bool], edges: Any) -> None:
    limits = np.unique(np.array(edges) + 0.0)
    if limits.size < 2:
        return
    with np.errstate(all="ignore"):
        parts = [BinCounts(limits), BinCounts(limits)]
        for many, part in zip((0, 10**9), parts, strict=True):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(sweeps.query.distribution, "_COMPILED_MIN_VALUES", many)
                part.feed(
                    np.array(values, dtype=float), np.array(allowed[: len(values)], dtype=bool)
                )
    assert parts[0].counts.tolist() == parts[1].counts.tolist()
    assert parts[0].outside_counts.tolist() == parts[1].outside_counts.tolist()


@settings(deadline=None)  # the first call compiles
@given(
    values=st.lists(st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1.0])), max_size=30),
    shift=st.sampled_from([48, 32, 16, 0]),
    begins=st.lists(st.integers(0, 2**16 - 1), max_size=3),
)
def test_digits_by_compiled_code(values: list[float], shift: int, begins: list[int]) -> None:
    array = np.array(values, dtype=float)
    allowed = np.arange(array.size) % 3 != 0
    keys = sweeps.query.distribution.order_key(array[allowed])[:2].tolist()
    known = np.array(sorted({key >> (shift + 16) for key in keys} | {*begins}), dtype=np.uint64)
    if shift == 48:
        known = np.zeros(1, dtype=np.uint64)
    parts = [DigitCounts(known, shift), DigitCounts(known, shift)]
    for many, part in zip((0, 10**9), parts, strict=True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sweeps.query.distribution, "_COMPILED_MIN_VALUES", many)
            part.feed(array, allowed)
    assert np.array_equal(parts[0].counts, parts[1].counts)
    assert parts[0].totals.tolist() == parts[1].totals.tolist()


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_keys_are_in_the_order_of_floats(values: list[float]) -> None:
    keys = sweeps.query.distribution.order_key(np.array(values))
    assert [sweeps.query.distribution.value_of_key(int(key)) for key in keys] == values
    for a, b in itertools.pairwise(range(len(values))):
        assert (keys[a] < keys[b]) == (values[a] < values[b])


class _Spared:
    """Values of which no more are given than a part asks for."""

    text, weight, conditions, row = "x", 1, (), None

    def __init__(self, values: list[float]) -> None:
        self.attributes: dict[str, Any] = {}
        self.values, self.points = np.array(values), len(values)
        self.skipped_tiles = sweeps.nest.tiles.SkippedTiles()

    def gather(self, make: Any, within: Any = None) -> Any:
        part, values = make(), self.values
        if within is not None:
            masks = [(values >= low) & (values <= high) for low, high in within]
            values = values[np.any(masks, axis=0)]
        part.feed(values, np.ones(values.size, dtype=bool))
        return part


@given(st.lists(st.one_of(st.floats(), st.sampled_from([math.inf, -math.inf])), min_size=1), SHARES)
def test_quantiles_of_no_more_than_the_values_asked_for(
    values: list[float], q: list[float]
) -> None:
    """Infinite values too: what is skipped in later passes holds none of those sought."""
    known = sorted(value for value in values if not math.isnan(value))
    if not known:
        return
    result = sweeps.query.distribution._quantiles(_Spared(values), q)
    ranks = [max(math.ceil(Fraction(str(share)) * len(known)), 1) for share in q]
    assert result["objective"].values.tolist() == [known[rank - 1] for rank in ranks]


# --- exact whole numbers, stores, and what cannot be asked


LONG = {"linspace": [1, 2, 100_000]}
FLOW = str(Path(__file__).parents[1] / "benchmarks" / "flow_energy.py")


def test_counts_are_exact_whatever_their_size() -> None:
    """2.6e17 configurations, along most of whose axes nothing varies; odd numbers above 2**53."""
    long = {"linspace": [1, 2, 60_000]}
    axes = {"threads": [64, 128, 256], "base_power": long, "core_clock": long}
    axes["operations"] = {"linspace": [1, 2, 59_999]}
    axes["energy_per_operation"] = {"linspace": [1, 2, 401]}
    given_ = {"lanes_width": 32, "intensity": 1, "mem_latency": 1, "ms_peak": 1}
    study = Study(model=FLOW, axes=axes, set=given_, outputs=["ms_throughput"])
    one = 60_000**2 * 59_998 * 401
    assert int(study.count()["feasible_points"]) == 3 * 60_000**2 * 59_999 * 401
    result = study.count(where=["threads > 100", "base_power < 1.5", "operations > 1"])
    assert int(result["feasible_points"]) == one
    histogram = study.histogram("threads", bins=[0, 100, 1000], where="operations > 1")
    assert histogram["configurations"].values.tolist() == [one, 2 * one]
    assert float(study.quantiles("threads", 0.5)["threads"][0]) == 128
    odd = {"threads": range(1, 2**19), "base_power": range(1, 2**19), "core_clock": range(1, 2**19)}
    study = Study(model=FLOW, axes=odd, set=given_, outputs=["ms_throughput"])
    assert int(study.count()["feasible_points"]) == (2**19 - 1) ** 3


def test_more_points_than_64_bits_count_are_refused() -> None:
    names = ("threads", "mem_latency", "ms_peak", "intensity")
    axes = dict.fromkeys(names, LONG)
    study = Study(model="transit", axes=axes, set={"lanes_width": 32})
    questions: list[Any] = [
        study.count,
        lambda: study.histogram("ms_throughput"),
        lambda: study.quantiles("ms_throughput", 0.5),
        lambda: study.pareto(minimize="ms_throughput", method="scan"),
        lambda: study.optimum(minimize="ms_throughput", method="scan"),
    ]
    for ask in questions:
        with pytest.raises(DseError, match=r"1e\+20 points, more than 64-bit .*'certified'"):
            ask()


@pytest.mark.parametrize("how", ["stored", "chunked"])
def test_a_lazy_dataset_is_read_chunk_by_chunk(tmp_path: Path, how: str) -> None:
    study = Study(**SMALL, outputs=["toy_cost", "toy_waste"])
    if how == "stored":
        ds = study.run(store=tmp_path / "a.zarr")
    else:
        ds = study.run().chunk(toy_load=7, toy_unit=5)
    where = "toy_cost < 30 s"
    questions: list[Any] = [
        lambda source: source.count(where=where),
        lambda source: source.histogram("toy_waste", bins=4, where=where),
        lambda source: source.quantiles("toy_cost", [0.1, 0.5], where=where),
    ]
    for ask in questions:
        streamed, read = ask(study), ask(_Asked(ds))
        assert read.drop_attrs().identical(streamed.drop_attrs())
        assert read.attrs["conditions"] == streamed.attrs["conditions"]


class _Asked:
    """A Dataset with the methods of a Study."""

    def __init__(self, ds: xr.Dataset) -> None:
        self.ds = ds

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **given_: getattr(dse, name)(self.ds, *args, **given_)


def test_a_count_of_nothing_is_an_answer() -> None:
    study = Study(**SMALL)
    assert int(study.count(where="toy_load > 1000")["feasible_points"]) == 0
    assert study.histogram("toy_cost", bins=[0, 1], where="toy_load > 1000").configurations[0] == 0
    with pytest.raises(InfeasibleError, match="constraint 'toy_load > 1000' is broken at every"):
        study.quantiles("toy_cost", 0.5, where=["toy_unit > 0", "toy_load > 1000"])
    with pytest.raises(InfeasibleError, match="is not a number at any configuration"):
        study.quantiles("log(toy_load - 1000)", 0.5)


def test_numbers_may_be_arrays_of_no_dimensions() -> None:
    study = Study(**LARGE)
    assert study.histogram("toy_load", bins=np.array(3)).sizes["bin"] == 3
    assert study.quantiles("toy_load", np.array(1.0))["toy_load"].values.tolist() == [
        study.quantiles("toy_load", 1)["toy_load"].item()
    ]


def test_edges_may_have_units() -> None:
    result = Study(**SMALL).histogram("toy_cost", bins=["1 ms", "1 s", 60])
    assert result["low"].values.tolist() == [1e-3, 1]
    assert result["low"].attrs["units"] == "s"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s.quantiles("toy_cost", 1.5), "q = 1.5: expected numbers from 0 to 1"),
        (lambda s: s.quantiles("toy_cost", []), "q is empty"),
        (lambda s: s.quantiles("toy_cost", "half"), "q = 'half'"),
        (lambda s: s.histogram("toy_cost", bins=0), "bins = 0: expected from 1 to 1,048,576"),
        (lambda s: s.histogram("toy_cost", bins="3"), "bins = '3': expected their number"),
        (lambda s: s.histogram("toy_cost", bins=[2, 1]), "edges 2, 1: expected two or more"),
        (lambda s: s.histogram("toy_cost", bins=[1]), "edges 1: expected two or more"),
        (lambda s: s.quantiles("toy_cost", np.array(2.0)), "q = .*2.0.*: expected numbers"),
        (lambda s: s.histogram("toy_cost", bins=[]), "edges none: expected two or more"),
        (lambda s: s.histogram("toy_cost", bins=[1, "2 kg"]), "kg"),
        (lambda s: s.histogram("toy_cost * 2", bins=[1, "2 s"]), "no edge of a bin"),
        (lambda s: s.histogram("toy_costs"), "did you mean 'toy_cost'"),
        (lambda s: s.count(where="toy_costs > 1"), "did you mean 'toy_cost'"),
    ],
)
def test_what_cannot_be_asked_is_told(ask: Any, message: str) -> None:
    with pytest.raises(DseError, match=message):
        ask(Study(**SMALL))


# --- what is stored


@pytest.mark.shipped
@pytest.mark.parametrize("expand", [False, True])
def test_tiles_that_no_rule_leaves_anything_of_are_not_computed(
    monkeypatch: pytest.MonkeyPatch, expand: bool
) -> None:
    """A rule makes NaN and -1, which need no computing; ``where`` only marks, and values stay."""
    study = Study(**LARGE, where="toy_load > 10 and toy_unit > 5")
    monkeypatch.setattr(sweeps.nest.run, "TILE", TILE)
    seen: list[Any] = []
    plain = study.run(expand=expand, progress=seen.append)
    assert seen[-1].infeasible == 0
    monkeypatch.setattr(sweeps.nest.run, "RULE_CHECK_POINTS", 0)
    pruned = Study(**LARGE, where=study.where).run(expand=expand, progress=seen.append)
    assert pruned.identical(plain)
    for name in plain.data_vars:
        assert pruned[name].values.tobytes() == plain[name].values.tobytes()
    broken = plain["toy_load"] > 60
    values = plain["toy_cost"].where(~broken, 0)
    assert bool(values.notnull().all())
    assert bool(plain["toy_cost"].where(broken, 0).sum() == 0)
    rules = 0.4 if expand else 0.2  # of the outputs over fewer axes there are few values
    assert seen[-1].done == seen[-1].total
    assert rules * seen[-1].total <= seen[-1].infeasible < 0.6 * seen[-1].total


@long
def test_tiles_of_a_store_are_the_same_whether_computed_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dse.runs.run import run_study
    from sweeps.bounds.problem import InfeasibleTiles

    axes = {"toy_load": LARGE["axes"]["toy_load"], "toy_unit": {"linspace": [1, 9, 40]}}
    axes |= {"toy_shape": ["steep", "flat"]}
    spec = {**LARGE, "axes": axes, "set": {"toy_kind": "x", "toy_share": 0.5}}
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
    monkeypatch.setattr(sweeps.store.layout, "TILE", TILE)
    done = run_study(Study(**spec), store=tmp_path / "known.zarr")
    values = 4000 * 2 + 100  # toy_waste and toy_state lie along toy_load alone
    assert 0.3 * values < done.infeasible <= 0.4 * values
    with monkeypatch.context() as patch:
        patch.setattr(
            InfeasibleTiles,
            "is_infeasible",
            lambda self, key, low, high: np.zeros(low.shape[1], bool),
        )
        assert run_study(Study(**spec), store=tmp_path / "computed.zarr").infeasible == 0
    files = {
        name: {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("known.zarr", "computed.zarr")
    }
    assert files["known.zarr"] == files["computed.zarr"]
    assert len(files["known.zarr"]) > 20
