"""Fits: known values are found again, errors are those of textbooks, what is wrong is said."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from click.testing import Result
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

import dse
from dse.fitting.rows import read_table
from symbolic.errors import (
    DomainError,
    DseError,
    GraphError,
    InfeasibleError,
    UnitError,
    UnknownEntryError,
    UnknownNameError,
)
from tests.long import draws, long

Run = Callable[..., Result]

SUPPLY = ("ms_peak_bandwidth", "ms_transition")
THREADS = np.linspace(32, 2048, 20)
CLOCKS = np.linspace(6e8, 1.5e9, 10)
ROOFLINE = ("constant_power", "energy_per_byte", "energy_per_flop")


def positive(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers spread evenly on a logarithmic scale."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def predict(model: str, to: str, **given: Any) -> np.ndarray:
    """Return the predictions of a model."""
    return np.asarray(dse.evaluate(model, outputs=[to], **given)[to].values)


# --- known values are found again


@long
@settings(max_examples=draws(25), deadline=None)
@given(
    peak=positive(1e8, 1e13), delta=positive(50, 1800), curve=st.sampled_from(["sharp", "smooth"])
)
def test_supply_curves_are_found_again(peak: float, delta: float, curve: str) -> None:
    truth = {"ms_peak_bandwidth": peak, "ms_transition": delta, "supply": curve}
    rows = {"threads_in_ms": THREADS}
    rows["attained_bandwidth"] = predict("transit_supply", "attained_bandwidth", **rows, **truth)
    result = dse.fit("transit_supply", rows, free=SUPPLY, set={"supply": curve}, left_out="hat")
    assert result["ms_peak_bandwidth"] == pytest.approx(peak, rel=1e-7)
    assert result["ms_transition"] == pytest.approx(delta, rel=1e-7)
    assert result.largest_error < 1e-8
    assert result.r2 == pytest.approx(1)


@settings(max_examples=draws(15), deadline=None)
@given(
    slope=positive(0.01, 10),
    offset=st.floats(-5, 60),
    corner=st.floats(8, 40),
)
def test_a_line_and_a_level_are_found_through_the_maximum(
    slope: float, offset: float, corner: float
) -> None:
    level = offset + slope * corner
    assume(level > 0)
    rows: dict[str, Any] = {
        "blocks": np.repeat([64.0, 1024.0, 16384.0, 65536.0], 6),
        "threads_per_core": np.tile([2.0, 4.0, 6.0, 12.0, 20.0, 32.0], 4),
    }
    truth = {
        "memory_time_slope": slope,
        "memory_time_offset": offset,
        "compute_bound_time": level,
    }
    rows["time"] = predict("tmm_calibrated", "time", **rows, **truth)
    result = dse.fit("tmm_calibrated", rows, free=list(truth), to="time", left_out="hat")
    assert result.set == pytest.approx(truth, rel=1e-6, abs=1e-6)


def best_split(x: np.ndarray, time: np.ndarray) -> float:
    """The least squares of max(a x + b, c) by brute force: every split, a line and a level."""
    order = np.argsort(x)
    x, time = x[order], time[order]
    best = math.inf
    for split in range(1, len(x) - 1):
        slope, offset = np.polyfit(x[split:], time[split:], 1)
        level = time[:split].mean()
        if slope >= 0:
            result = np.maximum(slope * x + offset, level)
            best = min(best, float(np.sum((result - time) ** 2)))
    return best


# The same draws each time: where noise hides the corner the search may end beside the best split.
@long
@settings(max_examples=draws(12), deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), spread=st.floats(0.5, 8), corner=st.floats(4, 40))
def test_no_split_of_noisy_rows_fits_better(seed: int, spread: float, corner: float) -> None:
    rng = np.random.default_rng(seed)
    blocks, threads = rng.integers(64, 65536, 24).astype(float), rng.uniform(2, 32, 24)
    x = np.sqrt(blocks) / threads
    time = np.maximum(2 * x + 20, 2 * corner + 20) + rng.normal(0, spread, 24)
    rows = {"blocks": blocks, "threads_per_core": threads, "time": time}
    free = ["memory_time_slope", "memory_time_offset", "compute_bound_time"]
    assume(np.sort(x)[4] < corner < np.sort(x)[-5])
    try:
        squares = (
            dse.fit("tmm_calibrated", rows, free=free, to="time", left_out="hat").rms ** 2 * 24
        )
    except DseError:  # the level is not determined: all rows lie on the line
        squares = np.polyfit(x, time, 1, full=True)[1][0]
    assert squares <= best_split(x, time) * (1 + 1e-9)


@long
@settings(max_examples=draws(6), deadline=None)
@given(
    constant=positive(10, 100),
    dynamic=positive(10, 200),
    knee=st.floats(8e8, 1.2e9),
    slope=positive(2e-10, 2e-9),
)
def test_a_voltage_curve_is_found_again(
    constant: float, dynamic: float, knee: float, slope: float
) -> None:
    given_ = {"nominal_clock": 1e9, "voltage_curve": "knee"}
    truth = {
        "constant_power": constant,
        "dynamic_power": dynamic,
        "voltage_knee_clock": knee,
        "voltage_slope": slope,
    }
    rows = {"core_clock": np.linspace(5e8, 1.6e9, 12)}
    power = predict("clock_scaling", "power", **rows, **truth, **given_)
    result = dse.fit(
        "clock_scaling",
        {**rows, "power": power},
        free=list(truth),
        to="power",
        set=given_,
        left_out="hat",
    )
    assert result.set == pytest.approx(truth, rel=1e-5)


def test_a_model_of_many_equations() -> None:
    """Latency and bandwidth of MWP-CWP, from the run times of differing workloads."""
    rng = np.random.default_rng(1)
    rows = {
        "threads_per_block": rng.integers(2, 13, 30) * 32.0,
        "comp_insts": rng.uniform(10, 300, 30),
        "uncoalesced_insts": rng.uniform(1, 20, 30),
    }
    fixed = {"coalesced_insts": 4, "sync_insts": 0, "active_blocks_per_sm": 2, "blocks": 4000}
    truth = {"mem_latency_dram": 531.0, "departure_delay_uncoalesced": 17.0}
    time = predict("mwp_cwp", "time", machine="8800gtx", **rows, **fixed, **truth)
    result = dse.fit(
        "mwp_cwp",
        {**rows, "time": time},
        free=list(truth),
        to="time",
        machine="8800gtx",
        set=fixed,
        residuals="relative",
        left_out="hat",
    )
    assert result.set == pytest.approx(truth, rel=1e-6)


# --- linear models: the textbook


def roofline_rows(count: int = 25, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = {
        "attained_bandwidth": rng.uniform(1e11, 1.5e12, count),
        "attained_flops": rng.uniform(1e11, 1.5e13, count),
    }
    power = 60 + 1.1e-10 * rows["attained_bandwidth"] + 5e-12 * rows["attained_flops"]
    return {**rows, "power": power + rng.normal(0, 4, count)}


def textbook(rows: dict[str, np.ndarray], scale: np.ndarray) -> Any:
    """Values, covariance, r² and residuals of rows left out: normal equations, and loops."""
    units = np.array([1.0, 1e-12, 1e-12])
    ones = np.ones(len(scale))
    matrix = np.column_stack([ones, rows["attained_bandwidth"], rows["attained_flops"]]) * units
    left, right = matrix * scale[:, None], rows["power"] * scale
    values, squares, *_ = np.linalg.lstsq(left, right, rcond=None)
    covariance = squares[0] / (len(scale) - 3) * np.linalg.inv(left.T @ left)
    mean = np.average(rows["power"], weights=scale**2)
    r2 = 1 - squares[0] / np.sum((scale * (rows["power"] - mean)) ** 2)
    without = []
    for row in range(len(scale)):
        rest = np.arange(len(scale)) != row
        others = np.linalg.lstsq(left[rest], right[rest], rcond=None)[0]
        without.append(matrix[row] @ others - rows["power"][row])
    return values * units, covariance * np.outer(units, units), r2, np.array(without)


@pytest.mark.parametrize("residuals", ["absolute", "relative"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_linear_model_is_that_of_textbooks(residuals: str, weighted: bool) -> None:
    rows = roofline_rows()
    weights = np.linspace(0.5, 2, 25) if weighted else None
    share = 1 / rows["power"] if residuals == "relative" else np.ones(25)
    values, covariance, r2, without = textbook(
        rows, share * (np.sqrt(weights) if weights is not None else 1)
    )
    result = {
        how: dse.fit(
            "energy_roofline",
            rows,
            free=ROOFLINE,
            to="power",
            residuals=residuals,
            weights=weights,
            left_out=how,
        )
        for how in ("refit", "hat")
    }
    for how, fit in result.items():
        np.testing.assert_allclose(list(fit.values.values()), values, rtol=1e-8)
        np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-6)
        errors = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(list(fit.standard_errors.values()), errors, rtol=1e-6)
        assert fit.r2 == pytest.approx(r2, rel=1e-9)
        np.testing.assert_allclose(fit.left_out["power"], without * share, rtol=1e-5, atol=1e-9)
        assert fit.leave_one_out == pytest.approx(math.sqrt(np.mean((without * share) ** 2)))
        assert fit.how_left_out == how


@pytest.mark.parametrize("ridge", [1e-3, 0.3, 10.0])
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_a_ridge_draws_logarithms_to_start_values(ridge: float, weight: float) -> None:
    """The sum of squares is written out, and minimized and differentiated without the library."""
    rows = roofline_rows()
    start = {"constant_power": 50.0, "energy_per_byte": 2e-10, "energy_per_flop": 3e-11}
    first = np.log(list(start.values()))

    def deviations(logs: Any) -> Any:
        values = dict(zip(start, np.exp(logs).tolist(), strict=True))
        given = {name: column for name, column in rows.items() if name != "power"}
        shares = predict("energy_roofline", "power", **given, **values) / rows["power"] - 1
        return np.concatenate([math.sqrt(weight) * shares, math.sqrt(ridge) * (logs - first)])

    twin = least_squares(deviations, first, x_scale="jac", xtol=1e-14, ftol=1e-14, gtol=1e-14)
    fit = dse.fit(
        "energy_roofline",
        rows,
        free=list(start),
        to="power",
        residuals="relative",
        weights=[weight] * 25,
        ridge=ridge / (25 * weight),
        start=start,
    )
    assert np.log(list(fit.values.values())) == pytest.approx(twin.x, abs=1e-5)
    spread = np.sqrt(np.diag(np.linalg.inv(twin.jac.T @ twin.jac)) * 2 * twin.cost / 22)
    relative = np.array(list(fit.standard_errors.values())) / list(fit.values.values())
    assert relative == pytest.approx(spread, rel=1e-3)
    without = []
    for row in range(25):
        rest = np.delete(np.arange(28), row)
        logs = least_squares(
            lambda logs, rest=rest: deviations(logs)[rest], twin.x, x_scale="jac"
        ).x
        without.append(deviations(logs)[row] / math.sqrt(weight))
    assert fit.left_out["power"] == pytest.approx(np.array(without), abs=1e-4)


def test_a_ridge_determines_what_rows_do_not() -> None:
    rows = {"threads_in_ms": [64.0, 128.0], "attained_bandwidth": [1e9, 2e9]}
    with pytest.raises(DseError, match="do not determine"):
        dse.fit("transit_supply", rows, free=SUPPLY)
    start = {"ms_peak_bandwidth": 3e10, "ms_transition": 1000.0}
    options: dict[str, Any] = {"residuals": "relative", "start": start, "ridge": 1e-3}
    fit = dse.fit("transit_supply", rows, free=SUPPLY, **options)
    # the slope is that of the rows, and both values move by the same factor from their start
    assert fit["ms_peak_bandwidth"] / fit["ms_transition"] == pytest.approx(1e9 / 64, rel=1e-3)
    factors = [fit[name] / value for name, value in start.items()]
    assert factors[0] * factors[1] == pytest.approx(1, rel=1e-3)


@long
def test_standard_errors_are_the_spread_of_fits_to_noise() -> None:
    """A curved model: over 30 draws the spread of each value is the error that each fit states."""
    rng = np.random.default_rng(2)
    truth = {"ms_peak_bandwidth": 1e10, "ms_transition": 400.0, "supply": "smooth"}
    exact = predict("transit_supply", "attained_bandwidth", threads_in_ms=THREADS, **truth)
    values, errors = [], []
    for _ in range(30):
        rows = {
            "threads_in_ms": THREADS,
            "attained_bandwidth": exact + rng.normal(0, 1e8, THREADS.size),
        }
        fit = dse.fit("transit_supply", rows, free=SUPPLY, set={"supply": "smooth"}, left_out="hat")
        values.append(list(fit.values.values()))
        errors.append(list(fit.standard_errors.values()))
    spread = np.std(values, axis=0, ddof=1)
    assert np.sqrt(np.mean(np.square(errors), axis=0)) == pytest.approx(spread, rel=0.25)
    assert np.mean(values, axis=0) == pytest.approx([1e10, 400.0], rel=0.01)


def test_rows_left_out_of_a_curved_model_are_fitted_anew() -> None:
    rows = {
        "threads_in_ms": THREADS[:8],
        "attained_bandwidth": np.array([1.0, 2.2, 2.8, 3.9, 4.1, 4.4, 5.0, 4.8]) * 1e9,
    }
    common: dict[str, Any] = {"free": SUPPLY, "set": {"supply": "smooth"}}
    fit = dse.fit("transit_supply", rows, **common)
    assert fit.how_left_out == "refit"
    for row in range(8):
        rest = {name: np.delete(column, row) for name, column in rows.items()}
        others = dse.fit("transit_supply", rest, **common)
        predicted = predict(
            "transit_supply",
            "attained_bandwidth",
            threads_in_ms=rows["threads_in_ms"][row],
            supply="smooth",
            **others.set,
        )
        left = float(predicted) - rows["attained_bandwidth"][row]
        assert fit.left_out["attained_bandwidth"][row] == pytest.approx(left, rel=1e-5)


def test_a_value_at_the_end_of_its_domain() -> None:
    """Time that does not fall with the clock at all: no cycles, and the rest is a mean."""
    time = np.array([1.0, 1.02, 1.01, 1.05, 1.03, 1.04, 1.06, 1.05, 1.08, 1.07])
    fit = dse.fit(
        "clock_scaling",
        {"core_clock": CLOCKS, "time": time},
        free=["stall_time", "core_cycles"],
        to="time",
    )
    assert fit["core_cycles"] == 0
    assert fit.at_end == ("core_cycles",)
    assert math.isnan(fit.standard_errors["core_cycles"])
    assert fit["stall_time"] == pytest.approx(time.mean())
    error = time.std(ddof=1) / math.sqrt(time.size)
    assert fit.standard_errors["stall_time"] == pytest.approx(error)
    assert "an end of its domain or bounds" in str(fit)
    bounded = dse.fit(
        "clock_scaling",
        {"core_clock": CLOCKS, "time": time},
        free=["stall_time", "core_cycles"],
        to="time",
        bounds={"stall_time": ("100 ms", "500 ms"), "core_cycles": (None, None)},
    )
    assert bounded["stall_time"] == 0.5
    assert bounded.at_end == ("stall_time",)


def test_as_many_free_as_measured() -> None:
    rows = {"core_clock": [1e9, 2e9], "time": [1.5, 1.0]}
    fit = dse.fit("clock_scaling", rows, free=["stall_time", "core_cycles"], to="time")
    assert fit.set == pytest.approx({"stall_time": 0.5, "core_cycles": 1e9})
    assert all(map(math.isnan, fit.standard_errors.values()))
    assert math.isnan(fit.leave_one_out)
    assert "no standard error" in str(fit)


# --- several measured quantities, several labels


def test_time_and_power_together() -> None:
    truth = {
        "stall_time": 0.2,
        "core_cycles": 4e8,
        "constant_power": 40.0,
        "dynamic_power": 90.0,
    }
    fixed = {"nominal_clock": 1e9}
    both = {
        to: predict("clock_scaling", to, core_clock=CLOCKS, **truth, **fixed)
        for to in ("time", "power")
    }
    fit = dse.fit(
        "clock_scaling",
        {"core_clock": CLOCKS, **both},
        free=list(truth),
        to=["time", "power"],
        set=fixed,
        residuals="relative",
    )
    assert fit.set == pytest.approx(truth)
    assert set(fit.residuals) == {"time", "power"}
    with pytest.raises(DseError, match="time, power are measured in different units"):
        dse.fit(
            "clock_scaling",
            {"core_clock": CLOCKS, **both},
            free=list(truth),
            to=["time", "power"],
            set=fixed,
        )


def labelled_rows() -> tuple[pd.DataFrame, dict[str, dict[str, float]]]:
    truth = {
        "fft": {"stall_time": 0.1, "core_cycles": 3e8},
        "stencil": {"stall_time": 0.5, "core_cycles": 1e7},
        "sort": {"stall_time": 0.0, "core_cycles": 9e8},
    }
    parts = []
    for number, (label, values) in enumerate(truth.items()):
        clock = CLOCKS[number:]
        time = predict("clock_scaling", "time", core_clock=clock, **values)
        parts.append(pd.DataFrame({"kernel": label, "core_clock": clock, "time": time}))
    return pd.concat(parts).sample(frac=1, random_state=3), truth


def test_each_label_has_values_of_its_own() -> None:
    """Compare with fits to the rows of each label alone; a shared value is of all."""
    rows, truth = labelled_rows()
    fit = dse.fit("clock_scaling", rows, per={"kernel": ["stall_time", "core_cycles"]}, to="time")
    assert set(fit.labels) == set(truth)
    assert fit.set == {}
    for label, values in truth.items():
        assert fit.set_of(label) == pytest.approx(values, rel=1e-9, abs=1e-12)
    assert all(f"core_cycles[{label}]" in str(fit) for label in fit.labels)
    rng = np.random.default_rng(5)
    noisy = rows.assign(time=rows["time"] * (1 + 0.01 * rng.normal(size=len(rows))))
    both = dse.fit(
        "clock_scaling", noisy, free=["stall_time"], per={"kernel": ["core_cycles"]}, to="time"
    )
    matrix = np.column_stack(
        [np.ones(len(noisy)), *((noisy["kernel"] == k) / noisy["core_clock"] for k in both.labels)]
    )
    values, *_ = np.linalg.lstsq(matrix / [1, 1e-9, 1e-9, 1e-9], noisy["time"], rcond=None)
    if values.min() > 0:
        result = [both["stall_time"], *(both[f"core_cycles[{k}]"] for k in both.labels)]
        np.testing.assert_allclose(result, values * [1, 1e9, 1e9, 1e9], rtol=1e-6)
    assert both.set == {"stall_time": both["stall_time"]}
    with pytest.raises(UnknownNameError, match="'ftt' is no label of this fit; did you mean 'fft'"):
        both.set_of("ftt")


# --- data of every kind


def supply_rows() -> dict[str, np.ndarray]:
    truth = {"ms_peak_bandwidth": 8e9, "ms_transition": 500.0}
    return {
        "threads_in_ms": THREADS,
        "attained_bandwidth": predict(
            "transit_supply", "attained_bandwidth", threads_in_ms=THREADS, **truth
        ),
    }


def kinds(folder: Path) -> dict[str, Any]:
    rows = supply_rows()
    frame = pd.DataFrame(rows)
    in_units = frame.rename(columns={"attained_bandwidth": "attained_bandwidth [GB/s]"})
    in_units["attained_bandwidth [GB/s]"] /= 1e9
    in_units.to_csv(folder / "rows.csv", index=False)
    ds = xr.Dataset(
        {"attained_bandwidth": ("run", rows["attained_bandwidth"] / 1e6, {"units": "MB/s"})},
        {"threads_in_ms": ("run", rows["threads_in_ms"], {"units": "1"})},
    )
    ds.to_netcdf(folder / "rows.nc")
    study = dse.Study(
        model="transit_supply",
        axes={"threads_in_ms": THREADS},
        set={"ms_peak_bandwidth": 8e9, "ms_transition": 500},
    ).run()
    dse.export(study, folder / "study.csv")
    in_units.assign(gpu="one", found=2.0).to_csv(folder / "others.csv", index=False)
    imported = {f"imported.{kind}": folder / f"imported.{kind}" for kind in ("zarr", "csv")}
    for path in imported.values():
        dse.export(dse.open(folder / "others.csv"), path)
    return {
        **imported,
        "mapping": rows,
        "lists": {name: column.tolist() for name, column in rows.items()},
        "frame": frame,
        "index": frame.set_index("threads_in_ms"),
        "missing type": frame.convert_dtypes(),
        "units": in_units,
        "csv": folder / "rows.csv",
        "csv, as text": str(folder / "rows.csv"),
        "dataset": ds,
        "netcdf": folder / "rows.nc",
        "study": study,
        "csv of a study": folder / "study.csv",
    }


def test_data_of_every_kind(tmp_path: Path) -> None:
    for kind, data in kinds(tmp_path).items():
        fit = dse.fit("transit_supply", data, free=SUPPLY, left_out="hat")
        truth = {"ms_peak_bandwidth": 8e9, "ms_transition": 500}
        assert fit.set == pytest.approx(truth, rel=1e-7), kind
        assert fit.rows == THREADS.size


def test_a_dataset_of_two_dimensions_without_what_is_not_feasible() -> None:
    study = dse.Study(
        model="energy_roofline",
        axes={"arithmetic_intensity": [1, 4, 16, 64], "mem_bandwidth": ["1 TB/s", "2 TB/s"]},
        set={
            "peak_flops": 2e13,
            "constant_power": 60,
            "energy_per_byte": 1e-10,
            "energy_per_flop": 5e-12,
        },
        outputs=["power"],
        where=["power < 250 W"],
    )
    ds = study.run()
    assert 0 < int(ds["feasible"].sum()) < 8
    fit = dse.fit("energy_roofline", ds, free=ROOFLINE, to="power", set={"peak_flops": 2e13})
    assert fit.rows == int(ds["feasible"].sum())
    assert fit["energy_per_byte"] == pytest.approx(1e-10)


def test_columns_are_chosen_and_renamed() -> None:
    rows = supply_rows()
    frame = pd.DataFrame(
        {"k": rows["threads_in_ms"], "BW/MB/s": rows["attained_bandwidth"] / 1e6, "note": "a"}
    )
    fit = dse.fit(
        "transit_supply",
        frame,
        free=SUPPLY,
        columns={"threads_in_ms": "k", "attained_bandwidth": "BW/MB/s [MB/s]"},
    )
    assert fit["ms_transition"] == pytest.approx(500)
    frame = pd.DataFrame({**rows, "time": 1.0, "note": "a"})
    fit = dse.fit("transit_supply", frame, free=SUPPLY, columns=list(rows))
    assert fit["ms_transition"] == pytest.approx(500)


def test_weights_and_rows_chosen() -> None:
    """A row of weight 0 is no row; conditions choose by inputs and what follows from them."""
    rows = roofline_rows()
    frame = pd.DataFrame(rows)
    frame["confidence"] = np.where(np.arange(25) % 5 == 0, 0.0, 2.0)
    weighed = dse.fit("energy_roofline", frame, free=ROOFLINE, to="power", weights="confidence")
    fewer = dse.fit(
        "energy_roofline",
        pd.DataFrame(rows)[frame["confidence"] > 0],
        free=ROOFLINE,
        to="power",
    )
    assert weighed.rows == fewer.rows == 20
    assert weighed.set == pytest.approx(fewer.set)
    assert weighed.standard_errors == pytest.approx(fewer.standard_errors)
    assert weighed.r2 == pytest.approx(fewer.r2)
    mask = frame["attained_bandwidth"] < 8e11
    where = dse.fit(
        "energy_roofline",
        frame,
        free=ROOFLINE,
        to="power",
        where=["attained_bandwidth < 800 GB/s"],
        columns=[*rows],
    )
    assert where.rows == int(mask.sum())
    np.testing.assert_array_equal(where.dataset["row"].values, np.flatnonzero(mask))


# --- what is handed back


def test_a_fit_goes_into_a_study_and_explains_itself(tmp_path: Path) -> None:
    rows = roofline_rows()
    fit = dse.fit("energy_roofline", rows, free=ROOFLINE, to="power")
    study = dse.Study(
        model="energy_roofline",
        axes={"arithmetic_intensity": [1.0, 10.0]},
        set={**fit.set, "mem_bandwidth": "1 TB/s", "peak_flops": "10 Tflop/s"},
    )
    first = fit["constant_power"] + fit["energy_per_byte"] * 1e12 + fit["energy_per_flop"] * 1e12
    assert float(study.run()["power"][0]) == pytest.approx(first)
    text = str(fit)
    for name in ROOFLINE:
        assert name in text
    assert "fitted to power of 25 rows" in text
    assert "a fit without each" in text
    assert json.loads(json.dumps(fit.to_dict()))["fitted"]["constant_power"]["unit"] == "W"
    ds = fit.dataset
    np.testing.assert_allclose(ds["power"] - ds["power_measured"], ds["power_residual"])
    assert ds["power"].attrs["units"] == "W"
    assert ds["value"].sel(quantity="constant_power") == fit["constant_power"]
    assert ds["unit"].sel(quantity="energy_per_byte") == "J/B"
    np.testing.assert_allclose(np.diag(ds["correlation"]), 1)
    assert json.loads(ds.attrs["study"])["fit"] == list(ROOFLINE)
    assert "Choi 2013" in ds.attrs["equations"]
    again = dse.open(dse.export(ds, tmp_path / "fit.nc"))
    assert again["power"].identical(ds["power"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        fit.r2 = 1.0
    with pytest.raises(ValueError, match="read-only"):
        fit.residuals["power"][0] = 0
    with pytest.raises(UnknownNameError, match="'constant_pow' was not fitted; did you mean"):
        fit["constant_pow"]


def test_the_same_data_give_the_same_fit() -> None:
    rows = roofline_rows()
    first, second = (dse.fit("energy_roofline", rows, free=ROOFLINE, to="power") for _ in range(2))
    assert first == second
    np.testing.assert_array_equal(first.covariance, second.covariance)


# --- what is wrong is said

GOOD = {"threads_in_ms": [64.0, 128, 512, 1024], "attained_bandwidth": [1e9, 2e9, 8e9, 8e9]}
WRONG: list[tuple[dict[str, Any], type[DseError], str]] = [
    ({"free": ["ms_peak_bandwith"]}, UnknownNameError, "did you mean 'ms_peak_bandwidth'"),
    ({"free": "ms_transition"}, DseError, "expected a list of quantities"),
    ({"free": []}, DseError, "free is empty"),
    ({"free": ["ms_transition"] * 2}, DseError, "freed twice"),
    ({"free": ["supply"]}, DseError, "has labels and"),
    ({"free": ["n_sms"]}, DseError, "an integer"),
    ({"free": ["attained_bandwidth"]}, DseError, "measured .to=. and free"),
    ({"free": ["threads_in_ms"]}, DseError, "free and a column"),
    ({"free": [*SUPPLY, "mem_latency"]}, GraphError, "does not depend on mem_latency"),
    ({"to": "time"}, DseError, "time .to=. has no column"),
    ({"to": "threads_in_ms"}, DseError, "an input of transit_supply: name"),
    ({"to": []}, DseError, "to is empty"),
    ({"set": {"ms_transition": 5}}, DseError, "ms_transition is free and set"),
    ({"set": {"threads_in_ms": 5}}, DseError, "threads_in_ms is a column and set"),
    ({"set": {"attained_bandwidth": 5}}, DseError, "attained_bandwidth is measured and set"),
    ({"columns": ["threads_in_m"]}, UnknownNameError, "did you mean 'threads_in_ms'"),
    ({"columns": "threads_in_ms"}, DseError, "expected a list of names, or a mapping"),
    ({"columns": {"threads": "k"}}, UnknownNameError, "no column 'k'"),
    ({"columns": {"thread": "threads_in_ms"}}, UnknownNameError, "no quantity of the model"),
    ({"columns": ["threads_in_ms"]}, DseError, "none is among the columns"),
    ({"residuals": "squared"}, DseError, "expected one of"),
    ({"left_out": "all"}, DseError, "expected one of"),
    ({"ridge": -1}, DseError, "ridge = -1: expected a weight, 0 or larger"),
    ({"ridge": math.nan}, DseError, "ridge = nan"),
    ({"weights": "w"}, UnknownNameError, "no column 'w'"),
    ({"weights": [1, 2]}, DseError, "expected one for each row"),
    ({"weights": [1, 1, -1, 1]}, DseError, "the weight of row 2 is -1.0"),
    ({"weights": [0, 0, 0, 0]}, DseError, "all weights are 0"),
    ({"start": {"ms_transition": -5}}, DseError, "the start of ms_transition, -5, is outside"),
    ({"start": {"mem_latency": 5}}, UnknownNameError, "start names mem_latency, which is not free"),
    ({"start": {"ms_transition": "2 * threads"}}, DseError, "is a formula"),
    ({"start": {"ms_peak_bandwidth": "1 GHz"}}, UnitError, "expected a bandwidth"),
    ({"bounds": {"ms_transition": 5}}, DseError, r"expected \(low, high\)"),
    ({"bounds": {"ms_transition": (9, 5)}}, DseError, "two ascending numbers"),
    ({"bounds": {"ms_transition": (-9, 5)}}, DseError, "within its domain"),
    ({"bounds": {"ms_transition": ("a", 5)}}, DseError, "'a'"),
    ({"where": "threads_in_ms > 5000"}, DseError, "no row satisfies threads_in_ms > 5000"),
    ({"where": "threads_in_ms < ms_transition"}, DseError, "depends on ms_transition, which is"),
    ({"where": "threads_in_ms > 512"}, DseError, "1 rows for 2 free"),
    ({"where": "threads_in_ms < 100 B"}, UnitError, "B"),
    ({"per": {"kernel": ["ms_transition"]}}, UnknownNameError, "no column 'kernel'"),
    ({"prefer": "transit"}, UnknownNameError, "none of the joined models"),
]


@pytest.mark.parametrize(("changed", "kind", "common"), WRONG, ids=[str(row[0]) for row in WRONG])
def test_what_is_asked_wrongly_is_said(
    changed: dict[str, Any], kind: type[DseError], common: str
) -> None:
    with pytest.raises(kind, match=common):
        dse.fit("transit_supply", GOOD, **{"free": SUPPLY, **changed})


BAD_DATA: list[tuple[Any, type[DseError], str]] = [
    ({**GOOD, "threads_in_m": [1, 2, 3, 4]}, UnknownNameError, "did you mean 'threads_in_ms'"),
    ({**GOOD, "threads_in_ms": [1, 2]}, DseError, "differ in length"),
    ({**GOOD, "threads_in_ms": [1, 2, 3, math.nan]}, DseError, "has no number at row 3: leave"),
    ({**GOOD, "threads_in_ms": [1, 2, 3, math.inf]}, DseError, "has an infinite value at row 3"),
    ({**GOOD, "attained_bandwidth": [1, 2, 3e170, 4]}, DseError, "3e.170 B/s at row 2: .* sizes"),
    ({**GOOD, "attained_bandwidth": [1, 2, 3e-170, 4]}, DseError, "3e-170 B/s at row 2: .* unit"),
    ({**GOOD, "machine": [1, 2, 3, 4]}, UnknownNameError, "one machine at a time by machine="),
    ({**GOOD, "attained_bandwidth": [1, math.nan, math.nan, 4]}, DseError, "row 1 and at 1 more"),
    ({**GOOD, "threads_in_ms": [1, -2, 3, 4]}, DomainError, "at index 1 .a column of the data"),
    ({**GOOD, "threads_in_ms": [1, "many", 3, 4]}, DseError, "has 'many' at row 1"),
    ({**GOOD, "threads_in_ms": np.ones((2, 2))}, DseError, "has 2 dimensions"),
    ({**GOOD, "attained_bandwidth [GHz]": [1, 2, 3, 4]}, DseError, "two columns"),
    ({"threads_in_ms": [1, 2], "attained_bandwidth [GHz]": [1, 2]}, UnitError, "is a frequency"),
    ({"threads_in_ms": [1, 2], "attained_bandwidth [Gb]": [1, 2]}, UnitError, "unit of the column"),
    ({**GOOD, "supply": [1, 2, 3, 4]}, DseError, "has labels"),
    ({}, DseError, "none is among the columns"),
    ([1, 2], DseError, "has no columns"),
    ("nowhere.csv", DseError, "nowhere.csv"),
    ("nowhere.nc", DseError, "does not exist"),
]


@pytest.mark.parametrize(("data", "kind", "common"), BAD_DATA, ids=[row[2] for row in BAD_DATA])
def test_what_is_wrong_with_the_data_is_said(data: Any, kind: type[DseError], common: str) -> None:
    with pytest.raises(kind, match=common):
        dse.fit("transit_supply", data, free=SUPPLY)


@pytest.mark.parametrize(("separator", "decimal"), [(";", ","), ("\t", "."), (" ", ".")])
def test_rows_are_fitted_whatever_separates_their_columns(
    tmp_path: Path, separator: str, decimal: str
) -> None:
    path = tmp_path / "rows.csv"
    pd.DataFrame(GOOD).to_csv(path, sep=separator, decimal=decimal, index=False)
    assert dse.fit("transit_supply", path, free=SUPPLY)["ms_transition"] == pytest.approx(512)


def test_rows_whose_status_says_that_they_failed_are_not_fitted(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    frame = pd.DataFrame(GOOD).assign(status="ok")
    frame.loc[len(frame)] = {**frame.iloc[0], "attained_bandwidth": 1e15, "status": "timeout"}
    frame.to_csv(path, index=False)
    assert dse.fit("transit_supply", path, free=SUPPLY)["ms_transition"] == pytest.approx(512)


def test_a_column_of_workloads_names_those_of_the_catalogue_once() -> None:
    rows = {"workload": ["svm", "sepa"], "power": [180, 170]}
    common: dict[str, Any] = {"machine": "gtx280", "to": "power", "free": ["max_power_fp"]}
    with pytest.raises(UnknownEntryError, match="'sepa' is no workload; did you mean 'sepia'"):
        dse.fit("ipp", rows, **common)
    with pytest.raises(DseError, match="workload is a column and an argument"):
        dse.fit("ipp", rows, workload="svm", **common)


def test_no_name_of_an_axis_is_meant_by_a_column() -> None:
    with pytest.raises(UnknownNameError) as error:
        dse.fit("transit_supply", {**GOOD, "PLACE_OF_machin": [1, 2, 3, 4]}, free=SUPPLY)
    assert "PLACE_OF_machine" not in str(error.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-90, 1e-25, 1e25, 1e90])
def test_values_of_any_scale(scale: float) -> None:
    """Values, errors and those of rows left out grow as what was measured does."""
    rows = {"core_clock": [1e9, 2e9, 3e9, 4e9], "time": np.array([3.0, 1.6, 1.1, 0.9])}
    common: dict[str, Any] = {"free": ["core_cycles", "stall_time"], "to": "time"}
    one = dse.fit("clock_scaling", rows, **common)
    other = dse.fit("clock_scaling", {**rows, "time": rows["time"] * scale}, **common)
    for name, value in one.set.items():
        assert other[name] / scale == pytest.approx(value, rel=1e-6)
        errors = one.standard_errors[name], other.standard_errors[name] / scale
        assert errors[1] == pytest.approx(errors[0], rel=1e-6)
    assert other.rms / scale == pytest.approx(one.rms)
    assert other.leave_one_out / scale == pytest.approx(one.leave_one_out, rel=1e-6)
    assert other.r2 == pytest.approx(one.r2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_weights_of_any_scale(weight: float) -> None:
    rows = {**GOOD, "attained_bandwidth": [1e9, 2.1e9, 8e9, 8.1e9]}
    one = dse.fit("transit_supply", rows, free=SUPPLY)
    other = dse.fit("transit_supply", rows, free=SUPPLY, weights=[weight] * 4)
    assert other.set == pytest.approx(one.set)
    assert other.standard_errors == pytest.approx(one.standard_errors)
    assert other.leave_one_out == pytest.approx(one.leave_one_out)


def test_a_slope_in_its_own_unit() -> None:
    """A share for each hertz is no time."""
    assert dse.model("clock_scaling").quantity("voltage_slope").unit == "1/Hz"
    given_ = {"nominal_clock": 1e9, "voltage_curve": "knee", "voltage_knee_clock": 1e9}
    given_ |= {"constant_power": 40, "dynamic_power": 90}
    power = predict("clock_scaling", "power", core_clock=CLOCKS, voltage_slope=5e-10, **given_)
    rows = {"core_clock": CLOCKS, "power": power}
    fit = dse.fit("clock_scaling", rows, free=["voltage_slope"], to="power", set=given_)
    assert "voltage_slope  5e-10 1/Hz" in str(fit)


def test_two_columns_of_one_name() -> None:
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["threads_in_ms", "time [s]", "time [ms]"])
    with pytest.raises(DseError, match="two columns 'time'"):
        dse.fit("transit_supply", frame, free=SUPPLY)


def test_what_the_rows_do_not_determine_is_said() -> None:
    rising = {"threads_in_ms": [10, 20, 30], "attained_bandwidth": [1e9, 2e9, 3.1e9]}
    with pytest.raises(DseError, match="do not determine"):
        dse.fit("transit_supply", rising, free=SUPPLY)
    flat = {"core_clock": [1e9, 1e9, 1e9], "time": [1.0, 1.1, 0.9]}
    with pytest.raises(DseError, match=r"do not determine stall_time, core_cycles.*together"):
        dse.fit("clock_scaling", flat, free=["stall_time", "core_cycles"], to="time")
    few = pd.DataFrame({"kernel": ["a", "a", "b"], "core_clock": [1e9, 2e9, 1e9], "time": 1.0})
    with pytest.raises(DseError, match="1 rows of b for 2 free values"):
        dse.fit("clock_scaling", few, per={"kernel": ["stall_time", "core_cycles"]}, to="time")
    with pytest.raises(DseError, match="per names the columns a, b: expected one"):
        dse.fit("clock_scaling", few, per={"a": ["stall_time"], "b": []}, to="time")


def test_what_a_table_equation_needs_cannot_be_fitted() -> None:
    rows = {"lanes": [2, 4, 8], "imbalance_loss": [1.2, 1.5, 1.8]}
    with pytest.raises(GraphError, match="success_probability feeds a table equation"):
        dse.fit(
            "imbalance",
            rows,
            free=["success_probability"],
            to="imbalance_loss",
            set={"work_law": "geometric"},
        )


def test_rows_without_a_label_are_named() -> None:
    rows = pd.DataFrame({"kernel": ["a", None, "a"], "core_clock": 1e9, "time": 1.0})
    with pytest.raises(DseError, match="kernel has no label at row 1"):
        dse.fit("clock_scaling", rows, per={"kernel": ["core_cycles"]}, to="time")


def test_many_rows() -> None:
    """200,000 rows: beginnings are compared on few, the best fit is that of all."""
    rng = np.random.default_rng(0)
    threads = rng.uniform(1, 2000, 200_000)
    exact = 8e9 / (1 + 500 / threads)
    rows = {"threads_in_ms": threads, "attained_bandwidth": exact * rng.normal(1, 0.1, 200_000)}
    fit = dse.fit(
        "transit_supply", rows, free=SUPPLY, set={"supply": "smooth"}, residuals="relative"
    )
    assert fit.how_left_out == "hat"
    assert fit.leave_one_out == pytest.approx(fit.rms, rel=5e-5)
    assert fit["ms_transition"] == pytest.approx(500, rel=0.05)
    assert 0 < fit.standard_errors["ms_transition"] < 1


def test_a_column_that_cuts_the_model_is_named() -> None:
    """Refuse a fit of energy if time and power, on which it depends, come from the data."""
    rows = {"time": [1.0, 2.0, 3.0], "power": [1.0, 2.0, 3.0], "energy": [1.0, 4.0, 9.0]}
    with pytest.raises(GraphError, match=r"\(it yields time, power, which come from the data\)"):
        dse.fit("clock_scaling", rows, free=["core_cycles"], to="energy")


def test_rows_that_break_a_rule_are_named() -> None:
    rows = {"active_sms": [10, 20, 40], "time": [3.0, 2.0, 1.0]}
    with pytest.raises(InfeasibleError, match="row 2 breaks the rule 'active_sms <= n_sms'"):
        dse.fit(
            "occupancy + mwp_cwp",
            rows,
            free=["comp_factor"],
            to="time",
            machine="gtx280",
            workload="svm",
            set={"threads_per_block": 128},
        )


def test_a_model_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(
        '"""A root."""\n'
        "import dse\n"
        "from symbolic.ops import sqrt\n"
        'shift = dse.quantity("shift", domain="(-inf, inf)", meaning="to the left")\n'
        '@dse.equation(source="ours")\n'
        "def height(threads, shift):\n"
        "    return sqrt(threads - shift)\n"
    )
    rows = {"threads": [10.0, 20.0, 30.0], "height": np.sqrt([3.0, 13.0, 23.0])}
    assert dse.fit(str(path), rows, free=["shift"])["shift"] == pytest.approx(7)
    with pytest.raises(InfeasibleError, match="not height of row 0 at shift = 1"):
        dse.fit(str(path), rows, free=["shift"], bounds={"shift": (1e3, 2e3)})


def test_relative_residuals_of_nothing() -> None:
    rows = {"core_clock": [1e9, 2e9, 3e9], "time": [1.0, 0.0, 1.0]}
    free = ["stall_time", "core_cycles"]
    with pytest.raises(DseError, match="time is 0 at row 1"):
        dse.fit("clock_scaling", rows, free=free, to="time", residuals="relative")
    fit = dse.fit("clock_scaling", rows, free=free, to="time")
    assert math.isfinite(fit.mean_error)


# --- the TMM model


def test_calibrate_finds_eq_15_again() -> None:
    """Ma 2014, Eq. 15 with its coefficients, and a level; with noise, within the errors stated."""
    threads = np.tile([1.0, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48], 3)
    rows: dict[str, Any] = {
        "tile_dim": np.repeat([16, 32, 64], 12),
        "threads_per_core": threads,
    }
    model, common = "apsp + tmm_calibrated", {"machine": "gtx480", "workload": "apsp"}
    printed = {"memory_time_slope": 0.957, "memory_time_offset": 53.9}
    ds = dse.evaluate(model, outputs=["time", "bound"], **rows, **common)
    level = float(ds["time"].min())
    result = dse.calibrate({**rows, "time": ds["time"].values}, **common)
    assert result.set == pytest.approx({**printed, "compute_bound_time": level})
    assert result.r2["memory"] == pytest.approx(1)
    assert result.fits["memory"].rows == int((ds["bound"] == 2).sum())
    assert result.fits["computation"].rows == int((ds["bound"] < 2).sum())
    rng = np.random.default_rng(4)
    noisy = ds["time"].values + rng.normal(0, 3, len(threads))
    for regimes in ("apart", "together"):
        result = dse.calibrate({**rows, "time": noisy}, regimes=regimes, **common)
        errors = result.standard_errors
        for name, value in {**printed, "compute_bound_time": level}.items():
            assert abs(result.set[name] - value) < 3 * errors[name]
            assert 0 < errors[name] < 0.2 * abs(value)
        assert min(r2 for regime, r2 in result.r2.items() if regime != "computation") > 0.9
        assert "memory_time_slope" in str(result)
    apart = dse.calibrate({**rows, "time": noisy}, **common)
    memory = (ds["bound"] == 2).values
    x = np.sqrt(np.ceil(8192 / rows["tile_dim"][memory]) ** 2) / threads[memory]
    line = np.polynomial.polynomial.polyfit(x, noisy[memory], 1)
    assert apart.set["memory_time_offset"] == pytest.approx(line[0])
    assert apart.set["memory_time_slope"] == pytest.approx(line[1])
    assert apart.set["compute_bound_time"] == pytest.approx(noisy[~memory].mean())


def test_calibrate_with_one_regime_or_a_given_one() -> None:
    rows = {"tile_dim": [32] * 3, "threads_per_core": [2, 4, 8], "time": [180.0, 118.0, 86.0]}
    common = {"machine": "gtx480", "workload": "apsp"}
    result = dse.calibrate(rows, **common)
    assert set(result.fits) == {"memory"}
    assert "computation: no row is in this regime" in str(result)
    said_bound = {
        "blocks": [65536.0] * 5,
        "threads_per_core": [2, 4, 8, 16, 32],
        "bound": [2, 2, 2, 0, 0],
        "time": [180.0, 118.0, 86.0, 70.0, 72.0],
    }
    result = dse.calibrate(said_bound, model="tmm + tmm_calibrated")
    assert result.set["compute_bound_time"] == pytest.approx(71)
    with pytest.raises(DseError, match="expected 'apart' or 'together'"):
        dse.calibrate(rows, regimes="both", **common)


SAID_BOUND = {
    "blocks": [65536] * 6,
    "threads_per_core": [2, 4, 8, 16, 24, 32],
    "time": [182, 118, 86, 70.5, 69.5, 70],
}


@pytest.mark.parametrize(("bound", "words"), [(3.0, "3"), (math.nan, "nan"), (1.5, "1.5")])
def test_a_row_of_neither_regime_is_said(bound: float, words: str) -> None:
    rows = {**SAID_BOUND, "bound": [bound, 2, 2, 0, 0, 0]}
    with pytest.raises(DseError, match=f"'bound' has {words} at row 0: expected 0"):
        dse.calibrate(rows, model="tmm_calibrated")
    named = {**SAID_BOUND, "which": rows["bound"]}
    columns = {name: name for name in SAID_BOUND} | {"bound": "which"}
    with pytest.raises(DseError, match=f"'which' has {words} at row 0"):
        dse.calibrate(named, model="tmm_calibrated", columns=columns)


def test_too_few_rows_of_a_regime_and_what_to_do() -> None:
    """Follow the message's advice: set a coefficient, or choose other rows."""
    rows = {**SAID_BOUND, "bound": [2, 0, 0, 0, 0, 0]}
    with pytest.raises(DseError, match=r"the memory regime \(bound == 2\): 1 rows for 2 .* set"):
        dse.calibrate(rows, model="tmm_calibrated")
    result = dse.calibrate(rows, model="tmm_calibrated", set={"memory_time_offset": 54})
    assert result.set["memory_time_slope"] == pytest.approx(1)
    assert "memory_time_offset" not in result.set
    result = dse.calibrate(rows, model="tmm_calibrated", where="bound < 2")
    assert set(result.fits) == {"computation"}
    assert result.set["compute_bound_time"] == pytest.approx(np.mean(rows["time"][1:]))
    every = {"memory_time_slope": 1, "memory_time_offset": 54, "compute_bound_time": 70}
    with pytest.raises(DseError, match="all coefficients are set"):
        dse.calibrate(rows, model="tmm_calibrated", set=every)


