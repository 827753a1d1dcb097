"""Write the shipped fits of matrix products: ``python docs/gemm_fits.py ../shared/data``.

The files go to ``dse/data/fits``. Rows are times of TensorRT-LLM (``llm_kernels``; see its README).
Each number type is fitted in turn: the numbers of the GPU to 16-bit products, then two numbers to
each further type. Rows far from the fit count less (weights as of a Huber loss). The ends of
intervals are quantiles of measured over predicted times of the pairs (n, k) that a fit to the other
half of the pairs left out.
"""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dse
from dse.inputs.fit_file import join_fits

OUT = Path(__file__).parents[1] / "dse" / "data" / "fits"
#: GPU of the data, machine, and the version of the framework.
GPUS = {
    "a100_sxm": ("a100_80", "1.0.0"),
    "h100_sxm": ("h100_sxm", "1.3.0rc20"),
    "b200_sxm": ("b200", "1.3.0rc20"),
    "l40s": ("l40s", "1.3.0rc20"),
}
TYPES = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "fp4", "sq": "int8"}
GPU_NUMBERS = (
    "gemm_start_time",
    "gemm_dram_share",
    "gemm_operand_bytes_per_cycle",
    "gemm_wave_overlap",
    "gemm_cache_share",
    "gemm_output_ratio",
    "gemm_bf16_share",
)
#: Rows of a fit, and the error [ratio] beyond which a row counts less.
ROWS, FAR = 1200, 0.05


def read(folder: Path, gpu: str) -> pd.DataFrame:
    """Return the rows of a GPU with the time in seconds, and a hash of each pair (n, k)."""
    rows = pd.read_parquet(folder / "llm_kernels" / f"gemm_{gpu}.parquet")
    rows = rows[rows.gemm_dtype.isin(TYPES)]
    pairs = rows.n.astype(str) + "," + rows.k.astype(str)
    halves = {pair: zlib.crc32(f"{pair},half".encode()) % 2 for pair in pairs.unique()}
    return rows.assign(
        time=rows.latency * 1e-3, half=pairs.map(halves), dtype=rows.gemm_dtype.map(TYPES)
    )


def columns(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of the model."""
    return {name: rows[name].to_numpy() for name in ("m", "n", "k", "time")}


def fit_type(rows: pd.DataFrame, machine: str, dtype: str, known: dict[str, float]) -> Any:
    """Return the fit of a number type; ``known`` are the numbers of the GPU."""
    sample = rows.sample(min(ROWS, len(rows)), random_state=0)
    free = GPU_NUMBERS if dtype == "bf16" else (f"gemm_{dtype}_share", f"gemm_{dtype}_cast_time")
    weights = np.ones(len(sample))
    for _ in range(2):
        fit = dse.fit(
            "gemm",
            columns(sample),
            free=free,
            to="time",
            machine=machine,
            set={"dtype": dtype, **known},
            residuals="relative",
            weights=weights,
            left_out="hat",
        )
        weights = 1 / np.sqrt(1 + np.square(fit.residuals["time"] / FAR))
    return fit


def fit_types(rows: pd.DataFrame, machine: str) -> dict[str, Any]:
    """Return the fits of all number types of a GPU."""
    fits: dict[str, Any] = {}
    for dtype in [dtype for dtype in TYPES.values() if (rows["dtype"] == dtype).any()]:
        known = dict(fits["bf16"].set) if fits else {}
        fits[dtype] = fit_type(rows[rows["dtype"] == dtype], machine, dtype, known)
        print(machine, dtype, fits[dtype].set, flush=True)
    return fits


def predict(rows: pd.DataFrame, machine: str, dtype: str, values: dict[str, Any]) -> Any:
    """Return predicted times."""
    inputs = {name: rows[name].to_numpy() for name in ("m", "n", "k")}
    options: dict[str, Any] = {
        "machine": machine,
        "dtype": dtype,
        "outputs": ["time"],
        "fit": "none",
    }
    return dse.evaluate("gemm", **options, **inputs, **values)["time"].to_numpy()


def write(folder: Path, gpu: str) -> None:
    """Write the fit of a GPU, and print its errors on the pairs that were left out."""
    machine, framework = GPUS[gpu]
    rows = read(folder, gpu)
    ends: dict[str, float] = {}
    errors: dict[str, Any] = {}
    half = fit_types(rows[rows.half == 0], machine)
    for dtype, fit in half.items():
        rest = rows[(rows.half == 1) & (rows["dtype"] == dtype)]
        values = {**half["bf16"].set, **fit.set}
        ratio = rest.time.to_numpy() / predict(rest, machine, dtype, values)
        low, high = np.quantile(ratio, [0.05, 0.95])
        ends |= {f"gemm_{dtype}_error_low": float(low), f"gemm_{dtype}_error_high": float(high)}
        off = np.abs(1 / ratio - 1)
        errors[dtype] = {
            "rows": len(rest),
            "mean": float(off.mean()),
            "median": float(np.median(off)),
            "p90": float(np.quantile(off, 0.9)),
            "largest": float(off.max()),
        }
        print(gpu, dtype, errors[dtype], low, high, flush=True)
    fits = fit_types(rows, machine)
    tree = join_fits([fit.saved_fit for fit in fits.values()]).to_dict()
    tree["set"] = ends
    data = (folder / "llm_kernels" / f"gemm_{gpu}.parquet").name
    text = f"ai-dynamo/aiconfigurator, commit 095f58a: TensorRT-LLM {framework}, {data}"
    tree["rows"] = {"data": text, "used": tree["rows"]["used"], "places": [], "where": []}
    tree["left_out"] = {"how": "refit", "by": "half of the pairs (n, k)", "groups": errors}
    OUT.mkdir(exist_ok=True)
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in tree.items()]
    path = OUT / f"gemm-{machine}.fit.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[2:] or GPUS:
        write(Path(sys.argv[1]), name)
