"""The tree: its names, its size, and files that must agree."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import pkgutil
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.architecture.imports import imports
from tests.long import long
from tests.mutants import MUTANTS

ROOT = Path(__file__).parents[2]
PACKAGES = ("dse", "symbolic", "stochastic", "sweeps")

TOP = {
    *PACKAGES,
    "tests",
    "pyproject.toml",
    "examples",
    "docs",
    "CONTRIBUTING.md",
    "README.md",
    "CHANGELOG.md",
    "CITATION.cff",
    ".zenodo.json",
    "LICENSE",
    ".ci",
    ".gitignore",
}

PAPERS = {
    "Transit: A Visual Analytical Model for Multithreaded Machines": "10.1145/2749246.2749265",
    "Performance Modeling for Highly-threaded Many-core GPUs": "",
    "Modelling Performance Loss due to Thread Imbalance in Stochastic Variable-Length SIMT "
    "Workloads": "10.1109/MASCOTS56607.2022.00026",
    "Modeling Performance and Power for Energy-Efficient GPGPU Computing": "",
}


@cache
def git_files() -> tuple[Path, ...]:
    """The files that git knows, those about to be added included."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no git checkout")
    paths = (ROOT / name for name in done.stdout.split("\0") if name)
    return tuple(path for path in sorted(paths) if path.is_file())


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> ModuleType:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


# --- the tree
def test_top_level_is_fixed() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in git_files()} == TOP


def test_every_package_is_typed() -> None:
    assert [package for package in PACKAGES if not (ROOT / package / "py.typed").is_file()] == []


def test_no_path_of_one_machine() -> None:
    pattern = re.compile(r"(?<![\w.$}])/(?:home|root|work|Users|mnt|tmp)/[A-Za-z]")
    result = []
    for path in git_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        result += [
            f"{name_of(path)}:{number}: {line.strip()[:80]}"
            for number, line in enumerate(lines, start=1)
            if pattern.search(line)
        ]
    assert not result, "\n".join(result)


def test_product_lines_stay_within_the_budget() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    lines = sum(len(path.read_text().splitlines()) for path in sources())
    assert lines <= tools["simt-dse"]["max_product_lines"]


# --- public names
def order(name: str) -> tuple[int, list[str | int]]:
    """Constants, classes, the rest; alphabetical within each, numbers by their value."""
    pieces = [int(piece) if piece.isdigit() else piece for piece in re.split(r"(\d+)", name)]
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, pieces)


def modules_with_names() -> list[Path]:
    return [
        path
        for path in sources()
        if path.name != "__main__.py" and "models" not in path.relative_to(ROOT).parts[:-1]
    ]


def name_fault(path: Path) -> str:
    """Return what is wrong with the public names of a module, or nothing."""
    module = module_of(path)
    names = getattr(module, "__all__", None)
    if names is None:  # only a module that passes on names of others needs the list
        return ""
    if list(names) != sorted(set(names), key=order):
        return f"__all__ is not {sorted(set(names), key=order)}"
    missing = [name for name in names if not hasattr(module, name)]
    return f"__all__ has {missing}, which the module has not" if missing else ""


def test_all_is_sorted() -> None:
    result = {name_of(path): name_fault(path) for path in modules_with_names()}
    assert len(result) > 200
    assert {name: why for name, why in result.items() if why} == {}


def is_submodule(module: ModuleType, name: str) -> bool:
    """True if a module lies in a package, loaded or not."""
    if not hasattr(module, "__path__"):
        return False
    return importlib.util.find_spec(f"{module.__name__}.{name}") is not None


