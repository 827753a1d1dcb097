"""Lets the system fail at the n-th call, and looks at how a command ends and what it leaves.

    python -m tests.dse.faults 300 1

draws 300 faults from the seed 1: input/output errors, a full or read-only disk, permissions, writes
that take less than they are given, once or from then on, at the n-th time that a file is opened,
written, made durable, renamed, linked, listed or removed, a folder made; or no file may be longer
than so many bytes, which libraries in C meet too. A command (run, a run that continues, --fresh,
--extend, add, verify --repair, export as zarr, netCDF, CSV, Parquet) must end with a message and
the status 1, or be done; nothing that it leaves may harm; and the same command, once the system is
well again, must leave what it leaves where nothing fails, byte for byte.
"""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array  # noqa: F401  what each process would load again
import h5netcdf  # noqa: F401
import pandas as pd  # noqa: F401
import pyarrow.parquet  # noqa: F401
import zarr  # noqa: F401

import dse.cli.run
import dse.runs.identity
import dse.runs.store
import sweeps.nest.run
import sweeps.store.checked_store
from dse.cli import main as program
from tests.dse.killing import cut_small, exit_status, files, fork

STUDY = """
model = "transit"
outputs = ["ms_throughput", "bound", "cs_transition"]
where = ["ms_throughput <= 0.5"]
[axes]
threads = {{ start = 1, stop = 6 }}
supply = [{supply}]
mem_latency = {{ start = 100, stop = 139 }}
[set]
intensity = 10
lanes_width = 32
ms_peak = 0.7
"""
EXPORTS = ("nc", "csv", "parquet", "zarr")
#: What stands there at first, the command, and what stands there once it was done.
TASKS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "run": ("none", ("run", "small.toml", "--store", "a.zarr"), "small"),
    "continue": ("unfinished", ("run", "small.toml", "--store", "a.zarr"), "small"),
    "nothing to do": ("small", ("run", "small.toml", "--store", "a.zarr"), "small"),
    "fresh": ("large", ("run", "small.toml", "--store", "a.zarr", "--fresh"), "small"),
    "extend": ("small", ("run", "large.toml", "--store", "a.zarr", "--extend"), "large"),
    "add": ("small", ("add", "a.zarr", "cs_throughput"), "more"),
    "repair": ("damaged", ("verify", "a.zarr", "--repair"), "small"),
    **{f"export {e}": ("small", ("export", "a.zarr", f"out.{e}"), "small") for e in EXPORTS},
}
PLACES = {
    os: (
        *("write", "fsync", "open", "mkdir", "rename", "replace", "link", "unlink"),
        *("rmdir", "scandir", "stat"),
    ),
    io: ("open",),
}
ERRORS = (errno.EIO, errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT)
SHORT = "short"


