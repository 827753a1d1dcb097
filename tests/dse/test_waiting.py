"""Nobody waits before a blank screen, nor for the compiler more than once."""

import io
import json
import os
import subprocess
import sys
import time

import pytest

from dse.cli import waiting as module
from dse.cli.waiting import waiting


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """A terminal in place of both streams, from within a test: pytest's own come between."""
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setattr(sys, "stdout", found)
    monkeypatch.setattr(module, "_SOON", 0.0)
    monkeypatch.setattr(module, "_OFTEN", 0.01)
    return found


def shown(screen, text):
    """Wait until something is on the screen."""
    for _ in range(500):
        if text in screen.getvalue():
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("write", [print, lambda text: print(text, file=sys.stderr)])
def test_a_line_is_shown_until_something_else_is(monkeypatch, write):
    screen = terminal(monkeypatch)
    with waiting():
        assert shown(screen, "0 s so far")
        write("an answer")
        told = screen.getvalue()
        assert told.startswith("\r\x1b[K")
        assert told.endswith("s so far\r\x1b[Kan answer\n")
        time.sleep(0.05)
        assert screen.getvalue() == told
        assert sys.stdout is screen
        assert sys.stderr is screen


def test_the_line_is_gone_when_a_command_ends(monkeypatch):
    screen = terminal(monkeypatch)
    with waiting():
        assert shown(screen, "so far")
    assert screen.getvalue().endswith("\r\x1b[K")
    assert sys.stdout is screen


def test_nothing_is_shown_where_nobody_looks(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "_SOON", 0.0)
    with waiting():
        time.sleep(0.02)
    assert stream.getvalue() == ""


#: Nothing is known to a process but where bytecode is.
BARE = {"PATH": ""} | {name: os.environ[name] for name in os.environ if "PYCACHE" in name}
PROGRAM = """
import json, sys
from dse.cli.law import law_data
from stochastic import Pmf, imbalance
from stochastic.kept import telling

names = []
with telling(names.append):
    for law in (Pmf.geometric(0.05), Pmf.uniform(20, 40), Pmf.poisson(30)):
        told = law_data(imbalance(law, 32), groups=9, group=32, overhead=0.1, bins=3)
        print(json.dumps(told, default=lambda x: x.tolist() if hasattr(x, "tolist") else str(x)))
heavy = ["numba", "xarray", "pandas", "sympy"]
print(json.dumps([names, [name for name in heavy if name in sys.modules]]))
"""


def asked(cache):
    """Answers to several laws, what was compiled for them, and which libraries were loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**BARE, "DSE_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    *answers, last = done.stdout.splitlines()
    return answers, *json.loads(last)


def test_laws_are_compiled_once_and_tell_the_same_whatever_is_kept(tmp_path):
    answers, names, _ = asked(tmp_path)
    assert sorted(names) == sorted(set(names))
    assert set(names) == {
        *("about", "best_for_slowdown", "probabilities", "raw", "transforms", "walk")
    }
    again, names, loaded = asked(tmp_path)
    assert again == answers
    assert names == []
    assert loaded == []  # not Numba, where nothing is compiled
    smallest = min((tmp_path / "code").iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(smallest.read_bytes())
    data[len(data) // 2] ^= 1
    smallest.write_bytes(data)
    (tmp_path / "code").chmod(0o500)
    again, names, _ = asked(tmp_path)
    (tmp_path / "code").chmod(0o700)
    assert again == answers
    assert names == ["walk"]


SEARCH = """
import os
from stochastic.kept import telling
from dse.cli.proof import proving
from sweeps.bounds.search import ready

os.cpu_count = lambda: 2
names = []
with telling(names.append), proving():
    ready()
print(*names)
"""


def test_the_command_line_starts_without_what_takes_time_to_load():
    program = "import sys, dse.cli; print([n for n in ('numpy', 'sympy') if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


SWEPT = """
import json, sys
from dse.cli import main

main(sys.argv[1:], prog_name="dse", standalone_mode=False)
heavy = ["dask.array", "numba", "pandas", "scipy", "sympy", "xarray", "zarr"]
print(json.dumps([name for name in heavy if name in sys.modules]))
"""


COMPILED = """
import sys
from dse.cli import main
import stochastic.kept.build as build

built = []
whole = build.built
build.built = lambda body, args: built.append(body.__name__) or whole(body, args)
main(sys.argv[1:], prog_name="dse", standalone_mode=False)
print(sorted(set(built)))
"""


def program(code, cache, *arguments):
    """The lines of a process that finds and keeps machine code in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**BARE, "DSE_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_what_a_machine_compiles_it_compiles_once(tmp_path):
    """A run, anew and where it is finished, and a proof: told without what takes time to load."""
    example, code = "examples/merge-four-gpus.toml", tmp_path / "code"
    run = ["run", example, "--where", "active_sms >= 2", "--store"]
    proof = ["optimum", example, "--method", "certified"]
    # What finds the best is compiled in a second process, where there are processors for two.
    *_, built = program(COMPILED, tmp_path, *run, str(tmp_path / "a.zarr"))
    mine = ["extremes", "nest", "ranges"] + ["least"] * (os.cpu_count() == 1)
    assert built == str(sorted(mine))
    # Of the two parts of the search one is asked for, and waited for; then both are there.
    before = len(list(code.iterdir()))
    assert program(SEARCH, tmp_path) == ["dig enclose"]
    assert len(list(code.iterdir())) == before + 3
    for arguments in (*[[*run, str(tmp_path / "b.zarr")]] * 2, proof):
        *text, last = program(SWEPT, tmp_path, *arguments)
        told = [line for line in text if line.startswith(("sepia", "blackscholes"))]
        assert len(told) == 8, text
        assert json.loads(last) == []
