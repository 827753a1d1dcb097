"""Fixtures of the command-line tests: a folder with a study, and a way to run a command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dse.cli import main

STUDY = """
model = "occupancy + mwp_cwp"
machine = "8800gtx"
workload = "svm"
outputs = ["time", "case", "occupancy"]
[axes]
threads_per_block = [64, 128, 256]
active_sms = { start = 12, stop = 18 }
"""

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder that holds study.toml."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DSE_PATH", raising=False)
    Path("study.toml").write_text(STUDY)

    def invoke(*arguments: str, status: int = 0) -> Result:
        result = CliRunner().invoke(main, list(arguments), prog_name="dse")
        assert result.exit_code == status, (result.output, result.exception)
        if status:
            assert result.stdout == ""
            assert "Error: " in result.stderr
        assert "Traceback" not in result.output
        return result

    return invoke
