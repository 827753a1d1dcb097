"""The command line helps: doubts of bare numbers, narrow terminals, completion, the doctor."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.study.plan import unusual_numbers
from symbolic.answer import Table, value_text, wide_tables
from symbolic.answer import text_table as table
from tests.long import long

BARE = [
    ("core_clock", 1410, "is '1410 MHz' meant?"),
    ("core_clock", 1.5, "is '1.5 GHz' meant?"),
    ("core_clock", "1410 Hz", None),
    ("core_clock", 1.41e9, None),
    ("mem_bandwidth", 80, "is '80 GB/s' meant?"),
    ("mem_latency_dram", 4, None),
]


@pytest.mark.parametrize(("name", "value", "doubt"), BARE)
def test_a_bare_number_far_from_what_is_usual(name, value, doubt):
    study = dse.Study(
        model="mwp_cwp", machine="gtx280", workload="hong2009_example", set={name: value}
    )
    result = unusual_numbers(study)
    assert bool(result) == bool(doubt)
    assert doubt is None or (result[0].startswith(f"{name} = {value:g} is ") and doubt in result[0])
    assert study.plan is not None


def test_a_swept_bare_number_and_a_bare_limit():
    study = dse.Study(
        model="mwp_cwp",
        machine="gtx280",
        workload="hong2009_example",
        axes={"core_clock": {"start": 600, "stop": 1400, "step": 100}},
        where=["time <= 400"],
    )
    clock, most, limit = unusual_numbers(study)
    assert "is '600 MHz' meant?" in clock
    assert "is '1400 MHz' meant?" in most
    assert limit.startswith("time <= 400 is a limit of 400 s")


@pytest.mark.filterwarnings("ignore:core_clock")
def test_the_doubt_is_told_by_every_command(run):
    for command in (
        "run study.toml --set core_clock=1410 --progress none",
        "evaluate mwp_cwp --machine gtx280 --workload hong2009_example core_clock=1410",
    ):
        printed = run(*command.split())
        assert printed.stderr.count("is '1410 MHz' meant?") == 1
        assert "meant" not in printed.stdout
    printed = run("optimum", "study.toml", "--minimize", "time", "--where", "time <= 400")
    assert printed.stderr.count("a limit of 400 s") == 1


def test_tables_of_a_narrow_terminal():
    words = "what the quantity is, in more words than a narrow terminal has room for"
    printed = table(["quantity", "value", "meaning"], [["time", "1.5 ms", words]], width=50)
    assert max(map(len, printed.splitlines())) <= 50
    assert " ".join(printed.split()).endswith(words)
    header, row = ["name", *"abcdef"], ["one", *(str(number) * 9 for number in range(6))]
    printed = table(header, [row], width=40)
    assert max(map(len, printed.splitlines())) <= 40
    assert printed.count("name") == printed.count("one") == 2
    assert all(cell in printed for cell in row)
    assert table(header, [row], width=400) == table(header, [row])


def test_a_narrow_table_drops_errors_and_repeated_inputs_and_says_so():
    header = ["rank", "machine", "threads", "time", "error(time)", "power"]
    rows = [["1", "gtx280", "64", "1.5 ms", "0.1 ms", "100 W"]]
    rows += [["2", "gtx280", "128", "1.6 ms", "0.1 ms", "110 W"]]
    whole = table(header, rows, key_columns=3)
    less = table(header, rows, key_columns=3, width=len(whole.splitlines()[0]) - 1)
    assert "error(time)" not in less.splitlines()[0]
    assert less.splitlines()[-1] == "not shown: error(time) (--wide shows all)"
    narrow = table(header, rows, key_columns=3, width=30).splitlines()
    assert narrow[0].split() == ["rank", "threads", "time", "power"]
    end = " ".join(narrow[3:])
    assert end == "not shown: error(time), machine (always gtx280) (--wide shows all)"
    keys, *blocks = table(header, rows, key_columns=3, width=22).split("\n\n")
    assert all(block.split()[:2] == ["rank", "threads"] for block in [keys, *blocks])
    assert table(header, rows[:1], key_columns=3, width=40).count("gtx280") > 0
    with wide_tables():
        assert table(header, rows, key_columns=3) == whole


def test_a_column_of_numbers_has_one_prefix():
    times = Table(
        columns={"n": "", "time": "s", "size": "B"}, rows=[[1, 2e-3, 512], [2, 4e-7, 2048]]
    )
    assert times.cells(None) == [["1", "2000 µs", "512 B"], ["2", "0.4 µs", "2048 B"]]
    assert value_text(1.125e-67, "s") == "0 s"
    noise = Table(columns={"gain": "s"}, rows=[[3e-3], [1e-20], [float("nan")]])
    assert noise.cells(None) == [["3 ms"], ["0 s"], ["-"]]


def test_the_help_groups_commands_by_task_on_one_screen():
    printed = CliRunner().invoke(main, ["--help"], terminal_width=100).stdout
    lines = printed.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    narrow = CliRunner().invoke(main, ["--help"], terminal_width=80).stdout.splitlines()
    tasks = ["Start:", "Explore:", "Ask:", "Uncertainty:", "Kernels and GPUs:", "Data:", "About:"]
    places = [narrow.index(task) for task in tasks]
    assert places == sorted(places)
    for name, command in main.commands.items():
        summary = re.split("[.,:]", " ".join((command.help or "").split()))[0]
        for text in (printed, "\n".join(narrow)):
            assert re.search(rf"(?m)(^| )  {name} +{re.escape(summary)}(  |$)", text), name
        for option in command.params:
            assert not isinstance(option, click.Option) or option.help, (name, option.name)


def test_dse_alone_names_the_next_commands(run):
    printed = run().stdout
    lines = printed.splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 100
    assert set(re.findall(r"dse (\w+)", printed)) <= {*main.commands, "predicts", "COMMAND"}
    examples = [line.split("   ")[0].split()[1:] for line in lines if " --m" in line]
    assert len(examples) == 3
    for arguments in examples[:2]:  # the third needs a kernel
        assert run(*arguments).stdout


def terminal_lines(*arguments: str, columns: int) -> list[str]:
    """Return the lines that a command prints on a terminal, errors included."""
    here, there = pty.openpty()
    command = [sys.executable, "-m", "dse", *arguments]
    environment = {**os.environ, "COLUMNS": str(columns)}
    subprocess.run(command, stdout=there, stderr=there, env=environment, check=False)
    os.close(there)
    printed = b""
    while True:
        try:
            piece = os.read(here, 65536)
        except OSError:  # so Linux tells that nobody writes any more
            break
        if not piece:
            break
        printed += piece
    os.close(here)
    lines = printed.decode().replace("\x1b[K", "").splitlines()
    return [line for line in lines if "so far" not in line and line.strip()]  # no progress


def test_the_width_is_that_of_the_terminal():
    lines = terminal_lines("machines", "gtx280", columns=60)
    assert len(lines) > 20
    assert max(map(len, lines[2:])) <= 60


def test_long_lines_of_answers_and_errors_are_wrapped():
    gemm = ["gemm", "--machine", "h100_sxm", "m=8192", "n=8192", "k=8192"]
    for columns in (60, 100):
        for arguments in (["advise", *gemm], ["evaluate", "occupancy", "--machine", "l4444"]):
            lines = terminal_lines(*arguments, columns=columns)
            assert len(lines) > (5 if arguments[0] == "advise" else 1)
            assert max(map(len, lines)) <= columns
    document = json.loads("\n".join(terminal_lines("advise", *gemm, "--json", columns=20)))
    assert document["goal"] == "time"


def complete(*words: str) -> list[str]:
    environment = {
        **os.environ,
        "_DSE_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["dse", *words]),
        "COMP_CWORD": str(len(words)),
    }
    script = "import sys; from dse.cli import main; main(prog_name='dse')"
    printed = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return [line.partition(",")[2] for line in printed.stdout.splitlines()]


@long
def test_names_are_completed():
    assert "gtx280" in complete("machines", "gtx2")
    assert complete("models", "mwp_c") == ["mwp_cwp"]
    assert complete("evaluate", "mwp_cwp", "mem_latency_d") == ["mem_latency_dram="]
    assert "machine=gtx280" in complete("evaluate", "mwp_cwp", "machine=gtx28")
    assert "occupancy+mwp_cwp" in complete("evaluate", "occupancy+mwp")


def test_the_doctor(run, monkeypatch, tmp_path: Path):
    result = json.loads(run("doctor", "--json").stdout)["findings"]
    states = {one["what"]: one["state"] for one in result}
    assert states["python"] == states["numpy"] == states["simt-dse"] == "ok"
    assert "wrong" not in states.values()
    monkeypatch.setenv("DSE_CACHE", "")
    result = json.loads(run("doctor", "--json").stdout)["findings"]
    assert {one["what"]: one["state"] for one in result}["compiled code"] == "absent"


def test_the_doctor_names_what_is_wrong(run, monkeypatch):
    import importlib.metadata

    had = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "0.1" if name == "scipy" else had(name)
    )
    printed = CliRunner().invoke(main, ["doctor"])
    assert printed.exit_code == 1
    assert "scipy is 0.1, >=1.12 is needed" in " ".join(printed.stdout.split())
