"""Names, docstrings and commands keep to docs/style.md."""

from __future__ import annotations

import ast
import importlib
from collections import defaultdict

import click
import pytest

from dse.cli import main
from tests.architecture.style import FOLDERS, ROOT, is_bare_participle, python_files, violations

#: Functions that may be named by one participle: protocols of libraries, and words that users type.
PARTICIPLES = frozenset({"between", "compiled", "measured", "met", "simulated"})


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_and_docstrings_are_plain(folder: str) -> None:
    """No file has a forbidden name, an opening that is a riddle, or a function named `told`."""
    lines = [line for path in python_files([folder]) for line in violations(path)]
    assert [line for line in lines if line.rpartition(": ")[2] not in PARTICIPLES] == []


def test_few_functions_are_named_by_a_participle() -> None:
    """At most ten exceptions are allowed, each of which exists."""
    assert len(PARTICIPLES) <= 10
    assert all(map(is_bare_participle, PARTICIPLES))


def test_no_two_public_classes_share_a_name() -> None:
    """A public class of the product has a name of its own."""
    places = defaultdict(list)
    for path in python_files(FOLDERS[:-1]):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_each_command_lies_in_the_file_of_its_name() -> None:
    """`dse optimum` is in `dse/cli/optimum.py`."""
    elsewhere = {}
    for name, command in main.commands.items():
        assert isinstance(command, click.Command)
        callback = getattr(command.callback, "__wrapped__", command.callback)
        home = importlib.import_module(callback.__module__).__name__
        if home not in (f"dse.cli.{name.replace('-', '_')}", f"dse.cli.{name}_"):
            elsewhere[name] = home
    assert elsewhere == {}
