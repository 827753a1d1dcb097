"""Tiles computed by the workers of a cluster: the same bytes, whatever becomes of a worker."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import pytest
from click.testing import CliRunner
from distributed import Client, KilledWorker, LocalCluster, Nanny, SchedulerPlugin

import sweeps.cluster.scheduler
import sweeps.nest.run
import sweeps.store.fill
import sweeps.store.layout
from dse import DseError, Study
from dse.cli import main
from sweeps.store.backend import backend_of
from sweeps.store.fill import TileWriter
from sweeps.store.layout import Tile
from tests.dse.killing import STUDY, files
from tests.oracles.compare import identical

TILES = 22


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tiles, computed by a nest."""
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 1 << 11)
    monkeypatch.setattr(sweeps.store.layout, "TILE", 1 << 11)
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """A scheduler and workers in threads of this process."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=2,
        processes=False,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as made:
        yield made


@pytest.fixture(scope="module")
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster, set_as_default=False) as made:
        yield made


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a store that threads have filled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 1 << 11)
        patch.setattr(sweeps.store.layout, "TILE", 1 << 11)
        patch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
        path = tmp_path_factory.mktemp("calm") / "calm.zarr"
        Study(**STUDY).run(store=path)
    return files(path)


class Sent(SchedulerPlugin):
    """Counter of what the scheduler sends to workers, and of its tasks."""

    def __init__(self, scheduler: Any) -> None:
        self.scheduler, self.bytes, self.most = scheduler, [], 0

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        if finish == "processing":
            self.bytes.append(len(pickle.dumps(self.scheduler.tasks[key].run_spec)))
            self.most = max(self.most, len(self.scheduler.tasks))


def test_the_bytes_of_threads_by_tasks_of_few_bytes(
    cluster: LocalCluster, client: Client, calm: dict[str, bytes], tmp_path: Path
) -> None:
    sent = Sent(cluster.scheduler)
    cluster.scheduler.add_plugin(sent)
    ds = Study(**STUDY).run(store=tmp_path / "a.zarr", client=client)
    assert files(tmp_path / "a.zarr") == calm
    assert ds.ms_throughput.sizes == {"threads": 40, "supply": 2, "mem_latency": 500}
    assert len(sent.bytes) >= 20
    assert sorted(sent.bytes)[-3] <= 400  # but for what each part is computed from
    threads = sum(client.nthreads().values())
    window = (
        sweeps.cluster.scheduler._MIN_TASKS + sweeps.cluster.scheduler._TASKS_PER_THREAD * threads
    )
    assert sent.most <= 2 * window  # some are done and not taken back yet


def test_an_address_and_a_run_that_is_continued(
    cluster: LocalCluster, calm: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, study = tmp_path / "a.zarr", Study(**STUDY)
    study.run(store=path)
    for name in ("0.3.1.0", "0.7.0.0"):
        (path / ".simt-dse" / "tiles" / name).unlink()
    tried: list[str] = []
    inner = TileWriter.store

    def store(self: TileWriter, tile: Tile, *more: Any) -> Any:
        tried.append(tile.name)
        return inner(self, tile, *more)

    monkeypatch.setattr(TileWriter, "store", store)
    monkeypatch.chdir(tmp_path)
    study.run(store="a.zarr", client=cluster.scheduler_address)
    assert sorted(tried) == ["0.3.1.0", "0.7.0.0"]
    assert files(path) == calm


@pytest.mark.parametrize("kind", [ArithmeticError, OSError])
def test_what_fails_at_a_worker(
    client: Client,
    calm: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Exception],
) -> None:
    tried, inner = Counter[str](), TileWriter.store

    def store(self: TileWriter, tile: Tile, *more: Any) -> Any:
        name = tile.name
        tried[name] += 1
        if name == "0.3.1.0" or (name == "0.7.0.0" and tried[name] == 1):
            raise kind("too hot")
        return inner(self, tile, *more)

    path, study = tmp_path / "a.zarr", Study(**STUDY)
    with monkeypatch.context() as patch:
        patch.setattr(TileWriter, "store", store)
        if kind is OSError:
            with pytest.raises(DseError, match=r"cannot be written: too hot; .* continues"):
                study.run(store=path, client=client)
        else:
            with pytest.warns(UserWarning, match=r"13 to 16, supply = sharp: Arith.*: too hot"):
                study.run(store=path, client=client)
            assert tried["0.7.0.0"] == 2
            assert tried["0.3.1.0"] == 1 + sweeps.store.fill.RETRIES
    study.run(store=path, client=client)
    assert files(path) == calm


def test_lazy_arrays_are_computed_by_workers(client: Client) -> None:
    """Nothing but the default scheduler of dask decides who computes."""
    study = Study(**STUDY)
    with client.as_current():
        identical(study.lazy().compute(scheduler=client), study.run())


def test_an_interrupt_waits_for_the_tiles_under_way(
    client: Client, calm: dict[str, bytes], tmp_path: Path
) -> None:
    def listener(_: Any) -> None:
        raise KeyboardInterrupt

    path, study = tmp_path / "a.zarr", Study(**STUDY)
    with pytest.raises(KeyboardInterrupt) as printed:
        study.run(store=path, client=client, progress=listener)
    assert "the same command continues" in printed.value.__notes__[0]
    stored = [key for key in files(path) if "/tiles/" in key]
    assert 1 <= len(stored) < TILES
    assert not [key for key in files(path) if key.endswith(".part")]
    study.run(store=path, client=client)
    assert files(path) == calm


def test_a_worker_is_killed(calm: dict[str, bytes], tmp_path: Path) -> None:
    """A process ends by SIGKILL in the middle of its tiles; another one takes its place."""
    killed: list[int] = []

    def listener(now: Any) -> None:
        if now.done > now.total / 2 and not killed:
            nannies = (n for made in LocalCluster._instances for n in made.workers.values())
            (pid,) = (n.process.process.pid for n in nannies if isinstance(n, Nanny))
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        Study(**STUDY).run(store=tmp_path / "a.zarr", workers=1, progress=listener)
    assert len(killed) == 1
    assert files(tmp_path / "a.zarr") == calm


def test_the_command(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(
        'model = "transit"\n[axes]\nthreads = [1, 2]\n[set]\nintensity = 10\nlanes_width = 32\n'
        "ms_peak = 1\nmem_latency = 600\n"
    )

    def invoke(*more: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["run", "study.toml", *more], prog_name="dse")
        return done.exit_code, done.output

    status, printed = invoke("--store", "a.zarr", "--scheduler", cluster.scheduler_address)
    assert (status, "dataset: a.zarr" in printed) == (0, True)
    assert invoke("--workers", "0", "--store", "b.zarr")[0] == 2
    assert "give store='OUT.zarr' (--store)" in invoke("--workers", "2")[1]
    both = invoke("--workers", "2", "--scheduler", "tcp://127.0.0.1:9", "--store", "b.zarr")
    assert "give one of them" in both[1]


def test_where_rules_leave_nothing(client: Client, tmp_path: Path) -> None:
    """Workers fill such tiles, as threads do."""
    spec: dict[str, Any] = {
        "model": str(Path(__file__).parents[1] / "oracles" / "toy_model.py"),
        "axes": {"toy_load": {"linspace": [0, 100, 60]}, "toy_unit": {"linspace": [1, 9, 500]}},
        "set": {"toy_kind": "x", "toy_share": 0.5},
        "outputs": ["toy_cost"],
    }
    barred = []
    for name, crew in (("a.zarr", client), ("calm.zarr", None)):
        heard: list[Any] = []
        Study(**spec).run(store=tmp_path / name, client=crew, progress=heard.append)
        barred.append(heard[-1].infeasible)
    assert barred[0] == barred[1] > 0.3 * 60 * 500
    assert files(tmp_path / "a.zarr") == files(tmp_path / "calm.zarr")


def test_workers_that_come_later(calm: dict[str, bytes], tmp_path: Path) -> None:
    with (
        LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        comes = threading.Timer(0.3, cluster.scale, [1])
        comes.start()
        Study(**STUDY).run(store=tmp_path / "a.zarr", client=client)
        comes.join()
    assert files(tmp_path / "a.zarr") == calm


def test_a_tile_that_no_worker_survives(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = TileWriter.store

    def store(self: TileWriter, tile: Tile, *more: Any) -> Any:
        if tile.name == "0.3.1.0":
            raise KilledWorker("tile", SimpleNamespace(address="tcp://somewhere"), 3)
        return inner(self, tile, *more)

    monkeypatch.setattr(TileWriter, "store", store)
    with pytest.warns(UserWarning, match="supply = sharp: .*the worker was lost each time"):
        Study(**STUDY).run(store=tmp_path / "a.zarr", client=client)
    assert b"somewhere" not in b"".join(files(tmp_path / "a.zarr").values())


# --- what is refused


def test_what_a_cluster_cannot_do(client: Client, tmp_path: Path) -> None:
    study = Study(**STUDY)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"client": client}, "client needs a store, and none is given"),
        ({"store": "a.zarr", "client": client, "workers": 2}, "give one of them"),
        ({"store": "a.zarr", "workers": 0}, "workers = 0: expected a number of processes"),
        ({"store": "a.zarr", "workers": "two"}, "workers = 'two': expected a number of processes"),
        ({"store": "a.zarr", "workers": float("inf")}, "workers = inf: expected a number of"),
        ({"store": "a.zarr", "client": 3}, "client = 3: expected a synchronous distributed.Client"),
        ({"store": "memory://a.zarr", "client": client}, "in the memory of this process"),
    ]
    for given, printed in refused:
        with pytest.raises(DseError, match=printed):
            study.run(**given)
    assert not Path("a.zarr").exists()


def test_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sweeps.cluster.scheduler._CONNECT_TIMEOUT", 0.2)
    for address in ("tcp://127.0.0.1:9", "nowhere", "tls://127.0.0.1:9"):
        with pytest.raises(DseError, match=f"no scheduler answers at '{address}'"):
            Study(**STUDY).run(store=tmp_path / "a.zarr", client=address)
    gc.collect()  # no client is left that waits for its end
    assert list(tmp_path.iterdir()) == []


def test_a_worker_of_another_version(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = sweeps.cluster.scheduler.versions()
    printed = iter([known])  # of the run, then of its workers
    monkeypatch.setattr(
        "sweeps.cluster.scheduler.versions", lambda: next(printed, {**known, "simt-dse": "0.0.1"})
    )
    with pytest.raises(DseError, match=r"the worker .* has simt-dse 0\.0\.1, not .*: its values"):
        Study(**STUDY).run(store=tmp_path / "a.zarr", client=client)


def test_a_worker_that_writes_elsewhere(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere.zarr"
    monkeypatch.setattr("sweeps.store.fill.backend_of", lambda place: backend_of(elsewhere))
    monkeypatch.setattr(sweeps.store.fill, "_VISIBILITY_TIMEOUT", 0.2)
    with pytest.raises(DseError, match="must be a shared folder"):
        Study(**STUDY).run(store=tmp_path / "a.zarr", client=client)


def test_without_distributed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(DseError, match=r"pip install distributed"):
        Study(**STUDY).run(store=tmp_path / "a.zarr", workers=2)
