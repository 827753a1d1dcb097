"""Several statistics share one pass over the draws; a warm process compiles nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sweeps.nest.statistics
from dse import Study
from sweeps.nest.statistics import SortedRows, summary
from symbolic.ops import Node
from symbolic.statistics import DRAW, Statistic

STATISTICS = [
    "mean(time)",
    "std(time)",
    "quantile(time, 0.05)",
    "quantile(time, 0.95)",
    "cvar_high(time, 0.9)",
    "cvar_low(time, 0.9)",
    "worst_high(time, draw)",
    "chance(dram_time >= throughput_time)",
    "mean(dram_time)",
    "quantile(mean(time, core_clock), 0.5, draw)",
]
ARGUMENTS: dict[str, Any] = {
    "model": "occupancy + latency_roofline + footprint",
    "machine": "a100_80",
    "workload": "examples/kernels/triad.toml",
    "axes": {"threads_per_block": [64, 128, 2048], "core_clock": ["1 GHz", "1.2 GHz"]},
    "random": {"issue_wait": "uniform: 1, 2", "bandwidth_share": "normal: 0.9, 2 %", "draws": 64},
}
WARM = """
import sys
from dse import Study
study = Study(**{arguments})
study.run()
print(sorted({{"numba", "scipy.stats"}} & set(sys.modules)))
"""


def test_several_statistics_share_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    # the error of the model has statistics of its own
    arguments = ARGUMENTS | {"random": ARGUMENTS["random"] | {"model_error": False}}
    alone = {text: Study(**arguments, outputs=[text]).run() for text in STATISTICS}
    passes: list[int] = []
    real = sweeps.nest.statistics.visit_rows

    def count_pass(grid: Any, key: Any, roots: Any, *rest: Any) -> None:
        passes.append(len(roots))
        real(grid, key, roots, *rest)

    monkeypatch.setattr(sweeps.nest.statistics, "visit_rows", count_pass)
    together = Study(**arguments, outputs=STATISTICS).run()
    # formulas over both axes, those over blocks alone, and the mean within a quantile
    assert sorted(passes) == [1, 2, 2]
    for ds in alone.values():
        for name in ds.data_vars:
            np.testing.assert_array_equal(ds[name].values, together[name].values)


@pytest.mark.parametrize("small", [0, 1 << 30])
def test_one_pass_in_a_nest_and_in_numpy_agree(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Study(**ARGUMENTS, outputs=STATISTICS).run()
    monkeypatch.setattr("sweeps.nest.tiles.ROWS_SMALL", small)
    result = Study(**ARGUMENTS, outputs=STATISTICS).run()
    for name in expected.data_vars:
        np.testing.assert_allclose(result[name].values, expected[name].values, rtol=1e-12)


@pytest.mark.parametrize("axis", ["workload", "active_sms"])
def test_a_statistic_of_a_statistic_reads_values_of_several_axes(
    axis: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nest of a short reduced axis visits that axis first, in whatever order values lie."""
    monkeypatch.setattr("sweeps.nest.tiles.ROWS_SMALL", 0)
    axes = {"workload": ["sepia", "svm"], "active_sms": [3, 10, 30], "threads_per_block": [64, 128]}
    inner = "best_low(time, threads_per_block)"
    outputs = [inner, f"geomean({inner}, {axis})"]
    ds = Study(model="ipp", machine="gtx280", axes=axes, outputs=outputs).run()
    expected = np.exp(np.log(ds[inner]).mean(axis))
    np.testing.assert_allclose(ds[outputs[1]], expected, rtol=1e-12)


VALUES = st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), 1e300, -1e-300, np.inf, np.nan])


@given(
    rows=arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 70)), elements=VALUES),
    level=st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0]),
)
def test_a_quantile_of_sorted_rows_is_that_of_the_rows(rows: Any, level: float) -> None:
    about = Statistic(
        kind="quantile",
        argument=Node("constant", (0.0,)),
        argument_text="x",
        axes=(DRAW,),
        level=Fraction(level),
    )
    plain, ordered = np.empty(len(rows)), np.empty(len(rows))
    summary(about, rows, None, plain)
    summary(about, rows, None, ordered, SortedRows(rows, None))
    np.testing.assert_array_equal(plain, ordered)


def test_a_warm_process_compiles_nothing_and_imports_no_compiler(tmp_path: Path) -> None:
    long = ARGUMENTS["axes"] | {"threads_per_block": list(range(32, 1025, 4))}
    discrete = {"issue_wait": {"values": [1.0, 1.5], "weights": [0.25, 0.75]}}
    for arguments in (
        ARGUMENTS | {"axes": long, "outputs": STATISTICS},
        ARGUMENTS | {"axes": long, "random": discrete, "outputs": STATISTICS[:7]},
    ):
        environment = os.environ | {"DSE_CACHE": str(tmp_path)}
        program = WARM.format(arguments=arguments)
        for number in range(2):
            run = subprocess.run(
                [sys.executable, "-c", program],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
                cwd=Path(__file__).parents[2],
            )
            loaded = run.stdout.strip()
            if number:
                assert loaded == "[]"


def test_time_to_compile_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
from dse import Study
from sweeps.runtime.progress import Progress
study = Study(**{arguments})
seen = []
study.run(progress=seen.append)
print(seen[-1].compiling, seen[-1].elapsed)
"""
    arguments = ARGUMENTS | {"axes": {"threads_per_block": list(range(32, 1025))}}
    arguments |= {"outputs": ["cvar_high(time, 0.9)"]}
    run = subprocess.run(
        [sys.executable, "-c", program.format(arguments=arguments)],
        env=os.environ | {"DSE_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    compiling, elapsed = map(float, run.stdout.split())
    assert elapsed / 2 < compiling <= elapsed  # nearly all of it on a machine that has no code yet
