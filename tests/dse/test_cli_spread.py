"""The commands count, histogram and quantiles: of a study and of its store the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import dse

Run = Callable[..., Result]


def ask_both(run: Run, *arguments: str) -> Any:
    """Return the JSON of a command on the study, which equals that on its store."""
    name, *rest = arguments
    result = json.loads(run(name, "study.toml", *rest, "--json").stdout)
    again = json.loads(run(name, "out.zarr", *rest, "--json").stdout)
    assert again == result
    return result


@pytest.fixture
def stored_run(run: Run) -> Run:
    run("run", "study.toml", "--store", "out.zarr")
    return run


def test_count(stored_run: Run) -> None:
    ds = dse.open("out.zarr")
    where = ["--where", "time <= 20 ms", "--where", "active_sms > 13"]
    result = ask_both(stored_run, "count", *where)
    counts = ds.feasible & (ds.time <= 0.02) & (ds.active_sms > 13)
    assert (result["feasible_points"], result["points"]) == (int(counts.sum()), 21)
    assert result["conditions"][-2:] == ["time <= 20 ms", "active_sms > 13"]
    text = stored_run("count", "study.toml", *where).stdout
    assert text.startswith(f"feasible: {int(counts.sum())} of 21 configurations")
    assert text.rstrip().endswith("time <= 20 ms and active_sms > 13")


def test_the_regret_of_what_may_be_infeasible_is_infinite(run: Run) -> None:
    """The options of the test turn a warning of a library into an error."""
    Path("uncertain.toml").write_text("""
model = "transit"
outputs = ["cs_throughput"]
[axes]
threads = [256, 512]
[set]
intensity = 10
lanes_width = 32
ms_peak = 1
[random]
mem_latency = "normal: 600 cycles, 20 %"
""")
    limit = ("--where", "mem_latency / threads <= 2.4")
    text = run("chances", "uncertain.toml", "--maximize", "cs_throughput", *limit).stdout
    assert re.search(r"\n +2 +256 +\S+ +infinite ", text)
    assert "\ninfinite regret: in some draws, the configuration is infeasible\n" in text
    text = run("chances", "uncertain.toml", "--maximize", "cs_throughput").stdout
    assert "infinite" not in text


def test_histogram(stored_run: Run) -> None:
    ds = dse.open("out.zarr")
    known = ds.time.values[ds.feasible.values]
    result = ask_both(stored_run, "histogram", "--output", "time", "--bins", "4")
    counts, edges = np.histogram(known, 4)
    assert [row["configurations"] for row in result["bins"]] == counts.tolist()
    assert [row["low"] for row in result["bins"]] == edges[:-1].tolist()
    assert (result["units"], result["below"], result["above"]) == ("s", 0, 0)
    middle = float(np.median(known))
    edged = ask_both(
        stored_run, "histogram", "--output", "time", "--bins", f"0, {middle * 1000!r} ms"
    )
    assert edged["bins"][0]["configurations"] + edged["above"] == known.size
    text = stored_run(
        "histogram", "study.toml", "--output", "time", "--bins", f"0,{middle!r}"
    ).stdout
    assert "#" * 40 in text
    assert f"above: {(known > middle).sum()}" in text
    assert f"feasible: {known.size} of 21 configurations" in text


def test_quantiles(stored_run: Run) -> None:
    ds = dse.open("out.zarr")
    known = ds.time.values[ds.feasible.values]
    result = ask_both(stored_run, "quantiles", "--output", "time", "--q", "0,0.5,0.9,1")
    expected = np.quantile(known, [0, 0.5, 0.9, 1], method="inverted_cdf")
    assert [row["value"] for row in result["quantiles"]] == expected.tolist()
    assert result["definition"] == "inverse of the distribution function"
    text = stored_run("quantiles", "study.toml", "--output", "time").stdout
    assert text.splitlines()[2].split() == ["quantile", "time"]
    assert len(text.splitlines()[3].split()) == 3


MISUSED = [
    ("histogram study.toml", "Missing option '--output'"),
    ("histogram study.toml --output time --bins 0", "bins = 0: expected from 1"),
    ("histogram study.toml --output time --bins 1,x", "'x'"),
    ("histogram study.toml --output tim", "did you mean 'time'?"),
    ("quantiles study.toml --output time --q 2", "q = 2.0: expected numbers from 0 to 1"),
    ("quantiles study.toml --output time --q half", "q = 'half'"),
    ("count study.toml --where tim>1", "did you mean 'time'?"),
]


@pytest.mark.parametrize(("command", "printed"), MISUSED, ids=[command for command, _ in MISUSED])
def test_misuse_is_2(run: Run, command: str, printed: str) -> None:
    assert printed in run(*command.split(" "), status=2).stderr


def test_a_spread_of_nothing_is_1(run: Run) -> None:
    none = run("quantiles", "study.toml", "--output", "time", "--where", "active_sms>99", status=1)
    assert "the constraint 'active_sms>99' is broken at every point" in none.stderr


def test_answers_tell_of_which_study_they_are(stored_run: Run) -> None:
    ds = dse.open("out.zarr")
    study = dse.Study.from_toml("study.toml")
    for command, of in (
        (study.count(), dse.count(ds)),
        (study.histogram("time"), dse.histogram(ds, "time")),
        (study.quantiles("time", 0.5), dse.quantiles(ds, "time", 0.5)),
    ):
        for attribute in ("model", "study", "simt_dse_version"):
            assert command.attrs[attribute] == of.attrs[attribute] == ds.attrs[attribute]
