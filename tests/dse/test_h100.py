"""Rows that an H100 measured (docs/gpu-validation), against the laws and the machine file."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from stochastic import imbalance
from tests.stochastic.test_validation import EXAMPLE

DATA = Path(__file__).parents[2] / "docs" / "gpu-validation"
PAGE = DATA.parent / "gpu-validation.md"
LAUNCH = ("distribution", "blocks", "lanes", "warps_per_block", "slots", "step_time")


def rows_of(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


def column(name: str, key: str, what: str) -> Any:
    return np.array([float(row[key]) for row in rows_of(name) if row.get("what", what) == what])


def test_measured_losses_follow_the_laws() -> None:
    """Swatman 2022: Table I within 2 %, and Fig. 3 within 1 %."""
    import runpy

    laws = runpy.run_path(str(EXAMPLE))["LAWS"]
    rows = rows_of("h100.csv")
    cases = {(row["law"], int(row["lanes"])) for row in rows}
    assert cases == {(law, lanes) for law in laws for lanes in (2, 4, 8, 16, 32)}
    for row in rows:
        modelled = imbalance(laws[row["law"]], int(row["lanes"])).mean()
        assert float(row["modelled"]) == pytest.approx(modelled, rel=1e-6)
        assert float(row["synchronised"]) == pytest.approx(modelled, rel=0.006)
        assert float(row["unsynchronised"]) == pytest.approx(float(row["synchronised"]), rel=0.0003)
        assert int(row["groups"]) == 2**18
        text = f"{float(row['modelled']):.3f}, {float(row['synchronised']):.3f}"
        assert re.search(rf"\| {re.escape(row['law'])} \|.*{text}", PAGE.read_text())


def test_launches_of_independent_slots_follow_the_law() -> None:
    table = dse.open(DATA / "launches-loads-h100.csv")
    for row in range(table.sizes["configuration"]):
        one = table.isel(configuration=row)
        known = {name: one[name].item() for name in LAUNCH}
        known |= {name: int(known[name]) for name in LAUNCH[1:-1]}
        model = dse.evaluate("launch", **known, outputs=["launch_time_mean"]).launch_time_mean
        waves = -(-known["blocks"] // known["slots"]) * one.block_time_mean.item()
        error = abs(float(model) / one.launch_time_mean.item() - 1)
        assert error < 0.046
        if known["blocks"] < 16000:
            assert error < 0.25 * abs(waves / one.launch_time_mean.item() - 1)


def test_the_corner_of_computation_is_lanes_times_latency() -> None:
    fitted = dse.fit(
        "transit_demand", DATA / "demand-h100.csv", free=["cs_peak_flops", "cs_transition"]
    )
    machine = dse.evaluate(
        "transit", machine="h100_sxm", threads=1024, intensity=1, outputs=["cs_transition"]
    )
    assert fitted["cs_transition"] == pytest.approx(489, rel=0.005)
    assert fitted["cs_transition"] == pytest.approx(float(machine.cs_transition), rel=0.06)
    assert fitted.r2 > 0.999


def test_the_curve_of_supply_has_no_corner() -> None:
    table = dse.open(DATA / "supply-h100.csv")
    slope = (table.attained_bandwidth / table.threads_in_ms).values
    assert slope[-1] > 0.8 * slope[0]
    assert table.attained_bandwidth[-1] < 0.8 * column("micro-h100.csv", "value", "copy").max()


def test_the_machine_has_what_was_measured() -> None:
    values = dse.machine("h100_sxm").values
    names = ("read_bandwidth", "l2_bandwidth", "dependent_latency", "l1_bytes_per_cycle")
    assert all("measured with" in values[name].source for name in names)
    machine = {name: float(str(values[name].value).removesuffix(" GB/s")) for name in names}
    micro = rows_of("micro-h100.csv")
    by = {(row["what"], row["size"]): float(row["value"]) for row in micro}
    best: dict[tuple[str, str], float] = {}
    for row in micro:
        key = row["what"], row["size"]
        best[key] = max(best.get(key, 0.0), float(row["value"]))
    for name, size in (("read_bandwidth", 2**32), ("l2_bandwidth", 20 * 2**20)):
        assert 1e9 * machine[name] == pytest.approx(best["read_buffer", str(size)], rel=0.001)
    assert machine["dependent_latency"] == pytest.approx(by["latency_fma_f32", ""], rel=0.04)
    per_cycle = best["read_shared", "16384"] / (132 * 1.98e9)
    assert machine["l1_bytes_per_cycle"] == pytest.approx(per_cycle, rel=0.005)


def test_two_boards_agree_on_the_kernels() -> None:
    rows = rows_of("kernels-h100.csv")
    first, again = (
        column("kernels-h100.csv", f"{name} [s]", "") for name in ("time", "time_again")
    )
    ratio = np.abs(again / first - 1)
    assert len(rows) == 372
    assert np.median(ratio) < 0.002
    assert np.quantile(ratio, 0.95) < 0.0095
    assert ratio.max() < 0.093
    # blocks of at most 64 threads start at one rate, whatever they do
    small = [row for row in rows if int(row["block_x"]) * int(row["block_y"]) <= 64]
    small = [row for row in small if row["kernel"] in ("axpy", "stencil2d", "scan")]
    each = [
        float(row["time [s]"]) / (int(row["grid_x"]) * int(row["grid_y"]))
        for row in small
        if int(row["grid_x"]) * int(row["grid_y"]) > 500_000
    ]
    assert len(each) == 8
    assert each == pytest.approx([0.605e-9] * len(each), rel=0.01)


def test_no_file_names_a_board_or_a_folder() -> None:
    for path in [*DATA.iterdir(), PAGE]:
        assert not re.search(r"GPU-[0-9a-f]{4}|/home/|/tmp/|/opt/|/root/", path.read_text()), path
