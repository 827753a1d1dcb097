"""Write the shipped fits of matrix products: ``python docs/gemm_fits.py ../shared/data``.

The files go to ``dse/data/fits``. Rows are times of TensorRT-LLM (``llm_kernels``; see its README).
Each number type is fitted in turn: the numbers of the GPU to 16-bit products, then two numbers to
each further type. Rows far from the fit count less (weights as of a Huber loss, first by distance
from the numbers of a machine without a fit). The ends of
intervals are means of two quantiles of measured over predicted times: of the pairs (n, k) that a
fit to the other half of the pairs left out, and of all pairs by the shipped fit.

``python docs/gemm_fits.py ../shared/data power`` prints the numbers of power, which are defaults of
all machines, and the errors of the half of the pairs that they were not fitted to. With ``shared``
instead of ``power``, it prints the numbers that all machines without a fit share, and the errors of
each GPU with the numbers of the others.
"""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

import dse
from dse.inputs.fit_file import join_fits
from symbolic.models import gemm
from tests.papers import language_model_fits

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
    "gemm_result_ratio",
    "gemm_operation_energy",
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
    off = predict(sample, machine, dtype, known) / sample.time.to_numpy() - 1
    for _ in range(3):
        weights = 1 / np.sqrt(1 + np.square(off / FAR))
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
        off = fit.residuals["time"]
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
    path = OUT / f"gemm-{machine}.fit.json"
    path.unlink(missing_ok=True)  # dse.fit would keep its numbers
    rows = read(folder, gpu)
    ends: dict[str, float] = {}
    errors: dict[str, Any] = {}
    quantiles: dict[str, list[Any]] = {}
    half = fit_types(rows[rows.half == 0], machine)
    for dtype, fit in half.items():
        rest = rows[(rows.half == 1) & (rows["dtype"] == dtype)]
        values = {**half["bf16"].set, **fit.set}
        ratio = rest.time.to_numpy() / predict(rest, machine, dtype, values)
        quantiles[dtype] = [np.quantile(ratio, [0.05, 0.95])]
        off = np.abs(1 / ratio - 1)
        errors[dtype] = {
            "rows": len(rest),
            "mean": float(off.mean()),
            "median": float(np.median(off)),
            "p90": float(np.quantile(off, 0.9)),
            "largest": float(off.max()),
        }
        print(gpu, dtype, errors[dtype], *quantiles[dtype], flush=True)
    fits = fit_types(rows, machine)
    for dtype, fit in fits.items():
        part = rows[rows["dtype"] == dtype]
        ratio = part.time.to_numpy() / predict(
            part, machine, dtype, {**fits["bf16"].set, **fit.set}
        )
        quantiles[dtype].append(np.quantile(ratio, [0.05, 0.95]))
        low, high = map(float, np.mean(quantiles[dtype], axis=0))
        ends |= {f"gemm_{dtype}_error_low": low, f"gemm_{dtype}_error_high": high}
    tree = join_fits([fit.saved_fit for fit in fits.values()]).to_dict()
    tree["set"] = ends
    data = (folder / "llm_kernels" / f"gemm_{gpu}.parquet").name
    text = f"ai-dynamo/aiconfigurator, commit 095f58a: TensorRT-LLM {framework}, {data}"
    tree["rows"] = {"data": text, "used": tree["rows"]["used"], "places": [], "where": []}
    tree["left_out"] = {"how": "refit", "by": "half of the pairs (n, k)", "groups": errors}
    OUT.mkdir(exist_ok=True)
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in tree.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


#: Numbers of power, with first guesses, and the quantities on which the power depends otherwise.
POWER = {
    "gemm_idle_power_share": 0.3,
    "gemm_launch_power_share": 0.1,
    "gemm_compute_power_share": 1.0,
    "gemm_memory_power_share": 1.0,
    "gemm_pause": 0.1,
}
POWER_INPUTS = ["time", "gemm_operations", "gemm_peak", "gemm_moved_bytes", "mem_bandwidth"]
POWER_INPUTS += ["weights_in_turn", "meter_window", "gemm_history_share", "board_power"]


def read_power(folder: Path) -> pd.DataFrame:
    """Return the rows with a measured power, and the quantities of the model before power."""
    parts = []
    for dtype, rows in read(folder, "power_b200_sxm").groupby("dtype"):
        shape: dict[str, Any] = {name: rows[name].to_numpy() for name in "mnk"}
        ds = dse.evaluate("gemm", machine="b200", dtype=dtype, outputs=POWER_INPUTS, **shape)
        parts.append(rows.assign(**{name: ds[name].values for name in POWER_INPUTS}))
    return pd.concat(parts)


def predict_power(rows: pd.DataFrame, numbers: dict[str, float]) -> Any:
    """Return the power that a meter shows for each row, from the model's equations."""
    known: dict[str, Any] = {name: rows[name].to_numpy() for name in POWER_INPUTS}
    known |= {"product_rows": rows.m.to_numpy(), "power_limit": known["board_power"], **numbers}
    for one in (
        gemm.gemm_idle_power,
        gemm.gemm_power_ratio,
        gemm.power_demand,
        gemm.gemm_energy,
        gemm.sustained_time,
        gemm.sustained_power,
        gemm.gemm_metered_time,
        gemm.gemm_metered_share,
        gemm.gemm_power,
    ):
        known[one.name] = one(*(known[name] for name in one.inputs))
    return known["power"]


def fit_power(rows: pd.DataFrame) -> dict[str, float]:
    """Return the numbers of power that are fitted to rows."""

    def off(logs: Any) -> Any:
        return np.log(predict_power(rows, dict(zip(POWER, np.exp(logs), strict=True))) / rows.power)

    first = np.log(list(POWER.values()))
    fit = least_squares(off, first, loss="soft_l1", f_scale=FAR)
    return dict(zip(POWER, np.exp(fit.x).tolist(), strict=True))


