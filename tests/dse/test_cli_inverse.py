"""The commands borders, meets and ranges: what they print, and misuse."""

from __future__ import annotations

import json

import pytest

import dse
from tests.dse.conftest import Run


def test_borders_from_every_configuration(run: Run) -> None:
    output = run("borders", "study.toml", "--quantity", "limiter", "--along", "threads_per_block")
    assert "limiter along threads_per_block" in output.stdout
    data = json.loads(
        run(
            "borders", "study.toml", "--quantity", "mwp", "--along", "mem_bandwidth", "--json"
        ).stdout
    )
    study = dse.Study.from_toml("study.toml")
    result = dse.borders(study, "mwp", along="mem_bandwidth")
    borders = {row["border"] for row in data["borders"]}
    values = result.border.values
    assert borders == set(values[values == values].tolist())
    assert set(data["borders"][0]) >= {"along", "unit", "border", "from", "to"}


def test_borders_at_a_point(run: Run) -> None:
    point = "threads_per_block=128,active_sms=12"
    command = [
        "borders",
        "study.toml",
        "--quantity",
        "case",
        "--along",
        "mem_bandwidth,comp_insts",
    ]
    output = run(*command, "--at", point).stdout
    data = json.loads(run(*command, "--at", point, "--json").stdout)
    assert output.startswith(f"case: {data['here']}")
    assert [row["along"] for row in data["next"]][::2] == ["mem_bandwidth", "comp_insts"]
    for row in data["next"]:
        assert (row["beyond"] == "none") == (row["distance"] == "inf")
    solved = run(
        "borders",
        "study.toml",
        "--quantity",
        "mwp",
        "--closed-form",
        "--at",
        point,
        "--along",
        "mem_bandwidth",
    ).stdout
    assert "mem_bandwidth = " in solved


def test_meets(run: Run) -> None:
    study = dse.Study.from_toml("study.toml")
    limit = float(study.run().time.median())
    command = ["meets", "study.toml", "--where", f"time <= {limit!r}"]
    data = json.loads(run(*command, "--json").stdout)
    assert data["complete"]
    assert data["inner"] == data["outer"] == sum(row["points"] for row in data["boxes"])
    assert data["total"] == 21
    output = run(*command).stdout
    assert f"{data['inner']} of 21 configurations" in output
    assert "certain" in output
    nothing = run("meets", "study.toml", "--where", "time <= 1 ns").stdout
    assert "0 of 21 configurations" in nothing


def test_ranges(run: Run) -> None:
    command = ["ranges", "study.toml", "--within", "mem_bandwidth=10%", "--minimize", "time"]
    data = json.loads(run(*command, "--json").stdout)
    assert len(data["rows"]) == data["of"] == 21
    for row in data["rows"]:
        if row["feasible"] if "feasible" in row else row["possibly_feasible"]:
            assert row["time_lower"] <= row["time_given"] <= row["time_upper"]
    output = run(*command).stdout
    assert f"{data['can_be_best']} of 21 configurations can be the best: minimize time" in output


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["borders", "study.toml", "--along", "bandwidth"], "bandwidth"),
        (["borders", "study.toml", "--at", "active_sms"], "=VALUE"),
        (["borders", "study.toml", "--quantity", "time"], "is a number"),
        (["meets", "study.toml"], "no target"),
        (["meets", "study.toml", "--where", "time <="], "time <="),
        (["ranges", "study.toml"], "expected inputs"),
        (["ranges", "study.toml", "--within", "mem_bandwidth=5 GHz"], "GHz"),
        (
            [
                "ranges",
                "study.toml",
                "--within",
                "mem_bandwidth=5%",
                "--minimize",
                "time",
                "--maximize",
                "time",
            ],
            "both given",
        ),
    ],
)
def test_misuse_is_status_2(run: Run, command: list[str], message: str) -> None:
    assert message in run(*command, status=2).stderr
