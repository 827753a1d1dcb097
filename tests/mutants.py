"""Seeded faults, each of which the suite must find.

    python -m tests.mutants [N] [--all]

Faults of one line in all four packages: a flipped comparison, a dropped rounding, a wrong axis, a
lost condition, a missing lock ... Each is put into a copy of the tree, into the one file of its
package that holds the text, and some test of those named beside it must fail there; with ``--all``
they are run without a fault first, and must pass. N takes the first N. A text that is no longer
there, or there twice, ends the command.
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
    """A fault: in a package a text becomes another; some test of ``tests`` must find it."""

    package: str
    text: str
    fault: str
    tests: str

    def place(self, folder: Path) -> Path:
        """The file of a tree that holds the text."""
        files = sorted((folder / self.package).rglob("*.py"))
        counts = {path: path.read_text().count(self.text) for path in files}
        places = [path for path, count in counts.items() if count]
        if [counts[path] for path in places] != [1]:
            raise SystemExit(f"{self.package} does not contain once: {self.text}")
        return places[0]


MUTANTS = (
    # --- dse
    Mutant(
        "dse",
        "freedom = int(np.count_nonzero(problem.scale)) - len(inner)",
        "freedom = int(np.count_nonzero(problem.scale))",
        "tests/dse/test_fit.py::test_a_linear_model_is_that_of_textbooks",
    ),
    Mutant(
        "dse",
        "seen[np.sort(first)]",
        "seen[first]",
        "tests/dse/test_measured.py::test_labels_of_an_axis_stand_as_they_occur",
    ),
    Mutant(
        "dse",
        'theirs[key] == ours[key] for key in ("identity", "chunks")',
        'theirs[key] == ours[key] for key in ("chunks",)',
        "tests/dse/test_store.py::test_a_url tests/dse/test_store.py::test_the_study_of_a_store",
    ),
    Mutant(
        "dse",
        "(new, start) if self.guide.maximize else (start, new)",
        "(start, new) if self.guide.maximize else (new, start)",
        "tests/dse/test_advice.py::test_thread_bound",
    ),
    Mutant(
        "dse",
        "index.append(order[np.searchsorted(values[order], rows.axes[axis][0])])",
        "index.append(np.searchsorted(values[order], rows.axes[axis][0]))",
        "tests/dse/test_measured.py::test_labels_of_an_axis_stand_as_they_occur",
    ),
    # --- sweeps
    Mutant(
        "sweeps",
        'return "" if checksum(data) == crc else UNFIT',
        'return ""',
        "tests/dse/test_corruption.py::test_a_chunk_in_the_place_of_another",
    ),
    Mutant(
        "sweeps",
        '(record.get("tile"), record.get("identity")) == (tile, identity)',
        'record.get("tile") == tile',
        "tests/dse/test_races.py::test_an_opened_store_stays_the_one_it_was",
    ),
    Mutant(
        "sweeps",
        "            if not self.exists():\n                os.rename(last, self.path)\n",
        "            if self.exists():\n                os.rename(last, self.path)\n",
        "tests/dse/test_races.py::test_what_a_killed_process_began_is_ended_by_whoever_comes",
    ),
    Mutant(
        "sweeps",
        "np.flatnonzero(values == limit)[: count - below.size]",
        "np.flatnonzero(values == limit)[below.size - count :]",
        "tests/sweeps/test_reduce.py",
    ),
    Mutant(
        "sweeps",
        "            better = places[a] < i\n            for k in range(objectives):\n"
        "                if strong[k, a] > values[k, i]:",
        "            better = places[a] <= i\n            for k in range(objectives):\n"
        "                if strong[k, a] > values[k, i]:",
        "tests/sweeps/test_reduce.py",
    ),
    Mutant(
        "sweeps",
        "-(-self.sizes[self.split] // self.step)",
        "(self.sizes[self.split] // self.step)",
        "tests/sweeps/test_tiling.py",
    ),
    Mutant(
        "sweeps",
        "            stride *= self.sizes[axis]",
        "            stride *= self.sizes[axis + 1]",
        "tests/sweeps/test_tiling.py",
    ),
    Mutant(
        "sweeps",
        "next_up(limit) if place < places[last] else limit",
        "limit",
        "tests/sweeps/test_questions.py::test_a_tie_goes_to_the_lowest_place_though_the_row_is_cut",
    ),
    Mutant(
        "dse",
        "study = None if values else stored_study(data)",
        "study = None",
        "tests/sweeps/test_stored_questions.py::test_the_study_of_a_damaged_store_answers",
    ),
    Mutant(
        "dse",
        "    check_finished(data)\n    study = None if",
        "    study = None if",
        "tests/sweeps/test_stored_questions.py::test_an_unfinished_store_says_so",
    ),
    Mutant(
        "sweeps",
        "inside = known[(known >= edges[0]) & (known <= edges[-1])]",
        "inside = known[(known >= edges[0]) & (known < edges[-1])]",
        "tests/sweeps/test_streaming.py::test_histogram",
    ),
    Mutant(
        "sweeps",
        "apart * apart * count * size / (count + size)",
        "apart * apart * count / (count + size)",
        "tests/sweeps/test_decompose.py::test_as_by_definition_in_blocks_of_any_size",
    ),
    Mutant(
        "sweeps",
        "known = values[allowed & ~np.isnan(values)]",
        "known = values[allowed]",
        "tests/sweeps/test_streaming.py::test_a_count_of_nothing_is_an_answer",
    ),
    # --- symbolic
    Mutant(
        "symbolic",
        "memory = both(cwp >= mwp, memory_bound_cycles >= computation_bound_cycles)",
        "memory = both(cwp > mwp, memory_bound_cycles >= computation_bound_cycles)",
        "tests/papers/test_mwp_cwp.py",
    ),
    Mutant(
        "symbolic",
        "return ceil(minimum(cwp_full, resident_warps) * NEARLY_ALL)",
        "return ceil(minimum(cwp_full, resident_warps))",
        "tests/papers/test_mwp_cwp.py",
    ),
    Mutant(
        "symbolic",
        "return log10(scaling_slope * busy_sms + scaling_offset)",
        "return log10(scaling_slope * busy_sms - scaling_offset)",
        "tests/papers/test_power.py",
    ),
    Mutant(
        "symbolic",
        'exponent = -exponent if operator == "/" else exponent',
        "exponent = abs(exponent)",
        "tests/symbolic/test_units.py",
    ),
    Mutant("symbolic", '"Gi": 30', '"Gi": 29', "tests/symbolic/test_units.py"),
    Mutant(
        "symbolic",
        "low, high = np.nextafter(low, -math.inf), np.nextafter(high, math.inf)",
        "low, high = low, high",
        "tests/one_source/test_intervals.py",
    ),
    # --- stochastic
    Mutant(
        "stochastic",
        r"\0{self.identity()}\0{kinds}",
        r"\0{self.identity()}",
        "tests/stochastic/test_compile_cache.py",
    ),
    Mutant(
        "stochastic",
        "y[3 * TILE + u] += t6 * x0 + t5 * x1 + t4 * x2 + t3 * x3",
        "y[3 * TILE + u] += t6 * x0 + t5 * x1 + t4 * x2 + t2 * x3",
        "tests/stochastic/test_atoms.py",
    ),
    Mutant(
        "stochastic",
        "return part / busy, error / busy",
        "return part, error / busy",
        "tests/stochastic/test_law.py",
    ),
    Mutant(
        "stochastic",
        "((high - low + 1) ** 2 - 1) / 12",
        "(high - low + 1) ** 2 / 12",
        "tests/stochastic/test_families.py::test_a_die",
    ),
    Mutant(
        "stochastic",
        "state = key + _GOLDEN * np.uint64(group * lanes)",
        "state = key + _GOLDEN * np.uint64(group)",
        "tests/stochastic/test_simulation.py::test_losses_item_by_item",
    ),
)


def run_tests(folder: Path, tests: str) -> int:
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
        chosen = {mutant: mutant.place(folder) for mutant in MUTANTS[:count]}
        for tests in sorted({t for m in chosen for t in m.tests.split()}) if whole else ():
            if run_tests(folder, tests):
                raise SystemExit(f"{tests} fails without any fault")
        for mutant, path in chosen.items():
            began = time.monotonic()
            text = path.read_text()
            path.write_text(text.replace(mutant.text, mutant.fault))
            status = run_tests(folder, mutant.tests)
            path.write_text(text)
            missed += status != 1
            outcome = {0: "MISSED", 1: "found"}.get(status, f"pytest ended with {status}")
            seconds = f"{time.monotonic() - began:.0f} s"
            where = path.relative_to(folder)
            print(f"{outcome}  {where}: {mutant.fault.strip()}  ({seconds})", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults found")
    return missed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=len(MUTANTS))
    parser.add_argument("--all", action="store_true", help="first run the files without a fault")
    given = parser.parse_args()
    raise SystemExit(bool(main(given.count, whole=given.all)))
