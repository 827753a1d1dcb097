"""Write ``docs/counted-profiles.csv``: counts from source of profiled configurations.

    python docs/counted_profiles.py [CONVOLUTIONS SEED]

All of Coulomb and a draw of convolution, RTX 2080 Ti: what ``dse kernel`` counts at the launch of
each, beside the time that was measured. Compilers take minutes for it; ``docs/validation.py`` reads
the table. It needs the extra ``kernels``, and ``../shared/data``, which is not of this project.
"""

from __future__ import annotations

import csv
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import dse
from symbolic.errors import DseError
from tests.dse.profiled import DATA, configurations

PATH = Path(__file__).parent / "counted-profiles.csv"
COULOMB = {"options": ["-use_fast_math"], "set": {"numberOfAtoms": 64, "gridSize": 256}}
SPACES = {
    "coulomb": ("coulomb_2080_full_search_space.json.gz", "CoulombSum3d.cu", COULOMB),
    "convolution": ("KTConvolutionOutput_2080Ti.json.gz", "KernelTunerConvolution.cu", {}),
}


def counted(program: str, number: int, result: dict[str, Any]) -> dict[str, Any] | None:
    """Return the row of a configuration, or None if it cannot be counted."""
    run = result["ComputationResults"][0]
    _, source, given = SPACES[program]
    try:
        found = dse.kernel(
            DATA / program / source,
            arch="sm_75",
            define={each["Name"]: each["Value"] for each in result["Configuration"]},
            block=[run["LocalSize"][axis] for axis in "XYZ"],
            grid=[run["GlobalSize"][axis] for axis in "XYZ"],
            **given,
        )
    except DseError as error:
        print(program, number, error, file=sys.stderr)
        return None
    return {"program": program, "number": number, "time": run["Duration"] * 1e-6, **found}


def main(convolutions: int = 60, seed: int = 7) -> None:
    """Write the table."""
    asked = []
    for program, (profile, _, _) in SPACES.items():
        every = list(enumerate(configurations(DATA / program / profile)))
        if program == "convolution":
            every = random.Random(seed).sample(every, convolutions)
        asked += [(program, number, result) for number, result in every]
    with ProcessPoolExecutor() as pool:
        rows = [row for row in pool.map(counted, *zip(*asked, strict=True)) if row]
    names = list(dict.fromkeys(name for row in rows for name in row))
    with open(PATH, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval=0, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            told = {name: f"{v:.8g}" if isinstance(v, float) else v for name, v in row.items()}
            writer.writerow(told)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
