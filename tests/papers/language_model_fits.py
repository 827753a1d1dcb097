"""Rows of attention and experts, predictions for them, and the fits of ``dse/data/fits``.

``python -m tests.papers.language_model_fits FOLDER`` fits both GPUs and writes the files. Errors
are of shapes that a fit left out: five fits leave out a fifth of the head shapes or layers each.
Residuals are differences of logarithms; a soft limit (soft L1 at 5 %) keeps calls for which the
library chose a bad kernel from deciding. A number that the rows do not determine stays near the
default: it counts as one more row with an error of a factor of e at weight 0.1.
"""

from __future__ import annotations

import sys
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import OptimizeResult, least_squares

import dse
from dse.inputs.fit_file import SavedFit
from symbolic.library import load_model
from symbolic.ops import interpret_arrays, references
from symbolic.resolve import resolve

DATA = Path(__file__).parents[3] / "shared/data/llm_kernels"
ORIGIN = "ai-dynamo/aiconfigurator, commit 095f58a: TensorRT-LLM 1.3.0rc20 on"
FILES = {"h100_sxm": "h100_sxm", "b200": "b200_sxm"}
TYPES = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "fp4"}
SWITCHES = ("dtype", "kv_dtype", "gated", "mapping")
#: The two kernels of the library on these GPUs: see decode_attention.
LIBRARY = {
    ("decode_attention", "h100_sxm"): {"decode_waves": 8.0, "decode_group_fill": 0.25},
    ("decode_attention", "b200"): {"decode_waves": 1.0, "decode_group_fill": 0.0},
}
MODELS = ("prefill_attention", "decode_attention", "moe")


def read_rows(model: str, machine: str) -> pd.DataFrame:
    """Return the measured rows of a model with its quantities as columns, and ``shape``."""
    kind = model.split("_")[0]
    if kind == "moe":
        name = "moe_balanced_b200_sxm" if machine == "b200" else "moe_h100_sxm"
        table = pd.read_parquet(DATA / f"{name}.parquet")
        table = table[table.distribution.eq("balanced") & table.moe_dtype.isin(TYPES)]
        # kernels of low latency are a choice of the user, not of the library
        table = table[~table.kernel_source.str.contains("min_latency")]
        columns = {
            "tokens": table.num_tokens,
            "hidden": table.hidden_size,
            "intermediate": table.inter_size,
            "experts": table.num_experts,
            "topk": table.topk,
            "tensor_parallel": table.moe_tp_size,
            "expert_parallel": table.moe_ep_size,
            "dtype": table.moe_dtype.map(TYPES),
            "gated": table.kernel_source.str.contains("nongated").map(
                {True: "false", False: "true"}
            ),
        }
        shape = ["hidden", "intermediate", "topk", "experts"]
    else:
        table = pd.read_parquet(DATA / f"{kind}_{FILES[machine]}.parquet")
        columns = {
            "batch": table.batch_size,
            "heads": table.num_heads,
            "kv_heads": table.num_key_value_heads,
            "head_dim": table.head_dim,
            "window": table.window_size,
            "kv_dtype": table.kv_cache_dtype.map(TYPES),
        }
        if kind == "prefill":
            columns |= {"seq_len": table.isl, "dtype": table.attn_dtype.map(TYPES)}
        else:
            columns["context"] = table.step + 1
        shape = ["heads", "kv_heads", "head_dim"]
    rows = pd.DataFrame(columns).reset_index(drop=True)
    number = rows.groupby(shape).ngroup()
    names = [",".join(f"{size:g}" for size in sizes) for sizes in rows.groupby(shape).groups]
    rows["shape"] = number.map(dict(enumerate(names)))
    rows["fold"] = number.map({k: zlib.crc32(n.encode()) % 5 for k, n in enumerate(names)})
    rows["measured"] = table.latency.to_numpy() * 1e-3
    return rows


def machine_values(machine):
    """Return the values of a machine on which the models depend."""
    rates = [f"tensor_{label}_flops" for label in ("bf16", "fp16", "fp8", "fp4")]
    names = ["n_sms", "core_clock", "boost_clock", "mem_bandwidth", "l2_size", *rates]
    result = dse.evaluate("gemm", machine=machine, outputs=names)
    return {name: result[name].item() for name in names}


@cache
def _formula(model, labels, known, output):
    """Return an output as a tree over inputs, and the defaults of those that are not known."""
    loaded = load_model(model)
    graph = resolve(loaded, values=dict.fromkeys(known), switches=dict(labels), outputs=[output])
    node = graph.flat(output)
    return node, {name: loaded.quantity(name).default for name in references(node)}


def predict(model, rows, values, output="time"):
    """Return an output for each row, at the values of a machine and numbers of its fit."""
    quantities = load_model(model).quantities
    switches = [name for name in SWITCHES if name in rows]
    columns = {n: rows[n].to_numpy(float) for n in rows if n in quantities and n not in switches}
    known = {name: value for name, value in values.items() if name in quantities}
    result = np.empty(len(rows))
    for labels, table in rows.reset_index(drop=True).groupby(switches):
        chosen = tuple(zip(switches, labels, strict=True))
        node, defaults = _formula(model, chosen, frozenset(known | columns), output)
        here = {name: column[table.index] for name, column in columns.items()}
        result[table.index] = interpret_arrays([node], defaults | known | here)[0]
    return result


