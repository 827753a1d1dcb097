"""The command line: help, and the exit status of whatever can go wrong."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from dse.cli import main

COMMANDS = sorted(main.commands)
LISTED = {
    "advise",
    "run",
    "plan",
    "optimum",
    "pareto",
    "explain",
    "export",
    "models",
    "machines",
    "workloads",
}

Run = Callable[..., Result]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_has_an_example(run: Run, command: str) -> None:
    text = run(*command.split(), "--help").stdout
    assert f"Example:\n    dse {command}".rstrip() in text


def test_commands_and_version(run: Run) -> None:
    assert set(COMMANDS) >= LISTED
    assert run("--version").stdout.startswith("dse ")
    for name in COMMANDS:
        assert any("--json" in option.opts for option in main.commands[name].params), name


MISUSED = [
    ("run transit-tour --store C:\\\\out.zarr", "is a Windows path"),
    (
        "plot mwp --machine gtx280 --workload svm --axis threads_per_block=64,128 --out a.png",
        "occupancy for active_blocks_per_sm",
    ),
    (
        "ranges study.toml --within n_sms=1%,core_clock=2% --output time",
        "give each input",
    ),
    ("run nowhere.toml", "does not exist"),
    ("run wrong.toml", "has the unknown key 'modle'"),
    ("run best.toml", "best has the unknown key 'minimise'"),
    ("run top.toml", "best: top = 0: expected a whole number of at least 1"),
    ("run both.toml", "best has both minimize and maximize"),
    ("run table.toml", "best = 3: expected a table"),
    ("run goal.toml", "'tim' is no quantity; did you mean 'time'?"),
    ("run per.toml", "'machine', which is no axis of the study"),
    ("run study.toml --store out.nc", "expected a name that ends in .zarr"),
    ("run study.toml --top 2", "--top needs an objective"),
    ("run study.toml --minimize time --minimize time", "time is given twice among"),
    ("run study.toml --minimize time --per machine", "'machine', which is no axis of the study"),
    ("run study.toml --minimize time --per active_sms,", "--per 'active_sms,' has an empty item"),
    ("optimum study.toml --minimize time --per=", "--per '' is empty: name at least one"),
    ("evaluate gemm --machine v100", "v100_pcie (NVIDIA Tesla V100 PCIe) or v100_sxm2"),
    ("optimum study.toml", "give --minimize or --maximize"),
    ("optimum study.toml --minimize tim", "did you mean 'time'?"),
    ("optimum study.toml --minimize time --where time<=1kg", "kg"),
    ("optimum study.toml --minimize time --per machine", "per = 'machine' is no axis"),
    ("optimum best.csv", "give --minimize or --maximize"),
    ("optimum study.toml --minimize time --maximize case", "both minimize and maximize"),
    ("optimum other.txt --minimize time", "expected one of"),
    ("optimum dir.zarr --minimize time", "no zarr store that can be read"),
    ("pareto study.toml", "give --minimize or --maximize"),
    ("explain study.toml active_sms", "such as active_sms=20"),
    ("explain study.toml active_sms=12 active_sms=13", "is given twice"),
    ("explain study.toml active_sms=99", "is not on its axis"),
    ("advise study.toml active_sms", "such as active_sms=20"),
    ("advise study.toml active=12", "did you mean 'active_sms'?"),
    ("explain study.toml active=12", "did you mean 'active_sms'?"),
    ("export dir.zarr out.nc", "no zarr store that can be read"),
    ("models nope", "is no model"),
    ("models --latex", "--latex needs the NAME"),
    ("machines gtx28", "did you mean 'gtx280'?"),
    ("workloads gtx280", "is no workload but a machine"),
    ("machine", "No such command"),
    ("plan study.toml --jsn", "No such option"),
]


@pytest.mark.parametrize(("command", "message"), MISUSED, ids=[command for command, _ in MISUSED])
def test_misuse_is_2(run: Run, command: str, message: str) -> None:
    study = Path("study.toml").read_text()
    Path("wrong.toml").write_text(study.replace("model", "modle"))
    Path("best.toml").write_text(study + '[best]\nminimise = "time"\n')
    Path("top.toml").write_text(study + '[best]\nminimize = "time"\ntop = 0\n')
    Path("both.toml").write_text(study + '[best]\nminimize = "time"\nmaximize = "time"\n')
    Path("goal.toml").write_text(study + '[best]\nminimize = "tim"\n')
    Path("per.toml").write_text(study + '[best]\nminimize = "time"\nper = ["machine"]\n')
    Path("table.toml").write_text("best = 3\n" + study)
    Path("best.csv").write_text("best,time [s]\n1,2\n")  # the column is no query
    Path("other.txt").write_text("")
    Path("dir.zarr").mkdir()
    assert message in run(*command.split(" "), status=2).stderr


def test_what_fails_is_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("computed before the folder was tried")

    Path("file").write_text("")
    with monkeypatch.context() as patch:
        patch.setattr("sweeps.store.fill.check_grid", never)
        for place in ("nowhere/out.zarr", "file/out.zarr"):
            assert "cannot write in" in run("run", "study.toml", "--store", place, status=1).stderr
    none = run(
        "optimum", "study.toml", "--minimize", "time", "--where", "active_sms > 99", status=1
    )
    assert "'active_sms > 99' is broken at every point" in none.stderr
    run("run", "study.toml", "--store", "out.zarr")
    none = run("optimum", "out.zarr", "--minimize", "time", "--where", "active_sms > 99", status=1)
    assert "active_sms > 99" in none.stderr
    assert "cannot write in" in run("export", "out.zarr", "nowhere/out.nc", status=1).stderr

    def too_much(*_: Any, **__: Any) -> None:
        raise MemoryError("Unable to allocate 58 TiB")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dse.runs.run.compute", too_much)
    assert "58 TiB; dse plan shows" in run("run", "study.toml", status=1).stderr
    with monkeypatch.context() as patch:
        patch.setattr("sweeps.store.fill.TileWriter.store", full)
        message = run("run", "study.toml", "--store", "x.zarr", status=1).stderr
    assert "x.zarr cannot be written: No space left on device; 0 of 2 tiles are stored" in message
    assert "the same command continues" in message
    assert "computed in" in run("run", "study.toml", "--store", "x.zarr").stdout


@pytest.mark.parametrize(
    ("code", "status"), [("EIO", 1), ("ENOSPC", 1), ("EROFS", 1), ("EACCES", 2)]
)
def test_a_system_that_fails_is_no_misuse(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, code: str, status: int
) -> None:
    def failing(*_: Any, **__: Any) -> str:
        raise OSError(getattr(errno, code), code)

    monkeypatch.setattr(Path, "read_text", failing)
    assert "cannot be read" in run("plan", "study.toml", status=status).stderr
