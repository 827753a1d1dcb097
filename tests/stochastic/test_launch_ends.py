"""Launches whose laws are certain, or nearly, and those that are too large for every step."""

import math
from fractions import Fraction

import numpy as np
import pytest

from stochastic import LawError, Pmf, imbalance, launch, launch_between, partition
from stochastic.launch_time.block_counts import BlockCounts
from stochastic.launch_time.continuous import coarse_unit, round_durations
from stochastic.launch_time.dispatch import dispatch_law
from stochastic.launch_time.inversion import LaunchInversion
from stochastic.launch_time.shared_rate import Sharing
from stochastic.trials.simulation import simulate
from tests.stochastic import launches


def certain(length):
    return Pmf.from_weights([1.0], low=length)


def test_two_certain_blocks_on_two_slots_take_one_time():
    law = launch(certain(14), blocks=2, slots=2)
    assert law.quantile([0, 0.5, 0.999999, 1]).tolist() == [14] * 4
    assert (law.mean(), law.std(), law.cdf(14), law.cdf(13), law.error) == (14, 0, 1, 0, 0)
    assert (law.total(), law.start_of_last().mean()) == (28, 0)
    assert law.joint().sizes == {"time": 1, "total": 1}


@pytest.mark.parametrize(
    ("lengths", "slots", "blocks"),
    [
        ([2, 3, 119], [2, 1, 1], 5),
        ([2, 3], [2, 1], 5),
        ([1, 100], [1, 1], 3),
        ([3, 50, 7], [1, 2, 1], 6),
        ([2, 119], [3, 1], 5),
        ([5], [1], 1),
        ([5], [1000], 3),
        ([5], [3], 1000),
        ([0], [2], 3),
    ],
)
def test_certain_launches_are_scheduled(lengths, slots, blocks):
    law = launch([certain(length) for length in lengths], blocks=blocks, slots=slots)
    time, _, total = law.simulated(1)[:, 0].tolist()
    assert law.quantile([0, 1]).tolist() == [time, time]
    assert (law.mean(), law.std(), law.total()) == (time, 0, total)
    idle = law.idle()
    used = total / (sum(slots) * time) if time else 1.0
    assert idle.slot_share == pytest.approx(1 - used, abs=1e-15)
    assert (idle.lane_share, idle.warp_share) == (0, 0)
    assert idle.working_share == pytest.approx(used)


def test_a_launch_that_is_nearly_certain_is_bounded_by_its_longest_blocks():
    work = Pmf.from_weights({14: 1 - 2.0**-53, 15: 2.0**-53})
    law = launch(work, blocks=2, slots=2)
    assert law.quantile([0, 0.5, 1]).tolist() == [14, 14, 15]
    assert launch(Pmf.uniform(1, 6), blocks=10, slots=3).quantile([0, 1]).tolist() == [4, 24]
    assert launch(Pmf.geometric(0.05), blocks=10, slots=3).quantile(1) == math.inf
    for dispatch in ("hardware", "loop", "queue"):
        times, idle = dispatch_law(certain(7), 10, 4, 8, 2, dispatch)
        assert times.std() == 0
        assert times.quantile(0) == times.quantile(1) == 21
        assert idle.lane_share == 0


def test_shares_of_unlike_slots_are_those_of_simulated_launches():
    works = [Pmf.uniform(1, 5), Pmf.uniform(100, 500)]
    law = launch(works, blocks=5, slots=[3, 1], lanes=2, warps=2)
    time, _, total = law.simulated(40_000, seed=1).mean(axis=1)
    idle = law.idle()
    assert idle.slot_share == pytest.approx(1 - total / (4 * time), abs=2e-3)
    shares = [idle.slot_share, idle.lane_share, idle.warp_share, idle.working_share]
    assert sum(shares) == pytest.approx(1)
    assert all(0 < share < 1 for share in shares)
    alone = launch(works[:1], blocks=5, slots=[3], lanes=2, warps=2).idle()
    twice = launch(works[:1] * 2, blocks=5, slots=[2, 1], lanes=2, warps=2).idle()
    for name in ("slot_share", "lane_share", "warp_share", "working_share"):
        assert getattr(twice, name) == pytest.approx(getattr(alone, name), abs=1e-9)


def test_a_law_of_few_long_durations_is_not_cut_short():
    """Rounding of transforms had left the start of the last block out."""
    weights = dict.fromkeys([2003, 2009, 2050], Fraction(1, 3))
    setting = launch(
        Pmf.from_weights({k: float(w) for k, w in weights.items()}, normalise=True),
        blocks=2,
        slots=1,
    )._engine.setting
    times = np.arange(4001, 4101)
    one, other = (
        LaunchInversion(
            setting=setting, counts=BlockCounts(setting=setting, products=products)
        ).cdf(times)
        for products in (True, False)
    )
    np.testing.assert_allclose(one, other, atol=1e-13)
    assert one[4006 - 4001] == pytest.approx(1 / 9)


