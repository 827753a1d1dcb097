"""The law of a launch in studies: statistics without draws, who deals out work, what it costs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import dse
from stochastic import Pmf, Sharing, launch, split
from stochastic.launch_time.dispatch import dispatch_law
from symbolic.errors import DseError

GIVEN = {"warps_per_block": 2, "lanes": 4, "slots": 8, "core_clock": "1 GHz", "step_cycles": 1e9}
WORK = "geometric:0.2"
LAW = launch(Pmf.parse(WORK), blocks=30, slots=8, lanes=4, warps=2)


def compute(*outputs, **given):
    """Quantities of one launch, where a step takes a second."""
    every = {"distribution": WORK, "blocks": 30, **GIVEN, **given}
    study = dse.Study(model="launch", set=every, outputs=list(outputs))
    ds = study.run()
    return [ds[name].item() for name in outputs]


def test_statistics_are_those_of_the_law():
    at = LAW.quantile(0.7)
    assert compute(
        "quantile(launch_time, 0.99)", "quantile(launch_time, 0.5)", "launch_time_std"
    ) == [
        LAW.quantile(0.99),
        LAW.quantile(0.5),
        LAW.std(),
    ]
    result = compute(
        *("mean(launch_time)", "launch_time_mean", "std(launch_time)", "cvar(launch_time, 0.95)"),
        *(f"chance(launch_time <= {at} s)", f"chance({at} s < launch_time)"),
    )
    chance = LAW.cdf(at)
    own = [LAW.mean(), LAW.mean(), LAW.std(), LAW.cvar(0.95), chance, 1 - chance]
    assert result == pytest.approx(own, rel=1e-12)
    assert compute("error(mean(launch_time))") == [0]


def test_any_formula_of_it_has_statistics():
    """They equal sums over the atoms."""
    values, chances = LAW.times().values.tolist(), LAW.times().probabilities.tolist()
    formula = "absolute(launch_time - deadline)"
    texts = [f"mean({formula})", f"quantile({formula}, 0.9)", f"cvar_low({formula}, 0.25)"]
    texts += [f"chance(12 s < launch_time and {formula} > 3 s)", f"geomean({formula} + 1 s)"]
    deadline = LAW.quantile(0.4) + 0.5
    apart = sorted((abs(t - deadline), p) for t, p in zip(values, chances, strict=True))
    reached = list(itertools.accumulate(p for _, p in apart))
    level = next(x for (x, _), below in zip(apart, reached, strict=True) if below >= 0.9)
    tail, left = 0.0, 0.75
    for x, p in apart:  # the least three quarters
        tail, left = tail + x * min(p, left), left - min(p, left)
    own = [
        sum(x * p for x, p in apart),
        level,
        tail / 0.75,
        sum(p for t, p in zip(values, chances, strict=True) if t > 12 and abs(t - deadline) > 3),
        math.exp(sum(p * math.log(x + 1) for x, p in apart)),
    ]
    assert compute(*texts, deadline=deadline) == pytest.approx(own, rel=1e-12)


def test_they_are_asked_of_and_bounded_by():
    axes = {"blocks": range(8, 33, 4), "dispatch": ["hardware", "loop"]}
    given = {**GIVEN, "distribution": WORK}
    study = dse.Study(model="launch", axes=axes, set=given, outputs=["launch_blocks"])
    bound = "chance(launch_time <= 40 s) >= 0.9"
    best = study.optimum(maximize=["blocks", "-quantile(launch_time, 0.9)"], where=bound)
    values = {
        (kind, blocks): dispatch_law(Pmf.parse(WORK), blocks, 8, 4, 2, kind)[0]
        for blocks in axes["blocks"]
        for kind in axes["dispatch"]
    }
    able = [(blocks, kind) for (kind, blocks), law in values.items() if law.cdf(40) >= 0.9]
    most = max(blocks for blocks, _ in able)
    kind = min((k for b, k in able if b == most), key=lambda k: values[k, most].quantile(0.9))
    assert (best.blocks.item(), best.dispatch.item()) == (most, kind)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("launch_time", "has a law, not one value"),
        ("launch_time * 2", "has a law, not one value"),
        ("mean(launch_time, blocks)", r"mean\(mean\(launch_time\), blocks\)"),
        ("worst(launch_time)", "quantile"),
    ],
)
def test_what_has_a_law_has_no_value(query, message):
    study = dse.Study(model="launch", axes={"blocks": [1, 2]}, set={**GIVEN, "distribution": WORK})
    with pytest.raises(DseError, match=message):
        study.optimum(minimize=query)


def test_inputs_may_be_random_besides():
    values = {**GIVEN, "distribution": WORK, "blocks": 30}
    del values["step_cycles"]
    given = {"model": "launch", "set": values}
    given |= {"random": {"step_cycles": "discrete: 5e8: 0.5, 1e9: 0.5"}}
    with pytest.raises(DseError, match=r"mean\(chance"):
        dse.Study(**given, outputs=["chance(launch_time <= 30 s)"])
    name = "mean(chance(launch_time <= 30 s))"
    ds = dse.Study(**given, outputs=[name]).run()
    assert ds[name].item() == pytest.approx((LAW.cdf(30) + LAW.cdf(60)) / 2, rel=1e-12)


def test_constant_work_comes_in_waves():
    blocks = [1, 8, 9, 16, 17]
    ds = dse.Study(
        model="launch",
        axes={"blocks": blocks, "dispatch": ["hardware", "loop", "queue"]},
        set={**GIVEN, "distribution": "uniform:5,5"},
        outputs=["launch_time_mean", "launch_time_std", "waves_time"],
    ).run()
    assert ds.waves_time.values.tolist() == [5.0 * math.ceil(n / 8) for n in blocks]
    np.testing.assert_array_equal(
        *np.broadcast_arrays(ds.launch_time_mean, ds.waves_time.values[:, None])
    )
    assert ds.launch_time_std.values.max() < 1e-6  # the root of a rounding


def test_a_loop_takes_the_longest_of_sums():
    """Three warps of two dice and five rounds on two slots, every outcome in fractions."""
    die = {k: Fraction(1, 6) for k in range(1, 7)}
    pair = {k: Fraction(2 * k - 1, 36) for k in die}  # the larger of two
    sums = {1: pair}
    for n in (2, 3):
        sums[n] = {}
        for (a, p), (b, q) in itertools.product(sums[n - 1].items(), pair.items()):
            sums[n][a + b] = sums[n].get(a + b, 0) + p * q
    times, idle = dispatch_law(Pmf.uniform(1, 6), 5, 2, 2, 3, "loop")
    for t in range(3, 19):
        below = [sum(p for k, p in sums[n].items() if k <= t) for n in (2, 3)]
        assert times.cdf(t) == pytest.approx(float(math.prod(below) ** 3), rel=1e-12)
    mean = sum(k * p for k, p in pair.items())
    assert idle.slot_share == pytest.approx(1 - 15 * float(mean) / (6 * times.mean()), rel=1e-12)
    shares = idle.slot_share + idle.lane_share + idle.warp_share + idle.working_share
    assert shares == pytest.approx(1, rel=1e-12)


def test_a_queue_deals_out_warps():
    result, _ = dispatch_law(Pmf.geometric(0.3), 20, 4, 8, 2, "queue")
    own = launch(Pmf.geometric(0.3), blocks=40, slots=8, lanes=8)
    assert result.cdf_values.tolist() == own.times().cdf_values.tolist()


def test_pieces_and_shared_items_are_launched_as_such():
    names = ["launch_blocks", "lockstep_items", "launch_time_mean", "pieces_per_item"]
    result = compute(*names, lanes_per_item=2, lane_overhead=0.5, piece_length=4, piece_overhead=1)
    cut = split(Pmf.parse(WORK), 4, 1, lanes=1)
    pieces = cut["pieces"].item()
    blocks = math.ceil(30 * 2 * pieces)
    own = launch(cut.law(4), blocks=blocks, slots=8, lanes=2, warps=2).mean()
    assert result == pytest.approx([blocks, 2, own * 1.5 / 2, pieces], rel=1e-9)


def test_neighbours_may_be_alike_until_they_are_cut():
    own = launch(Pmf.parse(WORK), blocks=30, slots=8, lanes=4, warps=2, alike=0.6)
    names = ["launch_time_mean", "quantile(launch_time, 0.9)"]
    result = compute(*names, "block_steps_mean", alike=0.6)
    total = own.total() / 30
    assert result == pytest.approx([own.mean(), own.quantile(0.9), total], rel=1e-9)
    assert compute(*names, alike=0.6, piece_length=4) == compute(*names, piece_length=4)
    loops = [
        dispatch_law(Pmf.uniform(1, 6), 8, 8, 4, 2, kind, 0.6)[0].mean()
        for kind in ("loop", "queue")
    ]
    warps = launch(Pmf.uniform(1, 6), blocks=16, slots=16, lanes=4, alike=0.6)
    assert loops == pytest.approx([warps.mean()] * 2, rel=1e-9)  # one round each


def test_shares_and_energy_add_up():
    shares = compute("tail_idle_share", "lane_idle_share", "warp_idle_share", "working_share")
    assert sum(shares) == pytest.approx(1, rel=1e-12)
    power = {"idle_power": 40, "runtime_power": 16, "idle_slot_power": 0.5}
    spent, idle, mean = compute("launch_energy_mean", "idle_energy", "launch_time_mean", **power)
    own = LAW.energy(working=16 / 8, on=40, idling=0.5)
    assert spent == pytest.approx(own.mean, rel=1e-12)
    assert idle == pytest.approx(shares[0] * mean * (40 + 8 * 0.5), rel=1e-12)


def test_a_block_that_does_not_fit_leaves_others():
    axes = {"slots": [0, 8]}
    given = {**GIVEN, "distribution": WORK, "blocks": 30}
    del given["slots"]
    study = dse.Study(model="launch", axes=axes, set=given, outputs=["launch_time_mean"])
    with pytest.warns(UserWarning, match="slots = 0"):
        ds = study.run()
    assert ds.launch_time_mean.values.tolist() == pytest.approx([math.nan, LAW.mean()], nan_ok=True)


def test_models_of_the_kernel_tell_the_time_of_a_step():
    study = dse.Study(
        model="ipp + launch",
        machine="gtx280",
        workload="sepia",
        axes={"threads_per_block": [64, 256]},
        set={"distribution": "uniform:40,40"},
        outputs=["launch_time_mean", "time", "step_cycles", "work_mean", "launch_energy_mean"],
    )
    ds = study.run()
    np.testing.assert_allclose(ds.launch_time_mean, ds.time, rtol=0.02)  # alike but for the waves
    joined = dse.Study(
        **{key: getattr(study, key) for key in ("machine", "workload", "axes", "set")},
        model="ipp + imbalance + launch",
        outputs=["launch_time_mean"],
    )
    np.testing.assert_allclose(joined.run().launch_time_mean, ds.launch_time_mean, rtol=1e-12)


def test_warps_that_share_a_rate_are_simulated_and_others_exact():
    """If all resident warps run at full rate, nothing is shared."""
    sharing = Sharing(full=2, resident=4, launches=1000)
    own = launch(Pmf.parse(WORK), blocks=30, slots=8, lanes=4, warps=2, sharing=sharing)
    near = f"chance(launch_time <= {own.quantile(0.6) / 4} s)"
    outputs = "mean(launch_time)", near, "tail_idle_share", "error(mean(launch_time))"
    outputs += (f"error({near})",)
    given = {"sharing": "rate", "active_blocks_per_sm": 4}
    *exact, off, rarely = compute(*outputs, warp_parallelism=8, **given)
    assert (exact, off, rarely) == (compute(*outputs[:3]), 0, 0)
    mean, chance, tail, off, rarely = compute(*outputs, warp_parallelism=2, **given)
    assert mean == pytest.approx(own.mean() / 4)
    assert chance == own.cdf(own.quantile(0.6))
    assert tail == pytest.approx(1 - own.work_bound / own.mean())
    assert off == pytest.approx(2.4 * own.std() / 4 / math.sqrt(1000), rel=0.1)
    assert rarely == pytest.approx(1.96 * math.sqrt(chance * (1 - chance) / 1000), rel=0.2)
    queued = compute("mean(launch_time)", dispatch="queue", warp_parallelism=2, **given)[0]
    assert queued < mean
    with pytest.raises(DseError, match="dispatch='loop' of warps that share a rate"):
        compute("mean(launch_time)", dispatch="loop", warp_parallelism=2, **given)
