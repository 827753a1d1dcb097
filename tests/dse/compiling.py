"""List the functions that are compiled without a cache: each body once, and not again.

    python -m tests.dse.compiling 1       # times

Laws, a run and a proof run in processes of their own, each with an empty cache folder. They must
compile what is listed here and no more; a second time they compile nothing and load no Numba.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

#: What laws compile, and what a run does.
LAW_NAMES = frozenset(("about", "best_for_slowdown", "probabilities", "raw", "transforms", "walk"))
RUN_NAMES = frozenset(("nest",))

#: Nothing is known to a process but where bytecode is.
BARE = {"PATH": ""} | {name: os.environ[name] for name in os.environ if "PYCACHE" in name}
PROGRAM = """
import json, sys

opened = []
sys.addaudithook(
    lambda event, given: event == "open"
    and str(given[0]).endswith(".code")
    and opened.append(str(given[0]))
)
from dse.cli.imbalance import imbalance_data
from stochastic import Pmf, imbalance
from stochastic.compile_cache import compile_listener

names = []
with compile_listener(names.append):
    for law in (Pmf.geometric(0.05), Pmf.uniform(20, 40), Pmf.poisson(30)):
        told = imbalance_data(imbalance(law, 32), groups=9, group=32, overhead=0.1, bins=3)
        print(json.dumps(told, default=lambda x: x.tolist() if hasattr(x, "tolist") else str(x)))
heavy = ["numba", "xarray", "pandas", "sympy"]
print(json.dumps([names, [name for name in heavy if name in sys.modules], sorted(set(opened))]))
"""


def run_program(cache: Path) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return answers to laws, the compiled functions, and the loaded libraries and files."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**BARE, "DSE_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    *answers, last = done.stdout.splitlines()
    names, loaded, opened = json.loads(last)
    return answers, names, loaded, opened


SEARCH = """
import os
from stochastic.compile_cache import compile_listener
from dse.cli.optimum import compile_search_in_background
from sweeps.bounds.search import prepare_search

os.cpu_count = lambda: 2
names = []
with compile_listener(names.append), compile_search_in_background():
    prepare_search()
print(*names)
"""


SWEPT = """
import json, sys
from dse.cli import main

main(sys.argv[1:], prog_name="dse", standalone_mode=False)
heavy = ["dask.array", "numba", "pandas", "scipy", "sympy", "xarray", "zarr"]
print(json.dumps([name for name in heavy if name in sys.modules]))
"""


COMPILED = """
import json, sys
from dse.cli import main
import stochastic.compile_cache.build as build

built = []
build_code = build.build_code
build.build_code = lambda body, args: built.append(body.__name__) or build_code(body, args)
main(sys.argv[1:], prog_name="dse", standalone_mode=False)
print(json.dumps(sorted(set(built))))
"""


def program(code: str, cache: Path, *arguments: str) -> list[str]:
    """The lines of a process that finds and keeps machine code in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**BARE, "DSE_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def main(folder: Path) -> None:
    answers, names, *_ = run_program(folder / "laws")
    assert sorted(names) == sorted(LAW_NAMES), names
    again, names, loaded, _ = run_program(folder / "laws")
    assert (again, names, loaded) == (answers, [], [])
    example, cache, code = (
        "examples/merge-four-gpus.toml",
        folder / "sweeps",
        folder / "sweeps/code",
    )
    run = ["run", example, "--where", "active_sms >= 2", "--store"]
    proof = ["optimum", example, "--method", "certified"]
    # What finds the best is compiled in a second process, where there are processors for two.
    *_, built = program(COMPILED, cache, *run, str(folder / "a.zarr"))
    assert set(json.loads(built)) == RUN_NAMES
    # Of the two parts of the search one is asked for, and waited for; then both are there.
    before = len(list(code.iterdir()))
    assert program(SEARCH, cache) == ["search_depth_first enclose"]
    assert len(list(code.iterdir())) == before + 3
    stored = [*run, str(folder / "b.zarr")]
    for arguments, heavy in ((stored, ["zarr"]), (stored, []), (proof, [])):
        *_, last = program(SWEPT, cache, *arguments)
        assert json.loads(last) == heavy  # zarr writes a store; a finished one is not written


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        with tempfile.TemporaryDirectory() as room:
            main(Path(room))
    print("each body was compiled once")
