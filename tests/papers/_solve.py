"""A slow twin of the resolver: call the equations of some models until nothing new comes out."""

from __future__ import annotations

import doctest
import importlib
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from symbolic.equation import Equation
from symbolic.quantities import TABLE

SWITCHES = [row for row in TABLE.values() if row.is_switch]
DEFAULTED = [row for row in TABLE.values() if row.default is not None]


@cache
def equations(models: str) -> list[Equation]:
    """The equations of ``"mwp_cwp"`` or ``"occupancy + mwp_cwp"``."""
    result: dict[int, Equation] = {}
    for model in models.split("+"):
        for value in vars(importlib.import_module(f"symbolic.models.{model.strip()}")).values():
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Equation):
                    result[id(item)] = item
    return list(result.values())


def solve(models: str, **values: Any) -> dict[str, Any]:
    """Every quantity that follows from the given ones, by calling the equations directly.

    Switches are given like values; those not given, and quantities nothing yields, take the
    table's default.
    """
    known = dict(values)
    for row in SWITCHES:
        known.setdefault(row.name, row.default)
        if known[row.name] == "auto":
            *_, without, within = row.labels or ()
            known[row.name] = within if set(row.settled_by) <= set(known) else without
    chosen = [
        eq
        for eq in equations(models)
        if all(str(known[key]).lower() == label for key, label in eq.when.items())
    ]
    names = [eq.name for eq in chosen]
    assert len(names) == len(set(names)), f"two equations match: {sorted(names)}"
    moved = True
    while moved:
        moved = False
        for eq in chosen:
            if eq.name not in known and all(name in known for name in eq.inputs):
                known[eq.name] = eq(*(known[name] for name in eq.inputs))
                moved = True
        if not moved:
            moved = _defaults(known, names)
    return known


def _defaults(known: dict[str, Any], yielded: list[str]) -> bool:
    """Give the defaults that are known of what no equation yields; whether there was one."""
    before = len(known)
    for row in DEFAULTED:
        if row.name not in known and row.name not in yielded:
            value = known.get(row.default) if isinstance(row.default, str) else row.default
            if value is not None:
                known[row.name] = value
    return len(known) > before


#: Examples that no paper prints, by module: ``call -> result``, a line each.
EXAMPLES = Path(__file__).with_name("examples.txt")


@cache
def examples() -> dict[str, list[tuple[str, str]]]:
    """Return the calls and results of :data:`EXAMPLES`, by the name of the module."""
    _, *parts = re.split(r"^\[(\w+)\]\n", EXAMPLES.read_text(), flags=re.M)
    return {
        name: [tuple(line.split(" -> ")) for line in text.split("\n") if line]  # type: ignore[misc]
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


def run_doctests(module: ModuleType) -> tuple[int, int]:
    """Failures and examples of a module's own equations, in docstrings and :data:`EXAMPLES`."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    name = module.__name__.rpartition(".")[2]
    listed = "".join(f">>> {call}\n{result}\n" for call, result in examples().get(name, ()))
    runner.run(parser.get_doctest(listed, dict(vars(module)), name, str(EXAMPLES), 0))
    for name, value in vars(module).items():
        if isinstance(value, Equation) and value.function.__module__ == module.__name__:
            test = parser.get_doctest(value.doc, dict(vars(module)), name, module.__file__, 0)
            runner.run(test)
    result = runner.summarize(verbose=False)
    return result.failed, result.attempted
