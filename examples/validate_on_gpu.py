"""Repeat Table I of Swatman et al. (MASCOTS 2022) on this GPU: laws against its clocks.

    pip install 'simt-dse[gpu]' 'numba-cuda[cu13]'       # cu12 for a driver before 580
    python examples/validate_on_gpu.py gpu-validation    # gpu-validation.csv and .json

Without a GPU, a trial on numba-cuda's simulator, whose clocks mean nothing:

    NUMBA_ENABLE_CUDASIM=1 python examples/validate_on_gpu.py trial \\
        --groups 2 --lanes 2 --size 2 --threads 2
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from pathlib import Path
from typing import Any

from stochastic import Pmf, imbalance
from stochastic.validation import describe, losses

LAWS = {
    "B(40, 0.5)": Pmf.binomial(40, 0.5),
    "Geo(0.05)": Pmf.geometric(0.05),
    "Pois(30)": Pmf.poisson(30),
    "U(20, 40)": Pmf.uniform(20, 40),
    "NB(5, 0.3)": Pmf.negative_binomial(5, 0.3),
}


def compare(law: Pmf, lanes: int, groups: int, seed: int, **options: int) -> dict[str, Any]:
    """Mean losses by the law, by simulation and by the clocks, and the errors of Table I."""
    drawn, *timed = losses(law, lanes, groups=groups, seed=seed, **options)
    model, simulated = float(imbalance(law, lanes).mean()), float(drawn.mean())
    synchronised, unsynchronised = (math.fsum(one.tolist()) / groups for one in timed)
    return {
        "lanes": lanes,
        "groups": groups,
        "seed": seed,
        "modelled": model,
        "simulated": simulated,
        "standard_error": float(drawn.std() / math.sqrt(groups)),
        "synchronised": synchronised,
        "unsynchronised": unsynchronised,
        "simulated_error": abs(simulated / model - 1.0),
        "synchronised_error": abs(synchronised / model - 1.0),
        "unsynchronised_error": abs(unsynchronised / model - 1.0),
        "scheduling_difference": abs(unsynchronised / synchronised - 1.0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", help="path of the summary, without .csv or .json")
    parser.add_argument("--groups", type=int, default=2**18, help="groups per case (default 2**18)")
    parser.add_argument("--lanes", type=int, nargs="+", default=[2, 4, 8, 16, 32])
    parser.add_argument("--size", type=int, default=16, help="rows of the matrices (default 16)")
    parser.add_argument("--threads", type=int, default=256, help="threads per block (default 256)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()

    facts = describe() | {name: getattr(given, name) for name in ("size", "threads")}
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print(f"{'law':11} lanes  modelled  simulated   measured    error  without sync    error")
    rows = []
    for name, law in LAWS.items():
        for lanes in given.lanes:
            options = {"size": given.size, "threads": given.threads}
            row = {"law": name, **compare(law, lanes, given.groups, given.seed, **options)}
            rows.append(row)
            print(
                f"{name:11} {lanes:5} {row['modelled']:9.4f} {row['simulated']:10.4f} "
                f"{row['synchronised']:10.4f} {row['synchronised_error']:8.2%} "
                f"{row['unsynchronised']:13.4f} {row['unsynchronised_error']:8.2%}",
                flush=True,
            )
    worst = max(row["synchronised_error"] for row in rows)
    print(f"largest error of the model: {worst:.2%} (the paper, on an A100: 2 %)")

    Path(f"{given.out}.json").write_text(json.dumps(facts | {"cases": rows}, indent=1) + "\n")
    with Path(f"{given.out}.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, fieldnames=[*rows[0], "device"])
        table.writeheader()
        table.writerows(row | {"device": facts["device"]} for row in rows)


if __name__ == "__main__":
    main()
