"""Cost of the laws of loads, and of a simulation.

    python -m pytest tests/benchmarks/test_loads.py -m benchmark -s

Prints seconds (the least of three rounds) until a first quantile, and until the mean and the 99 %
quantile of the fullest bin, of the occupied bins and of the tiles. Beside them are the seconds that
a simulation takes to a standard error of 1e-4 of a probability, from loads that are drawn in the
same run. The error of the laws is below 1e-8, for which a simulation takes 1e8 times as long.
"""

import time

import numpy as np
import pytest

from stochastic import loads

pytestmark = pytest.mark.benchmark

SHARES = {
    "equal": None,
    "moderate": np.random.default_rng(1).dirichlet(np.full(256, 5.0)),
    "skewed": np.random.default_rng(1).dirichlet(np.full(256, 0.3)),
    "power": np.arange(1, 257) ** -1.2 / np.sum(np.arange(1, 257) ** -1.2),
}
DRAWN = 2000


def least(run):
    times = []
    for _ in range(3):
        began = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - began)
    return min(times), result


@pytest.mark.parametrize("shares", SHARES)
def test_experts_of_a_large_batch(shares):
    """16,384 tokens choose 8 of 256 experts on 64 ranks."""

    def law():
        given = {"probabilities": SHARES[shares]} if shares != "equal" else {}
        return loads(16_384 * 8, 256, groups=64, tile=128, **given)

    def numbers():
        known = law()
        laws = known.largest, known.occupied, known.tiles
        return [(one.mean(), one.quantile(0.99), one.error) for one in laws]

    first, quantile = least(lambda: law().busiest.quantile(0.99))
    whole, results = least(numbers)
    began = time.perf_counter()
    drawn = law().simulate(DRAWN)
    simulated = (time.perf_counter() - began) * 0.25e8 / DRAWN
    worst = max(error for *_, error in results)
    print(
        f"{shares}: p99 of the busiest {first:.3f} s; mean and p99 of largest, occupied, tiles "
        f"{whole:.3f} s, error {worst:.1e}; simulated {simulated:.0f} s"
    )
    for (mean, *_), name in zip(results, ("largest", "occupied", "tiles"), strict=True):
        known = getattr(drawn, name)
        assert abs(known.mean() - mean) <= 5 * known.std() / DRAWN**0.5 + 1e-9
    assert abs(drawn.busiest.quantile(0.99) / quantile - 1) < 0.02
    assert worst < 1e-8
    assert first <= 0.5
    assert whole <= 2
