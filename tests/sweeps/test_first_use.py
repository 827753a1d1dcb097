"""The machine code at its first use: kept on disk where that can be, and used all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

from sweeps.certify import search
from sweeps.certify.machine import dig
from sweeps.certify.machine.jit import kept

SCRIPT = """
from sweeps.certify.machine.jit import kept

@kept
def twice(x):
    return x + x

print(twice(2.5), sum(twice.stats.cache_hits.values()))
"""


def test_two_processes_compile_at_the_same_time_and_a_third_loads(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    paths = {"PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    command = [sys.executable, "-W", "error::UserWarning", str(script)]

    def begin() -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            env=os.environ | paths,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    for process in [begin(), begin()]:
        out, err = process.communicate()
        assert (out.split()[:1], err, process.returncode) == (["5.0"], "", 0)
    assert begin().communicate()[0].split() == ["5.0", "1"]


def test_without_a_folder_to_keep_it_in_the_code_is_compiled_and_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(_: Dispatcher) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(Dispatcher, "enable_caching", refused)

    @kept
    def half(x: Any) -> Any:
        return x / 2

    assert half(5.0) == 2.5


def test_a_disk_that_does_not_take_the_code_stops_no_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def full(*_: Any) -> int:
        asked.append(1)
        if len(asked) == 1:
            raise OSError("No space left on device")
        return 0

    monkeypatch.setattr(dig, "dig", full)
    search.ready()
    assert len(asked) == 2
