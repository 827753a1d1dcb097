"""Seeded faults, each of which the suite must find.

    python -m tests.mutants [N] [--all]

Faults of one line in all four packages: a flipped comparison, a dropped rounding, a wrong axis, a
lost condition, a missing lock ... Each is put into a copy of the tree, and some test of those named
beside it must fail there; with ``--all`` they are run without a fault first, and must pass. N takes
the first N. A text that is no longer there, or there twice, ends the command.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: in a file a piece of text becomes another; some test of ``tests`` must find it."""

    file: str
    text: str
    fault: str
    tests: str


MUTANTS = (
    Mutant(
        "sweeps/nest/reduce.py",
        "np.flatnonzero(values == limit)[: count - below.size]",
        "np.flatnonzero(values == limit)[below.size - count :]",
        "tests/sweeps/test_reduce.py",
    ),
    Mutant(
        "sweeps/nest/reduce.py",
        "            better = places[a] < i\n            for k in range(objectives):\n"
        "                if strong[k, a] > values[k, i]:",
        "            better = places[a] <= i\n            for k in range(objectives):\n"
        "                if strong[k, a] > values[k, i]:",
        "tests/sweeps/test_reduce.py",
    ),
    Mutant(
        "sweeps/grid/tiling.py",
        "-(-self.sizes[self.split] // self.step)",
        "(self.sizes[self.split] // self.step)",
        "tests/sweeps/test_tiling.py",
    ),
    Mutant(
        "sweeps/grid/tiling.py",
        "            stride *= self.sizes[axis]",
        "            stride *= self.sizes[axis + 1]",
        "tests/sweeps/test_tiling.py",
    ),
    Mutant(
        "symbolic/models/mwp_cwp.py",
        "memory = both(cwp >= mwp, comp_cycles <= mem_cycles)",
        "memory = both(cwp > mwp, comp_cycles <= mem_cycles)",
        "tests/papers/test_mwp_cwp.py",
    ),
    Mutant(
        "symbolic/models/mwp_cwp.py",
        "return ceil(minimum(cwp_full, resident_warps))",
        "return minimum(cwp_full, resident_warps)",
        "tests/papers/test_mwp_cwp.py",
    ),
    Mutant(
        "symbolic/models/power.py",
        "return log10(scaling_slope * busy_sms + scaling_offset)",
        "return log10(scaling_slope * busy_sms - scaling_offset)",
        "tests/papers/test_power.py",
    ),
    Mutant(
        "symbolic/units.py",
        'exponent = -exponent if operator == "/" else exponent',
        "exponent = abs(exponent)",
        "tests/symbolic/test_units.py",
    ),
    Mutant(
        "stochastic/kept/identity.py",
        r"\0{self.identity()}\0{kinds}",
        r"\0{self.identity()}",
        "tests/stochastic/test_kept.py",
    ),
    Mutant(
        "stochastic/kernels/sweep.py",
        "y[3 * TILE + u] += t6 * x0 + t5 * x1 + t4 * x2 + t3 * x3",
        "y[3 * TILE + u] += t6 * x0 + t5 * x1 + t4 * x2 + t2 * x3",
        "tests/stochastic/test_atoms.py",
    ),
    Mutant(
        "stochastic/loss/exact.py",
        'self._all - (self._idle if self.zero_work == "drop" else 0)',
        "self._all",
        "tests/stochastic/test_exact.py",
    ),
    Mutant(
        "dse/fitting/search.py",
        "spare = int(np.count_nonzero(problem.scale)) - len(kept)",
        "spare = int(np.count_nonzero(problem.scale))",
        "tests/dse/test_fit.py",
    ),
)


def tested(folder: Path, tests: str) -> int:
    """The exit status of some test files in a tree: 0 where all pass, 1 where one fails."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode


def main(count: int, *, whole: bool) -> int:
    """Put each fault in and tell what the tests say; the number of those they let pass."""
    missed = 0
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room) / "tree"
        left = shutil.ignore_patterns(".venv", ".git", "__pycache__", "*.zarr")
        shutil.copytree(ROOT, folder, ignore=left)
        chosen = MUTANTS[:count]
        for mutant in chosen:
            if (folder / mutant.file).read_text().count(mutant.text) != 1:
                raise SystemExit(f"{mutant.file} does not hold once: {mutant.text}")
        for tests in sorted({t for m in chosen for t in m.tests.split()}) if whole else ():
            if tested(folder, tests):
                raise SystemExit(f"{tests} fails without any fault")
        for mutant in chosen:
            path, began = folder / mutant.file, time.monotonic()
            text = path.read_text()
            path.write_text(text.replace(mutant.text, mutant.fault))
            status = tested(folder, mutant.tests)
            path.write_text(text)
            missed += status != 1
            said = {0: "MISSED", 1: "found"}.get(status, f"pytest ended with {status}")
            seconds = f"{time.monotonic() - began:.0f} s"
            print(f"{said}  {mutant.file}: {mutant.fault.strip()}  ({seconds})", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults found")
    return missed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=len(MUTANTS))
    parser.add_argument("--all", action="store_true", help="first run the files without a fault")
    given = parser.parse_args()
    raise SystemExit(bool(main(given.count, whole=given.all)))
