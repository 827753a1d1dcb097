"""What Hong 2012 claims in numbers in chapter 5, against what is computed here.

Table 13 and Fig. 147 stand here as data. "Hardware" marks what was measured on a machine, or read
from its measurements, and cannot follow from the equations alone.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

import dse
from tests.papers.claims import Claim

#: Table 13: matrix products, naive and tiled (printed under one name), and the cores of 16 that are
#: suggested by the models of chapters 2 and 5, where L1, then where DRAM serves most requests; the
#: last number, where printed, is for DRAM alone.
TABLE_13 = (
    ("naive", 4, 16, 16, 16, 16, None),
    ("naive", 32, 16, 16, 11, 4, None),
    ("tiled", 4, 16, 16, 16, 16, None),
    ("tiled", 16, 16, 16, 11, 13, 10),
    ("tiled", 32, 16, 16, 11, 15, 12),
)

#: Fig. 147: the share of the GPU in percent, found by hand and by the model.
FIG_147 = (
    *((95.56, 96.42), (96.72, 91.89), (47.28, 84.22), (43.70, 83.76), (60.71, 84.34)),
    *((83.24, 87.36), (88.96, 88.56), (89.97, 91.05), (82.50, 77.49), (87.57, 85.76)),
    *((88.53, 89.76), (95.15, 91.74), (95.98, 93.57), (95.96, 94.30)),
)

#: Mem_Bandwidth / BW_per_warp: the published counts follow from any K between 576 and 608, all of
#: them; Table 14's own figures give 341.5.
K = 592.0
LOWEST_K, HIGHEST_K = 576.0, 608.0

BENCHMARKS = ("cmem", "madd", "mmul", "dmadd", "dotp")
ONE_FP = {"fp_insts": 1, "mem_insts": 1}


def evaluate(wanted: str, **given: Any) -> float:
    """One quantity at one point, of GTX580 unless said otherwise."""
    given = {"machine": "gtx580", "warps_per_sm": 1} | given
    return float(dse.evaluate("throughput", outputs=[wanted], **given)[wanted])


@cache
def benchmark(name: str, wanted: str, warps: int, k: float = K) -> float:
    """A quantity of a memory benchmark on GTX580, with so many warps an SM."""
    given = {"workload": name, "warps_per_sm": warps, "bw_per_warp": f"mem_bandwidth / {k}"}
    return evaluate(wanted, **given)


def previous_sms(warps: int, k: float = K) -> float:
    """SMs by the model of chapter 2 (Eq. 63): every warp has one request in flight."""
    return math.ceil(min(evaluate("n_sms"), k / warps))


def peak(machine: str, kind: str) -> float:
    """Gflop/s where every instruction is of one kind."""
    return evaluate("peak_achievable", machine=machine, **{"fp_insts": 0, kind: 1}) / 1e9


def table_14(machine: str, name: str) -> float:
    return evaluate(name, machine=machine, workload="madd")


def slowdown(distance: float) -> float:
    """DEP_Effect on the CPU."""
    return evaluate("dependency_factor", machine="e5645_x2", dependency_distance=distance)


def table_13(kind: str, block: int, column: int) -> float:
    """The cores suggested in a column of Table 13."""
    row = next(row for row in TABLE_13 if row[:2] == (kind, block))
    return float(row[column])  # type: ignore[arg-type]


def own_k() -> float:
    """Mem_Bandwidth / BW_per_warp by Table 14."""
    return 16 * evaluate("mwp_bw", workload="madd")


def fig_147(reduce: Any, *, relative: bool = False) -> float:
    """Distance of the model's shares from those found by hand, in percent (of the latter)."""
    manual, model = np.array(FIG_147).T
    apart = np.abs(model - manual)
    return float(reduce(apart / manual * 100 if relative else apart))


HARDWARE = "hardware: Fig. 128 is only drawn"
SWAPPED = "the two frequencies of Table 14 are interchanged: 1.54 GHz in Table 10"