class Fault:
    """Counts calls that concern a folder; lets the n-th of a kind fail, or all from it on."""

    def __init__(self, room: Path, kind: str = "", number: int = 0, what: Any = 0) -> None:
        self.room, self.kind, self.number, self.what = str(room), kind, number, what
        self.after = False
        self.counts: Counter[str] = Counter()
        self.lock = threading.Lock()

    def begin(self) -> None:
        for module, names in PLACES.items():
            for name in names:
                setattr(module, name, self._failing(f"{module.__name__}.{name}", module, name))

    def tell(self) -> None:
        """Write how many calls there were."""
        Path(f"{self.room}.counts").write_text(json.dumps(self.counts))

    def _concerns(self, name: str, given: tuple[Any, ...], more: dict[str, Any]) -> bool:
        if name in ("os.write", "os.fsync"):
            return bool(given[0] > 2)
        first = given[0] if given else None
        if not isinstance(first, (str, os.PathLike)):
            return False
        text = os.fspath(first)
        return more.get("dir_fd") is not None or os.path.abspath(text).startswith(self.room)

    def _failing(self, name: str, module: Any, attribute: str) -> Callable[..., Any]:
        inner = getattr(module, attribute)

        def call(*given: Any, **more: Any) -> Any:
            if not self._concerns(name, given, more):
                return inner(*given, **more)
            with self.lock:
                self.counts[name] += 1
                count = self.counts[name]
            if name == self.kind and (count == self.number or (self.after and count > self.number)):
                if self.what != SHORT:
                    raise OSError(self.what, os.strerror(self.what), str(given[0]))
                return inner(given[0], memoryview(given[1])[: max(len(given[1]) // 2, 1)])
            return inner(*given, **more)

        return call


def run_command(
    room: Path,
    command: tuple[str, ...],
    before: Callable[[], None] = lambda: None,
    after: Callable[[], None] = lambda: None,
) -> tuple[int, str]:
    """The status of a command in a process of its own, and what it said."""
    log = room.with_name(room.name + ".log")

    def work() -> None:
        os.chdir(room)
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for end in (1, 2):
            os.dup2(handle, end)
        before()
        status = 0
        try:
            program(list(command), prog_name="dse")
        except SystemExit as end:
            status = int(end.code or 0)
        after()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

    return exit_status(fork(work)), log.read_text()


class Faults:
    """Commands in a folder each, on stores that are copied there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, supply in (("small", '"smooth"'), ("large", '"sharp", "smooth"')):
            (folder / f"{name}.toml").write_text(STUDY.format(supply=supply))
        self.begun: dict[str, Path] = {}
        self.calm: dict[str, dict[str, bytes]] = {}
        self.counts: dict[str, Counter[str]] = {}
        self.ends: Counter[str] = Counter()
        for name, task in (("small", "run"), ("large", "extend"), ("more", "add")):
            room = self.room(f"calm {name}", task)
            status, message = run_command(room, TASKS[task][1])
            assert status == 0, message
            self.begun[name], self.calm[name] = room / "a.zarr", files(room / "a.zarr")
        self.exports = {}
        for task in TASKS:
            room = self.room(f"count {task}", task)
            fault = Fault(room)
            code, message = run_command(room, TASKS[task][1], fault.begin, fault.tell)
            assert code == 0, f"{task}: {message}"
            self.counts[task] = Counter(json.loads(Path(f"{room}.counts").read_text()))
            if task.startswith("export"):
                self.exports[task] = self.read_export(room, task)

    def room(self, name: str, task: str) -> Path:
        """A folder in which a task can begin."""
        room = self.folder / name
        room.mkdir()
        for study in ("small.toml", "large.toml"):
            shutil.copy(self.folder / study, room)
        how = TASKS[task][0]
        if how == "none":
            return room
        shutil.copytree(self.begun[how if how == "large" else "small"], room / "a.zarr")
        hidden = room / "a.zarr" / ".simt-dse"
        if how == "unfinished":
            for left in (hidden / "finished", hidden / "tiles" / "0.0.0.0"):
                left.unlink()
        if how == "damaged":
            (room / "a.zarr" / "bound" / "c.0.0.0").write_bytes(b"what it was not")
            (hidden / "tiles" / "0.1.0.0").unlink()
        return room

    def read_export(self, room: Path, task: str) -> Any:
        """Return the content of an export, read by another process."""

        def work() -> None:
            ds = dse.open(room / f"out.{task.split()[1]}").load()
            (room / "held").write_bytes(pickle.dumps(ds.to_dict()))

        assert exit_status(fork(work)) == 0
        values = repr(pickle.loads((room / "held").read_bytes()))
        (room / "held").unlink()
        return values

    def fault(self, number: int, seed: int) -> None:
        draw = random.Random(f"{seed} {number}")
        task = draw.choice(list(TASKS))
        room = self.room(f"fault {number}", task)
        begun = files(room / "a.zarr")
        command, wanted = TASKS[task][1:]
        fault, limit = Fault(room), 0
        if draw.random() < 0.15:
            limit = draw.randrange(1, 6000)
            story = f"{number} of {seed}: {task}, no file of more than {limit} bytes"
        else:
            kinds = sorted(self.counts[task])
            fault.kind = draw.choice(kinds)
            fault.number = draw.randrange(1, self.counts[task][fault.kind] + 1)
            writes = fault.kind == "os.write"
            fault.what = draw.choice([*ERRORS, *([SHORT] * 3 if writes else [])])
            fault.after = draw.random() < 0.4
            what = fault.what if fault.what == SHORT else errno.errorcode[fault.what]
            later = " and later" if fault.after else ""
            story = f"{number} of {seed}: {task}, {what} at {fault.kind} {fault.number}{later}"

        def limit_size() -> None:
            if limit:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            else:
                fault.begin()

        log = room.with_name(room.name + ".log")
        log.touch()
        status, message = run_command(room, command, limit_size)
        story += f"\nstatus {status}: {message}"
        # a study file that cannot be read is misuse of the command
        assert status in (0, 1) or (status == 2 and "small.toml" in message), story
        assert not re.search(r"Traceback|Exception ignored|Error in sys|Fatal", message), story
        assert status == 0 or "Error: " in message or limit, story
        self.ends["done" if status == 0 else "told"] += 1
        self.check_rest(room, task, status, begun, wanted, story)
        shutil.rmtree(room)
        log.unlink()

    def check_rest(
        self, room: Path, task: str, status: int, begun: Any, wanted: str, story: str
    ) -> None:
        """Check that leftovers are harmless and that the same command then completes."""
        out = room / f"out.{task.rpartition(' ')[2]}"
        exports = task.startswith("export")
        if status and not (exports and out.exists()):  # it was whole when something else failed
            again, message = run_command(room, TASKS[task][1])
            assert again == 0, f"{story}\nagain {again}: {message}"
        if exports:
            assert self.read_export(room, task) == self.exports[task], story
        assert files(room / "a.zarr") == self.calm[wanted], story
        others = {p.name for p in room.iterdir()} - {"small.toml", "large.toml", "a.zarr", out.name}
        if task == "fresh":
            stored = [files(room / name) for name in others if ".old-" in name]
            assert begun in stored, story
            others = {name for name in others if ".old-" not in name}
        # what a process that could not remove it has left is swept by the next that writes there
        # what could not be removed goes with the next writer
        swept = {name for name in others if name.startswith((".a.zarr.", f".{out.name}."))}
        free = {".a.zarr.lock"}  # the file of a lock that nobody holds
        assert not others - free - (swept if status == 0 else set()), (others, story)


def main(count: int, seed: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    cut_small(1 << 7)
    sweeps.nest.run.NUMPY_POINTS = 1 << 30  # nothing is compiled
    folder = Path(tempfile.mkdtemp()).resolve()
    faults = Faults(folder)
    began = time.monotonic()
    for number in range(count):
        faults.fault(number, seed)
    shutil.rmtree(folder)
    seconds = round(time.monotonic() - began, 1)
    return {"faults": count, "seed": seed, **faults.ends, "seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:3]))))
