"""A hash of each equation, value and rule that a study uses, so that a change has a name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dse.syntax import syntax
from sweeps.grid.leaf import Leaf
from symbolic.equation import Equation
from symbolic.errors import DseError

if TYPE_CHECKING:
    from dse.inputs import Parts
    from sweeps.grid.grid import Grid


def fingerprints(grid: Grid, parts: Parts, said: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """A hash of each equation, value and rule that a study uses, so that a change has a name.

    ``said`` are its :func:`attributes`.

    Raises
    ------
    DseError
        A table equation whose text cannot be found, so that a change of it would go unseen.
    """
    equations = {}
    for graph in grid.graphs.values():
        for name, definition in graph.definitions.items():
            eq = definition.equation
            if eq is None:
                continue
            if eq.table and syntax(eq.function) is None:
                raise DseError(
                    f"the equation {eq.describe()} has no source text, so that a later change "
                    "could not be told: it can be swept, but not stored; define it in a file"
                )
            equations[f"{name} [{eq.switches}]" if eq.when else name] = _digest(body_of(eq))
    values: dict[str, str] = {}
    for given in (parts.values, parts.tables, parts.labels, parts.switches, parts.laws or {}):
        values |= {name: _digest(_plain(value)) for name, value in given.items()}
    defaults = json.loads(said["defaults"])
    values |= {name: _digest(_plain(value)) for name, value in defaults.items()}
    rules = {condition.text: _digest(condition.text) for condition in grid.conditions}
    return {"equations": equations, "values": values, "rules": rules}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def body_of(equation: Equation) -> str:
    """What an equation computes, as text; a table equation by its source, where there is one."""
    if not equation.table:
        return repr(equation.node)
    return (syntax(equation.function) or equation.doc) + equation.formula


def canonical(values: Mapping[str, Any]) -> str:
    """Values as text that depends on nothing but them."""
    return repr(sorted((name, _plain(value)) for name, value in values.items()))


def _plain(value: Any) -> str:
    if isinstance(value, Leaf):
        return f"{value.axes}: {value.array.tolist()}"
    if isinstance(value, Mapping):
        return canonical(value)
    return repr(value)
