"""A stored sweep through what happens to it: kills, damage, a full disk, others at the work."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import dse
import sweeps.nest.run
import sweeps.store.fill
import sweeps.store.layout
from dse import DseError, Study
from dse.cli import main
from sweeps.store.fill import TileWriter
from symbolic.errors import UnreachableError
from tests.dse.killing import STUDY, files
from tests.long import mostly_long
from tests.oracles.compare import identical

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tiles, computed by NumPy: nothing is compiled."""
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 1 << 11)
    monkeypatch.setattr(sweeps.store.layout, "TILE", 1 << 11)
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 1 << 30)


@pytest.fixture
def study() -> Study:
    return Study(**STUDY)


def plain(place: Path | str) -> xr.Dataset:
    """Open a store by plain xarray, with every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_zarr(place) as ds:
            return ds.load()


def assert_same(answer: xr.Dataset, expected: xr.Dataset) -> None:
    """The same values, types and attributes; labels are stored as text of any length."""
    identical(answer[list(expected.data_vars)].drop_vars("supply"), expected.drop_vars("supply"))
    assert answer.supply.values.tolist() == expected.supply.values.tolist()


@pytest.mark.parametrize("kills", mostly_long([2, 6], lambda k, _: k == 0))
def test_kills(kills: int) -> None:
    """More by ``python -m tests.dse.killing 200 1``."""
    command = [sys.executable, "-m", "tests.dse.killing", str(kills), "6"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kills"] == kills


def test_the_lock_of_a_killed_writer_goes_when_the_store_is_found_finished(
    study: Study, tmp_path: Path
) -> None:
    study.run(store=tmp_path / "a.zarr")
    lock = tmp_path / ".a.zarr.lock"
    lock.touch()
    study.run(store=tmp_path / "a.zarr")
    assert not lock.exists()


# --- what is stored


def test_it_is_the_dataset_of_a_run_in_memory(study: Study, tmp_path: Path) -> None:
    expected = study.run()
    result = study.run(store=tmp_path / "a.zarr")
    assert result.chunks
    assert_same(result.load(), expected)
    assert_same(plain(tmp_path / "a.zarr"), expected)
    assert result.cs_transition.dims == ()


@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_same_bytes_by_any_number_of_threads(
    study: Study, tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.run(store=tmp_path / "a.zarr")
    monkeypatch.setattr(sweeps.store.fill, "thread_count", lambda _: count)
    study.run(store=tmp_path / "b.zarr")
    assert files(tmp_path / "a.zarr") == files(tmp_path / "b.zarr")


def test_a_url(study: Study) -> None:
    import fsspec

    url = "memory://sweeps/url.zarr"
    expected = study.run()
    assert_same(study.run(store=url).load(), expected)
    assert_same(dse.open(url).load(), expected)
    assert_same(plain(url), expected)
    assert dse.verify(url).damages == ()
    fs = fsspec.filesystem("memory")
    fs.rm_file("/sweeps/url.zarr/bound/c.0.0.0")
    (damage,) = dse.verify(url, repair=True).damages
    assert damage.file == "bound/c.0.0.0"
    assert dse.verify(url).damages == ()
    with pytest.raises(DseError, match="is the store of another study"):
        Study(**{**STUDY, "where": ()}).run(store=url)
    Study(**{**STUDY, "where": ()}).run(store=url, fresh=True)
    assert_same(dse.open("memory://sweeps/url.old-1.zarr").load(), expected)
    with pytest.raises(DseError, match=r"does not exist|no zarr store"):
        dse.open("memory://nowhere.zarr")
    with pytest.raises(DseError, match="cannot be reached"):
        study.run(store="nosuch://x.zarr")


def test_an_object_store_that_was_begun_and_no_more(study: Study) -> None:
    import fsspec

    url, fs = "memory://sweeps/begun.zarr", fsspec.filesystem("memory")
    study.run(store=url)
    whole = {key: fs.cat_file(key) for key in fs.find("/sweeps/begun.zarr")}
    for key in whole:
        if not key.endswith("manifest"):
            fs.rm_file(key)
    study.run(store=url)
    assert {key: fs.cat_file(key) for key in fs.find("/sweeps/begun.zarr")} == whole


def test_the_command_speaks_urls(study: Study, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'model = "transit"\noutputs = ["cs_throughput"]\n[axes]\nthreads = [1, 2, 3]\n'
        "[set]\nintensity = 10\nlanes_width = 32\nms_peak = 1\nmem_latency = 600\n"
    )
    url, run = "memory://sweeps/cli.zarr", CliRunner().invoke
    result = run(main, ["run", str(tmp_path / "study.toml"), "--store", url, "--progress", "json"])
    assert result.exit_code == 0, result.output
    assert f"dataset: {url}" in result.stdout
    assert json.loads(result.stderr.splitlines()[-1])["done"] == 3
    result = run(main, ["optimum", url, "--maximize", "cs_throughput", "--json"])
    assert json.loads(result.stdout)["rows"][0]["threads"] == 3
    assert "no damage" in run(main, ["verify", url]).stdout


# --- who may write


def test_a_second_process_is_told(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    code = (
        "import sys, fcntl, time; file = open(sys.argv[1], 'ab'); fcntl.flock(file, fcntl.LOCK_EX);"
        "print('locked', flush=True); time.sleep(60)"
    )
    study.run(store=path)
    (path / ".simt-dse" / "tiles" / "0.0.0.0").unlink()
    command = [sys.executable, "-c", code, str(tmp_path / ".a.zarr.lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        for more in ({}, {"fresh": True}):
            with pytest.raises(DseError, match="is being written by another process"):
                study.run(store=path, **more)
        process.kill()
    study.run(store=path)  # a process that was killed holds no lock
    assert dse.verify(path).damages == ()


def test_two_that_begin_at_the_same_time(study: Study, tmp_path: Path) -> None:
    messages: list[str] = []
    gate = threading.Barrier(4)

    def run() -> None:
        mine = Study(**STUDY)
        gate.wait()
        try:
            mine.run(store=tmp_path / "a.zarr")
        except DseError as error:
            messages.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("another process" in text for text in messages)
    assert len(messages) < 4
    assert_same(study.run(store=tmp_path / "a.zarr").load(), study.run())
    assert [path.name for path in tmp_path.iterdir()] == ["a.zarr"]


def test_leftovers_are_swept(study: Study, tmp_path: Path) -> None:
    study.run(store=tmp_path / "calm.zarr")
    for kind in ("new", "gone", "next"):  # of processes that were killed
        (tmp_path / f".a.zarr.{kind}" / ".simt-dse").mkdir(parents=True)
    (tmp_path / ".a.zarr.lock").touch()
    study.run(store=tmp_path / "a.zarr")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zarr", "calm.zarr"]
    (tmp_path / "a.zarr" / ".simt-dse" / "tiles" / "0.0.0.0").unlink()
    (tmp_path / "a.zarr" / "bound" / "c.0.0.0.part").write_bytes(b"half")
    (damage, *_) = [d for d in dse.verify(tmp_path / "a.zarr").damages if ".part" in d.file]
    assert "left unfinished" in damage.problem
    study.run(store=tmp_path / "a.zarr")
    assert files(tmp_path / "a.zarr") == files(tmp_path / "calm.zarr")


# --- a full disk


def test_a_full_disk(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left, inner = 150_000, os.write

    def quota(handle: int, data: Any) -> int:
        nonlocal left
        if left <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = inner(handle, memoryview(data)[:left])  # at the end less than was asked for
        left -= written
        return written

    path = tmp_path / "a.zarr"
    monkeypatch.setattr(os, "write", quota)
    monkeypatch.setattr(sweeps.store.fill, "thread_count", lambda _: 3)
    with pytest.raises(DseError, match=r"No space left on device; [1-9][0-9]? of 21 t") as caught:
        study.run(store=path)
    assert "the same command continues" in str(caught.value)
    assert not [key for key in files(path) if key.endswith(".part")]
    stored, expected = plain(path), study.run()
    blank = stored.ms_throughput.isnull()
    assert bool((blank | (stored.ms_throughput == expected.ms_throughput)).all())
    assert dse.verify(path).pending
    left = 1 << 30
    study.run(store=path)
    study.run(store=tmp_path / "calm.zarr")
    assert files(path) == files(tmp_path / "calm.zarr")


# --- damage


def damage_file(path: Path, draw: random.Random) -> str:
    """Do something bad to a file; gives its key."""
    files_ = sorted(p for p in path.rglob("*") if p.is_file() and p.name != "lock")
    file = draw.choice(files_)
    data = bytearray(file.read_bytes())
    what = draw.choice(["flip", "cut", "remove", "zeros", "longer"])
    place = draw.randrange(len(data))
    if what == "flip":
        data[place] ^= 1 << draw.randrange(8)
    elif what == "cut":
        data = data[:place]
    elif what == "zeros":
        data[place] ^= 0xFF
        data[place + 1 :] = bytes(len(data) - place - 1)
    elif what == "longer":
        data += b"x"
    file.write_bytes(bytes(data))
    if what == "remove":
        file.unlink()
    return file.relative_to(path).as_posix()


@pytest.mark.parametrize("count", mostly_long([15, 50], lambda k, _: k == 0))
def test_corruptions(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    path = tmp_path / "a.zarr"
    study.run(store=path)
    whole, draw = files(path), random.Random(5)
    computed: list[str] = []
    inner = TileWriter.store

    def record_tile(self: TileWriter, tile: Any, *more: Any) -> Any:
        computed.append(tile.name)
        return inner(self, tile, *more)

    monkeypatch.setattr(TileWriter, "store", record_tile)
    for _ in range(count):
        key = damage_file(path, draw)
        computed.clear()
        result = dse.verify(path)
        assert [damage.file for damage in result.damages] == [key]
        assert not result.is_repaired
        repaired = dse.verify(path, repair=True)
        assert repaired.is_repaired
        assert sorted(computed) == [damage.tile for damage in repaired.damages if damage.tile]
        assert files(path) == whole


def test_damage_is_named(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    study.run(store=path)
    chunk = path / "ms_throughput" / "c.3.1.0"
    data = bytearray(chunk.read_bytes())
    data[7] ^= 16
    chunk.write_bytes(data)
    with pytest.raises(ValueError, match="checksum do not match"):
        plain(path)
    done = CliRunner().invoke(main, ["verify", str(path)])
    assert done.exit_code == 1
    assert done.stdout == (
        "damaged: ms_throughput/c.3.1.0: its checksum does not fit "
        "(tile 0.3.1.0: threads = 13 to 16, supply = sharp)\n"
    )
    result = CliRunner().invoke(main, ["verify", str(path), "--repair", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["damages"][0]["file"] == "ms_throughput/c.3.1.0"
    assert_same(plain(path), study.run())
    assert "21 tiles checked: no damage" in CliRunner().invoke(main, ["verify", str(path)]).stdout


def test_a_run_repairs_what_it_sees(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    study.run(store=path)
    whole = files(path)
    (path / "bound" / "c.1.0.0").write_bytes(b"short")
    (path / ".simt-dse" / "tiles" / "0.2.1.0").write_text("{}")
    (path / ".simt-dse" / "finished").unlink()
    heard: list[Any] = []
    study.run(store=path, progress=heard.append)
    assert files(path) == whole
    assert heard[-1].done == heard[-1].total
    assert heard[-1].done - heard[-1].skipped == 2 * 4 * 500


def test_the_study_of_a_store(tmp_path: Path) -> None:
    """Long axes, tables, zips and labels are found again; else the study file is asked for."""
    table = xr.DataArray([10.0, 20.0], {"supply": ["smooth", "sharp"]}, ["supply"])
    spec: dict[str, Any] = {
        "model": "transit",
        "axes": {
            "supply": ["smooth", "sharp"],
            "mem_latency": np.linspace(100, 900, 1500),
            "pair": {"zip": {"threads": [1, 32], "intensity": [4, 8.5]}},
        },
        "set": {"lanes_width": 32, "ms_peak": "0.5 + 0.1"},
        "where": ["ms_throughput <= 0.5"],
    }
    Study(**spec).run(store=tmp_path / "a.zarr", expand=True)
    assert dse.verify(tmp_path / "a.zarr").damages == ()
    (tmp_path / "a.zarr" / ".simt-dse" / "manifest").write_text("{")
    (damage,) = dse.verify(tmp_path / "a.zarr", repair=True).damages
    assert damage.file == ".simt-dse/manifest"
    axis = tmp_path / "a.zarr" / "mem_latency" / "c.0"
    axis.write_bytes(axis.read_bytes()[::-1])
    with pytest.raises(DseError, match=r"the axis mem_latency is damaged; or give the study file"):
        dse.verify(tmp_path / "a.zarr")
    assert dse.verify(tmp_path / "a.zarr", study=Study(**spec), repair=True).is_repaired
    with pytest.raises(DseError, match="is the store of another study"):
        dse.verify(
            tmp_path / "a.zarr", study=Study(**{**spec, "set": {**spec["set"], "ms_peak": 1}})
        )
    spec["axes"]["pair"] = {"zip": {"threads": [1, 32]}}
    spec["set"]["intensity"] = table
    Study(**spec).run(store=tmp_path / "b.zarr")
    assert dse.verify(tmp_path / "b.zarr").damages == ()
    with pytest.raises(DseError, match="does not exist"):
        dse.verify(tmp_path / "c.zarr")


# --- whose store it is

OWN = '''"""A model."""
import dse
from symbolic.ops import minimum
OUTPUTS = ("reach", "steps")
RULES = ("width <= 9",)
width = dse.quantity("width", domain="[0, inf)")
each = dse.quantity("each", domain="[0, inf)", default=1)
FACTOR = 2
@dse.equation(source="here")
def reach(width, each):
    """How far."""
    return width * 3 * each
def helper(width):
    return width * FACTOR
@dse.equation(source="here", table=True)
def steps(width):
    # how many
    return helper(width) + 1
'''


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("width * 3", "width * 4", "its equation of reach is another one"),
        ("FACTOR = 2", "FACTOR = 5", "its equation of steps is another one"),
        ("width * FACTOR", "width + FACTOR", "its equation of steps is another one"),
        ("width <= 9", "width <= 2", "its rule width <= 2 is another one"),
        ("default=1", "default=4", "its value of each is another one"),
        ("# how many", "# how many of them", None),
        ('"""How far."""', '"""How far it is."""', None),
    ],
)
def test_what_has_changed_in_a_model_is_named(
    old: str, new: str, message: str | None, tmp_path: Path
) -> None:
    def own(text: str) -> Study:
        (tmp_path / "own.py").write_text(text)
        return Study(model="own.py", axes={"width": [1, 2, 3]}, folder=tmp_path)

    own(OWN).run(store=tmp_path / "a.zarr")
    changed = own(OWN.replace(old, new))
    if message is None:
        assert changed.run(store=tmp_path / "a.zarr").steps.values.tolist() == [3, 5, 7]
        return
    with pytest.raises(DseError, match=message):
        changed.run(store=tmp_path / "a.zarr")


def test_an_equation_without_source_is_swept_and_not_stored(tmp_path: Path) -> None:
    table = OWN[OWN.index('@dse.equation(source="here", table=True)') :]
    made = f"scope = {{'dse': dse, 'helper': helper}}\nexec({table!r}, scope)\n"
    (tmp_path / "own.py").write_text(OWN.replace(table, f"{made}steps = scope['steps']\n"))
    study = Study(model="own.py", axes={"width": [1, 2, 3]}, folder=tmp_path)
    with pytest.raises(DseError, match=r"steps .* has no source text.* but not stored"):
        study.run(store=tmp_path / "a.zarr")
    assert study.run().steps.values.tolist() == [3, 5, 7]
    assert [path.name for path in tmp_path.iterdir()] == ["own.py"]


@pytest.mark.parametrize("change", ["edit", "remove"])
def test_a_model_file_counts_as_it_was_run(change: str, tmp_path: Path) -> None:
    """Changes of a model file between its import and the run do not affect the store."""
    own = tmp_path / "own.py"
    own.write_text(OWN)
    study = Study(model="own.py", axes={"width": [1, 2, 3]}, folder=tmp_path)
    if change == "edit":
        own.write_text(OWN.replace("FACTOR = 2", "FACTOR = 5"))
    else:
        own.unlink()
    assert study.run(store=tmp_path / "a.zarr").steps.values.tolist() == [3, 5, 7]
    own.write_text(OWN)
    again = Study(model="own.py", axes={"width": [1, 2, 3]}, folder=tmp_path)
    assert again.run(store=tmp_path / "a.zarr").steps.values.tolist() == [3, 5, 7]
    assert dse.verify(tmp_path / "a.zarr").damages == ()


def test_other_tiles_are_refused(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.run(store=tmp_path / "a.zarr")
    monkeypatch.setattr(sweeps.store.layout, "TILE", 1 << 10)
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 1 << 10)
    with pytest.raises(DseError, match="the same one, cut into other tiles"):
        study.run(store=tmp_path / "a.zarr")


def test_an_extension_that_was_stopped_is_kept_when_the_smaller_study_runs_again(
    study: Study, tmp_path: Path
) -> None:
    study.run(store=tmp_path / "a.zarr")
    begun = tmp_path / ".a.zarr.next" / ".simt-dse"
    begun.mkdir(parents=True)
    (begun / "manifest").write_bytes(b"{}")
    study.run(store=tmp_path / "a.zarr")
    assert (begun / "manifest").exists()


def test_a_store_of_an_earlier_version_says_what_to_do(study: Study, tmp_path: Path) -> None:
    study.run(store=tmp_path / "a.zarr")
    folder = tmp_path / "a.zarr" / ".simt-dse"
    (folder / "manifest").rename(folder / "identity")
    with pytest.raises(DseError, match=r"earlier version.*--fresh"):
        dse.open(tmp_path / "a.zarr")


def test_a_url_with_signs_that_match_other_objects_is_refused(study: Study) -> None:
    with pytest.raises(DseError, match=r"rename it"):
        study.run(store="memory://b/x[1].zarr")


def test_the_place_of_an_extension_is_no_name_that_users_give(study: Study) -> None:
    study.run(store="memory://c/x.next.zarr")
    study.run(store="memory://c/x.zarr")
    assert_same(dse.open("memory://c/x.next.zarr").load(), study.run())


def test_a_place_of_objects_that_refuses_a_lock_is_no_misuse(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "study.toml").write_text(
        'model = "transit"\n[axes]\nthreads = [1, 2]\n[set]\nintensity = 10\nlanes_width = 32\n'
        "ms_peak = 1\nmem_latency = 600\n"
    )
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", refuse)
    command = ["run", str(tmp_path / "study.toml"), "--store", "memory://refused/a.zarr"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1, result.output
    assert "memory://refused/a.zarr cannot be locked: " in result.stderr
    with pytest.raises(UnreachableError, match=r"cannot be locked: .*denied"):
        study.run(store="memory://refused/a.zarr")


def test_a_place_of_objects_that_fails_between_tiles_names_the_way_on(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    def drop_connection(*_: Any, **__: Any) -> None:
        raise ConnectionError("gone")

    def lose_store(*_: Any, **__: Any) -> None:
        raise UnreachableError("gone")

    url, way = "memory://between/a.zarr", "the same command continues"
    study.run(store=url)
    monkeypatch.setattr(MemoryFileSystem, "copy", drop_connection)
    with pytest.raises(UnreachableError, match=f"gone; what is stored stays, and {way}$"):
        dse.add(url, "thread_limit")
    monkeypatch.setattr(TileWriter, "store", lose_store)
    with pytest.raises(UnreachableError, match=f"gone; 0 of .* tiles are stored in .*; {way}$"):
        study.run(store="memory://between/b.zarr")
