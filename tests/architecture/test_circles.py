"""No file imports, by whatever way, one that imports it; no folder another that does."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.architecture.imports import imports

ROOT = Path(__file__).parents[2]

PACKAGES = ("dse", "symbolic", "stochastic", "sweeps")


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path, known: Iterable[str]) -> set[str]:
    """The modules of those that are known that a file imports, wherever it does."""
    result: set[str] = set()
    for node in imports(path):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        else:
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            result |= {name if name in known else str(node.module) for name in full}
    return result & set(known)


@cache
def graph() -> dict[str, set[str]]:
    """Return the imports among the modules of the four packages."""
    files = {module_of(f): f for p in PACKAGES for f in sorted((ROOT / p).rglob("*.py"))}
    return {name: imported_modules(file, files) - {name} for name, file in files.items()}


def circle(edges: Mapping[str, Iterable[str]]) -> str:
    """One circle, as text; empty where there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return " <- ".join(error.args[1])
    return ""


def folder_of(module: str, depth: int) -> str:
    """A folder of a package so far down, or one of the files that stand above."""
    return ".".join(module.split(".")[: 1 + depth])


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_imports_what_imports_it(package: str) -> None:
    edges = {name: result for name, result in graph().items() if name.split(".")[0] == package}
    assert circle(edges) == ""


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_imports_what_imports_it(package: str, depth: int) -> None:
    edges: dict[str, set[str]] = {}
    for name, result in graph().items():
        if name.split(".")[0] == package:
            here = folder_of(name, depth)
            inside = {folder_of(m, depth) for m in result if m.split(".")[0] == package}
            edges.setdefault(here, set()).update(inside - {here})
    assert circle(edges) == ""


LAZY = """
class C:
    def f(self):
        with open("f") as f:
            for x in (lambda: f)():
                from p.b import g
"""
TYPED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import a\n"
TRIED = """
match x:
    case 1:
        try:
            y = 1
        except ValueError:
            import p.a
"""


@pytest.mark.parametrize("back", [TYPED, TRIED])
def test_a_circle_is_found_wherever_an_import_stands(back: str, tmp_path: Path) -> None:
    files = {"p.a": tmp_path / "a.py", "p.b": tmp_path / "b.py"}
    files["p.a"].write_text(LAZY)
    files["p.b"].write_text(back)
    edges = {name: imported_modules(file, files) for name, file in files.items()}
    assert edges == {"p.a": {"p.b"}, "p.b": {"p.a"}}
    assert circle(edges).count("p.a") in (1, 2)
    assert circle({"p.a": {"p.b"}, "p.b": set()}) == ""