def test_all_is_complete() -> None:
    missing = set()
    for path in sources():
        for node in imports(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
                module = importlib.import_module(node.module or "")
                known = getattr(module, "__all__", None)
                missing |= {
                    f"{node.module}.{alias.name}, for {name_of(path)}"
                    for alias in node.names
                    if known is not None and alias.name not in known
                    if not is_submodule(module, alias.name)
                }
    assert not missing, "names that other modules import:\n" + "\n".join(sorted(missing))


def test_the_interface_holds_what_is_promised() -> None:
    import dse

    promised = {
        *("DseError", "Study", "advise", "best_config", "calibrate", "disagreement", "equation"),
        *("evaluate", "export", "fit"),
        *("machine", "machines", "model", "models", "open", "optimum", "pareto", "quantity"),
        "sensitivity",
        *("workload", "workloads"),
    }
    assert promised <= set(dse.__all__) <= set(dir(dse))


@pytest.mark.parametrize("package", PACKAGES)
def test_no_submodule_hides_a_public_name(package: str) -> None:
    module = importlib.import_module(package)
    before = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    for result in pkgutil.walk_packages(module.__path__, f"{package}."):
        if not result.name.endswith("__main__"):
            importlib.import_module(result.name)
    after = {name: getattr(module, name) for name in before}
    assert before == after
    assert [name for name, value in after.items() if isinstance(value, ModuleType)] == []


# --- tests
ASSERTING = {"raises", "warns", "fail"}


def assertions(node: ast.AST) -> tuple[bool, set[str]]:
    """Return whether a piece of code asserts by itself, and the names it uses."""
    result, names = False, set()
    for part in ast.walk(node):
        name = getattr(part, "attr", None) or getattr(part, "id", None)
        if isinstance(part, ast.keyword) and part.arg == "check":  # a program that must succeed
            result |= ast.unparse(part.value) == "True"
        result |= isinstance(part, ast.Assert) or name in ASSERTING
        if isinstance(name, str):
            names.add(name)
    return result, names


def asserts(node: ast.AST, others: dict[str, tuple[bool, set[str]]]) -> bool:
    """True if a test asserts, itself or by something it names of its file or of shared ones."""
    result, names = assertions(node)
    seen: set[str] = set()
    while names and not result:
        seen |= names
        reached = [others[name] for name in names if name in others]
        result = any(does for does, _ in reached)
        names = set().union(*(more for _, more in reached)) - seen
    return result


def named_code(tree: ast.Module) -> dict[str, tuple[bool, set[str]]]:
    """Return the assertions and names of functions and constants of a file, by name."""
    result: dict[str, ast.AST] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            result[node.name] = node
        elif isinstance(node, ast.Assign):
            result |= {to.id: node.value for to in node.targets if isinstance(to, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            result[node.target.id] = node.value
    return {name: assertions(node) for name, node in result.items()}


def silent(text: str, shared: dict[str, tuple[bool, set[str]]]) -> list[tuple[int, str]]:
    """Line and name of each test of a file that asserts nothing."""
    tree = ast.parse(text)
    others = shared | named_code(tree)
    return [
        (node.lineno, node.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
        if not asserts(node, {key: it for key, it in others.items() if key != node.name})
    ]


@long
def test_every_test_asserts() -> None:
    shared: dict[str, tuple[bool, set[str]]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if not path.name.startswith("test_"):
            shared |= named_code(ast.parse(path.read_text()))
    result = [
        f"{name_of(path)}:{line} {name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if path.parent.name != "benchmarks"  # they report
        for line, name in silent(path.read_text(), shared)
    ]
    assert not result, "\n".join(result)


def test_what_takes_long_stands_beside_quick_tests() -> None:
    """A file whose tests are all long would leave what it protects to CI."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        tests = re.findall(r"^((?:@[^\n]*\n(?:[ )\]][^\n]*\n)*)*)def test_", text, re.M)
        assert not tests or any("@long\n" not in each for each in tests), path.name


def test_drawn_tests_say_how_many_cases_they_are_worth() -> None:
    """They use ``draws``, so that the quick run draws a fifth of them, and CI all."""
    wrong = [
        name_of(path)
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(r"max_examples=\d", path.read_text())
    ]
    assert wrong == []


def test_a_test_that_asserts_nothing_is_found() -> None:
    text = """
def helper(x):
    assert x
def round(x):
    return about(x)
def about(x):
    return round(x)
def test_says(x):
    [helper(y) for y in x]
def test_runs(x):
    run(x, check=True)
def test_raises(x):
    with raises(x):
        pass
def test_silent(x):
    round(x)
    run(x, check=False)
"""
    assert silent(text, {}) == [(15, "test_silent")]


def test_commands_that_draw_deeply_are_told() -> None:
    """Each module of tests that is run with a count; and what is told is there to be run."""
    page = (ROOT / "docs" / "architecture.md").read_text().partition("## How it is tested")[2]
    rows = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `python")]
    listed = set()
    for row in rows:
        first, *more = re.findall(r"`([^`]+)`", row)
        module = first.split()[2]
        listed |= {module, *(f"{module.rpartition('.')[0]}.{one.split()[0]}" for one in more)}
    drawn = set()
    for path in (ROOT / "tests").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if re.search(
            rf"^ +python -m {re.escape(name)}( \S*)? \[?(\d|studies)", path.read_text(), re.M
        ):
            drawn.add(name)
    assert listed == drawn


# --- files that say the same
def test_each_seeded_fault_has_its_place_and_its_tests() -> None:
    for mutant in MUTANTS:
        assert mutant.text in mutant.place(ROOT).read_text()
        for named in mutant.tests.split():
            file, _, test = named.partition("::")
            text = (ROOT / file).read_text()
            assert f"def {test}(" in text or not test, named
            assert f"@long\ndef {test}(" not in text, f"{named} takes long"
    assert len({mutant.package for mutant in MUTANTS}) == 4
    assert len(MUTANTS) >= 20


def test_changelog_keeps_its_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert text.startswith("# Changelog\n")
    heads = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert heads[0] == "[Unreleased]"
    released = [
        re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}", head) for head in heads[1:]
    ]
    assert all(released)
    kinds = set(re.findall(r"^### (.*)$", text, flags=re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    dates = [head.rsplit(" ", 1)[1] for head in heads[1:]]
    assert dates == sorted(dates, reverse=True)


def test_versions_agree() -> None:
    version = project()["version"]
    citation = (ROOT / "CITATION.cff").read_text()
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^version: (\S+)$", citation, flags=re.MULTILINE) == [version]
    assert re.search(r"^## \[(\d[^]]*)\]", changelog, flags=re.MULTILINE)[1] == version  # type: ignore[index]


def test_citation_names_the_papers() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    keys = re.findall(r"^([a-z-]+):", text, flags=re.MULTILINE)
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(keys)
    assert len(keys) == len(set(keys))
    assert "\t" not in text
    references = text.split("\nreferences:\n")[1].split("\n  - type: ")
    titles = {}
    for reference in references:
        title = re.search(r'^    title: "(.*)"$', reference, flags=re.MULTILINE)
        assert title, reference
        doi = re.search(r"^    doi: (\S+)$", reference, flags=re.MULTILINE)
        titles[title[1]] = doi[1] if doi else ""
        assert re.search(r"^    year: \d{4}$", reference, flags=re.MULTILINE)
        assert "family-names" in reference
    assert titles == PAPERS


def test_the_deposit_says_what_the_citation_does() -> None:
    deposit = json.loads((ROOT / ".zenodo.json").read_text())
    citation, table = (ROOT / "CITATION.cff").read_text(), project()
    assert f'title: "{deposit["title"]}"' in citation
    assert [f'  - name: "{one["name"]}"' for one in deposit["creators"]] == re.findall(
        r"^  - name: .*$", citation.split("\nreferences:")[0], flags=re.MULTILINE
    )
    assert (deposit["version"], deposit["license"]) == (table["version"], table["license"])
    assert set(deposit["keywords"]) <= set(table["keywords"])
    identifiers = {one["identifier"] for one in deposit["related_identifiers"]}
    assert identifiers == {doi for doi in PAPERS.values() if doi}
    assert len(deposit["references"]) == len(PAPERS)
    for title, reference in zip(PAPERS, deposit["references"], strict=True):
        assert title in reference


def test_licence_is_the_one_declared() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert project()["license"] == "Apache-2.0"
    assert "license: Apache-2.0" in (ROOT / "CITATION.cff").read_text()


def test_references_in_docstrings_name_what_is_there() -> None:
    """Each ``:func:`dse...``` and its like leads to a module, and to a name in it."""
    pattern = re.compile(rf":\w+:`[!~]?((?:{'|'.join(PACKAGES)})(?:\.\w+)+)`")
    wrong = []
    for path in sources():
        for name in pattern.findall(path.read_text(encoding="utf-8")):
            parts = name.split(".")
            place = max(k for k in range(len(parts) + 1) if _is_module(parts[:k]))
            result: Any = importlib.import_module(".".join(parts[:place]))
            for part in parts[place:]:
                fields = getattr(result, "__annotations__", {})
                result = getattr(result, part, fields.get(part))
            if result is None:
                wrong.append(f"{name_of(path)}: {name}")
    assert wrong == []


def _is_module(parts: list[str]) -> bool:
    path = ROOT.joinpath(*parts)
    return bool(parts) and (path.with_suffix(".py").is_file() or path.is_dir())
