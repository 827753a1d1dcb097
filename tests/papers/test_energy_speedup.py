"""Energy efficiency against speed-up: Hong 2012, appendix A."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from symbolic.models import energy_speedup
from symbolic.quantities import TABLE
from tests.long import draws
from tests.papers._solve import run_doctests, solve

#: Fig. 156's and Table 16's words, series by series: performance of CPU, GPU; power of CPU, GPU.
SERIES = [
    (cpu, gpu, low_cpu, low_gpu)
    for cpu in ("slow", "fast")
    for gpu in ("slow", "fast")
    for low_cpu in ("low", "high")
    for low_gpu in ("low", "high")
]
WORDS = {"slow_work": 30.0, "fast_work": 1.0, "low_core_power": 0.5, "high_core_power": 1.5}
SHARES = [k / 10 for k in range(11)]


@cache
def node() -> Any:
    """The sixteen series over the share of work, in the default configuration (Fig. 152)."""
    return dse.Study(
        model="energy_speedup",
        machine="hong2012_node",
        axes={"benchmark_series": range(1, 17), "gpu_share": SHARES},
        outputs=["speedup", "energy_efficiency"],
    ).run()


def words(series: int, **switches: Any) -> tuple[str, ...]:
    got = solve("energy_speedup", benchmark_series=float(series), **WORDS, **switches)
    names = {value: name.split("_")[0] for name, value in WORDS.items()}
    wanted = ("cpu_work", "gpu_work", "cpu_core_power", "gpu_core_power")
    return tuple(names[got[name]] for name in wanted)


def test_the_sixteen_series_of_table_16_as_fig_156_has_them() -> None:
    assert [words(series) for series in range(1, 17)] == SERIES
    assert [words(series)[:2] for series in (9, 10, 11, 12)] == [("fast", "slow")] * 4
    assert [words(series)[:2] for series in (5, 6, 7, 8)] == [("slow", "fast")] * 4


def test_table_16_as_printed_has_a_slow_cpu_throughout() -> None:
    printed = [words(series, printed=True) for series in range(1, 17)]
    assert printed[:8] == SERIES[:8]
    assert printed[8:] == printed[:8]


def test_the_four_configurations() -> None:
    """Figs. 152-155: default, less CPU, less GPU, less of both."""
    scales = []
    for configuration in (1.0, 2.0, 3.0, 4.0):
        got = solve("energy_speedup", node_configuration=configuration, reduced_share=0.5)
        scales.append((got["cpu_scale"], got["gpu_scale"]))
    assert scales == [(1, 1), (0.5, 1), (1, 0.5), (0.5, 0.5)]


def test_what_nobody_printed_is_assumed() -> None:
    values = dse.machine("hong2012_node").values
    assert all(values[name].assumed for name in WORDS)


# --- Fig. 156


@pytest.mark.parametrize("series", range(1, 17))
def test_quadrants(series: int) -> None:
    """5-8 gain in both, 9-12 lose in both, at every share of the GPU; the others do not."""
    shared = node().sel(benchmark_series=series, gpu_share=slice(0.05, None))
    both = np.stack([shared.speedup.values, shared.energy_efficiency.values])
    assert bool(np.all(both > 1)) == (5 <= series <= 8)
    assert bool(np.all(both < 1)) == (9 <= series <= 12)


@pytest.mark.parametrize("configuration", [1, 2, 3, 4])
def test_quadrants_in_every_configuration(configuration: int) -> None:
    ds = dse.Study(
        model="energy_speedup",
        machine="hong2012_node",
        axes={"benchmark_series": range(5, 13), "gpu_share": SHARES[1:]},
        set={"node_configuration": configuration},
    ).run()
    up = ds.sel(benchmark_series=slice(5, 8))
    down = ds.sel(benchmark_series=slice(9, 12))
    for name in ("speedup", "energy_efficiency"):
        assert bool((up[name] > 1).all())
        assert bool((down[name] < 1).all())


def test_no_work_belongs_to_a_slow_gpu() -> None:
    """§A.5: a slow GPU beside a fast CPU gets none, the other way round it gets nearly all.

    In steps of a tenth, as the thesis has them; the closed form knows the 1/31 that would be done
    in the same time, which saves energy where the device it falls to draws little.
    """
    efficiency = node().energy_efficiency
    best = efficiency.gpu_share[efficiency.argmax("gpu_share")]
    assert best.sel(benchmark_series=slice(9, 12)).values.tolist() == [0] * 4
    assert best.sel(benchmark_series=slice(5, 8)).values.tolist() == [1] * 4
    given_ = {"gpu_share": 0, "benchmark_series": np.arange(1, 17)}
    ds = dse.evaluate("energy_speedup", machine="hong2012_node", **given_)
    assert np.allclose(ds.best_energy_share.values[8:12], [1 / 31, 0, 1 / 31, 0])
    assert np.allclose(ds.best_energy_share.values[4:8], [30 / 31, 30 / 31, 1, 1])


# --- by hypothesis

DEVICE = ("cores", "throughput", "clock", "nominal_clock", "scale", "work", "core_power")
INPUTS = [f"{device}_{name}" for device in ("cpu", "gpu") for name in DEVICE]
INPUTS += ["work_units", "system_power", "clock_power_exponent"]


def typical(name: str) -> st.SearchStrategy[float]:
    low, high = TABLE[name].typical or (0.0, 1.0)
    return st.floats(low, high)


POINT = st.fixed_dictionaries({name: typical(name) for name in INPUTS})


def solve_at(point: dict[str, float], share: float, **changed: float) -> dict[str, float]:
    got: dict[str, float] = solve("energy_speedup", gpu_share=share, **{**point, **changed})
    return got


@settings(max_examples=draws(100), deadline=None)
@given(POINT)
def test_the_baseline_has_a_speedup_and_an_efficiency_of_one(point: dict[str, float]) -> None:
    """All work on the CPU at its nominal clock, exactly: the idle GPU draws nothing beyond idle."""
    got = solve_at(point, 0.0, cpu_clock=point["cpu_nominal_clock"])
    assert got["speedup"] == got["energy_efficiency"] == 1
    assert got["gpu_dynamic_power"] == 0


def test_eq_114_as_printed_adds_an_idle_device() -> None:
    """All work on a slow CPU; the GPU's dynamic power is paid for all the same."""
    given_ = {"benchmark_series": 1, "gpu_share": 0}
    corrected, printed = (
        dse.evaluate("energy_speedup", machine="hong2012_node", printed=switch, **given_)
        for switch in (False, True)
    )
    idle = float(printed.gpu_full_power)
    assert float(corrected.energy_efficiency) == 1
    assert float(printed.combined_power) == float(corrected.combined_power) + idle
    assert float(printed.energy_efficiency) == pytest.approx(
        float(corrected.combined_power) / float(printed.combined_power), rel=1e-15
    )


