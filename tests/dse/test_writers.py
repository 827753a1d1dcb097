"""Commands that write: on a full disk the old file stays whole, and nothing torn is left."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from dse.cli import main
from tests.dse.conftest import STUDY
from tests.long import long, mostly_long

EXAMPLES = Path(__file__).parents[2] / "examples"
TRANSIT = """
model = "transit"
outputs = ["ms_throughput"]
[axes]
threads = [256, 512, 1024]
mem_latency = [400, 500]
[set]
intensity = 10
lanes_width = 32
ms_peak = 1
"""
RANDOM = TRANSIT.replace("mem_latency = [400, 500]\n", "") + (
    '[random]\nmem_latency = "normal: 450 cycles, 5 %"\ndraws = 64\n'
)
ROWS = "threads,mem_latency,ms_throughput\n" + "".join(
    f"{threads},{latency},{min(1, threads / (latency + 320)):.4f}\n"
    for threads in (64, 128, 256, 512)
    for latency in (300, 400, 500)
)
PROFILE = (
    '"ID","Process ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit",'
    '"Metric Value"\n'
    + "".join(
        f'"0","7","saxpy(int)","(128, 1, 1)","(20, 1, 1)","{name}","{unit}","{value}"\n'
        for name, unit, value in (
            ("gpu__time_duration.sum", "usecond", "250.5"),
            ("smsp__inst_executed.sum", "inst", "16000"),
        )
    )
)
FIT = (
    "fit transit rows.csv --to ms_throughput --free intensity --set lanes_width=32 --set ms_peak=1"
)

#: Each command that writes, and the file that it writes; "+" where it replaces an existing one.
COMMANDS = {
    "explore study.toml --out page.html": "page.html+",
    "plot lines study.toml --x active_sms --quantity time --out lines.png": "lines.png+",
    "plot lines study.toml --x active_sms --quantity time --out lines.svg": "lines.svg+",
    "plot lines study.toml --x active_sms --quantity time --out lines.pdf": "lines.pdf+",
    "plot paper hong2012 --figure 50 --out paper.png": "paper.png+",
    "imbalance geometric:0.5 --lanes 4 --plot law.png": "law.png+",
    "launch geometric:0.5 --blocks 8 --slots 2 --no-advice --plot launch.png": "launch.png+",
    "law random.toml ms_throughput --at threads=512 --plot output.png": "output.png+",
    "sensitivity transit.toml --output ms_throughput --plot tornado.png": "tornado.png+",
    "new study new.toml": "new.toml",
    "new machine machine.toml": "machine.toml",
    "new workload workload.toml --from sepia": "workload.toml",
    f"{FIT} --save rows.fit.json": "rows.fit.json",
    f"{FIT} --out fitted.nc": "fitted.nc",
    f"kernel {EXAMPLES / 'strided-sum.ptx'} --set steps=100 --out kernel.toml": "kernel.toml+",
    "import profile.csv kernel.toml": "kernel.toml+",
    "import rows.csv rows.nc --axes threads,mem_latency": "rows.nc",
    "export whole.zarr out.csv": "out.csv",
    "export whole.zarr out.nc": "out.nc",
    "export whole.zarr out.parquet": "out.parquet",
    "export whole.zarr out.zarr": "out.zarr",
    "run study.toml --store run.zarr": "run.zarr",
}

#: Those that run with the quick tests, one of each way to write.
QUICK = {
    "explore study.toml --out page.html",
    "imbalance geometric:0.5 --lanes 4 --plot law.png",
    "new study new.toml",
    "import profile.csv kernel.toml",
    "export whole.zarr out.nc",
}


def prepare(folder: Path) -> None:
    """Write the inputs of the commands."""
    texts = {"study.toml": STUDY, "transit.toml": TRANSIT, "random.toml": RANDOM}
    for name, text in (texts | {"rows.csv": ROWS, "profile.csv": PROFILE}).items():
        (folder / name).write_text(text)


def invoke(command: str) -> tuple[int, str]:
    """Run a command; its exit status and all that it said."""
    done = CliRunner().invoke(main, command.split(), prog_name="dse")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def listing(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content, and every folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let the system refuse whatever makes a file larger than this, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    patch = pytest.MonkeyPatch()
    patch.setattr(sys, "dont_write_bytecode", True)  # a torn one would be read again
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        patch.undo()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the inputs of all commands, of which each has run once."""
    made = tmp_path_factory.mktemp("writers")
    prepare(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        patch.delenv("DSE_PATH", raising=False)
        assert invoke("run study.toml --store whole.zarr")[0] == 0
    return made


@pytest.mark.parametrize("command", mostly_long(COMMANDS, lambda _, command: command in QUICK))
def test_a_command_that_cannot_write_leaves_what_was_there(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = COMMANDS[command].removesuffix("+")
    monkeypatch.chdir(folder)
    before = listing(folder)
    status, result = invoke(command)  # and loads what it needs
    assert status == 0, result
    assert {entry.split("/")[0] for entry in listing(folder).keys() - before} == {name}
    (shutil.rmtree if Path(name).is_dir() else os.unlink)(name)
    with largest_file(100):
        status, result = invoke(command)
    assert status == 1, result
    assert "Error: " in result
    assert len(result) < 400, result
    assert listing(folder) == before
    if COMMANDS[command].endswith("+"):
        Path(name).write_text(marked := '<meta name="generator" content="simt-dse explore"> old')
        with largest_file(100):
            status, result = invoke(command)
        assert (status, Path(name).read_text()) == (1, marked), result
        assert listing(folder) == before | {name: marked.encode()}
        Path(name).unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; skips where none can be mounted."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except OSError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.decode().strip()}")
    try:
        yield place
    finally:
        os.chdir(tmp_path)
        subprocess.run(["umount", "-l", str(place)], check=True)


@long
def test_a_full_disk_leaves_the_old_page_figure_and_file(
    small_disk: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for name in ("page.html", "lines.png", "kernel.toml"):
        (small_disk / name).write_text("old")
    with (small_disk / "fill").open("wb", buffering=0) as fill:
        try:
            while True:
                fill.write(b"x" * 4096)
        except OSError:
            pass
    before = {name: data for name, data in listing(small_disk).items() if name != "fill"}
    for command in COMMANDS:
        *words, last = [
            str(small_disk / word) if word == COMMANDS[command].removesuffix("+") else word
            for word in command.split()
        ]
        status, result = invoke(" ".join([*words, last]))
        assert status == 1, (command, result)
        assert "No space left on device" in result or "bytes are free" in result, result
        now = {name: data for name, data in listing(small_disk).items() if name != "fill"}
        assert now == before, command
