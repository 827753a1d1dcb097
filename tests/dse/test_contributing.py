"""The ten tasks of CONTRIBUTING.md can be done as written there."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGES = ("dse", "symbolic", "stochastic", "sweeps")
PATH = re.compile(r"`([\w./]+/[\w./-]+)`")
#: Names in files that the page tells to change, by file.
NAMES = {
    "dse/catalog/entry_file.py": ["parse_entry"],
    "stochastic/work/families.py": ["FAMILIES"],
    "stochastic/work/pmf.py": ["Pmf"],
    "symbolic/statistics.py": ["STATISTICS"],
    "sweeps/nest/statistics.py": ["ROW_STATISTICS"],
    "dse/verbs/query.py": ["verb"],
    "dse/api.py": ["VerbMethods"],
    "sweeps/files/export.py": ["FORMATS"],
    "dse/importers/profilers/profiler_csv.py": ["_LAYOUTS", "_make_layout"],
    "dse/progress.py": ["JsonLines"],
    "dse/cli/options.py": ["progress_option"],
    "dse/cli/command.py": ["progress_from_option"],
    "sweeps/store/layout.py": ["COMPRESSIONS"],
    "sweeps/store/create.py": ["_output"],
}


def test_what_the_page_names_exists() -> None:
    paths = {path for path in PATH.findall(PAGE) if "NAME" not in path}
    assert len(paths) > 25
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert len(re.findall(r"^\d+\. \*\*", PAGE, flags=re.MULTILINE)) == 10


@pytest.mark.parametrize("path", NAMES)
def test_a_file_of_the_page_has_the_names(path: str) -> None:
    assert f"`{path}`" in PAGE
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if hasattr(node, "name")}
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            defined |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    for name in NAMES[path]:
        assert name in defined
        assert name in PAGE


class Copy:
    """Copy of the packages in which some files can be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, path: str, text: str) -> None:
        """Write a file; its folders become real ones, whose other entries are links."""
        place = self.folder
        for part in Path(path).parts[:-1]:
            place /= part
            source = ROOT / place.relative_to(self.folder)
            if place.is_symlink() or not place.exists():
                place.unlink(missing_ok=True)
                place.mkdir()
                for entry in source.iterdir():
                    if entry.name != "__pycache__":
                        (place / entry.name).symlink_to(entry)
        target = self.folder / path
        target.unlink(missing_ok=True)
        target.write_text(text, encoding="utf-8")

    def replace(self, path: str, old: str, new: str) -> None:
        """Change a file in one place."""
        text = (ROOT / path).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path} has {text.count(old)} of {old}"
        self.write(path, text.replace(old, new))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python with the packages of the copy."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        command = [sys.executable, *arguments]
        result = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        return result


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    for package in PACKAGES:
        (tmp_path / package).symlink_to(ROOT / package)
    shutil.copy(ROOT / "examples" / "transit-tour.toml", tmp_path / "study.toml")
    return Copy(tmp_path)


MACHINE = """
title = "NVIDIA GeForce RTX 4070"
compute_capability = "8.9"

[values]
n_sms = { value = 46, source = "NVIDIA, GeForce RTX 4070 specifications" }
mem_bandwidth = { value = "504 GB/s", source = "NVIDIA, GeForce RTX 4070 specifications" }
core_clock = { value = "2475 MHz", assumed = "its boost clock" }
"""


def add_machine(copy: Copy) -> None:
    """Add a machine; it is listed, found by its product name, and computed with."""
    copy.write("dse/data/machines/rtx4070.toml", MACHINE)
    code = (
        "import dse; print(dse.machine('RTX 4070').values['n_sms'].value,"
        " 'rtx4070' in dse.machines(), dse.evaluate('occupancy', machine='rtx4070',"
        " threads_per_block=256, registers_per_thread=32, shared_mem_per_block=0,"
        " outputs=['warps_per_sm'])"
        ".warps_per_sm.item())"
    )
    assert copy.run("-c", code).stdout == "46 True 48.0\n"


MODEL = '''
"""Waves of blocks."""

import dse

OUTPUTS = ("wave_count",)

dse_quantity = dse.quantity("blocks_at_once", domain="whole [1, inf)", meaning="resident blocks")
switch = dse.quantity(
    "partial_waves", labels=("full", "share"), default="full", meaning="cost of the last wave"
)


@dse.equation(name="wave_count", source="textbook", when={"partial_waves": "full"})
def full_waves(blocks, blocks_at_once):
    return dse.ceil(blocks / blocks_at_once)


@dse.equation(name="wave_count", source="textbook", when={"partial_waves": "share"})
def share_of_waves(blocks, blocks_at_once):
    return blocks / blocks_at_once
'''


def add_model(copy: Copy) -> None:
    """Add a model whose switch is an axis."""
    copy.write("symbolic/models/wave_count.py", MODEL)
    code = (
        "import dse; study = dse.Study(model='wave_count', set={'blocks_at_once': 100},"
        " axes={'partial_waves': ['full', 'share'], 'blocks': [150, 300]});"
        " print(study.run().wave_count.values.tolist(),"
        " dse.model('wave_count').closed_form('wave_count'))"
    )
    assert copy.run("-c", code).stdout.startswith("[[2.0, 3.0], [1.5, 3.0]] ceil")


