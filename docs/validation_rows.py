"""Read the rows of cases of ``docs/validation.md`` that need their own reader."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import fits
import numpy as np
import pandas as pd

import dse
from stochastic import Pmf, imbalance
from tests.papers import calibrating, spmv_fits

#: What is fitted of a supply curve, and of the clocks of a kernel.
SUPPLY = ("ms_peak_bandwidth", "ms_transition", "supply_sharpness", "supply_rise")
TIME, POWER = ("stall_time", "core_cycles"), ("constant_power", "dynamic_power")
#: Runs on a GPU of groups of 8 lanes whose work follows a law.
RUNS = {"geo_005_8": Pmf.geometric(0.05), "uniform_20_40_8": Pmf.uniform(20, 40)}
LANES = 8


def supply(folder: Path) -> pd.DataFrame:
    """Return bandwidth against threads of 18 streaming kernels; every other point is a half."""
    parts = []
    for card, name in fits.CARDS.items():
        table = fits.supply_table(folder / "bandwidth" / f"gpu-stream__{card}.txt")
        threads = table.pop("threads_in_ms")
        for kernel, bandwidth in table.items():
            half = np.arange(threads.size) % 2
            drawn = np.empty(threads.size)
            for out in (0, 1):
                known = [np.append(0, column[half != out]) for column in (threads, bandwidth)]
                drawn[half == out] = np.interp(threads[half == out], *known)
            rows = {"threads_in_ms": threads, "attained_bandwidth": bandwidth * 1e9}
            named = {"curve": f"{name} {kernel}", "half": half, "from_zero": drawn * 1e9}
            parts.append(pd.DataFrame({**rows, **named}))
    return pd.concat(parts, ignore_index=True)


def roofline(folder: Path) -> pd.DataFrame:
    """Return the power of eight A100 at 43 intensities."""
    table = fits.roofline_table(folder)
    rates = {"attained_bandwidth": table["GB/s"] * 1e9, "attained_flops": table["GF/s"] * 1e9}
    return pd.DataFrame({"gpu": table["gpu"].astype(int), **rates, "power": table["W"]})


def clocks(folder: Path) -> pd.DataFrame:
    """Return time and power of 30 kernels at five clocks, in two halves."""
    table = fits.clocks_table(folder)
    columns = {"kernel": "appName", "core_clock": "coreF", "time": "time/ms", "power": "power/W"}
    rows = pd.DataFrame({name: table[column] for name, column in columns.items()})
    rows["MHz"] = rows.core_clock
    rows = rows.assign(core_clock=rows.core_clock * 1e6, time=rows.time / 1e3)
    return rows.assign(half=fits.half(table, 0).astype(int))


def energies(folder: Path) -> pd.DataFrame:
    """Return the same rows with the values fitted to the other half of the rows."""
    table = fits.clocks_table(folder)
    rows = clocks(folder).drop(columns=["time", "power"])
    rows["energy"] = table["time/ms"] / 1e3 * table["power/W"]
    for half in (0, 1):
        design = fits.Design(table, fits.half(table, half))
        draw = design.power("knee")
        for at in np.flatnonzero(~design.used):
            kernel = table["appName"][at]
            for name, value in {**design.time.set_of(kernel), **draw.set_of(kernel)}.items():
                if name in (*TIME, *POWER, *fits.KNEE):
                    rows.loc[at, name] = value
    return rows


def losses(folder: Path) -> pd.DataFrame:
    """Return the measured loss in lockstep of 131,072 groups next to that of the law."""
    rows = []
    for name, work in RUNS.items():
        table = pd.read_csv(folder / "imbalance" / f"data_{name}.csv.gz")
        seen, law = (table.mea_simt / table.mea_mimt).to_numpy(), imbalance(work, LANES)
        told: dict[str, tuple[float, Any]] = {
            "mean": (seen.mean(), law.mean()),
            "slowdown": (table.mea_simt.sum() / table.mea_mimt.sum(), law.slowdown().value),
            "standard deviation": (seen.std(), law.std()),
        }
        for share in (0.05, 0.25, 0.5, 0.75, 0.95):
            of_law = law.quantile(share)
            told[f"{100 * share:.0f} %"] = (float(np.quantile(seen, share)), of_law)
        for what, (measured, predicted) in told.items():
            rows.append((name, what, measured, float(predicted)))
    return pd.DataFrame(rows, columns=["law", "statistic", "outcome", "given_prediction"])


def sparse(_: Path) -> pd.DataFrame:
    """Return thread- over merge-mapped times of large sparse products, next to left-out ones."""
    rows = spmv_fits.read_rows()
    out = spmv_fits.left_out_times(rows, spmv_fits.machine_values(), ("merge", "thread"))
    rows["outcome"] = rows.thread_time / rows.merge_time
    rows["given_prediction"] = out["thread"] / out["merge"]
    return rows[rows.nonzeros > spmv_fits.LARGE].reset_index(drop=True)


def _opened(path: Path, **given: Any) -> pd.DataFrame:
    frame = dse.open(path, shape="rows", **given).to_dataframe().reset_index()
    return frame[frame.feasible.astype(bool)].reset_index(drop=True)


def caliper(folder: Path) -> pd.DataFrame:
    """Return times per repetition and the bytes reported by RAJAPerf, at four block sizes."""
    parts = []
    for path in sorted((folder / "profiles" / "rajaperf_v100").glob("*.cali")):
        table = _opened(path)
        size = int(re.findall(r"v100_(\d+)_", path.name)[0])
        named = {"kernel": table.kernel, "size": size, "time": table.time}
        parts.append(pd.DataFrame({**named, "dram_bytes": table.Bytes_per_Rep}))
    rows = pd.concat(parts, ignore_index=True)
    return rows[rows.dram_bytes > 0].reset_index(drop=True)


def vector_add(folder: Path) -> pd.DataFrame:
    """Return counters of a vector addition at four block sizes."""
    names = "blocks threads_per_block registers_per_thread shared_mem_per_block total_insts"
    frame = _opened(folder / "profiles" / "vectoradd" / "2080-vectorAdd_output.csv")
    rows = frame[["time", "dram_bytes", "fp_insts", "int_insts", *names.split()]].astype(float)
    sectors = frame.lts__t_sectors_op_read_sum + frame.lts__t_sectors_op_write_sum
    return rows.assign(l2_bytes=32 * sectors, load_requests=frame.global_loads.astype(float))


def vector_copies(folder: Path) -> pd.DataFrame:
    """Return a copy of 8 MiB, launched three times on each of two AMD GPUs."""
    parts = []
    for gpu, machine in (("MI100", "mi100"), ("MI200", "mi210")):
        frame = _opened(folder / "profiles" / "vcopy_amd" / f"vcopy_{gpu}_pmc_perf.csv")
        values = dse.machine(machine).values
        printed = float(str(values["mem_bandwidth"].value).removesuffix(" GB/s")) * 1e9
        rows = frame[["time", "dram_bytes"]].astype(float)
        parts.append(rows.assign(gpu=gpu, mem_bandwidth=printed))
    return pd.concat(parts, ignore_index=True)


def copy_blocked(folder: Path) -> pd.DataFrame:
    """Return one launch from ncu's details page; its bytes are rate times duration."""
    frame = _opened(folder / "profiles" / "ncu_details_t4" / "copy_blocked.csv")
    names = "blocks threads_per_block registers_per_thread shared_mem_per_block total_insts"
    rows = frame[["time", "core_clock", *names.split()]].astype(float)
    moved = frame.Memory_Throughput_Memory_Workload_Analysis.astype(float) * rows.time
    return rows.assign(dram_bytes=moved)


def watts(folder: Path) -> pd.DataFrame:
    """Return power and access rates of 25 kernels."""
    return pd.DataFrame(calibrating.power(folder))
