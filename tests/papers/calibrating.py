"""Measured rows of others that models are calibrated to: tables, what is free, what is left out."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dse
from dse.fitting.calibrate import left_out_errors
from dse.fitting.rows import read_table
from tests.papers.test_fits import page

#: Of the kernels whose watts are known, the row of their counters; that of pathfinder is missing.
KERNELS = [
    *("btree_k1", "btree_k2", "backprop_k1", "backprop_k2", "hotspot_k1", "kmeans_k1"),
    *("srad_v1_k1", "parboil_sad_k1", "parboil_sgemm_k1", "parboil_mriq_k1", "dct8x8_k1"),
    *("dct8x8_k2", "binomialOptions_k1", "fastWalshTransform_k1", "fastWalshTransform_k2"),
    *("histogram_k1", "mergeSort_k1", "mergeSort_k2", "quasirandomGenerator_k1"),
    *("quasirandomGenerator_k2", "sobolQRNG_k1", "cutlass_k1", "cutlass_k2", "cutlass_k3"),
    "cudaTensorCoreGemm_k1",
]
TO = "attained_bandwidth"
#: The GPUs of the elementwise operators, and their machine files.
GPUS = {
    "Tesla P4": "p4",
    "Tesla P100-PCIE-16GB": "p100",
    "Tesla V100-PCIE-32GB": "v100_pcie",
    "Tesla T4": "t4",
    "NVIDIA A100-PCIE-40GB": "a100_40",
}


def elementwise(folder: Path) -> dict[str, np.ndarray]:
    """Elementwise operators of PyTorch: bytes, times, and what the file of each machine says."""
    with gzip.open(folder / "profiles" / "pytorch_elementwise" / "train_elem.csv.gz") as file:
        table = pd.read_csv(file)
    two = table["OPName"].isin(["add", "mul", "div", "pow"]).to_numpy()
    machines = {name: dse.machine(file).values for name, file in GPUS.items()}
    known = {
        quantity: {n: _bandwidth(values, quantity) for n, values in machines.items()}
        for quantity in ("mem_bandwidth", "triad_bandwidth")
    }
    return {
        "gpu": table["Device"].to_numpy(),
        "dram_bytes": np.where(two, 12.0, 8.0) * table["B"] * table["H"],
        "mem_bandwidth": table["Device"].map(known["mem_bandwidth"]).to_numpy(),
        "measured_bandwidth": table["Device"].map(known["triad_bandwidth"]).to_numpy(),
        "time [ms]": table["Latency"].to_numpy(),
    }


def _bandwidth(values: Any, name: str) -> float:
    """In B/s; 0 where nobody measured it."""
    return float(str(values[name].value).removesuffix(" GB/s")) * 1e9 if name in values else 0.0


def power(folder: Path) -> dict[str, Any]:
    """Rates of accesses and watts of 25 kernels on a V100, at its 1380 MHz."""
    where = folder / "profiles" / "power_v100"
    table = pd.read_csv(where / "hw_perf.csv")
    watts = pd.read_csv(where / "hw_power_validation_volta.csv", index_col=0)["mean HW_power"]
    seconds = table["Elapsed_Cycles"] / 1.38e9

    def rate(*columns: str) -> np.ndarray:
        return np.asarray(sum(table[name] for name in columns) / seconds)

    return {
        "kernel": KERNELS,
        "mean_busy_sms": 80 - table["Num_Idle_SMs"].to_numpy(),
        "pipeline_duty": table["Pipeline_Duty"].to_numpy(),
        "l1_rate": rate("L1_RH", "L1_RM", "L1_WH", "L1_WM"),
        "shared_rate": rate("SHRD_ACC"),
        "l2_rate": rate("L2_RH", "L2_RM", "L2_WH", "L2_WM"),
        "dram_rate": rate("DRAM_Rd", "DRAM_Wr"),
        "power": watts[KERNELS].to_numpy(),
    }


#: Which quantities of power are found, and what is given: clocks are nominal.
POWER: dict[str, Any] = {
    "model": "activity_power",
    "to": "power",
    "free": [
        *("constant_power", "idle_sm_power", "pipeline_power", "energy_per_l1_access"),
        *("energy_per_shared_access", "energy_per_l2_access", "energy_per_dram_access"),
    ],
    "set": {
        **dict.fromkeys(("core_clock", "nominal_clock"), "1380 MHz"),
        **dict.fromkeys(("memory_clock", "nominal_memory_clock"), "877 MHz"),
    },
}


def halves(folder: Path, curves: Sequence[str] = ()) -> dict[str, float]:
    """Mean error of supply curves, every other point predicted by a fit to those between."""
    result = {}
    free = ["ms_peak_bandwidth", "ms_transition", "supply_sharpness", "supply_rise"]
    for card in page().CARDS:
        table = page().supply_table(folder / "bandwidth" / f"gpu-stream__{card}.txt")
        threads = table.pop("threads_in_ms")
        for kernel, bandwidth in table.items():
            if curves and f"{card} {kernel}" not in curves:
                continue
            rows = {
                "threads_in_ms": threads,
                "attained_bandwidth [GB/s]": bandwidth,
                "half": np.arange(len(threads)) % 2,
            }
            off = left_out_errors(
                read_table(rows),
                "supply_curve",
                "half",
                TO,
                {"free": free, "residuals": "relative", "columns": ["threads_in_ms", TO]},
            )
            result[f"{card} {kernel}"] = float(np.abs(np.concatenate(list(off.values()))).mean())
    return result


if __name__ == "__main__":
    import sys

    data = Path(sys.argv[1])
    print(json.dumps(halves(data), indent=1))
    free = ["startup_time", "bandwidth_share", "measured_share"]
    print(dse.calibrate(elementwise(data), model="streaming", free=free, leave_out="gpu"))
    print(dse.calibrate(power(data), leave_out="kernel", **POWER))
