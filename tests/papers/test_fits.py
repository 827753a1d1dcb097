"""Fits to published measurements and to published parameters, by the program of docs/fits.md."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse import DseError
from symbolic.models import clock_scaling, energy_roofline, transit_supply
from tests.long import long
from tests.papers._solve import run_doctests

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"

needs_bandwidth = pytest.mark.skipif(
    not (DATA / "bandwidth").is_dir(), reason="needs ../shared/data/bandwidth beside the project"
)
needs_dvfs = pytest.mark.skipif(
    not (DATA / "dvfs").is_dir(), reason="needs ../shared/data/dvfs beside the project"
)


@cache
def page() -> Any:
    """The program docs/fits.py, as a module."""
    spec = importlib.util.spec_from_file_location("docs_fits", ROOT / "docs" / "fits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_fits"] = module
    spec.loader.exec_module(module)
    return module


@cache
def supply() -> list[Any]:
    return list(page().supply(DATA))


@pytest.mark.parametrize("model", [transit_supply, energy_roofline, clock_scaling])
def test_doctests_of_equations(model: Any) -> None:
    failed, attempted = run_doctests(model)
    assert failed == 0
    assert attempted > 0


# --- Transit's two supply curves (Li 2015, Fig. 4)


@long
@needs_bandwidth
def test_supply_curves_err_no_more_than_stated() -> None:
    """The description of the data: sharp 0-8 %, smooth 1-13 % on three cards, six kernels each."""
    result = supply()
    assert len(result) == 18
    assert max(one.sharp.mean_error for one in result) <= 0.08
    assert max(one.smooth.mean_error for one in result) <= 0.13
    for one in result:
        for fit in (one.sharp, one.smooth):
            assert fit.leave_one_out < 2 * fit.rms
            assert fit.r2 > 0.95


@long
@needs_bandwidth
def test_no_other_point_of_a_grid_fits_better() -> None:
    """The slow twin: both curves written out, over a grid of δ about the one found."""
    for one in supply()[::5]:
        threads, measured = (
            one.sharp.dataset[name].values
            for name in ("threads_in_ms", "attained_bandwidth_measured")
        )
        for fit, curve in (
            (one.sharp, lambda k, d: np.minimum(1, k / d)),
            (one.smooth, lambda k, d: k / (k + d)),
        ):
            delta = fit["ms_transition"] * np.geomspace(0.3, 3, 400)[:, None, None]
            peak = fit["ms_peak_bandwidth"] * np.linspace(0.8, 1.2, 41)[:, None]
            rest = peak * curve(threads, delta) / measured - 1
            assert np.sqrt(np.square(rest).mean(axis=-1)).min() >= fit.rms * (1 - 1e-6)


def test_a_supply_curve_is_transits() -> None:
    """f(k) of Li 2015, Eq. 1: what Transit supplies as Z goes to 0 and all threads wait."""
    for curve in ("sharp", "smooth"):
        k = np.array([1.0, 100.0, 512.0, 2000.0])
        alone = dse.evaluate(
            "transit_supply",
            supply=curve,
            threads_in_ms=k,
            ms_transition=600,
            ms_peak_bandwidth=1.0,
        )["attained_bandwidth"]
        whole = dse.evaluate(
            "transit",
            supply=curve,
            threads=k,
            ms_peak=1,
            mem_latency=600,
            intensity=1e-12,
            lanes_width=1,
        )["ms_throughput"]
        assert alone.values == pytest.approx(whole.values, rel=1e-9)


# --- the roofline of power (Choi 2013)


@long
@needs_bandwidth
def test_the_roofline_of_eight_a100() -> None:
    """The description of the data: P = P0 + e_B BW + e_F GF fits the A100 to 2.5 %."""
    table = page().roofline_table(DATA)
    fit = page().roofline(table)
    assert len(table) == fit.rows == 344
    assert fit.mean_error <= 0.025
    each = [page().roofline(rows).mean_error for _, rows in table.groupby("gpu")]
    assert max(each) < 0.012
    rates = table[["GB/s", "GF/s"]].to_numpy() * 1e9
    matrix = np.column_stack([np.ones(len(table)), rates / 1e12])
    weights = 1 / table["W"].to_numpy()
    exact = np.linalg.lstsq(matrix * weights[:, None], np.ones(len(table)), rcond=None)[0]
    result = [fit["constant_power"], fit["energy_per_byte"] * 1e12, fit["energy_per_flop"] * 1e12]
    np.testing.assert_allclose(result, exact, rtol=1e-7)


def test_the_roofline_bends_where_both_limits_meet() -> None:
    model = dse.model("energy_roofline")
    bend = model.border("memory", "computation", solve_for="arithmetic_intensity")
    assert bend == model.symbol("peak_flops") / model.symbol("mem_bandwidth")
    given = {"mem_bandwidth": 1e12, "peak_flops": 8e12, "constant_power": 50}
    costs = {"energy_per_byte": 1e-10, "energy_per_flop": 5e-12}
    ds = dse.evaluate("energy_roofline", arithmetic_intensity=[2.0, 8.0, 32.0], **given, **costs)
    assert ds["attained_flops"].values.tolist() == [2e12, 8e12, 8e12]
    assert ds["attained_bandwidth"].values.tolist() == [1e12, 1e12, 0.25e12]
    assert ds["power"].values.tolist() == [160.0, 190.0, 115.0]


# --- time and power against clocks


@cache
def runs() -> Any:
    """Time and power of 30 kernels of a P100, at five clocks."""
    return page().clocks_table(DATA)


def by_the_rule(used: np.ndarray) -> tuple[str, Any]:
    """The recommended procedure, and its result."""
    design = page().Design(runs(), used)
    return design.recommended, design.judged(design.recommended)


@needs_dvfs
def test_the_best_one_clock() -> None:
    one_clock = {clock: page().lost_at(runs(), clock).mean() for clock in page().CLOCKS}
    assert min(one_clock, key=one_clock.__getitem__) == 1012
    assert one_clock[1012] == pytest.approx(0.0082, abs=5e-5)


@long
@needs_dvfs
@pytest.mark.parametrize("first", [0, 1])
def test_half_of_the_clocks_choose_better_than_the_best_one_clock(first: int) -> None:
    """30 kernels of a P100: energy lost at the predicted best clock, against always 1012 MHz."""
    used = page().half(runs(), first)
    assert used.sum() == 75
    curve, result = by_the_rule(used)
    assert curve == "knee"
    assert result.lost.mean() <= 0.5 * page().lost_at(runs(), 1012).mean()
    assert result.lost.max() < page().lost_at(runs(), 1012).max()
    assert result.time_error < 0.02
    assert result.power_error < 0.05


@long
@needs_dvfs
@pytest.mark.parametrize("seed", [0, 1])
def test_random_halves_with_the_lowest_clock_of_each_kernel(seed: int) -> None:
    """The recommended measurements: no worse than the best one clock, which knows them all."""
    used = page().drawn(runs(), seed, lowest=True)
    assert used.sum() == 75
    assert used[:: len(page().CLOCKS)].all()
    curve, result = by_the_rule(used)
    assert curve == "knee"
    assert result.lost.mean() <= page().lost_at(runs(), 1012).mean()


@long
@needs_dvfs
def test_measurements_that_say_nothing_of_the_voltage_are_refused() -> None:
    """1202 MHz only of kernels with one other clock: what it says is lost in their two values."""
    design = page().Design(runs(), page().every_other(runs()))
    with pytest.raises(DseError, match="do not determine voltage_knee_clock, voltage_slope"):
        design.power("knee")
    assert design.recommended == "cube"
    lost = design.judged("cube").lost.mean()
    assert lost <= page().lost_at(runs(), 1012).mean()


@long
@needs_dvfs
def test_three_clocks_of_five() -> None:
    """All ten sets: by the cube; one is worse than the best one clock, by a fifth."""
    losses = {}
    for title, used in page().designs(runs())["three clocks of five, all kernels"]:
        curve, result = by_the_rule(used)
        assert curve == "cube"
        losses[title] = result.lost.mean()
    assert len(losses) == 10
    limit = page().lost_at(runs(), 1012).mean()
    assert [title for title, lost in losses.items() if lost > limit] == ["810, 1012, 1328 MHz"]
    assert losses["810, 1012, 1328 MHz"] <= 1.25 * limit
    assert np.median(list(losses.values())) <= 0.75 * limit


def test_the_clock_of_least_energy_lies_within() -> None:
    """Less clock costs time and constant power, more costs voltage: a study finds the middle."""
    study = dse.Study(
        model="clock_scaling",
        axes={"core_clock": {"start": 6e8, "stop": 1.4e9, "step": 1e7}},
        set={
            "nominal_clock": "1 GHz",
            "voltage_curve": "knee",
            "voltage_knee_clock": "1.1 GHz",
            "voltage_slope": 6e-10,
            "stall_time": 0,
            "core_cycles": 1e9,
            "constant_power": 40,
            "dynamic_power": 40,
        },
    )
    best = study.optimum(minimize="energy")
    assert float(best["core_clock"]) == 1.1e9
    lazy = dse.Study(
        model="clock_scaling", axes=study.axes, set=study.set | {"core_cycles": 0, "stall_time": 1}
    )
    assert float(lazy.optimum(minimize="energy")["core_clock"]) == 6e8


# --- Hong 2012, section 3.2.4 and Table 8


def test_table_8_is_found_from_its_own_powers() -> None:
    fit = page().table_8(0.0)
    machine = dse.machine("gtx280")
    for name in page().MAXIMA:
        printed = float(str(machine.values[name].value).removesuffix(" W"))
        assert fit[name] == pytest.approx(printed, rel=1e-6)
        assert machine.values[name].source == "Hong 2012, Table 8"
    assert sum(
        fit[name] for name in page().MAXIMA if name.split("_")[-1] not in ("global", "local")
    ) == (pytest.approx(5.063, rel=1e-6))


@long
def test_table_8_is_within_the_errors_of_noisy_powers() -> None:
    """Two standard errors hold about 95 % of twelve parameters from ten noisy runs."""
    machine = dse.machine("gtx280")
    printed = np.array(
        [float(str(machine.values[n].value).removesuffix(" W")) for n in page().MAXIMA]
    )
    off = []
    for seed in range(10):
        fit = page().table_8(1.0, seed)
        errors = np.array([fit.standard_errors[name] for name in page().MAXIMA])
        off.append((np.array([fit[name] for name in page().MAXIMA]) - printed) / errors)
        assert fit.rms == pytest.approx(1, abs=0.25)
    assert np.mean(np.abs(off) < 2) > 0.9
    assert np.abs(np.mean(off)) < 0.3


@needs_dvfs
def test_the_energy_of_kernels_rises_with_the_clock() -> None:
    """The numbers that ``latency_roofline`` gives for its assumption of a constant energy."""
    import pandas as pd

    rows = pd.read_csv(DATA / "dvfs" / "p100-dvfs-real-Performance-Power.csv")
    rows["kernel"] = rows["appName"].astype(str) + rows["argNo"].astype(str) + rows["kernel"]
    rows["joule"] = (rows["power/W"] - 35) * rows["time/ms"]
    table = rows.pivot_table(index="kernel", columns="coreF", values="joule")
    assert len(table) == 30
    ratios = table.div(table[1012], axis=0).median()
    assert ratios[1202] == pytest.approx(1.17, abs=0.005)
    assert ratios[1328] == pytest.approx(1.50, abs=0.005)
