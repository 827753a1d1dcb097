"""The commands for what is near the best, and for certified fronts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import dse
from dse.catalog.entries import shipped_values
from symbolic.library import load_model
from tests.dse.conftest import Run

NAMES = ("time", "active_sms")


def test_what_is_near_the_best(run: Run) -> None:
    command = ("optimum", "study.toml", "--minimize", "time")
    printed = json.loads(run(*command, "--within", "10%", "--json").stdout)
    best = json.loads(run(*command, "--json").stdout)
    assert (printed["method"], printed["within"]) == ("scan", 0.1)
    every = dse.Study.from_toml("study.toml").run()
    time = every.time.where(every.feasible) if "feasible" in every else every.time
    assert printed["configurations"] == int((time <= 1.1 * time.min()).sum()) > 1
    again = json.loads(run(*command, "--within", "0.1", "--method", "certified", "--json").stdout)
    assert again.pop("certificate")["gap"] == 0
    assert again == printed | {"method": "certified"}
    assert best["method"] == "scan"
    text = f"scan: {printed['configurations']} configurations lie within 10 % of the best, and no"
    assert text in run(*command, "--within", "10%").stdout
    wrong = run(*command, "--within", "much", status=2)
    assert "'much' is no share such as 1% or 0.01" in wrong.stderr


def test_values_without_a_configuration_at_a_place_are_not_listed(run: Run) -> None:
    """Also if ``per`` is that of the study; lists of different lengths have no empty places."""
    text = Path("study.toml").read_text().replace('machine = "8800gtx"\n', "")
    text += 'machine = ["8800gtx", "gtx280"]\n[best]\nminimize = "time"\nper = ["machine"]\n'
    Path("per.toml").write_text(text)
    place = ("optimum", "per.toml", "--at", "machine=gtx280", "--json")
    for more in ([], ["--within", "10%"]):
        rows = json.loads(run(*place, *more).stdout)["rows"]
        assert {row["machine"] for row in rows} == {"gtx280"}
        assert all(row["time"] > 0 for row in rows)
    every = json.loads(run("optimum", "per.toml", "--within", "20%", "--json").stdout)["rows"]
    counts = [sum(row["machine"] == name for row in every) for name in ("8800gtx", "gtx280")]
    assert counts[0] != counts[1]
    assert all(row["time"] > 0 for row in every)


def test_a_certified_front(run: Run) -> None:
    command = ("pareto", "study.toml", "--minimize", "time,active_sms")
    scan = json.loads(run(*command, "--json").stdout)
    front = json.loads(run(*command, "--method", "certified", "--json").stdout)
    assert front == scan | {"method": "certified", "complete": 1}
    printed = run(*command, "--method", "certified").stdout
    assert "certified: each is on the Pareto front, and no others" in printed
    run("run", "study.toml", "--store", "out.zarr")
    for method in ("scan", "certified"):
        options = ("--epsilon", "5%", "--method", method)
        cover = json.loads(run(*command, *options, "--json").stdout)
        assert (cover["epsilon"], cover["method"]) == (0.05, method)
        assert cover["reference"] == [max(r[n] for r in cover["rows"]) for n in NAMES]
        assert cover["hypervolume"] > 0
        for row in front["rows"]:
            assert any(all(c[n] <= 1.05 * row[n] for n in NAMES) for c in cover["rows"])
        text = run(*command, *options, "--reference", "1,31").stdout
        assert f"{method}: each configuration of the Pareto front is within 5 % of a" in text
        assert "up to the reference point time = 1 s, active_sms = 31" in " ".join(text.split())
        assert re.search(r"hypervolume: [\d.e+-]+ [mµ]?s, up to", text)
    formula = run("pareto", "study.toml", "--minimize", "2 * time,active_sms").stdout
    assert re.search(r"hypervolume: \S+ [mµ]?s, up to .* 2 \* time = \S+ [mµ]?s, active", formula)
    of_store = run("pareto", "out.zarr", *command[2:], "--method", "certified", "--json")
    assert json.loads(of_store.stdout) == front


def test_axes_held_at_one_value(run: Run) -> None:
    run("run", "study.toml", "--store", "out.zarr")
    every = dse.Study.from_toml("study.toml").run()
    axis = next(str(name) for name in every.time.dims if every[name].dtype.kind in "if")
    value = every[axis].values[1].item()
    for source in ("study.toml", "out.zarr"):
        at = ("--at", f"{axis}={value!r}", "--json")
        for verb in ("optimum", "pareto"):
            printed = json.loads(run(verb, source, "--minimize", "time", *at).stdout)
            assert [row[axis] for row in printed["rows"]] == [value]
            assert printed["rows"][0]["time"] == every.time.sel({axis: value}).min().item()
    for verb in ("optimum", "pareto"):
        off = run(verb, "study.toml", "--minimize", "time", "--at", "active_sms=1000", status=2)
        assert "active_sms = 1000 is not on its axis; the nearest value is 18" in off.stderr
    energy = str(Path(__file__).parents[2] / "examples/energy-gtx280.toml")
    for value, text in {"603MHz": "603 MHz", "600000001": "600000001.0"}.items():
        off = run("optimum", energy, "--at", f"core_clock={value}", status=2)
        assert f"core_clock = {text} is not on its axis; the nearest value is 600" in off.stderr
    wrong = run("optimum", "out.zarr", "--minimize", "time", "--at", "active_sms", status=2)
    assert "expected QUANTITY=VALUE" in wrong.stderr


def test_power_of_a_modern_gpu_is_bounded_if_no_model_can_compute_it(run: Run) -> None:
    given = ("machine=h100_sxm", "workload=svm", "--outputs", "power")
    error = run("evaluate", "occupancy + latency_roofline", *given, status=2).stderr
    text = " ".join(error.split())
    assert "activity_power for power, with energies that no machine file has" in text
    assert "set power_limit_share, such as 0.8" in text
    energies = [name for name in load_model("activity_power").needs("power") if "energy" in name]
    assert energies
    assert not [name for name in energies if shipped_values(name)]


def test_labels_without_a_value_of_the_objective_are_named_with_the_cause(run: Run) -> None:
    text = """model = "ipp"
