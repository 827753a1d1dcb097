"""Equations of a quantity that has a value for each label of a switch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from symbolic.equation import Equation, equation


def _same(value: Any) -> Any:
    """Quantity that a switch chooses."""
    return value


def _number(value: float) -> Callable[[], float]:
    def number() -> float:
        """Number that a switch chooses."""
        return value

    return number


def by_label(
    name: str, source: str, switch: str, values: Mapping[str, str | float], **when: str
) -> tuple[Equation, ...]:
    """Return the equations by which a quantity has a value for each label of a switch.

    A value is the name of another quantity, or a number.
    """
    result = []
    for label, value in values.items():
        inputs = [value] if isinstance(value, str) else []
        function = _same if isinstance(value, str) else _number(value)
        labels = {**when, switch: label}
        result.append(equation(function, name=name, source=source, inputs=inputs, when=labels))
    return tuple(result)
