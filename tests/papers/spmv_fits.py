"""Numbers of the model ``spmv`` from times of a V100, and scores of matrices that a fit left out.

``python -m tests.papers.spmv_fits`` prints the numbers, which are the defaults of the model, the
ends of its intervals, and the scores. Residuals are differences of logarithms with a soft limit.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

import dse
from symbolic.library import load_model
from tests.papers.language_model_fits import predict

DATA = Path(__file__).parents[3] / "shared/data/spmv/spmv_v100.csv"
TIMES = {"merge": "merge_path_ms", "thread": "thread_mapped_ms", "warp": "group_mapped_ms"}
#: Soft limit of a residual. Merge-mapped times are regular, so that their limit is lower.
SOFT = {"merge": 0.1, "thread": 0.2, "warp": 0.2}
#: Matrices with more nonzeros are scored.
LARGE = 2e5


def read_rows() -> pd.DataFrame:
    """Return a row of each matrix: quantities of the model, and measured times in seconds."""
    table = pd.read_csv(DATA)
    names = [name for name in load_model("spmv").quantities if name in table]
    rows = table[["matrix", *names]].copy()
    for mapping, column in TIMES.items():
        rows[f"{mapping}_time"] = (table[column] * 1e-3).where(table[column] > 0)
    return rows


def machine_values() -> dict[str, float]:
    """Return the values of the machine on which the model depends."""
    names = ("n_sms", "core_clock", "mem_bandwidth", "l2_size")
    small = {"rows": 1, "nonzeros": 1, "mapping": "merge"}
    result = dse.evaluate("spmv", machine="v100_sxm2", **small, outputs=list(names))
    return {name: result[name].item() for name in names}


def times(rows, values, mapping):
    """Return the predicted times of a mapping."""
    return predict("spmv", rows.assign(mapping=mapping), values)


def fit_numbers(rows, values, mappings=("merge", "thread", "warp")) -> dict[str, float]:
    """Return the numbers that fit the rows; merge-mapped rows come first, and give the DRAM's."""
    model, numbers = load_model("spmv"), {}
    for mapping in mappings:
        measured = rows[f"{mapping}_time"].dropna()
        used, known = rows.loc[measured.index], values | numbers
        needed = model.needs("time", mapping=mapping)
        names = [name for name in model.fitted if name in needed and name not in known]
        start = np.log([model.quantity(name).default for name in names])

        def residuals(logs, mapping=mapping, used=used, known=known, names=names):
            free = dict(zip(names, np.exp(logs), strict=True))
            return np.log(times(used, known | free, mapping) / used[f"{mapping}_time"])

        result = least_squares(residuals, start, loss="soft_l1", f_scale=SOFT[mapping])
        numbers |= dict(zip(names, np.exp(result.x).tolist(), strict=True))
    return numbers


def left_out_times(rows, values, mappings=("merge", "thread", "warp"), folds=5) -> pd.DataFrame:
    """Return the predicted times of each matrix by a fit that left out its fold."""
    fold = rows.matrix.map(lambda name: zlib.crc32(name.encode()) % folds)
    result = pd.DataFrame(index=rows.index, columns=list(mappings), dtype=float)
    for k in range(folds):
        last = rows[fold == k]
        numbers = fit_numbers(rows[fold != k], values, mappings)
        for mapping in mappings:
            result.loc[last.index, mapping] = times(last, values | numbers, mapping)
    return result


def ratio_scores(rows, predicted, mapping="thread") -> dict[str, float]:
    """Return scores of the time of a mapping over that of merge, for large matrices."""
    large = rows[(rows.nonzeros > LARGE) & rows[f"{mapping}_time"].notna()]
    measured = large[f"{mapping}_time"] / large.merge_time
    ratio = predicted.loc[large.index]
    return {
        "within 1.5": float(np.mean(np.abs(np.log(ratio / measured)) <= np.log(1.5))),
        "rank correlation": float(ratio.rank().corr(measured.rank())),
        "median error": float(np.median(np.abs(ratio / measured - 1))),
    }


def main() -> None:
    """Print the numbers, the ends of the intervals, and the scores next to baselines."""
    rows, values = read_rows(), machine_values()
    for name, number in fit_numbers(rows, values).items():
        print(f"{name} = {number:.3g}")
    out = left_out_times(rows, values)
    for mapping in out:
        measured = rows[f"{mapping}_time"]
        for size, chosen in (("all", rows.nonzeros > 0), ("large", rows.nonzeros > LARGE)):
            ratio = (measured / out[mapping])[chosen].dropna()
            ends, off = np.quantile(ratio, [0.05, 0.95]).round(2), np.abs(1 / ratio - 1)
            shown = [round(float(x), 3) for x in np.quantile(off, [0.5, 0.9])]
            print(mapping, size, "90 % of time / prediction:", *ends, "errors:", *shown)
    alone = left_out_times(rows, {**values, "row_correlation": 1.0}, ("merge", "thread"))
    for name, ratio in {
        "thread": out["thread"] / out["merge"],
        "thread, a warp takes the mean of its rows": alone["thread"] / alone["merge"],
        "always 1": pd.Series(1.0, rows.index),
        "max / mean": rows.row_max / rows.row_mean,
    }.items():
        print(name, ratio_scores(rows, ratio))
    print("warp", ratio_scores(rows, out["warp"] / out["merge"], "warp"))
    print("always 1", ratio_scores(rows, pd.Series(1.0, rows.index), "warp"))


if __name__ == "__main__":
    main()
