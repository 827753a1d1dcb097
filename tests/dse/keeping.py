"""One cache of machine code under five processes, while it is spoilt in every way.

    python -m tests.dse.keeping 20 1       # rounds, seed

In each round five processes at once use compiled reductions and laws, with one cache that is empty,
removed in the middle, without permission to write, or full of entries that are damaged or of
others. Each answer must be that without a cache.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = ("empty", "kept", "removed", "read-only", "damaged", "other", "unwanted")
ASKS = """
import sys
import numpy as np
from stochastic import Pmf, imbalance
from sweeps.nest.reduce import pareto_indices
values = np.linspace(1.0, 2.0, 5000) ** 2 % 1.0
front = pareto_indices(np.stack([values, -values[::-1]]))
print(imbalance(Pmf.geometric(0.3), lanes=8).mean(), front.tolist())
"""


def start_process(cache: str) -> subprocess.Popen[str]:
    """A process that uses compiled code of each kind."""
    return subprocess.Popen(
        [sys.executable, "-c", ASKS],
        env=os.environ | {"DSE_CACHE": cache},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def spoil(folder: Path, way: str, rng: random.Random) -> None:
    """Make something of the cache that nobody wants."""
    entries = sorted(folder.glob("code/*.code"))
    for entry in entries if way in ("damaged", "other") else []:
        data = bytearray(entry.read_bytes())
        if way == "damaged" and data:
            kind = rng.randrange(3)
            if kind == 0:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            else:
                data = data[: rng.randrange(len(data))] if kind == 1 else data + b"more"
            entry.write_bytes(data)
        elif way == "other":
            rng.choice(entries).replace(entry)
    if way == "read-only" and folder.exists():
        for place in (folder / "code", folder):
            place.chmod(0o500)


def main(rounds: int, seed: int) -> int:
    """Rounds of five processes; how many answers were other ones."""
    rng, wrong = random.Random(seed), 0
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as name:
        stored = Path(name) / "kept"
        expected = start_process("").communicate()[0]
        assert expected
        start_process(str(stored)).communicate()
        for number in range(rounds):
            way, cache = WAYS[number % len(WAYS)], Path(name) / f"cache-{number}"
            if way not in ("empty", "unwanted"):
                shutil.copytree(stored, cache)
            spoil(cache, way, rng)
            processes = [start_process("" if way == "unwanted" else str(cache)) for _ in range(5)]
            if way == "removed":
                time.sleep(rng.random())
                shutil.rmtree(cache, ignore_errors=True)
            for process in processes:
                out, err = process.communicate()
                if (out, err, process.returncode) != (expected, "", 0):
                    wrong += 1
                    print(f"round {number}, {way}: {process.returncode} {out!r} {err[-2000:]}")
            for place in (cache, cache / "code"):
                if place.exists():
                    place.chmod(0o700)
    print(f"{rounds} rounds of five processes, {wrong} wrong answers")
    return wrong


if __name__ == "__main__":
    raise SystemExit(main(int((sys.argv[1:] or ["7"])[0]), int((sys.argv[2:] or ["1"])[0])) > 0)
