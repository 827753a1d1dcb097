"""Failing points are reported with their configurations, stored, and tried again."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

import dse
import sweeps.nest.run
import sweeps.store.fill
import sweeps.store.layout
from dse import DseError, Study
from dse.cli import main
from sweeps.runtime.progress import Progress
from sweeps.store.fill import TileWriter
from sweeps.store.layout import Tile
from sweeps.store.records import decode_checked_json
from tests.dse.killing import STUDY, files


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tiles, computed by NumPy."""
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 1 << 11)
    monkeypatch.setattr(sweeps.store.layout, "TILE", 1 << 11)
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 1 << 30)


def failing(
    monkeypatch: pytest.MonkeyPatch, bad: set[str], times: int = 99
) -> tuple[pytest.MonkeyPatch, Counter[str]]:
    """Lets some tiles fail, the first so many times; counts how often each is tried."""
    inner, tried = TileWriter.store, Counter[str]()

    def store(self: TileWriter, tile: Tile, *more: Any) -> Any:
        name = tile.name
        tried[name] += 1
        if (name in bad or not bad) and tried[name] <= times:
            raise ArithmeticError(f"the equation of\n{name} fails")
        return inner(self, tile, *more)

    monkeypatch.setattr(TileWriter, "store", store)
    return monkeypatch, tried


def test_what_fails_is_told_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, path, calm = Study(**STUDY), tmp_path / "a.zarr", tmp_path / "calm.zarr"
    study.run(store=calm)
    heard: list[Progress] = []
    with monkeypatch.context() as patch:
        _, tried = failing(patch, {"0.3.1.0", "0.7.0.0"})
        with pytest.warns(UserWarning, match="failed: 4,000 points; the same command") as caught:
            ds = study.run(store=path, progress=heard.append)
    assert "threads = 13 to 16, supply = sharp: ArithmeticError: the equation of 0.3.1.0 fails" in (
        str(caught[0].message)
    )
    assert tried["0.3.1.0"] == tried["0.7.0.0"] == 1 + sweeps.store.fill.RETRIES
    assert set(tried) == {
        key.removeprefix(".simt-dse/tiles/") for key in files(calm) if "tiles/" in key
    }
    assert heard[-1].failed == 4000
    assert heard[-1].done + heard[-1].failed == heard[-1].total
    assert (
        int(ds.ms_throughput.isnull().sum()) == int(study.run().ms_throughput.isnull().sum()) + 4000
    )
    assert dse.verify(path).pending == 2
    with monkeypatch.context() as patch:  # one is well again
        _, tried = failing(patch, {"0.7.0.0"})
        with pytest.warns(UserWarning, match="failed: 2,000 points"):
            study.run(store=path)
    assert set(tried) == {"0.3.1.0", "0.7.0.0"}
    study.run(store=path)
    assert files(path) == files(calm)


def test_what_fails_once_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, tried = failing(monkeypatch, {"0.3.1.0"}, times=sweeps.store.fill.RETRIES)
    Study(**STUDY).run(store=tmp_path / "a.zarr")
    assert tried["0.3.1.0"] == 1 + sweeps.store.fill.RETRIES
    assert dse.verify(tmp_path / "a.zarr").damages == ()


def test_where_everything_fails_the_run_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, tried = failing(monkeypatch, set())
    monkeypatch.setattr(sweeps.store.fill, "thread_count", lambda _: 1)
    with pytest.raises(ArithmeticError) as caught:
        Study(**STUDY).run(store=tmp_path / "a.zarr")
    assert 16 <= len(tried) <= 18  # some were under way
    assert caught.value.__notes__ == [
        f"0 of 21 tiles are stored in {tmp_path / 'a.zarr'}; the same command continues"
    ]


# --- points at which somebody's equation fails


MODEL = '''"""How long a machine lasts, by a table that breaks at some heats until it is mended."""

import pathlib

import dse
from symbolic.ops import minimum, where

heat = dse.quantity("heat", domain="[0, inf)")
limit = dse.quantity("limit", domain="[0, inf)")
OUTPUTS = ("wear", "life", "state", "cost")


@dse.equation(source="here", table=True)
def wear(heat):
    if heat in (3, 5) and not (pathlib.Path(__file__).parent / "mended").exists():
        raise RuntimeError(f"too hot: {heat:g}")
    return 2 * heat


@dse.equation(source="here", table=True)
def rest(wear):
    return 100 - wear


@dse.equation(source="here")
def life(rest, limit):
    return minimum(limit, rest)


@dse.equation(source="here", flags={0: "young", 1: "old"})
def state(wear, limit):
    return where(wear < limit, 0, 1)


@dse.equation(source="here")
def cost(heat, limit):
    return heat + limit
'''


