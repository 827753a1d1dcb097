"""Stores that are not as they were written: what is lost is refused, found, and repaired.

More corruptions by ``python -m tests.sweeps.corrupting 200 1``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dse
import sweeps.nest.run
from dse import Study
from sweeps.store.records import decode_checked_json, encode_checked_json
from symbolic.errors import DamagedError, DseError
from tests.dse.killing import STUDY, files
from tests.long import long
from tests.sweeps.without_model import without_model

ROOT = Path(__file__).parents[2]
SPEC: dict[str, Any] = {**STUDY, "axes": {**STUDY["axes"], "mem_latency": [100, 101, 102]}}
LARGE: dict[str, Any] = {**SPEC, "axes": {**SPEC["axes"], "mem_latency": [100, 101, 102, 103]}}
ASKED: dict[str, Any] = {"maximize": "ms_throughput", "where": "threads <= 5"}


@pytest.fixture(autouse=True)
def no_nests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 1 << 30)


@long
def test_random_corruptions() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.sweeps.corrupting", "4", "7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["wrong"] == 0


@pytest.mark.parametrize("key", ["threads/c.0", "ms_throughput/c.0.0.0", "zarr.json"])
def test_what_is_lost_is_refused_where_it_is_read(key: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    Study(**SPEC).run(store=path).close()
    whole = files(path)
    (path / key).unlink()
    assert dse.optimum(path, **ASKED).identical(dse.optimum(Study(**SPEC), **ASKED))
    text = rf"{key}: it is missing; repair it with dse verify"
    with without_model(), pytest.raises(DamagedError, match=text):
        dse.optimum(path, **ASKED)
    with pytest.raises(DamagedError, match="it is missing"):
        dse.open(path).load()
    with pytest.raises(DamagedError, match="it is missing"):
        dse.export(dse.open(path), tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
    assert dse.verify(path, repair=True).is_repaired
    assert files(path) == whole


def test_a_chunk_in_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    Study(**SPEC).run(store=path, compression="none").close()  # both are as long
    whole = files(path)
    (path / "ms_throughput" / "c.0.0.0").write_bytes(whole["ms_throughput/c.0.1.0"])
    assert dse.optimum(path, **ASKED).identical(dse.optimum(Study(**SPEC), **ASKED))
    text = r"ms_throughput/c\.0\.0\.0: its checksum does not fit"
    with without_model(), pytest.raises(DamagedError, match=text):
        dse.optimum(path, **ASKED)
    (damage,) = dse.verify(path, repair=True).damages
    assert damage.file == "ms_throughput/c.0.0.0"
    assert files(path) == whole


@pytest.mark.parametrize("what", ["tiles", "manifest", "finished", "zarr.json"])
def test_parts_of_an_earlier_version(what: str, tmp_path: Path) -> None:
    path, earlier = tmp_path / "a.zarr", tmp_path / "b.zarr"
    Study(**SPEC).run(store=earlier).close()
    Study(**LARGE).run(store=path).close()
    whole = files(path)
    if what == "tiles":
        for key, data in files(earlier).items():
            if "/c." in key or "/tiles/" in key:
                (path / key).write_bytes(data)
    else:
        key = what if what == "zarr.json" else f".simt-dse/{what}"
        shutil.copy(earlier / key, path / key)
    try:
        best = dse.best_config(dse.optimum(path, **ASKED))
        assert best == dse.best_config(dse.optimum(Study(**LARGE).run(), **ASKED))
    except DseError:
        pass
    assert dse.verify(path).damages
    assert dse.verify(path, repair=True).is_repaired
    assert files(path) == whole
    assert not dse.verify(path).damages


@pytest.mark.parametrize("key", ["identity", "study", "chunks", "files"])
def test_a_whole_manifest_that_lacks_something_is_damage(key: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    Study(**SPEC).run(store=path).close()
    whole = files(path)
    manifest = path / ".simt-dse" / "manifest"
    tree = decode_checked_json(manifest.read_bytes())
    assert tree is not None
    for wrong in ({**tree, key: 5}, {each: tree[each] for each in tree if each != key}):
        manifest.write_bytes(encode_checked_json(wrong))
        for ask in (lambda: dse.open(path), lambda: dse.optimum(path, **ASKED)):
            with pytest.raises(DamagedError, match="manifest: it lacks the study, or the f"):
                ask()
        with pytest.raises(DseError, match="manifest is damaged; repair it with dse verify"):
            Study(**SPEC).run(store=path)
        assert dse.verify(path, repair=True).is_repaired
        assert files(path) == whole


def test_the_way_out_of_another_study_is_one_that_the_command_has(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    Study(**SPEC).run(store=path).close()
    other = Study(**LARGE)
    for ask in (
        lambda: dse.verify(path, study=other),
        lambda: dse.add(path, "cs_throughput", study=other),
    ):
        with pytest.raises(
            DseError, match=r"the store of another study.*--study to dse add"
        ) as caught:
            ask()
        assert "fresh" not in str(caught.value)


def test_the_study_tells_whose_store_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    Study(**SPEC).run(store=path).close()
    whole = files(path)
    for key in ("zarr.json", ".simt-dse/manifest"):
        (path / key).write_bytes(whole[key][:-3])
    with pytest.raises(DseError, match=r"both .* are damaged: give the study file"):
        dse.verify(path, repair=True)
    with pytest.raises(DseError, match=r"both .* are damaged"):
        dse.verify(path, repair=True, study=Study(**LARGE))
    assert dse.verify(path, repair=True, study=Study(**SPEC)).is_repaired
    assert files(path) == whole


def test_all_that_is_said_of_an_earlier_version(tmp_path: Path) -> None:
    path, earlier = tmp_path / "a.zarr", tmp_path / "b.zarr"
    Study(**SPEC).run(store=earlier).close()
    Study(**LARGE).run(store=path).close()
    whole = files(path)
    shutil.copytree(earlier / ".simt-dse", path / ".simt-dse", dirs_exist_ok=True)
    with pytest.raises(DseError, match=r"from several stores.*give the study file"):
        dse.verify(path, repair=True)
    with pytest.raises(DseError):
        dse.open(path).load()
    assert dse.verify(path, repair=True, study=Study(**LARGE)).is_repaired
    assert files(path) == whole


def test_what_does_not_belong_to_it_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    Study(**SPEC).run(store=path).close()
    whole = files(path)
    (path / "bound" / "notes.txt").write_text("mine")
    (damage,) = dse.verify(path).damages
    assert str(damage) == "bound/notes.txt: it does not belong to the store"
    result = dse.verify(path, repair=True)
    assert result.moved_to is not None
    assert (Path(result.moved_to) / "bound" / "notes.txt").read_text() == "mine"
    assert files(path) == whole
