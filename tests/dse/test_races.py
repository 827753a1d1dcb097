"""Several processes on one store, moment by moment: what a name means is decided under its lock."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
import sweeps.files.whole
import sweeps.nest.run
import sweeps.store.folder
import sweeps.store.holders
import sweeps.store.locks
from dse import DseError, Study
from dse.cli import main
from dse.runner import run_study
from sweeps.store import swap
from sweeps.store.folder import Folder
from sweeps.store.locks import locked
from sweeps.store.objects import Objects
from symbolic.errors import OtherProcessError
from tests.dse.killing import files
from tests.long import long

ROOT = Path(__file__).parents[2]
SPEC: dict[str, Any] = {
    "model": "transit",
    "axes": {"threads": [1, 2, 3], "supply": ["smooth"], "mem_latency": list(range(100, 110))},
    "set": {"intensity": 10, "lanes_width": 32, "ms_peak": 0.7},
    "outputs": ["ms_throughput", "bound"],
}
SMALL = Study(**SPEC)
LARGE = Study(**{**SPEC, "axes": {**SPEC["axes"], "supply": ["sharp", "smooth"]}})
BUSY = "is being written by another process"
OTHER = "is the store of another study"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps.nest.run, "SMALL", 1 << 30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    SMALL.run(store=tmp_path / "a.zarr")
    return tmp_path / "a.zarr"


def grown(path: Path) -> dict[str, bytes]:
    LARGE.run(store=path.with_name("large.zarr"))
    return files(path.with_name("large.zarr"))


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, kind: Any, name: str, what: Callable[[], Any]
) -> list[Any]:
    """Does something once, just before a function is called for the first time."""
    inner, done = getattr(kind, name), []

    def first(*given: Any, **more: Any) -> Any:
        if not done:
            done.append(None)
            done.append(what())
        return inner(*given, **more)

    monkeypatch.setattr(kind, name, first)
    return done


# --- exchanges of names


def test_a_lock_is_that_of_the_folder_that_has_the_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where another takes its place at the moment of locking."""
    other = path.with_name("other.zarr")
    shutil.copytree(path, other)

    def moved() -> None:
        path.rename(path.with_name("old.zarr"))
        other.rename(path)

    assert meanwhile(monkeypatch, sweeps.store.locks, "_flock", moved) == []
    with (
        locked(path, "a.zarr"),
        pytest.raises(OtherProcessError, match=BUSY),
        locked(path, "a.zarr"),
    ):
        raise AssertionError("two hold the lock of one store")


