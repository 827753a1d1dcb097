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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
import sweeps.files.atomic_write
import sweeps.nest.run
import sweeps.store.backend
import sweeps.store.lock
from dse import DseError, Study
from dse.cli import main
from dse.runs.run import run_study
from sweeps.store.backend import LocalBackend, RemoteBackend, backend_of
from sweeps.store.lock import write_lock
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
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 1 << 30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    SMALL.run(store=tmp_path / "a.zarr")
    return tmp_path / "a.zarr"


def run_large(path: Path) -> dict[str, bytes]:
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


def test_the_lock_of_a_place_excludes_others(path: Path) -> None:
    """Whatever stands there, and by whatever name it is called."""
    link = path.with_name("link.zarr")
    link.symlink_to(path)
    for other in (path, link):
        with (
            write_lock(backend_of(path)),
            pytest.raises(OtherProcessError, match=BUSY),
            write_lock(backend_of(other)),
        ):
            raise AssertionError("two hold the lock of one store")
    assert sorted(each.name for each in path.parent.iterdir()) == ["a.zarr", "link.zarr"]


@pytest.mark.parametrize("exchange", [True, False])
def test_nobody_settles_what_is_being_exchanged(
    path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(sweeps.store.backend, "_exchange_names", lambda one, other: False)
    right, message = run_large(path), []

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
            message.append(ask)

    meanwhile(monkeypatch, LocalBackend, "replace_by", others)
    LARGE.run(store=path, extend=True)
    assert len(message) == 5
    assert files(path) == right
    assert sorted(other.name for other in path.parent.iterdir()) == ["a.zarr", "large.zarr"]


def test_what_a_killed_process_began_is_ended_by_whoever_comes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that cannot exchange names has no store between two renames."""
    right = run_large(path)
    monkeypatch.setattr(sweeps.store.backend, "_exchange_names", lambda one, other: False)
    for count in (0, 1, 2):
        for come in (
            lambda: LARGE.run(store=path, extend=True),
            lambda: dse.verify(path),
        ):
            shutil.rmtree(path, ignore_errors=True)
            SMALL.run(store=path)
            small, left, inner = files(path), [count], os.rename

            def dying(one: Any, to: Any, left: Any = left, inner: Any = inner) -> None:
                if ".a.zarr." in f"{one}{to}":
                    if not left[0]:
                        raise KeyboardInterrupt
                    left[0] -= 1
                inner(one, to)

            with monkeypatch.context() as patch:
                patch.setattr(os, "rename", dying)
                with pytest.raises(KeyboardInterrupt):
                    LARGE.run(store=path, extend=True)
            come()
            assert files(path) in (small, right)
            LARGE.run(store=path, extend=True)
            assert files(path) == right
            assert sorted(p.name for p in path.parent.iterdir()) == ["a.zarr", "large.zarr"]


# --- the lock of a store that was replaced


def test_a_run_decides_whose_store_it_is_under_the_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = run_large(path)
    (path / ".simt-dse" / "finished").unlink()
    (path / "bound" / "c.0.0.0").unlink()

    def extend() -> None:
        SMALL.run(store=path)
        LARGE.run(store=path, extend=True)

    meanwhile(monkeypatch, sweeps.store.lock, "write_lock", extend)
    monkeypatch.setattr("dse.runs.store.write_lock", sweeps.store.lock.write_lock)
    with pytest.raises(DseError, match=OTHER):
        SMALL.run(store=path)
    assert files(path) == right


def test_fresh_beside_a_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the moment in which nothing stands under the name another process is refused."""
    small, message = files(path), []

    def other() -> None:
        with pytest.raises(OtherProcessError, match=BUSY):
            LARGE.run(store=path)
        message.append(1)

    meanwhile(monkeypatch, LocalBackend, "create", other)
    SMALL.run(store=path, fresh=True)
    assert message
    assert files(path.with_name("a.old-1.zarr")) == files(path) == small


def test_fresh_that_cannot_begin_brings_back_what_was_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = files(path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LocalBackend, "create", full)
    with pytest.raises(DseError, match="No space left"):
        SMALL.run(store=path, fresh=True)
    assert files(path) == small
    assert [p.name for p in path.parent.iterdir()] == ["a.zarr"]


# --- who has opened a store


def test_an_opened_store_stays_the_one_it_was(path: Path) -> None:
    again = dse.open(path)
    loaded, written = dse.open(path).load(), run_study(SMALL, store=path)
    best = dse.optimum(again, maximize="ms_throughput")
    assert written.open_dataset().load().equals(loaded)
    dse.add(path, "cs_throughput")
    for ask in (
        lambda: again.bound.load(),
        lambda: dse.optimum(again, maximize="ms_throughput"),
        lambda: dse.derive(again, "ms_transition"),
        lambda: dse.export(again, path.with_name("a.nc")),
        written.open_dataset,
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
    run_large(path)
    inner, count = LocalBackend.get, [0, 0]

    def get(self: LocalBackend, key: str) -> bytes:
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
            patch.setattr(LocalBackend, "get", get)
            try:
                result = dse.optimum(path, maximize="ms_throughput")
            except OtherProcessError:
                continue
        large = dse.optimum(LARGE.run(), maximize="ms_throughput")
        values = [float(each.ms_throughput) for each in (right, large)]
        assert float(result.ms_throughput) in values
        shutil.rmtree(path.with_name("other.zarr"), ignore_errors=True)


# --- without locks, and without permission to write


@pytest.mark.filterwarnings("ignore:flock not supported")
@pytest.mark.parametrize("reason", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_there_are_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    """A file that names its holder stands for one."""

    def none(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(fcntl, "flock", none)
    path = tmp_path / "a.zarr"
    right = run_large(path)
    SMALL.run(store=path)
    seen: list[str] = []

    def others() -> None:
        assert str(os.getpid()) in (tmp_path / ".a.zarr.lock").read_text()
        for ask in (lambda: dse.verify(path), lambda: SMALL.run(store=path, fresh=True)):
            with pytest.raises(OtherProcessError, match=BUSY):
                ask()
            seen.append("refused")

    meanwhile(monkeypatch, LocalBackend, "replace_by", others)
    LARGE.run(store=path, extend=True)
    assert seen == ["refused"] * 2
    assert files(path) == right
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zarr", "large.zarr"]
    # a process that was killed holds none
    code = (
        "import os, sys, filelock; lock = filelock.SoftFileLock(sys.argv[1]);"
        "lock.acquire(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / ".a.zarr.lock")])
    assert (tmp_path / ".a.zarr.lock").exists()
    assert dse.verify(path, repair=True).damages == ()


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on nothing can be made or written, as on a file system that is mounted so."""
    inner = os.open

    def refuse_writing(name: Any, flags: int, *more: Any, **rest: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(name))
        return inner(name, flags, *more, **rest)

    return lambda: monkeypatch.setattr(os, "open", refuse_writing)


def test_a_store_that_can_only_be_read(
    path: Path, read_only: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    read_only()
    assert SMALL.run(store=path).sizes["threads"] == 3  # nothing to do
    assert dse.optimum(path, maximize="ms_throughput").ms_throughput > 0
    with pytest.raises(DseError, match=r"cannot be locked .*Read-only file system|cannot write in"):
        dse.verify(path, repair=True)
    monkeypatch.setattr(os, "access", lambda *_: False)  # as a file system that is mounted so says
    assert dse.verify(path).damages == ()
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
        left.mkdir()
        left.with_suffix(".lock").touch()
        (left / out.name).write_text("half")
        begun = left.with_name(f".{out.name}.4567abcd.lock")
        begun.touch()
        dse.export(dse.open(path), out)
        assert not left.exists()
        assert not begun.exists()

    done = meanwhile(monkeypatch, sweeps.files.atomic_write, "_rename_into_place", second)
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

    for kind, name, instead, message in (
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
        assert re.search(message, done.output), done.output
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
    opened, inner = dse.open(url), RemoteBackend.replace_by

    def replace_and_stop(self: RemoteBackend, other: RemoteBackend) -> None:
        for ask in (
            lambda: dse.verify(url, repair=True),
            lambda: LARGE.run(store=url, extend=True),
        ):
            with pytest.raises(OtherProcessError, match=r"if it no longer runs, remove .*a\.lock"):
                ask()
        monkeypatch.setattr(RemoteBackend, "remove", lambda self: kill())
        inner(self, other)

    def kill() -> None:
        monkeypatch.undo()
        monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 1 << 30)
        raise KeyboardInterrupt

    monkeypatch.setattr(RemoteBackend, "replace_by", replace_and_stop)
    with pytest.raises(KeyboardInterrupt):
        LARGE.run(store=url, extend=True)
    for ask in (lambda: dse.open(url), lambda: dse.optimum(url, maximize="ms_throughput")):
        with pytest.raises(
            OtherProcessError, match=r"finish the replacement with dse verify"
        ):
            ask()
    assert opened.bound.load().equals(SMALL.run().bound)  # which is there still
    assert dse.verify(url).damages == ()
    assert objects() == right
