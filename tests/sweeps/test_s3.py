"""A store in an object store: a real S3 server, spoken to over HTTP."""

from __future__ import annotations

import gc
import random
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from click.testing import CliRunner

import dse
import sweeps.nest.run
import sweeps.store.layout
from dse import DseError, Study
from dse.cli import main
from sweeps.store.backend import RemoteBackend
from tests.dse.killing import STUDY, files
from tests.long import long

URL = "s3://sweeps/deep/run.zarr"


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """An S3 server in this process; the endpoint is told as to any program that speaks S3."""
    import s3fs
    from moto.server import ThreadedMotoServer

    gc.freeze()  # what is there now need not be looked through when clients are let go of
    with pytest.MonkeyPatch.context() as patch:
        made = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        made.start()
        host, port = made.get_host_and_port()
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        yield s3fs.S3FileSystem()
        end_process(s3fs.S3FileSystem)
        made.stop()
    gc.unfreeze()


def end_process(kind: Any) -> None:
    """Let go of what speaks to the server; what comes next reads the environment anew."""
    kind.clear_instance_cache()
    with warnings.catch_warnings():
        # zarr's sessions belong to an event loop of its own and are ended with it
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def bucket(server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An empty bucket; tiles are few and small."""
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 1 << 14)
    monkeypatch.setattr(sweeps.store.layout, "TILE", 1 << 14)
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 1 << 30)
    server.mkdir("sweeps")
    yield server
    server.rm("sweeps", recursive=True)


def objects(fs: Any, url: str = URL) -> dict[str, bytes]:
    root = url.removeprefix("s3://")
    fs.invalidate_cache()
    return {path[len(root) + 1 :]: data for path, data in fs.cat(fs.find(root)).items()}


@long
def test_the_bytes_of_a_folder_whatever_happens(bucket: Any, tmp_path: Path) -> None:
    study = Study(**STUDY)
    study.run(store=tmp_path / "calm.zarr")
    calm = files(tmp_path / "calm.zarr")
    ds = study.run(store=URL)
    assert objects(bucket) == calm
    for opened in (ds, dse.open(URL), xr.open_zarr(URL)):
        assert opened.ms_throughput.dims == ("threads", "supply", "mem_latency")
    expected = study.run()
    assert ds.ms_throughput.load().equals(expected.ms_throughput)
    best = dse.optimum(dse.open(URL), maximize="ms_throughput")
    assert best.ms_throughput == dse.optimum(expected, maximize="ms_throughput").ms_throughput
    # lost and damaged objects
    draw, damaged = random.Random(1), "bound/c.0.1.0"
    data = bytearray(calm[damaged])
    data[draw.randrange(len(data))] ^= 1
    bucket.pipe_file(f"sweeps/deep/run.zarr/{damaged}", bytes(data))
    assert [d.file for d in dse.verify(URL).damages] == [damaged]
    assert dse.verify(URL, repair=True).is_repaired
    assert objects(bucket) == calm
    bucket.rm_file("sweeps/deep/run.zarr/.simt-dse/tiles/0.1.0.0")
    bucket.rm_file("sweeps/deep/run.zarr/.simt-dse/finished")
    assert dse.verify(URL).damages
    events: list[Any] = []
    study.run(store=URL, progress=events.append)
    assert events[-1].skipped == events[-1].total - events[0].done + events[0].skipped
    assert objects(bucket) == calm


@long
def test_another_study_is_refused_and_begun_afresh(bucket: Any, tmp_path: Path) -> None:
    study = Study(**STUDY)
    study.run(store=tmp_path / "calm.zarr")
    calm = files(tmp_path / "calm.zarr")
    study.run(store=URL)
    other = Study(**{**STUDY, "set": {**STUDY["set"], "ms_peak": 0.6}})
    with pytest.raises(DseError, match=r"is the store of another study \(the value of ms_peak"):
        other.run(store=URL)
    other.run(store=URL, fresh=True)
    assert objects(bucket, "s3://sweeps/deep/run.old-1.zarr") == calm
    assert dse.verify(URL).damages == ()


@pytest.mark.usefixtures("bucket")
def test_what_another_host_has_set_is_seen_whatever_list_of_names_is_kept() -> None:
    import s3fs

    place, other = RemoteBackend(URL), s3fs.S3FileSystem(skip_instance_cache=True)
    place.put("tiles/0", b"first")
    assert list(place.sizes("tiles")) == ["0"]  # s3fs keeps this list
    other.pipe_file(f"{URL}/tiles/1", b"second")
    assert place.get("tiles/1") == b"second"
    with pytest.raises(FileNotFoundError):
        place.get("tiles/2")


@long
def test_two_that_begin_at_the_same_moment(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = {**STUDY, "outputs": ["ms_throughput"], "where": ()}
    one = Study(**spec)
    other = Study(**{**spec, "set": {**STUDY["set"], "ms_peak": 0.6}})
    inner = RemoteBackend.create

    def late(self: RemoteBackend, given: Any) -> None:
        monkeypatch.setattr(RemoteBackend, "create", inner)
        with pytest.raises(DseError, match="is being written by another process"):
            one.run(store=URL)
        inner(self, given)

    monkeypatch.setattr(RemoteBackend, "create", late)
    other.run(store=URL)
    assert dse.verify(URL).damages == ()
    assert not bucket.exists("sweeps/deep/run.lock")


@long
def test_the_command(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(
        'model = "transit"\n[axes]\nthreads = [1, 2]\n[set]\nintensity = 10\nlanes_width = 32\n'
        "ms_peak = 1\nmem_latency = 600\n"
    )

    def invoke(*command: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, list(command), prog_name="dse")
        return done.exit_code, done.output

    assert (
        "dataset: s3://sweeps/a.zarr"
        in invoke("run", "study.toml", "--store", "s3://sweeps/a.zarr")[1]
    )
    again = invoke("run", "study.toml", "--store", "s3://sweeps/a.zarr")
    assert "nothing to do" in again[1]
    assert invoke("verify", "s3://sweeps/a.zarr")[0] == 0
    status, printed = invoke("run", "study.toml", "--store", "s3://nowhere/a.zarr")
    assert (status, "Traceback" in printed) == (1, False)
    assert "s3://nowhere/a.zarr cannot be locked: " in printed


def test_a_place_that_cannot_be_reached(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors of the client library are told as any other; nothing of them is thrown at a person."""
    end_process(type(server))
    with monkeypatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.delenv(name)
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            patch.setenv(name, str(tmp_path / "none"))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        with pytest.raises(DseError, match="s3://sweeps/deep cannot be reached: NoCredentials"):
            Study(**STUDY).run(store=URL)
        patch.setenv("AWS_ENDPOINT_URL", "nonsense")
        end_process(type(server))
        for ask in (dse.open, dse.verify, lambda url: dse.optimum(url, minimize="bound")):
            with pytest.raises(DseError, match="s3://sweeps/deep cannot be reached: ValueError"):
                ask(URL)
    end_process(type(server))
    for ask in (dse.open, dse.verify):
        with pytest.raises(DseError, match="does not exist: expected"):
            ask("s3://nowhere/a.zarr")


def test_without_s3fs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    with pytest.raises(DseError, match=r"pip install s3fs"):
        dse.open("s3://sweeps/a.zarr")