@pytest.fixture
def worn_study(tmp_path: Path) -> Callable[[], Study]:
    (tmp_path / "worn.py").write_text(MODEL)

    def make_study() -> Study:
        axes = {"heat": list(range(10)), "limit": list(range(1000))}
        return Study(model=str(tmp_path / "worn.py"), axes=axes)

    return make_study


def test_a_point_that_fails_has_no_value_and_is_told(worn_study: Callable[[], Study]) -> None:
    with pytest.warns(UserWarning, match="failed: 2,000 points") as caught:
        ds = worn_study().run()
    assert caught[0].filename == __file__
    assert str(caught[0].message).endswith(
        "heat = 3: wear: RuntimeError: too hot: 3;   heat = 5: wear: RuntimeError: too hot: 5"
    )
    bad = np.isin(np.arange(10), (3, 5))
    assert np.array_equal(np.isnan(ds.wear), bad)
    assert np.array_equal(np.isnan(ds.life), np.repeat(bad[:, None], 1000, axis=1))
    assert np.array_equal(ds.state == -1, np.repeat(bad[:, None], 1000, axis=1))
    assert not np.isnan(ds.cost).any()


def test_a_point_that_fails_is_never_the_best(worn_study: Callable[[], Study]) -> None:
    study = worn_study()
    for top in (1, 9):
        with pytest.warns(UserWarning, match="heat = 3"):
            best = study.optimum(maximize="minimum(life, 50) + heat * 0", top=top, method="scan")
        assert not set(np.atleast_1d(best.heat)) & {3, 5}
    with (
        pytest.warns(UserWarning, match="heat = 3"),
        pytest.raises(DseError, match=r"no value at some points \(wear: RuntimeError: too hot"),
    ):
        study.optimum(maximize="life", method="certified")


@pytest.mark.parametrize("workers", [None, 1])
def test_points_that_failed_are_tried_again(
    worn_study: Callable[[], Study],
    tmp_path: Path,
    workers: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, calm = tmp_path / "a.zarr", tmp_path / "calm.zarr"
    with contextlib.ExitStack() as stack:
        more: dict[str, Any] = {}
        if workers:
            monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
            cluster = LocalCluster(
                n_workers=1, processes=False, dashboard_address=":0", silence_logs=50
            )
            stack.enter_context(cluster)
            more = {"client": stack.enter_context(Client(cluster, set_as_default=False))}
        heard: list[Progress] = []
        with pytest.warns(UserWarning, match=r"heat = 3.*: wear: RuntimeError: too hot: 3"):
            ds = worn_study().run(store=path, progress=heard.append, **more)
        assert np.flatnonzero(np.isnan(ds.wear)).tolist() == [3, 5]
        assert heard[-1].failed == 2 * (1 + 1000)
        assert heard[-1].done + heard[-1].failed == heard[-1].total
        assert dse.verify(path).damages == ()
        records = [
            decode_checked_json(file.read_bytes()) for file in path.glob(".simt-dse/tiles/*")
        ]
        failed = [each for record in records for each in (record or {}).get("failed", ())]
        assert sorted({each["configurations"] for each in failed}) == ["heat = 3", "heat = 5"]
        with pytest.warns(UserWarning, match="failed"):
            worn_study().run(store=path, progress=heard.append, **more)
        (tmp_path / "mended").touch()
        worn_study().run(store=path, **more)
        worn_study().run(store=calm)
    assert files(path) == files(calm)


def test_the_command_tells_and_ends_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = "threads = { start = 1, stop = 40 }\nmem_latency = { start = 100, stop = 599 }"
    (tmp_path / "study.toml").write_text(
        f'model = "transit"\n[axes]\n{axes}\n[set]\nintensity = 10\nlanes_width = 32\nms_peak = 1'
    )
    command = ["run", str(tmp_path / "study.toml"), "--store", str(tmp_path / "a.zarr")]

    def invoke(*more: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, [*command, *more], prog_name="dse")
        return done.exit_code, done.stdout

    with monkeypatch.context() as patch:
        failing(patch, {"0.3.0"})
        status, text = invoke()
        again, tree = invoke("--json")
    assert (status, again) == (1, 1)
    assert "failed: 2,000 points; the same command tries them again\n  threads = 13 to 16: " in text
    assert json.loads(tree)["failed"] == [
        {
            "configurations": "threads = 13 to 16",
            "points": 2000,
            "reason": "ArithmeticError: the equation of 0.3.0 fails",
            "tile": "0.3.0",
        }
    ]
    assert json.loads(tree)["tiles_computed"] == 0
    status, text = invoke()
    assert (status, "failed" in text) == (0, False)
