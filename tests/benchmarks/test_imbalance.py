"""The laws of imbalance against their peers: the published recursion, icepool, and themselves.

    python -m pytest tests/benchmarks/test_imbalance.py -m benchmark -s

Prints medians and ratios, and draws the curves of cost over the support and the lanes to
``$DSE_BENCHMARK_PLOT`` where that is set. No time is asserted, only that contenders agree.
"""

import gc
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stochastic import Pmf, imbalance
from tests.oracles.literal_recursion import compiled_recursion

pytestmark = pytest.mark.benchmark

ROUNDS = int(os.environ.get("DSE_BENCHMARK_ROUNDS", "5"))


def median(run, rounds=ROUNDS):
    """Median seconds of ``run`` and its last result; first once, uncounted."""
    times, result = [], None
    for number in range(rounds + 1):
        result = None
        gc.collect()
        began = time.perf_counter()
        result = run()
        if number:
            times.append(time.perf_counter() - began)
    return statistics.median(times), result


def once(run):
    began = time.perf_counter()
    result = run()
    return time.perf_counter() - began, result


def show(title, lines):
    print(f"\n{title}")
    for line in lines:
        print("  " + line)


def peak_of(code):
    """Most memory that a program takes beyond what its imports take. [MB]"""
    text = (
        "import re, numpy as np; from stochastic import Pmf, imbalance\n"
        "imbalance(Pmf.uniform(0, 20), 8, method='sweep').joint()\n"
        "told = lambda: open('/proc/self/status').read()\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', told())[1]) / 1e3\n"
        f"before = peak()\n{code}\nprint(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return float(done.stdout)


def test_joint_against_the_recursion_as_printed():
    """U{0..1000} in 32 lanes: every atom, against Eqs. 7-11 compiled as they stand."""
    pmf, lanes = Pmf.uniform(0, 1000), 32
    compiled_recursion(Pmf.uniform(0, 5).weights, 3)
    ours, joint = median(lambda: imbalance(pmf, lanes).joint())
    theirs, printed = once(lambda: compiled_recursion(pmf.weights, lanes))
    bulk = joint.values > 1e-9
    assert_allclose(printed[bulk], joint.values[bulk], rtol=1e-5)
    memory = peak_of("law = imbalance(Pmf.uniform(0, 1000), 32).joint()")
    show(
        "joint law of max and sum, U{0..1000}, 32 lanes",
        [
            f"ours {ours:.3f} s, peak {memory:.0f} MB; total mass 1 {float(joint.sum()) - 1:+.1e}",
            f"recursion as printed, compiled {theirs:.1f} s: {theirs / ours:.0f} times ours",
        ],
    )


def test_merged_law():
    pmf = Pmf.uniform(0, 1000)
    spent, law = median(lambda: imbalance(pmf, 32).pmf())
    assert law.size == 9_429_953
    show("merged law, U{0..1000}, 32 lanes", [f"{law.size:,} atoms in {spent:.2f} s"])


def test_moments():
    lines = []
    for top in (1000, 10_000):
        pmf = Pmf.uniform(0, top)
        for lanes in (2, 32, 1024, 10**6):

            def ask(pmf=pmf, lanes=lanes):
                law = imbalance(pmf, lanes, tol=1e-3)
                return law.mean(), law.moment(2), law.error.numerical

            spent, (mean, second, error) = median(ask)
            assert second > mean**2
            lines.append(f"S = {top:6}, {lanes:8} lanes: {spent * 1e3:7.2f} ms, error {error:.0e}")
    show("mean and second moment", lines)


def test_cdf():
    pmf, lanes = Pmf.uniform(0, 10_000), 1024
    points = np.linspace(1.9, 2.2, 201)
    spent, chances = median(lambda: imbalance(pmf, lanes, tol=1e-6).cdf(points))
    assert np.all(np.diff(chances) >= 0)
    assert chances[0] < 0.1 < 0.9 < chances[-1]
    show("CDF, S = 10,000, 1024 lanes", [f"201 points in {spent * 1e3:.1f} ms"])


def test_sweep_of_laws():
    """10,000 pairs of a law and lanes in one study: imbalance_loss over two axes."""
    import dse

    def run(shift):
        study = dse.Study(
            model="imbalance",
            axes={
                "success_probability": np.linspace(0.11, 0.13, 400) + shift,
                "lanes": np.unique(np.geomspace(2, 1024, 28).astype(int)).tolist(),
            },
            set={"work_law": "geometric"},
            outputs=["imbalance_loss"],
        )
        return study.run()

    spent = []
    for number in range(3):  # other laws each time: nothing is kept from the last
        seconds, ds = once(lambda number=number: run(number * 1e-6))
        spent.append(seconds)
    loss = ds["imbalance_loss"]
    at = loss.isel(success_probability=7, lanes=11)
    own = imbalance(Pmf.geometric(float(at.success_probability)), int(at.lanes))
    assert_allclose(float(at), own.mean(), rtol=1e-9)
    listed = ", ".join(f"{seconds:.1f}" for seconds in spent)
    show("sweep of laws", [f"{loss.size:,} pairs, cut near S = {own.error.cut}: {listed} s"])


def test_against_icepool():
    icepool = pytest.importorskip(
        "icepool", reason="the peer is not installed: pip install icepool"
    )

    class MaxAndSum(icepool.MultisetEvaluator):
        def next_state(self, state, order, outcome, count):
            most, total = state or (0, 0)
            return (max(most, outcome) if count else most, total + outcome * count)

        def extra_outcomes(self, outcomes):
            return ()

    def theirs():
        die = icepool.z(41)  # 0 .. 40
        return MaxAndSum().evaluate(die.pool(32))

    spent, law = median(lambda: imbalance(Pmf.uniform(0, 40), 32).pmf())
    taken, result = once(theirs)
    mean = sum(
        32 * a / b * chance
        for (a, b), chance in zip(result, result.probabilities(), strict=True)
        if b
    )
    assert_allclose(float((law * law.loss).sum()), float(mean), rtol=1e-9)
    show(
        "atoms, S = 40, 32 lanes",
        [f"ours {spent * 1e3:.2f} ms, icepool {taken:.1f} s: {taken / spent:,.0f} times ours"],
    )


def test_curves_of_cost():
    """Seconds over the support and the lanes: moments, 201 points of the CDF, atoms."""
    points = np.linspace(1.0, 4.0, 201)
    ways = {
        "moments": (lambda law: (law.mean(), law.moment(2)), 10**10),
        "cdf": (lambda law: law.cdf(points), 10**10),
        "atoms": (lambda law: law.pmf(), 6 * 10**9),
    }
    supports, lanes = (
        [50, 100, 200, 500, 1000, 2000, 5000, 10_000],
        [2, 4, 8, 16, 32, 64, 128, 1024],
    )
    curves = {}
    for name, (ask, dear) in ways.items():
        for label, pairs in (
            ("support, 32 lanes", [(s, 32) for s in supports]),
            ("lanes, S = 200", [(200, n) for n in lanes]),
        ):
            line = []
            for top, n in pairs:
                if name == "atoms" and n * n * n * top * top > 12 * dear:
                    continue
                pmf = Pmf.uniform(0, top)
                spent, _ = median(lambda pmf=pmf, n=n, ask=ask: ask(imbalance(pmf, n, tol=1e-3)), 3)
                line.append((n if label.startswith("lanes") else top, spent))
            curves[name, label] = line
            listed = ", ".join(f"{x}: {spent * 1e3:.3g}" for x, spent in line)
            show(f"{name} over {label} [ms]", [listed])
            assert line
    picture = os.environ.get("DSE_BENCHMARK_PLOT")
    if picture:
        _draw(curves, picture)


def _draw(curves, picture):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for (name, label), line in curves.items():
        panel = panels[int(label.startswith("lanes"))]
        panel.loglog(*zip(*line, strict=True), marker="o", label=name)
        panel.set_xlabel(label)
        panel.grid(visible=True, color="0.88")
    panels[0].set_ylabel("seconds")
    panels[0].legend(frameon=False)
    figure.savefig(picture, dpi=110)