KIND = """
[kind.growth]
shows = "a quantity over one axis, divided by its first value"
draw = "line_charts.lines"
takes = ["quantity!", "over", "at"]
options = { relative = "first" }

[kind.pareto]
"""


def add_plot_kind(copy: Copy) -> None:
    """Add a kind of plots; the command and the Python function draw it."""
    copy.replace("dse/data/plots.toml", "\n[kind.pareto]\n", KIND)
    plot = ["plot", "growth", "study.toml", "--quantity", "ms_throughput", "--out", "growth.svg"]
    copy.run("-m", "dse", *plot)
    assert (copy.folder / "growth.svg").stat().st_size > 1000
    code = "import dse.plots; print(dse.plots.growth.__doc__)"
    assert "divided by its first value" in copy.run("-c", code).stdout


CSV = "My Kernel,My Time,My Threads\nsaxpy,12.5,256\nsgemm,80,128\n"
MAP = """
title = "My profiler"
known_by = ["My Kernel", "My Time"]

[labels]
kernel = "My Kernel"

[quantities]
time = "My Time [us]"
threads_per_block = "My Threads"
"""


def add_profiler(copy: Copy) -> None:
    """Add the columns of a profiler whose rows are launches."""
    copy.write("dse/data/profiles/my_profiler.toml", MAP)
    (copy.folder / "launches.csv").write_text(CSV)
    code = (
        "import dse; ds = dse.open('launches.csv');"
        " print(ds.time.values.tolist(), ds.threads_per_block.values.tolist())"
    )
    assert copy.run("-c", code).stdout == "[1.25e-05, 8e-05] [256.0, 128.0]\n"


STYLE = '''class Dots:
    """Listener that writes a dot for each tile."""

    def __init__(self, objective: tuple[str, str] | None = None) -> None:
        self.objective = objective

    def __call__(self, progress: Progress) -> None:
        """Write a dot."""
        sys.stderr.write(".")

    def close(self) -> None:
        """End the line."""
        sys.stderr.write("\\n")


class JsonLines:'''


def add_progress_style(copy: Copy) -> None:
    """Add a style of progress to the class, the option and the listener of the option."""
    copy.replace("dse/progress.py", "class JsonLines:", STYLE)
    copy.replace("dse/cli/options.py", '"auto", "json", "none"', '"auto", "json", "dots", "none"')
    copy.write("dse/cli/command.py", (ROOT / "dse/cli/command.py").read_text())
    old = '(JsonLines if style == "json" else Meter)'
    copy.replace("dse/cli/command.py", old, '{"json": JsonLines, "dots": Dots}.get(style, Meter)')
    text = (copy.folder / "dse/cli/command.py").read_text()
    copy.write("dse/cli/command.py", text.replace("import JsonLines,", "import Dots, JsonLines,"))
    result = copy.run("-m", "dse", "run", "study.toml", "--progress", "dots")
    assert re.fullmatch(r"\.+\n", result.stderr)


def add_codec(copy: Copy) -> None:
    """Add a codec of chunks; a store has it, is complete, and is read by zarr alone."""
    copy.replace("sweeps/store/layout.py", '("lz4", "none")', '("lz4", "none", "zstd")')
    old = "    root.create_array(\n        name,\n        shape=part.shape,"
    new = (
        '    if layout.compression == "zstd":\n        from zarr.codecs import ZstdCodec\n\n'
        "        compressors.insert(0, ZstdCodec(level=1))\n"
    )
    copy.replace("sweeps/store/create.py", old, new + old)
    run = ["run", "study.toml", "--store", "s.zarr", "--compression", "zstd"]
    copy.run("-m", "dse", *run, "--progress", "none")
    assert json.loads(copy.run("-m", "dse", "verify", "s.zarr", "--json").stdout)["damages"] == []
    code = (
        "import dse, xarray as xr; ds = dse.Study.from_toml('study.toml').run();"
        " stored = xr.open_zarr('s.zarr', consolidated=False);"
        " print(all(ds[n].equals(stored[n].load()) for n in ds.data_vars));"
        " (open('s.zarr/.simt-dse/manifest', 'w')).close(); import dse.runs.store as store;"
        " from sweeps.store.backend import backend_of;"
        " print(store._store_compression(backend_of('s.zarr'), {}))"
    )
    assert copy.run("-c", code).stdout == "True\nzstd\n"


@pytest.mark.parametrize(
    "add", [add_machine, add_model, add_plot_kind, add_profiler, add_progress_style, add_codec]
)
def test_a_task_is_done_as_written(add: Callable[[Copy], None], copy: Copy) -> None:
    add(copy)


@pytest.mark.parametrize("name", ["family", "statistic", "verb", "format"])
def test_a_test_does_the_task(name: str) -> None:
    assert f"`tests/dse/test_new_{name}.py`" in PAGE
