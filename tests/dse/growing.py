"""Kills a store that grows again and again, and looks at what is left.

    python -m tests.dse.growing 20 1 1

kills 20 times (SIGKILL) at random moments, drawn from the seed 1, while a store is extended and
while outputs are added; then before and after each step, or every n-th, in which the larger store
takes the place of the smaller. After each kill one of the two stands under the name, whole; in the
end the larger.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array  # noqa: F401  what each process would load again
import google_crc32c  # noqa: F401
import zarr  # noqa: F401

import dse
import dse.derived
import dse.growth
import sweeps.nest.run
import sweeps.store.folder
import sweeps.store.growth
from dse import Study
from sweeps.store.folder import Folder
from tests.dse.killing import STUDY, cut_small, ended, files, forked

STEPS = ("put", "swap", "delete", "remove")


def dying(work: Callable[[], None], step: str, number: int, after: bool) -> Callable[[], None]:
    """The work, killed before or after the n-th time of a step once the larger store is whole."""

    def run() -> None:
        whole = [False]
        inner = {name: getattr(Folder, name) for name in STEPS}
        count = [0]

        def stepping(name: str) -> Any:
            def method(self: Folder, *given: Any, **more: Any) -> Any:
                whole[0] |= name == "put" and given[0].endswith("/grown")
                here = whole[0] and name == step
                count[0] += here
                if here and count[0] == number and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                found = inner[name](self, *given, **more)
                if here and count[0] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return found

            return method

        for name in STEPS:
            setattr(Folder, name, stepping(name))
        work()

    return run


def main(kills: int, seed: int, every: int = 1, exchange: bool = True) -> dict[str, Any]:
    cut_small(1 << 9)
    sweeps.nest.run.SMALL = 1 << 30  # nothing is compiled
    if not exchange:
        sweeps.store.folder.exchanged = lambda one, other: False
    spec = {**STUDY, "axes": {**STUDY["axes"], "mem_latency": list(range(100, 120))}}
    draw = random.Random(seed)
    folder = Path(tempfile.mkdtemp())
    axes = {**spec["axes"], "threads": list(range(1, 41, 2)), "supply": ["smooth"]}
    large, small = Study(**spec), Study(**{**spec, "axes": axes})
    more = Study(**{**spec, "outputs": [*spec["outputs"], "cs_throughput"]})
    places = {"small": small, "large": large, "more": more}
    for name, study in places.items():
        path = folder / f"{name}.zarr"
        assert ended(forked(lambda study=study, path=path: study.run(store=path))) == 0
    held = {name: files(folder / f"{name}.zarr") for name in places}
    path = folder / "a.zarr"
    tasks: dict[tuple[str, str], Callable[[], Any]] = {
        ("small", "large"): lambda: large.run(store=path, extend=True),
        ("large", "more"): lambda: dse.add(path, "cs_throughput"),
    }

    def whole(names: tuple[str, str]) -> None:
        found = files(path)
        found.pop(".simt-dse/grown", None)
        assert found in [held[name] for name in names]

    done = 0
    for names, work in tasks.items():
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(folder / f"{names[0]}.zarr", path)
        began = time.monotonic()
        assert ended(forked(work)) == 0
        duration = time.monotonic() - began
        whole(names[1:] * 2)
        times = {"put": (1,), "swap": (1,), "delete": (1, 2), "remove": (1,)}
        kinds = [(step, n, after) for step in STEPS for n in times[step] for after in (False, True)]
        kinds = kinds[:: every if names[0] == "small" else 3 * every]
        for kind in [*([None] * (kills // 2)), *kinds]:
            shutil.rmtree(path)
            shutil.copytree(folder / f"{names[0]}.zarr", path)
            child = forked(work if kind is None else dying(work, *kind))
            if kind is None:
                time.sleep(draw.random() * duration)
                os.kill(child, signal.SIGKILL)
            status = ended(child)
            assert status in (0, -signal.SIGKILL), status
            done += status != 0
            if exchange or path.exists():
                whole(names)
            assert ended(forked(work)) == 0
            assert files(path) == held[names[1]], kind
            left = {other.name for other in folder.iterdir()}
            assert left == {"a.zarr", *(f"{name}.zarr" for name in places)}, left
    shutil.rmtree(folder)
    return {"kills": done}


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:4]), exchange=len(sys.argv) < 5)))
