"""The commands for what is near the best, and for certified fronts."""

from __future__ import annotations

import json

import dse
from tests.dse.conftest import Run


def test_what_is_near_the_best(run: Run) -> None:
    asked = ("optimum", "study.toml", "--minimize", "time")
    told = json.loads(run(*asked, "--within", "10%", "--json").stdout)
    best = json.loads(run(*asked, "--json").stdout)
    assert (told["method"], told["within"]) == ("scan", 0.1)
    every = dse.Study.from_toml("study.toml").run()
    time = every.time.where(every.feasible) if "feasible" in every else every.time
    assert told["configurations"] == int((time <= 1.1 * time.min()).sum()) > 1
    again = json.loads(run(*asked, "--within", "0.1", "--method", "certified", "--json").stdout)
    assert again.pop("certificate")["gap"] == 0
    assert again == told | {"method": "certified"}
    assert best["method"] == "scan"
    assert (
        f"scan: {told['configurations']} configurations lie within 10 % of the best, and no others"
        in run(*asked, "--within", "10%").stdout
    )
    wrong = run(*asked, "--within", "much", status=2)
    assert "'much' is no share such as 1% or 0.01" in wrong.stderr


def test_a_certified_front(run: Run) -> None:
    asked = ("pareto", "study.toml", "--minimize", "time,active_sms")
    scan = json.loads(run(*asked, "--json").stdout)
    front = json.loads(run(*asked, "--method", "certified", "--json").stdout)
    assert front == scan | {"method": "certified", "complete": 1}
    told = run(*asked, "--method", "certified").stdout
    assert "certified: each is on the Pareto front, and no others" in told
    run("run", "study.toml", "--store", "out.zarr")
    of_store = run("pareto", "out.zarr", *asked[2:], "--method", "certified", "--json")
    assert json.loads(of_store.stdout) == front


def test_axes_held_at_one_value(run: Run) -> None:
    run("run", "study.toml", "--store", "out.zarr")
    every = dse.Study.from_toml("study.toml").run()
    axis = next(str(name) for name in every.time.dims if every[name].dtype.kind in "if")
    value = every[axis].values[1].item()
    for source in ("study.toml", "out.zarr"):
        at = ("--at", f"{axis}={value!r}", "--json")
        for verb in ("optimum", "pareto"):
            told = json.loads(run(verb, source, "--minimize", "time", *at).stdout)
            assert [row[axis] for row in told["rows"]] == [value]
            assert told["rows"][0]["time"] == every.time.sel({axis: value}).min().item()
    wrong = run("optimum", "out.zarr", "--minimize", "time", "--at", "active_sms", status=2)
    assert "expected QUANTITY=VALUE" in wrong.stderr