# --- the command


def test_the_command(run: Run, tmp_path: Path) -> None:
    frame = pd.DataFrame(supply_rows())
    frame["attained_bandwidth [GB/s]"] = frame.pop("attained_bandwidth") / 1e9
    frame.to_csv("supply.csv", index=False)
    command = ["fit", "transit_supply", "supply.csv", "--free", ",".join(SUPPLY)]
    text = run(*command).stdout
    assert "transit_supply fitted to attained_bandwidth of 20 rows" in text
    assert "ms_peak_bandwidth  8 GB/s" in text
    result = json.loads(run(*command, "--relative", "--out", "fit.nc", "--json").stdout)
    assert result["fitted"]["ms_transition"]["value"] == pytest.approx(500)
    assert result["relative"] is True
    assert "attained_bandwidth_measured" in dse.open("fit.nc")
    assert "dataset: again.nc" in run(*command, "--out", "again.nc").stdout
    run(
        *command,
        "--set",
        "supply=smooth",
        "--start",
        "ms_transition=400",
        "--where",
        "threads_in_ms>99",
    )
    labelled_rows()[0].assign(core_clock=lambda f: f["core_clock"] / 1e6).to_csv("runs.csv")
    columns = "core_clock=core_clock [MHz],time"
    own = "kernel=core_cycles,stall_time"
    runs = ["fit", "clock_scaling", "runs.csv", "--to", "time", "--per", own, "--columns", columns]
    assert run(*runs).stdout.count("core_cycles[") == 3


MISUSED = [
    ("--free nothing", "'nothing' is no quantity"),
    ("--free ms_transition --set supply", "expected QUANTITY=VALUE"),
    ("--free ms_transition --set a=1 --set a=2", "gives a twice"),
    ("--per kernel", "expected COLUMN=QUANTITY"),
    ("--free ms_transition --columns k", "no column 'k'"),
    ("", "free is empty"),
]


@pytest.mark.parametrize(("options", "common"), MISUSED, ids=[row[0] for row in MISUSED])
def test_misuse_of_the_command(run: Run, options: str, common: str) -> None:
    pd.DataFrame(GOOD).to_csv("rows.csv", index=False)
    assert common in run("fit", "transit_supply", "rows.csv", *options.split(), status=2).stderr


@pytest.mark.parametrize("rows", [100, 300_000])
def test_a_column_of_labels_is_of_one_kind_however_long(tmp_path: Path, rows: int) -> None:
    """pandas told the kind of a column by pieces: labels were numbers in some, text in others."""
    (tmp_path / "long.csv").write_text("kernel,time\n" + "1,2\n" * rows + "last,3\n")
    table = read_table(tmp_path / "long.csv")
    assert set(table.columns["kernel"].tolist()) == {"1", "last"}
