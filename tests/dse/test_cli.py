"""The command line: every command, as text and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xarray as xr
from click.testing import CliRunner, Result

import dse
from dse.cli import main
from tests.long import long

Run = Callable[..., Result]


@pytest.fixture
def study() -> str:
    """The text of study.toml."""
    return Path("study.toml").read_text()


def document(result: Result) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(result.stdout, parse_constant=refuse)


# --- run


def test_run_tells_what_how_fast_which_and_where(run: Run) -> None:
    text = run("run", "study.toml", "--store", "out.zarr", "--minimize", "time").stdout
    assert "21 configurations" in text
    assert "active_sms" in text
    assert "feasible: 15, where" in text
    assert " configurations/s" in text
    assert "best, minimize time:" in text
    assert "computation bound" in text
    assert "dataset: out.zarr" in text
    ds = dse.open("out.zarr")
    assert dict(ds.sizes) == {"threads_per_block": 3, "active_sms": 7}


def test_run_shows_constraints_of_the_best_and_no_constant_axis(run: Run) -> None:
    text = Path("study.toml").read_text().replace("[axes]", '[axes]\nworkload = ["svm"]')
    Path("one.toml").write_text(text.replace('workload = "svm"\n', ""))
    command = ("--minimize", "time", "--where", "active_sms <= 14")
    lines = run("run", "one.toml", *command).stdout.splitlines()
    place = lines.index("best, minimize time, where active_sms <= 14:")
    assert "workload" not in lines[place + 1]
    assert "active_sms" in lines[place + 1]
    assert any(line.split() == ["workload", "1", "svm"] for line in lines)
    rows = json.loads(run("run", "one.toml", *command, "--json").stdout)["best"]["rows"]
    assert rows[0]["workload"] == "svm"


def test_run_in_json(run: Run) -> None:
    data = document(
        run("run", "study.toml", "--store", "o.zarr", "--maximize", "occupancy", "--json")
    )
    assert (data["points"], data["feasible_points"], data["computed"]) == (21, 15, True)
    assert data["axes"]["active_sms"]["size"] == 7
    assert data["store"] == "o.zarr"
    assert data["points_per_second"] > 0
    assert data["best"]["rows"][0]["occupancy"] == 1.0
    assert data["best"]["variables"]["case"]["flags"]["2"] == "memory bound"
    again = document(run("run", "study.toml", "--store", "o.zarr", "--json"))
    assert (again["computed"], again["seconds"], again["best"]) == (False, None, None)


def test_run_without_a_store_keeps_the_dataset_in_memory(run: Run) -> None:
    text = run("run", "study.toml").stdout
    assert "in memory only" in text
    assert "best: name an objective" in text
    assert sorted(Path().iterdir()) == [Path("study.toml")]


def test_the_question_of_the_file_is_asked_and_refined(run: Run, study: str) -> None:
    best = '[best]\nminimize = "time"\nper = "active_sms"\nwhere = "occupancy >= 0.5"\n'
    Path("best.toml").write_text(study + best)
    rows = document(run("run", "best.toml", "--json"))["best"]["rows"]
    assert [row["active_sms"] for row in rows] == [*range(12, 19)]
    assert rows[-1]["time"] is None  # 18 multiprocessors are more than there are
    rows = document(run("run", "best.toml", "--per", "threads_per_block", "--json"))["best"]["rows"]
    assert [row["threads_per_block"] for row in rows] == [64, 128, 256]
    printed = run("run", "best.toml", "--maximize", "active_sms", "--top", "2").stdout
    assert "best, maximize active_sms:" in printed
    lines = run("optimum", "best.toml").stdout.splitlines()
    assert len(lines) == 3 + 7
    assert [line.split()[1] for line in lines[3:]] == [*["128"] * 5, "-", "-"]


def test_a_finished_store_is_nothing_to_do(run: Run) -> None:
    run("run", "study.toml", "--store", "out.zarr")
    stamps = {path: path.stat().st_mtime_ns for path in Path("out.zarr").rglob("*")}
    again = run("run", "study.toml", "--store", "out.zarr", "--minimize", "time").stdout
    assert "nothing to do" in again
    assert "best, minimize time" in again
    assert {path: path.stat().st_mtime_ns for path in Path("out.zarr").rglob("*")} == stamps


def test_another_path_is_refused_with_the_difference(run: Run, study: str) -> None:
    run("run", "study.toml", "--store", "out.zarr")
    Path("dir.zarr").mkdir()
    Path("file.zarr").write_text("mine")
    for name in ("dir.zarr", "file.zarr"):
        refused = run("run", "study.toml", "--store", name, status=2)
        assert f"{name} exists and is no store of a study" in refused.stderr
    assert Path("file.zarr").read_text() == "mine"

    def refusal(text: str, *options: str) -> str:
        Path("other.toml").write_text(text)
        return run("run", "other.toml", "--store", "out.zarr", *options, status=2).stderr

    assert "the axis threads_per_block is [64, 128, 256] there, not [64, 128]" in refusal(
        study.replace(", 256]", "]")
    )
    assert 'its machine is "8800gtx", not "8800gt"' in refusal(study.replace("8800gtx", "8800gt"))
    assert "its model is occupancy + mwp_cwp, not mwp_cwp + occupancy" in refusal(
        study.replace("occupancy + mwp_cwp", "mwp_cwp + occupancy")
    )
    assert "the value of comp_factor is nothing there, not 2" in refusal(
        study + "[set]\ncomp_factor = 2\n"
    )
    assert "its outputs are not expanded" in refusal(study, "--expand")


def test_fresh_keeps_the_earlier_store_aside(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("run", "study.toml", "--store", "out.zarr")
    text = run("run", "study.toml", "--store", "out.zarr", "--fresh").stdout
    assert "the earlier store was moved to out.old-1.zarr" in text
    assert dse.open("out.old-1.zarr").identical(dse.open("out.zarr"))
    before = sorted(Path().rglob("*"))

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    # before anything new is there, the earlier store comes back; afterwards it stays aside
    monkeypatch.setattr("sweeps.store.fill.check_grid", interrupt)
    result = CliRunner().invoke(main, ["run", "study.toml", "--store", "out.zarr", "--fresh"])
    assert result.exit_code == 130
    assert "interrupted: no unfinished result was written" in result.stderr
    assert sorted(Path().rglob("*")) == before


# --- the other commands


def test_plan(run: Run) -> None:
    text = run("plan", "study.toml").stdout
    assert "21 points (threads_per_block 3 x active_sms 7)" in text
    data = document(run("plan", "study.toml", "--expand", "--json"))
    assert {output["points"] for output in data["outputs"]} == {21}


def test_explain(run: Run) -> None:
    text = run("explain", "study.toml", "threads_per_block=128", "active_sms = 16").stdout
    assert text.startswith("at threads_per_block = 128, active_sms = 16")
    assert "Hong 2012, Eq. 6" in text
    data = document(run("explain", "study.toml", "active_sms=18", "--json"))
    assert data["point"] == {"threads_per_block": 64, "active_sms": 18}
    assert data["conditions"]["active_sms <= n_sms"] is False


def test_advise(run: Run) -> None:
    at = ["threads_per_block=128", "active_sms=16"]
    text = run("advise", "study.toml", *at).stdout
    assert text.startswith("case: ")
    assert "what improves time:\n  " in text
    advice = dse.advise(dse.Study.from_toml("study.toml"), threads_per_block=128, active_sms=16)
    assert text == f"{advice}\n"
    refused = run("advise", "study.toml", "--goal", "energy", status=2).stderr
    assert "time" in refused


@long
def test_advise_in_json_and_for_some_levers(run: Run) -> None:
    at = ["threads_per_block=128", "active_sms=16"]
    advice = dse.advise(dse.Study.from_toml("study.toml"), threads_per_block=128, active_sms=16)
    data = document(run("advise", "study.toml", *at, "--json"))
    assert [move["quantity"] for move in data["moves"]] == [move.quantity for move in advice.moves]
    data = document(run("advise", "study.toml", *at, "--levers", "designer", "--json"))
    assert {move["lever"] for move in data["moves"]} == {"designer"}


def test_optimum_of_a_study_and_of_its_store_agree(run: Run) -> None:
    run("run", "study.toml", "--store", "out.zarr")
    question = ["--minimize", "time", "--where", "active_sms <= 14", "--top", "3", "--json"]
    data = document(run("optimum", "study.toml", *question))
    stored = document(run("optimum", "out.zarr", *question))
    assert data == stored
    assert [row["rank"] for row in data["rows"]] == [1, 2, 3]
    # the bound on the SMs reaches 14 first, and 128 and 256 threads are equally good
    assert data["rows"][0]["threads_per_block"] == 128
    each = document(
        run("optimum", "out.zarr", "--minimize", "time", "--per", "active_sms", "--json")
    )
    assert [row["time"] is None for row in each["rows"]] == [False] * 5 + [True] * 2
    text = run("optimum", "out.zarr", "--minimize", "time", "--per", "active_sms").stdout
    header = text.splitlines()[2].split()
    assert header == ["active_sms", "threads_per_block", "time", "case", "occupancy"]


def test_pareto(run: Run) -> None:
    run("run", "study.toml", "--store", "out.zarr")
    question = ["--minimize", "time,active_sms", "--maximize", "minimum(occupancy, 0.5)", "--json"]
    data = document(run("pareto", "study.toml", *question))
    assert data["rows"] == document(run("pareto", "out.zarr", *question))["rows"]
    assert data["question"].count("mize ") == 3
    times = [row["time"] for row in sorted(data["rows"], key=lambda row: row["active_sms"])]
    assert times == sorted(times, reverse=True)
    assert "configurations" in run("pareto", "study.toml", *question[:-1]).stdout


def test_a_front_has_a_column_with_a_unit_for_each_goal_and_the_order_of_the_first(
    run: Run,
) -> None:
    question = ["--minimize", "time * 2,active_sms", "--json"]
    for per in ([], ["--per", "threads_per_block"]):
        data = document(run("pareto", "study.toml", *question, *per))
        about = data["variables"]["objective_1"]
        assert about == {"long_name": "time * 2", "units": "s"}
        rows = data["rows"]
        assert all(row["objective_1"] == 2 * row["time"] for row in rows)
        order = [(row["threads_per_block"] if per else 0, row["time"]) for row in rows]
        assert order == sorted(order)
        assert len(order) > 3
    back = ["--minimize", "active_sms", "--maximize", "1 / time"]
    table = run("pareto", "study.toml", *back).stdout.split("\n\n")[1].splitlines()
    (place,) = (k for k, name in enumerate(table[0].split()) if name == "active_sms")
    sms = [int(line.split()[place]) for line in table[1:]]
    assert sms == sorted(sms)
    assert all(line.endswith(" 1/s") for line in table[1:])
    maximized = document(run("pareto", "study.toml", "--maximize", "1 / time,occupancy", "--json"))
    values = [row["objective_1"] for row in maximized["rows"]]
    assert values == sorted(values, reverse=True)


def test_an_answer_at_a_value_has_no_rows_of_other_values(run: Run) -> None:
    at = ["--per", "active_sms,threads_per_block", "--at", "active_sms=14", "--json"]
    rows = document(run("optimum", "study.toml", "--minimize", "time", *at))["rows"]
    assert [row["active_sms"] for row in rows] == [14] * 3
    assert document(run("optimum", "study.toml", "--minimize", "time * 2", "--json"))["variables"][
        "objective"
    ] == {"long_name": "time * 2", "units": "s"}


@pytest.mark.parametrize("ending", ["nc", "csv", "parquet", "zarr"])
def test_export(run: Run, ending: str) -> None:
    run("run", "study.toml", "--store", "out.zarr")
    data = document(run("export", "out.zarr", f"copy.{ending}", "--json"))
    assert data["written"] == f"copy.{ending}"
    assert data["bytes"] > 0
    with dse.open(f"copy.{ending}") as copy, dse.open("out.zarr") as ds:
        assert copy.equals(ds)
        assert copy.attrs["identity"] == ds.attrs["identity"]
    assert "exists: remove it" in run("export", "out.zarr", f"copy.{ending}", status=2).stderr
    if ending == "csv":
        assert '"computation bound"' in Path("copy.csv").read_text()
    elif ending == "parquet":
        assert "computation bound" in set(pd.read_parquet("copy.parquet").case)
    else:
        assert "computation_bound" in xr.open_dataset(f"copy.{ending}").case.attrs["flag_meanings"]


def test_export_of_many_rows_recommends_parquet(run: Run) -> None:
    advice = "a million rows, take Parquet"
    assert advice in " ".join(run("export", "--help").stdout.split())
    assert "prefer them for more than a million rows" in " ".join(str(dse.export.__doc__).split())


def test_models(run: Run) -> None:
    assert "transit" in run("models").stdout
    assert {"mwp_cwp", "occupancy"} <= {
        m["name"] for m in document(run("models", "--json"))["models"]
    }
    assert "Hong 2012, Eq. 22" in run("models", "mwp_cwp").stdout
    data = document(run("models", "transit", "--json"))
    assert "threads" in [row["name"] for row in data["inputs"]]
    assert r"\frac{M}{Z}" in run("models", "transit", "--latex").stdout
    assert len(document(run("models", "transit", "--latex", "--json"))["latex"]) > 5


def test_every_letter_of_the_equations_of_a_model_is_explained(run: Run) -> None:
    written = run("models", "transit", "--latex").stdout
    equations, _, symbols = written.partition("\nsymbols\n")
    for row in (
        r"L +mem_latency +cycle +latency",
        r"l +arithmetic_latency",
        r"\\varepsilon +allow",
    ):
        assert re.search(f"^{row}", symbols, re.M), row
    assert r"\varepsilon" in equations
    one = document(run("models", "transit", "ms_throughput", "--latex", "--json"))
    assert one["latex"] == [dse.model("transit").latex("ms_throughput")]
    assert {row["symbol"] for row in one["symbols"]} >= {"r", "R", "M", "Z", "n", "L", "l"}
    assert (
        "MWP"
        not in re.sub(
            r"\\(mathrm|text)\{[^}]*\}", "", run("models", "mwp_cwp", "mwp", "--latex").stdout
        ).partition("\n")[0]
    )
    assert "threads is an input" in run("models", "transit", "threads", "--latex", status=2).stderr


def test_the_symbols_of_equations_name_flags_and_differ(run: Run) -> None:
    written = run("models", "transit", "--latex").stdout
    assert "bottleneck of the machine; 0 thread; 1 memory; 2 computation; 3 capacity" in written
    symbols = document(run("models", "mwp_cwp", "--latex", "--json"))["symbols"]
    meanings = {row["name"]: row["meaning"] for row in symbols}
    assert [name for name, text in meanings.items() if text.endswith("(N)")] == ["resident_warps"]
    assert "; 2 memory bound; " in meanings["case"]
    shown = run("models", "transit").stdout
    for row in ("mem_latency +L", "threads_in_ms +k", "cs_transition +pi", "ms_transition +delta"):
        assert re.search(f"^{row} ", shown, re.M), row


@pytest.mark.parametrize(("kind", "name"), [("machine", "gtx280"), ("workload", "svm")])
def test_machines_and_workloads(run: Run, kind: str, name: str) -> None:
    assert name in run(f"{kind}s").stdout
    listed = document(run(f"{kind}s", "--json"))[f"{kind}s"]
    known = dse.machines() if kind == "machine" else dse.workloads()
    assert {row["name"]: row["title"] for row in listed} == {k: e.title for k, e in known.items()}
    text = run(f"{kind}s", name).stdout
    assert "Hong 2012, Table" in text
    assert "assumed: " in text
    data = document(run(f"{kind}s", name.upper(), "--json"))
    assert data["name"] == name
    assert all(("source" in v) != ("assumed" in v) for v in data["values"].values())