def print_power(folder: Path) -> None:
    """Print the numbers of power, and the errors of the pairs (n, k) that were left out."""
    rows = read_power(folder)
    rest = rows[rows.half == 1]
    for name, part in (("left out", fit_power(rows[rows.half == 0])), ("all", fit_power(rows))):
        off = np.abs(predict_power(rest, part) / rest.power - 1)
        numbers = {each: float(f"{value:.3g}") for each, value in part.items()}
        print(f"{name}: {off.median():.3f} / {off.quantile(0.9):.3f}", numbers)


#: Numbers that machines without a fit share, with first guesses and the largest value.
SHARED = {
    "gemm_start_cycles": (5e3, 5e4),
    "gemm_dram_share": (0.8, 1.0),
    "gemm_operand_ratio": (1.0, 10.0),
    "gemm_cache_ratio": (1.0, 10.0),
    "gemm_result_ratio": (0.3, 10.0),
    "gemm_unit_energy": (5e-11, 1e-9),
    **{f"gemm_{dtype}_share": (0.7, 1.0) for dtype in TYPES.values() if dtype != "bf16"},
    **{f"gemm_{dtype}_cast_time": (5e-6, 1e-4) for dtype in TYPES.values() if dtype != "bf16"},
}
MACHINE = ["n_sms", "rated_sms", "core_clock", "boost_clock", "mem_bandwidth", "l2_bandwidth"]
MACHINE += ["l2_size", "l2_partitions", "multicast_sms", "tensor_bf16_flops", "tensor_fp8_flops"]
MACHINE += ["tensor_fp16_flops", "tensor_fp4_flops", "tensor_int8_ops", "seconds_per_joule"]


def read_shared(folder: Path, count: int) -> dict[str, list[tuple[pd.DataFrame, dict[str, float]]]]:
    """Return rows of each type of each GPU, and the values of its machine."""
    result = {}
    for gpu, (machine, _) in GPUS.items():
        ds = dse.evaluate("gemm", machine=machine, fit="none", outputs=MACHINE, m=1, n=1, k=1)
        values = {name: ds[name].item() for name in MACHINE}
        parts = []
        for _, rows in read(folder, gpu).groupby("dtype"):
            some = rows.sample(min(count, len(rows)), random_state=1)
            shape = {"product_rows": some.m, "product_columns": some.n, "product_depth": some.k}
            table = pd.DataFrame({**shape, "dtype": some["dtype"], "measured": some.time})
            parts.append((table, values))
        result[machine] = parts
    return result


def predict_rows(rows: pd.DataFrame, values: dict[str, float]) -> Any:
    """Return predicted times, given the values of a machine and its numbers."""
    predict: Any = language_model_fits.predict
    return predict("gemm", rows, values)


def fit_shared(parts: list[tuple[pd.DataFrame, dict[str, float]]]) -> dict[str, float]:
    """Return the shared numbers that are fitted to rows of several GPUs.

    Kernels of plain 16-bit and 8-bit types are those of the model, so they determine the numbers of
    the GPUs. Of the other types, two numbers each are fitted.
    """
    known: dict[str, float] = {}
    for types in ({"bf16", "fp8"}, {*TYPES.values()} - {"bf16", "fp8"}):
        some = [(rows, values) for rows, values in parts if rows["dtype"].iloc[0] in types]
        absent = {*TYPES.values()} - {rows["dtype"].iloc[0] for rows, _ in some}
        other = {f"gemm_{t}_{number}" for t in absent for number in ("share", "cast_time")}
        names = [name for name in SHARED if name not in known and name not in other]
        if names:
            known |= _fit_numbers(names, some, known)
    return known


def _fit_numbers(
    names: list[str],
    parts: list[tuple[pd.DataFrame, dict[str, float]]],
    known: dict[str, float],
) -> dict[str, float]:
    def off(logs: Any) -> Any:
        numbers = known | dict(zip(names, np.exp(logs), strict=True))
        return np.concatenate(
            [predict_rows(rows, v | numbers) / rows.measured - 1 for rows, v in parts]
        )

    first, most = (np.log([SHARED[name][k] for name in names]) for k in (0, 1))
    fit = least_squares(
        off, first, bounds=(first - 4, most), loss="soft_l1", f_scale=2 * FAR, diff_step=1e-3
    )
    return dict(zip(names, np.exp(fit.x).tolist(), strict=True))


def print_shared(folder: Path) -> None:
    """Print the shared numbers, and the errors of each GPU with and without its own rows."""
    few, many = read_shared(folder, 500), read_shared(folder, 2500)
    together = fit_shared([part for parts in few.values() for part in parts])
    print({name: float(f"{value:.3g}") for name, value in together.items()})
    for machine, parts in many.items():
        others = fit_shared([p for name, each in few.items() if name != machine for p in each])
        for rows, values in parts:
            texts = [machine, rows["dtype"].iloc[0]]
            for numbers in (together, together | others):
                off = np.abs(predict_rows(rows, values | numbers) / rows.measured - 1)
                texts.append(f"{100 * off.median():.1f} / {100 * off.quantile(0.9):.1f}")
            print(*texts, flush=True)


if __name__ == "__main__":
    if sys.argv[2:] == ["shared"]:
        print_shared(Path(sys.argv[1]))
        sys.exit()
    if sys.argv[2:] == ["power"]:
        print_power(Path(sys.argv[1]))
        sys.exit()
    for name in sys.argv[2:] or GPUS:
        write(Path(sys.argv[1]), name)