def test_random_launches_agree():
    assert launches.main(12, 5) == 0


def test_steps_are_counted_together_where_there_are_many():
    work = Pmf.from_weights({1_000_003: 0.3, 1_000_009: 0.3, 1_000_500: 0.4})
    unit = coarse_unit(work, blocks=2, slots=1)
    early, late = (launch(one, blocks=2, slots=1) for one in round_durations(work, unit))
    assert early.mean() * unit <= 2 * work.mean() <= late.mean() * unit
    assert (late.mean() - early.mean()) * unit <= 2 * unit < 2e-3 * late.mean() * unit
    assert coarse_unit(Pmf.uniform(1, 1000), blocks=4096, slots=864) == 1
    assert coarse_unit(work.scale(1000), blocks=2, slots=1) == unit
    assert coarse_unit(certain(10**6), blocks=9, slots=2) == 1


@pytest.mark.parametrize("zero_work", ["one", "zero", "drop"])
@pytest.mark.parametrize(
    "weights",
    [
        {0: Fraction(5 * 10**99, 5 * 10**99 + 1), 3: Fraction(1, 10**100 + 2)},
        {0: Fraction(10**290, 10**290 + 1), 5: Fraction(1, 10**290 + 1)},
        {0: 1 - 1e-200, 5: 1e-200},
    ],
)
def test_atoms_that_are_smaller_than_rounding_are_told_or_refused(weights, zero_work):
    law = imbalance(Pmf.from_weights(weights, normalise=True), 3, method="fft", zero_work=zero_work)
    assert law.quantile(1) == 3
    if zero_work == "drop":
        with pytest.raises(LawError, match="take method='auto' or 'sweep'"):
            law.pmf()
        return
    atoms = law.pmf()
    assert float(atoms.sum()) == pytest.approx(1)
    assert 0 < atoms.attrs["atom_error"] < 1e-13


@pytest.mark.parametrize("rare", [1e-59, 1e-61, 1e-200, 1e-300])
def test_moments_of_work_that_hardly_ever_is_are_those_of_one_item(rare):
    work = Pmf.from_weights({0: 1 - rare, 1: rare / 2, 5: rare / 2}, normalise=True)
    law = imbalance(work, 3, zero_work="zero")
    assert float(law.mean()) == pytest.approx(9 * rare)
    assert float(law.var()) == pytest.approx(27 * rare)
    busy = imbalance(work, 3, zero_work="drop")
    assert float(busy.mean()) == pytest.approx(3)
    assert 0 <= float(busy.var()) < 1e-28


def test_groups_that_all_lose_the_same_tell_an_error_unless_that_is_certain():
    rare = simulate(Pmf.from_weights({5: 1 - 1e-9, 50: 1e-9}), 32, groups=1000)
    assert 0 == rare["loss_std"] < rare["loss_error"] < 0.1
    level = simulate(Pmf.from_weights([1.0], low=5), 32, groups=1000)
    assert level["loss_error"] == level["loss_std_error"] == level["slowdown_error"] == 0


def test_launches_of_certain_warps_that_share_a_rate_are_certain():
    sharing = Sharing(full=2, resident=2, launches=20)
    law = launch(certain(5), blocks=6, slots=2, sharing=sharing)
    assert (law.certain, law.error, law.std()) == (True, 0, 0)
    assert not launch(Pmf.uniform(1, 2), blocks=6, slots=2, sharing=sharing).certain


@pytest.mark.parametrize("value", ["1", b"1", True, math.nan, math.inf, -1, [1.0], {}, 10**400])
def test_numbers_that_do_not_fit_are_named(value):
    law = launch(certain(5), blocks=6, slots=2)
    for name, ask in {
        "working": lambda: law.energy(value, 1, 1),
        "full": lambda: launch(
            certain(5), blocks=6, slots=2, sharing=Sharing(full=value, resident=2)
        ),
        "step": lambda: launch_between(
            lambda t: min(max(t, 0.0), 1.0), blocks=2, slots=1, step=value
        ),
        "worth": lambda: partition(Pmf.uniform(1, 6), worth=value),
        "rate": lambda: Pmf.poisson(value),
        "p": lambda: Pmf.geometric(value),
        "tol": lambda: imbalance(certain(5), 4, tol=value),
    }.items():
        with pytest.raises(LawError, match=rf"^{name} = .*: expected "):
            ask()
