"""Write ``docs/counted-kernels.csv``: counts from source of the kernels that an H100 ran.

    python docs/counted_kernels.py

A row for each of ``docs/gpu-validation/kernels-h100.csv``: what ``dse kernel`` counts at its
launch, with the measured time. ``docs/validation.py`` reads the table. It needs the extra
``kernels``.
"""

from __future__ import annotations

import csv
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import dse

HERE = Path(__file__).parent
MEASURED = HERE / "gpu-validation" / "kernels-h100.csv"
PATH = HERE / "counted-kernels.csv"
KERNELS = HERE.parent / "examples" / "kernels"
#: Counted only for some kernels; ``blocks`` and ``threads_per_block`` determine them.
SHAPES = {"block_z", "grid_x", "grid_y", "grid_z", "threads_x", "threads_y"}
#: Counted only for kernels with warps of uneven work; 1 for the others.
RATIOS = {"longest_warp_insts": 1, "longest_warp_loads": 1}


def count_row(row: dict[str, str]) -> dict[str, Any]:
    """Return names, measured time and counts of a launch."""
    kernel, problem = row["kernel"], dict(part.split("=") for part in row["problem"].split())
    # rows are the grid of softmax and layer_norm, and no argument; entries and data are the data's
    no_arguments = {"data", "entries", *(["rows"] if kernel in ("softmax", "layer_norm") else [])}
    sizes = {name: int(value) for name, value in problem.items() if name not in no_arguments}
    times = {}
    if kernel == "spmv_csr":  # a row of the mean length
        times = {"loaded_line_20": 0, "loaded_line_19": int(problem["entries"]) / sizes["rows"]}
    counts = dse.kernel(
        KERNELS / f"{kernel}.cu",
        arch="sm_90",
        define=dict(part.split("=") for part in row["defines"].split()),
        block=[int(row["block_x"]), int(row["block_y"])],
        grid=[int(row["grid_x"]), int(row["grid_y"])],
        set=sizes,
        times=times,
    )
    named = {name: row[name] for name in ("kernel", "defines", "problem", "block_x", "block_y")}
    counts = {name: value for name, value in counts.items() if name not in SHAPES}
    return {**named, "time": row["time [s]"], **RATIOS, **counts}


def main() -> None:
    """Write the table."""
    with MEASURED.open(newline="") as file:
        measured = [row for row in csv.DictReader(file) if row["kernel"] != "empty"]
    with ProcessPoolExecutor() as pool:
        rows = list(pool.map(count_row, measured, chunksize=8))
    names = list(dict.fromkeys(name for row in rows for name in row))
    with PATH.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval=0, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            texts = {name: f"{v:.8g}" if isinstance(v, float) else v for name, v in row.items()}
            writer.writerow(texts)


if __name__ == "__main__":
    main()
