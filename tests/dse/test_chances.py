"""Chances of configurations to be best, and their regret."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import xarray as xr

import dse
from dse.study.random import replace_draws
from symbolic.errors import DseError, InfeasibleError

GIVEN = {"lanes_width": 32, "mem_latency": 512}
GOAL = "cs_throughput - threads / 128"


def transit(**more):
    given = {"model": "transit", "axes": {"threads": [256, 512, 1024]}, "outputs": []}
    given |= {
        "set": {"intensity": 10, "lanes_width": 32, "ms_peak": 1},
        "outputs": ["cs_throughput"],
    }
    return dse.Study(**{**given, **more})


def slowly(values, weights):
    """Chances and regrets, draw by draw, in fractions: ``values`` of (configurations, draws)."""
    chances, regrets = [Fraction(0)] * len(values), [Fraction(0)] * len(values)
    for draw, weight in enumerate(weights):
        column = [Fraction(row[draw]) for row in values]
        winners = [k for k, value in enumerate(column) if value == min(column)]
        for k, value in enumerate(column):
            chances[k] += Fraction(weight) / len(winners) if k in winners else 0
            regrets[k] += Fraction(weight) * (value - min(column))
    return chances, regrets


def test_enumerated_laws_give_exact_chances():
    laws = {"intensity": dse.discrete([1, 2, 8], [1, 1, 2]), "ms_peak": dse.discrete([1, 2])}
    goal = "intensity * threads / 512 - ms_peak * (threads / 256) * (threads / 256)"
    study = transit(set=GIVEN, random=laws)
    atoms = [(z, p) for z in (1, 2, 8) for p in (1, 2)]
    weights = [Fraction(w, 8) for w in (1, 1, 1, 1, 2, 2)]
    values = [
        [-(Fraction(z * n, 512) - p * Fraction(n, 256) ** 2) for z, p in atoms]
        for n in (256, 512, 1024)
    ]
    chances, regrets = slowly(values, weights)
    result = study.chances(maximize=goal)
    order = [[256, 512, 1024].index(n) for n in result.threads.values.tolist()]
    assert [Fraction(c) for c in result.chance.values.tolist()] == [chances[k] for k in order]
    assert [Fraction(r) for r in result.regret.values.tolist()] == [regrets[k] for k in order]
    assert not result.chance_error.any()
    assert result.left.item() == result.none.item() == 0
    assert sum(chances) == 1
    assert result.sizes["rank"] == sum(c > 0 for c in chances)


def test_those_that_tie_share_a_draw_in_equal_parts():
    laws = {"mem_latency": dse.discrete([100, 1e6])}
    result = transit(random=laws).chances(maximize="cs_throughput")  # at 100 all are bound
    assert result.threads.values.tolist() == [1024, 512, 256]
    np.testing.assert_allclose(result.chance, [1 / 2 + 1 / 6, 1 / 6, 1 / 6], rtol=1e-15)


def test_chances_are_judged_on_fresh_draws():
    laws = {"mem_latency": "normal: 600, 20 %", "draws": 64}
    axes = {"threads": range(32, 2048, 32), "ms_peak": [0.9, 1]}
    study = transit(axes=axes, random=laws, set={"intensity": 10, "lanes_width": 32})
    result = study.chances(maximize=GOAL)
    whole = replace_draws(study, study.random_inputs.fresh_axis()).grid([], draws=True)
    draws = whole.axes["draw"].columns["mem_latency"]
    each = transit(
        axes={**axes, "row": {"zip": {"mem_latency": draws}}},
        outputs=["cs_throughput"],
        set={"intensity": 10, "lanes_width": 32},
    ).run()
    values = (each.cs_throughput - each.threads / 128).transpose("threads", "ms_peak", "row").values
    best = values.reshape(-1, 64).max(axis=0)
    for k in range(result.sizes["rank"]):
        place = list(axes["threads"]).index(result.threads[k]), [0.9, 1].index(result.ms_peak[k])
        assert result.chance[k].item() == np.mean(values[place] == best)
        assert result.regret[k].item() == pytest.approx(np.mean(best - values[place]), rel=1e-12)
    assert result.left.item() == pytest.approx(1 - result.chance.sum().item(), abs=1e-15)
    assert result.left > 0
    assert study.chances(maximize=GOAL, top=1).left > 0.5
    assert (result.chance_error[:3] > 0).all()


@pytest.mark.parametrize("order", list(itertools.permutations(["threads", "lanes_width", "size"])))
@pytest.mark.parametrize("outer", ["geomean", "worst"])
def test_a_statistic_inside_a_statistic_has_a_value_in_each_draw(order, outer):
    """Values by xarray, in each order of the axis of points and the axes of the statistics."""
    tables = {"threads": [256, 512, 1024], "lanes_width": [16, 24, 32], "size": [0.25, 1, 2, 3]}
    atoms, weights = [100, 900, 1500, 2500, 4000], [1, 2, 2, 1, 2]
    size = {"zip": {"intensity": tables["size"]}}
    study = transit(
        axes={name: size if name == "size" else tables[name] for name in order},
        set={"ms_peak": 1},
        random={"mem_latency": dse.discrete(atoms, weights)},
    )
    known = xr.concat(
        [
            transit(
                axes={name: size if name == "size" else tables[name] for name in order},
                set={"ms_peak": 1, "mem_latency": latency},
            )
            .run()
            .cs_throughput
            for latency in atoms
        ],
        "draw",
    )
    best = known.max("threads")
    value = best.min("size") if outer == "worst" else np.exp(np.log(best).mean("size"))
    goal = f"{outer}(best(cs_throughput, threads), size)"
    result = study.chances(maximize=f"{goal} - lanes_width / 100")
    scores = value - value.lanes_width / 100
    chances, regrets = slowly(
        (-scores.transpose("lanes_width", "draw")).values, np.array(weights) / 8
    )
    places = [tables["lanes_width"].index(w) for w in result.lanes_width.values]
    assert result.chance.values.tolist() == pytest.approx([float(chances[k]) for k in places])
    assert result.regret.values.tolist() == pytest.approx([float(regrets[k]) for k in places])
    assert sum(chances[k] for k in places) == pytest.approx(1)


def test_an_inner_statistic_applies_the_conditions_along_its_axes():
    """An objective over the best block of each kernel has no block, in draws and in an optimum."""
    axes = {"workload": ["sepia", "svm"], "threads_per_block": [64, 128], "active_sms": [10, 30]}
    given = {"model": "ipp", "machine": "gtx280", "axes": axes, "outputs": ["time"]}
    given["where"] = ["comp_insts * threads_per_block >= 71 * 128"]  # not sepia with 64 threads
    ds = dse.Study(**given).run()
    known = ds.time.where(ds.feasible)
    assert known.notnull().sum(["threads_per_block", "active_sms"]).values.tolist() == [2, 4]
    expected = np.exp(np.log(known.min("threads_per_block")).mean("workload"))
    goal = "geomean(best(time, threads_per_block), workload)"
    answer = dse.Study(**given).optimum(minimize=goal, per="active_sms")
    np.testing.assert_allclose(answer.objective, expected, rtol=1e-12)
    assert "threads_per_block" not in answer.coords
    study = dse.Study(**given, random={"mem_bandwidth": dse.discrete([100e9, 150e9])})
    result = study.chances(minimize=goal)
    assert "threads_per_block" not in result.coords
    assert result.active_sms.values.tolist() == [30]


def test_a_case_that_draws_decide_is_no_obstacle_for_queries(tmp_path):
    given = {"outputs": ["cs_throughput", "bound"], "random": {"mem_latency": "normal: 600, 20 %"}}
    study, same = transit(**given), transit(random=given["random"])
    for query in ("chances", "information"):
        answer = getattr(study, query)(maximize=GOAL)
        assert answer.drop_attrs().equals(getattr(same, query)(maximize=GOAL).drop_attrs())
    for run in (study.run, study.plan, study.lazy, lambda: study.run(store=tmp_path / "a.zarr")):
        with pytest.raises(DseError, match="the output bound is a case that differs from draw to"):
            run()


def test_labels_and_switches_compete():
    study = dse.Study(
        model="ipp",
        machine="gtx280",
        random={"mem_bandwidth": "uniform: 113 GB/s, 141.7 GB/s", "draws": 64},
        axes={
            "workload": ["sepia", "svm"],
            "threads_per_block": [64, 128, 256],
            "active_sms": [10, 20, 30],
        },
        outputs=["time"],
    )
    by_draw = study.optimum(minimize="time", per=["workload", "draw"])
    result = study.chances(minimize="time", per="workload", top=1)
    assert result.active_sms.values.reshape(-1).tolist() == [30, 30]
    most = xr.apply_ufunc(
        np.median, by_draw.threads_per_block, input_core_dims=[["draw"]], kwargs={"axis": -1}
    )
    assert result.threads_per_block.values.reshape(-1).tolist() == most.values.tolist()
    assert study.chances(minimize="mean(time, workload)").chance.sum() == pytest.approx(1)


def test_a_configuration_competes_where_it_is_feasible():
    laws = {"mem_latency": dse.discrete([128, 512, 4096], [2, 1, 1])}
    study = transit(axes={"threads": [256, 512]}, random=laws)
    result = study.chances(minimize="threads", where="cs_throughput >= 6")
    assert dict(
        zip(result.threads.values.tolist(), result.chance.values.tolist(), strict=True)
    ) == {
        256: 0.5,
        512: 0.25,
    }
    assert result.none.item() == 0.25
    assert result.regret.values.tolist() == [np.inf, 256 * 0.5 / 0.75]
    with pytest.raises(InfeasibleError, match="relax the constraints"):
        study.chances(minimize="threads", where="cs_throughput >= 1000")


def test_a_dataset_is_asked_along_draws():
    dimension = "draw"
    rng = np.random.default_rng(3)
    values = rng.normal([[1.0], [1.1], [5.0]], 0.2, (3, 101))
    ds = xr.Dataset(
        {"time": (("block", dimension), values, {"units": "s"})}, {"block": [32, 64, 128]}
    )
    result = dse.chances(ds, minimize="time")
    shares = [np.mean(values.argmin(axis=0) == k) for k in range(2)]
    np.testing.assert_allclose(result.chance, sorted(shares, reverse=True), rtol=1e-12)
    assert result.block.values.tolist() == [32, 64]
    assert result.left.item() == 0
    assert ((result.chance_error > 0.01) & (result.chance_error < 0.3)).all()
    assert result.regret.attrs["units"] == "s"
    with pytest.raises(DseError, match="neither of the dimensions"):
        dse.chances(ds.rename({dimension: "again"}), minimize="time")


def test_models_compared_are_each_asked():
    both = dse.Study(
        model=["transit", "transit + transit_warps"],
        axes={"threads": [64, 512, 2048]},
        set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
        outputs=["ms_throughput"],
        random={"mem_latency": dse.discrete([100, 5000])},
    )
    assert both.chances(maximize="ms_throughput", top=1).sizes == {"model": 2, "rank": 1}


@pytest.mark.parametrize(
    ("more", "options", "message"),
    [
        (
            {"random": {}, "set": {**GIVEN, "intensity": 10, "ms_peak": 1}},
            {"maximize": GOAL},
            "no input is random",
        ),
        ({}, {}, "nothing to optimise"),
        ({}, {"maximize": GOAL, "top": 0}, "top = 0"),
        ({}, {"maximize": GOAL, "per": "workload"}, "is no axis"),
        ({}, {"maximize": ["threads", "ms_peak"]}, "one objective"),
        ({}, {"maximize": "chance(threads)"}, "a condition is expected"),
    ],
)
def test_bad_questions_are_refused(more, options, message):
    given = {"random": {"mem_latency": "normal: 600, 20 %"}, **more}
    with pytest.raises(DseError, match=message):
        transit(**given).chances(**options)


def test_axes_that_do_not_matter_may_be_asked_per_value() -> None:
    """Each value of such an axis has the same answer, that of the whole."""
    study = dse.Study(
        model="transit",
        axes={"threads": [256, 512], "intensity": [10, 20]},
        set={"lanes_width": 32, "ms_peak": 1},
        random={"mem_latency": "discrete: 300: 1, 600: 1, 1200: 2"},
    )
    for goal, axis in (("mem_latency", "threads"), ("mem_latency * threads", "intensity")):
        whole, result = study.chances(minimize=goal), study.chances(minimize=goal, per=axis)
        assert result.chance.dims == (axis, "rank")
        for each in result.transpose(axis, ...).chance.values:
            assert each.tolist() == whole.chance.values.tolist()


def test_the_regret_of_a_statistic_has_its_unit() -> None:
    study = dse.Study(
        model="occupancy + mwp_cwp",
        machine="gtx280",
        axes={"threads_per_block": [128, 256], "workload": ["svm", "sepia"]},
        random={"mem_latency_dram": "normal: 450 cycles, 10 %", "draws": 64},
        outputs=["time"],
    )
    units = {
        goal: study.chances(minimize=goal).regret.attrs["units"]
        for goal in ("geomean(time, workload)", "worst(time, workload)", "2 * mean(time, workload)")
    }
    assert list(units.values()) == ["s", "s", "s"]
