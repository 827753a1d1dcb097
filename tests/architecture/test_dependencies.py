"""Imported libraries are declared, and the first command needs no optional one."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

from tests.architecture.imports import imports

ROOT = Path(__file__).parents[2]
PACKAGES = ("dse", "symbolic", "stochastic", "sweeps")
#: Imported in notebooks alone, where it is there.
NOTEBOOK = {"ipython"}
#: Modules whose distribution has another name.
DISTRIBUTIONS = {"elftools": "pyelftools"}
#: Libraries of large extras, which the first command must not need.
OPTIONAL = ("pyarrow", "netCDF4", "h5netcdf", "h5py", "matplotlib", "distributed", "s3fs")


def name_of(requirement: str) -> str:
    """Return the normalized name in a requirement such as ``numba-cuda[cu13]>=0.30``."""
    match = re.match(r"[\w.-]+", requirement)
    assert match is not None
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def declared_libraries() -> tuple[set[str], dict[str, set[str]]]:
    """Return the core dependencies, and the extras that bring each other one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras: dict[str, set[str]] = {}
    for extra, requirements in project["optional-dependencies"].items():
        for requirement in requirements:
            if extra not in ("test", "dev", "docs"):
                extras.setdefault(name_of(requirement), set()).add(extra)
    return {name_of(requirement) for requirement in project["dependencies"]}, extras


@cache
def imported_libraries() -> dict[str, set[str]]:
    """Return the libraries that the product imports, and the files that do."""
    result: dict[str, set[str]] = {}
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        for node in imports(path):
            modules = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
            )
            for module in modules:
                top = module.split(".")[0]
                if top not in sys.stdlib_module_names and top not in PACKAGES:
                    name = name_of(DISTRIBUTIONS.get(top, top))
                    result.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return result


def test_every_library_that_is_imported_is_declared_libraries() -> None:
    core, extras = declared_libraries()
    wrong = {
        name: files
        for name, files in imported_libraries().items()
        if name not in core | extras.keys()
    }
    assert wrong.keys() <= NOTEBOOK, wrong


def test_an_error_says_how_to_install_each_optional_library() -> None:
    core, extras = declared_libraries()
    text = "".join(
        path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py")
    )
    ways = {
        name: [f"simt-dse[{extra}]" for extra in extras[name]] + [f"pip install {name}"]
        for name in imported_libraries().keys() - core - NOTEBOOK
    }
    assert {"matplotlib", "pyarrow", "h5netcdf"} <= ways.keys()
    assert [name for name, hints in ways.items() if not any(hint in text for hint in hints)] == []


BLOCKED = """
import sys
for name in {names}:
    sys.modules[name] = None
from dse.__main__ import main
sys.argv = {argv}
main()
"""


def test_the_first_command_of_the_readme_needs_no_optional_library(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    command = re.search(r"^\$ (dse run .*)$", readme, re.MULTILINE)
    assert command is not None
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    code = BLOCKED.format(names=OPTIONAL, argv=shlex.split(command[1]))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kernels.zarr").is_dir()
