"""Two and three processes on one store at once, and whether anything is lost or wrong afterwards.

    python -m tests.dse.interleaving 300 1

draws 300 rounds from the seed 1: a store (none, finished, unfinished, or with a chunk lost) on
which two or three processes run, run afresh, extend, add, verify, repair, export, ask, or open and
read later. Each sleeps here and there between its steps, so that they interleave; in some rounds
one is killed, or the system knows no locks, or no exchange of names. Each must end right or by one
of the stated refusals; and what is left must be, byte for byte, a store that nobody disturbed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dask.array  # noqa: F401  what each process would load again
import h5netcdf  # noqa: F401
import numpy as np
import xarray as xr
import zarr  # noqa: F401

import dse
import dse.runs.identity
import dse.runs.store
import sweeps.nest.run
import sweeps.store.backend
import sweeps.store.checked_store
from dse import DseError, Study
from sweeps.store.backend import LocalBackend
from tests.dse.killing import STUDY, cut_small, exit_status, files, fork

AXES = {"threads": list(range(1, 13)), "supply": ["smooth"], "mem_latency": list(range(100, 140))}
MORE = "cs_throughput"
#: By their names the studies whose stores may stand there; an outcome must be one of them.
SPECS: dict[str, dict[str, Any]] = {
    name: {**STUDY, "axes": {**AXES, **axes}, "outputs": [*STUDY["outputs"], *outputs]}
    for name, axes, outputs in (
        ("small", {}, ()),
        ("large", {"supply": ["sharp", "smooth"]}, ()),
        ("small and more", {}, (MORE,)),
        ("large and more", {"supply": ["sharp", "smooth"]}, (MORE,)),
    )
}
TASKS = (
    *("run small", "run large", "extend", "add", "repair", "fresh small", "fresh large"),
    *("verify", "ask", "read", "read later", "export nc", "export zarr", "export csv"),
)
#: What may be said whatever was there; and what only of a store that was not there, or not whole.
ALWAYS = (
    r"is being written by another process",
    r"was begun by another process at the same time",
    r"since it was opened: open it again",
    r"is the store of another study",
    r"being replaced by other processes",
    r"exists: remove it, or choose another name",
)
ABSENT, UNFINISHED = (r"does not exist",), (r"is not finished",)
DAMAGED = (r"is damaged", r"repair")
STEPS = ("get", "put", "sizes", "delete", "exists", "files")
RARE = ("replace_by", "create", "move", "remove")


def sleeping(draw: random.Random) -> None:
    """Sleeps in this process, now and then, between two steps."""

    def late(kind: Any, name: str, often: float, most: float) -> None:
        inner = getattr(kind, name)

        def method(*given: Any, **more: Any) -> Any:
            if draw.random() < often:
                time.sleep(draw.random() * most)
            result = inner(*given, **more)
            if draw.random() < often:
                time.sleep(draw.random() * most)
            return result

        setattr(kind, name, method)

    for name in STEPS:
        late(LocalBackend, name, 0.04, 0.03)
    for name in RARE:
        late(LocalBackend, name, 0.7, 0.1)
    for kind, name in ((fcntl, "flock"), (Path, "rename"), (os, "rename"), (os, "replace")):
        late(kind, name, 0.5, 0.06)
    late(sweeps.store.backend, "_exchange_names", 0.7, 0.1)


def no_locks() -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    fcntl.flock = flock


def right(ds: xr.Dataset, everything: xr.Dataset, *, blank: bool) -> None:
    """True if all values are right, or missing in an unfinished store."""
    for name in ds.data_vars:
        variable = ds[name]
        values = np.asarray(variable.values)
        labels = {str(dim): ds[dim].values for dim in variable.dims}
        wanted = everything[name].sel(labels).transpose(*variable.dims).values
        same = (values == wanted) | ((values != values) & (wanted != wanted))
        if blank:
            fill = {"f": np.nan, "i": -1, "b": False}[wanted.dtype.kind]
            same |= np.isnan(values) if wanted.dtype.kind == "f" else values == fill
        assert same.all(), f"{name}: {int((~same).sum())} of {same.size} values are wrong"


def answer(source: Any) -> list[float]:
    result = dse.optimum(source, maximize="ms_throughput", where="cs_transition >= 0", top=3)
    return [round(float(v), 12) for v in result.ms_throughput.values.ravel()]


def run_task(
    task: str,
    path: Path,
    draw: random.Random,
    studies: Mapping[str, Study],
    everything: xr.Dataset,
    answers: list[list[float]],
    blank: bool,
    begun: bool,
) -> None:
    """One of the tasks; asserts that what it gives is right."""
    kind, _, which = task.partition(" ")
    if task in ("run small", "run large", "fresh small", "fresh large", "extend"):
        study = studies["large" if task == "extend" else which]
        ds = study.run(store=path, extend=task == "extend", fresh=kind == "fresh")
        assert {str(k): len(v) for k, v in ds.indexes.items()} == {
            str(axis): len(values) for axis, values in study.axes.items()
        }
        right(ds, everything, blank=blank)
    elif task == "add":
        right(dse.add(path, MORE), everything, blank=blank)
    elif kind in ("verify", "repair"):
        result = dse.verify(path, repair=kind == "repair")
        assert blank or not result.damages, [str(damage) for damage in result.damages]
        assert result.is_repaired or not result.damages or kind == "verify"
    elif task == "ask":
        assert answer(path) in answers
    elif kind == "read":
        ds = dse.open(path)
        if which:
            time.sleep(0.3 * draw.random())
            if draw.random() < 0.5:
                assert begun or answer(ds) in answers
        right(ds, everything, blank=begun)
    else:
        out = path.with_name(f"{draw.randrange(10**9)}.{which}")
        dse.export(dse.open(path), out)
        right(dse.open(out), everything, blank=blank)


class Rounds:
    """Rounds on stores in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.studies = {name: Study(**spec) for name, spec in SPECS.items()}
        for study in self.studies.values():
            study.grid()
        memory = {name: study.run() for name, study in self.studies.items()}
        self.everything = memory["large and more"]
        self.answers = [answer(ds) for ds in memory.values()]
        for name, study in self.studies.items():
            place = folder / f"{name}.zarr"
            assert exit_status(fork(lambda study=study, place=place: study.run(store=place))) == 0
        self.calm = {name: files(folder / f"{name}.zarr") for name in self.studies}
        self.ends: Counter[str] = Counter()

    def lay_store(self, path: Path, draw: random.Random) -> tuple[str, ...]:
        """Lays a store there; gives what may be said of it."""
        how = draw.choice(["none", "small", "small", "small", "large", "unfinished", "damaged"])
        if how == "none":
            return (*ABSENT, *UNFINISHED)
        shutil.copytree(self.folder / f"{'large' if how == 'large' else 'small'}.zarr", path)
        if how == "unfinished":
            (path / ".simt-dse" / "finished").unlink()
            for record in draw.sample(sorted((path / ".simt-dse" / "tiles").iterdir()), 2):
                record.unlink()
            return UNFINISHED
        if how == "damaged":
            draw.choice(sorted(path.glob("ms_throughput/c.*"))).unlink()
            return DAMAGED
        return ()

    def round(self, number: int, seed: int) -> None:
        draw = random.Random(f"{seed} {number}")
        room = self.folder / f"round {number}"
        room.mkdir()
        path = room / "a.zarr"
        problem = self.lay_store(path, draw)
        tasks = [draw.choice(TASKS) for _ in range(draw.choice([2, 3]))]
        exchange, locks, kill = draw.random() < 0.8, draw.random() < 0.8, draw.random() < 0.2
        fresh = any(task.startswith("fresh") for task in tasks)
        blank = bool(problem) or fresh
        begun = fresh or problem not in ((), DAMAGED)  # what is not there yet may be read as blank
        if fresh or not exchange:
            problem = (*problem, *ABSENT, *UNFINISHED)
        story = f"round {number} of {seed}: {tasks}, {problem=}, {exchange=}, {locks=}, {kill=}"

        def child(place: int, task: str) -> Callable[[], None]:
            own = random.Random(f"{seed} {number} {place}")

            def work() -> None:
                recorded = room / f"told {place}"
                try:
                    if not exchange:
                        sweeps.store.backend._exchange_names = lambda one, other: False
                    if not locks:
                        no_locks()
                    sleeping(own)
                    time.sleep(0.2 * own.random())
                    run_task(
                        task, path, own, self.studies, self.everything, self.answers, blank, begun
                    )
                    recorded.write_text("done")
                except DseError as error:
                    recorded.write_text(f"refused: {error}\n{traceback.format_exc()}")
                except BaseException:
                    recorded.write_text(f"failed: {traceback.format_exc()}")

            return work

        children = [fork(child(place, task)) for place, task in enumerate(tasks)]
        if kill:
            time.sleep(0.5 * draw.random())
            os.kill(children[0], signal.SIGKILL)
        for place, process in enumerate(children):
            status = exit_status(process)
            recorded = room / f"told {place}"
            if status == -signal.SIGKILL and not recorded.exists():
                self.ends["killed"] += 1
                problem = (*problem, *ABSENT, *UNFINISHED)
                continue
            text = recorded.read_text()
            kind, _, message = text.partition(": ")
            self.ends[kind] += 1
            allowed = kind == "done" or (
                kind == "refused"
                and any(re.search(one, message.partition("\n")[0]) for one in (*ALWAYS, *problem))
            )
            assert allowed, f"{story}\n{tasks[place]}: {text}"
        try:
            self.check_rest(path, room, repaired=blank or kill, locks=locks)
        except Exception as error:
            raise AssertionError(story) from error
        shutil.rmtree(room)

    def check_rest(self, path: Path, room: Path, *, repaired: bool, locks: bool) -> None:
        """Check that the repaired store equals one that was written undisturbed."""
        if not path.exists() and not (room / ".a.zarr.next").exists():
            return  # nobody came to begin one

        def repair_store() -> None:
            if not locks:
                no_locks()
            result = dse.verify(path, repair=repaired)
            assert repaired or not result.damages
            for study in self.studies.values():
                try:
                    study.run(store=path)
                except DseError as error:
                    if "is the store of another study" not in str(error):
                        raise
            if path.with_name(".a.zarr.next").exists():  # a process that was stopped, half done
                self.studies["large and more"].run(store=path, extend=True)

        assert exit_status(fork(repair_store)) == 0
        known = files(path)
        assert known in self.calm.values(), [
            (name, sorted(key for key in {*known, *calm} if known.get(key) != calm.get(key)))
            for name, calm in self.calm.items()
        ]
        names = [p for p in room.iterdir() if not re.match(r"told|\.?\d+\.(nc|zarr|csv)", p.name)]
        for other in names:
            if other != path:
                assert ".old-" in other.name, other
                assert repaired or files(other) in self.calm.values()


def main(count: int, seed: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    cut_small(1 << 7)
    sweeps.nest.run.NUMPY_POINTS = 1 << 30  # nothing is compiled
    folder = Path(tempfile.mkdtemp())
    rounds = Rounds(folder)
    began = time.monotonic()
    for number in range(count):
        rounds.round(number, seed)
    shutil.rmtree(folder)
    seconds = round(time.monotonic() - began, 1)
    return {"rounds": count, "seed": seed, **rounds.ends, "seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:3]))))
