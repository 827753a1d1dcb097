"""Nobody waits before a blank screen, nor for the compiler more than once."""

import io
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dse.cli import command as module
from dse.cli.command import show_wait_line
from stochastic.compile_cache.cache import cache_folder
from tests.dse.compiling import COMPILED, LAW_NAMES, RUN_NAMES, SEARCH, SWEPT, program, run_program
from tests.long import long


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """A terminal in place of both streams, from within a test: pytest's own come between."""
    result = Terminal()
    monkeypatch.setattr(sys, "stderr", result)
    monkeypatch.setattr(sys, "stdout", result)
    monkeypatch.setattr(module, "_SOON", 0.0)
    monkeypatch.setattr(module, "_OFTEN", 0.01)
    return result


def wait_for_text(screen, text):
    """Wait until something is on the screen."""
    for _ in range(500):
        if text in screen.getvalue():
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("write", [print, lambda text: print(text, file=sys.stderr)])
def test_a_line_is_shown_until_something_else_is(monkeypatch, write):
    screen = terminal(monkeypatch)
    with show_wait_line():
        assert wait_for_text(screen, "0 s so far")
        write("an answer")
        output = screen.getvalue()
        assert output.startswith("\r\x1b[K")
        assert output.endswith("s so far\r\x1b[Kan answer\n")
        time.sleep(0.05)
        assert screen.getvalue() == output
        assert sys.stdout is screen
        assert sys.stderr is screen


def test_the_line_is_gone_when_a_command_ends(monkeypatch):
    screen = terminal(monkeypatch)
    with show_wait_line():
        assert wait_for_text(screen, "so far")
    assert screen.getvalue().endswith("\r\x1b[K")
    assert sys.stdout is screen


def test_nothing_is_shown_where_nobody_looks(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "_SOON", 0.0)
    with show_wait_line():
        time.sleep(0.02)
    assert stream.getvalue() == ""


@pytest.fixture
def cache(tmp_path):
    """The folder in which processes of the tests keep machine code."""
    result = cache_folder()
    return tmp_path if result is None else result.parent


@long
def test_laws_are_compiled_once_and_tell_the_same_whatever_is_kept(cache, tmp_path):
    """From nothing by ``python -m tests.dse.compiling 1``."""
    answers, names, *_ = run_program(cache)
    assert sorted(names) == sorted(set(names) & LAW_NAMES)
    again, names, loaded, opened = run_program(cache)
    assert again == answers
    assert names == []
    assert loaded == []  # not Numba, where nothing is compiled
    assert len(opened) == len(LAW_NAMES)
    (tmp_path / "code").mkdir(mode=0o700)
    stored = [shutil.copy(path, tmp_path / "code") for path in opened]
    smallest = min(map(Path, stored), key=lambda path: path.stat().st_size)
    data = bytearray(smallest.read_bytes())
    data[len(data) // 2] ^= 1
    smallest.write_bytes(data)
    (tmp_path / "code").chmod(0o500)
    again, names, *_ = run_program(tmp_path)
    (tmp_path / "code").chmod(0o700)
    assert again == answers
    assert names == ["walk"]


def test_the_command_line_starts_without_what_takes_time_to_load():
    program = "import sys, dse.cli; print([n for n in ('numpy', 'sympy') if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@long
def test_what_a_machine_compiles_it_compiles_once(cache, tmp_path):
    """A run, anew and where it is finished, and a proof: told without what takes time to load.

    From nothing by ``python -m tests.dse.compiling 1``.
    """
    example = "examples/merge-four-gpus.toml"
    run = ["run", example, "--store"]
    proof = ["optimum", example, "--method", "certified"]
    *_, built = program(COMPILED, cache, *run, str(tmp_path / "a.zarr"))
    assert set(json.loads(built)) <= RUN_NAMES
    assert program(SEARCH, cache) in (["search_depth_first enclose"], [""])
    assert program(SEARCH, cache) == [""]
    stored = [*run, str(tmp_path / "b.zarr")]
    for arguments, heavy in ((stored, ["zarr"]), (stored, []), (proof, [])):
        *text, last = program(SWEPT, cache, *arguments)
        recorded = [line for line in text if line.startswith(("sepia", "blackscholes"))]
        assert len(recorded) == 8, text
        assert json.loads(last) == heavy  # zarr writes a store; a finished one is not written
