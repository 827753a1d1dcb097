"""The store of a run that was stopped: what reads its values is refused, with the way out."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import dse
import sweeps.nest.run
import sweeps.store.layout
from dse import Study
from sweeps.runtime.progress import Progress
from symbolic.errors import UnfinishedError

Run = Callable[..., Result]
#: Commands that read the values of a store.
COMMANDS = (
    *("export o.zarr o.nc", "export o.zarr o.csv", "export o.zarr o.parquet"),
    *("export o.zarr copy.zarr", "explore o.zarr --out o.html", "explore o.zarr --serve"),
    "plot lines o.zarr --x active_sms --quantity time --out o.png",
    *("optimum o.zarr --minimize time", "pareto o.zarr --minimize time,active_sms"),
    *("count o.zarr", "histogram o.zarr --output time", "quantiles o.zarr --output time"),
    "sensitivity o.zarr --output time",
    "fit mwp_cwp o.zarr --to time --free mem_latency",
    "validate mwp_cwp o.zarr --to time",
)


@pytest.fixture
def partial_store(run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of which some tiles are computed."""
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 1 << 3)
    monkeypatch.setattr(sweeps.store.layout, "TILE", 1 << 3)

    def stop(now: Progress) -> None:
        if now.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Study.from_toml("study.toml").run(store="o.zarr", progress=stop)
    return Path("o.zarr")


def test_every_command_that_reads_its_values_is_refused(run: Run, partial_store: Path) -> None:
    before = sorted(os.listdir())
    for command in COMMANDS:
        output = run(*command.split(), status=1).stderr
        assert "o.zarr is not finished" in output, command
        assert "dse run STUDY --store o.zarr" in output
        assert sorted(os.listdir()) == before, command


def test_its_values_may_be_used_once_they_are_loaded_on_purpose(partial_store: Path) -> None:
    with dse.open(partial_store) as ds:
        for use in (dse.export, lambda ds, path: dse.plots.lines(ds, "time", x="active_sms")):
            with pytest.raises(UnfinishedError):
                use(ds, "a.nc")
        part = ds.load()
    assert int(part.time.isnull().sum()) > 0
    assert dse.export(part, "a.nc").exists()


def test_a_part_of_it_is_unfinished_too(partial_store: Path) -> None:
    with dse.open(partial_store) as ds:
        parts = (ds.isel(active_sms=slice(0, 2)), ds[["time"]], ds.where(ds.time > 0), ds * 2)
        for part in parts:
            with pytest.raises(UnfinishedError, match=r"o\.zarr is not finished"):
                dse.optimum(part, minimize="time")
        assert dse.optimum(parts[0].load(), minimize="time").time > 0


def test_it_is_exported_once_it_is_finished(run: Run, partial_store: Path) -> None:
    run("run", "study.toml", "--store", "o.zarr")
    run("export", "o.zarr", "o.nc")
    with dse.open("o.nc") as ds:
        assert ds.time.equals(Study.from_toml("study.toml").run().time)
