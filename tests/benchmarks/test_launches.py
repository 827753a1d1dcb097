"""Laws of launches in a sweep.

python -m pytest tests/benchmarks/test_launches.py -m benchmark -s
"""

import time

import pytest

import dse
from stochastic import Pmf, launch

pytestmark = pytest.mark.benchmark

#: Seconds of two processors.
BUDGET = 60


def test_a_thousand_launches():
    """Blocks and work over 1,000 distinct launches: means, tails and idle shares of each."""
    began = time.process_time()
    study = dse.Study(  # tables are computed here
        model="launch + imbalance",
        axes={
            "success_probability": [0.02, 0.03, 0.05, 0.1, 0.2],
            "warps_per_block": [1, 2, 4, 8],
            "blocks": {"start": 40, "stop": 2000, "step": 40},
        },
        set={
            "work_law": "geometric",
            "lanes": 32,
            "slots": 160,
            "step_cycles": 100,
            "core_clock": "1.4 GHz",
        },
        outputs=["launch_time_mean", "quantile(launch_time, 0.99)", "tail_idle_share"],
    )
    ds = study.run()
    spent = (time.process_time() - began) / 2
    at = ds.isel(success_probability=2, warps_per_block=2, blocks=-1)
    own = launch(Pmf.geometric(0.05), blocks=2000, slots=160, lanes=32, warps=4)
    step = 100 / 1.4e9
    assert at.launch_time_mean.item() == pytest.approx(own.mean() * step, rel=1e-12)
    print(f"\n{ds.launch_time_mean.size:,} launches: {spent:.1f} s of two processors")
    assert spent < BUDGET
