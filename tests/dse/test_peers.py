"""Searches without a proof beside the certified optima, by the program of docs/peers.md."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from tests.long import long

DOCS = Path(__file__).parents[2] / "docs"
CSV = DOCS / "peers.csv"


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The program docs/peers.py, as a module."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("peers")


def test_the_page_is_made_of_the_file(peers: Any) -> None:
    assert (DOCS / "peers.md").read_text() == peers.page(CSV)


def test_every_space_is_measured_for_the_time_of_its_proof(peers: Any) -> None:
    table = peers.read(CSV)
    runs = table[(table.method != "certified") & (table.budget == 1)]
    seeds = runs.groupby([*peers.SPACE, "method"]).seed.nunique()
    assert (seeds == len(peers.SEEDS)).all()
    assert len(seeds.loc[:, :, "energy"]) == 6 * 4 * 2


def test_no_search_finds_less_than_is_certified(peers: Any) -> None:
    assert peers.read(CSV).excess.min() >= -1e-12


def test_more_time_is_no_worse(peers: Any) -> None:
    table = peers.read(CSV)
    runs = table[table.method != "certified"].sort_values("budget")
    for _, run in runs.groupby([*peers.SPACE, "method", "seed"]):
        assert (np.diff(run.value) <= 0).all()


def test_what_is_certified_is_that_of_the_other_page(peers: Any) -> None:
    page = (DOCS / "certified-merge.md").read_text()
    table = peers.read(CSV)
    for row in table[table.method == "certified"].itertuples():
        names = peers.BENCHMARKS[row.benchmark], peers.GPUS[row.gpu]
        unit = {"energy": "J", "edp": "J s"}[row.goal]
        (least,) = re.findall(rf"^\| {names[0]} \| {names[1]} \|.*\*\*(\S+) {unit}\*\*", page, re.M)
        assert f"{row.value:.4g}" == least


@long
def test_settings_are_evaluated_as_by_the_model(peers: Any) -> None:
    """At random settings, the infeasible ones apart."""
    query = peers.study("mat_tiled", "8800gt")
    space = peers.Space(query, "energy")
    rng = np.random.default_rng(5)
    places = np.array([rng.integers(0, size, 300) for size in space.sizes])
    axes = query.grid().axes
    values = {
        name: np.asarray(axis.values)[places[number]]
        for number, (name, axis) in enumerate(axes.items())
    }
    got = dse.evaluate(
        "ipp",
        machine="8800gt",
        workload="mat_tiled",
        outputs=["energy"],
        **values,
        **query.set,
    )
    result = space(places)
    feasible = got["feasible"].values
    assert 20 < feasible.sum() < 300
    assert result[feasible] == pytest.approx(got["energy"].values[feasible], rel=1e-12)
    assert (result[~feasible] == peers.COSTLY).all()


def test_a_search_ends_with_its_time_or_the_optimum(peers: Any) -> None:
    space = peers.Space(peers.study("mat_tiled", "8800gt", 16), "energy")
    every = space(np.indices(space.sizes).reshape(len(space.sizes), -1))
    long = peers.Watch(space, [60.0], every.min())
    peers.differential_evolution(long, 1)
    assert long.told == [(every.min(), long.points)]
    short = peers.Watch(space, [0.02, 0.1], 0.0)
    peers.differential_evolution(short, 1)
    assert len(short.told) == 2
    assert short.told[0][0] >= short.told[1][0] >= every.min()


def test_the_figure_is_drawn(peers: Any, tmp_path: Path) -> None:
    peers.draw(peers.read(CSV), str(tmp_path / "peers.png"))
    assert (tmp_path / "peers.png").stat().st_size > 10_000
