"""A statistic is one row of two tables: one that is added works everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dse import Study
from dse.cli import main
from sweeps.nest.statistics import ROW_STATISTICS, RowStatistic, RowValues, fill_extremes
from symbolic.errors import DseError
from symbolic.node import Node
from symbolic.statistics import STATISTICS, NodeValues, StatisticRow

ROOT = Path(__file__).parents[2]
STUDY: dict[str, Any] = {
    "model": "ipp",
    "machine": "gtx280",
    "axes": {
        "threads_per_block": [64, 128, 256],
        "active_sms": [10, 20, 30],
        "workload": ["sepia", "svm"],
    },
}


def _span_of_rows(rows: RowValues, out: Any) -> None:
    low = np.empty_like(out)
    fill_extremes(rows.values, 1.0, False, out)
    fill_extremes(rows.values, -1.0, False, low)
    out -= low


def _span_as_formula(few: NodeValues) -> Node:
    return few.worst(high=True) - few.worst(high=False)


@pytest.fixture
def span(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the statistic ``span``: the largest value without the least."""
    row = StatisticRow(meaning="the largest value without the least", formula=_span_as_formula)
    monkeypatch.setitem(STATISTICS, "span", row)
    monkeypatch.setitem(ROW_STATISTICS, "span", RowStatistic(fill=_span_of_rows))


def time() -> Any:
    """Return the time over all axes, the workloads last."""
    return Study(**STUDY, outputs=["time"]).run().time.values


@pytest.mark.usefixtures("span")
def test_an_added_statistic_is_an_output_and_a_part_of_formulas() -> None:
    ds = Study(
        **STUDY, outputs=["span(time, workload)", "span(span(time, workload), active_sms)"]
    ).run()
    first, second = ds["span(time, workload)"], ds["span(span(time, workload), active_sms)"]
    values = time()
    expected = values.max(axis=-1) - values.min(axis=-1)
    np.testing.assert_array_equal(first.values, expected)
    np.testing.assert_array_equal(second.values, expected.max(axis=-1) - expected.min(axis=-1))


@pytest.mark.usefixtures("span")
def test_an_added_statistic_stands_in_conditions_and_is_certified() -> None:
    values = time()
    every = values.max(axis=-1) - values.min(axis=-1)
    limit = float(np.median(every))
    where = f"span(time, workload) <= {limit!r}"
    study = Study(**STUDY, where=[where], outputs=["time"])
    best = study.optimum(maximize="span(time, workload)")
    place = np.unravel_index(np.argmax(np.where(every <= limit, every, -np.inf)), every.shape)
    assert best.threads_per_block.item() == STUDY["axes"]["threads_per_block"][place[0]]
    assert best.active_sms.item() == STUDY["axes"]["active_sms"][place[1]]
    certified = study.optimum(maximize="span(time, workload)", method="certified")
    assert certified.threads_per_block.item() == best.threads_per_block.item()
    assert certified.active_sms.item() == best.active_sms.item()


@pytest.mark.usefixtures("span")
def test_without_a_formula_its_values_are_computed_before_the_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(STATISTICS, "span", StatisticRow(meaning="the same"))
    best = Study(**STUDY, outputs=["time"]).optimum(
        minimize="span(time, workload)", method="certified"
    )
    values = time()
    every = values.max(axis=-1) - values.min(axis=-1)
    place = np.unravel_index(np.argmin(every), every.shape)
    assert best.active_sms.item() == STUDY["axes"]["active_sms"][place[1]]


@pytest.mark.usefixtures("span")
def test_an_added_statistic_over_draws_has_no_error_that_is_too_small() -> None:
    random = {"core_clock": "uniform: 1 GHz, 1.2 GHz", "draws": 64}
    study: dict[str, Any] = {
        "model": "ipp",
        "machine": "gtx280",
        "workload": "sepia",
        "random": random,
    }
    study |= {"set": {"threads_per_block": 128}}
    ds = Study(**study, outputs=["span(time)", "error(span(time))"]).run()
    result, error = float(ds["span(time)"]), float(ds["error(span(time))"])
    assert result > 0
    assert error == np.inf  # nothing bounds it, as its row has no error


@pytest.mark.usefixtures("span")
def test_an_added_statistic_is_refused_by_name_where_a_law_has_none() -> None:
    with pytest.raises(DseError, match="a law has no span: ask another statistic"):
        Study(model="launch", axes={"launch_blocks": [8, 16]}, outputs=["span(launch_time)"]).run()


@pytest.mark.usefixtures("span")
def test_the_command_line_knows_an_added_statistic(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        'model = "ipp"\nmachine = "gtx280"\noutputs = ["time"]\n[axes]\n'
        'threads_per_block = [64, 128, 256]\nworkload = ["sepia", "svm"]\n'
    )
    command = ["optimum", str(file), "--minimize", "span(time, workload)", "--json"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "threads_per_block" in json.loads(done.stdout).__str__()
    done = CliRunner().invoke(main, ["optimum", str(file), "--minimize", "spam(time, workload)"])
    assert "span" in done.output  # the nearest name is offered


def test_both_tables_have_the_same_statistics() -> None:
    undirected = {name for name, row in STATISTICS.items() if row.direction_names}
    formulas = {name for name, row in STATISTICS.items() if row.has_rules}
    assert set(ROW_STATISTICS) == set(STATISTICS) - undirected - formulas - {"error"}
    assert {name for row in STATISTICS.values() for name in row.direction_names} <= set(
        ROW_STATISTICS
    )


def test_the_documentation_lists_every_statistic() -> None:
    page = (ROOT / "docs" / "uncertainty.md").read_text()
    for name, row in STATISTICS.items():
        assert any(
            line.startswith(f"| `{name}(") and line.endswith(f"| {row.meaning} |")
            for line in page.splitlines()
        ), name
