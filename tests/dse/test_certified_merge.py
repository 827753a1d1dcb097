"""The certified optima of the Merge benchmarks, by the program of docs/certified-merge.md."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from tests.long import mostly_long

DOCS = Path(__file__).parents[2] / "docs"
#: "**111.6 ms** at 96 · 16 · 1500 · 110%"
CELL = re.compile(r"\*\*(\S+) [^*]+\*\* at (\d+) · (\d+) · (\d+) · (\d+)%$")


@cache
def program() -> Any:
    """The program docs/certified_merge.py, as a module."""
    path = DOCS / "certified_merge.py"
    spec = importlib.util.spec_from_file_location("docs_certified_merge", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_certified_merge"] = module
    spec.loader.exec_module(module)
    return module


@cache
def table() -> dict[tuple[str, str], list[tuple[float, ...]]]:
    """Return the values and settings of the page by benchmark, GPU and goal."""
    named = {name: key for key, name in program().BENCHMARKS.items()}
    cards = {name: key for key, name in program().GPUS.items()}
    result = {}
    for line in (DOCS / "certified-merge.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells and cells[0] in named:
            read = [CELL.match(cell) for cell in cells[3:]]
            assert all(read), line
            result[named[cells[0]], cards[cells[1]]] = [
                tuple(float(number) for number in one.groups()) for one in read if one
            ]
    return result


def test_each_has_a_billion_settings() -> None:
    assert len(table()) == 24
    for benchmark, gpu in table():
        assert program().study(benchmark, gpu).grid().points >= 1e9


def test_the_page_is_worded_as_the_program() -> None:
    page = (DOCS / "certified-merge.md").read_text()
    assert "Of 72 optima, 72 are proven with a gap of 0" in page
    for part in re.split(r"\{\w+\}", program().PAGE):
        assert part in page


@pytest.mark.parametrize("gpu", ["8800gtx", "fx5600", "8800gt", "gtx280"])
def test_what_the_page_gives_is_what_the_model_says(gpu: str) -> None:
    """Each of the settings printed yields the value printed, to its last digit."""
    peak, unit = str(dse.machine(gpu).values["mem_bandwidth"].value).split()
    scale = {"GB/s": 1e9}[unit]
    for benchmark in program().BENCHMARKS:
        cells = table()[benchmark, gpu]
        _, threads, sms, core, memory = (np.array(column) for column in zip(*cells, strict=True))
        got = dse.evaluate(
            "ipp",
            machine=gpu,
            workload=benchmark,
            threads_per_block=threads,
            active_sms=sms,
            core_clock=core * 1e6,
            mem_bandwidth=memory / 100 * float(peak) * scale,
            outputs=list(program().GOALS),
            **program().study(benchmark, gpu).set,
        )
        for number, (goal, (_, _, many)) in enumerate(program().GOALS.items()):
            value = float(got[goal][number]) * many
            assert f"{value:.4g}" == f"{cells[number][0]:.4g}"


@pytest.mark.parametrize(
    ("benchmark", "gpu", "goal"),
    mostly_long(
        [("svm", "gtx280", "time"), ("mat_tiled", "8800gt", "energy")], lambda k, _: k == 0
    ),
)
def test_a_coarse_grid_by_scan_and_by_proof(benchmark: str, gpu: str, goal: str) -> None:
    """The two agree on every 16th setting, where none is better than the page's best."""
    query = program().study(benchmark, gpu, 16)
    scan, proof = (query.optimum(minimize=goal, method=way) for way in ("scan", "certified"))
    assert proof.attrs["gap"] == 0
    for name in (goal, *query.axes):
        assert float(scan[name]) == float(proof[name])
    number = list(program().GOALS).index(goal)
    best = table()[benchmark, gpu][number][0] / program().GOALS[goal][2]
    assert best <= float(scan[goal]) * (1 + 1e-3)


def test_more_bandwidth_does_not_slow_the_best_setting() -> None:
    """SVM on the GTX 280: Eqs. 22 and 23 meet at the border of cases 2 and 3."""
    query = program().study("svm", "gtx280")
    _, threads, sms, core, memory = table()["svm", "gtx280"][0]
    assert memory == 110
    near = dse.evaluate(
        "ipp",
        machine="gtx280",
        workload="svm",
        threads_per_block=threads,
        active_sms=sms,
        core_clock=core * 1e6,
        mem_bandwidth=np.arange(50, 111) / 100 * 141.7e9,
        outputs=["time", "case"],
        **query.set,
    )
    assert set(near["case"].values.tolist()) == {2, 3}
    assert np.diff(near["time"].values).max() <= 0


def test_no_spare_shared_memory_pays() -> None:
    assert " B |" not in (DOCS / "certified-merge.md").read_text()
