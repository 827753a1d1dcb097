"""Print the section of the validation page on matrix products: ``python docs/validation_gemm.py``.

Baselines are fitted to the half of the pairs (n, k) that the fit of :mod:`gemm_fits` uses, and all
predict the other half.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from gemm_fits import GPUS, OUT, TYPES, fit_shared, read, read_shared
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator
from scipy.optimize import least_squares

import dse

OUTPUTS = ["time", "gemm_operations", "gemm_peak", "weight_bytes", "activation_bytes"]
OUTPUTS += ["result_bytes", "mem_bandwidth"]
HEADER = """## Matrix products

Losses first. 16-bit products on an L40S and 8-bit integers on an A100 have tails of 30 %. The error
of gradient boosting on the same rows, with 400 trees, is a half to two thirds of the model's error.
Without a fit (*defaults*), errors are 4 to 23 % in the median; of a GPU whose rows no number has
seen (*others*), 6 to 26 %. Block-scaled products lose most, because kernels of these GPUs attain 37
to 95 % of the printed rate, which nothing in a machine file tells.

The numbers of three other GPUs miss 16-bit products of a B200 by one number, the start-up time: 2.1
us, where clocks and the others say 2.8 us. 31 % of its rows take less than 6 us.

Median and 90 % quantile of the relative error, in percent, on the half of the pairs (n, k) that no
fit has seen. *Roofline* is printed; *three numbers* adds a start-up time and attained shares;
*interpolated* is log-linear between the measured rows of the other half. *Defaults* are fitted to
all four GPUs together, *others* to the three other GPUs. *In 90 %* is the share of all rows in the
interval.

| GPU | type | rows | gemm | defaults | others | roofline | three numbers | interpolated | in 90 % |
|---|---|---|---|---|---|---|---|---|---|
"""


POOLED = """
All rows of bf16 and fp8 of a GPU, predicted with the numbers of the three others:

| GPU | rows | others |
|---|---|---|"""


def text(predicted: Any, measured: Any) -> str:
    """Return median and 90 % quantile of relative errors [%]."""
    off = 100 * np.abs(predicted / measured - 1)
    return f"{np.median(off):.1f} / {np.quantile(off, 0.9):.0f}"


def interpolate(known: pd.DataFrame, asked: pd.DataFrame) -> Any:
    """Return log-linear interpolation, and the nearest row outside of the measured shapes."""
    places = np.log(known[["m", "n", "k"]].to_numpy(float))
    wanted, times = np.log(asked[["m", "n", "k"]].to_numpy(float)), np.log(known.time.to_numpy())
    inside = LinearNDInterpolator(places, times)(wanted)
    nearest = NearestNDInterpolator(places, times)(wanted)
    return np.exp(np.where(np.isfinite(inside), inside, nearest))


def lines(folder: Path) -> list[str]:
    """Return the rows of the table."""
    result, pooled = [], []
    some = read_shared(folder, 500)
    for gpu, (machine, _) in GPUS.items():
        rows = read(folder, gpu)
        others: dict[str, Any] = fit_shared(
            [part for name, each in some.items() if name != machine for part in each]
        )
        tree = json.loads((OUT / f"gemm-{machine}.fit.json").read_text())
        known: list[Any] = []
        for dtype in [each for each in TYPES.values() if (rows["dtype"] == each).any()]:
            part = rows[rows["dtype"] == dtype]
            shape: dict[str, Any] = {name: part[name].to_numpy() for name in "mnk"}
            shape |= {"machine": machine, "dtype": dtype}
            time, half = part.time.to_numpy(), part.half.to_numpy() == 1
            plain = dse.evaluate("gemm", outputs=OUTPUTS, fit="none", **shape)
            alone = dse.evaluate("gemm", outputs=["time"], fit="none", **shape, **others)
            if dtype in ("bf16", "fp8"):
                known.append((alone.time.values, time))
            ends = dse.evaluate("gemm", outputs=["time_low", "time_high"], **shape)
            inside = np.mean((ends.time_low.values <= time) & (time <= ends.time_high.values))
            compute = plain.gemm_operations.values / float(plain.gemm_peak)
            names = ("weight_bytes", "activation_bytes", "result_bytes")
            moved = sum(plain[name].values for name in names)
            memory = moved / float(plain.mem_bandwidth)

            def three(x: Any, compute: Any = compute, memory: Any = memory) -> Any:
                return np.exp(x[0]) + np.maximum(compute * np.exp(x[1]), memory * np.exp(x[2]))

            def off(x: Any, three: Any = three, time: Any = time, half: Any = half) -> Any:
                return (np.log(three(x)) - np.log(time))[~half]

            found = least_squares(off, [np.log(5e-6), 0.3, 0.3], loss="soft_l1", f_scale=0.1).x
            left = tree["left_out"]["groups"][dtype]
            cells = [
                machine,
                dtype,
                f"{half.sum():,}",
                f"**{100 * left['median']:.1f} / {100 * left['p90']:.0f}**",
                text(plain.time.values[half], time[half]),
                text(alone.time.values[half], time[half])
                if dtype == "bf16" or f"gemm_{dtype}_share" in others
                else "-",
                text(np.maximum(compute, memory)[half], time[half]),
                text(three(found)[half], time[half]),
                text(interpolate(part[~half], part[half]), time[half]),
                f"{100 * inside:.0f} %",
            ]
            result.append(f"| {' | '.join(cells)} |")
            print(result[-1], file=sys.stderr, flush=True)
        predicted, measured = map(np.concatenate, zip(*known, strict=True))
        pooled.append(f"| {machine} | {len(measured):,} | {text(predicted, measured)} |")
    return [*result, POOLED, *pooled]


def section(folder: Path) -> str:
    """Return the section of the page."""
    return HEADER + "\n".join(lines(folder)) + "\n"


if __name__ == "__main__":
    print(section(Path(sys.argv[1])))
