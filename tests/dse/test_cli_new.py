"""The command line: starting files work as they stand, and with any line of theirs in force."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import Result

import dse
from dse.analysis.draft import QUESTIONS, count_kernel, draft_study
from dse.catalog.entries import unavailable_models
from tests.dse.test_kernel_source import compiling

Run = Callable[..., Result]


def test_a_new_study_runs_as_it_stands_and_with_its_comments_in_force(run: Run) -> None:
    run("new", "study", "mine.toml")
    answer = json.loads(run("run", "mine.toml", "--json").stdout)
    assert answer["points"] == 32
    assert answer["best"]["rows"][0]["time"] > 0
    text = Path("mine.toml").read_text()
    assert "\n# where = " in text
    Path("more.toml").write_text(text.replace("\n# where = ", "\nwhere = "))
    assert json.loads(run("plan", "more.toml", "--json").stdout)["points"] == 32


@pytest.mark.parametrize(
    ("kind", "base"),
    [("machine", ""), ("machine", "cc8.0"), ("workload", ""), ("workload", "sepia")],
)
def test_a_new_machine_or_workload_is_its_base_line_by_line(run: Run, kind: str, base: str) -> None:
    run("new", kind, "mine.toml", *(["--from", base] if base else []))
    read_entry = dse.machine if kind == "machine" else dse.workload
    of = read_entry(base or {"machine": "gtx280", "workload": "svm"}[kind])
    read = read_entry("mine.toml")
    assert {name: read.values[name] for name in of.values} == of.values
    text = Path("mine.toml").read_text()
    printed, _, as_it_has = text.rpartition("# --- from ")
    lines = [
        line[2:] for line in as_it_has.splitlines() if line.startswith("# ") and " = {" in line
    ]
    assert set(tomllib.loads("\n".join(lines))) == set(of.values)
    assert ("# n_sms = { value = 108, source = " in printed) == (base == "cc8.0")
    Path("all.toml").write_text(text + "\n".join(lines) + "\n")
    assert read_entry("all.toml").values == read.values


@pytest.mark.parametrize(
    "base", ["cc1.1", "cc5.2", "cc8.0", "cc8.9", "cc12.1", "p100", "gtx1080ti"]
)
def test_a_new_machine_says_what_to_fill_in_and_opens_models_with_it(run: Run, base: str) -> None:
    printed = json.loads(run("new", "machine", "mine.toml", "--from", base, "--json").stdout)
    assert set(printed["to_fill_in"]["mwp_cwp"]) >= {"mem_latency_nominal"}
    assert unavailable_models(dse.machine("mine.toml"))["mwp_cwp"] == tuple(
        printed["to_fill_in"]["mwp_cwp"]
    )
    text = Path("mine.toml").read_text()
    assert f"# mwp_cwp needs {', '.join(printed['to_fill_in']['mwp_cwp'])}\n" in text
    filled = re.sub(r"(?m)^# (\w+ = \{.*WHERE YOURS IS FROM)", r"\1", text)
    Path("mine.toml").write_text(filled)
    own = dse.machine("mine.toml")
    assert not set(printed["to_fill_in"]) & set(unavailable_models(own))
    assert own.values["mem_latency_nominal"].source == "WHERE YOURS IS FROM"
    answer = run("evaluate", "mwp_cwp", "--machine", "mine.toml", "--workload", "svm",
               "threads_per_block=256", "active_blocks_per_sm=2").stdout  # fmt: skip
    assert "time" in answer


def test_new_files_are_used_by_path(run: Run) -> None:
    run("new", "machine", "m.toml")
    run("new", "workload", "w.toml")
    at = ("threads_per_block=256", "--json")
    own = run("evaluate", "ipp", "--machine", "m.toml", "--workload", "w.toml", *at).stdout
    shipped = run("evaluate", "ipp", "--machine", "gtx280", "--workload", "svm", *at).stdout
    assert json.loads(own)["rows"] == json.loads(shipped)["rows"]
    run("new", "workload", "again.toml", "--from", "w.toml")
    assert dse.workload("again.toml").values == dse.workload("svm").values


def test_new_refuses_what_is_there_and_what_is_no_name(run: Run) -> None:
    for command, says in [
        ("study study.toml", "exists already"),
        ("study out.txt", "ends in .toml"),
        ("study nowhere/out.toml", "a folder that exists"),
        ("study out.toml --from energy-gtx28", "did you mean 'energy-gtx280'?"),
        ("machine out.toml --from gtx28", "did you mean 'gtx280'?"),
        ("workload out.toml --from gtx280", "is no workload but a machine"),
    ]:
        assert says in run("new", *command.split(), status=2).stderr
    assert not Path("out.toml").exists()


def test_a_study_starts_from_a_shipped_example(run: Run) -> None:
    run("new", "study", "mine.toml", "--from", "energy-gtx280")
    shipped = Path(__file__).parents[2] / "examples" / "energy-gtx280.toml"
    assert Path("mine.toml").read_text() == shipped.read_text()
    assert run("plan", "mine.toml").stdout.startswith("ipp: ")


def test_a_shipped_study_is_run_by_its_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "transit: 320 points" in run("plan", "transit-tour").stdout
    assert "Li 2015" in run("explain", "transit-tour", "threads=512", "intensity=40").stdout
    assert "cs_throughput" in run("plot", "lines", "transit-tour", "--out", "a.png").stdout
    assert "transit-tour.html" in run("explore", "transit-tour").stdout
    (tmp_path / "transit-tour").write_text("no study")  # a file of that name comes first
    assert "is no TOML" in run("plan", "transit-tour", status=2).stderr
    assert "does not exist" in run("plan", "transit-tours", status=2).stderr


def answer_questions(folder: Path, *answers: str) -> tuple[str, str]:
    """Run `dse new` on a new terminal; return its standard output, and the text on the terminal."""
    here, there = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.Popen(
        [sys.executable, "-m", "dse", "new"],
        cwd=folder,
        env=environment,
        stdin=there,
        stdout=subprocess.PIPE,
        stderr=there,
        text=True,
    )
    os.close(there)
    os.write(here, "".join(f"{answer}\n" for answer in answers).encode())
    prompts = ""
    with suppress(OSError):  # of a terminal that is closed
        while text := os.read(here, 1 << 16):
            prompts += text.decode().replace("\r", "")
    printed, _ = done.communicate(timeout=120)
    os.close(here)
    assert done.returncode == 0, printed + prompts
    return printed, prompts


def test_three_questions_on_a_terminal_give_a_study_that_runs(run: Run, tmp_path: Path) -> None:
    printed, prompts = answer_questions(
        tmp_path, "svmm", "svm", "gtx 281", "gtx 280", "best", "clock"
    )
    assert "study2.toml" in printed
    places = [prompts.index(text) for text in ("'svmm' is no kernel", "'gtx 281' is no machine",
              "'best' is not one of")]  # fmt: skip
    assert places == sorted(places)
    assert [prompts.count(f"Which {what}") for what in ("machine", "question")] == [2, 2]
    best = json.loads(run("run", "study2.toml", "--json", "--progress", "none").stdout)
    assert best["points"] == 6
    assert best["best"]["rows"][0]["core_clock"] == pytest.approx(1.3e9)
    printed, prompts = answer_questions(tmp_path, "", "", "")
    assert "study3.toml" in printed
    assert "\n  shape   How does the result depend on the size" in prompts
    assert "block size" not in prompts
    answer = json.loads(run("run", "study3.toml", "--json", "--progress", "none").stdout)
    assert len(answer["best"]["rows"]) == answer["points"] > 1  # one for each size


def test_without_a_terminal_new_names_what_to_give(run: Run) -> None:
    for command in (["new"], ["new", "study"]):
        assert "dse new study study.toml" in run(*command, status=2).stderr
    assert not Path("study2.toml").exists()


@pytest.mark.parametrize(
    ("machine", "expected"),
    [("h100_sxm", {"gemm", "moe", "spmv"}), ("gtx280", {"ipp", "svm", "streaming"})],
)
def test_every_drafted_study_has_an_answer(
    machine: str, expected: set[str], tmp_path: Path
) -> None:
    drafted, subjects = set(), [*dse.models(), "svm", "mat_tiled", "stress_l2"]
    for subject in subjects:
        for question in QUESTIONS:
            try:
                text = draft_study(subject, machine, question, "s.toml")
            except dse.DseError as error:
                assert "choose another" in str(error)  # noqa: PT017
                continue
            (tmp_path / "s.toml").write_text(text)
            study = dse.Study.from_toml(tmp_path / "s.toml")
            query = dict(study.best or {})
            assert study.grid().points > 1
            assert study.optimum(**query).sizes == {} or "per" in query, (subject, question)
            drafted.add(subject)
    assert drafted > expected


@compiling
def test_a_kernel_is_counted_with_the_launch_in_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kernels = Path(__file__).parents[2] / "examples" / "kernels"
    cases = ("axpy.cu", "block", "threads_per_block"), ("gemm.cu", "clock", "core_clock")
    for name, question, axis in cases:
        Path("k.toml").write_text(count_kernel(kernels / name, "h100_sxm"))
        Path("s.toml").write_text(draft_study("k.toml", "h100_sxm", question, "s.toml"))
        study = dse.Study.from_toml("s.toml")
        assert [*study.axes] == [axis]  # the counts of gemm hold for one block
        assert study.optimum(minimize="time").time > 0
