"""Launches near their extremes: three ways to the law of the time must agree, shares be shares.

    python -m tests.stochastic.launches 1000 1

Laws of few values, from 1 to 3000 steps long, with probabilities down to 1e-300, on one to three
kinds of slots, more slots than blocks included. The law from counts of blocks is compared with that
by transforms and with plain arithmetic at other nodes, a certain launch with its schedule, shares
and quantiles with what they can be.
The exit status is 1 where something is wrong.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from stochastic import Pmf, launch
from stochastic.launch_time.block_counts import BlockCounts
from stochastic.launch_time.inversion import LaunchInversion

SCALES = (3, 10, 100, 1000, 3000)


def draw_launch(rng: np.random.Generator) -> tuple[list[dict[int, float]], dict[str, Any]]:
    """Return laws as mappings, and the launch."""
    scale, laws, slots = int(rng.choice(SCALES)), [], []
    for _ in range(int(rng.integers(1, 4))):
        first = int(rng.integers(1, scale + 1))
        values = np.unique(first + rng.integers(0, rng.choice([1, 3, 30, first]) + 1, 3))
        values = values[: rng.integers(1, 4)]
        weights = rng.dirichlet(np.full(len(values), rng.choice([0.01, 0.3, 3.0]))) + 1e-300
        if rng.random() < 0.2:
            weights[1:] *= 10.0 ** -rng.uniform(0, 290)
        weights /= weights.sum()
        laws.append(dict(zip(values.tolist(), weights.tolist(), strict=True)))
        slots.append(int(rng.choice([1, 1, 2, 3, 8, 100])))
    return laws, {"blocks": int(rng.choice([1, 2, 3, 5, 9, 20])), "slots": slots}


def faults(laws: list[dict[int, float]], given: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a launch."""
    works = [Pmf.from_weights(law, normalise=True) for law in laws]
    law = launch(works, **given)
    setting, engine = law._engine.setting, law._engine
    if isinstance(engine, LaunchInversion):
        times = np.unique(np.linspace(0, (setting.blocks + 1) * setting.longest, 300).astype(int))
        one, other = (
            LaunchInversion(setting=setting, counts=BlockCounts(setting=setting, products=products))
            for products in (True, False)
        )
        few = times[:: max(1, len(times) // 10)]
        ways = one.cdf(times), other.cdf(times)
        if not np.abs(ways[0] - ways[1]).max() < 1e-10:
            yield f"counts and transforms are {np.abs(ways[0] - ways[1]).max():.2g} apart"
        plain = one.transform(few, [0.0] * len(setting.kinds)).real
        if not np.abs(plain - one.cdf(few)).max() < 1e-10:
            yield f"other nodes are {np.abs(plain - one.cdf(few)).max():.2g} apart"
    time, _, total = law.simulated(1, 1)[:, 0]
    if setting.is_certain and (law.mean() != time or law.std() != 0 or law.total() != total):
        yield f"a certain launch takes {time}, not {law.mean()} ± {law.std()}"
    quantiles = law.quantile([0, 1e-9, 0.5, 0.999, 1])
    if np.any(np.diff(quantiles.astype(float)) < 0) or not law.quantile(0) <= time <= quantiles[-1]:
        yield f"quantiles {quantiles}, simulated {time}"
    idle = law.idle()
    shares = [getattr(idle, name) for name in dir(idle) if name.endswith("_share")]
    if not all(0 <= one <= 1 for one in shares) or abs(sum(shares) - 1) > 1e-6:
        yield f"shares {shares}"


def main(count: int, seed: int) -> int:
    """Print what is wrong in so many launches; return the exit status."""
    wrong = 0
    for number in range(count):
        laws, given = draw_launch(np.random.default_rng((seed, number)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                result = list(faults(laws, given))
        except Exception as error:
            trace = traceback.extract_tb(error.__traceback__)[-1]
            result = [f"{type(error).__name__}: {error} ({trace.name}, line {trace.lineno})"]
        if result:
            wrong += 1
            print(f"launch({laws}, **{given}): {'; '.join(result)}", flush=True)
    print(f"{count} launches, seed {seed}: {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, [*sys.argv[1:], *["1000", "1"][len(sys.argv) - 1 :]])))