@pytest.mark.parametrize("exchange", [True, False])
def test_nobody_settles_what_is_being_exchanged(
    path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(sweeps.store.folder, "exchanged", lambda one, other: False)
    right, said = grown(path), []

    def others() -> None:
        for ask in (
            lambda: dse.verify(path),
            lambda: dse.verify(path, repair=True),
            lambda: LARGE.run(store=path, extend=True),
            lambda: SMALL.run(store=path, fresh=True),
            lambda: dse.add(path, "cs_throughput"),
        ):
            with pytest.raises(OtherProcessError, match=BUSY):
                ask()
            said.append(ask)

    meanwhile(monkeypatch, Folder, "swap", others)
    LARGE.run(store=path, extend=True)
    assert len(said) == 5
    assert files(path) == right
    assert sorted(other.name for other in path.parent.iterdir()) == ["a.zarr", "large.zarr"]


def test_what_a_killed_process_began_is_ended_by_whoever_comes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the renames of a system that exchanges no names, nothing stands under the name."""
    right = grown(path)
    monkeypatch.setattr(sweeps.store.folder, "exchanged", lambda one, other: False)
    for count in (0, 1, 2):
        for come in (
            lambda: dse.verify(path),
            lambda: dse.add(path, "bound"),
            lambda: LARGE.run(store=path),
        ):
            shutil.rmtree(path, ignore_errors=True)
            SMALL.run(store=path)
            left, inner = [count], Path.rename

            def dying(self: Path, to: Any, left: Any = left, inner: Any = inner) -> Any:
                if ".next" in f"{self}{to}" and ".part" not in f"{self}{to}":
                    if not left[0]:
                        raise KeyboardInterrupt
                    left[0] -= 1
                return inner(self, to)

            with monkeypatch.context() as patch:
                patch.setattr(Path, "rename", dying)
                with pytest.raises(KeyboardInterrupt):
                    LARGE.run(store=path, extend=True)
            come()
            assert files(path) == right
            assert sorted(p.name for p in path.parent.iterdir()) == ["a.zarr", "large.zarr"]


# --- the lock of a store that was replaced


def test_a_lock_of_a_store_that_was_replaced_is_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repair that had read whose store it is, and not locked it, when it was extended."""
    right = grown(path)
    meanwhile(monkeypatch, fcntl, "flock", lambda: LARGE.run(store=path, extend=True))
    assert dse.verify(path, repair=True).damages == ()
    assert files(path) == right


def test_a_run_decides_whose_store_it_is_under_the_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = grown(path)
    (path / ".simt-dse" / "finished").unlink()
    (path / "bound" / "c.0.0.0").unlink()

    def extended() -> None:
        SMALL.run(store=path)
        LARGE.run(store=path, extend=True)

    meanwhile(monkeypatch, swap, "claimed", extended)
    monkeypatch.setattr("dse.storing.claimed", swap.claimed)
    with pytest.raises(DseError, match=OTHER):
        SMALL.run(store=path)
    assert files(path) == right


def test_fresh_beside_a_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process begins in the moment in which nothing stands under the name."""
    small = files(path)
    meanwhile(monkeypatch, Folder, "create", lambda: LARGE.run(store=path))
    with pytest.raises(DseError, match=r"at the same time; what was there before is at .*old-1"):
        SMALL.run(store=path, fresh=True)
    assert files(path.with_name("a.old-1.zarr")) == small
    assert files(path) == grown(path)


# --- who has opened a store


def test_an_opened_store_stays_the_one_it_was(path: Path) -> None:
    opened, again = dse.open(path), dse.open(path)
    loaded, written = dse.open(path).load(), run_study(SMALL, store=path)
    best = dse.optimum(opened, maximize="ms_throughput")
    dse.add(path, "cs_throughput")  # it still holds all that was there
    assert written.open().load().equals(loaded)
    assert opened.ms_throughput.load().equals(loaded.ms_throughput)
    assert dse.optimum(again, maximize="ms_throughput").identical(best)
    more = {**SPEC["axes"], "supply": ["sharp", "smooth"]}
    Study(**{**SPEC, "axes": more}).run(store=path, extend=True)
    for ask in (
        lambda: again.bound.load(),
        lambda: dse.optimum(again, maximize="ms_throughput"),
        lambda: dse.derive(again, "ms_transition"),
        lambda: dse.export(again, path.with_name("a.nc")),
        written.open,
    ):
        with pytest.raises(OtherProcessError, match="since it was opened: open it again"):
            ask()
    assert dse.optimum(loaded, maximize="ms_throughput").ms_throughput == best.ms_throughput
    shutil.rmtree(path)
    with pytest.raises(OtherProcessError, match="since it was opened"):
        dse.optimum(again, maximize="ms_throughput")


def test_a_question_reads_one_store(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is extended between what a question reads: another file each time."""
    right = dse.optimum(SMALL.run(), maximize="ms_throughput", where="bound == 0 or bound == 1")
    grown(path)
    inner, count = Folder.get, [0, 0]

    def get(self: Folder, key: str) -> bytes:
        count[1] += 1
        if count[1] == count[0]:
            shutil.rmtree(path)
            os.rename(path.with_name("other.zarr"), path)
        return inner(self, key)

    for turn in range(1, 9):
        shutil.rmtree(path)
        SMALL.run(store=path)
        shutil.copytree(path.with_name("large.zarr"), path.with_name("other.zarr"))
        count[:] = turn, 0
        with monkeypatch.context() as patch:
            patch.setattr(Folder, "get", get)
            try:
                found = dse.optimum(path, maximize="ms_throughput")
            except OtherProcessError:
                continue
        large = dse.optimum(LARGE.run(), maximize="ms_throughput")
        held = [float(each.ms_throughput) for each in (right, large)]
        assert float(found.ms_throughput) in held
        shutil.rmtree(path.with_name("other.zarr"), ignore_errors=True)


# --- without locks, and without permission to write


@pytest.mark.parametrize("reason", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_there_are_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    def none(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(fcntl, "flock", none)
    path = tmp_path / "a.zarr"
    right = grown(path)
    SMALL.run(store=path)
    seen: list[str] = []

    def others() -> None:
        assert json.loads((path / ".simt-dse" / "lock.held").read_text())["process"] == os.getpid()
        for ask in (lambda: dse.verify(path), lambda: SMALL.run(store=path, fresh=True)):
            with pytest.raises(
                OtherProcessError, match=r"no locks on this file system.*lock\.held"
            ):
                ask()
            seen.append("refused")

    meanwhile(monkeypatch, Folder, "swap", others)
    LARGE.run(store=path, extend=True)
    assert seen == ["refused"] * 2
    assert files(path) == right
    # a process that was killed holds none; what runs elsewhere may do so
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    held = path / ".simt-dse" / "lock.held"
    mine = sweeps.store.holders.holder()
    held.write_text(json.dumps({**mine, "process": gone.pid, "id": "x"}))
    assert dse.verify(path, repair=True).damages == ()
    held.write_text(json.dumps({**mine, "began": "1", "id": "x"}))  # the number is used again
    assert dse.verify(path, repair=True).damages == ()
    for holder in ({**mine, "host": "elsewhere"}, mine):
        held.write_text(json.dumps({**holder, "id": "x"}))
        for repair in (False, True):
            with pytest.raises(
                OtherProcessError, match=f"process {os.getpid()} of {holder['host']}"
            ):
                dse.verify(path, repair=repair)
    held.unlink()
    assert files(path) == right


def test_locks_that_name_their_holder_exclude(tmp_path: Path) -> None:
    """Many threads that take over the lock of a holder that is gone: one at a time has it."""
    hidden = tmp_path / ".simt-dse"
    hidden.mkdir()
    (hidden / "lock.held").write_text(
        json.dumps({**sweeps.store.holders.holder(), "began": "1", "id": "gone"})
    )
    inside, most, done = [0], [0], [0]
    here = os.open(hidden, os.O_RDONLY)

    def work() -> None:
        for _ in range(200):
            try:
                with sweeps.store.holders.held_by_name(here, hidden, "a", True):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    inside[0] -= 1
                    done[0] += 1
            except OtherProcessError:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(here)
    assert most[0] == 1
    assert done[0] > 0
    assert list(hidden.iterdir()) == []


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on nothing can be made or written, as on a file system that is mounted so."""
    inner = os.open

    def opened(name: Any, flags: int, *more: Any, **rest: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(name))
        return inner(name, flags, *more, **rest)

    return lambda: monkeypatch.setattr(os, "open", opened)


@pytest.mark.parametrize("lock", [True, False])
def test_a_store_that_can_only_be_read(
    path: Path, lock: bool, read_only: Callable[[], None]
) -> None:
    if not lock:
        (path / ".simt-dse" / "lock").unlink()
    read_only()
    assert dse.verify(path).damages == ()
    assert SMALL.run(store=path).sizes["threads"] == 3  # nothing to do
    assert dse.optimum(path, maximize="ms_throughput").ms_throughput > 0
    with pytest.raises(DseError, match=r"the lock of .* cannot be taken .*Read-only file system"):
        dse.verify(path, repair=True)
    (path / "bound" / "c.0.0.0").unlink()
    assert [damage.file for damage in dse.verify(path).damages] == ["bound/c.0.0.0"]


def test_links_in_a_circle(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    path.symlink_to(tmp_path / "b.zarr")
    (tmp_path / "b.zarr").symlink_to(path)
    for ask in (
        lambda: SMALL.run(store=path),
        lambda: SMALL.run(store=path, fresh=True),
        lambda: SMALL.run(store=path, extend=True),
        lambda: dse.verify(path),
        lambda: dse.add(path, "bound"),
    ):
        with pytest.raises(DseError, match=r"a\.zarr cannot be reached: Too many levels"):
            ask()


# --- exports


@pytest.mark.parametrize("ending", ["nc", "csv", "parquet", "zarr"])
def test_what_a_killed_export_left_is_swept(
    path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what another one is writing is not."""
    out = path.with_name(f"out.[{ending}].{ending}")  # letters that patterns know

    def second() -> None:
        left = out.with_name(f".{out.name}.0123abcd.part")
        (left / ".simt-dse").mkdir(parents=True)
        (left / ".simt-dse" / "lock").touch()
        (left / out.name).write_text("half")
        begun = left.with_name(f".{out.name}.4567abcd.part")
        begun.mkdir()
        dse.export(dse.open(path), out)
        assert not left.exists()
        assert not begun.exists()

    done = meanwhile(monkeypatch, sweeps.files.whole, "_give_name", second)
    with pytest.raises(DseError, match="exists: remove it, or choose another name"):
        dse.export(dse.open(path), out)
    assert len(done) == 2
    assert dse.open(out).ms_throughput.load().equals(SMALL.run().ms_throughput)
    assert sorted(p.name for p in path.parent.iterdir()) == ["a.zarr", out.name]


def test_an_export_that_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = path.with_name("out.nc")

    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    def none(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    for kind, name, instead, said in (
        (
            "os",
            "pwrite",
            broken,
            r"Input/output error \([0-9,]+ bytes are free there\)",
        ),
        (
            "threading.Thread",
            "start",
            none,
            r"can't start new thread|no more threads can be started",
        ),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"{kind}.{name}", instead)
            done = CliRunner().invoke(main, ["export", str(path), str(out)])
        assert done.exit_code == 1, done.output
        assert re.search(said, done.output), done.output
    assert sorted(p.name for p in path.parent.iterdir()) == ["a.zarr"]


# --- drawn


@long
@pytest.mark.parametrize(
    ("program", "count", "seed"),
    [("interleaving", "3", "1"), ("faults", "4", "1")],
)
def test_some_that_are_drawn(program: str, count: str, seed: str) -> None:
    """More by the same commands with another count and seed."""
    command = [sys.executable, "-m", f"tests.dse.{program}", count, seed]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["seed"] == int(seed)


# --- where several objects are no folder


def test_an_exchange_of_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not done at once: one process at a time, and who comes in between is told."""
    import fsspec

    fs, url = fsspec.filesystem("memory"), "memory://races/a.zarr"

    def objects() -> dict[str, bytes]:
        return {key.removeprefix("/races/a.zarr"): fs.cat_file(key) for key in fs.find("/races")}

    LARGE.run(store=url)
    right = objects()
    fs.rm("/races", recursive=True)
    SMALL.run(store=url)
    opened, inner = dse.open(url), Objects.swap

    def stopped(self: Objects, other: Objects) -> None:
        for ask in (
            lambda: dse.verify(url, repair=True),
            lambda: LARGE.run(store=url, extend=True),
        ):
            with pytest.raises(OtherProcessError, match=r"if it runs no more, remove .*a\.lock"):
                ask()
        monkeypatch.setattr(Objects, "remove", lambda self: killed())
        inner(self, other)

    def killed() -> None:
        monkeypatch.undo()
        monkeypatch.setattr(sweeps.nest.run, "SMALL", 1 << 30)
        raise KeyboardInterrupt

    monkeypatch.setattr(Objects, "swap", stopped)
    with pytest.raises(KeyboardInterrupt):
        LARGE.run(store=url, extend=True)
    for ask in (lambda: dse.open(url), lambda: dse.optimum(url, maximize="ms_throughput")):
        with pytest.raises(OtherProcessError, match=r"let dse verify memory.*to its end"):
            ask()
    with pytest.raises(OtherProcessError, match="since it was opened"):
        opened.bound.load()
    assert dse.verify(url).damages == ()
    assert objects() == right


def test_a_store_that_is_replaced_while_it_is_asked_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two looks at its place another process removes the store."""
    path = tmp_path / "a.zarr"
    from sweeps.files import written

    real = written.is_finished

    def gone(place: Any) -> Any:
        found = real(place)
        shutil.rmtree(place)
        return found

    SMALL.run(store=path)
    opened = dse.open(path)
    monkeypatch.setattr(written, "is_finished", gone)
    with pytest.raises(DseError, match=r"does not exist"):
        dse.optimum(path, maximize="ms_throughput")
    SMALL.run(store=path)
    for source in (opened, dse.open(path)):
        with pytest.raises(DseError, match=r"another process has .* since it was opened"):
            dse.optimum(source, maximize="ms_throughput")


def test_what_a_killed_process_left_of_an_exchange_is_swept(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    SMALL.run(store=path)
    for left in ("..a.zarr.next.c54c8fe3.part", ".a.zarr.0f54c8fe.part"):
        (tmp_path / left / "c").mkdir(parents=True)
        dse.verify(path, repair=True)
        assert [p.name for p in tmp_path.iterdir()] == ["a.zarr"]
