"""Values of closed forms at points: SymPy substitutes in each copy of what they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy

from symbolic.exact import to_exact
from symbolic.model import Model


def evaluator(model: Model, values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return a function that evaluates expressions at a point; shared parts are computed once."""
    result = {model.symbol(name): to_exact(value) for name, value in values.items()}

    def value(expression: Any) -> Any:
        if expression.args and expression not in result:
            if isinstance(expression, sympy.Piecewise):  # the other arms may be no numbers
                result[expression] = next(
                    (value(a) for a, test in expression.args if value(test)), sympy.nan
                )
            else:
                result[expression] = expression.func(*map(value, expression.args))
        return result.get(expression, expression)

    return value


def put(model: Model, expression: Any, values: Mapping[str, Any]) -> Any:
    return evaluator(model, values)(expression)
