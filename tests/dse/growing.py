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
import zarr  # noqa: F401

import dse
import dse.runs.identity
import dse.runs.store
import sweeps.nest.run
import sweeps.store.backend
import sweeps.store.verify
from dse import Study
from sweeps.store.backend import LocalBackend
from tests.dse.killing import STUDY, cut_small, exit_status, files, fork

STEPS = ("put", "replace_by", "_discard", "rename")


def dying(work: Callable[[], None], step: str, number: int, after: bool) -> Callable[[], None]:
    """The work, killed before or after the n-th time of a step once the larger store is whole."""

    def run() -> None:
        whole, count = [False], [0]

        def stepping(owner: Any, name: str) -> None:
            inner = getattr(owner, name)

            def method(*given: Any, **more: Any) -> Any:
                whole[0] |= name == "put" and str(given[1]).endswith("/finished")
                here = whole[0] and name == step
                count[0] += here
                if here and count[0] == number and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = inner(*given, **more)
                if here and count[0] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            setattr(owner, name, method)

        for name in STEPS[:-1]:
            stepping(LocalBackend, name)
        stepping(os, "rename")
        work()

    return run


def main(kills: int, seed: int, every: int = 1, exchange: bool = True) -> dict[str, Any]:
    cut_small(1 << 9)
    sweeps.nest.run.NUMPY_POINTS = 1 << 30  # nothing is compiled
    if not exchange:
        sweeps.store.backend._exchange_names = lambda one, other: False
    spec = {**STUDY, "axes": {**STUDY["axes"], "mem_latency": list(range(100, 120))}}
    draw = random.Random(seed)
    folder = Path(tempfile.mkdtemp())
    axes = {**spec["axes"], "threads": list(range(1, 41, 2)), "supply": ["smooth"]}
    large, small = Study(**spec), Study(**{**spec, "axes": axes})
    more = Study(**{**spec, "outputs": [*spec["outputs"], "cs_throughput"]})
    places = {"small": small, "large": large, "more": more}
    for name, study in places.items():
        path = folder / f"{name}.zarr"
        assert exit_status(fork(lambda study=study, path=path: study.run(store=path))) == 0
    values = {name: files(folder / f"{name}.zarr") for name in places}
    path = folder / "a.zarr"
    tasks: dict[tuple[str, str], Callable[[], Any]] = {
        ("small", "large"): lambda: large.run(store=path, extend=True),
        ("large", "more"): lambda: dse.add(path, "cs_throughput"),
    }

    def check_complete(names: tuple[str, str]) -> None:
        assert files(path) in [values[name] for name in names]

    done = 0
    for names, work in tasks.items():
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(folder / f"{names[0]}.zarr", path)
        began = time.monotonic()
        assert exit_status(fork(work)) == 0
        duration = time.monotonic() - began
        check_complete(names[1:] * 2)
        times = {"put": (1,), "replace_by": (1,), "_discard": (1,), "rename": (1, 2, 3)}
        kinds = [(step, n, after) for step in STEPS for n in times[step] for after in (False, True)]
        kinds = kinds[:: every if names[0] == "small" else 3 * every]
        for kind in [*([None] * (kills // 2)), *kinds]:
            shutil.rmtree(path)
            shutil.copytree(folder / f"{names[0]}.zarr", path)
            child = fork(work if kind is None else dying(work, *kind))
            if kind is None:
                time.sleep(draw.random() * duration)
                os.kill(child, signal.SIGKILL)
            status = exit_status(child)
            assert status in (0, -signal.SIGKILL), status
            done += status != 0
            if exchange or path.exists():
                check_complete(names)
            assert exit_status(fork(work)) == 0
            assert files(path) == values[names[1]], kind
            left = {other.name for other in folder.iterdir()} - {".a.zarr.lock"}
            assert left == {"a.zarr", *(f"{name}.zarr" for name in places)}, left
    shutil.rmtree(folder)
    return {"kills": done}


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:4]), exchange=len(sys.argv) < 5)))
