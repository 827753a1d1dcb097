"""The arrows between the packages, and which library is imported where."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.imports import imports

ROOT = Path(__file__).parents[2]

#: What each package may import of the four, also under TYPE_CHECKING.
ARROWS = {
    "dse": {"dse", "sweeps", "symbolic", "stochastic"},
    "sweeps": {"sweeps", "symbolic", "stochastic"},
    "symbolic": {"symbolic"},
    "stochastic": {"stochastic"},
}

#: Each takes longer to load than `import dse` may.
HEAVY = {"sympy", "numba", "dask", "xarray", "pandas", "pint", "zarr", "pyarrow", "matplotlib"}
HEAVY |= {"distributed", "s3fs"}


def packages(path: Path) -> Iterator[tuple[int, str]]:
    """Line and top-level package of every import of a file, wherever it stands."""
    for node in imports(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        else:
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            yield node.lineno, (node.module or "").split(".")[0]


def test_contracts_of_pyproject_are_kept() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as main; main()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


#: Tables that any package may import: of sizes, and of the families of laws.
TABLES = {
    "from stochastic import sizes",
    "from stochastic.work import families",
    "from stochastic.work.families import FAMILIES",
}


def of_tables(path: Path) -> set[str]:
    """The lines on which a file imports a table that any package may."""
    return {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for node in imports(path)
        if ast.unparse(node) in TABLES
    }


@pytest.mark.parametrize("package", ARROWS)
def test_arrows_hold_for_every_import(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, name in packages(path)
        if name in ARROWS and name not in ARROWS[package]
        if f"{path.relative_to(ROOT)}:{line}" not in of_tables(path)
    ]
    assert not wrong


def test_no_package_imports_its_tests_or_examples() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package in ARROWS
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, name in packages(path)
        if name in {"tests", "examples", "pytest", "hypothesis"}
    ]
    assert not wrong


@pytest.mark.parametrize("package", ARROWS)
def test_heavy_libraries_load_when_first_used(package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, {package}; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert HEAVY.isdisjoint(done.stdout.split())
