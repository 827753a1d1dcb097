"""Measure the curves of the model transit, or all-pairs shortest paths, on this GPU.

    pip install 'simt-dse[gpu]' 'numba-cuda[cu13]'       # cu12 for a driver before 580
    python examples/measure_on_gpu.py supply supply.csv  # f(k) of Li 2015, with the point delta
    dse fit transit_supply supply.csv --free ms_peak_bandwidth,ms_transition
    python examples/measure_on_gpu.py demand demand.csv  # G(x), with the point pi
    dse fit transit_demand demand.csv --free cs_peak_flops,cs_transition
    python examples/measure_on_gpu.py paths paths.csv    # run times as in Ma 2014, Figs. 2-5

Without a GPU, a trial on numba-cuda's simulator, whose times mean nothing:

    NUMBA_ENABLE_CUDASIM=1 python examples/measure_on_gpu.py demand trial.csv \\
        --threads 2 4 --steps 2
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from dse import gpu

UNITS = {"attained_bandwidth": "B/s", "attained_flops": "1/s", "time": "s"}
UNITS |= {"shared_mem_padding": "B"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["supply", "demand", "paths"])
    parser.add_argument("out", type=Path, help="CSV file to write")
    parser.add_argument("--threads", type=int, nargs="+", help="threads per SM (paths: per block)")
    parser.add_argument("--steps", type=int, default=4096, help="requests or rounds (default 4096)")
    parser.add_argument(
        "--size", type=int, default=2**26, help="numbers to read for supply (default 2**26)"
    )
    parser.add_argument("--double", action="store_true", help="measure demand in double precision")
    parser.add_argument("--vertices", type=int, default=8192)
    parser.add_argument("--tiles", type=int, nargs="+", default=[16, 32, 64])
    parser.add_argument("--padding", type=int, default=0, help="unused shared memory in bytes")
    given = parser.parse_args()

    threads = given.threads or [32 * k for k in (1, 2, 4, 8, 16, 32)]
    if given.what == "supply":
        columns = gpu.supply(threads, requests=given.steps, size=given.size)
    elif given.what == "demand":
        columns = gpu.demand(threads, rounds=given.steps, double=given.double)
    else:
        columns = gpu.paths(given.vertices, given.tiles, threads, padding=given.padding)
    with given.out.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([f"{name} [{UNITS[name]}]" if name in UNITS else name for name in columns])
        table.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
    print(f"{given.out}: {len(next(iter(columns.values())))} rows of {', '.join(columns)}")


if __name__ == "__main__":
    main()
