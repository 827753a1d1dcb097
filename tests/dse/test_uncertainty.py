"""Laws, draws, and statistics over them in formulas."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

import dse
from dse.inputs.fit_file import SavedFit
from dse.uncertain.draws import read_random
from stochastic import Pmf
from symbolic.errors import DseError
from symbolic.quantities import TABLE
from tests.oracles.statistics import summary

LAW = "normal: 600 cycles, 20 %"
GIVEN = {"intensity": 10, "lanes_width": 32, "ms_peak": 1}
LATENCY = {"mem_latency": "normal: 600 cycles, 20 %", "draws": 256}


def transit(**more):
    given = {"model": "transit", "axes": {"threads": [256, 512, 1024]}, "set": GIVEN}
    return dse.Study(**{**given, "random": LATENCY, "outputs": ["cs_throughput"], **more})


def draw_columns(laws, names=None):
    """The columns of the draws of some laws."""
    axis = read_random(laws, TABLE).axis()
    return axis, [axis.columns[name] for name in names or axis.columns]


@pytest.mark.parametrize("random", [True, False])
@pytest.mark.parametrize("zipped", [True, False])
def test_an_axis_as_output_is_a_coordinate_and_cannot_be_stored_alone(random, zipped, tmp_path):
    """Random inputs ended in a traceback; so did the store of no output."""
    axes = {"threads": [256, 512]}
    latency = {"mem_latency": "normal: 450 cycles, 5 %" if random else 450}
    study = dse.Study(
        model="transit",
        axes={"pair": {"zip": axes}} if zipped else axes,
        set=GIVEN | ({} if random else latency),
        random=latency if random else {},
        outputs=["threads"],
    )
    ds = study.run()
    assert (list(ds.data_vars), ds.threads.values.tolist()) == ([], [256, 512])
    with pytest.raises(DseError, match=r"nothing to store: each of the outputs threads is an axis"):
        study.run(store=tmp_path / "a.zarr")
    assert list(tmp_path.iterdir()) == []
    both = dataclasses.replace(study, outputs=["threads", "cs_throughput"]).run()
    assert set(both.data_vars) >= {"mean(cs_throughput)" if random else "cs_throughput"}


@pytest.mark.parametrize(
    ("law", "mean", "std"),
    [
        ("normal: 450 cycles, 10 %", 450, 45),
        ("lognormal: 450 cycles, 20 %", 450, 90),
        ("uniform: 400 cycles, 500 cycles", 450, 100 / math.sqrt(12)),
        ("triangular: 400, 450, 600", 1450 / 3, 42.49183),
        ("beta: 2, 3, 400 cycles, 500 cycles", 440, 20),
        (scipy.stats.gamma(9, scale=50), 450, 150),
    ],
)
def test_laws_have_their_moments(law, mean, std):
    _, (column,) = draw_columns({"mem_latency_dram": law, "draws": 8192})
    assert np.mean(column) == pytest.approx(mean, rel=2e-4)
    assert np.std(column) == pytest.approx(std, rel=3e-3)


def test_units_are_read():
    _, (column,) = draw_columns({"mem_bandwidth": "uniform: 113 GB/s, 141.7 GB/s"})
    assert column.min() > 113e9
    assert column.max() < 141.7e9
    assert (
        dse.Study(
            model="transit",
            axes={"threads": [256]},
            set=GIVEN,
            random={"mem_latency": dse.normal("600 cycles", "20 %"), "draws": 256},
            outputs=["cs_throughput"],
        )
        .run()
        .equals(transit(axes={"threads": [256]}).run())
    )


def test_a_rank_correlation_is_that_of_the_copula():
    laws = {"mem_latency_dram": "lognormal: 450, 30 %", "mem_bandwidth": dse.uniform(1e11, 2e11)}
    laws["correlation"] = [["mem_latency_dram", "mem_bandwidth", -0.5]]
    _, (a, b) = draw_columns({**laws, "draws": 8192})
    known = 6 / math.pi * math.asin(-0.25)  # Pearson 1907
    assert scipy.stats.spearmanr(a, b).statistic == pytest.approx(known, abs=2e-3)


def test_few_values_stand_once_with_their_chances():
    laws = {
        "mem_latency_dram": "discrete: 400: 1/3, 450: 2/3",
        "mem_bandwidth": dse.discrete([1, 2]),
    }
    axis, columns = draw_columns(laws)
    assert list(zip(*columns, strict=True)) == [(400, 1), (400, 2), (450, 1), (450, 2)]
    assert axis.weights.tolist() == [float(Fraction(1, 6))] * 2 + [float(Fraction(1, 3))] * 2
    assert draw_columns({"threads": Pmf.uniform(1, 4)})[1][0].tolist() == [1, 2, 3, 4]


def test_rows_stay_together(tmp_path):
    (tmp_path / "runs.csv").write_text("lat,bw,n\n400,120,1\n450,110,3\n")
    joint = {"file": "runs.csv", "weights": "n", "units": {"mem_bandwidth": "GB/s"}}
    joint["columns"] = {"mem_latency_dram": "lat", "mem_bandwidth": "bw"}
    axis = read_random({"runs": joint}, TABLE, tmp_path).axis()
    assert axis.columns["mem_bandwidth"].tolist() == [120e9, 110e9]
    assert axis.weights.tolist() == [0.25, 0.75]
    alone = {"file": "runs.csv", "column": "lat"}
    assert read_random({"mem_latency": alone}, TABLE, tmp_path).axis().size == 2


def test_a_fit_gives_values_and_covariance(tmp_path):
    matrix = [[100.0, 50.0], [50.0, 400.0]]
    values = {"mem_latency_dram": 450.0, "mem_latency": 600.0}
    about = {"model": "transit", "to": ("time",), "units": dict.fromkeys(values, "cycle")}
    about |= {"values": values, "standard_errors": {"mem_latency_dram": 10.0, "mem_latency": 20.0}}
    SavedFit(**about, covariance=np.array(matrix)).save(tmp_path / "runs.fit.json")
    axis = read_random({"it": {"fit": "runs.fit.json"}, "draws": 16384}, TABLE, tmp_path).axis()
    result = np.cov(np.stack(list(axis.columns.values())))
    assert np.allclose(result, matrix, rtol=0.01)


@pytest.mark.parametrize("kind", ["mean", "std", "worst_high", "worst_low", "best_high", "geomean"])
@pytest.mark.parametrize("discrete", [True, False])
def test_statistics_are_those_of_numpy(kind, discrete):
    law = {"mem_latency": "discrete: 500: 1, 600: 2, 900: 4"} if discrete else LATENCY
    text = f"{kind}(cs_throughput)"
    axis, (column,) = draw_columns(law)
    result = transit(random=law, outputs=[text]).run()[text].values
    each = {"threads": [256, 512, 1024], "latency": {"zip": {"mem_latency": column}}}
    values = transit(random={}, axes=each).run().cs_throughput.values
    np.testing.assert_allclose(result, summary(kind, values, None, axis.weights), rtol=1e-14)


@pytest.mark.parametrize("kind", ["quantile", "cvar_high", "cvar_low"])
@pytest.mark.parametrize("level", ["0.07", "0.5", "0.95", "1/3"])
@pytest.mark.parametrize("weights", [None, [1, 2, 4, 1]])
def test_tails_are_those_of_sorted_values(kind, level, weights):
    law = dse.discrete([500, 600, 900, 450], weights)
    text = f"{kind}(cs_throughput, {level})"
    axis, (column,) = draw_columns({"mem_latency": law})
    result = transit(random={"mem_latency": law}, outputs=[text]).run()[text].values
    each = {"threads": [256, 512, 1024], "latency": {"zip": {"mem_latency": column}}}
    values = transit(random={}, axes=each).run().cs_throughput.values
    known = summary(kind, values, Fraction(level), axis.weights)
    np.testing.assert_allclose(result, known, rtol=1e-13)


def test_discrete_laws_are_enumerated_exactly():
    # powers of two, so that floats hold every product
    chances = {"intensity": {1: 1, 2: 3}, "mem_latency": {512: 2, 1024: 1, 2048: 1}}
    laws = {name: dse.discrete(list(law), list(law.values())) for name, law in chances.items()}
    text = "mean(threads * intensity / mem_latency)"
    study = dse.Study(
        model="transit",
        axes={"threads": [256, 512, 1024]},
        set={"lanes_width": 32, "ms_peak": 1},
        random=laws,
        outputs=[text, "chance(intensity * mem_latency <= 1024)"],
    )
    exact, below = [Fraction(0)] * 3, Fraction(0)
    for (z, p), (latency, q) in itertools.product(*(law.items() for law in chances.values())):
        share = Fraction(p, 4) * Fraction(q, 4)
        below += share if z * latency <= 1024 else 0
        exact = [
            e + share * Fraction(n * z, latency)
            for e, n in zip(exact, (256, 512, 1024), strict=True)
        ]
    ds = study.run()
    assert [Fraction(value) for value in ds[text].values.tolist()] == exact
    assert Fraction(ds["chance(intensity * mem_latency <= 1024)"].item()) == below


def test_errors_cover_the_truth():
    # mean of 1 / latency in closed form, as threads are few: cs = intensity * threads / (L + Z)
    inside = 0
    for seed in range(40):
        laws = {"mem_latency": dse.uniform(300, 900), "draws": 64, "seed": seed}
        ds = transit(random=laws, axes={"threads": [8]}).run()
        exact = 10 * 8 * math.log(910 / 310) / 600
        off = abs(ds["mean(cs_throughput)"].item() - exact)
        inside += off <= ds["error(mean(cs_throughput))"].item()
    assert inside >= 34


def suite(**more):
    given = {"model": "ipp", "machine": "gtx280", "random": {}, "outputs": ["time"]}
    axes = {"threads_per_block": [64, 128, 256], "active_sms": [10, 20, 30]}
    workloads = {"values": ["sepia", "svm", "blackscholes"], "weights": [2, 1, 1]}
    return dse.Study(**{**given, "axes": {**axes, "workload": workloads}, **more})


def test_statistics_over_named_axes():
    time = suite().run().time.transpose("threads_per_block", "active_sms", "workload").values
    worst = "worst_high(time / best_low(time, design), workload)"
    outputs = ["mean(time, workload)", "best_low(time, design)", worst]
    ds = suite(outputs=outputs).run()
    np.testing.assert_allclose(ds[outputs[0]], time @ [0.5, 0.25, 0.25], rtol=1e-14)
    np.testing.assert_array_equal(
        ds["best_low(time, design)"], [time.min()] * 1 if ds[outputs[1]].ndim == 0 else None
    )
    best = suite().optimum(minimize="worst(time / best(time, design), workload)")
    regret = (time / time.min(axis=(0, 1))).max(axis=-1)
    assert best[worst].item() == regret.min()
    assert "workload" not in best.coords
    place = np.unravel_index(regret.argmin(), regret.shape)
    assert best.threads_per_block.item() == [64, 128, 256][place[0]]


def test_worst_and_best_follow_from_what_is_asked():
    time = suite().run().time
    assert (
        suite().optimum(minimize="worst(time, workload)")["worst_high(time, workload)"].item()
        == time.max("workload").min().item()
    )
    assert (
        suite().optimum(maximize="worst(time, workload)")["worst_low(time, workload)"].item()
        == time.min("workload").max().item()
    )
    counted = suite().count(where=f"worst(time, workload) <= {float(time.median())!r}")
    assert counted.feasible_points.item() == 3 * int((time.max("workload") <= time.median()).sum())
    with pytest.raises(DseError, match=r"write worst_low\(time, workload\) or worst_high"):
        suite(outputs=["worst(time, workload)"])


def test_statistics_are_stored_and_asked_of_a_store(tmp_path):
    store = tmp_path / "out.zarr"
    ds = transit().run(store=store)
    assert ds.identical(transit().run(store=store))
    assert np.array_equal(ds["mean(cs_throughput)"], transit().run()["mean(cs_throughput)"])
    assert dse.optimum(store, maximize="mean(cs_throughput)").threads.item() == 1024
    with pytest.raises(DseError, match="'/' separates folders"):
        transit(outputs=["mean(cs_throughput / 2)"]).run(store=tmp_path / "other.zarr")


def test_errors_are_computed_of_few_points_as_of_all():
    study = transit(axes={"threads": range(1, 1001)}, random={**LATENCY, "draws": 64})
    name = "error(mean(cs_throughput))"
    whole = study.run()[name]
    best = study.optimum(minimize="absolute(mean(cs_throughput) - 5)")
    assert best[name].item() == whole.sel(threads=best.threads).item()


def test_what_is_random_is_asked_by_a_statistic():
    with pytest.raises(DseError, match=r"differs from draw to draw.*mean\(cs_throughput\)"):
        transit().optimum(maximize="cs_throughput")
    with pytest.raises(DseError, match=r"chance\(cs_throughput >= 5\) >= 0.99, or give it to"):
        transit(where="cs_throughput >= 5")
    winners = transit().optimum(maximize="cs_throughput", per="draw")
    assert winners.sizes == {"draw": 256}
    ds = transit(where="chance(cs_throughput >= 5) >= 0.9").run()
    assert ds.feasible.values.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("laws", "message"),
    [
        ({"mem_bandwidth": "normal: 113, 5 %"}, "without a unit.*113 B/s"),
        ({"mem_bandwidth": "normal: 113 ms, 5 %"}, "bandwidth"),
        ({"mem_latency": "normal: 100, 100"}, r"outside its domain.*lognormal"),
        ({"mem_latency": LAW, "active_sms": "normal: 100, 1"}, "whole numbers.*discrete"),
        ({"mem_latency": "normaal: 1, 2"}, "is no law.*did you mean.*normal"),
        ({"mem_latency": "normal: 1"}, "1 of its 2 numbers: expected normal:MEAN,SPREAD"),
        ({"mem_latency": "uniform: 2, 1"}, "the first is below the second"),
        ({"mem_latency": "normal: 600, 5 %", "draws": 0}, "draws = 0"),
        ({"mem_latency": "normal: 600, 5 %", "draws": 1000}, "power of two.*1024"),
        ({"mem_latency": "normal: 600, 5 %", "seed": -1}, "seed = -1"),
        ({"mem_latency": "discrete: 1: 1, 2"}, "all values weights"),
        ({"mem_latency": dse.discrete([1, 2], [1])}, "2 values but 1 weights"),
        ({"mem_latency": dse.discrete([1, 2], [0, 0])}, "all weights are 0"),
        ({"mem_latency": dse.discrete([1, 2], [1, -1])}, "no number of at least 0"),
        ({"mem_latencyy": "normal: 600, 5 %"}, "no quantity.*mem_latency"),
        ({"correlation": [["mem_latency", "ms_peak", 2]]}, "no quantity a law"),
        ({"distribution": "normal: 600, 5 %"}, "takes labels"),
        ({"mem_latency": {"file": "nowhere.csv", "column": "a"}}, "cannot be read"),
        ({"it": {"fit": "nowhere.json"}}, "cannot be read"),
    ],
)
def test_bad_laws_are_refused(laws, message):
    given = {name: value for name, value in GIVEN.items() if name not in laws}
    with pytest.raises(DseError, match=message):
        transit(random=laws, set=given)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([["mem_latency", "ms_peak", 1.5]], "from -1 to 1"),
        ([["mem_latency", "mem_latency", 0.5]], "with itself"),
        ([["mem_latency", "threads", 0.5]], "no law of its own"),
        ([["mem_latency", "ms_peak", 0.5], ["ms_peak", "mem_latency", 0.4]], "twice"),
        ([["mem_latency", "ms_peak"]], r"expected \[name, name, number\]"),
        (
            [
                ["mem_latency", "ms_peak", 0.9],
                ["mem_latency", "intensity", 0.9],
                ["ms_peak", "intensity", -0.9],
            ],
            "no such laws exist.*eigenvalue",
        ),
    ],
)
def test_bad_correlations_are_refused(entries, message):
    laws = {name: dse.uniform(1, 2) for name in ("mem_latency", "ms_peak", "intensity")}
    with pytest.raises(DseError, match=message):
        transit(random={**laws, "correlation": entries}, set={"lanes_width": 32})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mean(quantile(cs_throughput, 0.9))", "is already over draw"),
        ("mean(cs_throughput, workload)", "is no axis"),
        ("chance(cs_throughput)", "a condition is expected"),
        ("quantile(cs_throughput)", "a formula and a level"),
        ("quantile(cs_throughput, 2)", "between 0 and 1"),
        ("mean(cs_throughput < 2)", "where a number is expected"),
        ("mean(cs_throughput, threads, threads)", "twice"),
        ("error(cs_throughput)", "of one statistic"),
        ("error(error(mean(cs_throughput)))", "of one statistic"),
        ("mean(bound)", "are cases, which have no mean"),
        ("error(worst_high(mean(cs_throughput), threads))", "is over threads"),
    ],
)
def test_bad_statistics_are_refused(text, message):
    with pytest.raises(DseError, match=message):
        transit().optimum(maximize=f"{text} + 0 * threads")


def test_weights_that_do_not_fit_an_axis_are_refused():
    for weights, message in (
        ([1], "3 values and 1 weights"),
        ([0, 0, 0], "all weights are 0"),
        ([1, -1, 1], "no finite number"),
        ("abc", "expected a list"),
    ):
        with pytest.raises(DseError, match=message):
            transit(axes={"threads": {"values": [256, 512, 1024], "weights": weights}})


def test_explain_and_advise_stand_at_the_most_central_draw() -> None:
    every = {"model": "transit", "axes": {"threads": [256, 512]}}
    every |= {"set": {"intensity": 10, "lanes_width": 32, "ms_peak": 1}}
    every |= {"random": {"mem_latency": "uniform: 500 cycles, 700 cycles", "draws": 64}}
    study = dse.Study(**every)
    steps = study.explain(threads=512)
    assert abs(float(steps["mem_latency"].value) - 600) < 5
    assert steps["cs_throughput"].value > 0
    assert study.explain(threads=512, draw=0)["mem_latency"].value != steps["mem_latency"].value
    given = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "threads": 512}
    central = dse.advise("transit", **given, mem_latency=float(steps["mem_latency"].value))
    late = dse.Study(**every, where=["chance(cs_throughput >= 1) >= 0.1"]).advise(threads=512)
    assert str(study.advise(threads=512)) == str(late) == str(central)


def test_parts_of_several_statistics_are_told_apart() -> None:
    """Parts of a grid are cached for each formula and axes of a statistic."""
    study = dse.Study(
        model="transit",
        axes={"threads": [256, 512, 1024]},
        set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
        outputs=["cs_throughput", "quantile(cs_throughput, 0.05)"],
        random={"mem_latency": "uniform: 500 cycles, 700 cycles", "draws": 64},
    )
    result, ds = study.sensitivity(), study.run()
    for name in ("mean(cs_throughput)", "quantile(cs_throughput, 0.05)"):
        assert result.over_threads.sel(output=name).values == pytest.approx(ds[name].values)
