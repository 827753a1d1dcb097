"""Cost of the exact law of a launch, over blocks, slots and the longest block; and of simulation.

    python -m pytest tests/benchmarks/test_launch.py -m benchmark -s

Prints seconds of the processor, the least of some rounds, of a first point of the distribution
function (a fresh law, machine code loaded), of further points, and of the whole law, each with its
bound of the error; and beside it those that simulation takes to be as near with a standard error of
0.001, from launches that are simulated in the same run. To be as near as the law is, it would take
some 1e18 times as long. No time is asserted, only that both agree.
"""

import math
import os
import time

import numpy as np
import pytest

from stochastic import LawError, Pmf, launch

pytestmark = pytest.mark.benchmark

ROUNDS = int(os.environ.get("DSE_BENCHMARK_ROUNDS", "5"))
SIZES = [
    (4096, 864, 1000),
    (4096, 864, 100),
    (4096, 864, 10_000),
    (1000, 864, 1000),
    (50_000, 864, 1000),
    (1_000_000, 864, 100),
    (50_000, 10_000, 1000),
    (1_000_000, 10_000, 100),
    (1_000_000, 10_000, 1000),
]


def least(run, rounds=ROUNDS):
    times, result = [], None
    for _ in range(rounds):
        began = time.process_time()
        result = run()
        times.append(time.process_time() - began)
    return min(times), result


@pytest.mark.parametrize(("blocks", "slots", "longest"), SIZES)
def test_a_law_beside_simulation(blocks, slots, longest):
    work = Pmf.uniform(1, longest)

    def law():
        return launch(work, blocks=blocks, slots=slots)

    size = max(20, min(2000, 4_000_000 // blocks))
    law().sample(1)
    simulated, drawn = least(lambda: law().sample(size, seed=1), 1)
    middle = int(np.median(drawn))
    law().cdf(middle)
    first, chance = least(lambda: law().cdf(middle))
    known = law()
    known.cdf(middle)
    times = middle + np.arange(20)
    further, _ = least(lambda: known.cdf(times))
    try:
        whole, _ = least(lambda: law().times(), 1)
    except LawError:
        whole = math.nan
    needed = simulated / size * 0.25 / 0.001**2
    print(
        f"\nB = {blocks:,}, M = {slots:,}, K = {longest:,}: first point {1e3 * first:.1f} ms, "
        f"further {1e3 * further / 20:.2f} ms, whole law {whole:.2f} s, bound {known.error:.1e}; "
        f"simulation within 0.001: {needed:.0f} s ({1e3 * simulated / size:.2f} ms a launch)"
    )
    seen = float((drawn <= middle).mean())
    assert abs(seen - chance) < 5 * 0.5 / math.sqrt(size) + 1 / size
