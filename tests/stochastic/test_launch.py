"""The law of a launch: published values, enumeration, simulation, what is refused."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from stochastic import Launch, LawError, Pmf, Sharing, launch
from stochastic.kernels.schedule import simulate_shared_rate
from stochastic.launch_time.block_counts import BlockCounts, count_by_products, count_by_transforms
from stochastic.launch_time.inversion import LaunchInversion
from stochastic.launch_time.settings import SlotKind
from tests.oracles.launch_digits import BITS, scaled_probability
from tests.oracles.launch_fractions import in_fractions
from tests.oracles.launches import enumerate_launches, sharing
from tests.oracles.law_fractions import fractions_of

DICE = Pmf.from_weights([Fraction(1, 6)] * 6, low=1)


@pytest.mark.parametrize(
    ("slots", "blocks", "mean"),
    [
        (2, 3, Fraction(343, 54)),
        (2, 5, Fraction(19117, 1944)),
        (2, 10, Fraction(280915775, 15116544)),
        (3, 7, Fraction(113675, 11664)),
        (4, 9, Fraction(12320899, 1259712)),
    ],
)
def test_means_of_dice(slots: int, blocks: int, mean: Fraction) -> None:
    oracle = in_fractions([tuple(fractions_of(DICE))], [slots], blocks)
    assert sum(1 - chance for chance in oracle.cdf_values()) == mean
    result = launch(DICE, slots=slots, blocks=blocks).mean()
    assert result == pytest.approx(float(mean), abs=1e-11)


def test_two_values_on_two_slots() -> None:
    law = launch(Pmf.from_weights([Fraction(1, 2), Fraction(1, 2)], low=1), slots=2, blocks=4)
    assert law.cdf([1, 2, 3, 4]) == pytest.approx([0, 1 / 16, 9 / 16, 1], abs=1e-14)
    assert law.pmf().values == pytest.approx([1 / 16, 1 / 2, 7 / 16], abs=1e-14)
    assert law.quantile(Fraction(8, 16)) == 3
    assert law.cvar(0.75) == pytest.approx(4)


def test_fractions_are_refused_with_a_way_out() -> None:
    with pytest.raises(LawError, match="method = 'exact': expected one of auto, inversion"):
        launch(DICE, blocks=3, slots=2, method="exact")


def _draw_launch(rng: random.Random) -> tuple[list[Pmf], list[int], int]:
    kinds, most = rng.choice([1, 1, 2]), rng.randint(1, 4)
    idle = Fraction(rng.choice([0, 0, 1, 2]), 6)
    laws = []
    for _ in range(kinds):
        weights = [rng.randint(0, 3) for _ in range(most - 1)] + [rng.randint(1, 3)]
        laws.append(
            Pmf.from_weights([idle, *((1 - idle) * Fraction(w, sum(weights)) for w in weights)])
        )
    slots = [rng.randint(1, 4 // kinds) for _ in laws]
    return laws, slots, rng.randint(1, 8 if most <= 2 else 5)


def _other_ways(law: Launch) -> list[Callable[[Any], Any]]:
    """Return P(C <= t) from counts of blocks, from transforms, and plainly at other nodes."""
    if not isinstance(law._engine, LaunchInversion):
        return []
    setting = law._engine.setting
    counted, transformed = (
        LaunchInversion(setting=setting, counts=BlockCounts(setting=setting, products=products))
        for products in (True, False)
    )
    phases = [0.0] * len(setting.kinds)
    return [counted.cdf, transformed.cdf, lambda times: counted.transform(times, phases).real]


def check_enumeration(seed: int, cases: int) -> float:
    """The worst error of a probability; the oracle is equal, doubles are within their bound."""
    rng, worst = random.Random(seed), 0.0
    for _ in range(cases):
        laws, slots, blocks = _draw_launch(rng)
        work, where = (laws, slots) if len(laws) > 1 else (laws[0], slots[0])
        doubles = launch(work, slots=where, blocks=blocks)
        weights = [tuple(fractions_of(law)) for law in laws]
        exact = in_fractions(weights, slots, blocks)
        table = enumerate_launches(weights, slots, blocks)
        started = exact.last_start_cdf()
        others = _other_ways(doubles)
        for t in range(-1, max(key[0] for key in table) + 2):
            chance = sum((p for key, p in table.items() if key[0] <= t), Fraction(0))
            begun = sum((p for key, p in table.items() if key[1] <= t), Fraction(0))
            assert exact.cdf(t) == chance
            assert (started[min(t, len(started) - 1)] if t >= 0 else 0) == begun
            steps = np.array([t // doubles.span])
            assert all(abs(float(one(steps)[0]) - chance) < 1e-12 for one in others)
            assert doubles.start_of_last().cdf(t) == pytest.approx(float(begun), abs=1e-12)
            error = float(abs(Fraction(doubles.cdf(t)) - chance))
            assert error <= doubles.error < 1e-12
            worst = max(worst, error)
        joint: dict[tuple[int, int], Fraction] = {}
        for (time, _, total), p in table.items():
            joint[time, total] = joint.get((time, total), Fraction(0)) + p
        result = doubles.joint()
        for i, time in enumerate(result.time.values.tolist()):
            for j, total in enumerate(result.total.values.tolist()):
                assert abs(result.values[i, j] - joint.get((time, total), 0)) <= 1e-12
        spent = doubles.energy(2.0, 3.0, 0.5)
        each = {(c, w): 2 * w + 3 * c + (sum(slots) * c - w) / 2 for c, w in joint}
        mean = sum(float(p) * each[key] for key, p in joint.items())
        var = sum(float(p) * (each[key] - mean) ** 2 for key, p in joint.items())
        assert spent.mean == pytest.approx(mean, abs=1e-9 if len(laws) == 1 else 1e-6)
        assert spent.std == pytest.approx(math.sqrt(var), abs=2e-4)
    return worst


def test_every_way_blocks_can_go() -> None:
    assert check_enumeration(seed=5, cases=15) < 1e-13


def test_the_large_example() -> None:
    law = launch(Pmf.uniform(1, 1000), blocks=4096, slots=864)
    assert law.cdf(3042) == pytest.approx(0.9016, abs=5e-5)
    assert law.quantile(0.99) == 3068
    assert law.idle().slot_share == pytest.approx(0.211, abs=5e-4)
    assert law.error < 1e-12
    few = law.cdf(np.array([2990, 3042, 3068]))
    law.times()
    assert law.cdf(np.array([2990, 3042, 3068])) == pytest.approx(few, abs=1e-13)


def check_digits(seed: int, cases: int, most: int = 100) -> float:
    """The largest share of its bound that an error reaches, of launches to sixty digits."""
    rng, worst = random.Random(seed), 0.0
    for _ in range(cases):
        longest, slots = rng.randint(2, 40), rng.randint(20, most)
        weights = [0] + [rng.randint(0, 9) * rng.choice([1, 1, 50]) for _ in range(longest - 1)]
        weights.append(rng.randint(1, 9))
        work = Pmf.from_weights([Fraction(one, sum(weights)) for one in weights])
        law = launch(work, blocks=rng.randint(1, 8 * slots), slots=slots)
        setting = law._engine.setting  # type: ignore[union-attr]
        reach = BlockCounts(setting=setting, products=True).window
        wide = (reach.last - reach.first) // 3 + 2
        whole = (max(reach.first - wide, 0), reach.last + wide)
        t = rng.randint(reach.first, reach.last + setting.longest)
        true = scaled_probability(weights[:: setting.span], slots, law.blocks, t, whole)
        error = float(abs(Fraction(true, 1 << BITS) - Fraction(law.cdf(t * setting.span))))
        worst = max(worst, error / law.error)
    return worst


def test_the_bound_holds_to_sixty_digits() -> None:
    assert check_digits(seed=2, cases=2, most=60) < 1.0


def check_simulation(seed: int, cases: int, size: int = 1000) -> float:
    """The largest distance from simulated launches, over what DKW allows at 1 - 1e-4."""
    rng, worst = random.Random(seed), 0.0
    for case in range(cases):
        slots = rng.randint(2, 400)
        law = launch(
            rng.choice([Pmf.geometric(0.05), Pmf.uniform(20, 90), Pmf.poisson(30)]),
            lanes=rng.choice([1, 32]),
            warps=rng.randint(1, 8),
            blocks=slots * rng.randint(1, 8) + rng.randint(0, slots),
            slots=slots,
        )
        drawn = np.sort(law.sample(size, seed=case))
        seen = np.arange(1, size + 1) / size
        last = np.append(drawn[1:] > drawn[:-1], True)
        above = np.abs(law.cdf(drawn[last]) - seen[last]).max()
        below = np.abs(law.cdf(drawn[last] - 1) - np.append(0.0, seen[last][:-1])).max()
        worst = max(worst, max(above, below) / math.sqrt(math.log(2 / 1e-4) / (2 * size)))
    return worst


def test_simulated_launches() -> None:
    assert check_simulation(seed=3, cases=4, size=400) < 1.0


@pytest.mark.parametrize(("low", "high"), [(0, 3), (0, 300), (290, 300), (1000, 1900)])
@pytest.mark.parametrize(
    "weights", [{1: 0.4, 2: 0.6}, {3: 1 - 1e-9, 200: 1e-9}, {7: 1.0, 9: 1e-300}]
)
def test_counts_by_transforms_are_those_by_products(
    weights: dict[int, float], low: int, high: int
) -> None:
    law = np.zeros(max(weights) + 1)
    law[list(weights)] = list(weights.values())
    kind = SlotKind(slots=1, law=law)
    one, other = (
        count_by_products(kind, low, high, 1e-17),
        count_by_transforms(kind, low, high, 1e-17),
    )
    least, most = max(one.first_count, other.first_count), min(one.counts[-1], other.counts[-1])
    for name in ("starts", "probabilities"):
        a, b = getattr(one, name), getattr(other, name)
        few, many = (range(least - c.first_count, most + 1 - c.first_count) for c in (one, other))
        assert a[few] == pytest.approx(b[many], abs=other.noise)
        assert np.abs(np.delete(b, many, axis=0)).max(initial=0.0) <= other.noise
    assert np.delete(one.probabilities, few, axis=0).max(initial=0.0) < 1e-15


def test_hundreds_of_blocks_on_each_slot() -> None:
    law = launch(Pmf.uniform(1, 20), blocks=40_000, slots=100)
    drawn = law.sample(100, seed=2)
    assert abs(law.mean() - drawn.mean()) < 5 * law.std() / math.sqrt(100)


@pytest.mark.parametrize(("slots", "blocks"), [(864, 4096), (400, 9000)])
def test_other_nodes_give_the_same_within_the_bound(slots: int, blocks: int) -> None:
    law = launch(Pmf.uniform(1, 200), blocks=blocks, slots=slots)
    engine = law._engine
    assert isinstance(engine, LaunchInversion)
    window = engine.window
    times = np.linspace(window.first + 1, window.last + 199, 60).astype(np.int64)
    assert np.abs(law.cdf(times) - engine.transform(times, [0.0]).real).max() < law.error


def test_blocks_that_all_start_at_once_take_as_long_as_the_longest() -> None:
    law = launch(Pmf.uniform(1, 50), blocks=7, slots=9)
    assert law.cdf(np.arange(51)) == pytest.approx((np.arange(51) / 50) ** 7, abs=1e-12)
    beyond = launch(Pmf.uniform(1, 50), blocks=7, slots=10**9)
    assert (beyond.mean(), beyond.quantile(0.9)) == (law.mean(), law.quantile(0.9))
    assert beyond.idle().slot_time == pytest.approx(10**9 * law.mean() - 7 * 25.5, rel=1e-12)


@pytest.mark.parametrize(
    ("full", "mean", "bound"), [(1, 6764, 6368), (4, 1723, 1592), (8, 911, 796), (16, 633, 398)]
)
def test_warps_that_share_a_rate(full: int, mean: float, bound: float) -> None:
    # the example: 20 multiprocessors of 4 blocks of 4 warps, 400 blocks
    given = {"blocks": 400, "slots": 80, "lanes": 32, "warps": 4}
    work = Pmf.geometric(0.05)
    result = launch(work, **given, sharing=Sharing(full=full, resident=4, launches=300))
    assert result.mean() == pytest.approx(mean, rel=0.01)
    assert result.work_bound == pytest.approx(bound, abs=2)
    assert result.method == "simulated, shared rate"
    if full == 16:  # no warp waits for another: the exact law
        alone = launch(work, **given)
        times = np.arange(550, 800, 5)
        assert np.abs(result.cdf(times) - alone.cdf(times)).max() < result.error


def test_each_launch_of_shared_rates_is_that_of_events_in_fractions() -> None:
    rng = random.Random(3)
    for _ in range(60):
        places, resident, warps = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3)
        full = Fraction(rng.randint(1, 12), 2)
        blocks = [[rng.randint(1, 40) for _ in range(warps)] for _ in range(rng.randint(1, 12))]
        room = np.empty((2, places, resident), np.int64), np.empty((2, places, resident))
        lengths, result = np.sort(np.array([blocks], dtype=float)), np.empty(1)
        simulate_shared_rate(lengths, float(full), *room, np.empty((4, places)), result)
        assert result[0] == pytest.approx(float(sharing(blocks, places, resident, full)), rel=1e-12)


def test_where_a_shared_rate_goes() -> None:
    result = launch(
        DICE, blocks=40, slots=12, lanes=2, warps=2, sharing=Sharing(full=3, resident=6)
    )
    spent = result.idle()
    shares = spent.slot_share, spent.lane_share, spent.warp_share, spent.working_share
    assert sum(shares) == pytest.approx(1)
    assert spent.working_share == pytest.approx(40 * 2 * 3.5 / (2 * 3 * result.mean()))
    assert result.cvar(0.9) == result.times[1800:].mean()


def test_one_multiprocessor_at_one_warp_does_all_the_work_in_a_row() -> None:
    result = launch(DICE, blocks=6, slots=3, warps=2, sharing=Sharing(full=1, resident=3))
    assert result.mean() == pytest.approx(12 * 3.5, abs=4 * math.sqrt(12 * 35 / 12 / 2000))
    assert result.interval(result.quantile(0.5))[0] < 0.5 < result.interval(result.quantile(0.6))[1]


def test_exponential_work_is_enclosed_by_rounding() -> None:
    # rate 1, 8 slots, 40 blocks, P(C <= 7) in [0.604, 0.669] in steps of 0.05 (issue's values)
    result = []
    for moved in (1, 0):
        tail = np.exp(-0.05 * np.arange(900))
        work = Pmf.from_weights(-np.diff(tail), low=moved, normalise=True)
        result.append(launch(work, blocks=40, slots=8).cdf(140))
    assert result == pytest.approx([0.604, 0.669], abs=1e-3)


def test_nothing_to_do_takes_no_time() -> None:
    law = launch(Pmf.from_weights([Fraction(1)]), blocks=5, slots=2)
    assert (law.mean(), law.cdf(0), law.energy(1, 1, 1).mean) == (0, 1, 0)
    assert law.sample(3).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"blocks": 0, "slots": 2}, "blocks = 0"),
        ({"blocks": 3, "slots": 1.5}, "slots = 1.5"),
        ({"blocks": 3, "slots": [1, 2]}, "as many laws as numbers"),
        ({"blocks": 3, "slots": 2, "correlation": 1.3}, "correlation = 1.3"),
        ({"blocks": 3, "slots": 2, "sharing": 4}, "sharing = 4"),
        ({"blocks": 3, "slots": 3, "sharing": Sharing(full=1, resident=2)}, "no multiple"),
        (
            {
                "blocks": 3,
                "slots": 2,
                "sharing": Sharing(full=1, resident=2),
                "work": Pmf.bernoulli(0.5),
            },
            "have none",
        ),
        ({"blocks": 3, "slots": 2, "work": [0.5, 0.5]}, "0.5 is no law of work"),
        ({"blocks": 3, "slots": 2, "method": "sweep"}, "method = 'sweep'"),
    ],
)
def test_what_does_not_fit(given: dict[str, object], message: str) -> None:
    with pytest.raises(LawError, match=message):
        launch(**{"work": DICE, **given})  # type: ignore[arg-type]


def test_a_law_too_large_names_what_works() -> None:
    law = launch(Pmf.uniform(1, 100_000), blocks=100_000, slots=3)
    with pytest.raises(LawError, match=r"rounded up and rounded down.*sample"):
        law.cdf(1)
    with pytest.raises(LawError, match=r"up to 1,000,.* steps.*rounded up and rounded down"):
        launch(Pmf.from_weights([0.5, 0.5], low=10**9), blocks=4, slots=2)


if __name__ == "__main__":
    print("worst error of a probability", check_enumeration(seed=1, cases=500))
    print("largest share of the bound", check_digits(seed=1, cases=500))
    print("largest distance over that of DKW", check_simulation(seed=1, cases=50))
