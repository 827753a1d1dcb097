"""Every formula of the shipped models has an example with its result, and all of them hold."""

from __future__ import annotations

import importlib
import re

import pytest

from symbolic.equation import Equation
from symbolic.library import SHIPPED_FOLDER
from tests.papers._solve import examples, run_doctests

MODULES = sorted(path.stem for path in SHIPPED_FOLDER.glob("*.py"))


def test_examples_name_modules_that_exist() -> None:
    assert set(examples()) <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_hold(name: str) -> None:
    failed, _ = run_doctests(importlib.import_module(f"symbolic.models.{name}"))
    assert failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_formula_has_an_example(name: str) -> None:
    module = importlib.import_module(f"symbolic.models.{name}")
    own = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, Equation) and value.function.__module__ == module.__name__
    }
    shown = [value.doc for value in own.values() if ">>>" in value.doc]
    shown += [call for call, _ in examples().get(name, ())]
    called = set(re.findall(r"\w+(?=\()", "\n".join(shown)))
    functions = {value.function for key, value in own.items() if key in called}
    missing = [key for key, value in own.items() if value.function not in functions]
    assert not [key for key in missing if not own[key].table]