def fit_numbers(model, rows, count, seed=0) -> tuple[dict[str, float], OptimizeResult]:
    """Return the numbers of one or more machines together, from ``count`` rows of each.

    ``rows`` holds the rows and other values of each machine.
    """
    random = np.random.default_rng(seed)
    chosen = [(table.iloc[random.permutation(len(table))[:count]], v) for table, v in rows]
    names = [
        name
        for name in load_model(model).fitted
        if "fp4" not in name or any(table["dtype"].eq("fp4").any() for table, _ in chosen)
    ]
    quantities = load_model(model).quantities
    start = np.log([quantities[name].default for name in names])

    def residuals(logs):
        numbers = dict(zip(names, np.exp(logs), strict=True))
        parts = [np.log(predict(model, t, v | numbers) / t.measured) for t, v in chosen]
        return np.concatenate([*parts, 0.1 * (logs - start)])

    most = np.where([name.endswith("_share") for name in names], 0.0, start + 3)
    result = least_squares(
        residuals,
        np.minimum(start, most - 1e-6),
        bounds=(start - 4.6, most),
        loss="soft_l1",
        f_scale=0.05,
        diff_step=1e-3,
        max_nfev=40,
    )
    return dict(zip(names, np.exp(result.x).tolist(), strict=True)), result


def left_out_predictions(model, rows, values, count=1500) -> np.ndarray:
    """Return predictions of each row by a fit that left out its shape."""
    result = np.empty(len(rows))
    for fold in sorted(rows.fold.unique()):
        out = rows.fold == fold
        numbers, _ = fit_numbers(model, [(rows[~out], values)], count)
        result[out] = predict(model, rows[out], values | numbers)
    return result


def errors(predicted, measured) -> dict[str, float]:
    """Return the median and the 90 % quantile of relative errors."""
    off = np.abs(predicted / measured - 1)
    return {"median": float(np.median(off)), "p90": float(np.quantile(off, 0.9))}


def write_fit(folder: Path, model: str, machine: str, count=4000) -> None:
    """Fit the numbers of a machine, and write the file with the errors of shapes left out."""
    rows, library = read_rows(model, machine), LIBRARY.get((model, machine), {})
    values = machine_values(machine) | library
    out = left_out_predictions(model, rows, values)
    low, high = np.quantile(rows.measured / out, [0.05, 0.95])
    numbers, result = fit_numbers(model, [(rows, values)], count)
    names = list(numbers)
    at_end = [name for name, end in zip(names, result.active_mask, strict=True) if end]
    free = [k for k, end in enumerate(result.active_mask) if not end]
    slopes = result.jac[:, free]
    covariance = np.full((len(names), len(names)), np.nan)
    scale = np.array([numbers[names[k]] for k in free])
    variance = 2 * result.cost / (len(slopes) - len(free))
    covariance[np.ix_(free, free)] = (
        variance * np.linalg.inv(slopes.T @ slopes) * np.outer(scale, scale)
    )
    predicted = predict(model, rows, values | numbers)
    prefix = model.split("_")[0]
    quantities = load_model(model).quantities
    fit = SavedFit(
        model=model,
        to=("time",),
        machine=machine,
        set_values={f"{prefix}_error_low": float(low), f"{prefix}_error_high": float(high)}
        | library,
        values=numbers,
        units={name: quantities[name].unit for name in names},
        standard_errors=dict(zip(names, np.sqrt(np.diag(covariance)).tolist(), strict=True)),
        covariance=covariance,
        at_end=tuple(at_end),
        rows={"data": f"{ORIGIN} {machine}", "used": min(count, len(rows)), "of": len(rows)},
        errors={"residuals": "logarithm, soft L1 at 0.05", **errors(predicted, rows.measured)},
        left_out={"by": "shape, a fifth at a time", **errors(out, rows.measured)},
    )
    path = folder / f"{model}-{machine}.fit.json"
    path.unlink(missing_ok=True)
    fit.save(path)
    print(path.name, fit.errors, fit.left_out, f"{low:.3f} to {high:.3f}")


def main() -> None:
    """Write all files; print defaults of machines that were not measured, and their errors."""
    for model in sys.argv[2:] or MODELS:
        tables, values = {}, {}
        for machine in FILES:
            write_fit(Path(sys.argv[1]), model, machine)
            tables[machine] = read_rows(model, machine)
            values[machine] = machine_values(machine) | LIBRARY.get((model, machine), {})
        joint, _ = fit_numbers(model, [(tables[m], values[m]) for m in FILES], 1500)
        print({name: float(f"{value:.3g}") for name, value in joint.items()})
        for one, other in (("h100_sxm", "b200"), ("b200", "h100_sxm")):
            numbers, _ = fit_numbers(model, [(tables[one], values[one])], 1500)
            out = predict(model, tables[other], values[other] | numbers)
            measured = tables[other].measured
            ends = np.quantile(measured / out, [0.05, 0.95]).round(3)
            print(f"{one} to {other}", errors(out, measured), ends)


if __name__ == "__main__":
    main()