machine = "gtx280"
outputs = ["time"]
[axes]
workload = ["sepia", "svm"]
active_sms = [10, 30]
threads_per_block = [64, 128]
"""
    Path("two.toml").write_text(text)
    Path("machines.toml").write_text(
        text.replace('machine = "gtx280"\n', "").replace(
            "[axes]", '[axes]\nmachine = ["8800gtx", "gtx280"]'
        )
    )
    goal = ("--minimize", "geomean(best(time, threads_per_block, active_sms), workload)")
    sepia = ("--where", "not (machine == '8800gtx' and workload == 'sepia')")
    why = "8800gtx: no value: no feasible configuration of sepia has one"
    command = ("optimum", "machines.toml", *goal, *sepia)
    assert f"\n{why}\n" in run(*command, "--top", "2").stdout
    printed = json.loads(run(*command, "--top", "2", "--json").stdout)
    assert printed["no_value"] == [why]
    assert [row["machine"] for row in printed["rows"]] == ["gtx280"]
    assert "no value" not in run(*command, "--at", "machine=gtx280").stdout
    assert why in run(*command, "--at", "machine=8800gtx", status=1).stderr
    alone = ("optimum", "two.toml", *goal, "--where", "workload == 'svm'")
    assert "; no value: no feasible configuration of sepia has one" in run(*alone, status=1).stderr
    split = ("--where", "threads_per_block == where(workload == 'svm', 128, 64)")
    best = ("optimum", "two.toml", "--minimize", "geomean(time, workload)", *split)
    assert "no feasible configuration has one over workload" in run(*best, status=1).stderr


def test_options_change_the_study_of_an_optimum(run: Run) -> None:
    text = Path("study.toml").read_text().replace('machine = "8800gtx"\n', "")
    text += 'machine = ["8800gtx", "gtx280"]\n[best]\nminimize = "time"\nper = ["machine"]\n'
    Path("per.toml").write_text(text)
    changes = ("--set", "machine=gtx280", "--axis", "active_sms=3,7", "--json")
    (row,) = json.loads(run("optimum", "per.toml", *changes).stdout)["rows"]
    study = dse.Study.from_toml("study.toml")
    given = {"machine": "gtx280", "axes": {**study.axes, "active_sms": [3, 7]}}
    changed = dse.Study(model=study.model, workload=study.workload, set=study.set, **given)
    best = dse.best_config(changed.optimum(minimize="time"))
    assert {name: row[name] for name in NAMES} == {name: best[name] for name in NAMES}
    assert json.loads(run("run", "per.toml", *changes).stdout)["best"]["rows"] == [row]
    Path("rows.csv").write_text("a,time\n1,2\n2,3\n")
    wrong = run("optimum", "rows.csv", "--minimize", "time", "--set", "a=1", status=2)
    assert "--axis and --set change a study of one model" in wrong.stderr