@settings(max_examples=draws(100), deadline=None)
@given(POINT, st.floats(0, 1))
def test_efficiency_is_energy_over_energy(point: dict[str, float], share: float) -> None:
    """Eqs. 96, 99-103."""
    got = solve_at(point, share)
    before = got["baseline_power"] * got["baseline_time"]
    after = got["combined_power"] * got["shared_time"]
    assert got["energy_efficiency"] == pytest.approx(before / after)
    assert got["shared_time"] == max(got["cpu_time"], got["gpu_time"])
    assert got["combined_power"] >= got["system_power"]


@settings(max_examples=draws(30), deadline=None)
@given(POINT)
def test_the_best_shares_are_best(point: dict[str, float]) -> None:
    """The closed forms against a search over shares."""
    got = solve_at(point, 0.5)
    shares = [*np.linspace(0, 1, 21), got["best_speed_share"], got["best_energy_share"]]
    result = [solve_at(point, float(share)) for share in shares]
    times = [row["shared_time"] for row in result]
    energies = [row["shared_time"] * row["combined_power"] for row in result]
    assert times[-2] <= min(times) * (1 + 1e-12)
    assert energies[-1] <= min(energies) * (1 + 1e-12)


@settings(max_examples=draws(80), deadline=None)
@given(POINT, st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_within_one_bound_the_relation_is_linear(
    point: dict[str, float], first: float, second: float
) -> None:
    """Both work, one of them is waited for: power is constant, so that E is in proportion to S."""
    one, other = solve_at(point, first), solve_at(point, second)
    assert one["energy_efficiency"] / one["speedup"] == pytest.approx(
        other["energy_efficiency"] / other["speedup"]
    )


# --- A.6: frequencies


def test_a_higher_clock_gains_speed_and_loses_efficiency() -> None:
    """Figs. 157-159: "the graph tends to shift to the left", up to the top left."""
    ds = dse.Study(
        model="energy_speedup",
        machine="hong2012_node",
        axes={"cpu_clock": np.linspace(2.4e9, 24e9, 10), "gpu_share": [0.0, 0.5]},
        set={"benchmark_series": 3},
    ).run()
    alone = ds.sel(gpu_share=0.0)
    assert np.allclose(alone.speedup, ds.cpu_clock / 2.4e9)
    watts = 242 + 18 * (ds.cpu_clock / 2.4e9) ** 3
    assert np.allclose(alone.energy_efficiency, 260 / watts * alone.speedup)
    assert float(alone.energy_efficiency[-1]) < 1 < float(alone.energy_efficiency[1])


def test_a_clock_beyond_the_other_device_buys_nothing() -> None:
    fast = dse.evaluate(
        "energy_speedup",
        machine="hong2012_node",
        benchmark_series=1,
        gpu_share=0.5,
        cpu_clock=np.array([2.4e9, 4.8e9]),
    )
    assert float(fast.speedup[0]) == float(fast.speedup[1])
    assert float(fast.energy_efficiency[1]) < float(fast.energy_efficiency[0])


# --- A.7: when the relation is linear


def test_sympy_derives_the_curvature_of_eq_116() -> None:
    """The equation in the graph is ∂²E/∂S² of Eq. 115 where P_N = d S^k + B, for any k."""
    model = dse.model("energy_speedup")
    names = ("speedup", "baseline_power", "baseline_dynamic_power", "system_power", "power_growth")
    s, p0, d, base, k = map(model.symbol, names)
    derived = sympy.diff(p0 * s / (d * s**k + base), s, 2)
    form = model.closed_form("efficiency_curvature")
    values = [(2, 140, 40, 100), (sympy.Rational(1, 3), 90, 10, 80), (5, 100, 100, 0)]
    for growth in (0, 1, 2, 3, sympy.Rational(1, 2)):
        for row in values:
            point = dict(zip((s, p0, d, base), row, strict=True)) | {k: growth}
            assert sympy.simplify(form.subs(point) - derived.subs(point)) == 0


def test_when_the_relation_is_linear() -> None:
    """Limits: power does not grow with speed, or draws nothing; more cores only without a base.

    A clock bends it at every speed-up but the one at which E changes from convex to concave.
    """

    def bend(growth: float, dynamic: float = 40.0, base: float = 100.0, s: float = 2.0) -> float:
        given_ = {"baseline_dynamic_power": dynamic, "system_power": base, "speedup": s}
        got = solve("energy_speedup", power_growth=growth, **given_)
        return float(got["efficiency_curvature"])

    assert bend(0) == bend(3, dynamic=0) == bend(1, base=0) == 0
    assert bend(1) < 0
    assert bend(3, s=1.0) < 0 < bend(3, s=4.0)
    turn = (4 * 100 / (2 * 40)) ** (1 / 3)  # (k - 1) d S^k = (k + 1) B
    assert abs(bend(3, s=turn)) < 1e-12
    assert math.isfinite(bend(3, s=0.0))


def test_doctests() -> None:
    failed, attempted = run_doctests(energy_speedup)
    assert failed == 0
    assert attempted > 20