CLAIMS = [
    *(
        Claim(
            claim=f"{what} of {title}",
            source="Table 14",
            printed=printed,
            within=1e-12 * abs(printed),
            computed=lambda machine=machine, name=name: table_14(machine, name),
            differs=differs,
        )
        for machine, title, what, name, printed, differs in (
            ("gtx580", "GTX580", "clock [Hz]", "core_clock", 2.4e9, SWAPPED),
            ("gtx580", "GTX580", "DRAM latency", "mem_latency_dram", 450, ""),
            ("gtx580", "GTX580", "cores", "n_sms", 1, "16 in Table 10 and all of chapter 5"),
            ("gtx580", "GTX580", "FP units a core", "fp_units", 32, ""),
            ("gtx580", "GTX580", "bandwidth [B/s]", "mem_bandwidth", 150e9, ""),
            ("e5645_x2", "two E5645", "clock [Hz]", "core_clock", 1.544e9, SWAPPED),
            ("e5645_x2", "two E5645", "DRAM latency", "mem_latency_dram", 250, ""),
            ("e5645_x2", "two E5645", "cores", "n_sms", 12, ""),
            ("e5645_x2", "two E5645", "FP units a core", "fp_units", 2, ""),
            ("e5645_x2", "two E5645", "bandwidth [B/s]", "mem_bandwidth", 50e9, ""),
        )
    ),
    *(
        Claim(
            claim=f"peak of {title}, {what} [Gflop/s]",
            source="Eqs. 65-66 and Table 14, corrected",
            printed=math.nan,
            worked=worked,
            within=within,
            computed=lambda machine=machine, kind=kind: peak(machine, kind),
        )
        for machine, title, what, kind, worked, within in (
            ("gtx580", "GTX580", "scalar", "fp_insts", 790.5, 0.05),
            ("gtx580", "GTX580", "vectorisable", "fp_vec_insts", 790.5, 0.05),
            ("gtx580", "GTX580", "fused", "fp_fused_insts", 1581.06, 0.005),
            ("e5645_x2", "two E5645", "scalar", "fp_insts", 57.6, 1e-9),
            ("e5645_x2", "two E5645", "SIMD", "fp_vec_insts", 230.4, 1e-9),
        )
    ),
    Claim(
        claim="top of the range of Gflop/s on GTX580",
        source="section 5.6",
        printed=1600,
        within=50,
        computed=lambda: peak("gtx580", "fp_fused_insts"),
    ),
    Claim(
        claim="peak with fused multiply-adds over that without, GPU",
        source="section 5.4",
        printed=2,
        computed=lambda: peak("gtx580", "fp_fused_insts") / peak("gtx580", "fp_insts"),
    ),
    Claim(
        claim="the same, CPU, where they are two instructions",
        source="section 5.4, footnote",
        printed=1,
        computed=lambda: peak("e5645_x2", "fp_fused_insts") / peak("e5645_x2", "fp_insts"),
    ),
    Claim(
        claim="vectorised over scalar peak of the CPU",
        source="section 5.8",
        printed=4,
        within=1e-12,
        computed=lambda: peak("e5645_x2", "fp_vec_insts") / peak("e5645_x2", "fp_insts"),
    ),
    *(
        Claim(
            claim=f"slowdown on the CPU where an instruction needs the one {distance} before",
            source="section 5.8",
            printed=printed,
            computed=lambda distance=distance: slowdown(distance),
        )
        for distance, printed in ((1, 4), (2, 2), (5, 1))
    ),
    Claim(
        claim="MWP of the CPU",
        source="section 5.8, Fig. 142",
        printed=1,
        computed=lambda: evaluate("mwp", machine="e5645_x2", workload="madd"),
    ),
    Claim(
        claim="MWP_App of two warps with two requests each",
        source="Fig. 101",
        printed=4,
        computed=lambda: evaluate("mwp_app", warps_per_sm=2, mem_strength=2, **ONE_FP),
    ),
    Claim(
        claim="their MWP, where the bandwidth allows 3",
        source="Fig. 101",
        printed=2,
        computed=lambda: evaluate("mwp", warps_per_sm=2, mem_strength=2, mwp_bw=3, **ONE_FP),
    ),
    Claim(
        claim="idle cycles of 6 warps, MWP 3, periods of 10 and 100",
        source="Eqs. 78-82",
        printed=math.nan,
        worked=160,
        computed=lambda: evaluate(
            "idle_mem_cycles", warps_per_sm=6, mwp=3, effective_comp=10, mem_latency=100
        ),
    ),
    Claim(
        claim="factor by which the clock may go down for two warps of the four needed",
        source="Fig. 130 and Eq. 93",
        printed=3,
        computed=lambda: evaluate("clock_reduction", warps_per_sm=2, mwp_app_infinite=4),
    ),
    *(
        Claim(
            claim=f"SMs suggested for {name.capitalize()}, N = {warps} (K = 592)",
            source="Fig. 127, section 5.5.1",
            printed=13 if few and warps == 24 else 10 if few and warps == 32 else 16,
            computed=lambda name=name, warps=warps: benchmark(name, "suggested_sms", warps),
        )
        for warps in (8, 16, 24, 32)
        for name in BENCHMARKS
        for few in (name in ("dmadd", "dotp"),)
        if warps != 32 or name not in ("madd", "mmul")  # not said of these two
    ),
    *(
        Claim(
            claim=f"warps suggested for {name.capitalize()} on all 16 SMs, N = 32 (K = 592)",
            source="Fig. 129",
            printed=18,
            computed=lambda name=name: benchmark(name, "suggested_warps", 32),
        )
        for name in ("dmadd", "dotp")
    ),
    *(
        Claim(
            claim=f"SMs by the previous model, N = {warps} (K = 592)",
            source="Fig. 127, section 5.5.1",
            printed=16,
            computed=lambda warps=warps: previous_sms(warps),
        )
        for warps in (8, 16, 24, 32)
    ),
    Claim(
        claim="bandwidth of Madd at N = 32 by the model (K = 592)",
        source="section 5.4.4",
        printed="no saturation",
        computed=lambda: (
            "no saturation"
            if benchmark("madd", "mwp_app", 32) <= benchmark("madd", "mwp_bw", 32)
            else "saturation"
        ),
    ),
    Claim(
        claim="K = Mem_Bandwidth / BW_per_warp of GTX580; the published counts need 576 to 608",
        source="Eqs. 75-76 and Table 14",
        printed=math.nan,
        worked=341.5,
        within=0.05,
        computed=own_k,
    ),
    Claim(
        claim="SMs for the naive matrix product of 32 x 32 by the previous model, DRAM",
        source="Table 13",
        printed=table_13("naive", 32, 4),
        computed=lambda: previous_sms(32, own_k()),
    ),
    Claim(
        claim="SMs spared by the tiled matrix product of 32 x 32, mostly DRAM",
        source="section 5.6.1 and Table 13",
        printed=1,
        computed=lambda: 16 - table_13("tiled", 32, 5),
    ),
    Claim(
        claim="the same, all DRAM",
        source="section 5.6.1 and Table 13",
        printed=4,
        computed=lambda: 16 - table_13("tiled", 32, 6),
    ),
    *(
        Claim(
            claim=f"{what} of the best energy efficiency, {model} model [%]",
            source="Fig. 128",
            printed=printed,
            computed=lambda: math.nan,
            differs=HARDWARE,
        )
        for what, model, printed in (
            ("share on average", "new", 94.76),
            ("share on average", "previous", 90.09),
            ("least share", "new", 89.91),
            ("least share", "previous", 79.5),
        )
    ),
    Claim(
        claim="mean distance of the GPU's share from that found by hand, relative [%]",
        source="Fig. 147 and section 5.9",
        printed=17,
        within=0.5,
        computed=lambda: fig_147(np.mean, relative=True),
    ),
    *(
        Claim(
            claim=f"{what}",
            source="Fig. 147",
            printed=math.nan,
            worked=worked,
            within=5e-3,
            computed=computed,
        )
        for what, worked, computed in (
            ("the same, to two digits [%]", 17.04, lambda: fig_147(np.mean, relative=True)),
            ("mean distance in percentage points", 9.10, lambda: fig_147(np.mean)),
            ("largest distance in percentage points", 40.06, lambda: fig_147(np.max)),
        )
    ),
    *(
        Claim(
            claim=f"distance of predicted from measured performance, {what} [%]",
            source="section 5.9, Fig. 146",
            printed=printed,
            computed=lambda: math.nan,
            differs="hardware: Fig. 146 is only drawn, its benchmarks are not listed",
        )
        for what, printed in (("GPU", 17), ("CPU", 28))
    ),
]
