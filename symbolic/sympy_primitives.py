"""The symbolic algebra: each primitive of the equations on SymPy expressions and Python numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy

from symbolic.exact import exact
from symbolic.primitives import PRIMITIVES


def _lift(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(sympy, *map(exact, args))


SYMPY: Mapping[str, Callable[..., Any]] = {
    name: _lift(row.sympy) for name, row in PRIMITIVES.items()
}
